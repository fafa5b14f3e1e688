package policy

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/internal/regular"
	"github.com/gatehouse-mcp/gatehouse/redact"
	"github.com/open-policy-agent/opa/v1/ast"
)

//go:embed builtin/*.rego
var builtinFiles embed.FS

// Bounds of what is read as policies.
const (
	maxModuleBytes = 1 << 20
	maxModules     = 1000
)

// source is one Rego file.
type source struct{ name, text string }

// builtinSources returns the modules of a profile: those every profile shares,
// and its own. Tests are left out.
func builtinSources(profile string) ([]source, error) {
	entries, err := builtinFiles.ReadDir("builtin")
	if err != nil {
		return nil, fmt.Errorf("read built-in policies: %w", err)
	}
	var all []source
	for _, e := range entries {
		base := strings.TrimSuffix(e.Name(), ".rego")
		if strings.HasSuffix(base, "_test") || !inProfile(profile, base) {
			continue
		}
		text, err := builtinFiles.ReadFile("builtin/" + e.Name())
		if err != nil {
			return nil, fmt.Errorf("read built-in policies: %w", err)
		}
		all = append(all, source{"builtin/" + e.Name(), string(text)})
	}
	return all, nil
}

// readSources reads the user's files. A folder is walked; links in it are not
// followed, and names that begin with a dot are skipped.
func readSources(paths []string) ([]source, error) {
	var all []source
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case path != root && strings.HasPrefix(d.Name(), "."):
				if d.IsDir() {
					return fs.SkipDir
				}
				return nil
			case d.IsDir() || path != root && filepath.Ext(path) != ".rego":
				return nil
			case len(all) >= maxModules:
				return fmt.Errorf("more than %d files", maxModules)
			}
			text, err := readModule(path)
			all = append(all, source{path, text})
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read policies %q: %w", root, err)
		}
	}
	if len(all) == 0 {
		return nil, fmt.Errorf("read policies %q: no .rego file there", paths)
	}
	return all, nil
}

func readModule(path string) (string, error) {
	text, err := regular.Read(path, maxModuleBytes)
	return string(text), err
}

// parse parses one module and checks that it may be there. A test module
// yields nil: it is not part of what decides.
func parse(s source, caps *ast.Capabilities) (*ast.Module, error) {
	m, err := ast.ParseModuleWithOpts(s.name, s.text, ast.ParserOptions{
		RegoVersion: ast.RegoV2, ProcessAnnotation: true, Capabilities: caps,
	})
	if err != nil {
		return nil, err
	}
	if m == nil {
		return nil, fmt.Errorf("%s: empty; begin with a package line", s.name)
	}
	pkg := packageName(m)
	switch {
	case strings.HasPrefix(pkg, "gatehouse.") && strings.HasSuffix(pkg, "_test"):
		return nil, nil
	case slices.Contains(entryPackages, pkg):
		return m, checkEntrypoint(m, pkg)
	case strings.HasPrefix(pkg+".", libraryPackage+"."):
		return m, checkLibrary(m, pkg)
	}
	return nil, flaw(m.Package.Location, "package %s: policies live in %s, %s.… or a gatehouse.…_test package; the nearest is %s",
		pkg, strings.Join(entryPackages, ", "), libraryPackage, nearest(pkg, append([]string{libraryPackage}, entryPackages...)))
}

const libraryPackage = "gatehouse.lib"

// entryPackages are the packages that decide.
var entryPackages = []string{permissionPackage, admissionPackage, inprocPackage, redactionPackage, logPackage}

func packageName(m *ast.Module) string {
	return strings.TrimPrefix(m.Package.Path.String(), "data.")
}

// checkEntrypoint refuses a rule named as the package's set that is no partial
// set: undefined, it would say nothing instead of no.
func checkEntrypoint(m *ast.Module, pkg string) error {
	set, example := ast.Var("decisions"), "decisions contains {…} if {…}"
	switch pkg {
	case logPackage:
		set, example = "mask", `mask contains "/input/…" if {…}`
	case redactionPackage:
		set, example = "plan", "plan contains {…} if {…}"
	}
	var errs ast.Errors
	for _, r := range m.Rules {
		ref := r.Head.Ref()
		if head, ok := ref[0].Value.(ast.Var); !ok || head != set {
			continue
		}
		if len(ref) != 1 || r.Head.RuleKind() != ast.MultiValue {
			errs = append(errs, flaw(r.Location, "%s must be a partial set: write `%s`", set, example))
			continue
		}
		switch object := decisionLiteral(r); {
		case object == nil && pkg == redactionPackage && scalar(r.Head.Key):
			errs = append(errs, flaw(r.Head.Key.Location, "%s is no edit: write `plan contains {\"action\": …, \"rule\": …}`", r.Head.Key))
		case object == nil:
		case pkg == logPackage:
			errs = append(errs, maskShape.check(object, r.Location, "mask field")...)
		case pkg == redactionPackage:
			errs = append(errs, checkEdit(object, r.Location)...)
		default:
			errs = append(errs, checkDecision(object, r.Location)...)
		}
	}
	return some(errs)
}

// scalar reports a term that is written out and no object, set or array.
func scalar(t *ast.Term) bool {
	switch t.Value.(type) {
	case ast.Null, ast.Boolean, ast.Number, ast.String:
		return true
	}
	return false
}

// some is nil for no errors.
func some(errs ast.Errors) error {
	if len(errs) == 0 {
		return nil
	}
	return errs
}

// checkLibrary refuses input in a shared library: it would be checked against
// no schema there, and a misspelt field would silently be undefined.
func checkLibrary(m *ast.Module, pkg string) error {
	if schema, err := schemaOfPackage(pkg); schema != nil || err != nil {
		return err
	}
	var at *ast.Location
	ast.WalkTerms(m, func(t *ast.Term) bool {
		ref, ok := t.Value.(ast.Ref)
		if ok && ref.HasPrefix(ast.InputRootRef) || t.Equal(ast.InputRootDocument) {
			at = t.Location
		}
		return at != nil
	})
	if at != nil {
		return flaw(at, "package %s: input may be read in gatehouse.lib.permission.…, gatehouse.lib.admission.…, gatehouse.lib.inproc.…, gatehouse.lib.redaction.… and gatehouse.lib.log.… only, where its fields are checked; hand it over as an argument", pkg)
	}
	return nil
}

// revision digests everything that decides.
func revision(o Options, layers []*layer, detectors []redact.Custom) string {
	h := sha256.New()
	w := json.NewEncoder(h) // one line each, so that no two texts run into each other
	_ = w.Encode([]any{o.Profile, o.DefaultEffect, o.Grants, o.Protected, o.Secret, o.Home})
	for _, l := range layers {
		_ = w.Encode([]string{l.name, l.revision, l.digest})
	}
	if len(detectors) > 0 { // data can have some without a layer
		_ = w.Encode(detectors)
	}
	if slices.ContainsFunc(layers, (*layer).usesLibrary) {
		_ = w.Encode(pluginsModule)
	}
	return shortSum(h)
}

// layerDigest is the digest of one layer: its modules, tests included, and its data.
func layerDigest(data map[string]any, sources []source) string {
	h := sha256.New()
	w := json.NewEncoder(h)
	_ = w.Encode(data)
	for _, s := range sources {
		_ = w.Encode([]string{filepath.Base(s.name), s.text})
	}
	return shortSum(h)
}

// shortDigest is the length of a digest as it is told.
const shortDigest = 16

func shortSum(h hash.Hash) string { return hex.EncodeToString(h.Sum(nil))[:shortDigest] }

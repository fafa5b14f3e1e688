package policy

import (
	"bufio"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"

	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/version"
)

// Parsing and checking the built-in policies takes longer than everything else
// a start does, and gives the same result every time. So the tests do it, with
// every check, and keep the compiled rules of each profile in a file. A file
// holds in its first line what it was made from; where that is not what this
// program holds, the policies are compiled from their text as any others.
//
//go:generate go test -run TestPrecompiledIsCurrent -update .

//go:embed precompiled/*.bin
var precompiledFiles embed.FS

// neededStages are what a compiler still has to do for rules that are compiled:
// everything else either checks them or has already changed them.
var neededStages = map[ast.StageID]bool{
	ast.StageInitLocalVarGen:           true, // takes the rules in, see restore
	ast.StageSetModuleTree:             true,
	ast.StageSetRuleTree:               true,
	ast.StageBuildRuleIndices:          true,
	ast.StageBuildComprehensionIndices: true,
}

// compiledBuiltin returns the compiler of the built-in layer, and whether it
// came from a file. sum is the digest of the sources.
func compiledBuiltin(profile string, sources []source, sum string) (*ast.Compiler, bool, error) {
	raw, err := precompiledFiles.ReadFile("precompiled/" + profile + ".bin")
	if err != nil {
		return nil, false, fmt.Errorf("read compiled policies: %w", err)
	}
	r := &ruleReader{data: string(raw)}
	if r.text() != origin(sum) || r.err != nil {
		c, err := compiler(sources)
		return c, false, err
	}
	c, err := restore(r)
	if err != nil {
		return nil, false, fmt.Errorf("read compiled policies of profile %s: %w", profile, err)
	}
	return c, true, nil
}

// origin names what compiled rules were made from: the digest of the text of every
// module and the version of the compiler, whose inner form they are.
func origin(sum string) string { return "opa " + version.Version + " format 1 " + sum }

// textDigest is the digest of modules without data. It is not that of
// layerDigest, which writes all text as JSON first: at a start that counts.
func textDigest(sources []source) string {
	h := sha256.New()
	w := bufio.NewWriter(h)
	for _, s := range sources {
		fmt.Fprintf(w, "%d %s %d ", len(s.name), s.name, len(s.text))
		w.WriteString(s.text)
	}
	w.Flush() // no error: neither has one
	return hex.EncodeToString(h.Sum(nil))
}

// restore makes a compiler of compiled rules. They are handed over in its first
// stage, because what goes in by Compile is copied. In by Compile go the names of
// the modules whose comprehensions are to be indexed; the other indices are made
// for all.
func restore(r *ruleReader) (*ast.Compiler, error) {
	rewritten, modules := r.modules()
	if r.err != nil {
		return nil, r.err
	}
	c := ast.NewCompiler().WithCapabilities(capabilities()).WithDefaultRegoVersion(ast.RegoV2).
		WithSkipStages(unneededStages()...).
		WithStageAfterID(ast.StageInitLocalVarGen, ast.CompilerStageDefinition{
			Name: "TakeIn", MetricName: "take_in",
			Stage: func(c *ast.Compiler) *ast.Error {
				c.Modules, c.RewrittenVars = modules, rewritten
				return nil
			},
		})
	names := make(map[string]*ast.Module, len(r.lists))
	for name := range r.lists {
		names[name] = &ast.Module{Package: modules[name].Package}
	}
	if c.Compile(names); c.Failed() {
		return nil, readable(c.Errors)
	}
	return c, nil
}

func unneededStages() []ast.StageID {
	all := ast.AllStages()
	skipped := all[:0]
	for _, s := range all {
		if !neededStages[s] {
			skipped = append(skipped, s)
		}
	}
	return skipped
}

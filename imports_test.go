package gatehouse_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/gatehouse-mcp/gatehouse"

// room says what a package may import besides the standard library. Tests are
// free: the map is about what a program that imports the package links.
type room struct {
	ours    []string // packages of this module, without its path
	outside []string // modules, by path prefix
}

var rooms = map[string]room{
	"":                  {},
	"redact":            {},
	"filter":            {ours: []string{"redact"}},
	"internal/rawjson":  {},
	"internal/regular":  {},
	"internal/spelling": {},
	"internal/testcli":  {}, // for tests only
	"internal/testleak": {}, // for tests only
	"internal/testproc": {}, // the same
	"internal/unseen":   {},
	"internal/workers":  {},
	"internal/filelock": {},
	"internal/lineage":  {},
	"internal/private":  {},
	"internal/instance": {ours: []string{"internal/filelock", "internal/private"}},
	"internal/strays":   {ours: []string{"engine/cli", "internal/instance"}},
	"guard":             {ours: []string{"engine/cli"}}, // on Linux nothing: it has to be initialised early
	"engine/audit":      {ours: []string{"internal/filelock", "internal/private", "internal/regular"}},
	"engine/journal":    {ours: []string{"engine/event", "internal/filelock", "internal/private", "internal/regular"}},

	"engine/event/storetest": {ours: []string{"engine/event"}}, // for tests of stores
	"engine/door":            {ours: []string{"internal/lineage"}},
	"policy/corpus":          {},
	"policy/decisionlog":     {ours: []string{"internal/regular", "redact"}},
	"internal/watch":         {ours: []string{"internal/regular"}},
	"policy/bundle":          {ours: []string{"internal/regular"}, outside: []string{"github.com/open-policy-agent/opa"}},
	"policy/facts":           {ours: []string{"internal/regular"}, outside: []string{"mvdan.cc/sh/v3"}},
	"engine/event":           {ours: []string{"internal/rawjson"}},
	"engine/permission":      {},
	"engine/control":         {ours: []string{"internal/rawjson", "internal/workers"}},
	"engine/cli":             {ours: []string{"internal/lineage"}},
	"engine/cli/script":      {},
	"engine/cli/fakeapi":     {}, // for tests, and for the check command
	"engine/realcli":         {}, // holds nothing but tests
	"engine/toolhost":        {}, // the same
	"engine/admission":       {ours: []string{"engine/permission"}},
	"engine": {ours: []string{
		"engine/admission", "engine/audit", "engine/cli", "engine/control", "engine/event", "engine/permission",
		"internal/filelock", "internal/rawjson", "internal/regular", "internal/spelling", "internal/unseen", "internal/workers",
	}},
	"engine/mcpserver": {
		ours:    []string{"engine", "engine/event", "engine/permission", "internal/rawjson", "internal/spelling"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"engine/mpmserver": {
		ours:    []string{"engine", "engine/event", "engine/mcpserver", "internal/rawjson"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"engine/inproc": {ours: []string{"internal/workers"}, outside: []string{"github.com/modelcontextprotocol/go-sdk", "github.com/google/jsonschema-go"}},
	"upstream": {
		ours:    []string{"engine/cli", "engine/inproc", "internal/private", "internal/rawjson", "internal/regular", "internal/unseen"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"policy": {
		ours:    []string{"engine/admission", "engine/event", "engine/permission", "internal/rawjson", "internal/regular", "internal/spelling", "internal/workers", "policy/decisionlog", "policy/facts", "redact"},
		outside: []string{"github.com/open-policy-agent/opa"},
	},
	"policy/author": {
		ours:    []string{"engine/admission", "engine/permission", "policy"},
		outside: []string{"github.com/open-policy-agent/opa"},
	},
	"plugins": {
		ours: []string{
			"engine/admission", "engine/event", "engine/permission", "internal/private", "internal/rawjson", "internal/regular", "internal/unseen", "plugins/module",
		},
		outside: []string{"github.com/tetratelabs/wazero"},
	},
	"plugins/module":          {},
	"plugins/pdk":             {},
	"internal/testwasm":       {}, // for tests only: builds modules
	"cmd/gatehouse/crashtest": {}, // holds nothing but tests
	"examples/client":         {outside: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"examples/embed": {
		ours:    []string{"engine", "engine/admission", "engine/inproc", "engine/permission"},
		outside: []string{"github.com/modelcontextprotocol/go-sdk"},
	},
	"examples/tickets":   {outside: []string{"github.com/modelcontextprotocol/go-sdk"}},
	"internal/testguest": {}, // for tests only: builds plugins with the tools at hand
	"examples/plugins":   {}, // holds nothing but tests

	"examples/plugins/calc":               {ours: []string{"plugins/pdk"}},
	"examples/plugins/cost-guard":         {ours: []string{"plugins/pdk"}},
	"examples/plugins/internal-hostnames": {ours: []string{"plugins/pdk"}},
	"examples/plugins/no-force-push":      {ours: []string{"plugins/pdk"}},
	"examples/plugins/ticket-required":    {ours: []string{"plugins/pdk"}},
	"cmd/gatehouse": {
		ours: []string{
			"upstream", "engine/inproc", "engine", "engine/admission", "engine/audit", "engine/cli", "engine/journal", "guard", "internal/instance", "internal/lineage", "internal/private", "internal/rawjson", "internal/strays", "engine/cli/fakeapi", "engine/cli/script", "engine/event", "engine/mcpserver", "engine/mpmserver",
			"engine/permission", "filter", "internal/regular", "internal/spelling", "internal/unseen", "engine/door", "internal/watch", "policy", "plugins", "plugins/module", "plugins/pdk", "policy/author", "policy/bundle", "policy/corpus", "policy/decisionlog", "policy/facts", "redact",
		},
		outside: []string{"github.com/BurntSushi/toml"},
	},
}

type goPackage struct {
	ImportPath string
	Imports    []string
	Standard   bool
}

// list returns every package of the module, as the go command sees it.
func list(t *testing.T) []goPackage {
	t.Helper()
	var stderr bytes.Buffer
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports,Standard", "./...")
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, &stderr)
	}
	var packages []goPackage
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}

func TestImports(t *testing.T) {
	packages := list(t)
	if len(packages) < 2 {
		t.Fatalf("go list found %d packages", len(packages))
	}
	for _, p := range packages {
		name := strings.TrimPrefix(strings.TrimPrefix(p.ImportPath, module), "/")
		allowed, ok := rooms[name]
		if !ok {
			t.Errorf("package %s is missing from the map of rooms; add it with what it may import", name)
			continue
		}
		for _, path := range p.Imports {
			if !allowed.allows(path) {
				t.Errorf("package %s imports %s, which its room does not allow", name, path)
			}
		}
	}
}

func (r room) allows(path string) bool {
	if own, ok := strings.CutPrefix(path, module+"/"); ok {
		return slices.Contains(r.ours, own)
	}
	first, _, _ := strings.Cut(path, "/")
	if !strings.Contains(first, ".") {
		return true // the standard library
	}
	return slices.ContainsFunc(r.outside, func(prefix string) bool {
		return path == prefix || strings.HasPrefix(path, prefix+"/")
	})
}

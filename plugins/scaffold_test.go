package plugins_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testguest"
	"github.com/gatehouse-mcp/gatehouse/plugins"
	"github.com/gatehouse-mcp/gatehouse/plugins/pdk"
)

// scaffold writes a new plugin into a folder.
func scaffold(t *testing.T, lang string) (folder string) {
	t.Helper()
	files, err := pdk.Scaffold(lang, "no-rm")
	if err != nil {
		t.Fatal(err)
	}
	folder = t.TempDir()
	for name, text := range files {
		file := filepath.Join(folder, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, text, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

// shell runs a command in a folder, without a network to fetch modules from.
func shell(t *testing.T, folder, line string) {
	t.Helper()
	cmd := exec.Command("sh", "-c", line)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", line, err, out)
	}
}

// judged gives what a scaffold's plugin says about its own documents.
func judged(t *testing.T, folder, module string) {
	t.Helper()
	host := load(t, plugins.Config{Name: "no_rm", Path: module})
	tests := []struct {
		document, reason string
		verdict          permission.Effect
	}{
		{"deny", "rm -rf is not allowed here", permission.Deny},
		{"configured", "shutdown is not allowed here", permission.Deny},
		{"pass", "", permission.Abstain},
	}
	for _, tt := range tests {
		document, err := os.ReadFile(filepath.Join(folder, "testdata", tt.document+".json"))
		if err != nil {
			t.Fatal(err)
		}
		o, err := host.Try(t.Context(), "no_rm", plugins.PrePermission, json.RawMessage(document))
		if err != nil || o.Verdict != tt.verdict || o.Reason != tt.reason {
			t.Errorf("%s: %s %q, %v; want %s %q", tt.document, o.Verdict, o.Reason, err, tt.verdict, tt.reason)
		}
	}
}

func TestScaffoldGo(t *testing.T) {
	folder := scaffold(t, "go")
	shell(t, folder, "go vet ./... && go test ./...")
	shell(t, folder, pdk.BuildLine("go", "no-rm"))
	module := filepath.Join(folder, "no-rm.wasm")
	judged(t, folder, module)
	// A guest takes about a second to compile for each 3 MB, so it has to stay small.
	if info, err := os.Stat(module); err != nil || info.Size() > 2_200_000 {
		t.Errorf("the module has %d bytes, %v", info.Size(), err)
	}
}

func TestScaffoldC(t *testing.T) {
	if _, err := exec.LookPath("clang"); err != nil {
		t.Skip("no clang here; TestGuests has a guest in C as committed")
	}
	if _, err := exec.LookPath("wasm-ld"); err != nil {
		t.Skip("no wasm-ld here; TestGuests has a guest in C as committed")
	}
	folder := scaffold(t, "c")
	shell(t, folder, pdk.BuildLine("c", "no-rm"))
	judged(t, folder, filepath.Join(folder, "no-rm.wasm"))
}

func TestScaffoldAssemblyScript(t *testing.T) {
	folder := scaffold(t, "as")
	module, ok := testguest.AssemblyScript(t, filepath.Join(folder, "assembly", "index.ts"))
	if !ok {
		t.Skip("GATEHOUSE_ASC is not set; TestGuests has a guest in AssemblyScript as committed")
	}
	judged(t, folder, module)
}

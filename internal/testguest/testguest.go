// Package testguest builds plugins with the tools at hand. For tests only.
package testguest

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
)

var (
	mu    sync.Mutex
	built = make(map[string][]byte) // by folder
)

// Go builds the plugin in a folder and returns the path of the module, in a folder
// that goes with the test. A folder is built once for a test binary.
func Go(tb testing.TB, folder string) (module string) {
	tb.Helper()
	folder, err := filepath.Abs(folder)
	if err != nil {
		tb.Fatal(err)
	}
	module = filepath.Join(tb.TempDir(), filepath.Base(folder)+".wasm")
	mu.Lock()
	defer mu.Unlock()
	if wasm, ok := built[folder]; ok {
		if err := os.WriteFile(module, wasm, 0o600); err != nil {
			tb.Fatal(err)
		}
		return module
	}
	cmd := exec.Command("go", "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", module, ".")
	cmd.Dir = folder
	// The race detector's own settings do not fit this target, and a guest needs
	// nothing that is not here.
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOFLAGS=-mod=readonly", "GOPROXY=off", "GOWORK=off")
	run(tb, cmd)
	if built[folder], err = os.ReadFile(module); err != nil {
		tb.Fatal(err)
	}
	return module
}

// C builds a C file with clang, with gatehouse_hook.h from a folder. Without clang
// and lld there is no module.
func C(tb testing.TB, source, header string) (module string, ok bool) {
	tb.Helper()
	for _, tool := range []string{"clang", "wasm-ld"} {
		if _, err := exec.LookPath(tool); err != nil {
			return "", false
		}
	}
	module = filepath.Join(tb.TempDir(), "c.wasm")
	run(tb, exec.Command("clang", "--target=wasm32", "-Oz", "-nostdlib", "-fno-builtin", "-Wall", "-Wextra", "-Werror",
		"-Wl,--no-entry,--strip-all", "-I", header, "-o", module, source))
	return module, true
}

// AssemblyScript builds a file with the compiler that GATEHOUSE_ASC names, the
// path of asc. Without the variable there is no module.
func AssemblyScript(tb testing.TB, source string) (module string, ok bool) {
	tb.Helper()
	asc := os.Getenv("GATEHOUSE_ASC")
	if asc == "" {
		return "", false
	}
	module = filepath.Join(tb.TempDir(), "as.wasm")
	cmd := exec.Command(asc, filepath.Base(source), "--outFile", module, "-Oz", "--runtime", "stub", "--use", "abort=")
	cmd.Dir = filepath.Dir(source) // paths in its messages, and in the module, are relative to it
	run(tb, cmd)
	return module, true
}

func run(tb testing.TB, cmd *exec.Cmd) {
	tb.Helper()
	if out, err := cmd.CombinedOutput(); err != nil {
		tb.Fatalf("%s: %v\n%s", cmd, err, out)
	}
}

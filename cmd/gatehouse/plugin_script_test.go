package main

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/internal/testwasm"
	"github.com/rogpeppe/go-internal/testscript"
)

// cmdGuest writes a small module, made by hand:
//
//	guest FILE verdict HOOK pass|allow|deny|ask REASON
//	guest FILE annotate HOOK KEY JSON
//	guest FILE output HOOK JSON
//	guest FILE remember HOOK KEY VALUE   pre_permission denies with VALUE once HOOK was called
//	guest FILE log HOOK TEXT
//	guest FILE trap HOOK
//	guest FILE import NAME               imports a function that is not there
//	guest FILE tool NAME                 offers a tool that answers with its name
func cmdGuest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 3 {
		ts.Fatalf("usage: guest file kind arguments")
	}
	file, kind, args := args[0], args[1], append(args[2:], "", "", "")
	var wasm []byte
	switch hook := args[0]; kind {
	case "verdict":
		kinds := map[string]int32{"pass": testwasm.PassKind, "allow": testwasm.AllowKind, "deny": testwasm.DenyKind, "ask": testwasm.AskKind}
		wasm = testwasm.Verdict(hook, kinds[args[1]], args[2])
	case "annotate":
		wasm = testwasm.Annotate(hook, args[1], args[2])
	case "output":
		wasm = testwasm.Output(hook, args[1])
	case "remember":
		wasm = testwasm.Remember(hook, "pre_permission", args[1], args[2])
	case "log":
		wasm = testwasm.Log(hook, testwasm.Warn, args[1])
	case "trap":
		wasm = testwasm.Hook(hook, []byte{0x00}) // unreachable
	case "import":
		g := testwasm.NewGuest()
		g.Imports = append(g.Imports, testwasm.Import{Module: testwasm.ABI, Name: args[0], Type: testwasm.HookType})
		g.Hook("pre_permission")
		wasm = g.Bytes()
	case "tool":
		g := testwasm.NewGuest()
		g.Hook("tools_list", g.Output(fmt.Sprintf(`{"tools":[{"name":%q,"description":"says its name","inputSchema":{"type":"object"}}]}`, args[0])))
		g.Hook("tools_call", g.Output(fmt.Sprintf(`{"content":[{"type":"text","text":%q}]}`, args[0])))
		wasm = g.Bytes()
	default:
		ts.Fatalf("guest: kind %q is unknown", kind)
	}
	ts.Check(os.WriteFile(ts.MkAbs(file), wasm, 0o600))
}

var pinForm = regexp.MustCompile(`sha256 = "of (\S+)"`)

// cmdPin replaces each sha256 = "of FILE" in a file by the digest of FILE.
func cmdPin(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: pin file")
	}
	text := pinForm.ReplaceAllStringFunc(ts.ReadFile(args[0]), func(found string) string {
		return fmt.Sprintf(`sha256 = "%x"`, sha256.Sum256([]byte(ts.ReadFile(pinForm.FindStringSubmatch(found)[1]))))
	})
	ts.Check(os.WriteFile(ts.MkAbs(args[0]), []byte(text), 0o600))
}

// cmdGoGuest builds the folder of a plugin in Go. The compiler's cache, which is that
// of the tests, makes a second build quick.
func cmdGoGuest(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: goguest folder file")
	}
	goTool, err := exec.LookPath("go")
	ts.Check(err)
	cmd := exec.Command(goTool, "build", "-buildmode=c-shared", "-ldflags=-s -w", "-o", ts.MkAbs(args[1]), ".")
	cmd.Dir = ts.MkAbs(args[0])
	cmd.Env = append(os.Environ(), "GOOS=wasip1", "GOARCH=wasm", "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=", "GOPROXY=off", "GOCACHE="+goCache())
	if out, err := cmd.CombinedOutput(); err != nil {
		ts.Fatalf("go build: %v\n%s", err, out)
	}
}

// goCache is the build cache of whoever runs the tests: scripts have another home.
var goCache = sync.OnceValue(func() string {
	out, err := exec.Command("go", "env", "GOCACHE").Output()
	if err != nil {
		return filepath.Join(os.TempDir(), "gatehouse-go-cache-"+strconv.Itoa(os.Getuid()))
	}
	return string(out[:len(out)-1])
})

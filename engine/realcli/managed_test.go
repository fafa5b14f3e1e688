package realcli

import (
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/internal/testcli"
)

// managedFile is where an administrator's settings lie on Linux.
const managedFile = "/etc/claude-code/managed-settings.json"

// administer writes an administrator's settings for the time of the test. The
// test must not run in parallel with others: every CLI of the machine reads them.
func administer(t *testing.T, settings string) {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("knows the place of managed settings on Linux only")
	}
	if exists(managedFile) {
		t.Skip("this machine has managed settings, which a test must not touch")
	}
	dir := filepath.Dir(managedFile)
	made := !exists(dir)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Skipf("managed settings cannot be written by this user: %v", err)
	}
	t.Cleanup(func() {
		if err := os.Remove(managedFile); err != nil && !os.IsNotExist(err) {
			t.Errorf("managed settings are left behind: %v", err)
		}
		if made {
			_ = os.Remove(dir) // stays if somebody else put something there
		}
	})
	if err := os.WriteFile(managedFile, []byte(settings), 0o644); err != nil {
		t.Skipf("managed settings cannot be written by this user: %v", err)
	}
}

func TestManagedSettingsThatDropTheLockIsolate(t *testing.T) {
	l := newSerialLab(t, testcli.Path(t))
	administer(t, `{"env":{"MARK":"1"}}`)
	l.file("~/.claude/settings.json", object{"hooks": l.evilHooks("user")})
	l.file(".claude/settings.json", object{"hooks": l.evilHooks("project")})
	l.serve(bash("echo x > forbidden.txt"), fakeapi.Say("done"), bash("echo y > allowed.txt"), fakeapi.Say("done"))
	l.open()
	s := l.refusedCall("go")
	l.reply(s, "again")
	l.turns(s, 2, allow)
	if !exists(l.path("allowed.txt")) {
		t.Errorf("the isolated session does not work:\n%s", dump(s))
	}
	l.untouched(s)
}

func TestManagedSettingsThatDropTheLockAreRefused(t *testing.T) {
	l := newSerialLab(t, testcli.Path(t))
	administer(t, `{"env":{"MARK":"1"}}`)
	l.file("~/.claude/settings.json", object{"hooks": l.evilHooks("user")})
	l.serve(fakeapi.Say("never said"))
	l.open(func(o *engine.Options) { o.OnUnsafeSettings = engine.Refuse })
	if s, err := l.engine.Start(t.Context(), engine.StartParams{Prompt: "go"}); err == nil {
		t.Errorf("started %s although the lock was dropped", s.ID())
	}
	if n := len(l.api.Requests()); n > 0 {
		t.Errorf("the model got %d requests", n)
	}
	l.untouched()
}

func TestManagedSettingsThatMergeKeepTheLock(t *testing.T) {
	l := newSerialLab(t, testcli.Path(t))
	administer(t, `{"parentSettingsBehavior":"merge","env":{"MARK":"1"}}`)
	l.file("~/.claude/settings.json", object{"hooks": l.evilHooks("user")})
	l.serve(bash("echo x > forbidden.txt"), fakeapi.Say("done"))
	l.open(func(o *engine.Options) { o.OnUnsafeSettings = engine.Refuse })
	l.refusedCall("go")
}

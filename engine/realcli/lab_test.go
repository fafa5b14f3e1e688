package realcli

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/cli/fakeapi"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/testcli"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/facts"
)

const (
	// patience bounds every wait of a test.
	patience = 30 * time.Second
)

// running bounds how many CLIs are alive at a time.
var running = make(chan struct{}, 2)

// object is a JSON object of a scenario or a settings file.
type object = map[string]any

// lab is one CLI's world: a home, a project with git, a scripted model and an
// engine under the dev profile.
type lab struct {
	*testing.T
	cli     string
	home    string
	project string // a git repository nobody trusts
	outside string // a folder outside the roots
	marks   string // where canaries appear
	api     *fakeapi.Server
	judge   *judge
	engine  *engine.Engine
}

// newLab makes the folders. Tests write their files, then call serve and open.
// It runs the test in parallel with the others.
func newLab(t *testing.T) *lab {
	t.Helper()
	cli := testcli.Path(t)
	t.Parallel()
	return newSerialLab(t, cli)
}

func newSerialLab(t *testing.T, cli string) *lab {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	running <- struct{}{}
	t.Cleanup(func() { <-running })
	l := &lab{
		T: t, cli: cli, judge: &judge{},
		home: filepath.Join(base, "home"), project: filepath.Join(base, "project"),
		outside: filepath.Join(base, "outside"), marks: filepath.Join(base, "marks"),
	}
	for _, dir := range []string{l.home, l.project, l.outside, l.marks, filepath.Join(base, "tmp")} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	l.git("init", "--quiet")
	return l
}

func (l *lab) git(args ...string) {
	l.Helper()
	cmd := exec.Command("git", append([]string{"-C", l.project}, args...)...)
	cmd.Env = append(os.Environ(), "HOME="+l.home, "GIT_CONFIG_NOSYSTEM=1")
	if out, err := cmd.CombinedOutput(); err != nil {
		l.Fatalf("git %v: %v: %s", args, err, out)
	}
}

// file writes a file of the project, or of the home folder with "~/". An
// object is written as JSON.
func (l *lab) file(path string, content any) {
	l.Helper()
	text, ok := content.(string)
	if !ok {
		raw, err := json.Marshal(content)
		if err != nil {
			l.Fatal(err)
		}
		text = string(raw)
	}
	if rest, ok := strings.CutPrefix(path, "~/"); ok {
		path = filepath.Join(l.home, rest)
	} else if !filepath.IsAbs(path) {
		path = filepath.Join(l.project, path)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		l.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o755); err != nil {
		l.Fatal(err)
	}
}

// path returns a name inside the project.
func (l *lab) path(name string) string { return filepath.Join(l.project, name) }

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

// serve scripts the main conversation of the model.
func (l *lab) serve(turns ...fakeapi.Turn) { l.Helper(); l.scenario(fakeapi.Scenario{Turns: turns}) }

func (l *lab) scenario(sc fakeapi.Scenario) {
	l.Helper()
	api, err := fakeapi.New(sc)
	if err != nil {
		l.Fatal(err)
	}
	l.api = api
	l.Cleanup(api.Close)
}

// environ is what the CLI is started with: nothing of this machine but PATH.
func (l *lab) environ() []string {
	return []string{
		"HOME=" + l.home, "PATH=" + os.Getenv("PATH"), "TMPDIR=" + filepath.Join(filepath.Dir(l.home), "tmp"),
		"ANTHROPIC_BASE_URL=" + l.api.URL, "ANTHROPIC_API_KEY=dummy",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1", "DISABLE_AUTOUPDATER=1", "CLAUDE_CODE_MAX_RETRIES=0",
	}
}

// open makes the engine; change may adapt its options.
func (l *lab) open(change ...func(*engine.Options)) {
	l.Helper()
	set, err := policy.Load(l.Context(), policy.Options{Profile: "dev", Home: l.home, Deadline: patience}) // a busy machine is no reason to deny
	if err != nil {
		l.Fatal(err)
	}
	l.judge.next = set
	o := engine.Options{
		Executable: l.cli, Roots: []string{l.project},
		Deciders: []permission.Decider{l.judge}, Admission: []admission.Decider{set},
		DenyReads: facts.DenyReadRules(), Mentions: facts.Mentions,
		ApprovalTimeout: patience, Environ: l.environ(),
		OwnProgramServers: true, // the test binary plays MCP servers
	}
	for _, c := range change {
		c(&o)
	}
	l.engine, err = engine.New(o)
	if err != nil {
		l.Fatal(err)
	}
	l.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := l.engine.Close(ctx); err != nil {
			l.Errorf("close: %v", err)
		}
	})
}

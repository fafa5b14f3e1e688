package author

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/open-policy-agent/opa/v1/ast"
	"github.com/open-policy-agent/opa/v1/rego"
	"github.com/open-policy-agent/opa/v1/tester"
	"github.com/open-policy-agent/opa/v1/types"
)

//go:embed testing.rego
var testingModule string

// testingFile names the library of tests in messages.
const testingFile = "gatehouse/testing.rego"

// Documents makes the documents that policies judge; [*policy.Set] does.
type Documents interface {
	Document(permission.Request) (json.RawMessage, error)
	AdmissionDocument(admission.Request) (json.RawMessage, error)
}

// The synthetic workspace of documents in tests. Nothing has to be there: what
// does not exist leads nowhere else.
const (
	testSession = "00000000-0000-4000-8000-000000000000"
	testNow     = 1_767_225_600_000_000_000 // 2026-01-01T00:00:00Z, so that results repeat
)

// Workspace is the only root of documents in tests; their working folder is project in it.
func Workspace() string { return rooted("/workspace") }

func testCwd() string { return filepath.Join(Workspace(), "project") }

// TestHome is the home folder to load the [policy.Set] with that makes documents in tests.
func TestHome() string { return rooted("/home/dev") }

func rooted(path string) string {
	if runtime.GOOS == "windows" {
		return `C:` + filepath.FromSlash(path)
	}
	return path
}

// changes are what a test may say about the session of a call.
type changes struct {
	Mode            string            `json:"mode"`
	Cwd             string            `json:"cwd"` // relative to the working folder, or absolute
	AllowedTools    []string          `json:"allowed_tools"`
	DisallowedTools []string          `json:"disallowed_tools"`
	AdditionalDirs  []string          `json:"additional_dirs"`
	Trusted         bool              `json:"trusted"`
	Model           string            `json:"model"`
	Turn            int               `json:"turn"`
	Labels          map[string]string `json:"labels"`
	Taint           []string          `json:"taint"`
	ToolCalls       int               `json:"tool_calls"`
	Denies          int               `json:"denies"`
	Asks            int               `json:"asks"`
	USD             float64           `json:"usd"`
	USDLimit        float64           `json:"usd_limit"`
}

func (c changes) session() permission.Session {
	s := permission.Session{
		Cwd: testCwd(), Roots: []string{Workspace()}, Mode: "default", Turn: 1,
		AllowedTools: c.AllowedTools, DisallowedTools: c.DisallowedTools, AdditionalDirs: c.AdditionalDirs,
		Trusted: c.Trusted, Model: c.Model, Labels: c.Labels, Taint: c.Taint,
		ToolCalls: c.ToolCalls, Denies: c.Denies, Asks: c.Asks, CostUSD: c.USD, MaxBudgetUSD: c.USDLimit,
	}
	if c.Mode != "" {
		s.Mode = c.Mode
	}
	if c.Turn != 0 {
		s.Turn = c.Turn
	}
	if filepath.IsAbs(c.Cwd) {
		s.Cwd = c.Cwd
	} else if c.Cwd != "" {
		s.Cwd = filepath.Join(s.Cwd, c.Cwd)
	}
	return s
}

// object is the type of arguments: an object with any fields.
var object = types.NewObject(nil, types.NewDynamicProperty(types.S, types.A))

// builtins are the functions that exist in tests only.
func builtins(d Documents) []*tester.Builtin {
	facts := func(args []*ast.Term) (*ast.Term, error) { return factsOf(d, args) }
	return []*tester.Builtin{
		builtin("gatehouse.facts", []types.Type{types.S, object}, facts),
		builtin("gatehouse.facts_in", []types.Type{types.S, object, object}, facts),
		builtin("gatehouse.admission", []types.Type{types.S, object}, func(args []*ast.Term) (*ast.Term, error) {
			return admissionOf(d, args)
		}),
	}
}

func builtin(name string, args []types.Type, f func([]*ast.Term) (*ast.Term, error)) *tester.Builtin {
	decl := types.NewFunction(args, types.A)
	return &tester.Builtin{
		Decl: &ast.Builtin{Name: name, Decl: decl},
		Func: rego.FunctionDyn(&rego.Function{Name: name, Decl: decl, Memoize: true}, func(_ rego.BuiltinContext, args []*ast.Term) (*ast.Term, error) {
			t, err := f(args[:len(decl.FuncArgs().Args)]) // behind them stands where the result goes
			if err != nil {
				return nil, rego.NewHaltError(err)
			}
			return t, nil
		}),
	}
}

// factsOf returns the document of one call: tool, input and the session's changes.
func factsOf(d Documents, args []*ast.Term) (*ast.Term, error) {
	tool, ok := args[0].Value.(ast.String)
	if !ok {
		return nil, fmt.Errorf("tool must be a string, got %s", args[0])
	}
	input, err := marshal(args[1])
	if err != nil {
		return nil, err
	}
	var c changes
	if len(args) > 2 {
		if err := decodeStrictly(args[2], &c); err != nil {
			return nil, fmt.Errorf("session: %w", err)
		}
	}
	raw, err := d.Document(permission.Request{
		SessionID: testSession, Door: permission.DoorAsk, ToolUseID: "toolu_test", Tool: string(tool), Input: input,
		Caller: permission.Caller{Client: "test", Transport: "stdio", UID: -1}, Session: c.session(),
	})
	if err != nil {
		return nil, err
	}
	return repeatable(raw)
}

// admissionOf returns the document of one request: action and parameters.
func admissionOf(d Documents, args []*ast.Term) (*ast.Term, error) {
	action, ok := args[0].Value.(ast.String)
	if !ok {
		return nil, fmt.Errorf("action must be a string, got %s", args[0])
	}
	var parameters map[string]json.RawMessage
	if err := decodeStrictly(args[1], &parameters); err != nil {
		return nil, fmt.Errorf("parameters: %w", err)
	}
	r := admission.Request{
		Action: admission.Action(action), SessionID: testSession, Parameters: parameters,
		Cwd: testCwd(), CwdInsideRoots: true, Roots: []string{Workspace()},
		Caller: permission.Caller{Client: "test", Transport: "stdio", UID: -1},
	}
	if r.Action == admission.Start || r.Action == admission.List {
		r.SessionID = ""
	}
	raw, err := d.AdmissionDocument(r)
	if err != nil {
		return nil, err
	}
	return repeatable(raw)
}

// repeatable turns a document into a term and fixes what differs each time.
func repeatable(raw json.RawMessage) (*ast.Term, error) {
	v, err := ast.ValueFromReader(bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	doc, ok := v.(ast.Object)
	if !ok {
		return nil, fmt.Errorf("document is no object")
	}
	doc.Insert(ast.StringTerm("now_ns"), ast.NumberTerm(json.Number(fmt.Sprint(testNow))))
	doc.Insert(ast.StringTerm("decision_id"), ast.StringTerm("test"))
	return ast.NewTerm(doc), nil
}

func marshal(t *ast.Term) (json.RawMessage, error) {
	value, err := ast.JSON(t.Value)
	if err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

func decodeStrictly(t *ast.Term, target any) error {
	raw, err := marshal(t)
	if err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(target); err != nil {
		return fmt.Errorf("%s", strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

// testingSource is the library that tests import.
func testingSource() policy.Source { return policy.Source{Name: testingFile, Text: testingModule} }

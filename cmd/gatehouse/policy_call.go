package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/policy"
)

// policyCall is the call or request that eval, explain and bench are about, and
// the policies in force.
type policyCall struct {
	*command
	o *policyOptions

	tool, input, document string
	entrypoint, action    string
	mode                  string
	allowed, disallowed   string
	payload               payloadFlags
	inproc                inprocFlags
	plans                 bool     // the command can show a redaction plan
	plugins               []string // --plugin, as given

	settings *settings
	set      *policy.Set
	note     string // on the document that was given

	annotations []permission.Annotation // what plugins say of the call; set by load
}

// callFlags adds the flags that name a call.
func (c *command) callFlags(o *policyOptions) *policyCall {
	k := &policyCall{command: c, o: o}
	f := o.flags
	o.cwdFlag()
	f.StringVar(&k.tool, "tool", "", "`name` of the tool; default: Bash, with COMMAND")
	f.StringVar(&k.input, "input", "", "the tool's input, or an admission's parameters, as a JSON `object`")
	f.StringVar(&k.document, "document", "", "judge this whole or partial document instead: a `file`, or - for stdin")
	f.StringVar(&k.entrypoint, "entrypoint", "", "`name` of what is asked: permission (default), admission, inproc or redaction (eval and explain)")
	f.StringVar(&k.action, "action", string(admission.Start), "`name` of what an admission asks for: start, reply, fork, resume, cancel, list, answer, mcp_server, configure")
	f.StringVar(&k.mode, "mode", "default", "permission `mode` of the session: "+strings.Join(sessionModes, ", "))
	f.StringVar(&k.allowed, "allowed-tools", "", "the caller's `rules`, comma-separated, for example Read,Bash(go test *)")
	f.StringVar(&k.disallowed, "disallowed-tools", "", "the caller's `rules` that never run")
	k.pluginFlag(f)
	return k
}

// load checks the command line and loads the policies in force.
func (k *policyCall) load(ctx context.Context) (err error) {
	if err := k.check(); err != nil {
		return err
	}
	if k.annotations, err = k.pluginsSaid(); err != nil {
		return err
	}
	if k.settings, err = k.configure(&k.o.options); err != nil {
		return err
	}
	k.set, err = loadPolicies(ctx, k.settings, slog.New(slog.DiscardHandler))
	return err
}

// sessionModes are the modes that a session here can have.
var sessionModes = []string{"default", "acceptEdits", "plan", "dontAsk", "delegate", "bypassPermissions"}

func (k *policyCall) check() error {
	if k.payload.given() && k.entrypoint == "" {
		k.entrypoint = string(policy.EntryRedaction)
	}
	if k.inproc.given() && k.entrypoint == "" {
		k.entrypoint = string(policy.EntryInproc)
	}
	entries := []string{"", string(policy.EntryPermission), string(policy.EntryAdmission), string(policy.EntryInproc)}
	if k.plans {
		entries = append(entries, string(policy.EntryRedaction))
	}
	command := len(k.o.rest) == 1
	switch {
	case k.entrypoint == string(policy.EntryRedaction) && !k.plans:
		return errors.New("--entrypoint redaction: a plan is shown by gatehouse policy eval and explain")
	case k.payload.given() && k.entrypoint != string(policy.EntryRedaction):
		return fmt.Errorf("--sink, --event and --failed are about a redaction, not about --entrypoint %s", k.entrypoint)
	case k.inproc.given() && k.document != "":
		return errors.New("--document excludes --phase, --passed, --bytes and --is-error; they are phase, permission_decision and result in it")
	case k.inproc.given() && k.entrypoint != string(policy.EntryInproc):
		return fmt.Errorf("--phase, --passed, --bytes and --is-error are about a call of a tool in the server, not about --entrypoint %s", k.entrypoint)
	case !slices.Contains(sessionModes, k.mode):
		return fmt.Errorf("--mode %q: unknown, want %s", k.mode, strings.Join(sessionModes, ", "))
	case command && strings.TrimSpace(k.o.rest[0]) == "":
		return errors.New("the command is blank; say what is called")
	case !slices.Contains(entries, k.entrypoint):
		return fmt.Errorf("--entrypoint %q: unknown, want %s", k.entrypoint, strings.Join(entries[1:], ", "))
	case len(k.o.rest) > 1:
		return fmt.Errorf("one command is judged at a time, got %d words; put quotes around it", len(k.o.rest))
	case k.document != "" && (command || k.tool != "" || k.input != ""):
		return errors.New("--document excludes a command, --tool and --input")
	case len(k.plugins) > 0 && (k.document != "" || k.entrypoint == string(policy.EntryInproc) || k.entrypoint == string(policy.EntryRedaction)):
		return errors.New("--plugin is about a call or a request; a document has what plugins said below plugins, by their names")
	case k.document != "" || k.entrypoint == string(policy.EntryAdmission):
		return nil
	case k.entrypoint == string(policy.EntryInproc):
		return k.inproc.check(k.tool, command)
	case k.entrypoint == string(policy.EntryRedaction):
		if command || k.input != "" {
			return errors.New("--entrypoint redaction is about a sort of payload: --sink, --event, --tool and --failed, or --document")
		}
		return k.payload.check(k.tool)
	case command && (k.tool != "" || k.input != ""):
		return errors.New("a command excludes --tool and --input")
	case !command && k.tool == "":
		return errors.New("say what is called: a shell command in quotes, --tool with --input, or --document")
	}
	return nil
}

// judged returns the entry point and the document to judge.
func (k *policyCall) judged() (policy.Entrypoint, json.RawMessage, error) {
	if k.document != "" {
		return k.given()
	}
	if k.entrypoint == string(policy.EntryAdmission) {
		r, err := k.admission()
		if err != nil {
			return "", nil, err
		}
		doc, err := k.set.AdmissionDocument(r)
		return policy.EntryAdmission, doc, err
	}
	if k.entrypoint == string(policy.EntryRedaction) {
		doc, err := k.redactionDocument()
		return policy.EntryRedaction, doc, err
	}
	r, err := k.request()
	if err != nil {
		return "", nil, err
	}
	if k.entrypoint == string(policy.EntryInproc) {
		doc, err := k.set.InprocDocument(k.inproc.request(r))
		return policy.EntryInproc, doc, err
	}
	doc, err := k.set.Document(r)
	return policy.EntryPermission, doc, err
}

// given reads a document; its schema says which entry point it is for, unless the
// command line does.
func (k *policyCall) given() (policy.Entrypoint, json.RawMessage, error) {
	raw, err := k.readDocument(k.document)
	if err != nil {
		return "", nil, err
	}
	entry, whole, err := documentEntry(raw, k.entrypoint)
	if entry == policy.EntryRedaction && !k.plans {
		return "", nil, errors.New("document: of a redaction, whose plan is shown by gatehouse policy eval and explain")
	}
	if err != nil || entry != policy.EntryPermission {
		return entry, whole, err
	}
	if raw, k.note, err = k.withFacts(raw); err != nil {
		return entry, nil, err
	}
	return documentEntry(raw, k.entrypoint)
}

// documentEntry completes a document for the entry point it belongs to.
func documentEntry(raw json.RawMessage, named string) (policy.Entrypoint, json.RawMessage, error) {
	fields, err := documentFields(raw)
	if err != nil {
		return "", nil, err
	}
	schema := ""
	if fields["schema"] != nil && json.Unmarshal(fields["schema"], &schema) != nil {
		return "", nil, fmt.Errorf("document: schema is no text")
	}
	kind, _, _ := strings.Cut(schema, "/")
	if named != "" {
		kind = named
	}
	if kind == "" {
		kind = string(policy.EntryPermission)
	}
	whole, err := policy.Complete(policy.Entrypoint(kind), raw)
	return policy.Entrypoint(kind), whole, err
}

// maxDocumentBytes bounds a document that is read.
const maxDocumentBytes = 8 << 20

func (k *policyCall) readDocument(path string) (json.RawMessage, error) {
	in := k.stdin
	if path != "-" {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("document: %w", err)
		}
		defer f.Close()
		in = f
	}
	raw, err := io.ReadAll(io.LimitReader(in, maxDocumentBytes+1))
	if err == nil && len(raw) > maxDocumentBytes {
		err = fmt.Errorf("larger than %d bytes", maxDocumentBytes)
	}
	if err != nil {
		return nil, fmt.Errorf("document %s: %w", path, err)
	}
	return raw, nil
}

// request is the call as a session in the working folder would make it.
func (k *policyCall) request() (permission.Request, error) {
	tool, input := k.tool, json.RawMessage(k.input)
	switch {
	case len(k.o.rest) == 1:
		tool = "Bash"
		var err error
		if input, err = json.Marshal(map[string]string{"command": k.o.rest[0]}); err != nil {
			return permission.Request{}, err
		}
	case k.input == "":
		input = json.RawMessage("{}")
	case !isObject(input):
		return permission.Request{}, errors.New("--input must be a JSON object")
	}
	return permission.Request{
		SessionID: "policy", Door: permission.DoorAsk, ToolUseID: "policy", Tool: tool, Input: input,
		Caller: permission.Caller{Client: "terminal", Transport: "terminal", UID: -1}, Session: k.session(),
		Annotations: k.annotations,
	}, nil
}

func (k *policyCall) session() permission.Session {
	s := k.settings
	cwd := s.start
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	var own []string
	for _, server := range s.servers.list {
		own = append(own, server.Name)
	}
	return permission.Session{
		Cwd: cwd, Roots: s.roots, Mode: k.mode, Turn: 1, MaxBudgetUSD: sampleBudget, InprocServers: slices.Sorted(slices.Values(own)),
		AllowedTools: tools(k.allowed), DisallowedTools: tools(k.disallowed),
		Trusted: slices.ContainsFunc(s.trusted, func(t string) bool { return inside(cwd, t) }),
	}
}

// admission is a request of an MCP client with these parameters.
func (k *policyCall) admission() (admission.Request, error) {
	session := k.session()
	r := admission.Request{
		Action: admission.Action(k.action), Cwd: session.Cwd, Roots: session.Roots, Trusted: session.Trusted,
		CwdInsideRoots: slices.ContainsFunc(session.Roots, func(root string) bool { return inside(session.Cwd, root) }),
		Caller:         permission.Caller{Client: "terminal", Transport: "terminal", UID: -1},
		Annotations:    k.annotations,
	}
	if k.input == "" {
		return r, nil
	}
	if err := json.Unmarshal([]byte(k.input), &r.Parameters); err != nil {
		return r, errors.New("--input must be a JSON object of parameters by name")
	}
	return r, nil
}

func isObject(raw json.RawMessage) bool {
	var object map[string]any
	return json.Unmarshal(raw, &object) == nil && object != nil
}

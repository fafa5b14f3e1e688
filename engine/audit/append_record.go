package audit

import (
	"bytes"
	"encoding/json"
)

// appendBody appends the members of a record from "kind" to "detail", in the
// order and form of its struct. It is by hand since records are written by the
// hundred thousand; a test holds it to encoding/json.
func appendBody(b []byte, r *Record) ([]byte, error) {
	o := object{b: b}
	o.must("kind", string(r.Kind))
	o.text("session_id", r.Session)
	o.text("parent_session", r.Parent)
	o.who(r)
	o.text("cwd", r.Cwd)
	o.text("action", r.Action)
	o.text("door", r.Door)
	o.text("tool", r.Tool)
	o.text("tool_use_id", r.ToolUseID)
	o.text("agent_id", r.AgentID)
	o.decided(r)
	o.text("config_digest", r.ConfigDigest)
	if r.EvalMicros != 0 {
		o.number("eval_us", r.EvalMicros)
	}
	o.text("request_id", r.RequestID)
	o.text("shown_digest", r.ShownDigest)
	if len(r.Detail) > 0 {
		o.name("detail")
		out := bytes.NewBuffer(o.b)
		if err := json.Compact(out, r.Detail); err != nil { // no newline may be in it
			return nil, err
		}
		o.b = out.Bytes()
	}
	return o.b, nil
}

func (o *object) who(r *Record) {
	if p := r.Principal; p != nil {
		o.open("principal")
		o.text("transport", p.Transport)
		o.text("client", p.Client)
		o.text("version", p.Version)
		o.text("subject", p.Subject)
		o.list("groups", p.Groups)
		o.number("uid", int64(p.UID))
		o.text("remote", p.Remote)
		o.close()
	}
	if c := r.CLI; c != nil {
		o.open("cli")
		o.must("path", c.Path)
		o.text("version", c.Version)
		o.text("sha256", c.SHA256)
		o.close()
	}
}

func (o *object) decided(r *Record) {
	if in := r.Input; in != nil {
		o.open("input")
		o.number("bytes", int64(in.Bytes))
		o.must("hmac", in.HMAC)
		o.text("excerpt", in.Excerpt)
		o.close()
	}
	if v := r.Verdict; v != nil {
		o.open("decision")
		o.text("id", v.ID)
		o.must("value", v.Effect)
		o.must("reason_code", v.Rule)
		o.text("reason", v.Reason)
		o.list("rule_ids", v.Rules)
		o.list("obligations", v.Obligations)
		if v.Changed {
			o.name("input_changed")
			o.b = append(o.b, "true"...)
		}
		o.close()
	}
	if by := r.By; by != nil {
		o.open("by")
		o.must("kind", by.Kind)
		o.text("name", by.Name)
		o.close()
	}
	if p := r.Policy; p != nil {
		o.open("policy")
		o.text("package", p.Package)
		o.must("revision", p.Revision)
		o.text("digest", p.Digest)
		o.close()
	}
	if len(r.Plugins) > 0 {
		o.plugins(r.Plugins)
	}
}

func (o *object) plugins(all []Plugin) {
	o.name("plugins")
	for i, p := range all {
		o.b = append(o.b, "[,"[min(i, 1)], '{')
		o.some = false
		o.must("name", p.Name)
		o.must("sha256", p.SHA256)
		o.must("verdict", p.Verdict)
		if p.Binding {
			o.name("binding")
			o.b = append(o.b, "true"...)
		}
		o.text("error", p.Error)
		o.number("us", p.Micros)
		o.close()
	}
	o.b = append(o.b, ']')
}

package plugins

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
)

// MaxBlocks is how many blocks the result of a tool may have.
const MaxBlocks = 256

// maxWord bounds names, types and addresses in blocks, in bytes.
const maxWord = 4 << 10

// checkToolResult refuses what is no {"content": [blocks of MCP], "isError"?: bool}.
func checkToolResult(raw json.RawMessage) error {
	if len(raw) == 0 {
		return errors.New(`no output, want {"content": […]}`)
	}
	if err := checkJSON(raw); err != nil {
		return fmt.Errorf("output: %w", err)
	}
	r := read(raw, "output", "content", "isError")
	r.flag("isError")
	items := r.items("content", MaxBlocks)
	if r.err != nil {
		return r.err
	}
	for i, item := range items {
		if err := checkBlock(item, fmt.Sprintf("output: content[%d]", i)); err != nil {
			return err
		}
	}
	return nil
}

// blockMembers are the members of a block by its type, beside type and annotations.
var blockMembers = map[string][]string{
	"text":          {"text"},
	"image":         {"data", "mimeType"},
	"audio":         {"data", "mimeType"},
	"resource":      {"resource"},
	"resource_link": {"uri", "name", "title", "description", "mimeType", "size"},
}

func checkBlock(raw json.RawMessage, at string) error {
	var head struct {
		Type string `json:"type"`
	}
	_ = json.Unmarshal(raw, &head) // no text: no known type
	names, known := blockMembers[head.Type]
	if !known {
		return fmt.Errorf("%s: type %q is unknown, there are text, image, audio, resource, resource_link", at, clip(head.Type))
	}
	r := read(raw, at, append([]string{"type", "annotations"}, names...)...)
	switch head.Type {
	case "text":
		r.text("text", MaxOutput)
	case "image", "audio":
		r.base64("data")
		r.text("mimeType", maxWord)
	case "resource":
		r.resource("resource")
	case "resource_link":
		r.link()
	}
	if r.has("annotations") {
		r.audience("annotations")
	}
	return r.err
}

func (r *reader) base64(name string) {
	if text := r.text(name, MaxOutput); r.err == nil {
		if _, err := base64.StdEncoding.DecodeString(text); err != nil {
			r.fail("%s is no base64", name)
		}
	}
}

func (r *reader) link() {
	r.text("uri", maxWord)
	r.text("name", maxWord)
	for _, name := range []string{"title", "description", "mimeType"} {
		r.optional(name, maxWord)
	}
	if r.has("size") && r.number("size") < 0 {
		r.fail("size is negative")
	}
}

// within reads a member that is an object.
func (r *reader) within(name string, f func(*reader), known ...string) {
	if !r.has(name) {
		r.fail("%s is missing", name)
		return
	}
	in := read(r.members[name], r.at+": "+name, known...)
	if f(in); r.err == nil {
		r.err = in.err
	}
}

// resource reads an embedded one: a text or bytes.
func (r *reader) resource(name string) {
	r.within(name, func(in *reader) {
		in.text("uri", maxWord)
		in.optional("mimeType", maxWord)
		switch {
		case in.has("text") == in.has("blob"):
			in.fail("want either text or blob")
		case in.has("text"):
			in.text("text", MaxOutput)
		default:
			in.base64("blob")
		}
	}, "uri", "mimeType", "text", "blob")
}

// audience reads the annotations of a block.
func (r *reader) audience(name string) {
	r.within(name, func(in *reader) {
		if in.has("audience") {
			for _, who := range in.items("audience", 2) {
				if s := string(who); s != `"user"` && s != `"assistant"` {
					in.fail("audience is for user and assistant")
				}
			}
		}
		if in.has("priority") {
			var p float64
			if in.decode("priority", "a number", &p); p < 0 || p > 1 {
				in.fail("priority is not from 0 to 1")
			}
		}
		in.optional("lastModified", shown)
	}, "audience", "priority", "lastModified")
}

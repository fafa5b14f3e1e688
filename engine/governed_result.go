package engine

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
	"github.com/gatehouse-mcp/gatehouse/internal/rawjson"
)

// result judges what a call gave back and covers it on its way to the CLI.
func (c *governedCall) result(response json.RawMessage, took time.Duration) {
	s := c.process.session
	if err := bounded(response, s.maxToolMessage()); err != nil {
		c.unusable(err)
		return
	}
	r, err := readResponse(response)
	if err != nil {
		c.unusable(err)
		return
	}
	if len(s.engine.o.Inproc) == 0 {
		c.answer(c.covered(r, response))
		return
	}
	asked := c.request(permission.PhaseResult)
	asked.Duration, asked.Result = took, r.described()
	d, ok := c.judgeResult(asked)
	if !ok {
		return
	}
	c.answer(c.covered(r, response))
	s.noteResult(c.call, d, asked.Result) // nobody waits for it
}

// judgeResult reports whether a result may pass; if not, the call was answered.
func (c *governedCall) judgeResult(asked permission.InprocRequest) (permission.Decision, bool) {
	s, g := c.process.session, &c.process.governing
	var d permission.Decision
	if g.resultPlace(c.ctx) {
		d = s.judgeInproc(c.ctx, asked, g.leaveResultPlace)
	} else {
		d = inprocDeny(ruleBusy, fmt.Sprintf("%d results of this process are being judged", maxJudged))
	}
	if c.ctx.Err() != nil { // nobody refused it
		c.answer(c.toolError(endedText))
		return d, false
	}
	if d.Effect != permission.Allow {
		c.refuse(d, permission.PhaseResult, asked.Result)
		return d, false
	}
	s.tell(c.call, d)
	s.passed(d.Labels)
	owed, _ := dutyOf(d)
	c.duty = c.duty.with(owed)
	return d, true
}

// maxToolMessage is the bound of this engine: the CLI tells results in lines of its
// own, in which texts may take twice the room.
func (s *Session) maxToolMessage() int {
	return min(maxToolMessage, cmp.Or(max(s.engine.o.MaxLineBytes, 0), cli.DefaultMaxLine)/2)
}

// unusable answers for a server whose answer cannot be passed on.
func (c *governedCall) unusable(err error) {
	message := fmt.Sprintf("the tool server's answer to a call of %s was not passed on: %v", clip(c.call.Tool), err)
	c.process.tellUnusable(message, map[string]any{"toolName": c.call.Tool, "toolUseID": c.call.ToolUseID})
	c.process.governing.settled.add(c.call)
	c.answer(c.toolError("The tool server's answer was not passed on: " + err.Error() + "."))
}

// described is what deciders are told of a response.
func (r rpcResponse) described() permission.InprocResult {
	d := permission.InprocResult{IsError: r.isError(), Bytes: len(r.whole)}
	if r.failed != nil {
		return d
	}
	d.Blocks = blockKinds(r.result["content"])
	if structured, there := r.result["structuredContent"]; there {
		_, d.JSONShape, _ = strings.Cut(rawjson.Kind(structured), " ")
		if d.JSONShape == "" {
			d.JSONShape = rawjson.Kind(structured) // null has no article
		}
	}
	return d
}

// isError takes whatever is not clearly a success for an error.
func (r rpcResponse) isError() bool {
	flag, there := r.result["isError"]
	return r.failed != nil || there && string(flag) != "false"
}

// maxTold bounds the blocks of which deciders are told one by one; of further ones
// the kinds that are new.
const maxTold = 256

// blockKinds are the types of content blocks, "other" for what is none.
func blockKinds(content json.RawMessage) (kinds []string) {
	if len(content) == 0 {
		return nil
	}
	rawjson.Items(content, func(block []byte) {
		kind := blockKind(block)
		if len(kinds) >= 2*maxTold-1 {
			kind = "other"
		}
		if len(kinds) < maxTold || !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	})
	return kinds
}

// blockKind is the type of a block where it is a word.
func blockKind(block []byte) string {
	kind := ""
	rawjson.Each(block, func(literal, value []byte) {
		if string(literal) == `"type"` && len(value) > 2 && value[0] == '"' {
			kind = string(value[1 : len(value)-1])
		}
	})
	const longest = 32
	if kind == "" || len(kind) > longest || strings.ContainsFunc(kind, func(r rune) bool { return (r < 'a' || r > 'z') && r != '_' }) {
		return "other"
	}
	return kind
}

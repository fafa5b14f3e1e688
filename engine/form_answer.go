package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// fill is an allow of a form. What was filled in is judged as an answer.
func (s *Session) fill(ctx context.Context, a Answer, q permission.Question, source string) (permission.Verdict, error) {
	if len(a.UpdatedPermissions) > 0 {
		return permission.Verdict{}, Errorf(InvalidArgument, "updatedPermissions: a form takes none")
	}
	form := formOf(q.Request.Input)
	content, err := s.contentOf(a.UpdatedInput, q)
	if err != nil {
		return permission.Verdict{}, Errorf(InvalidArgument, "updatedInput: %w", err)
	}
	v := permission.Verdict{Allow: true, Source: source, Approver: a.approver(), Folder: q.Request.Folder}
	judged := v
	judged.Input = q.Request.Input
	switch {
	case form.Mode == "url" && len(membersOf(content)) > 0:
		return v, Errorf(InvalidArgument, "updatedInput.content: a form of mode url takes none; visit the page, then allow")
	case form.Mode == "url" && s.engine.chain.Revision() != q.Decision.InForce():
		return s.filled(ctx, v, judged, q)
	case form.Mode == "url":
		return v, nil
	case content == nil:
		return v, Errorf(InvalidArgument, `updatedInput: is required to allow a form: {"content": {…}} by form.schema; deny declines it`)
	}
	if err := form.Check(content); err != nil {
		return v, Errorf(InvalidArgument, "updatedInput.%w", err)
	}
	v.Input = content
	filled := membersOf(q.Request.Input)
	filled["content"] = content
	if judged.Input, err = json.Marshal(filled); err != nil {
		return v, Errorf(Internal, "form: %w", err)
	}
	return s.filled(ctx, v, judged, q)
}

// filled judges a form with what was filled in; judged is v with all of it.
func (s *Session) filled(ctx context.Context, v, judged permission.Verdict, q permission.Question) (permission.Verdict, error) {
	d, err := s.judgeAgain(ctx, judged, q)
	v.Judged = &d
	return v, err
}

// contentOf takes content out of updatedInput. Clients may send the rest of the
// input along, as it is or as they were shown it; nil when there is no content.
func (s *Session) contentOf(updated json.RawMessage, q permission.Question) (json.RawMessage, error) {
	if len(updated) == 0 {
		return nil, nil
	}
	if err := plainObject(updated); err != nil {
		return nil, err
	}
	s.mu.Lock()
	shown := membersOf(s.actions[q.ID].Input)
	s.mu.Unlock()
	asked, sent := membersOf(q.Request.Input), membersOf(updated)
	for _, name := range slices.Sorted(maps.Keys(sent)) {
		if name != "content" && !sameValue(sent[name], asked[name]) && !sameValue(sent[name], shown[name]) {
			return nil, fmt.Errorf("%s: only content may be added to a form, and nothing changed", clip(name))
		}
	}
	content := sent["content"]
	if holdsMark(content) {
		return nil, errors.New("content holds a redaction placeholder, so it is not what you mean; write the value itself")
	}
	return content, nil
}

// sameValue compares two JSON values; an absent one equals none.
func sameValue(a, b json.RawMessage) bool {
	var values [2]any
	for i, raw := range []json.RawMessage{a, b} {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		if dec.Decode(&values[i]) != nil {
			return false
		}
	}
	return reflect.DeepEqual(values[0], values[1])
}

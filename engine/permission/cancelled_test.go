package permission

import (
	"context"
	"testing"
)

// A call that is given up may cut plugins off, which may be skipped then: it is denied
// whatever was heard, and as before where there are none.
func TestGivenUpWhilePluginsAreHeard(t *testing.T) {
	given, up := context.WithCancel(context.Background())
	up()
	skipped := plugin(func(Request) Annotation { return Annotation{Plugin: "scan", Error: "cancelled"} })
	for _, c := range []struct {
		name       string
		annotators []Annotator
		says       Effect
		rule       string
	}{
		{"skipped", []Annotator{skipped}, Allow, "engine.cancelled"},
		{"heard", []Annotator{verdict(Abstain, true)}, Ask, "engine.cancelled"},
		{"halted", []Annotator{skipped}, Halt, "halt"},
		{"no plugins", nil, Allow, "allow"},
	} {
		d := Chain{Deciders: []Decider{says(c.says)}, Annotators: c.annotators}.Decide(given, Request{Input: []byte(`{"x":1}`)})
		if d.Rule != c.rule || len(d.Plugins) != len(c.annotators) || d.Revision != "r" {
			t.Errorf("%s: %s by %s of %q, plugins %+v", c.name, d.Effect, d.Rule, d.Revision, d.Plugins)
		}
	}
}

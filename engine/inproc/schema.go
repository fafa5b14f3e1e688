package inproc

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// Bounds of a schema, and of the work that checking arguments may cost: a schema is
// a program of sorts, and jsonschema runs it without a limit.
const (
	maxSchemaBytes  = 256 << 10
	maxSchemaDepth  = 64
	maxSchemaSteps  = 1 << 16 // for one value, without what is in it
	maxPatternBytes = 4096    // of all patterns
	maxPatternSteps = 4096    // instructions of all patterns

	checkBudget = 128 << 20 // see [walk]
	checkDepth  = 200       // schemas within schemas while arguments are checked
)

// dialects are what jsonschema can check. One that is not named is the newest.
var dialects = []string{
	"", "http://json-schema.org/draft-07/schema#", "https://json-schema.org/draft-07/schema#",
	"https://json-schema.org/draft/2020-12/schema",
}

// schema checks the arguments of a tool.
type schema struct {
	resolved *jsonschema.Resolved
	root     *node
}

// node is a schema within a schema, as the parts that are applied to the same value
// and those that are applied to what is in it.
type node struct {
	same    []*node          // $ref, allOf, anyOf, …
	members map[string]*node // by name
	any     []*node          // to any member
	names   *node            // to the names of members
	first   []*node          // items by place
	items   []*node          // to any item

	steps        int // of its own
	patternSteps int // of the pattern of a text
	nameSteps    int // of the patterns for names
	visiting     bool
}

// compile reads a schema for arguments. It refuses one that cannot be checked
// within bounds.
func compile(text json.RawMessage) (s *schema, err error) {
	defer func() {
		if p := recover(); p != nil {
			s, err = nil, fmt.Errorf("schema cannot be read: %v", p)
		}
	}()
	if err := plausible(text); err != nil {
		return nil, err
	}
	var root jsonschema.Schema
	if err := json.Unmarshal(text, &root); err != nil {
		return nil, fmt.Errorf("read schema: %w", err)
	}
	if !slices.Contains(dialects, root.Schema) {
		return nil, fmt.Errorf("$schema %.80q is not known; draft-07 and 2020-12 are", root.Schema)
	}
	b := &builder{places: make(map[string]*node), root: &root}
	tree, err := b.node(&root, "")
	if err != nil {
		return nil, err
	}
	if err := b.link(); err != nil {
		return nil, err
	}
	resolved, err := root.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("resolve schema: %w", err)
	}
	return &schema{resolved, tree}, nil
}

// plausible holds what no schema of a tool lacks, checked or not.
func plausible(text json.RawMessage) error {
	if len(text) > maxSchemaBytes {
		return fmt.Errorf("schema has %d bytes, over %d", len(text), maxSchemaBytes)
	}
	var root map[string]any
	if err := json.Unmarshal(text, &root); err != nil || root == nil {
		return errors.New("schema is not a JSON object")
	}
	if root["type"] != "object" {
		return errors.New(`schema is not of type "object"`)
	}
	if deeper(root, maxSchemaDepth) {
		return fmt.Errorf("schema is nested deeper than %d levels", maxSchemaDepth)
	}
	return nil
}

func deeper(v any, most int) bool {
	within := func(v any) bool { return deeper(v, most-1) }
	switch v := v.(type) {
	case map[string]any:
		for _, member := range v {
			if most == 0 || within(member) {
				return true
			}
		}
	case []any:
		return most == 0 || slices.ContainsFunc(v, within)
	}
	return false
}

// builder makes the nodes of a schema.
type builder struct {
	root         *jsonschema.Schema
	places       map[string]*node // by JSON pointer
	refs         []reference
	patternBytes int
	patternSteps int
}

type reference struct {
	from *node
	to   string
}

func (b *builder) node(s *jsonschema.Schema, place string) (*node, error) {
	if s == nil {
		return nil, fmt.Errorf("schema at %.80q is null", "#"+place)
	}
	if s.DynamicRef != "" || s.DynamicAnchor != "" || s.ID != "" && s != b.root {
		return nil, fmt.Errorf("schema at %.80q has $dynamicRef, $dynamicAnchor or an $id of its own, which is not followed here", "#"+place)
	}
	n := &node{members: make(map[string]*node)}
	n.steps = 1 + len(s.Enum) + len(s.Required) + len(s.Properties) + len(s.DependentRequired) + len(s.DependencyStrings)
	b.places[place] = n
	if s.Ref != "" {
		b.refs = append(b.refs, reference{n, s.Ref})
	}
	steps, err := b.pattern(s.Pattern)
	if err != nil {
		return nil, err
	}
	n.patternSteps = steps
	return n, b.parts(n, s, place)
}

// pattern returns the instructions of a pattern.
func (b *builder) pattern(text string) (int, error) {
	if text == "" {
		return 0, nil
	}
	if b.patternBytes += len(text); b.patternBytes > maxPatternBytes {
		return 0, fmt.Errorf("patterns have over %d bytes", maxPatternBytes)
	}
	tree, err := syntax.Parse(text, syntax.Perl)
	if err != nil {
		return 0, fmt.Errorf("pattern %.80q: %w", text, err)
	}
	program, err := syntax.Compile(tree.Simplify())
	if err != nil {
		return 0, fmt.Errorf("pattern %.80q: %w", text, err)
	}
	if b.patternSteps += len(program.Inst); b.patternSteps > maxPatternSteps {
		return 0, fmt.Errorf("patterns are over %d instructions long, as of %.80q", maxPatternSteps, text)
	}
	return len(program.Inst), nil
}

// link follows the references and refuses the ones that never reach a value.
func (b *builder) link() error {
	for _, r := range b.refs {
		to, err := url.Parse(r.to)
		if err != nil || !strings.HasPrefix(r.to, "#") || b.places[to.Fragment] == nil {
			return fmt.Errorf("$ref %.80q is not a place within the schema", r.to)
		}
		r.from.same = append(r.from.same, b.places[to.Fragment])
	}
	known := make(map[*node]int)
	for _, place := range slices.Sorted(maps.Keys(b.places)) {
		if _, err := b.places[place].cost(known); err != nil {
			return fmt.Errorf("schema at %.80q %w", "#"+place, err)
		}
	}
	return nil
}

// cost is the steps to check one value, without what is in it.
func (n *node) cost(known map[*node]int) (int, error) {
	if steps, ok := known[n]; ok {
		return steps, nil
	}
	if n.visiting {
		return 0, errors.New("refers to itself for the same value")
	}
	n.visiting = true
	defer func() { n.visiting = false }()
	steps := n.steps
	for _, part := range n.same {
		more, err := part.cost(known)
		if err != nil {
			return 0, err
		}
		if steps += more; steps > maxSchemaSteps {
			return 0, fmt.Errorf("takes over %d steps for one value", maxSchemaSteps)
		}
	}
	known[n] = steps
	return steps, nil
}

// at adds a step to a JSON pointer.
func at[T string | int](place, keyword string, step T) string {
	text := ""
	switch step := any(step).(type) {
	case int:
		text = strconv.Itoa(step)
	case string:
		text = strings.NewReplacer("~", "~0", "/", "~1").Replace(step)
	}
	return place + "/" + keyword + "/" + text
}

package inproc

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// tower is a schema whose definitions refer width times to the next one.
func tower(levels, width int, refer func(to string) string) string {
	var defs []string
	for i := range levels {
		var refs []string
		for range width {
			refs = append(refs, fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i+1))
		}
		defs = append(defs, fmt.Sprintf(`"d%d":%s`, i, refer(strings.Join(refs, ","))))
	}
	return fmt.Sprintf(`{"type":"object","$ref":"#/$defs/d0","$defs":{%s,"d%d":{}}}`, strings.Join(defs, ","), levels)
}

func TestCompile(t *testing.T) {
	all := func(refs string) string { return `{"allOf":[` + refs + `]}` }
	for _, test := range []struct{ name, schema, want string }{
		{"empty", `{"type":"object"}`, ""},
		{"draft-07", `{"$schema":"http://json-schema.org/draft-07/schema#","type":"object","definitions":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/definitions/a"}}}`, ""},
		{"escaped place", `{"type":"object","$defs":{"a/b~c d":{}},"properties":{"x":{"$ref":"#/$defs/a~1b~0c%20d"}}}`, ""},
		{"id of the whole", `{"$id":"https://example.com/x","type":"object"}`, ""},
		{"recursive value", `{"type":"object","properties":{"x":{"anyOf":[{"type":"array","items":{"$ref":"#"}},{"$ref":"#"}]}}}`, ""},
		{"every keyword", `{"type":"object","not":{"type":"string"},"if":{},"then":{},"else":{},"propertyNames":{"pattern":"^a"},"patternProperties":{"^b":{}},` +
			`"dependentSchemas":{"a":{}},"unevaluatedProperties":{},"properties":{"l":{"prefixItems":[{}],"items":{},"contains":{},"unevaluatedItems":{},"uniqueItems":true}}}`, ""},
		{"not JSON", `{`, "not a JSON object"},
		{"no type", `{}`, `not of type "object"`},
		{"more types", `{"type":["object","null"]}`, `not of type "object"`},
		{"large", `{"type":"object","title":"` + strings.Repeat("x", maxSchemaBytes) + `"}`, "over 262144"},
		{"deep", `{"type":"object","x":` + strings.Repeat("[", 70) + strings.Repeat("]", 70) + `}`, "deeper than 64"},
		{"unknown dialect", `{"$schema":"http://json-schema.org/draft-04/schema#","type":"object"}`, "is not known"},
		{"keyword of another type", `{"type":"object","properties":7}`, "read schema"},
		{"null within", `{"type":"object","properties":{"a":null}}`, `at "#/properties/a" is null`},
		{"refers to itself", `{"type":"object","$ref":"#"}`, `schema at "#" refers to itself for the same value`},
		{"refers to itself by parts", `{"type":"object","properties":{"a":{"anyOf":[{"not":{"$ref":"#/properties/a"}}]}}}`, "refers to itself"},
		{"refers elsewhere", `{"type":"object","properties":{"a":{"$ref":"https://example.com/a.json"}}}`, "is not a place within"},
		{"refers nowhere", `{"type":"object","properties":{"a":{"$ref":"#/$defs/a"}}}`, "is not a place within"},
		{"anchor", `{"type":"object","$defs":{"a":{"$anchor":"b"}},"properties":{"a":{"$ref":"#b"}}}`, "is not a place within"},
		{"dynamic", `{"type":"object","properties":{"a":{"$dynamicRef":"#b"}}}`, `at "#/properties/a" has $dynamicRef`},
		{"id within", `{"type":"object","properties":{"a":{"$id":"x"}}}`, "$id of its own"},
		{"wide tower", tower(30, 2, all), "takes over 65536 steps"},
		{"pattern", `{"type":"object","properties":{"a":{"pattern":"("}}}`, "pattern"},
		{"name pattern", `{"type":"object","patternProperties":{"(":{}}}`, "pattern"},
		{"long pattern", `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("x", maxPatternBytes+1) + `"}}}`, "over 4096 bytes"},
		{"pattern with a long program", `{"type":"object","properties":{"a":{"pattern":"` + strings.Repeat("x{1000}", 5) + `"}}}`, "over 4096 instructions"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := compile(json.RawMessage(test.schema))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("compile = %v, want %q", err, test.want)
			}
		})
	}
}

// nested is depth objects, one in the other.
func nested(depth int) string {
	return strings.Repeat(`{"x":`, depth) + `{}` + strings.Repeat(`}`, depth)
}

func TestCheckIsBounded(t *testing.T) {
	const twice = `{"type":"object","properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`
	const once = `{"type":"object","properties":{"x":{"$ref":"#"}}}`
	const slow = `{"type":"object","additionalProperties":{"pattern":"(x{1000}){0,1}y(x{1000}){0,1}"}}`
	for _, test := range []struct{ name, schema, arguments, want string }{
		{"a few levels", twice, nested(10), ""},
		{"twice for each level", twice, nested(60), "too much work"},
		{"once for each level", once, nested(60), ""},
		{"deeper than is followed", once, nested(1000), "too much work"},
		{"deep and not looked at", `{"type":"object"}`, nested(1000), ""},
		{"a megabyte", once, `{"x":{"y":"` + strings.Repeat("x", 1<<20) + `"}}`, ""},
		{"a large list", `{"type":"object","properties":{"x":{"items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"enum":["c","d"]}}}}}}`,
			`{"x":[` + strings.Repeat(`{"a":1,"b":"c"},`, 50000) + `{}]}`, ""},
		{"a long text for a slow pattern", slow, `{"x":"` + strings.Repeat("x", 1<<20) + `"}`, "too much work"},
		{"a short one", slow, `{"x":"y"}`, ""},
		{"names", `{"type":"object","propertyNames":{"maxLength":2},"patternProperties":{"^a":{"type":"integer"}}}`, `{"abc":1}`, "maxLength"},
		{"items by place", `{"type":"object","properties":{"x":{"prefixItems":[{"type":"integer"}],"items":{"type":"string"}}}}`, `{"x":[1,2]}`, "want \"string\""},
	} {
		t.Run(test.name, func(t *testing.T) {
			s, err := compile(json.RawMessage(test.schema))
			if err != nil {
				t.Fatal(err)
			}
			err = s.check(json.RawMessage(test.arguments))
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("check = %v, want %q", err, test.want)
			}
		})
	}
}

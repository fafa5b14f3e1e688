package policy

import (
	"strings"

	"github.com/open-policy-agent/opa/v1/ast"
)

// allowedBuiltins are the built-in functions a policy may call. It is an
// allow list, so that a function a later OPA brings is not there unasked. Left
// out is what gives two answers to one question (time.now_ns, rand.intn,
// uuid.rfc4122, opa.runtime), what reaches the network or another file
// (http.send, net.*, json.match_schema, providers.*), what ignores the deadline
// (bits.lsh) and what parses deeply nested text by recursion (graphql.*,
// yaml.*, rego.parse_module).
const allowedBuiltins = `
abs all and any assign ceil concat contains count div endswith eq equal floor format_int gt gte indexof indexof_n
intersection lower lt lte max min minus mul neq or plus print product rem replace round sort split sprintf startswith
substring sum to_number trim trim_left trim_prefix trim_right trim_space trim_suffix type_name union upper walk
is_array is_boolean is_null is_number is_object is_set is_string
array.concat array.flatten array.reverse array.slice
base64.decode base64.encode base64.is_valid base64url.decode base64url.encode base64url.encode_no_pad
bits.and bits.negate bits.or bits.rsh bits.xor
crypto.hmac.equal crypto.hmac.sha256 crypto.hmac.sha512 crypto.md5 crypto.sha1 crypto.sha256
glob.match glob.quote_meta graph.reachable graph.reachable_paths hex.decode hex.encode
internal.member_2 internal.member_3 internal.print internal.template_string internal.test_case
json.filter json.is_valid json.marshal json.patch json.remove json.unmarshal
numbers.range numbers.range_step
object.filter object.get object.keys object.remove object.subset object.union object.union_n
regex.find_all_string_submatch_n regex.find_n regex.is_valid regex.match regex.replace regex.split
rego.metadata.chain rego.metadata.rule semver.compare semver.is_valid
strings.any_prefix_match strings.any_suffix_match strings.count strings.replace_n strings.reverse strings.split_n
time.add_date time.clock time.date time.diff time.format time.parse_duration_ns time.parse_ns time.parse_rfc3339_ns time.weekday
units.parse units.parse_bytes uri.is_valid uri.parse
urlquery.decode urlquery.decode_object urlquery.encode urlquery.encode_object`

// capabilities returns what the compiler grants to policies.
func capabilities() *ast.Capabilities {
	allowed := map[string]bool{}
	for _, name := range strings.Fields(allowedBuiltins) {
		allowed[name] = true
	}
	c := ast.CapabilitiesForThisVersion()
	granted := c.Builtins[:0]
	for _, b := range c.Builtins {
		if allowed[b.Name] && !b.Nondeterministic {
			granted = append(granted, b)
		}
	}
	c.Builtins = granted
	c.AllowNet = []string{} // nil would allow every host
	return c
}

package policy

import (
	"context"
	"strings"
	"testing"
)

// TestTrapsAtLoad holds a policy for each mistake that must not load.
func TestTrapsAtLoad(t *testing.T) {
	for _, row := range []struct{ name, text, want string }{
		{"syntax", head + "decisions contains {", "user.rego:"},
		{"unknown input field", head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r"} if input.tol.name == "Bash"`, "tol"},
		{"unknown field below", head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r"} if input.tool.nam == "Bash"`, "nam"},
		{"unknown field of a list", head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r"} if input.paths[_].insid`, "insid"},
		{"unknown field in a library", "package gatehouse.lib.permission\n\nbad if input.tol", "tol"},
		{"unknown field under a title of one's own", "# METADATA\n# title: mine\npackage gatehouse.permission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": \"r\"} if input.tol", "tol"},
		{"unknown field of admission", "package gatehouse.admission\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": \"r\"} if input.tool", "tool"},
		{"input in a shared library", "package gatehouse.lib.common\n\nbad if input.tool", "gatehouse.lib.permission"},
		{"foreign package", "package gatehouse.engine\n\nx := 1", "package gatehouse.engine"},
		{"misspelt package", "package gatehouse.permision\n\nx := 1", "the nearest is gatehouse.permission"},
		{"rules where data is", "package cfg\n\nx := 1", "package cfg"},
		{"below an entrypoint", "package gatehouse.permission.decisions\n\nx := 1", "policies live in"},
		{"unknown decision field", head + `decisions contains {"efect": "deny", "rule": "x.y"}`, "efect"},
		{"unknown effect", head + `decisions contains {"effect": "block", "rule": "x.y", "reason": "r"}`, "block"},
		{"no reason", head + `decisions contains {"effect": "deny", "rule": "x.y"}`, "needs a reason"},
		{"rule with blanks", head + `decisions contains {"effect": "allow", "rule": "x y"}`, "x y"},
		{"rule of 65 letters", head + `decisions contains {"effect": "allow", "rule": "` + strings.Repeat("x", 65) + `"}`, "64"},
		{"unknown severity", head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r", "severity": "fatal"}`, "fatal"},
		{"unknown field of ask", head + `decisions contains {"effect": "ask", "rule": "x.y", "reason": "r", "ask": {"timout_s": 3}}`, "timeout_s"},
		{"unknown word of ask", head + `decisions contains {"effect": "ask", "rule": "x.y", "reason": "r", "ask": {"on_timeout": "allow"}}`, "halt"},
		{"unknown field of ops", head + `decisions contains {"effect": "modify", "rule": "x.y", "reason": "r", "ops": [{"op": "set", "pth": "/x", "value": 1}]}`, "pth"},
		{"unknown op", head + `decisions contains {"effect": "modify", "rule": "x.y", "reason": "r", "ops": [{"op": "sett", "path": "/x", "value": 1}]}`, "append_arg"},
		{"unknown obligation", head + `decisions contains {"effect": "allow", "rule": "x.y", "obligations": [{"kind": "log_ful"}]}`, "log_full"},
		{"unknown field of cache", head + `decisions contains {"effect": "allow", "rule": "x.y", "cache": {"ttl": 3}}`, "ttl_s"},
		{"misspelt in the body", head + `decisions contains d if d := {"effect": "deny", "rule": "x.y", "reson": "r"}`, "reason"},
		{"ask terms of a deny", head + `decisions contains {"effect": "deny", "rule": "x.y", "reason": "r", "ask": {"quorum": 2}}`, "belongs to effect"},
		{"one id with two effects", head + "decisions contains {\"effect\": \"allow\", \"rule\": \"x.y\"}\n\ndecisions contains {\"effect\": \"deny\", \"rule\": \"x.y\", \"reason\": \"r\"}", "another id"},
		{"schemas of one's own", "# METADATA\n# schemas:\n#   - input: {type: object}\n" + head + `decisions contains {"effect": "allow", "rule": "x.y"} if input.tol`, "schemas"},
		{"null compared", head + `decisions contains {"effect": "allow", "rule": "x.y"} if input.bash.commands[0].git == null`, "is_null"},
		{"no rule", head + `decisions contains {"effect": "allow"}`, "rule"},
		{"no partial set", head + `decisions := {"effect": "deny"} if input.title == "x"`, "partial set"},
		{"nothing decided", head + `helper if input.title == "x"`, "decide nothing"},
		{"http.send", head + `decisions contains {"effect": "allow", "rule": "x.y"} if http.send({"method": "get", "url": "http://localhost"}).status_code == 200`, "http.send"},
		{"clock", head + `decisions contains {"effect": "allow", "rule": "x.y"} if time.now_ns() > 0`, "time.now_ns"},
		{"runtime", head + `decisions contains {"effect": "allow", "rule": "x.y"} if opa.runtime().env`, "opa.runtime"},
		{"name lookup", head + `decisions contains {"effect": "allow", "rule": "x.y"} if net.lookup_ip_addr("h")`, "net.lookup_ip_addr"},
		{"dice", head + `decisions contains {"effect": "allow", "rule": "x.y"} if rand.intn("x", 2) == 1`, "rand.intn"},
		{"uuid", head + `decisions contains {"effect": "allow", "rule": "x.y"} if uuid.rfc4122("x")`, "uuid.rfc4122"},
		{"tokens", head + `decisions contains {"effect": "allow", "rule": "x.y"} if io.jwt.decode(input.title)`, "io.jwt.decode"},
		{"shifts", head + `decisions contains {"effect": "allow", "rule": "x.y"} if bits.lsh(1, 9) > 1`, "bits.lsh"},
		{"remote schema", head + `decisions contains {"effect": "allow", "rule": "x.y"} if json.match_schema({}, {"$ref": "http://localhost"})`, "json.match_schema"},
	} {
		t.Run(row.name, func(t *testing.T) {
			_, err := Load(context.Background(), Options{Paths: []string{userPolicy(t, row.text)}})
			if err == nil || !strings.Contains(err.Error(), row.want) {
				t.Fatalf("got %v, want an error that names %q", err, row.want)
			}
			if row.name != "nothing decided" && !strings.Contains(err.Error(), "user.rego:") {
				t.Errorf("%v does not name file and line", err)
			}
		})
	}
}

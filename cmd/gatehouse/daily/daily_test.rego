# Tests of the rows in rules.toml. `gatehouse policy allow`, `deny` and `import`
# add one for each row they write, and `gatehouse policy test` runs them.
package gatehouse.daily_test

import data.gatehouse.permission
import data.gatehouse.testing

# said is what the policies say to a call where these are the rows.
said(rows, call) := testing.said(found) if {
	found := permission.decisions with input as call with data.cfg as {"daily_version": 1, "daily_rules": rows}
}

test_the_effects if {
	row := {"tool": "Bash", "pattern": "ls *"}
	every effect, rule in {"allow": "allow:daily.allow", "ask": "ask:daily.ask", "deny": "deny:daily.deny"} {
		rule in said([object.union(row, {"effect": effect})], testing.bash("ls src"))
		not rule in said([object.union(row, {"effect": effect})], testing.bash("lsof"))
	}
	"deny:daily.deny" in said([object.union(row, {"effect": "deny"})], testing.bash("date; ls src"))
	not "allow:daily.allow" in said([object.union(row, {"effect": "allow"})], testing.bash("date; ls src"))
	not "deny:daily.deny" in said([object.union(row, {"effect": "deny", "folder": "/elsewhere"})], testing.bash("ls"))
}

test_a_row_must_be_complete if {
	"deny:daily.row" in said([{"effect": "alow", "tool": "Bash"}], testing.bash("ls"))
	"deny:daily.row" in said([{"effect": "deny"}], testing.bash("ls"))
	not "deny:daily.row" in said([{"effect": "deny", "tool": "Bash"}], testing.bash("ls"))
}

test_the_rows_must_be_there if {
	found := permission.decisions with input as testing.bash("ls") with data.cfg as {}
	"deny:daily.data" in testing.said(found)
	not "deny:daily.data" in said([], testing.bash("ls"))
}

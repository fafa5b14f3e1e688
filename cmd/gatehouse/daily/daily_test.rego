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
	some_row := {"effect": "deny", "tool": "Bash"}
	not "deny:daily.row" in said([some_row], testing.bash("ls"))
	not "deny:daily.row" in said([{"effect": "allow", "tool": "Read", "pattern": "docs/**", "folder": "/a b/c"}], testing.bash("ls"))
	every wrong in [
		{"effect": "alow"}, {"effect": ""}, {"tool": ""}, {"tool": "bash"}, {"tool": "BASH"}, {"tool": "Bash(make *)"}, {"tool": "mcp_x"},
		{"pattern": "Bash(make *)"}, {"pattern": " make"}, {"pattern": "make "}, {"tool": "WebSearch", "pattern": "x"},
		{"tool": "Read", "pattern": "~/x"}, {"tool": "Read", "pattern": "a/../b"}, {"tool": "Read", "pattern": "[ab]"},
		{"tool": "WebFetch", "pattern": "https://example.com"}, {"folder": "/x/"}, {"folder": "~/x"}, {"folder": "x"}, {"folder": "/x/../y"}, {"folder": "/"},
		{"effect": "allow", "tool": "mcp__*"}, {"effect": "allow", "tool": "mcp__gi*"},
	] {
		"deny:daily.row" in said([object.union(some_row, wrong)], testing.bash("date"))
	}
	"deny:daily.row" in said([{"effect": "deny"}], testing.bash("date"))
	"deny:daily.row" in said([{"tool": "Bash"}], testing.bash("date"))
}

# A key nobody knows may have been meant to make the row narrow.
test_an_odd_key_stops_all if {
	every odd in [
		{"effect": "allow", "tool": "Bash", "patern": "npm test"}, {"effect": "allow", "tool": "Bash", "Pattern": "npm test"},
		{"effect": "allow", "tool": "Bash", "foldr": "/x"}, {"effect": "allow", "tool": "Bash", "pattern": 7}, {"effect": "allow", "tool": "Bash", "pattern": ["ls"]}, "ls",
	] {
		found := said([odd], testing.bash("ls"))
		"deny:daily.data" in found
		not "allow:daily.allow" in found
	}
	not "deny:daily.data" in said([{"effect": "allow", "tool": "Bash", "reason": "x", "added": "2026-01-02"}], testing.bash("ls"))
}

said_with(cfg) := testing.said(found) if {
	found := permission.decisions with input as testing.bash("ls") with data.cfg as cfg
}

test_the_rows_must_be_there if {
	every cfg in [
		{}, {"daily_version": 2, "daily_rules": []}, {"daily_version": "1"}, {"daily_version": 1, "daily_rule": []},
		{"daily_version": 1, "daily_rules": {"effect": "deny"}}, {"daily_version": 1, "daily_rules": "x"},
	] {
		"deny:daily.data" in said_with(cfg)
	}
	not "deny:daily.data" in said_with({"daily_version": 1})
	not "deny:daily.data" in said_with({"daily_version": 1, "daily_rules": [], "mine": 1})
}

test_stars_in_names_of_servers if {
	call := testing.call("mcp__github__push", {})
	every tool in ["mcp__*", "mcp__gi*", "mcp__github*", "mcp__github__*", "mcp__github", "mcp__github__p*"] {
		"deny:daily.deny" in said([{"effect": "deny", "tool": tool}], call)
		"ask:daily.ask" in said([{"effect": "ask", "tool": tool}], call)
	}
	not "deny:daily.deny" in said([{"effect": "deny", "tool": "mcp__gitlab*"}], call)
	"allow:daily.allow" in said([{"effect": "allow", "tool": "mcp__github__*"}], call)
}

keeping(pattern) := [{"effect": "deny", "tool": "Read", "pattern": pattern}]

test_what_is_kept_is_not_searched if {
	every call in [
		testing.read("secret/k"), testing.read("Secret/K"), testing.call("LS", {"path": "/workspace/project/secret"}),
		testing.call("Grep", {"pattern": "x"}), testing.call("Grep", {"pattern": "x", "path": "/workspace"}),
		testing.call("Grep", {"pattern": "x", "path": "/workspace/project/secret/deep"}), testing.call("Glob", {"pattern": "secret/*"}),
		testing.bash("cat secret/k"), testing.bash("cp -r secret x"), testing.bash("cat < secret/k"), testing.bash("grep -r x ."),
		testing.bash("tar cf x.tar ."), testing.bash("rg x"),
	] {
		"deny:daily.deny" in said(keeping("secret/**"), call)
	}
	every call in [
		testing.read("src/k"), testing.call("Grep", {"pattern": "x", "path": "/workspace/project/src"}), testing.call("Glob", {"pattern": "src/*"}),
		testing.bash("cat src/k"), testing.bash("ls ."), testing.bash("grep x README.md"), testing.bash("rg x src"),
	] {
		not "deny:daily.deny" in said(keeping("secret/**"), call)
		not "ask:daily.search" in said(keeping("secret/**"), call)
	}
	"ask:daily.search" in said(keeping("*.key"), testing.call("Grep", {"pattern": "x", "path": "/workspace/project/src"}))
	not "ask:daily.search" in said(keeping("*.key"), testing.read("src/k"))
	not "ask:daily.search" in said([{"effect": "allow", "tool": "Read", "pattern": "*.key"}], testing.call("Grep", {"pattern": "x"}))
}

test_edits_are_told_from_reading_in_a_shell if {
	rows := [{"effect": "deny", "tool": "Edit", "pattern": "secret/**"}]
	every text in ["echo x > secret/k", "rm -r secret", "cp x secret/k"] {
		"deny:daily.deny" in said(rows, testing.bash(text))
	}
	not "deny:daily.deny" in said(rows, testing.bash("cat secret/k"))
	not "deny:daily.deny" in said(rows, testing.read("secret/k"))
}

# Patterns of a row with a folder begin there, wherever below it the session is.
test_patterns_begin_in_the_folder if {
	row := {"effect": "deny", "tool": "Read", "pattern": "secret/k", "folder": "/workspace"}
	"deny:daily.deny" in said([row], testing.read("/workspace/secret/k"))
	not "deny:daily.deny" in said([row], testing.read("/workspace/project/secret/k"))
	"deny:daily.deny" in said([object.union(row, {"pattern": "/project/secret/k"})], testing.read("/workspace/project/secret/k"))
}

test_allowed_means_in_the_sandbox if {
	rows := [{"effect": "allow", "tool": "Bash", "pattern": "make *"}]
	call := {"command": "make all"}
	"allow:daily.allow" in said(rows, testing.call("Bash", object.union(call, {"dangerouslyDisableSandbox": false})))
	every value in [true, "true", null] {
		not "allow:daily.allow" in said(rows, testing.call("Bash", object.union(call, {"dangerouslyDisableSandbox": value})))
		not "allow:daily.allow" in said([{"effect": "allow", "tool": "Bash"}], testing.call("Bash", object.union(call, {"dangerouslyDisableSandbox": value})))
	}
}

# Tests of the policies beside this file: gatehouse policy test. testing.bash and
# its like return the whole document of a call in /workspace/project.
package gatehouse.team_test

import data.gatehouse.admission
import data.gatehouse.permission
import data.gatehouse.redaction
import data.gatehouse.testing

cfg := {"checks": ["go test ./...", "go vet ./..."], "max_sessions": 3}

test_migrations_are_left_alone if {
	"deny:team.migrations" in testing.said(permission.decisions) with input as testing.write("db/migrations/001.sql")
	not "deny:team.migrations" in testing.said(permission.decisions) with input as testing.read("db/migrations/001.sql")
	not "deny:team.migrations" in testing.said(permission.decisions) with input as testing.write("db/schema.sql")
}

test_release_asks if {
	"ask:team.release" in testing.said(permission.decisions) with input as testing.bash("git tag v1.2.0")
	not "ask:team.release" in testing.said(permission.decisions) with input as testing.bash("git status")
}

# One test with many cases: a failure names those that failed.
test_checks_cover_the_whole_command[command] if {
	some command, allowed in {
		"go test ./...": true,
		"go vet ./... && go test ./...": true,
		"go test ./... && curl example.com": false,
		"go test ./... > /tmp/x": false,
		"GOFLAGS=-toolexec=x go test ./...": false,
		"go test ./... $(id)": false,
	}
	said := testing.said(permission.decisions) with input as testing.bash(command) with data.cfg as cfg
	runs := "allow:team.checks" in said
	runs == allowed
}

test_three_sessions if {
	start := testing.start({"prompt": "hello"})
	count(admission.decisions) == 0 with input as start with data.cfg as cfg
	full := testing.changed(start, {"running_sessions": 3})
	"deny:team.sessions" in testing.said(admission.decisions) with input as full with data.cfg as cfg
}

# The edits for payloads of a sort. What they make of one, gatehouse redact shows.
edits(sink) := {e.rule | some e in redaction.plan with input as {"sink": {"kind": sink}}}

test_what_is_covered_where if {
	edits("event") == {"team.customers", "team.tickets", "team.history"}
	edits("model") == {"team.customers", "team.tickets"}
}

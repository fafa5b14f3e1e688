package main

import (
	"log/slog"
	"runtime"
	"strings"
	"testing"
	"time"
)

func TestCleanupVariables(t *testing.T) {
	const ttl, running, sweep = sessionTTLVariable + "=", runningMaxVariable + "=", cleanupVariable + "="
	lock := "[lock]\nkeys = [\"limits.idle_ttl\"]\n"
	for _, tt := range []struct {
		name, org, user string
		env             []string
		idle, turn      time.Duration
		sweep           time.Duration
		warning         string // part of the only one; empty: none
	}{
		{"defaults", "", "", nil, 30 * time.Minute, 4 * time.Hour, 0, ""},
		{"empty is not set", "", "", []string{ttl, running, sweep}, 30 * time.Minute, 4 * time.Hour, 0, ""},
		{"variables", "", "", []string{ttl + "1000", running + "2592000000", sweep + "3600000"}, time.Second, 720 * time.Hour, time.Hour, ""},
		{"parts of a second", "", "", []string{ttl + "1500"}, 1500 * time.Millisecond, 4 * time.Hour, 0, ""},
		{"the file is above", "", "limits.idle_ttl = \"7m\"\n", []string{ttl + "1000", running + "2000"}, 7 * time.Minute, 2 * time.Second, 0, ttl[:len(ttl)-1] + " is set, but limits.idle_ttl at "},
		{"so is the organisation's", "limits.idle_ttl = \"8m\"\n", "", []string{ttl + "1000"}, 8 * time.Minute, 4 * time.Hour, 0, "org.toml:1 holds"},
		{"and its lock of a default", lock, "", []string{ttl + "1000"}, 30 * time.Minute, 4 * time.Hour, 0, "limits.idle_ttl is locked by "},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := checked(t, &options{}, tt.org, tt.user, tt.env...)
			if err != nil {
				t.Fatal(err)
			}
			if s.idleTTL != tt.idle || s.turnTimeout != tt.turn || s.variables.sweepEvery != tt.sweep {
				t.Errorf("idle %s, turn %s, sweep %s", s.idleTTL, s.turnTimeout, s.variables.sweepEvery)
			}
			got := s.variableWarnings(tt.env)
			if len(got) > 1 || (len(got) == 1) != (tt.warning != "") || tt.warning != "" && !strings.Contains(got[0], tt.warning) {
				t.Errorf("warnings %q, want one with %q", got, tt.warning)
			}
		})
	}
}

func TestMalformedVariables(t *testing.T) {
	for _, tt := range []struct{ line, wrong string }{
		{sessionTTLVariable + "=999", sessionTTLVariable + `: "999" is out of bounds, want 1000 to 2592000000`},
		{sessionTTLVariable + "=-1", `"-1" is out of bounds`},
		{runningMaxVariable + "=2592000001", runningMaxVariable + `: "2592000001" is out of bounds`},
		{runningMaxVariable + "=99999999999999999999", "is out of bounds"},
		{runningMaxVariable + "=1e6", `"1e6" is no whole number`},
		{cleanupVariable + "=3600001", cleanupVariable + `: "3600001" is out of bounds, want 1000 to 3600000`},
		{cleanupVariable + "= 5000", "is no whole number"},
		{detailsVariable + "=off", detailsVariable + `: "off" is unknown, want 0 or 1`},
	} {
		_, err := checked(t, &options{}, "", "limits.idle_ttl = \"7m\"\nlimits.turn_timeout = \"7m\"\n", tt.line)
		if err == nil || !strings.Contains(err.Error(), tt.wrong) {
			t.Errorf("%s: error = %v, want one with %q", tt.line, err, tt.wrong)
		}
	}
}

func TestDetailsVariable(t *testing.T) {
	for value, refused := range map[string]bool{"": false, "1": false, "true": false, "0": true, "false": true, "FALSE": true} {
		s, err := checked(t, &options{}, "", "", detailsVariable+"="+value)
		if err != nil || (s.serverOptions("serve", nil).NoDetails != "") != refused {
			t.Errorf("%q: error %v, refused %v", value, err, !refused)
		}
	}
}

// What the environment changes, the digest of the configuration shows.
func TestVariablesAreInTheDigest(t *testing.T) {
	digests := map[string]string{}
	for _, line := range []string{"A=b", sessionTTLVariable + "=5000", sessionTTLVariable + "=6000", cleanupVariable + "=5000", detailsVariable + "=0"} {
		l := &loaded{fileConfig: defaultConfig(), at: places{}}
		if err := l.overlay(environment{line}); err != nil {
			t.Fatal(err)
		}
		if other, twice := digests[l.digest()]; twice {
			t.Errorf("%s and %s have one digest", line, other)
		}
		digests[l.digest()] = line
	}
}

func TestUnreadVariables(t *testing.T) {
	var many environment
	for range 3 * maxUnread {
		many = append(many, "CLAUDE_CODE_MCP_X=1")
	}
	for _, tt := range []struct {
		name  string
		env   environment
		count int
		want  string
	}{
		{"those that are read", environment{sessionTTLVariable + "=1", resumeSecret + "=s", detailsVariable + "=1", "CLAUDE_CODE_GIT_BASH_PATH=b"}, 0, ""},
		{"misspelt", environment{"CLAUDE_CODE_MCP_RESUME_SECRE=value"}, 1, "the nearest variable is " + resumeSecret},
		{"of other versions", environment{"CLAUDE_CODE_MCP_MAX_PENDING_PERMISSIONS=3"}, 1, "[limits] max_pending"},
		{"many", many, maxUnread, "CLAUDE_CODE_MCP_X"},
	} {
		got := unreadVariables(tt.env)
		if len(got) != tt.count || tt.count > 0 && !strings.Contains(got[0], tt.want) || strings.Contains(strings.Join(got, ""), "value") {
			t.Errorf("%s: %q", tt.name, got)
		}
	}
}

func TestLogLevel(t *testing.T) {
	for value, want := range map[string]slog.Level{
		"": slog.LevelInfo, "DEBUG": slog.LevelDebug, "info": slog.LevelInfo, "Warning": slog.LevelWarn, "WARN": slog.LevelWarn,
		"error": slog.LevelError, "CRITICAL": levelCritical, " debug ": slog.LevelDebug, "10": slog.LevelInfo, "loud": slog.LevelInfo,
	} {
		level, warning := environment{logLevelVariable + "=" + value}.logLevel()
		unknown := value == "10" || value == "loud"
		if level != want || (warning != "") != unknown {
			t.Errorf("%q: level %s, warning %q", value, level, warning)
		}
	}
}

func TestCommandLine(t *testing.T) {
	backslashed := "--help" // a separator of folders on Windows only
	if runtime.GOOS == "windows" {
		backslashed = mpmName + " --help"
	}
	for _, tt := range []struct{ given, want string }{
		{"", ""},
		{"gatehouse", ""},
		{"/bin/gatehouse serve", "serve"},
		{"mpm-session-server", mpmName},
		{"/usr/local/bin/mpm-session-server --max-concurrent 3", mpmName + " --max-concurrent 3"},
		{"/bin/mpm-session-server.exe --help", mpmName + " --help"},
		{`C:\bin\mpm-session-server.exe --help`, backslashed},
		{"mpm-session-server serve", mpmName + " serve"}, // which it refuses
		{"mpm-session-server scripted-cli --x", "scripted-cli --x"},
		{"mpm-session-server2 check", "check"},
		{"gatehouse mpm-session-server", mpmName},
	} {
		if got := strings.Join(commandLine(strings.Fields(tt.given)), " "); got != tt.want {
			t.Errorf("%q: %q, want %q", tt.given, got, tt.want)
		}
	}
}

func TestUnfilledVariablesAreTold(t *testing.T) {
	for value, want := range map[string]int{"${ANTHROPIC_API_KEY}": 1, "key": 0, "": 0, "$ANTHROPIC_API_KEY": 0} {
		if got := unfilled(environment{"ANTHROPIC_API_KEY=" + value}); len(got) != want {
			t.Errorf("%q: %q", value, got)
		}
	}
}

package engine

import (
	"log/slog"
	"strings"
	"testing"
	"time"
)

// TestFate: what the sweeper does to a session of some age.
func TestFate(t *testing.T) {
	const idle, turn, warm = 30 * time.Minute, 4 * time.Hour, 30 * time.Second
	no := false
	tests := []struct {
		name        string
		state       State
		untouched   time.Duration // since somebody asked for it
		inTurn      time.Duration // since the turn began
		process     bool
		tasks       int // background tasks under way
		sinceResult time.Duration
		persist     *bool
		want        fate
	}{
		{"idle for a while", Idle, idle - time.Minute, 0, false, 0, 0, nil, keepOn},
		{"idle for too long", Idle, idle + time.Minute, 0, false, 0, 0, nil, overIdle},
		{"idle for too long with a process", Idle, idle + time.Minute, 0, true, 0, idle, nil, overIdle},
		{"failed for too long", Failed, idle + time.Minute, 0, false, 0, 0, nil, overIdle},
		{"polled all the time", Idle, time.Second, 0, false, 0, 3 * idle, nil, keepOn},
		{"a warm process", Idle, time.Second, 0, true, 0, warm - time.Second, nil, keepOn},
		{"a process that cools", Idle, time.Second, 0, true, 0, warm + time.Second, nil, coolDown},
		{"a process that could not be resumed", Idle, time.Second, 0, true, 0, warm + time.Second, &no, keepOn},
		{"background work goes on", Idle, 3 * time.Hour, 0, true, 1, 3 * time.Hour, nil, keepOn},
		{"background work without end", Idle, turn + time.Minute, 0, true, 1, turn + time.Minute, nil, overIdle},
		{"background work without end, polled", Idle, time.Second, 0, true, 1, turn + time.Minute, nil, keepOn},
		{"a long turn", Running, idle + time.Minute, turn - time.Minute, true, 0, 0, nil, keepOn},
		{"a turn without end", Running, 0, turn + time.Minute, true, 0, 0, nil, overTurn},
		{"a question without end", Waiting, 0, turn + time.Minute, true, 0, 0, nil, overTurn},
		{"background turns without end, nobody asks", Running, time.Second, time.Second, true, 1, 0, nil, overTurn},
		{"background work without end, nobody asks", Idle, time.Second, 0, true, 1, time.Second, nil, overIdle},
		{"cancelled a while ago", Cancelled, idle - time.Minute, 0, false, 0, 0, nil, keepOn},
		{"cancelled long ago", Cancelled, idle + time.Minute, 0, false, 0, 0, nil, forgetGone},
		{"cancelled, its process still ends", Cancelled, idle + time.Minute, 0, true, 0, 0, nil, keepOn},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			now := time.Now()
			e := &Engine{o: Options{TurnTimeout: turn, IdleTTL: idle, WarmTTL: warm}, log: slog.New(slog.DiscardHandler), ctx: t.Context()}
			s := e.newSession(StartParams{PersistSession: tt.persist}, "")
			defer s.end(nil)
			s.state, s.touched, s.turnStarted = tt.state, now.Add(-tt.untouched), now.Add(-tt.inTurn)
			if strings.HasSuffix(tt.name, "nobody asks") {
				s.used = now.Add(-idle - turn - time.Minute)
			}
			if tt.process {
				s.proc = &process{session: s, tasks: map[string]struct{}{}, inTurn: tt.state.Busy(), idleSince: now.Add(-tt.sinceResult)}
			}
			for range tt.tasks {
				s.proc.tasks["t"] = struct{}{}
			}
			if got, _ := s.fate(now); got != tt.want {
				t.Errorf("fate %d, want %d", got, tt.want)
			}
		})
	}
}

func TestExpiredSessionsAreForgotten(t *testing.T) {
	e := &Engine{o: Options{TurnTimeout: time.Hour, IdleTTL: time.Minute}, log: slog.New(slog.DiscardHandler), ctx: t.Context(), slots: newSlots(1), sessions: map[string]*Session{}}
	s := e.newSession(StartParams{}, "")
	e.sessions[s.id] = s
	s.state, s.touched = Idle, time.Now().Add(-time.Hour)
	if _, err := e.Session(s.id); err != nil {
		t.Fatal(err)
	}
	s.expire(time.Now())
	if s.Info().State != Idle {
		t.Fatal("a session that was just asked for expired")
	}
	s.expire(time.Now().Add(2 * time.Minute))
	e.work.Wait()
	if _, err := e.Session(s.id); CodeOf(err) != SessionNotFound {
		t.Errorf("an expired session is still kept: %v", err)
	}
}

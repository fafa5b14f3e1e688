package engine

import (
	"strconv"
	"strings"
	"sync"
	"time"
)

// streamCloseTimeout is a variable that other programs which drive the CLI take for
// the least time, in milliseconds, it gets to start. The CLI itself does not read it.
const streamCloseTimeout = "CLAUDE_CODE_STREAM_CLOSE_TIMEOUT"

// maxStartFloor is the most that is heeded.
const maxStartFloor = 10 * time.Minute

// floor is the owner's.
type floor struct {
	once sync.Once
	d    time.Duration
}

// startFloor is the least time a start of the session gets: what its caller's
// environment says, else the owner's; 0 where neither does.
func (s *Session) startFloor() time.Duration {
	s.flooring.Do(func() {
		if text := s.params.Env[streamCloseTimeout]; text != "" {
			var ok bool
			if s.floor, ok = parseFloor(text); ok {
				return
			}
			s.engine.warnFloor("session", s.id)
		}
		s.floor = s.engine.startFloor()
	})
	return s.floor
}

func (e *Engine) startFloor() time.Duration {
	e.floor.once.Do(func() {
		text := e.variable(streamCloseTimeout)
		d, ok := parseFloor(text)
		if e.floor.d = d; !ok && text != "" {
			e.warnFloor()
		}
	})
	return e.floor.d
}

// warnFloor does not show the value: it is whatever somebody put there.
func (e *Engine) warnFloor(where ...any) {
	e.log.Warn(streamCloseTimeout+" is ignored: it is no whole number of milliseconds from 0 to "+
		strconv.FormatInt(maxStartFloor.Milliseconds(), 10), where...)
}

// parseFloor takes digits alone.
func parseFloor(text string) (time.Duration, bool) {
	if text == "" || strings.Trim(text, "0123456789") != "" {
		return 0, false
	}
	ms, err := strconv.ParseInt(text, 10, 64)
	if err != nil || ms > maxStartFloor.Milliseconds() {
		return 0, false
	}
	return time.Duration(ms) * time.Millisecond, true
}

package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/internal/lineage"
)

// Bounds of a sweep. It gives up when both are reached: on a busy machine a few
// looks can take all of the time.
const (
	sweepFor    = 2 * time.Second
	sweepRounds = 8
	sweepPause  = 15 * time.Millisecond // longer each round, for processes that take a while to die
)

// ErrLeft is returned when processes of a session live on although they were killed,
// or could not be killed or looked for. The error names them.
var ErrLeft = errors.New("processes are left")

// fate is what came of an attempt to end a process.
type fate int

const (
	gone    fate = iota // it no longer is what it was
	killed              // it got SIGKILL
	foreign             // it is another user's, or the system does not let us
)

// sweeper ends families.
type sweeper struct {
	table     func(context.Context) (*table, error)
	kill      func(member) fate
	killGroup func(group int)
}

var system = sweeper{table: shared.after, kill: kill, killGroup: killGroup}

// Sweep ends those of the entries that still are what they were, everything they
// started, and every process that bears one of their markers, until none is left.
// It returns how many it ended, and ErrLeft for what lives on after about two
// seconds of trying. Entries of another run of the machine are passed over.
//
// Never ended are this process, those that run it, those it started for other
// reasons, and processes of other users. What cannot be found: a process that has
// cleared its environment, lost its brand (package lineage) and whose parents are
// gone. Only a sub-reaper knows it, see [SweepDescendants].
func Sweep(entries []Entry) (ended int, err error) {
	var families []*family
	for _, e := range entries {
		if f := e.family(); f != nil {
			families = append(families, f)
		}
	}
	if len(families) == 0 {
		return 0, nil
	}
	return system.sweep(families...)
}

// family is what an entry stands for, nil when it means nothing here and now.
func (e Entry) family() *family {
	if e.PID <= 1 || e.Start == "" || e.Boot != bootID() {
		return nil
	}
	f := &family{root: member{e.PID, e.Start}}
	switch { // a session can live again, elsewhere and under its old id: its run cannot
	case e.Run != "":
		f.marks = []string{RunEnv + "=" + e.Run, brandMark(lineage.Brand(e.Run))}
	case e.Session != "":
		f.marks = []string{MarkerEnv + "=" + e.Session}
	}
	return f
}

// SweepDescendants ends everything below a process, those handed to it as the
// sub-reaper included, and not the process itself, until nothing is left. It
// returns how many it ended, and ErrLeft as [Sweep] does. Dead ones that nobody
// has waited for do not count; root, if it is the caller, waits for them itself.
func SweepDescendants(root int) (ended int, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepFor)
	defer cancel()
	t, err := system.table(ctx)
	if err != nil {
		return 0, fmt.Errorf("sweep below process %d: %w", root, err)
	}
	p := t.byPID[root]
	if p == nil {
		return 0, nil // what it started belongs to somebody else by now
	}
	return system.sweep(&family{root: p.member, heirs: true})
}

// sweep ends the families; it is over when a look taken after the last kill shows
// nobody, and cannot have missed one, as far as a few looks more can tell.
func (s sweeper) sweep(families ...*family) (ended int, err error) {
	counted := make(map[member]bool)
	began := time.Now()
	for round := 1; ; round++ {
		o, err := s.round(families, counted)
		late := time.Since(began) >= sweepFor
		switch {
		case errors.Is(err, errOccupied):
			return len(counted), err
		case err == nil && len(o.left) == 0 && (o.settled || round >= sweepRounds):
			return len(counted), nil
		case err != nil && late:
			return len(counted), fmt.Errorf("%w, perhaps: %w", ErrLeft, err)
		case err == nil && len(o.left) > 0 && (late && round >= sweepRounds || o.foreign == len(o.left)):
			return len(counted), leftError(o.left)
		}
		time.Sleep(time.Duration(min(round, 10)) * sweepPause)
	}
}

// outcome is what a round saw.
type outcome struct {
	left    []*proc
	foreign int  // of them, who cannot be ended
	settled bool // as in table
}

// round looks once and kills who lives.
func (s sweeper) round(families []*family, counted map[member]bool) (o outcome, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepFor)
	defer cancel()
	t, err := s.table(ctx)
	if err != nil {
		return o, err
	}
	ours := make(map[int]int) // by group
	for _, f := range families {
		o.left = append(o.left, f.living(t)...)
		for _, group := range f.groups {
			ours[group] += 0 // seen in an earlier look
		}
	}
	for _, p := range o.left {
		switch s.kill(p.member) {
		case killed:
			counted[p.member] = true
		case foreign:
			o.foreign++
			continue
		}
		ours[p.group]++
	}
	s.killGroups(t, ours)
	o.settled = t.settled
	return o, nil
}

// killGroups ends whole groups, for processes that fork faster than they are
// found: a signal to a group reaches those about to be born. Only groups in which
// the look showed so many as are ours, and an id that nobody else has by now.
func (s sweeper) killGroups(t *table, ours map[int]int) {
	for group, n := range ours {
		leader := t.byPID[group]
		if group > 1 && n == len(t.groups[group]) && (leader == nil || leader.group == group) {
			s.killGroup(group)
		}
	}
}

// namedLeft bounds the processes that an error names.
const namedLeft = 10

func leftError(left []*proc) error {
	var ids []string
	for _, p := range left[:min(len(left), namedLeft)] {
		ids = append(ids, fmt.Sprint(p.pid))
	}
	return fmt.Errorf("%w: %d could not be ended: pid %s", ErrLeft, len(left), strings.Join(ids, ", "))
}

package audit

import (
	"bufio"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// crashRounds is how many servers are killed.
const crashRounds = 200

// crashing is the server that is killed: it says what was recorded, and only then
// goes on.
func crashing(folder string) {
	l, err := Open(Options{
		Folder: folder, Boot: os.Getenv("AUDIT_CRASH_BOOT"), SegmentBytes: 20_000, NoSync: os.Getenv("AUDIT_CRASH_NOSYNC") != "",
		InputKey: make([]byte, 32),
	})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	var told sync.Mutex
	for worker := range 8 {
		go func() { // ends with the process
			for n := range 1 << 30 {
				r := decision("Bash", strings.Repeat("x", rand.IntN(2000)))
				r.ToolUseID = fmt.Sprintf("w%d-%d", worker, n)
				if err := l.Record(context.Background(), r); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(1)
				}
				told.Lock()
				fmt.Fprintln(os.Stdout, r.ToolUseID) // one write(2)
				told.Unlock()
			}
		}()
	}
	select {}
}

// A server that is killed at any moment leaves a whole chain with all in it that
// was confirmed.
func TestKilledServers(t *testing.T) {
	rounds := make(chan int)
	var workers sync.WaitGroup
	var torn, records counter
	for range 2 {
		workers.Go(func() {
			for n := range rounds {
				crashRound(t, n, &torn, &records)
			}
		})
	}
	for n := range crashRounds {
		rounds <- n
	}
	close(rounds)
	workers.Wait()
	t.Logf("%d records confirmed in %d rounds, %d torn tails", records.n, crashRounds, torn.n)
	if records.n < crashRounds {
		t.Errorf("only %d records in %d rounds: nothing was tested", records.n, crashRounds)
	}
}

type counter struct {
	mu sync.Mutex
	n  int
}

func (c *counter) add(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n += n
}

func crashRound(t *testing.T, n int, torn, records *counter) {
	r := rig{root: t.TempDir(), boot: fmt.Sprintf("20260101T000000Z-%08d", n)}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), "AUDIT_CRASH_FOLDER="+r.folder(), "AUDIT_CRASH_BOOT="+r.boot)
	if n%2 == 1 {
		cmd.Env = append(cmd.Env, "AUDIT_CRASH_NOSYNC=1")
	}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = cmd.Start()
	}
	if err != nil {
		t.Error(err)
		return
	}
	lines := bufio.NewScanner(out)
	confirmed := map[string]bool{}
	for lines.Scan() {
		if len(confirmed) == 0 { // it records
			time.AfterFunc(time.Duration(rand.IntN(30_000))*time.Microsecond, func() { cmd.Process.Kill() })
		}
		confirmed[lines.Text()] = true
	}
	cmd.Wait()
	records.add(len(confirmed))
	report := r.verified(t, VerifyOptions{})
	if report.Bad != nil || report.Closed || report.Live {
		t.Errorf("round %d: %+v", n, report)
	}
	if report.Torn > 0 {
		torn.add(1)
	}
	if err := newStreamOf(r.root).Each(func(e Entry) error {
		delete(confirmed, e.ToolUseID)
		return e.Err
	}); err != nil {
		t.Errorf("round %d: %v", n, err)
	}
	if len(confirmed) > 0 {
		t.Errorf("round %d: %d confirmed records are lost: %v", n, len(confirmed), confirmed)
	}
}

func newStreamOf(root string) *Stream { return NewStream(root, time.Time{}) }

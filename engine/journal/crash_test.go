package journal

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/internal/testleak"
)

// victimEnv names the folder that this program, as a child of its own test,
// writes to until it is killed.
const victimEnv = "GATEHOUSE_TEST_VICTIM"

func TestMain(m *testing.M) {
	if folder := os.Getenv(victimEnv); folder != "" {
		victim(folder)
	}
	os.Exit(testleak.Run(m))
}

const (
	crashSessions     = 4
	crashSegmentBytes = 16 << 10
)

// victim goes on with its sessions and acknowledges each event, "SESSION ID", on
// standard output once it is appended. It does not return.
func victim(folder string) {
	j, err := Open(Options{Folder: folder, SegmentBytes: crashSegmentBytes, SyncEvery: time.Millisecond})
	if err != nil {
		fmt.Println("error", err)
		os.Exit(1)
	}
	var all sync.WaitGroup
	for n := range crashSessions {
		all.Go(func() {
			if err := write(j, n); err != nil {
				fmt.Println("error", err)
			}
		})
	}
	all.Wait()
	os.Exit(1)
}

func write(j *Journal, n int) error {
	h, err := j.Open(session(n))
	if err != nil {
		h, err = j.Create(record(n))
	}
	if err != nil {
		return err
	}
	r := record(n)
	for _, id := h.Bounds(); ; id++ {
		if err := h.Append(crashEvent(n, id)); err != nil {
			return err
		}
		os.Stdout.WriteString(strconv.Itoa(n) + " " + strconv.FormatInt(id, 10) + "\n")
		if id%64 == 0 {
			r.Turns = int(id)
			if err := h.Put(r); err != nil {
				return err
			}
		}
	}
}

// crashEvent has up to 20 kB that follow from its id.
func crashEvent(n int, id int64) event.Event {
	size := int(id*7919+int64(n)*104729) % 20_000
	if id%8 != 0 {
		size %= 600
	}
	return event.Event{
		ID: id, Type: event.Output, Timestamp: time.Now(),
		Data: json.RawMessage(fmt.Sprintf(`{"n":%d,"fill":"%s"}`, id, strings.Repeat("x", size))),
	}
}

// TestKilled kills a writer again and again and looks what is left each time.
func TestKilled(t *testing.T) {
	rounds := 200
	if testing.Short() {
		rounds = 20
	}
	folder := filepath.Join(t.TempDir(), "journal")
	acknowledged := make([]int64, crashSessions) // ids below
	for round := range rounds {
		killOne(t, folder, acknowledged, time.Duration(rand.IntN(25_000))*time.Microsecond)
		lookAfter(t, folder, acknowledged, round%20 == 19)
		if t.Failed() {
			t.Fatalf("in round %d", round)
		}
		if round%20 == 19 { // so that reading all of it stays quick
			folder = filepath.Join(t.TempDir(), "journal")
			clear(acknowledged)
		}
	}
}

// killOne lets a victim write for a while, from its first word on.
func killOne(t *testing.T, folder string, acknowledged []int64, after time.Duration) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), victimEnv+"="+folder)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var kill sync.Once
	for lines := bufio.NewScanner(out); lines.Scan(); {
		kill.Do(func() { time.AfterFunc(after, func() { cmd.Process.Kill() }) })
		var n int
		var id int64
		if _, err := fmt.Sscan(lines.Text(), &n, &id); err != nil {
			t.Errorf("the victim says %q", lines.Text())
			continue
		}
		acknowledged[n] = max(acknowledged[n], id+1)
	}
	cmd.Wait() // an error, since it was killed
}

// lookAfter reads everything and compares it.
func lookAfter(t *testing.T, folder string, acknowledged []int64, all bool) {
	t.Helper()
	j := opened(t, Options{Folder: folder})
	defer j.Close()
	list, err := j.Sessions()
	if err != nil {
		t.Error(err)
	}
	for _, r := range list {
		var n int
		fmt.Sscanf(r.ID[24:], "%x", &n)
		if r.Live || r.State != "running" || r.Next < acknowledged[n] || int64(r.Turns) > r.Next {
			t.Errorf("session %d: %+v, acknowledged below %d", n, r, acknowledged[n])
		}
		from := int64(0)
		if !all { // the newest
			from = max(r.Next-300, 0)
		}
		readWhole(t, j, n, from, r.Next)
		onlyTorn(t, folder, r.ID)
	}
}

// readWhole reads from one id to another and misses none.
func readWhole(t *testing.T, j *Journal, n int, from, to int64) {
	t.Helper()
	for from < to {
		p, err := j.Read(session(n), event.Window{From: &from})
		if err != nil || p.ResetTo != nil || len(p.Events) == 0 {
			t.Errorf("session %d from %d of %d: %d events, reset %v, %v", n, from, to, len(p.Events), p.ResetTo, err)
			return
		}
		for _, e := range p.Events {
			if want := crashEvent(n, e.ID); !bytes.Equal(e.Data, want.Data) {
				t.Errorf("session %d: event %d is %.60s", n, e.ID, e.Data)
			}
		}
		from = p.Next
	}
}

// onlyTorn checks that every line is one, except for a torn one at the very end.
func onlyTorn(t *testing.T, folder, id string) {
	t.Helper()
	names, _ := filepath.Glob(filepath.Join(folder, id, "*.jsonl"))
	for i, name := range names {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		lines := bytes.Split(text, []byte{'\n'})
		for k, line := range lines {
			last := k == len(lines)-1
			switch {
			case last && i < len(names)-1 && len(line) > 0:
				t.Errorf("%s ends with %.60q, and is not the last", name, line)
			case !last && !json.Valid(line):
				t.Errorf("%s, line %d: %.60q", name, k+1, line)
			}
		}
	}
}

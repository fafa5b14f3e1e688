package journal

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
)

// kept makes a session of ten events that nobody writes, and returns its only
// file.
func kept(t testing.TB, j *Journal) (file string) {
	t.Helper()
	h := begun(t, j, 1)
	wrote(t, h, 0, 10)
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return j.path(h.id, h.segments[0].name())
}

// edit changes the lines of a file: the header, ten events, and the record.
func edit(t *testing.T, file string, f func(lines [][]byte) [][]byte) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := bytes.SplitAfter(text, []byte{'\n'})
	if len(lines) != 13 {
		t.Fatalf("%d lines", len(lines)-1)
	}
	if err := os.WriteFile(file, bytes.Join(f(lines[:12]), nil), 0o600); err != nil {
		t.Fatal(err)
	}
}

// line replaces a line, without its end.
func line(n int, text string) func([][]byte) [][]byte {
	return func(lines [][]byte) [][]byte { lines[n] = []byte(text + "\n"); return lines }
}

func end(text string) func([][]byte) [][]byte {
	return func(lines [][]byte) [][]byte { return append(lines, []byte(text)) }
}

func TestDamage(t *testing.T) {
	const torn = `{"id":10,"timestamp":"2026-01-02T03:04:05Z","type":"output","data":{"n":`
	cases := []struct {
		name string
		edit func([][]byte) [][]byte
		ids  string // that can be read
		next int64  // of the session
	}{
		{"none", end(""), "0-9", 10},
		{"torn end", end(torn), "0-9", 10},
		{"torn end of zeros", end(strings.Repeat("\x00", 5000)), "0-9", 10},
		{"torn end after a line break", end("{\n" + torn), "0-9", 11},
		{"no JSON at the end", end(torn + "\n"), "0-9", 11},
		{"rot in an event", line(4, strings.Repeat("\xff", 50)), "0-2 4-9", 10},
		{"rot in the first event", line(1, `{"id":0,"ti`), "1-9", 10},
		{"rot in the last event", line(10, `{"id":9,"ti`), "0-8", 10},
		{"rot in the header", line(0, "{"), "0-9", 10},
		{"rot in the last record", line(11, "{"), "0-9", 11},
		{"a line taken out", func(l [][]byte) [][]byte { return slices.Delete(l, 5, 7) }, "0-3 6-9", 10},
		{"a line twice", func(l [][]byte) [][]byte { return slices.Insert(l, 5, l[5]) }, "0-9", 10},
		{"an earlier id again", line(5, `{"id":1,"timestamp":"2026-01-02T03:04:05Z","type":"x","data":{}}`), "0-3 5-9", 10},
		{"an id too large", line(5, `{"id":99999999999999999999,"type":"x","data":{}}`), "0-3 5-9", 10},
		{"a negative id", line(5, `{"id":-4,"type":"x","data":{}}`), "0-3 5-9", 10},
		{"data that is no object", line(5, `{"id":4,"timestamp":"2026-01-02T03:04:05Z","type":"x","data":"x"}`), "0-3 5-9", 10},
		{"data that is no JSON", line(5, `{"id":4,"timestamp":"2026-01-02T03:04:05Z","type":"x","data":{"a":}}`), "0-3 5-9", 10},
		{"another order", line(5, `{"id":4,"data":{},"type":"x","timestamp":"2026-01-02T03:04:05Z"}`), "0-9", 10},
		{"a member more", line(5, `{"id":4,"timestamp":"2026-01-02T03:04:05Z","type":"x","data":{},"more":{}}`), "0-9", 10},
		{"a type of another kind", line(5, `{"id":4,"timestamp":"2026-01-02T03:04:05Z","type":"\ud800","data":{}}`), "0-9", 10},
		{"no time", line(5, `{"id":4,"timestamp":"yesterday","type":"x","data":{}}`), "0-3 5-9", 10},
		{"deeper than any decoder goes", line(5, `{"id":4,"timestamp":"2026-01-02T03:04:05Z","type":"x","data":{"a":`+strings.Repeat("[", 1<<20)+`}}`), "0-3 5-9", 10},
		{"empty lines", line(5, "\n\n\r\n"), "0-3 5-9", 10},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			j := opened(t, Options{})
			file := kept(t, j)
			edit(t, file, c.edit)
			if r, err := j.Session(session(1)); err != nil || r.Next != c.next || r.State != "running" {
				t.Errorf("session: %+v, %v, want next %d", r, err, c.next)
			}
			if got := readable(t, func(w event.Window) (event.Page, error) { return j.Read(session(1), w) }); got != c.ids {
				t.Errorf("readable: %s, want %s", got, c.ids)
			}
			h, err := j.Open(session(1))
			if err != nil {
				t.Fatal(err)
			}
			defer h.Close()
			wrote(t, h, c.next, c.next+2)
			want := c.ids[:len(c.ids)-1] + fmt.Sprint(c.next+1)
			if c.next > 10 || !strings.HasSuffix(c.ids, "9") {
				want = c.ids + fmt.Sprintf(" %d-%d", c.next, c.next+1)
			}
			if got := readable(t, h.Read); got != want {
				t.Errorf("readable then: %s, want %s", got, want)
			}
		})
	}
}

// readable reads a session page by page: the ids, with a blank at each hole that
// was told.
func readable(t *testing.T, read func(event.Window) (event.Page, error)) string {
	t.Helper()
	var runs []string
	from, begin := int64(0), int64(-1)
	flush := func() {
		if begin >= 0 {
			runs = append(runs, fmt.Sprintf("%d-%d", begin, from-1))
		}
		begin = -1
	}
	for range 100 {
		p, err := read(event.Window{From: &from, Max: 4})
		if err != nil {
			t.Fatal(err)
		}
		if p.ResetTo != nil {
			flush()
			from = *p.ResetTo
		}
		for _, e := range p.Events {
			if e.ID != from {
				t.Fatalf("id %d follows %d untold", e.ID, from-1)
			}
			if begin < 0 {
				begin = e.ID
			}
			from++
		}
		if p.Next != from {
			t.Fatalf("next is %d after %d", p.Next, from-1)
		}
		if !p.Truncated {
			break
		}
	}
	flush()
	return strings.Join(runs, " ")
}

// TestTornIsNoted looks at the file after a writer found a torn end.
func TestTornIsNoted(t *testing.T) {
	j := opened(t, Options{})
	file := kept(t, j)
	edit(t, file, end("{\"id\":10,\n{\"id\":11,"))
	h, err := j.Open(session(1))
	if err != nil {
		t.Fatal(err)
	}
	wrote(t, h, 11, 12)
	h.Close()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(text), "\n")
	for i, want := range []string{`{"torn":{"bytes":19}}`, `{"lost":{"first":10,"next":11}}`, `{"id":11,`, `{"next":12,"record":{`} {
		if got := lines[12+i]; !strings.HasPrefix(got, want) || !json.Valid([]byte(got)) {
			t.Errorf("line %d is %.60s, want %s", 13+i, got, want)
		}
	}
}

// TestHugeFile has a segment of zeros: one line without an end, of which no more
// than a line's bound may be in memory, and no more than a segment's is read.
func TestHugeFile(t *testing.T) {
	j := opened(t, Options{MaxBytes: -1}) // or retention, which the first write begins, may remove it
	file := kept(t, j)
	if err := os.Truncate(file, 3*maxSegment); err != nil {
		t.Skip("no files with holes here: ", err)
	}
	if got := readable(t, func(w event.Window) (event.Page, error) { return j.Read(session(1), w) }); got != "0-9" {
		t.Errorf("readable: %s", got)
	}
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	l := newLines(f, 0)
	defer l.close()
	n := 0
	if err := l.each(func([]byte, int64) bool { n++; return true }); err != nil || n != 12 {
		t.Errorf("%d lines, %v", n, err)
	}
	if len(l.buf) > maxLine+1 {
		t.Errorf("%d bytes are held", len(l.buf))
	}
}

// TestLongLine passes over a line that is too long, and finds the next.
func TestLongLine(t *testing.T) {
	l := newLines(strings.NewReader("a\n"+strings.Repeat("x", maxLine+1)+"\nb\n"+strings.Repeat("y", maxLine)+"\nrest"), 0)
	defer l.close()
	var got []string
	if err := l.each(func(line []byte, off int64) bool {
		got = append(got, fmt.Sprintf("%.1s %d at %d", line, len(line), off))
		return true
	}); err != nil {
		t.Fatal(err)
	}
	want := []string{"a 1 at 0", " 0 at 2", fmt.Sprint("b 1 at ", maxLine+4), fmt.Sprintf("y %d at %d", maxLine, maxLine+6)}
	if !slices.Equal(got, want) || l.torn() != 4 {
		t.Errorf("lines %q, torn %d; want %q", got, l.torn(), want)
	}
}

// TestStrangeNames puts other things beside segments.
func TestStrangeNames(t *testing.T) {
	j := opened(t, Options{})
	file := kept(t, j)
	folder := filepath.Dir(file)
	for _, name := range []string{
		"00000002-000000000010.jsonl.bak", "x.jsonl", "00000002-10.jsonl", "00000002--00000000001.jsonl",
		"99999999-999999999999999999.jsonl.tmp", "note",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("{}\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(j.o.Folder, "not-a-session"), 0o700); err != nil {
		t.Fatal(err)
	}
	if r, err := j.Sessions(); err != nil || len(r) != 1 || r[0].Next != 10 {
		t.Errorf("sessions: %+v, %v", r, err)
	}
	if got := readable(t, func(w event.Window) (event.Page, error) { return j.Read(session(1), w) }); got != "0-9" {
		t.Errorf("readable: %s", got)
	}
}

// TestRenamedFolder does not show one session as another.
func TestRenamedFolder(t *testing.T) {
	j := opened(t, Options{})
	if err := os.Rename(filepath.Dir(kept(t, j)), filepath.Join(j.o.Folder, session(2))); err != nil {
		t.Fatal(err)
	}
	if r, err := j.Session(session(2)); err == nil {
		t.Errorf("session: %+v", r)
	}
	if _, err := j.Open(session(2)); err == nil {
		t.Error("it was opened")
	}
}

// FuzzSegment reads any bytes behind three events.
func FuzzSegment(f *testing.F) {
	for _, seed := range []string{
		"", "{", "\n", `{"id":3,"timestamp":"2026-01-02T03:04:05Z","type":"output","data":{}}` + "\n",
		`{"id":9,"data":{}}` + "\n", `{"next":77,"record":{"id":"x"}}` + "\n", `{"lost":{"first":3,"next":9}}` + "\n",
		`{"journal":2,"record":{}}` + "\n", `{"torn":` + "\n" + `{"id":3,"data":{"a":1},"type":"\"}` + "\n{\"id\":4,", "\x00\xff\n",
	} {
		f.Add([]byte(seed))
	}
	s := segment{number: 1}
	recorded, _ := encodeRecord(record(1))
	good := encodeHeader(session(1), s, recorded)
	for id := range int64(3) {
		good, _ = appendEvent(good, numbered(id))
	}
	f.Fuzz(func(t *testing.T, more []byte) {
		text := append(slices.Clip(good), more...)
		file, size := bytes.NewReader(text), int64(len(text))
		for _, strict := range []bool{false, true} {
			end, err := readTail(file, size, s.first, strict)
			if err != nil || end.good < int64(len(good)) || end.good > size || end.next < 3 || !end.found {
				t.Fatalf("tail %+v, %v", end, err)
			}
			v := view{id: session(1), segments: []segment{s}, next: end.next + end.spoilt, marks: new(marks)}
			for range 2 { // again, with the marks it learned
				p := newPage(event.Window{MaxBytes: 200}, v)
				if _, err := p.scan(file, size, v, s.number); err != nil {
					t.Fatal(err)
				}
				checkPage(t, p.page, v.next)
			}
		}
	})
}

func checkPage(t *testing.T, p event.Page, next int64) {
	t.Helper()
	if len(p.Events) < 3 || p.Next > next {
		t.Fatalf("%d events, next %d of %d", len(p.Events), p.Next, next)
	}
	n := 0
	for i, e := range p.Events {
		if n += len(e.Data); e.ID != int64(i) || !json.Valid(e.Data) || e.Data[0] != '{' {
			t.Fatalf("event %d: %+v", i, e)
		}
	}
	if n > 200 {
		t.Fatalf("a page of 200 bytes has %d", n)
	}
}

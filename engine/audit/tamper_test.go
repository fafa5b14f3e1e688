package audit

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tampered is a small log with several segments and checkpoints, in the hands of
// somebody without the key.
type tampered struct {
	*rig
	files   []string
	texts   []string
	options VerifyOptions
	known   []anchor
}

func newTampered(t *testing.T) *tampered {
	r := newRig(t)
	r.options.SegmentBytes, r.every = 600, 4
	l := r.open(t)
	for _, tool := range []string{"Read", "Bash", "Edit", "Bash"} {
		record(t, l, Record{Kind: Decision, Tool: tool})
	}
	closeLog(t, l)
	x := &tampered{rig: r, options: VerifyOptions{Keys: r.keys()}}
	x.files, x.texts = r.read(t)
	if len(x.files) < 3 {
		t.Fatalf("%d files", len(x.files))
	}
	if bad := x.verify(t, x.texts); bad != nil {
		t.Fatal(bad)
	}
	return x
}

// verify writes the files and returns what is wrong with them.
func (x *tampered) verify(t *testing.T, texts []string) *Problem {
	t.Helper()
	for i, text := range texts {
		if text == x.texts[i] && x.known == nil {
			continue
		}
		x.write(t, i, text)
		defer x.write(t, i, x.texts[i])
	}
	report, err := verifyLog(Source{Boot: x.boot, Folder: x.folder()}, slices.Clone(x.known), x.options)
	if err != nil {
		t.Fatal(err)
	}
	return report.Bad
}

func (x *tampered) write(t *testing.T, i int, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(x.folder(), x.files[i]), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// changed is the log with one file changed.
func (x *tampered) changed(i int, text string) []string {
	out := slices.Clone(x.texts)
	out[i] = text
	return out
}

// seqAt is the number of the record that holds a byte of a file.
func (x *tampered) seqAt(file, at int) int64 {
	var seq int
	for _, text := range x.texts[:file] {
		seq += strings.Count(text, "\n")
	}
	return int64(seq + strings.Count(x.texts[file][:at], "\n"))
}

// found wants a problem with that record or the one after.
func (x *tampered) found(t *testing.T, what string, texts []string, seq int64) {
	t.Helper()
	bad := x.verify(t, texts)
	if bad == nil {
		t.Errorf("%s was not found", what)
	} else if bad.Seq != seq && bad.Seq != seq+1 {
		t.Errorf("%s is in record %d, found: %s", what, seq, bad)
	}
}

func TestEveryByte(t *testing.T) {
	x := newTampered(t)
	for file, text := range x.texts {
		for at := range len(text) {
			seq := x.seqAt(file, at)
			name := func(what string) string { return fmt.Sprintf("%s: byte %d %s", x.files[file], at, what) }
			for _, flip := range []byte{1, 0x20, 0x80} {
				x.found(t, name(fmt.Sprintf("flipped by %#x", flip)), x.changed(file, text[:at]+string([]byte{text[at] ^ flip})+text[at+1:]), seq)
			}
			x.found(t, name("deleted"), x.changed(file, text[:at]+text[at+1:]), seq)
			x.found(t, name("doubled"), x.changed(file, text[:at]+text[at:at+1]+text[at:]), seq)
			x.found(t, name("with a newline before it"), x.changed(file, text[:at]+"\n"+text[at:]), seq)
		}
		end := x.seqAt(file, len(text))
		x.found(t, x.files[file]+" with a byte behind it", x.changed(file, text+"x"), end)
		x.found(t, x.files[file]+" with a line behind it", x.changed(file, text+"\n"), end)
	}
}

func TestEveryRecord(t *testing.T) {
	x := newTampered(t)
	for file, text := range x.texts {
		lines := slices.Collect(strings.Lines(text))
		for n, line := range lines {
			seq := x.seqAt(file, len(strings.Join(lines[:n], "")))
			last := n == len(lines)-1
			end := last && file == len(x.texts)-1
			if !end { // without a checkpoint kept elsewhere, the end can be cut
				x.found(t, "a record deleted", x.changed(file, strings.Join(slices.Delete(slices.Clone(lines), n, n+1), "")), seq)
			}
			x.found(t, "a record doubled", x.changed(file, strings.Join(slices.Insert(slices.Clone(lines), n, line), "")), seq)
			if !last {
				swap := slices.Clone(lines)
				swap[n], swap[n+1] = swap[n+1], swap[n]
				bad := x.verify(t, x.changed(file, strings.Join(swap, "")))
				if bad == nil || bad.Seq != seq || bad.Kind != Swapped {
					t.Errorf("records %d and the next swapped: %v", seq, bad)
				}
			}
			// Somebody who knows how to chain, and has no key, changes it and the hash.
			if forged := rehash(t, line); forged != line {
				more := slices.Clone(lines)
				more[n] = forged
				x.found(t, "a record with another hash", x.changed(file, strings.Join(more, "")), seq)
			}
		}
	}
}

// rehash changes a decision and makes its hash fit.
func rehash(t *testing.T, line string) string {
	t.Helper()
	changed := strings.Replace(line, `"tool":"Bash"`, `"tool":"Read"`, 1)
	one, _ := parse([]byte(strings.TrimSuffix(line, "\n")))
	open, _, _ := splitHash([]byte(strings.TrimSuffix(changed, "\n")))
	sum := recordHash(one.Prev, open)
	return string(open) + `,"h":"` + hexString(sum[:]) + "\"}\n"
}

// The end of a log can be cut at every byte; against a checkpoint that was kept
// elsewhere it shows.
func TestEveryCut(t *testing.T) {
	x := newTampered(t)
	c, err := NewestCheckpoint(x.root, "")
	if err != nil || c.Boot != x.boot {
		t.Fatalf("%+v, %v", c, err)
	}
	anchors, lost := knownRecords(nil, VerifyOptions{Checkpoints: []ExportedCheckpoint{c}, Keys: x.keys()})
	if len(lost) > 0 {
		t.Fatal(lost)
	}
	whole := x.known
	for file, text := range x.texts {
		for at := range len(text) {
			cut := x.changed(file, text[:at])
			for later := file + 1; later < len(cut); later++ {
				cut[later] = ""
			}
			x.known = anchors[x.boot]
			x.found(t, fmt.Sprintf("%s cut at byte %d", x.files[file], at), cut, x.seqAt(file, at))
			x.known = whole
		}
	}
	// A whole file less is found without.
	for i, name := range x.files[:len(x.files)-1] {
		if err := os.Remove(filepath.Join(x.folder(), name)); err != nil {
			t.Fatal(err)
		}
		report, err := Verify(x.root, VerifyOptions{})
		if err != nil || report.OK || report.Logs[0].Bad.Kind != Deleted {
			t.Errorf("without %s: %+v, %v", name, report, err)
		}
		x.write(t, i, x.texts[i])
	}
}

// A chain that is made anew from one record on has no signatures.
func TestRewrittenChain(t *testing.T) {
	x := newTampered(t)
	for from := range 6 {
		c := chain{prev: zeroHash}
		var texts []string
		for _, text := range x.texts {
			var out []byte
			for line := range strings.Lines(text) {
				one, _ := parse([]byte(strings.TrimSuffix(line, "\n")))
				if one.Seq < int64(from) {
					out, c.seq, c.prev = append(out, line...), one.Seq+1, one.Hash
					continue
				}
				if one.Tool == "Bash" {
					one.Tool = "Read"
				}
				body, err := encodeBody(&one)
				if err != nil {
					t.Fatal(err)
				}
				out = c.line(out, one.Time, x.boot, body)
			}
			texts = append(texts, string(out))
		}
		x.options.Keys = x.keys()
		if bad := x.verify(t, texts); bad == nil || bad.Kind != BadSignature {
			t.Errorf("from %d: %v", from, bad)
		}
	}
}

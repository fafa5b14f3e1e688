package redact

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// cutUp cuts a text at random.
func cutUp(g *rand.Rand, s string, most int) (pieces []string) {
	for s != "" {
		n := min(len(s), 1+g.IntN(most))
		pieces, s = append(pieces, s[:n]), s[n:]
	}
	return pieces
}

// Whatever a text is made of, it comes to rest, and its pieces show no more of
// it, hold little, and come to the same where no secret is long.
func TestHostileTexts(t *testing.T) {
	g := rand.New(rand.NewPCG(8, 9))
	texts := hostileTexts(700)
	bad := 0
	for _, name := range slices.Sorted(maps.Keys(texts)) {
		if name == "connection-string sample 5 cut" {
			continue // the last password stands behind a piece of an address that is a password itself
		}
		text := texts[name]
		for which, sc := range []Scanner{{}, wide(t)} {
			want, _ := sc.String(text)
			if again, hits := sc.String(want); again != want {
				bad++
				if bad < 12 {
					t.Errorf("%d %s: %.40q became %.120q, then %.120q %v", which, name, text, want, again, len(hits))
				}
			}
			st := sc.Stream()
			var out strings.Builder
			for _, p := range cutUp(g, text, 40) {
				safe, _ := st.Write(p)
				out.WriteString(safe)
				if held := len(st.buf) - st.lo; held > MaxHeld {
					bad++
					t.Errorf("%d %s: %d held", which, name, held)
					break
				}
			}
			rest, _ := st.Close()
			got := out.String() + rest
			if again, _ := sc.String(got); which == 0 && again != got && !chained(again) {
				bad++
				if bad < 12 {
					t.Errorf("%d %s: in pieces came %.120q, of which covering makes %.120q", which, name, got, again)
				}
			}
			short := text[:MaxHeld-72]
			want, _ = sc.String(short)
			if got, _ := streamed(sc, cutUp(g, short, 40)...); which == 0 && got != want && !chained(want) {
				bad++
				if bad < 12 {
					t.Errorf("%d %s: in pieces came %.250q, want %.250q", which, name, got, want)
				}
			}
		}
	}
	t.Log(bad)
}

// chained reports whether a text became secrets one behind the other, each of
// which may be one only because the next one is: its end tells, wherever it is.
func chained(covered string) bool {
	return strings.Contains(covered, "]"+placeholderStart) || covered == placeholder("text")
}

package engine

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/redact"
)

// scanned is a stream of the vendor formats.
type scanned struct{ *redact.Stream }

func (s scanned) Write(piece string) (string, []event.Redaction) {
	safe, hits := s.Stream.Write(piece)
	return safe, make([]event.Redaction, len(hits))
}

func (s scanned) Close() (string, []event.Redaction) {
	rest, hits := s.Stream.Close()
	return rest, make([]event.Redaction, len(hits))
}

// Whoever puts the pieces of a block together has its text, covered, however the
// text was cut and whatever arrives between.
func TestPiecesTogetherAreTheCoveredText(t *testing.T) {
	secret := "gh" + "p_" + strings.Repeat("aB3", 12)
	words := []string{"plain ", secret, " and ", `{"key":"` + secret + `"}`, "gh" + "p_", "\n", "é…", secret[:20] + " "}
	member := []string{"text", "thinking", "partial_json"}
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 1))
		whole, left, got := map[string]string{}, map[string]string{}, map[string]string{}
		key := func(parent, index int) string { return fmt.Sprint(parent, "/", index) }
		for n := range 6 {
			var text strings.Builder
			for range 1 + r.IntN(8) {
				text.WriteString(words[r.IntN(len(words))])
			}
			k := key(n/3, n%3)
			whole[k], left[k] = text.String(), text.String()
		}
		d := &deltas{
			begin: func(block) (event.Stream, error) { return scanned{redact.Scanner{}.Stream()}, nil },
			tell:  func(string) { t.Error("left out") },
			store: func(raw, parent json.RawMessage, _ string, _ []event.Redaction) {
				var e struct {
					Index int
					Delta map[string]string
				}
				if err := json.Unmarshal(raw, &e); err != nil {
					t.Fatal(err)
				}
				for _, m := range member {
					got[key(int(parent[1]-'0'), e.Index)] += e.Delta[m]
				}
			},
		}
		send := func(parent int, frame string) {
			d.handle(json.RawMessage(frame), fmt.Appendf(nil, `"%d"`, parent))
		}
		for len(left) > 0 {
			n := r.IntN(6)
			k := key(n/3, n%3)
			rest, open := left[k]
			if !open {
				send(n/3, `{"type":"ping"}`)
				continue
			}
			size := min(len(rest), 1+r.IntN(12))
			for size < len(rest) && rest[size]&0xc0 == 0x80 {
				size++
			}
			piece, _ := json.Marshal(map[string]any{"type": "content_block_delta", "index": n % 3, "delta": map[string]string{"type": "d", member[n%3]: rest[:size]}})
			if left[k] = rest[size:]; rest != "" {
				send(n/3, string(piece))
				continue
			}
			delete(left, k)
			if seed%2 == 0 { // else the message or the process ends with the block open
				send(n/3, fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, n%3))
			}
		}
		d.endAll(func(blockKey) bool { return true })
		for k, text := range whole {
			if want, _ := (redact.Scanner{}).String(text); got[k] != want {
				t.Fatalf("seed %d: block %s of %q is shown as\n%q, want\n%q", seed, k, text, got[k], want)
			}
		}
	}
}

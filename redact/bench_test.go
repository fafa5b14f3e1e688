package redact

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// The figures to reach (medians): 64 KiB of clean text through the vendor formats
// in 150 µs, 1 KiB in 2.5 µs, without an allocation; with the context detector
// 64 KiB in 1 ms; a clean event of 400 bytes in 1 µs.

// cleanTexts are the sorts of text that tools print, n bytes of each.
func cleanTexts(n int) map[string]string {
	g := rand.New(rand.NewPCG(7, 7))
	fill := func(line func(i int) string) string {
		var b strings.Builder
		for i := 0; b.Len() < n; i++ {
			b.WriteString(line(i))
		}
		return b.String()[:n]
	}
	words := strings.Fields(`the task and its key: risk-averse teams ask for a disk-based desk-top, while whisk-like masks hide
		eyes; the author keeps a token of thanks, the secretary a list. Highlights through the night, rights of passage, glossy
		pages, npm_config settings, AKI areas, xoxo, https://example.com/docs/index.html?a=1&b=2 and people@example.com as usual`)
	return map[string]string{
		"go": fill(func(i int) string {
			return fmt.Sprintf("func (s *server%d) handle(ctx context.Context, key string) (*response, error) {\n\tif s.token == nil || len(key) < %d {\n\t\treturn nil, fmt.Errorf(\"lookup %%q: %%w\", key, errMissing)\n\t}\n\treturn s.next.handle(ctx, strings.TrimPrefix(key, \"sk-\"))\n}\n\n", i, i%9)
		}),
		"log": fill(func(i int) string {
			return fmt.Sprintf("2026-03-%02dT10:%02d:%02d.123Z INFO worker-%d task-%d done path=/var/lib/app/disk-%d/file_%x.txt took=%dms sha=%040x\n", i%28+1, i%60, i%60, i%8, i, i%4, i*7919, i%400, g.Uint64())
		}),
		"json": fill(func(i int) string {
			return fmt.Sprintf(`{"id":%d,"name":"item-%d","tags":["risk-low","disk-%d"],"key":"k%d","url":"https://example.com/a/%d","ok":true}`+"\n", i, i, i%5, i%7, i)
		}),
		"prose": fill(func(int) string { return words[g.IntN(len(words))] + " " }),
		"paths": fill(func(i int) string {
			return fmt.Sprintf("./node_modules/task-%d/dist/desk-%d/index.d.ts:%d:\texport const key%d = 'ask-%d';\n", i, i%17, i, i, i)
		}),
		"base64": fill(func(int) string {
			return fmt.Sprintf("%x%X-%s_", g.Uint64(), g.Uint64(), words[g.IntN(len(words))])
		}),
	}
}

func BenchmarkString(b *testing.B) {
	for _, size := range []int{1 << 10, 64 << 10} {
		for name, text := range cleanTexts(size) {
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				b.ReportAllocs()
				for b.Loop() {
					if _, hits := (Scanner{}).String(text); hits != nil {
						b.Fatal("the text is not clean", hits)
					}
				}
			})
		}
	}
}

// What is measured here is that the time grows with the text, not its square:
// texts full of what looks like the beginning of a secret.
func BenchmarkStringNearMisses(b *testing.B) {
	sources := map[string]string{
		"sk-": "sk-ab ", "eyJ": "-eyJhbGciOiJ", "begin": "-----BEGIN PRIVATE KEY-----", "begin lines": "-----BEGIN PRIVATE KEY-----\nabcdefgh\n",
		"urls": "https://user:", "ghp": "ghp_abc", "AKIA": "AKIA-", "AAAA": "AAAA", "escapes": `\u0073k-ant-`, "percent": "%73k-ant-",
		"backslashes": `\\\\`, "every prefix": everyPrefix(), "bearer": "Bearer ", "1//0": "1//0-",
	}
	for name, unit := range sources {
		for _, size := range []int{16 << 10, 64 << 10} {
			text := strings.Repeat(unit, size/len(unit)+1)[:size]
			b.Run(fmt.Sprintf("%s/%dKiB", name, size>>10), func(b *testing.B) {
				b.SetBytes(int64(len(text)))
				for b.Loop() {
					Scanner{}.String(text)
				}
			})
		}
	}
}

func everyPrefix() string {
	var b strings.Builder
	for i := range vendors() {
		b.WriteString(vendors()[i].prefix + " ")
	}
	return b.String()
}

func BenchmarkContext(b *testing.B) {
	sc, err := New(Options{Context: true})
	if err != nil {
		b.Fatal(err)
	}
	for name, text := range cleanTexts(64 << 10) {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				if _, hits := sc.String(text); hits != nil {
					b.Fatal("the text is not clean", hits)
				}
			}
		})
	}
}

// cleanEvent is an event of 400 bytes, as the CLI writes it.
func cleanEvent(b *testing.B) json.RawMessage {
	b.Helper()
	doc := map[string]any{"type": "assistant", "session_id": "0b4f8c1e-5a44-4c7d-9d3e-2f1f6f1f8f10", "uuid": "9a1c7c53-5d0e-4c0b-a1a4-0a5cb47ce0cb",
		"parent_tool_use_id": nil, "message": map[string]any{"id": "msg_01", "role": "assistant", "model": "claude", "type": "message",
			"content": []any{map[string]any{"type": "text", "text": "I looked at \"main.go\":\nthe task-queue works as it should.\n"}}}}
	raw, err := json.Marshal(doc)
	if err != nil {
		b.Fatal(err)
	}
	return append(raw, bytes.Repeat([]byte(" "), max(0, 400-len(raw)))...)
}

func BenchmarkJSON(b *testing.B) {
	big := json.RawMessage(`{"text":` + string(quote(cleanTexts(64 << 10)["go"])) + `}`) // as the CLI writes it, without \u003c
	for name, doc := range map[string]json.RawMessage{"400B": cleanEvent(b), "64KiB": big} {
		b.Run("strict/"+name, func(b *testing.B) { benchJSON(b, doc, Scanner{}.JSON) })
		b.Run("known valid/"+name, func(b *testing.B) { benchJSON(b, doc, Scanner{}.JSONKnownValid) })
		b.Run("encoding json Valid/"+name, func(b *testing.B) {
			benchJSON(b, doc, func(raw json.RawMessage) (json.RawMessage, []Finding) { json.Valid(raw); return raw, nil })
		})
	}
}

func benchJSON(b *testing.B, doc json.RawMessage, f func(json.RawMessage) (json.RawMessage, []Finding)) {
	b.SetBytes(int64(len(doc)))
	b.ReportAllocs()
	for b.Loop() {
		if _, found := f(doc); found != nil {
			b.Fatal("the document is not clean", found)
		}
	}
}

func BenchmarkStream(b *testing.B) {
	for name, text := range cleanTexts(32 << 10) {
		b.Run("append 32KiB/"+name, func(b *testing.B) {
			t, piece := Scanner{}.Stream(), []byte(text)
			var dst []byte
			b.SetBytes(int64(len(piece)))
			b.ReportAllocs()
			for b.Loop() {
				if dst = t.Append(dst[:0], piece); t.hits != nil {
					b.Fatal("the text is not clean", t.hits)
				}
			}
		})
	}
	b.Run("write delta", func(b *testing.B) {
		t := Scanner{}.Stream()
		b.ReportAllocs()
		for b.Loop() {
			t.Write(" some words of a delta")
		}
	})
}

// The first use of a scanner is part of the start of a process.
func BenchmarkNewRules(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		if _, err := newRules(Options{}, func(string, class) bool { return true }); err != nil {
			b.Fatal(err)
		}
	}
}

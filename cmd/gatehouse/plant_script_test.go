package main

import (
	"crypto/rand"
	"encoding/base64"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

const (
	lower    = "abcdefghijklmnopqrstuvwxyz"
	digits   = "0123456789"
	alphanum = lower + "ABCDEFGHIJKLMNOPQRSTUVWXYZ" + digits
)

// plants make the tokens of scripts: of published forms, of random bytes, and
// never whole in this file.
var plants = map[string]func() string{
	"anthropic": func() string { return "sk-" + "ant-api03-" + random(alphanum, 93) + "AA" },
	"aws":       func() string { return "AK" + "IA" + random("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) },
	"github":    func() string { return "gh" + "p_" + random(alphanum, 36) },
	"gitlab":    func() string { return "gl" + "pat-" + random(alphanum, 20) },
	"npm":       func() string { return "np" + "m_" + random(alphanum, 36) },
	"stripe":    func() string { return "sk_" + "live_" + random(alphanum, 24) },
	"pem": func() string {
		label := "PRIVATE" + " KEY-----"
		var body strings.Builder
		for range 12 {
			body.WriteString(random(alphanum+"+/", 64) + "\n")
		}
		return "-----BEGIN " + label + "\n" + body.String() + "-----END " + label
	},
	"plain": func() string { return random(alphanum, 32) }, // of no form
}

// random returns n bytes of an alphabet; the first three tell any two apart from
// words.
func random(alphabet string, n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // never fails
	for i := range raw {
		raw[i] = alphabet[int(raw[i])%len(alphabet)]
	}
	return string(raw)
}

// plantsFile lists what a script planted, one "NAME kind token" a line, quoted.
const plantsFile = ".planted"

// cmdPlant makes tokens: "plant KIND NAME..." sets $NAME to a new one each.
func cmdPlant(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 || plants[args[0]] == nil {
		ts.Fatalf("usage: plant kind name...")
	}
	f, err := os.OpenFile(ts.MkAbs(filepath.Join(ts.Getenv("WORK"), plantsFile)), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	ts.Check(err)
	defer f.Close()
	for _, name := range args[1:] {
		token := plants[args[0]]()
		ts.Setenv(name, token)
		_, err := fmt.Fprintf(f, "%s %s %q\n", name, args[0], token)
		ts.Check(err)
	}
}

// plant is one token of a script.
type plant struct{ kind, token string }

// planted returns what the script planted, by name.
func planted(ts *testscript.TestScript) map[string]plant {
	all := map[string]plant{}
	for line := range strings.Lines(ts.ReadFile(filepath.Join(ts.Getenv("WORK"), plantsFile))) {
		var name string
		var p plant
		_, err := fmt.Sscanf(line, "%s %s %q", &name, &p.kind, &p.token)
		ts.Check(err)
		all[name] = p
	}
	return all
}

// cmdFill writes the tokens into files: "fill FILE..." replaces %NAME%; and
// %NAME:json% by the token as it stands in a JSON string, %NAME:base64% by its
// base64, %NAME:head% and %NAME:tail% by its halves.
func cmdFill(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) == 0 {
		ts.Fatalf("usage: fill file...")
	}
	var pairs []string
	for name, p := range planted(ts) {
		token := p.token
		quoted := strings.ReplaceAll(token, "\n", `\n`)
		half := len(token) / 2
		pairs = append(pairs, "%"+name+"%", token, "%"+name+":json%", quoted, "%"+name+":base64%", base64.StdEncoding.EncodeToString([]byte(token)),
			"%"+name+":head%", token[:half], "%"+name+":tail%", token[half:])
	}
	for _, file := range args {
		text := strings.NewReplacer(pairs...).Replace(ts.ReadFile(file))
		ts.Check(os.WriteFile(ts.MkAbs(file), []byte(text), 0o600))
	}
}

// pieceBytes is how long a piece of a token is that must not be found either.
const pieceBytes = 16

// traces are the texts by which a token of a kind is found again: its pieces,
// which those of its JSON and URL forms are among, and what they are in base64
// wherever it began. The first and the last line of a PEM block are no secret.
func traces(kind, token string) map[string]bool {
	if kind == "pem" {
		token = token[strings.IndexByte(token, '\n')+1 : strings.LastIndexByte(token, '\n')]
	}
	all := map[string]bool{}
	windows := func(text string, n int) {
		for i := 0; i+n <= len(text); i++ {
			all[text[i:i+n]] = true
		}
	}
	escaped := strings.ReplaceAll(token, "\n", `\n`)
	for _, form := range []string{token, escaped, strings.ReplaceAll(escaped, `\`, `\\`), url.QueryEscape(token), url.PathEscape(token)} {
		windows(form, pieceBytes)
	}
	for _, encoding := range []*base64.Encoding{base64.StdEncoding, base64.URLEncoding} {
		for offset := range 3 {
			rest := token[offset:]
			windows(encoding.EncodeToString([]byte(rest[:len(rest)/3*3])), pieceBytes*3/2)
		}
	}
	return all
}

// unplanted names the tokens that stand in no file below $WORK, whole or in
// halves: looking for them would prove nothing.
func unplanted(ts *testscript.TestScript, all map[string]plant) (names []string) {
	var text strings.Builder
	ts.Check(filepath.WalkDir(ts.Getenv("WORK"), func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || d.Name() == plantsFile {
			return err
		}
		one, err := os.ReadFile(path)
		text.Write(one)
		return err
	}))
	for name, p := range all {
		quoted := strings.ReplaceAll(p.token, "\n", `\n`)
		forms := []string{p.token, quoted, base64.StdEncoding.EncodeToString([]byte(p.token))}
		halves := strings.Contains(text.String(), p.token[:len(p.token)/2]) && strings.Contains(text.String(), p.token[len(p.token)/2:])
		if !halves && !slices.ContainsFunc(forms, func(form string) bool { return strings.Contains(text.String(), form) }) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// cmdNowhere looks for every token in files and folders: "nowhere PATH..."; stdout
// and stderr are those of the last command. "! nowhere" wants to find one.
func cmdNowhere(ts *testscript.TestScript, neg bool, args []string) {
	all := planted(ts)
	if len(args) == 0 || len(all) == 0 {
		ts.Fatalf("usage: nowhere path..., after plant")
	}
	wanted := map[string]string{}
	lengths := map[int]bool{}
	for name, p := range all {
		for trace := range traces(p.kind, p.token) {
			wanted[trace] = name
			lengths[len(trace)] = true
		}
	}
	unused := unplanted(ts, all)
	if len(unused) > 0 {
		ts.Fatalf("planted, but in no file of the script: %s", strings.Join(unused, ", "))
	}
	var found []string
	looked := 0
	look := func(where, text string) {
		looked++
		for n := range lengths {
			for i := 0; i+n <= len(text); i++ {
				if name := wanted[text[i:i+n]]; name != "" {
					from := max(strings.LastIndexByte(text[:i], '\n')+1, i-120)
					found = append(found, fmt.Sprintf("%s: a piece of %s after …%s", where, name, text[from:i]))
					i += n
				}
			}
		}
	}
	for _, path := range args {
		if path == "stdout" || path == "stderr" {
			look(path, ts.ReadFile(path))
			continue
		}
		ts.Check(filepath.WalkDir(ts.MkAbs(path), func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() {
				return err
			}
			look("the name of "+p, d.Name())
			text, err := os.ReadFile(p)
			look(p, string(text))
			return err
		}))
	}
	slices.Sort(found)
	found = slices.Compact(found)
	switch {
	case neg && len(found) == 0:
		ts.Fatalf("no token was found, and one was wanted")
	case !neg && len(found) > 0:
		ts.Fatalf("%s", strings.Join(found, "\n"))
	case !neg:
		ts.Logf("%d texts hold none of %d tokens", looked, len(all))
	}
}

// The search finds a token in every form it may take, and nothing in what is not one.
func TestTraces(t *testing.T) {
	for kind, make := range plants {
		token := make()
		wanted := traces(kind, token)
		holds := func(text string) bool {
			for trace := range wanted {
				if strings.Contains(text, trace) {
					return true
				}
			}
			return false
		}
		middle := token[len(token)-pieceBytes-1:]
		if kind == "pem" {
			middle = token[len(token)/2:]
		}
		for name, text := range map[string]string{
			"plain": "x" + token + "y", "JSON": strings.ReplaceAll(token, "\n", `\n`), "URL": "?k=" + url.QueryEscape(token),
			"base64 0": base64.StdEncoding.EncodeToString([]byte(token)), "base64 1": base64.StdEncoding.EncodeToString([]byte("p" + token)),
			"base64 2": base64.URLEncoding.EncodeToString([]byte("pp" + token)), "piece": "x" + middle[:pieceBytes] + "y",
		} {
			if !holds(text) {
				t.Errorf("%s: not found as %s", kind, name)
			}
		}
		if covered := strings.Repeat("[REDACTED:"+kind+"]", 3); holds(covered) || holds(make()) {
			t.Errorf("%s: found where it is not", kind)
		}
	}
}

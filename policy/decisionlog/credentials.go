package decisionlog

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// What commands, addresses and connection strings carry in the clear has no form
// of its own, but a place: it is covered in the log only, since a command that
// runs must stay as it is.

// withheldCredential stands in the place of a credential.
const withheldCredential = "[REDACTED:credential]"

// credentialForm finds one kind of credential: it is the last group.
type credentialForm struct {
	needs   string // what a text without any has not got
	pattern *regexp.Regexp
}

var credentialForms = []credentialForm{
	// user:password@ in an address; the last @ of the authority ends it
	{"@", regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#"'<>:@]*:([^\s/?#"'<>]+)@`)},
	// the same with a slash in the password; host:80/path@ is none
	{"@", regexp.MustCompile(`[A-Za-z][A-Za-z0-9+.-]*://[^\s/?#"'<>:@]*:(\d*[^\d\s/?#"'<>@][^\s"'<>@]*)@`)},
	// a name alone, where that is a token
	{"@", regexp.MustCompile(`\bhttps?://([^\s/?#"'<>:@]+)@`)},
	// -u name:password, as curl and wget take it; 1000:1000 is a user and a group
	{"-", regexp.MustCompile(`(?:^|[\s"'])(?:-u|--user|-U|--proxy-user)(?:=|\s*)["']?([^\s"':=-][^\s"':]*:[^\s"']*[^\s"'\d][^\s"']*)`)},
	// an option or a variable that says so itself; $NAME stands for itself
	{"-", regexp.MustCompile(`(?i)(?:^|[\s"'])--?(?:[a-z0-9]+-)*(?:password|passwd|token|secret|api-?key)(?:=|\s+)["']?([^\s"'$-][^\s"']*)`)},
	{"=", regexp.MustCompile(`(?i)(?:^|[\s"';&?])[a-z0-9_]*(?:password|passwd|pwd|secret|token|api_?key)=["']?([^\s"'$;&(][^\s"';&]*)`)},
	{":", regexp.MustCompile(`(?i)\bauthorization:\s*(?:basic|bearer|token)\s+([^\s"'$][^\s"']*)`)},
}

// minKnown is how long a credential has to be for its copies in other texts to
// be covered, in bytes: a shorter one is part of ordinary words.
const minKnown = 4

// credentialSpans are the places of credentials in s, in order and apart.
func credentialSpans(s string) (spans [][2]int) {
	var all [][2]int
	for _, form := range credentialForms {
		if !strings.Contains(s, form.needs) {
			continue
		}
		for _, m := range form.pattern.FindAllStringSubmatchIndex(s, -1) {
			span := [2]int{m[len(m)-2], m[len(m)-1]}
			text := s[span[0]:span[1]]
			if !strings.HasPrefix(text, "[REDACTED:") && !strings.HasPrefix(text, hidden) && !strings.HasSuffix(s[:span[0]], "[REDACTED:") {
				all = append(all, span)
			}
		}
	}
	slices.SortFunc(all, func(a, b [2]int) int { return a[0] - b[0] })
	for _, span := range all {
		if n := len(spans); n > 0 && span[0] < spans[n-1][1] {
			spans[n-1][1] = max(spans[n-1][1], span[1])
			continue
		}
		spans = append(spans, span)
	}
	return spans
}

// coverText covers the credentials in one text.
func coverText(s string) string {
	spans := credentialSpans(s)
	for _, span := range slices.Backward(spans) {
		s = s[:span[0]] + withheldCredential + s[span[1]:]
	}
	return s
}

// coverCredentials covers the credentials in every text of an event, member names
// included, and their copies in what tells of the call: the words of a command
// stand beside it. It returns the pointers to what was changed; an event without
// any is returned as it is.
func coverCredentials(raw json.RawMessage) (json.RawMessage, []string, error) {
	var tree any
	if err := decode(raw, &tree); err != nil {
		return nil, nil, err
	}
	w := coverage{known: map[string]bool{}}
	w.learn(tree)
	if len(w.known) == 0 {
		return raw, nil, nil
	}
	w.literals = slices.SortedFunc(maps.Keys(w.known), func(a, b string) int { return len(b) - len(a) })
	clean, err := encode(w.covered(tree, ""))
	return clean, w.found, err
}

// coverage is one pass over a document.
type coverage struct {
	known    map[string]bool // credentials that stand in it
	literals []string        // the same, longest first
	found    []string        // pointers to what was covered
}

// copied are where copies of a credential are looked for. A text elsewhere that
// happens to be equal, such as an effect, is none of the call's.
var copied = []string{"/input/tool/input", "/input/title", "/input/bash", "/input/paths", "/input/url", "/input/diff", "/input/suggestions"}

// maxKnown bounds how many credentials of one event are looked for elsewhere.
const maxKnown = 200

func (w *coverage) learn(tree any) {
	text := func(s string) {
		for _, span := range credentialSpans(s) {
			if len(w.known) < maxKnown {
				w.known[s[span[0]:span[1]]] = true
			}
		}
	}
	switch node := tree.(type) {
	case string:
		text(node)
	case []any:
		for _, item := range node {
			w.learn(item)
		}
	case map[string]any:
		for name, item := range node {
			text(name)
			w.learn(item)
		}
	}
}

func (w *coverage) covered(tree any, at string) any {
	switch node := tree.(type) {
	case string:
		clean := coverText(node)
		if slices.ContainsFunc(copied, func(c string) bool { return at == c || strings.HasPrefix(at, c+"/") }) {
			clean = w.copies(clean)
		}
		if clean != node {
			w.found = append(w.found, at)
		}
		return clean
	case []any:
		for i := range node {
			node[i] = w.covered(node[i], fmt.Sprintf("%s/%d", at, i))
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(node)) {
			clean, item := coverText(name), node[name]
			inner := at + "/" + escapedStep(clean)
			delete(node, name)
			if clean != name {
				w.found = append(w.found, inner)
			}
			node[clean] = w.covered(item, inner)
		}
	}
	return tree
}

// copies covers what stands elsewhere as a credential.
func (w *coverage) copies(s string) string {
	for _, known := range w.literals {
		switch {
		case s == known:
			return withheldCredential
		case len(known) >= minKnown && !strings.Contains(withheldCredential, known):
			s = strings.ReplaceAll(s, known, withheldCredential)
		}
	}
	return s
}

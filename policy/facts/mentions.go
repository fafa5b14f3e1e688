package facts

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxMentions bounds the mentions reported for one prompt; a prompt with more
// reports its first ones and [TooManyMentions].
const maxMentions = 1024

// maxMention bounds one mention in bytes; no path is longer.
const maxMention = 4096

// TooManyMentions is reported as a last path for a prompt with more mentions
// than are looked at. It holds a NUL, so it is never inside.
const TooManyMentions = "\x00too many @path mentions in one prompt"

// Mentions returns the files that the CLI may attach to a prompt because it
// mentions them as @path, @"a path" or @path#L1-2, without asking anybody. It
// reports too much rather than too little: a mention is returned in every
// spelling that may be meant, and a path that does not exist is harmless.
func Mentions(prompt string) []string {
	var found []string
	seen := map[string]bool{}
	for i := strings.IndexByte(prompt, '@'); i >= 0; {
		for _, m := range mention(prompt[i+1:]) {
			if m != "" && !seen[m] {
				seen[m] = true
				found = append(found, m)
			}
		}
		if len(found) > maxMentions {
			return append(found[:maxMentions], TooManyMentions)
		}
		next := strings.IndexByte(prompt[i+1:], '@')
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return found
}

// mention returns the spellings of the path that begins after an @.
func mention(rest string) []string {
	var all []string
	rest = rest[:min(len(rest), maxMention)]
	if rest != "" && strings.IndexByte("\"'`", rest[0]) >= 0 {
		body := rest[1:]
		if end := strings.IndexByte(body, rest[0]); end >= 0 {
			body = body[:end]
		} else if end := strings.IndexByte(body, '\n'); end >= 0 {
			body = body[:end]
		}
		all = append(all, spellings(body)...)
	}
	word := rest
	if end := strings.IndexFunc(rest, unicode.IsSpace); end >= 0 {
		word = rest[:end]
	}
	all = append(all, spellings(word)...)
	return append(all, spellings(escaped(rest))...)
}

// spellings strips line ranges and punctuation, one by one.
func spellings(word string) []string {
	word, _, _ = strings.Cut(word, "\x00")
	all := []string{word}
	if before, _, found := strings.Cut(word, "#"); found {
		all = append(all, before)
	}
	for _, w := range all[:len(all):len(all)] {
		if i := strings.IndexFunc(w, ender); i > 0 {
			all = append(all, w[:i])
		}
		for i := 0; i < maxTrailing && w != ""; i++ {
			last, size := utf8.DecodeLastRuneInString(w)
			if unicode.IsLetter(last) || unicode.IsDigit(last) {
				break
			}
			w = w[:len(w)-size]
			all = append(all, w)
		}
	}
	return all
}

// maxTrailing bounds the punctuation stripped from the end of a mention.
const maxTrailing = 8

func ender(r rune) bool { return strings.ContainsRune(",;:!?()[]{}<>\"'`|*", r) }

// escaped reads a word in which blanks are written "\ ".
func escaped(rest string) string {
	var b strings.Builder
	for i := 0; i < len(rest); i++ {
		c := rest[i]
		if c == '\\' && i+1 < len(rest) {
			i++
			b.WriteByte(rest[i])
			continue
		}
		if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
			break
		}
		b.WriteByte(c)
	}
	return b.String()
}

package facts

import "strings"

// Bounds of the spellings a word with braces is expanded to: how many, and
// their bytes together.
const (
	maxBraces     = 64
	maxBraceBytes = 4 << 10
)

// braces expands {a,b} as a shell does; a sequence {a..z} becomes a star,
// which meets more. It reports false when there are more spellings than are
// looked at; the rest stays unexpanded.
func braces(word string) (all []string, complete bool) {
	all = []string{word}
	bytes := len(word)
	for i := 0; i < len(all); i++ {
		open, shut := innerBraces(all[i])
		if open < 0 {
			continue
		}
		before, body, after := all[i][:open], all[i][open+1:shut], all[i][shut+1:]
		if !strings.Contains(body, ",") && strings.Contains(body, "..") {
			body = "*"
		}
		for choice := range strings.SplitSeq(body, ",") {
			if bytes += len(all[i]); len(all) >= maxBraces || bytes > maxBraceBytes {
				return all, false
			}
			all = append(all, before+choice+after)
		}
	}
	return all, true
}

// innerBraces finds the first pair that holds no other.
func innerBraces(s string) (open, shut int) {
	open = -1
	for i := 0; i < len(s); i++ {
		switch {
		case s[i] == '{':
			open = i
		case s[i] == '}' && open >= 0:
			return open, i
		}
	}
	return -1, -1
}

// hiddenFolders are folders of secrets a pattern is tried against.
var hiddenFolders = []string{".ssh", ".aws", ".gnupg", ".kube", ".azure"}

// expandsTo names the protection of a secret that an unquoted word may be
// expanded to, or "". A word with more spellings than are looked at may be
// expanded to anything.
func expandsTo(word string) string {
	all, complete := braces(word)
	if !complete {
		return "pattern"
	}
	for _, one := range all {
		if by := spells(one); by != "" {
			return by
		}
		for seg := range strings.SplitSeq(fold(one), "/") {
			if by := dotted(seg); by != "" {
				return by
			}
		}
	}
	return ""
}

// dotted tries a pattern that begins with a dot; others meet no hidden file.
func dotted(pattern string) string {
	if !strings.HasPrefix(pattern, ".") || !magic(pattern) {
		return ""
	}
	for _, names := range [][]string{samples, hiddenFolders} {
		for _, name := range names {
			if matchSegment(pattern, name) {
				return "pattern"
			}
		}
	}
	return ""
}

// samples are names of secrets that a pattern is tried against, letters lowered.
var samples = []string{".env", ".env.local", ".env.production", ".envrc", "server.pem", "id_rsa", "id_dsa", "id_ed25519", "id_ecdsa", ".netrc", ".npmrc", ".pypirc",
	".credentials.json", ".claude.json", ".git-credentials", ".pgpass", ".vault-token"}

// spells names the protection of a secret that a glob is written for. A glob
// such as * or *.* meets secrets by accident; there the CLI's own deny rules
// hold, and [Glob] tells what it meets.
func spells(glob string) string {
	last := fold(glob[strings.LastIndexByte(strings.TrimRight(glob, "/"), '/')+1:])
	if len(strings.Trim(last, "*?./")) < 2 {
		return ""
	}
	last = strings.TrimRight(last, "/")
	for _, s := range samples {
		if s[0] == '.' && last[0] == '*' && 2*len(strings.Trim(last, "*?")) < len(s) {
			continue // *.json is not written for .claude.json
		}
		if matchSegment(last, s) {
			return match(kindSecret, []string{"x", ".claude", s})
		}
	}
	return match(kindSecret, foldPath("/"+withoutStars.Replace(glob)))
}

var withoutStars = strings.NewReplacer("*", "", "?", "")

// maxNamed bounds the segments that are compared; a longer pattern may name
// anything.
const maxNamed = 32

// mayName reports whether a pattern that could not be listed may name a
// protected place by its text: some run of its segments meets a row, and one
// of them says more than a star does.
func (x *index) mayName(folder string, segs []string, mode Mode) bool {
	if len(segs) > maxNamed {
		return true
	}
	all := append(foldPath(folder), segs...)
	from := len(all) - len(segs)
	for at := range x.rows {
		row := &x.rows[at]
		if row.kind != kindSecret && (row.kind != kindGuard || mode != Write) {
			continue
		}
		for first := max(0, from-len(row.want)+1); first+len(row.want) <= len(all); first++ {
			if mayMeet(row.want, all[first:]) {
				return true
			}
		}
	}
	return false
}

func mayMeet(want, segs []string) bool {
	says := false
	for i, w := range want {
		seg := fold(segs[i])
		if magic(w) || !matchSegment(seg, w) {
			return false
		}
		says = says || seg[0] == '.' || len(strings.Trim(seg, "*?.[]")) > 1
	}
	return says
}

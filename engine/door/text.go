package door

import (
	"fmt"
	"unicode/utf8"
)

// Shorten leaves out the middle of a text of more than n bytes and says how
// many bytes are missing; cut says whether it did. What is hidden at the end of
// a long text is then seen as well as what is hidden at its beginning.
func Shorten(s string, n int) (text string, cut bool) {
	if len(s) <= n {
		return s, false
	}
	return middle(s, n), true
}

func middle(s string, n int) string {
	first, last := head(s, n*3/4), tail(s, n/4)
	return fmt.Sprintf("%s\n… %d bytes are not shown here …\n%s", first, len(s)-len(first)-len(last), last)
}

func head(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	at := len(s) - n
	for at < len(s) && !utf8.RuneStart(s[at]) {
		at++
	}
	return s[at:]
}

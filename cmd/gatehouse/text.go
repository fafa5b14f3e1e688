package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/gatehouse-mcp/gatehouse/internal/unseen"
)

// escapeControl makes a text safe to show on one line: control, format (bidi
// and zero-width included) and invalid characters appear as escapes.
func escapeControl(s string) string {
	var b strings.Builder
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		switch {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x80 && unicode.IsControl(r):
			fmt.Fprintf(&b, `\x%02x`, r)
		case unseen.Rune(r):
			fmt.Fprintf(&b, `\u{%x}`, r)
		default:
			b.WriteRune(r)
		}
		i += size
	}
	return b.String()
}

// escapeLines is escapeControl for a text of several lines.
func escapeLines(s string) string {
	lines := strings.Split(strings.ReplaceAll(s, "\r\n", "\n"), "\n")
	for i := range lines {
		lines[i] = escapeControl(lines[i])
	}
	return strings.Join(lines, "\n")
}

// errorLines is the text of an error. Those of policies have several lines, and
// lines of files among them, behind a tab. Every line but the first is indented,
// so that none can pass for another message.
func errorLines(err error) string {
	lines := strings.Split(err.Error(), "\n")
	for i, line := range lines {
		quoted, ok := strings.CutPrefix(line, "\t")
		switch {
		case ok:
			lines[i] = "      " + escapeControl(quoted)
		case i > 0:
			lines[i] = "  " + escapeControl(line)
		default:
			lines[i] = escapeControl(line)
		}
	}
	return strings.Join(lines, "\n")
}

// shorten cuts s to at most n characters and says how much is missing.
func shorten(s string, n int) string {
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return fmt.Sprintf("%s… (%d more)", string(runes[:n]), len(runes)-n)
}

// isTerminal reports whether stream is a character device other than the null
// device: somebody can see or type there.
func isTerminal(stream any) bool {
	if o, ok := stream.(*output); ok {
		stream = o.Writer
	}
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	if err != nil || info.Mode()&os.ModeCharDevice == 0 {
		return false
	}
	null, err := os.Stat(os.DevNull)
	return err != nil || !os.SameFile(info, null)
}

// lines reads r line by line into a channel, which is closed at its end. The
// goroutine ends with r or with done; a read that never returns ends with the
// process, since a terminal cannot be interrupted otherwise.
func lines(r io.Reader, done <-chan struct{}) <-chan string {
	out := make(chan string)
	go func() {
		defer close(out)
		scan := newLineScanner(r)
		for scan.Scan() {
			select {
			case out <- scan.Text():
			case <-done:
				return
			}
		}
	}()
	return out
}

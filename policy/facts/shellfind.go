package facts

import (
	"slices"
	"strings"
)

// found looks for -exec and its relatives.
func (w *walker) found(c *Command) func() {
	var all []func()
	w.roams(c)
	for i := 0; i < len(c.Args); i++ {
		in, ends := c.in, true
		switch c.Args[i].Value {
		case "-exec", "-ok":
		case "-execdir", "-okdir":
			in = lost
		case "-x", "-X", "--exec", "--exec-batch":
			if c.Name.Basename == "find" {
				continue
			}
			in, ends = lost, false
		default:
			if strings.HasPrefix(c.Args[i].Value, "--exec") && c.Name.Basename != "find" {
				w.doubt(c.Name.Basename + " starts another program")
			}
			continue
		}
		words := c.Args[i+1:]
		end := slices.IndexFunc(words, func(a Word) bool { return a.Value == ";" || ends && a.Value == "+" })
		if end < 0 {
			end = len(words)
		}
		if i += end; end > 0 && len(all) < maxShellCommands {
			all = append(all, w.behindVia(c, append(slices.Clone(words[:end]), Word{unknown: true}), in, nil))
		}
	}
	return func() {
		for _, record := range all {
			if record != nil {
				record()
			}
		}
	}
}

// roams looks for what leads find out of the folders it is given: links that
// it follows, and a file that holds the names of folders.
func (w *walker) roams(c *Command) {
	links, acts := false, false
	for _, a := range c.Args {
		switch v := a.Value; {
		case strings.HasPrefix(v, "-files0-from"):
			w.doubt(c.Name.Basename + " reads the names of folders from a file")
		case v == "-L" || v == "-follow" || v == "--follow":
			links = true
		case v == "-delete":
			acts, c.deletes = true, true
		case strings.HasPrefix(v, "-exec") || strings.HasPrefix(v, "-ok") || strings.HasPrefix(v, "--exec") || strings.HasPrefix(v, "-fprint") || v == "-x" || v == "-X" || v == "-fls":
			acts = true
		}
	}
	c.roams = links && acts
}

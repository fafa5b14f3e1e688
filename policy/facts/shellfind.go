package facts

import (
	"slices"
	"strings"
)

// found looks for -exec and its relatives.
func (w *walker) found(c *Command) func() {
	var all []func()
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

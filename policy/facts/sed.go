package facts

import "strings"

// sed looks at the script and the options of a sed command: a script may run
// programs and read and write files, and -i writes the files named behind it.
func (w *walker) sed(c *Command) {
	scripted := false
	c.operands = len(c.Args)
	options := true
	for i := 0; i < len(c.Args); i++ {
		a := c.Args[i]
		switch {
		case !options || !a.Flag || a.Value == "-":
			if !scripted && c.inPlace && a.Value == "" && a.Static { // a suffix for BSD, a script for GNU
				c.operands = i + 1
				continue
			}
			if !scripted {
				w.sedScript(a.Value, a.Static)
				scripted = true
				continue
			}
			c.operands = min(c.operands, i)
		case a.Value == "--":
			options = false
		default:
			i += w.sedOption(c, i, &scripted)
		}
	}
}

// sedOption reads one option and reports how many further words it takes.
func (w *walker) sedOption(c *Command, i int, scripted *bool) int {
	v := c.Args[i].Value
	name, value, attached := strings.Cut(v, "=")
	switch {
	case len(name) > 3 && strings.HasPrefix("--in-place", name):
		c.inPlace = true
		return 0
	case len(name) > 3 && strings.HasPrefix("--expression", name):
		*scripted = true
		if attached {
			w.sedScript(value, c.Args[i].Static)
			return 0
		}
		return w.sedNext(c, i)
	case len(name) > 3 && strings.HasPrefix("--file", name):
		*scripted = true
		w.doubt("sed runs a script from a file")
		return map[bool]int{false: 1}[attached]
	case strings.HasPrefix(v, "--"):
		return 0
	}
	for at := 1; at < len(v); at++ {
		switch v[at] {
		case 'i', 'I':
			c.inPlace = true
			return 0 // the rest is a suffix
		case 'e':
			*scripted = true
			if rest := v[at+1:]; rest != "" {
				w.sedScript(rest, c.Args[i].Static)
				return 0
			}
			return w.sedNext(c, i)
		case 'f':
			*scripted = true
			w.doubt("sed runs a script from a file")
			if at+1 == len(v) {
				return 1
			}
			return 0
		case 'l': // a length for some, nothing for others
			w.doubt("sed -l")
			return 0
		}
	}
	return 0
}

func (w *walker) sedNext(c *Command, i int) int {
	if i+1 < len(c.Args) {
		w.sedScript(c.Args[i+1].Value, c.Args[i+1].Static)
	}
	return 1
}

// sedScript doubts a script that does more than print and change text.
func (w *walker) sedScript(script string, static bool) {
	if !static || !sedHarmless(script) {
		w.doubt("a sed script that may read, write or start something")
	}
}

// sedHarmless reports scripts of which every command is understood and only
// edits text. It does not take a, i, c, braces with labels and other rare forms
// apart: those are not harmless, for want of knowledge.
func sedHarmless(s string) bool {
	for s != "" {
		s = strings.TrimLeft(s, " \t\n;{}")
		if s == "" {
			return true
		}
		rest, ok := sedAddress(s)
		if !ok || rest == "" {
			return false
		}
		rest = strings.TrimLeft(rest, " \t!")
		if strings.HasPrefix(rest, "{") {
			s = rest[1:]
			continue
		}
		if rest == "" {
			return false
		}
		if s, ok = sedCommand(rest); !ok {
			return false
		}
	}
	return true
}

// sedCommand reads one command behind its address.
func sedCommand(s string) (rest string, ok bool) {
	command := s[0]
	s = s[1:]
	switch command {
	case 's', 'y':
		if s == "" {
			return "", false
		}
		delimiter := s[0]
		if delimiter == '\\' || delimiter == '\n' {
			return "", false
		}
		for range 2 {
			if s, ok = sedUntil(s[1:], delimiter); !ok {
				return "", false
			}
		}
		s = strings.TrimLeft(s[1:], "gpIimM0123456789")
	case 'p', 'd', 'D', 'P', 'n', 'N', 'h', 'H', 'g', 'G', 'x', '=', 'l', 'q', 'Q', 'z':
		s = strings.TrimLeft(s, "0123456789")
	default:
		return "", false
	}
	s = strings.TrimLeft(s, " \t")
	return s, s == "" || strings.IndexByte(";\n}", s[0]) >= 0
}

// sedAddress skips the addresses of a command.
func sedAddress(s string) (rest string, ok bool) {
	for {
		switch {
		case s == "":
			return "", true
		case s[0] >= '0' && s[0] <= '9', s[0] == '$', s[0] == ',', s[0] == '~', s[0] == '+', s[0] == ' ':
			s = s[1:]
		case s[0] == '/':
			if s, ok = sedUntil(s[1:], '/'); !ok {
				return "", false
			}
			s = strings.TrimLeft(s[1:], "IM")
		default:
			return s, true
		}
	}
}

// sedUntil finds the delimiter that ends a part; s begins with it then. What
// stands in brackets is no delimiter for some programs and is one for others,
// so brackets that hold it are not understood.
func sedUntil(s string, delimiter byte) (rest string, ok bool) {
	bracket := false
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case delimiter:
			return s[i:], !bracket
		case '[':
			if bracket = true; strings.HasPrefix(s[i+1:], "]") || strings.HasPrefix(s[i+1:], "^]") {
				return "", false
			}
		case ']':
			bracket = false
		}
	}
	return "", false
}

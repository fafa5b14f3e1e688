package facts

import "strings"

// shell looks into sh -c TEXT. A shell that reads its standard input runs what nobody saw.
func (w *walker) shell(c *Command) func() {
	name := c.Name.Basename
	if otherShells[name] {
		w.doubt(name + " is no shell that is understood here")
	}
	words, code, input := c.Args, false, false
	for len(words) > 0 && (words[0].Flag || strings.HasPrefix(words[0].Value, "+")) {
		v := words[0].Value
		words = words[1:]
		switch {
		case v == "--" || v == "-":
		case v == "--command" || v == "--commands" || v == "-Command":
			code = true
		case strings.HasPrefix(v, "--"):
			if v == "--rcfile" || v == "--init-file" || strings.Contains(v, "=") {
				w.doubt(name + " reads another script first")
			}
			continue
		default:
			code = code || v[0] == '-' && strings.Contains(v, "c")
			input = input || strings.Contains(v, "s")
			if strings.ContainsAny(v, "oO") && len(words) > 0 { // takes the name of an option
				words = words[1:]
			}
			continue
		}
		break
	}
	switch {
	case code:
		w.Features.Inline = true
		if len(words) > 0 && words[0].Static {
			return w.text(c, words[0].Value)
		}
		w.doubt("hands a shell text that is only known at run time")
	case len(words) > 0 && !input:
		w.doubt("runs a script with " + name)
	default:
		w.doubt(name + " reads commands from its input")
		if n := len(c.Redirects); n > 0 && c.Redirects[n-1].text != "" {
			return w.text(c, c.Redirects[n-1].text)
		}
	}
	return nil
}

// text analyses a nested shell text, which starts in the command's folder.
func (w *walker) text(c *Command, text string) func() {
	via := append(append(make([]string, 0, len(c.Via)+1), c.Via...), c.Name.Basename)
	if shells[c.Name.Basename] && c.Name.Basename != "bash" && c.Name.Basename != "rbash" && bashOnly.MatchString(text) {
		w.doubt(differs + "what bash alone understands, handed to " + c.Name.Basename)
	}
	nested := walker{analysis: w.analysis, via: via, depth: w.depth + 1, sub: w.sub, at: c.in}
	return func() { w.parse(text, nested) }
}

// evaluated looks into commands that evaluate their arguments as shell text.
func (w *walker) evaluated(c *Command) func() {
	name := c.Name.Basename
	w.Features.Eval = true
	w.doubt(name + " evaluates its arguments")
	w.at = lost
	if name != "eval" {
		c.in = lost
	}
	return w.text(c, strings.Join(shellTexts(name, c.Args), " "))
}

// valuedLetters are options of evaluators whose value is the next word.
var valuedLetters = map[string]string{"ssh": "BbcDEeFIiJLlmOopQRSWw", "autossh": "BbcDEeFIiJLlmMOopQRSWw", "watch": "n", "parallel": "jaIndSL", "at": "ft", "tmux": "LSfcnst", "screen": "SctTe", "su": "sgGw", "runuser": "sgGu", "script": "ETIOBm", "hyperfine": "wrmMnpc"}

// shellTexts picks the words that are shell text.
func shellTexts(name string, args []Word) []string {
	var all []string
	for i := 0; i < len(args); i++ {
		v := args[i].Value
		if name != "eval" && args[i].Flag && len(all) == 0 {
			option := strings.TrimLeft(v, "-")
			switch text, attached := strings.CutPrefix(v, "--command="); {
			case attached:
				return []string{text}
			case (name == "su" || name == "runuser" || name == "script") && strings.HasPrefix(v, "-c") && len(v) > 2:
				return []string{v[2:]}
			case (name == "su" || name == "runuser" || name == "script") && (strings.HasSuffix(v, "c") || v == "--command") && i+1 < len(args):
				return []string{args[i+1].Value}
			case len(option) == 1 && strings.Contains(valuedLetters[name], option):
				i++
			}
			continue
		}
		if args[i].Static {
			all = append(all, v)
		}
		if name == "trap" && len(all) == 1 {
			return all
		}
	}
	switch name {
	case "ssh", "autossh", "mosh", "su", "runuser": // the host, the account
		if at := accountText(args); at != "" {
			return []string{at}
		}
		return all[min(1, len(all)):]
	}
	return all
}

// accountText is the text of su NAME -c TEXT.
func accountText(args []Word) string {
	for i, a := range args {
		if a.Value == "-c" && i+1 < len(args) {
			return args[i+1].Value
		}
	}
	return ""
}

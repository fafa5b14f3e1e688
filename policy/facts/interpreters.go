package facts

import (
	"slices"
	"strings"
)

// interpreted doubts code handed to an interpreter; a program of awk always is
// code, and without a script an interpreter reads code from its input.
func (w *walker) interpreted(c *Command) {
	name := c.Name.Basename
	inline := strings.Contains(name, "awk")
	for _, a := range c.Args {
		short := a.Flag && !strings.HasPrefix(a.Value, "--") && strings.ContainsAny(a.Value, "cerEpR")
		inline = inline || short || a.Value == "-" || a.Value == "eval" || a.Value == "repl" || a.Flag && inlineOption(a.Value)
	}
	switch {
	case inline:
	case onlyTells(name, c.Args):
		return
	case !scripted(name, c.Args):
	default:
		return
	}
	w.Features.Inline = true
	w.doubt("hands code to " + name)
}

// inlineOption reports long options that take code or load a module.
func inlineOption(v string) bool {
	name, _, _ := strings.Cut(v, "=")
	switch name {
	case "--eval", "--print", "--require", "--import", "--loader", "--experimental-loader", "--run", "--command", "--preload", "--init", "--execute", "--interactive":
		return true
	}
	return false
}

// telling are words that, alone, make an interpreter say its version or its
// use. -v of python is none: it goes on and reads its input.
var telling = map[string][]string{
	"python": {"-V", "-VV", "-h"}, "pypy": {"-V", "-h"}, "node": {"-v", "-h"}, "nodejs": {"-v", "-h"}, "deno": {"-V", "-h"}, "bun": {"-v", "-h"},
	"perl": {"-v", "-V", "-h"}, "ruby": {"-v", "-h"}, "php": {"-v", "-h", "-i", "-m"}, "lua": {"-v"}, "luajit": {"-v"}, "julia": {"-v", "-h"}, "elixir": {"-v", "-h"}, "tsx": {"-v", "-h"}, "ts-node": {"-v", "-h"}, "scala": {"-version"}, "groovy": {"-v"},
}

// onlyTells reports an interpreter that is asked for its version or its use.
func onlyTells(name string, args []Word) bool {
	if len(args) != 1 || !args[0].Static {
		return false
	}
	v := args[0].Value
	return v == "--version" || v == "--help" || slices.Contains(telling[strings.TrimRight(name, "0123456789.")], v)
}

// taking are letters of interpreters whose value is the next word, so that it
// is no script; a module (-m) is one.
var taking = map[string]string{"python": "WX", "pypy": "WX", "node": "C", "nodejs": "C", "perl": "I", "ruby": "IWKTx", "php": "dz", "julia": "pLJtC", "lua": "l", "luajit": "lj"}

// scripted reports that a script, a module or a command is named.
func scripted(name string, args []Word) bool {
	letters := taking[strings.TrimRight(name, "0123456789.")]
	for i := 0; i < len(args); i++ {
		v := args[i].Value
		switch {
		case args[i].unknown && v == "":
		case !args[i].Flag, v == "--" && i+1 < len(args):
			return true
		case strings.HasPrefix(name, "node") && v == "--test":
			return true
		case strings.HasPrefix(v, "--"):
			if !strings.Contains(v, "=") && strings.HasPrefix(name, "node") && i+1 < len(args) && valuedOfNode(v) {
				i++
			}
		case strings.HasPrefix(v, "-m") && len(v) > 2 && strings.HasPrefix(name, "py"):
			return true
		case len(v) == 2 && strings.Contains(letters, v[1:]):
			i++
		}
	}
	return false
}

// valuedOfNode reports long options of node that take the next word.
func valuedOfNode(v string) bool {
	for _, prefix := range []string{"--conditions", "--env-file", "--title", "--input-type", "--icu-data-dir", "--openssl-config", "--redirect-warnings", "--disable-warning", "--diagnostic-dir", "--dns-result-order", "--max-http-header-size",
		"--stack-trace-limit", "--unhandled-rejections", "--experimental-default-type", "--test-", "--trace-event", "--watch-path", "--secure-heap", "--tls-", "--report-", "--localstorage-file", "--cpu-prof-", "--heap-prof-", "--inspect-port", "--heapsnapshot"} {
		if strings.HasPrefix(v, prefix) {
			return true
		}
	}
	return false
}

package main

import (
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// command is the program, absolute, and its arguments. It is looked up once, so that
// a later change of PATH changes nothing.
func (k *serverChecker) command() []string {
	words := k.s.Command
	switch {
	case len(words) == 0 || words[0] == "":
		k.wrong(`%q: command names no program; want command = ["program", "argument"]`, k.s.Name)
		return nil
	case len(words) > maxServerWords:
		k.wrong("%q: command has %d words, want at most %d", k.s.Name, len(words), maxServerWords)
	}
	for _, w := range words {
		if strings.ContainsRune(w, 0) {
			k.wrong("%q: command: %q holds a NUL", k.s.Name, w)
		}
	}
	program := k.program(k.env.expand(words[0]))
	k.keep(program)
	for i, w := range words[1:] {
		k.keepNamed(w)
		if strings.Contains(w, "${") { // which may hold a secret that was written out
			k.warn(fmt.Sprintf("mcp_server %q: command: ${…} in argument %d is not filled in by Gatehouse, since every process can see arguments; put secrets into env or env_from", k.s.Name, i+1))
		}
	}
	return append([]string{program}, words[1:]...)
}

// program finds a program. A link stays one: what it is called by may matter to it.
func (k *serverChecker) program(name string) string {
	found, err := exec.LookPath(name)
	switch {
	case errors.Is(err, exec.ErrDot):
		k.wrong("%q: command: %s was found in the current folder only, which a project could have put there; name it by its whole path", k.s.Name, name)
	case err != nil:
		k.wrong("%q: command: %v; install it, or name it by its whole path", k.s.Name, err)
	case !filepath.IsAbs(found):
		k.wrong("%q: command: %s leads to %s, which depends on the current folder; name it by its whole path", k.s.Name, name, found)
	case isOwnProgram(found):
		k.wrong("%q: command: %s is Gatehouse itself; sessions started by a session would run beside its limits", k.s.Name, found)
	}
	if ext := strings.ToLower(filepath.Ext(found)); ext == ".bat" || ext == ".cmd" {
		k.wrong("%q: command: %s is a batch file, whose arguments cannot be quoted safely; name the program and the script it starts", k.s.Name, found)
	}
	return found
}

// isOwnProgram reports whether path is the program that runs. Only the scripts of the
// tests have another: there one file plays all programs.
var isOwnProgram = func(path string) bool {
	own, err := os.Executable()
	if err != nil {
		return false
	}
	a, errA := os.Stat(own)
	b, errB := os.Stat(path)
	return errA == nil && errB == nil && os.SameFile(a, b)
}

// maxNamed bounds the pieces of the arguments that are looked up as files.
const maxNamed = 1024

// keepNamed keeps the files that an argument names, such as the script of an
// interpreter, also as --flag=FILE and within the text of a shell.
func (k *serverChecker) keepNamed(word string) {
	k.keep(k.named(word))
	for piece := range strings.FieldsFuncSeq(word, func(r rune) bool { return strings.ContainsRune(" \t\r\n\"'`;|&()<>=,", r) }) {
		if k.looked++; k.looked > maxNamed {
			return
		}
		k.keep(k.named(piece))
	}
}

// named is the file that a word is the name of; empty: none that can be told.
func (k *serverChecker) named(word string) string {
	if !filepath.IsAbs(word) {
		if k.s.Dir == "" || word == "" || strings.HasPrefix(word, "-") {
			return ""
		}
		word = filepath.Join(k.env.expand(k.s.Dir), word)
	}
	if info, err := os.Stat(word); err != nil || !info.Mode().IsRegular() {
		return ""
	}
	return word
}

// keep has no session write a file that the server runs.
func (k *serverChecker) keep(path string) {
	if !filepath.IsAbs(path) {
		return
	}
	k.out.files = union(k.out.files, []string{filepath.Clean(path)})
	if real, err := filepath.EvalSymlinks(path); err == nil {
		k.out.files = union(k.out.files, []string{real})
	}
}

// dir is where the program runs; empty: a private empty folder.
func (k *serverChecker) dir() string {
	if k.s.Dir == "" {
		return ""
	}
	dir := k.env.expand(k.s.Dir)
	info, err := os.Stat(dir)
	switch {
	case !filepath.IsAbs(dir):
		k.wrong("%q: dir %q must be absolute, begin with ~/ or be relative to this file", k.s.Name, k.s.Dir)
	case err != nil:
		k.wrong("%q: dir: %v", k.s.Name, err)
	case !info.IsDir():
		k.wrong("%q: dir: %s is no folder", k.s.Name, dir)
	}
	return filepath.Clean(dir)
}

// url is an address that secrets may be sent to.
func (k *serverChecker) url() string {
	u, err := url.Parse(k.s.URL)
	switch {
	case err != nil || u.Host == "":
		k.wrong(`%q: url is no address; write it like "https://mcp.example.com/mcp"`, k.s.Name) // it may hold a secret
	case strings.Contains(k.s.URL, "${"):
		k.wrong("%q: url: ${…} is not filled in here, since addresses are logged on their way; put secrets into headers", k.s.Name)
	case u.User != nil:
		k.wrong(`%q: url holds a name or password, which are logged on their way; put them into headers = { Authorization = "Basic ${…}" }`, k.s.Name)
	case u.Scheme == "http" && !loopback(u.Hostname()):
		k.wrong("%q: url: http:// to %s would carry secrets uncovered over the network; want https:// (http:// is for localhost, 127.0.0.1 and ::1)", k.s.Name, u.Hostname())
	case u.Scheme != "http" && u.Scheme != "https":
		k.wrong("%q: url: scheme %q is unknown, want https", k.s.Name, u.Scheme)
	}
	return k.s.URL
}

func loopback(host string) bool {
	if strings.EqualFold(host, "localhost") {
		return true
	}
	ip := net.ParseIP(host)
	return ip != nil && ip.IsLoopback()
}

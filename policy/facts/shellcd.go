package facts

import "strings"

// place is the folder in which a command runs, told by the changes of folder
// before it. The nil place is the folder in which the text starts.
type place struct {
	from *place
	to   Word // a plain word
	sure bool // what runs there runs only if the change went well

	folder   Folder // filled by folders.of
	straight bool   // no link was followed, so ".." is the same for shell and kernel
	done     bool
}

// lost is a folder that nobody knows.
var lost = &place{done: true}

// maxChanges bounds the changes of folder that are followed in one text.
const maxChanges = 32

// enter follows a change of folder.
func (a *analysis) enter(from *place, to Word) *place {
	if a.changes++; from == lost || a.changes > maxChanges || !to.Static || to.Value == "" || strings.TrimSpace(to.Value) != to.Value {
		return lost
	}
	return &place{from: from, to: to, sure: true}
}

// settled is the place after which a command runs whether or not the changes
// went well.
func (p *place) settled() *place {
	if p == nil || p == lost || !p.sure {
		return p
	}
	return &place{from: p.from.settled(), to: p.to}
}

// changed follows a command that changes the folder.
func (w *walker) changed(c *Command) {
	w.Features.Chdir = true
	w.at = lost
	simple := c.Name.Value == "cd" && len(c.Via) == len(w.via) && len(c.Env) == 0 && len(c.Redirects) == 0
	if !simple || w.homeless || c.at == lost {
		return
	}
	words := c.Args
	for len(words) > 0 && words[0].Static && (words[0].Value == "-L" || words[0].Value == "--") {
		words = words[1:]
	}
	switch {
	case len(words) == 0:
		w.at = w.enter(c.at, Word{Value: "~", Static: true, Tilde: true})
	case len(words) == 1 && !strings.HasPrefix(words[0].Value, "-") && !strings.HasPrefix(words[0].Value, "+"):
		w.at = w.enter(c.at, words[0])
	}
}

// aside visits what may or may not move the shell: a pipeline, a job in the
// background. What stands in it knows its folder, what follows does not.
func (w *walker) aside(visit func()) {
	before := w.at
	visit()
	if w.at != before {
		w.at, w.loose = lost, false
	}
}

// branch visits what may run never or many times, so that a change of folder
// in it concerns even what is written before it.
func (w *walker) branch(visit func()) {
	before, from := w.at, len(w.Commands)
	visit()
	if w.at != before {
		w.lose(from)
	}
}

// lose makes the folder of the commands since from unknown, and of what follows.
func (w *walker) lose(from int) {
	for i := from; i < len(w.Commands); i++ {
		w.Commands[i].at, w.Commands[i].in = lost, lost
	}
	w.at, w.loose = lost, false
}

// homeVariables steer where cd leads.
func homeVariables(name string) bool {
	switch name {
	case "HOME", "CDPATH", "PWD", "OLDPWD":
		return true
	}
	return false
}

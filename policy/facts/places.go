package facts

import (
	"path/filepath"
	"slices"
	"strings"
)

// Places are the home folder and the protected places of a set of policies,
// prepared once and shared by the resolvers of all calls.
type Places struct {
	home string
	own  []ownPlace
}

// ownPlace is a protected file or folder; segments are compared folded,
// because on some file system other spellings name the same place.
type ownPlace struct {
	abs    string
	folded []string
	secret bool // may not be read either
}

// NewPlaces prepares the home folder, which may be empty, and absolute files
// or folders that nobody may write, and those that nobody may read either.
// Relative ones are left out.
func NewPlaces(home string, protected []string, secret ...string) *Places {
	places := &Places{home: home}
	places.add(protected, false)
	places.add(secret, true)
	return places
}

func (p *Places) add(paths []string, secret bool) {
	for _, path := range paths {
		if filepath.IsAbs(path) {
			abs := filepath.Clean(path)
			p.own = append(p.own, ownPlace{abs: abs, folded: foldPath(abs), secret: secret})
		}
	}
}

// Home returns the home folder.
func (p *Places) Home() string { return p.home }

// above reports whether abs is a folder above a protected place, or one itself.
func (p *Places) above(abs string) bool {
	for i := range p.own {
		if within(abs, p.own[i].abs) {
			return true
		}
	}
	return false
}

// judge says what the names of an absolute path mean.
func (p *Places) judge(abs string) verdict {
	var room [24]string
	segs := appendFolded(room[:0], abs)
	v := rows.lookup(segs)
	if v.secret == "" && len(segs) > 0 {
		v.secret = backedUp(segs)
	}
	for i := range p.own {
		own := p.own[i].folded
		if n := len(own); len(segs) >= n && (n == 0 || segs[n-1] == own[n-1]) && slices.Equal(segs[:n], own) {
			v.own = "gatehouse"
			if p.own[i].secret { // whatever other secret its name makes it, too
				v.secret = OwnSecret
			}
		}
	}
	return v
}

// OwnSecret is the protected_by of what of Gatehouse's own may not be read.
const OwnSecret = "gatehouse_secret"

// verdict names what the tables say of a place; empty where they say nothing.
type verdict struct {
	secret     string // may be neither read nor written
	own        string // may not be written: Gatehouse's own
	guard      string // may not be written
	doubt      string // deserves a look
	doubtWrite string // deserves a look when written
}

// protection names what forbids a mode, or "".
func (v *verdict) protection(mode Mode) string {
	switch {
	case mode == Write && v.own != "": // first: no set of policies may take it for a secret like others
		return v.own
	case v.secret != "" || mode != Write:
		return v.secret
	}
	return v.guard
}

func (v *verdict) apply(p *Path) {
	if by := v.protection(p.Mode); by != "" && !p.Protected {
		p.Protected, p.ProtectedBy = true, by
	}
	by := v.doubt
	if by == "" && p.Mode == Write {
		by = v.doubtWrite
	}
	if by != "" && !p.Sensitive {
		p.Sensitive, p.SensitiveBy = true, by
	}
}

// backupEnds are what editors and people put behind the name of a file they keep.
var backupEnds = []string{"~", ".bak", ".orig", ".old", ".swp", ".swo", ".save", ".backup"}

// backedUp names the secret of which the last segment is a copy, or "".
func backedUp(segs []string) string {
	last := segs[len(segs)-1]
	defer func() { segs[len(segs)-1] = last }()
	plain := strings.TrimPrefix(strings.TrimSuffix(last, "#"), "#")
	for _, end := range backupEnds {
		plain = strings.TrimSuffix(plain, end)
	}
	if plain == last || plain == "" {
		return ""
	}
	segs[len(segs)-1] = plain
	if by := rows.lookup(segs).secret; by != "" {
		return by
	}
	if plain[0] != '.' || len(plain) < 2 { // an editor puts a dot before the name, too
		return ""
	}
	segs[len(segs)-1] = plain[1:]
	return rows.lookup(segs).secret
}

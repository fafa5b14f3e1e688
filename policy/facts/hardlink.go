package facts

import (
	"io"
	"os"
	"path/filepath"
	"slices"
)

// Bounds of the search for the protected file behind a hard link. A search
// that stops at one finds nothing, and writing the file stays sensitive.
const (
	maxOriginals  = 1024 // files looked at in one call
	maxFolderRead = 256  // names read of one folder
)

// hardLink is the sensitive_by of writing a file that has other names.
const hardLink = "hard_link"

// original is a protected file that has several names.
type original struct {
	abs     string
	node    node
	verdict verdict
}

// secretFolders are the folders below home, and guardFolders those below the
// roots and the working folder, whose protected files are compared.
var (
	secretFolders = []string{"", ".ssh", ".aws", ".claude", ".claude/hooks", ".gnupg", ".gnupg/private-keys-v1.d", ".kube", ".azure", ".docker", ".cargo",
		".config/gcloud", ".config/gh", ".config/git"}
	guardFolders = []string{"", ".claude", ".claude/hooks", ".git", ".git/hooks", ".gatehouse", ".husky", ".vscode", ".ssh", ".aws"}
)

// hardlink tells of a file that is the same as a protected one under another
// name. A file with one name, the usual case, costs nothing.
func (r Resolver) hardlink(p *Path, real string, n node) {
	if !n.shared() {
		return
	}
	if !r.memory.listed {
		r.memory.listed, r.memory.originals = true, r.originals()
	}
	for i := range r.memory.originals {
		if o := &r.memory.originals[i]; o.node.same(n) && o.abs != real {
			p.Hardlink = true
			o.verdict.apply(p)
		}
	}
	if p.Mode == Write && !p.Protected && !p.Sensitive {
		p.Sensitive, p.SensitiveBy = true, hardLink
	}
}

// originals lists the protected files with several names.
func (r Resolver) originals() []original {
	s := search{places: r.places}
	for _, own := range r.places.own {
		s.file(own.abs)
		s.folder(own.abs, "")
	}
	for _, sub := range secretFolders {
		s.folder(r.Home, sub)
	}
	tops := slices.Compact(slices.Sorted(slices.Values(append([]string{r.Cwd, r.Start}, r.Roots...))))
	for _, root := range tops {
		for _, sub := range guardFolders {
			if filepath.IsAbs(root) {
				s.folder(root, sub)
			}
		}
	}
	return s.found
}

// search collects protected files.
type search struct {
	places *Places
	looked int
	found  []original
}

func (s *search) folder(base, sub string) {
	if base == "" {
		return
	}
	names := namesIn(base, sub, maxFolderRead)
	for _, name := range names {
		s.file(filepath.Join(base, sub, name))
	}
}

func (s *search) file(abs string) {
	v := s.places.judge(abs)
	if v.protection(Write) == "" || s.looked >= maxOriginals {
		return
	}
	s.looked++
	if n, err := lstat(abs); err == nil && n.shared() {
		s.found = append(s.found, original{abs, n, v})
	}
}

// namesIn returns at most most names in a folder below base. It is opened
// through base, so that a link put there meanwhile cannot lead elsewhere.
func namesIn(base, sub string, most int) []string {
	if n, err := lstat(filepath.Join(base, sub)); err != nil || !n.mode.IsDir() {
		return nil
	}
	root, err := os.OpenRoot(base)
	if err != nil {
		return nil
	}
	defer root.Close()
	if sub == "" {
		sub = "."
	}
	dir, err := root.OpenFile(sub, os.O_RDONLY|directoryOnly, 0)
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, err := dir.Readdirnames(most)
	if err != nil && err != io.EOF {
		return nil
	}
	return names
}

package facts

import (
	"regexp"
	"sync"
)

// lazyPattern is a regular expression that is compiled when it is first needed:
// a start would wait for all of them, and most calls need few.
type lazyPattern struct {
	text     string
	once     sync.Once
	compiled *regexp.Regexp
}

// lazily makes one. A test compiles all, so none of them breaks down later.
func lazily(text string) *lazyPattern { return &lazyPattern{text: text} }

func (p *lazyPattern) get() *regexp.Regexp {
	p.once.Do(func() { p.compiled = regexp.MustCompile(p.text) })
	return p.compiled
}

// MatchString is that of [regexp.Regexp], and so are the others.
func (p *lazyPattern) MatchString(s string) bool { return p.get().MatchString(s) }

func (p *lazyPattern) Match(b []byte) bool { return p.get().Match(b) }

func (p *lazyPattern) FindAllString(s string, n int) []string { return p.get().FindAllString(s, n) }

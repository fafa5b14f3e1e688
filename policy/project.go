package policy

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine/admission"
	"github.com/gatehouse-mcp/gatehouse/engine/permission"
)

// projectRule is the rule of what is refused because a project's policies cannot
// be told.
const projectRule = "engine.project_policy"

// Bounds of what is kept of projects.
const (
	maxProjects        = 256
	maxProjectSessions = 4096
	maxProjectBroken   = 1024 // contents that did not load in time
	maxProjectRoots    = 256
	projectLoadTime    = 2 * time.Second
	maxProjectLoads    = 4 // of one root that take longer and still run
)

// Projects holds the policies that repositories bring along, by folder and
// content, and which of them hold in which session: those of its first call, for
// as long as it lives. It outlives a [Set]: hand it to the next one. It is safe
// for concurrent use.
type Projects struct {
	compile func(context.Context, []projectPart) ([]*layer, error)
	limit   time.Duration // for reading, and for compiling

	mu       sync.Mutex
	loaded   *lru[binding, *project]
	sessions *lru[sessionKey, binding]
	roots    *lru[string, *projectRoot]
	broken   *lru[string, error] // by digest: never compiled again, wherever it lies
	flights  map[binding]*flight // being compiled
}

// NewProjects returns an empty memory of projects.
func NewProjects() *Projects {
	return &Projects{
		compile: compileProject, limit: projectLoadTime,
		loaded: newLRU[binding, *project](maxProjects), sessions: newLRU[sessionKey, binding](maxProjectSessions),
		roots: newLRU[string, *projectRoot](maxProjectRoots), broken: newLRU[string, error](maxProjectBroken),
		flights: map[binding]*flight{},
	}
}

// binding is the project that holds in a session; an empty digest is none.
type binding struct{ folder, digest string }

// sessionKey names a session in its working folder.
type sessionKey struct{ id, cwd string }

// project is the policies that hold in a folder as they were at one time: its
// own and those of the folders above it.
type project struct {
	folder string   // the nearest one that has some
	digest string   // of all of them
	layers []*layer // by folder, the outermost first; none when err is set
	err    error    // why they do not load
	guard  guard
}

// revision is the digest of the files; the nil project has none.
func (p *project) revision() string {
	if p == nil {
		return ""
	}
	return p.digest
}

// projectOf returns the policies that the project brings to a session, nil for
// none. What the first call of a session finds holds for the session.
func (s *Set) projectOf(ctx context.Context, id string, session permission.Session) (*project, error) {
	ps := s.options.Projects
	key := sessionKey{id, session.Cwd}
	ps.mu.Lock()
	bound, known := ps.sessions.get(key)
	p, _ := ps.loaded.get(bound)
	ps.mu.Unlock()
	switch {
	case known && bound.digest == "":
		return nil, nil
	case known && p != nil:
		return p.usable()
	}
	p, err := ps.find(ctx, session.Cwd, session.Roots)
	if err != nil {
		return nil, err
	}
	if known && (p == nil || p.revision() != bound.digest || p.folder != bound.folder) {
		return nil, fmt.Errorf("the policies in %s changed since the session began, and what they were is no longer kept; start the session again", bound.folder)
	}
	if id != "" {
		ps.bind(key, p)
	}
	return p, nil
}

func (ps *Projects) bind(key sessionKey, p *project) {
	b := binding{}
	if p != nil {
		b = binding{p.folder, p.digest}
	}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.sessions.put(key, b)
}

// projectOfRequest is for admissions. A session that opens anew takes what is on
// disk; what belongs to no folder, or ends something, no project has a say in.
func (s *Set) projectOfRequest(ctx context.Context, r admission.Request) (*project, error) {
	switch r.Action {
	case admission.Start, admission.Resume, admission.Fork:
		return s.options.Projects.find(ctx, r.Cwd, r.Roots)
	case admission.Reply, admission.McpServer:
		if r.Session.Cwd != "" && r.SessionID != "" {
			return s.projectOf(ctx, r.SessionID, r.Session)
		}
		return s.options.Projects.find(ctx, r.Cwd, r.Roots)
	}
	return nil, nil
}

// admitted forgets what held in a session that was let in anew.
func (s *Set) admitted(r admission.Request, d permission.Decision) {
	if r.Action != admission.Resume || d.Effect != permission.Allow {
		return
	}
	ps := s.options.Projects
	ps.mu.Lock()
	defer ps.mu.Unlock()
	ps.sessions.remove(sessionKey{r.SessionID, r.Cwd})
}

func (p *project) usable() (*project, error) {
	if p.err != nil {
		return nil, fmt.Errorf("policies of the project: %w", p.err)
	}
	return p, nil
}

// remembered finds loaded policies of a project by digest, for documents that
// tell of them.
func (s *Set) remembered(digest string) *project {
	if digest == "" {
		return nil
	}
	ps := s.options.Projects
	ps.mu.Lock()
	defer ps.mu.Unlock()
	p, _ := ps.loaded.find(func(p *project) bool { return p.err == nil && p.digest == digest })
	return p
}

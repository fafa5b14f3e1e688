package policy

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// projectRoot is what goes on below one root: what ignores its time there holds
// up that root and no other.
type projectRoot struct {
	reading guard
	late    int // compilations that took too long and still run
}

// flight is one compilation, which everybody who needs the content waits for.
type flight struct {
	root   *projectRoot
	key    binding
	done   chan struct{} // closed when p is there
	p      *project
	landed bool
}

// find reads, and unless it is known compiles, the policies that lie above cwd.
// Where there are none nothing else is looked at.
func (ps *Projects) find(ctx context.Context, cwd string, roots []string) (*project, error) {
	top := outermost(cwd, roots)
	if top == "" {
		return nil, nil
	}
	root := ps.root(top)
	parts, err := ps.read(ctx, root, cwd, roots)
	if err != nil || len(parts) == 0 {
		return nil, err
	}
	f, err := ps.load(root, parts)
	if err != nil {
		return nil, err
	}
	select {
	case <-f.done:
		return f.p.usable()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (ps *Projects) root(top string) *projectRoot {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	root, ok := ps.roots.get(top)
	if !ok {
		root = &projectRoot{}
		ps.roots.put(top, root)
	}
	return root
}

// read looks for the files under a watchdog: a file system may not answer.
func (ps *Projects) read(ctx context.Context, root *projectRoot, cwd string, roots []string) ([]projectPart, error) {
	if n := root.reading.stuck.Load(); n >= maxProjectLoads {
		return nil, fmt.Errorf("policies of the project above %s: %d earlier looks for them have not come back; see to the file system", cwd, n)
	}
	type found struct {
		parts []projectPart
		err   error
	}
	f, late := watch(ctx, &root.reading, ps.limit, 0, func(context.Context) (f found) {
		f.parts, f.err = findProject(cwd, roots)
		return f
	})
	switch {
	case late:
		return nil, fmt.Errorf("policies of the project above %s: reading them takes longer than %s", cwd, ps.limit)
	case f.err != nil:
		return nil, fmt.Errorf("policies of the project: %w", f.err)
	}
	return f.parts, nil
}

// load returns the flight that brings the compiled policies, a landed one where
// they are known. Broken ones are known as well: nothing is compiled again for
// every call.
func (ps *Projects) load(root *projectRoot, parts []projectPart) (*flight, error) {
	key := binding{parts[len(parts)-1].folder, projectDigest(parts)}
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if p, ok := ps.loaded.get(key); ok {
		return landed(p), nil
	}
	if err, ok := ps.broken.get(key.digest); ok {
		return nil, err
	}
	if f := ps.flights[key]; f != nil {
		return f, nil
	}
	if root.late >= maxProjectLoads {
		return nil, fmt.Errorf("policies in %s: %d others below the same root take too long to load; remove them and restart the server", key.folder, root.late)
	}
	f := &flight{root: root, key: key, done: make(chan struct{})}
	ps.flights[key] = f
	timer := time.AfterFunc(ps.limit, func() { ps.overdue(f) })
	go func() { // ends when the compiler does; for one that does not, root.late counts
		p := ps.compiled(key, parts)
		timer.Stop()
		ps.land(f, p)
	}()
	return f, nil
}

func landed(p *project) *flight {
	f := &flight{p: p, landed: true, done: make(chan struct{})}
	close(f.done)
	return f
}

// compiled compiles all folders, each a layer of its own; bounds are those of all
// together.
func (ps *Projects) compiled(key binding, parts []projectPart) (p *project) {
	p = &project{folder: key.folder, digest: key.digest}
	defer func() {
		if r := recover(); r != nil {
			p.err = errors.New("they broke the compiler")
		}
	}()
	ctx, cancel := context.WithTimeout(context.Background(), ps.limit)
	defer cancel()
	p.layers, p.err = ps.compile(ctx, parts)
	return p
}

func compileProject(ctx context.Context, parts []projectPart) (all []*layer, err error) {
	size := &projectSize{}
	for _, part := range parts {
		c, err := compileModules(part.sources, rights{caps: projectCapabilities, project: size})
		if err != nil {
			return nil, err
		}
		l, err := newLayer(ctx, "project", c, part.sources, nil)
		if err != nil {
			return nil, err
		}
		all = append(all, l)
	}
	return all, nil
}

// land hands over what was compiled, unless it came too late.
func (ps *Projects) land(f *flight, p *project) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if f.landed {
		f.root.late--
		return
	}
	ps.loaded.put(f.key, p)
	ps.settle(f, p)
}

// overdue gives a compilation up: its content is broken for good, here and in
// every other folder.
func (ps *Projects) overdue(f *flight) {
	ps.mu.Lock()
	defer ps.mu.Unlock()
	if f.landed {
		return
	}
	err := fmt.Errorf("policies in %s: they take longer than %s to load and are not tried again while the server runs; make them simpler", f.key.folder, ps.limit)
	f.root.late++
	ps.broken.put(f.key.digest, err)
	ps.settle(f, &project{folder: f.key.folder, digest: f.key.digest, err: err})
}

// settle is called with the lock held.
func (ps *Projects) settle(f *flight, p *project) {
	f.p, f.landed = p, true
	delete(ps.flights, f.key)
	close(f.done)
}

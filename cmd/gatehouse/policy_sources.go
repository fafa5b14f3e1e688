package main

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/gatehouse-mcp/gatehouse/policy"
	"github.com/gatehouse-mcp/gatehouse/policy/author"
)

// policySources are the files an author works on.
type policySources struct {
	paths     []string // files and folders, as named or as configured
	dataPaths []string // of data.cfg
	profile   string

	sources []policy.Source
	files   []author.DataFile
	data    map[string]any // of files, together
}

// readPolicies reads what the command line names, or else what is configured.
func (c *command) readPolicies(o *policyOptions) (*policySources, error) {
	p, err := c.findPolicies(o)
	if err != nil {
		return nil, err
	}
	return p, p.read()
}

// findPolicies says where to read. With paths on the command line the
// configuration is not read at all, so that a repository of policies can be
// tested anywhere.
func (c *command) findPolicies(o *policyOptions) (*policySources, error) {
	p := &policySources{paths: o.rest, dataPaths: o.data, profile: o.profile}
	if len(o.data) == 0 {
		p.dataPaths = dataBeside(o.rest)
	}
	switch {
	case len(p.paths) > 0 && o.config != "":
		return nil, errors.New("--config excludes files and folders on the command line: with them no configuration is read")
	case len(p.paths) == 0:
		s, err := c.configure(&o.options)
		if err != nil {
			return nil, err
		}
		p.profile = s.profile
		if data := p.configured(s); len(o.data) == 0 {
			p.dataPaths = data
		}
	}
	if len(p.paths) == 0 {
		return nil, errors.New("no policies: name files or folders, or list them in [policy] paths; gatehouse policy init writes a starter")
	}
	return p, nil
}

// dataNames are the files of a folder of policies that hold its data, unless
// others are named: what init and the daily rules write.
var dataNames = []string{"data.toml", "data.json", "rules.toml"}

func dataBeside(paths []string) (data []string) {
	for _, path := range paths {
		for _, name := range dataNames {
			file := filepath.Join(path, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() {
				data = append(data, file)
			}
		}
	}
	return data
}

func (p *policySources) read() (err error) {
	if err := p.readData(); err != nil {
		return err
	}
	if p.sources, err = policy.ReadSources(p.paths); err != nil {
		return err
	}
	for i := range p.sources {
		p.sources[i].Name = shortPath(p.sources[i].Name)
	}
	return nil
}

// configured takes the user's policies, or else the organisation's: they are
// layers of their own, and one is worked on at a time. It returns their data.
func (p *policySources) configured(s *settings) []string {
	if p.paths = without(s.policyPaths, s.orgPaths); len(p.paths) > 0 {
		return without(s.policyData, s.orgData)
	}
	p.paths = s.orgPaths
	return s.orgData
}

func (p *policySources) readData() (err error) {
	if p.data, err = readData(p.dataPaths); err != nil {
		return err
	}
	for _, path := range p.dataPaths {
		document, err := readDocument(path)
		if err != nil {
			return err
		}
		text, err := readBounded(path)
		if err != nil {
			return err
		}
		p.files = append(p.files, author.DataFile{Name: shortPath(path), Text: text, Keys: slices.Sorted(maps.Keys(document))})
	}
	return nil
}

// load loads the policies as a server would: its checks come before any of ours.
func (p *policySources) load(ctx context.Context) error {
	if !author.Decides(p.sources) {
		return nil // a library or tests alone; the server would say that they decide nothing
	}
	_, err := policy.Load(ctx, policy.Options{
		Profile: p.profile, Paths: p.paths, Data: p.data, DataElsewhere: len(p.dataPaths) == 0, Home: author.TestHome(), Logger: slog.New(slog.DiscardHandler),
	})
	return err
}

// documents makes the documents that tests judge, with the built-in profile alone.
func (p *policySources) documents(ctx context.Context) (*policy.Set, error) {
	return policy.Load(ctx, policy.Options{Profile: p.profile, Home: author.TestHome(), Logger: slog.New(slog.DiscardHandler)})
}

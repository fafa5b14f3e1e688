package main

import (
	"cmp"
	"context"
	"io/fs"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// loadPolicies compiles the policies in force. An error names file and line.
func loadPolicies(ctx context.Context, s *settings, logger *slog.Logger) (*policy.Set, error) {
	r, err := openRollout(ctx, s, logger)
	if err != nil {
		return nil, err
	}
	return r.live.Set(), nil
}

// decisionTime is what a decision may take in a session; 0 = the default. Only the
// scripts of the tests set it: many programs at once share their cores.
var decisionTime time.Duration

// policyOptions are what the policies in force are loaded with, but for a bundle.
func (s *settings) policyOptions(logger *slog.Logger) (policy.Options, error) {
	data, err := readData(without(s.policyData, s.orgData))
	if err != nil {
		return policy.Options{}, err
	}
	orgData, err := readData(s.orgData) // the user's own data is none of the organisation's policies
	if err != nil {
		return policy.Options{}, err
	}
	o := policy.Options{
		Profile: s.profile, Paths: without(s.policyPaths, s.orgPaths), Data: data, Org: s.orgPaths, OrgData: orgData,
		DefaultEffect: s.defaultEffect, Grants: s.grants,
		Protected: s.protected(), Secret: s.secret(), Home: s.home, Logger: logger, Redaction: &s.redaction.options,
		ServerID: cmp.Or(s.server, serverID), Version: readVersion().Version, Deadline: cmp.Or(s.deadline, decisionTime),
	}
	if s.decisions != nil { // an interface that holds a nil pointer is not nil
		o.Decisions = s.decisions
	}
	return o, nil
}

// without leaves out what the organisation lists: its policies are a layer of
// their own, with their own data.
func without(all, organisation []string) []string {
	return slices.DeleteFunc(slices.Clone(all), func(p string) bool { return slices.Contains(organisation, p) })
}

// policyFiles lists the modules of policy.paths as loading reads them: folders
// are walked, names that begin with a dot are left out.
func policyFiles(paths []string) []string {
	files := []string{}
	for _, root := range paths {
		// Loading has read all of it, so an error here only shortens the list.
		_ = filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
			hidden := path != root && strings.HasPrefix(d.Name(), ".")
			switch {
			case err != nil:
				return err
			case hidden && d.IsDir():
				return fs.SkipDir
			case !hidden && !d.IsDir() && (path == root || filepath.Ext(path) == ".rego"):
				files = append(files, path)
			}
			return nil
		})
	}
	return files
}

package main

import (
	"context"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strings"

	"github.com/gatehouse-mcp/gatehouse/policy"
)

// loadPolicies compiles the policies in force. An error names file and line.
func loadPolicies(ctx context.Context, s *settings, logger *slog.Logger) (*policy.Set, error) {
	data, err := readData(s.policyData)
	if err != nil {
		return nil, err
	}
	return policy.Load(ctx, policy.Options{
		Profile: s.profile, Paths: s.policyPaths, Data: data,
		DefaultEffect: s.defaultEffect, Grants: s.grants,
		Protected: s.protected(), Home: s.home, Logger: logger,
	})
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

package main

import (
	"encoding/json"
	"fmt"
	"runtime"
	"runtime/debug"
)

type versionInfo struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Go      string `json:"go"`
	OS      string `json:"os"`
	Arch    string `json:"arch"`
}

// readVersion takes the module version and commit the Go toolchain recorded.
func readVersion() versionInfo {
	v := versionInfo{Version: "devel", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" && info.Main.Version != "(devel)" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v.Commit = s.Value
		}
	}
	return v
}

func (c *command) version(args []string) int {
	v := readVersion()
	switch {
	case len(args) == 0:
		fmt.Fprintf(c.stdout, "gatehouse %s (%s, %s/%s)\n", v.Version, v.Go, v.OS, v.Arch)
	case len(args) == 1 && (args[0] == "--json" || args[0] == "-json"):
		if err := json.NewEncoder(c.stdout).Encode(v); err != nil {
			return c.fail(exitTurnFailed, err)
		}
	default:
		return c.failUsage(fmt.Errorf("version takes only --json, got %q", args[0]))
	}
	return exitOK
}

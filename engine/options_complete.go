package engine

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func (o *Options) complete() error {
	if len(o.Roots) == 0 {
		folder, err := currentFolder()
		if err != nil {
			return err
		}
		o.Roots = []string{folder}
	}
	for _, list := range []*[]string{&o.Roots, &o.Trusted} {
		resolved, err := resolveAll(*list)
		if err != nil {
			return fmt.Errorf("engine options: %w", err)
		}
		*list = resolved
	}
	if err := o.checkToolServers(); err != nil {
		return err
	}
	o.MinVersion = cmp.Or(o.MinVersion, DefaultMinVersion)
	o.OnUnsafeSettings = cmp.Or(o.OnUnsafeSettings, Isolate)
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	o.TurnTimeout = cmp.Or(o.TurnTimeout, DefaultTurnTimeout)
	o.IdleTTL = cmp.Or(o.IdleTTL, DefaultIdleTTL)
	o.WarmTTL = cmp.Or(o.WarmTTL, DefaultWarmTTL)
	o.SweepEvery = cmp.Or(o.SweepEvery, DefaultSweepEvery)
	o.ResumeTTL = cmp.Or(o.ResumeTTL, DefaultResumeTTL)
	o.BypassTTL = cmp.Or(o.BypassTTL, DefaultBypassTTL)
	o.MaxPending = cmp.Or(o.MaxPending, DefaultMaxPending)
	o.MaxDenials = cmp.Or(o.MaxDenials, DefaultMaxDenials)
	o.MaxQuestions = cmp.Or(o.MaxQuestions, DefaultMaxQuestions)
	if o.Approvers == nil {
		o.Approvers = []string{approverClient, approverHuman}
	}
	o.ApprovalTimeout = cmp.Or(o.ApprovalTimeout, DefaultApprovalTimeout)
	o.OnExposedSecret = cmp.Or(o.OnExposedSecret, ReportExposed)
	switch {
	case o.OnExposedSecret != ReportExposed && o.OnExposedSecret != StopExposed:
		return fmt.Errorf("engine options: OnExposedSecret %q is unknown, want %q or %q", o.OnExposedSecret, ReportExposed, StopExposed)
	case o.SweepEvery < 0:
		return fmt.Errorf("engine options: SweepEvery %s is negative", o.SweepEvery)
	case o.ResumeTTL > MaxResumeTTL:
		return fmt.Errorf("engine options: ResumeTTL %s is above %s", o.ResumeTTL, MaxResumeTTL)
	case o.BypassTTL < 0 || o.BypassTTL > MaxBypassTTL:
		return fmt.Errorf("engine options: BypassTTL %s is not between 0 and %s", o.BypassTTL, MaxBypassTTL)
	case o.StateDir == "" && (o.DiskResume || strings.TrimSpace(string(o.ResumeSecret)) != ""):
		return errors.New("engine options: resuming from disk needs a StateDir, where it is kept what tokens must not undo (for gatehouse: a home folder, or XDG_STATE_HOME)")
	}
	o.TempDir = cmp.Or(o.TempDir, os.TempDir())
	if o.Environ == nil {
		o.Environ = os.Environ()
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.NewTextHandler(io.Discard, nil))
	}
	if o.Executable == "" {
		o.Executable = "claude"
	}
	if path, err := exec.LookPath(o.Executable); err == nil {
		o.Executable = path // looked up once: a later change of PATH changes nothing
	}
	return nil
}

func resolveAll(paths []string) ([]string, error) {
	out := make([]string, 0, len(paths))
	for _, p := range paths {
		if !filepath.IsAbs(p) {
			return nil, fmt.Errorf("folder %q: not an absolute path", p)
		}
		real, err := filepath.EvalSymlinks(p)
		if err != nil {
			return nil, fmt.Errorf("folder %q: %w", p, err)
		}
		out = append(out, real)
	}
	return out, nil
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"
	"time"

	"github.com/gatehouse-mcp/gatehouse/engine"
	"github.com/gatehouse-mcp/gatehouse/engine/audit"
	"github.com/gatehouse-mcp/gatehouse/engine/cli"
	"github.com/gatehouse-mcp/gatehouse/engine/event"
	"github.com/gatehouse-mcp/gatehouse/engine/journal"
	"github.com/gatehouse-mcp/gatehouse/guard"
	"github.com/gatehouse-mcp/gatehouse/internal/instance"
	"github.com/gatehouse-mcp/gatehouse/internal/strays"
)

// state is what one run of serve or run keeps on disk: opened before the engine,
// closed after it. The nil state keeps nothing.
type state struct {
	id        string // this run's, in records of sessions, the audit log and the decision log
	logger    *slog.Logger
	instance  *instance.Instance // nil: there is no state folder
	processes *cli.Registry      // nil: the same
	journal   *journal.Journal   // nil: sessions live and end in memory
	audit     *audit.Log         // nil: nothing is recorded

	opened func() error // waits for journal, audit log and sweep, which go on beside the policies

	config, policy string // digests of what is in force, as recorded; used by one goroutine at a time
}

// openState makes and locks the folder of this run, and begins to open the rest:
// that waits for the disk, and policies for the processor. An error, here or of
// opened, says what stands in the way and what would change that.
func openState(ctx context.Context, s *settings, logger *slog.Logger) (*state, error) {
	if err := s.homeless(); err != nil {
		return nil, err
	}
	st := &state{id: serverID, logger: logger}
	st.opened = func() error { return nil }
	if err := st.openInstance(s); err != nil {
		st.close()
		return nil, err
	}
	s.server = st.id
	var swept sync.WaitGroup
	swept.Go(func() { strays.SweepDead(s.stateFolder, logger) }) // ends by itself; opened waits for it
	st.opened = sync.OnceValue(func() error {
		err := st.openJournal(s)
		if err == nil {
			err = st.openAudit(s)
		}
		if err == nil {
			st.configured(ctx, s.configDigest)
		}
		swept.Wait() // a session that is resumed must not meet what is left of it
		return err
	})
	go st.opened() // ends when all is open; close waits for it
	return st, nil
}

// ready waits until everything is open.
func (st *state) ready() error {
	if st == nil {
		return nil
	}
	return st.opened()
}

func (st *state) openInstance(s *settings) (err error) {
	if s.stateFolder == "" {
		st.logger.Warn("processes are not noted on disk", "problem", "there is no state folder (a home folder, or XDG_STATE_HOME); what a crash leaves behind is not found by the next start")
		return nil
	}
	if st.instance, err = instance.Open(s.stateFolder); err != nil {
		return err
	}
	st.id = st.instance.ID
	path := filepath.Join(st.instance.Dir, instance.Processes)
	if st.processes, err = cli.OpenRegistry(path); err != nil {
		return err
	}
	return guard.TellRegistry(path)
}

func (st *state) openJournal(s *settings) (err error) {
	if s.store.off {
		return nil
	}
	st.journal, err = journal.Open(journal.Options{
		Folder: s.store.dir, MaxBytes: s.store.maxBytes, MaxAge: s.store.maxAge, SessionBytes: s.store.sessionBytes, Logger: st.logger,
	})
	if err != nil {
		return fmt.Errorf("%w; [store] dir names another folder, or is \"off\"", err)
	}
	return nil
}

func (st *state) openAudit(s *settings) (err error) {
	if s.audit.off {
		return nil
	}
	o, err := s.auditOptions(st.id)
	if err == nil {
		o.Logger = st.logger
		st.audit, err = audit.Open(o)
	}
	if err != nil {
		return fmt.Errorf("%w; [audit] dir names another folder, or [audit] mode is \"off\"", err)
	}
	return nil
}

// with puts what is kept into an engine's options. An interface that holds a nil
// pointer is not nil, so what is off stays out.
func (st *state) with(o engine.Options) engine.Options {
	if st == nil {
		return o
	}
	o.Server, o.Processes = st.id, st.processes
	if st.journal != nil {
		o.Store = st.journal
	}
	if st.audit != nil {
		o.Audit = st.audit
	}
	return o
}

// inForce records which configuration and policies decide from now on, where they
// are not those of before. What cannot be recorded is told; calls are denied then
// until it can.
func (st *state) inForce(ctx context.Context, config, revision, digest string) {
	if st == nil {
		return
	}
	st.configured(ctx, config)
	if st.audit != nil && st.policy != digest {
		st.policy = digest
		st.tell(ctx, st.audit.SetPolicy(ctx, revision, digest))
	}
}

// configured is the half of inForce that a start knows before its policies.
func (st *state) configured(ctx context.Context, digest string) {
	if st.audit != nil && st.config != digest {
		st.config = digest
		st.tell(ctx, st.audit.SetConfig(ctx, digest))
	}
}

func (st *state) tell(ctx context.Context, err error) {
	if err != nil && ctx.Err() == nil {
		st.logger.Error("audit log", "error", err)
	}
}

// refused makes what records that a configuration or policies could not be loaded.
// What decides stays what it was, and so do the digests of records. The text may
// quote a file, so its secrets are covered.
func (st *state) refused(cover event.Redactor) func(context.Context, bool, error) {
	return func(ctx context.Context, config bool, failed error) {
		if st == nil || st.audit == nil {
			return
		}
		kind, old := audit.PolicyLoad, st.policy
		if config {
			kind, old = audit.ConfigLoad, st.config
		} else if _, ok := errors.AsType[*pluginsError](failed); ok {
			kind = audit.PluginLoad
		}
		given, err := json.Marshal(map[string]string{"old": old, "error": clipped(failed)})
		detail, _, covered := event.Redact(context.WithoutCancel(ctx), []event.Redactor{cover}, event.Payload{Sink: event.SinkAudit, Kind: event.Notice, Data: given})
		if err != nil || !covered {
			detail = json.RawMessage(`{"error":"[withheld]"}`)
		}
		st.audit.Note(audit.Record{Kind: kind, Detail: detail})
	}
}

// stateTime bounds closing the state, of what the engine leaves of shutdownTime.
// What anybody was told is written by then; what takes longer waits for the disk.
const stateTime = time.Second

// close gives everything back, after the engine has closed.
func (st *state) close() {
	if st == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), stateTime)
	defer cancel()
	if err := within(ctx, func() error { return st.closeAll(ctx) }); err != nil {
		st.logger.Error("state folder", "error", err)
	}
}

// closeAll closes in the reverse of the order of opening, but for the audit log,
// whose last record tells that the rest is closed.
func (st *state) closeAll(ctx context.Context) error {
	_ = st.opened() // an error of it was told
	var errs []error
	if st.journal != nil {
		errs = append(errs, st.journal.Close())
	}
	if st.processes != nil {
		errs = append(errs, st.processes.Close())
	}
	if st.audit != nil {
		errs = append(errs, st.audit.Close(ctx))
	}
	if st.instance != nil {
		st.instance.Close()
	}
	return errors.Join(errs...)
}

// within runs f until ctx ends, and then leaves it behind: a disk that does not
// answer must not keep the program.
func within(ctx context.Context, f func() error) error {
	done := make(chan error, 1)
	go func() { done <- f() }() // ends with f, or with the process
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return fmt.Errorf("not closed in time: %w", ctx.Err())
	}
}

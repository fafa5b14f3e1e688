//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package guard

import (
	"os"
	"os/signal"
	"slices"
	"syscall"
)

var (
	// forwarded are what a client or a shell may send to the guard.
	forwarded = []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT}

	// fromTerminal are those of them that a terminal sends to the whole group: the
	// server has its own.
	fromTerminal = []os.Signal{syscall.SIGINT, syscall.SIGQUIT}

	// jobControl reaches a server in another group only through the guard. In the
	// same group both are stopped and continued by the shell.
	jobControl = []os.Signal{syscall.SIGTSTP, syscall.SIGCONT}
)

// listen takes the signals that would end the guard before the server; those
// that were ignored at its start stay ignored, in the server too. SIGHUP does not:
// also under nohup it is the word for a server to read its files again.
func listen(terminal bool) <-chan os.Signal {
	signals := make(chan os.Signal, 16)
	signal.Notify(signals, syscall.SIGPIPE) // its last words may find nobody
	caught := forwarded
	if !terminal {
		caught = append(slices.Clip(caught), jobControl...)
	}
	for _, s := range caught {
		if !signal.Ignored(s) || s == syscall.SIGHUP && !terminal {
			signal.Notify(signals, s)
		}
	}
	return signals
}

// pass hands signals on to the server.
func pass(signals <-chan os.Signal, server int, terminal bool) {
	for s := range signals {
		switch {
		case s == syscall.SIGPIPE, terminal && slices.Contains(fromTerminal, s):
			continue
		}
		syscall.Kill(server, s.(syscall.Signal))
		if s == syscall.SIGTSTP {
			syscall.Kill(os.Getpid(), syscall.SIGSTOP) // as it would have been
		}
	}
}

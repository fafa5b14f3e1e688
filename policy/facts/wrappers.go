package facts

import "strings"

// wrapper tells how a program that starts another one reads its options. An
// option that no row knows is doubted.
type wrapper struct {
	flags    string   // letters without a value
	valued   string   // letters with one, attached or the next word
	attached string   // letters whose value can only be attached
	long     []string // names without a value, or with "=" only; abbreviations count
	takes    []string // names with a value, after "=" or as the next word
	skip     int      // words before the command besides options
	plain    bool     // leaves the meaning of the command unchanged
	assigns  bool     // NAME=value words may stand before the command
	moves    bool     // the command runs in a folder, or a file system, nobody knows
	text     string   // option behind the operands that takes a shell text
	doubted  bool     // options are not known in detail
}

var wrappers = map[string]wrapper{
	"env": {flags: "i0v", valued: "uCPS", assigns: true,
		long:  []string{"ignore-environment", "null", "debug", "block-signal", "default-signal", "ignore-signal", "list-signal-handling"},
		takes: []string{"unset", "chdir", "split-string"}},
	"timeout": {flags: "fpv", valued: "ks", long: []string{"foreground", "preserve-status", "verbose"}, takes: []string{"kill-after", "signal"}, skip: 1, plain: true},
	"nice":    {flags: "0123456789", valued: "n", takes: []string{"adjustment"}, plain: true},
	"ionice":  {flags: "t", valued: "cnpPu", long: []string{"ignore"}, takes: []string{"class", "classdata", "pid", "pgid", "uid"}, plain: true},
	"nohup":   {plain: true},
	"setsid":  {flags: "cfw", long: []string{"ctty", "fork", "wait"}},
	"stdbuf":  {valued: "ioe", takes: []string{"input", "output", "error"}, plain: true},
	"chrt":    {flags: "abdefimorRv", valued: "pTPD", long: []string{"all-tasks", "batch", "deadline", "ext", "fifo", "idle", "max", "other", "rr", "reset-on-fork", "verbose"}, takes: []string{"pid", "sched-runtime", "sched-period", "sched-deadline"}, skip: 1, plain: true},
	"taskset": {flags: "ac", valued: "p", long: []string{"all-tasks", "cpu-list"}, takes: []string{"pid"}, skip: 1, plain: true},
	"flock": {flags: "enosuxFv", valued: "wE", long: []string{"exclusive", "nonblock", "nb", "no-fork", "close", "shared", "unlock", "verbose", "fcntl"},
		takes: []string{"timeout", "wait", "conflict-exit-code"}, skip: 1, text: "c"},
	"time":      {flags: "apqv", valued: "fo", long: []string{"append", "portability", "quiet", "verbose"}, takes: []string{"format", "output"}},
	"command":   {flags: "pvV"},
	"builtin":   {},
	"exec":      {flags: "cl", valued: "a"},
	"noglob":    {},
	"nocorrect": {},
	"sudo": {flags: "ABbEeHiKklnPSsVv", valued: "CDghpRrTtUu", assigns: true,
		long:  []string{"askpass", "background", "preserve-env", "edit", "login", "list", "non-interactive", "reset-timestamp", "remove-timestamp", "set-home", "shell", "stdin", "validate", "preserve-groups", "bell"},
		takes: []string{"user", "group", "host", "prompt", "close-from", "chdir", "chroot", "role", "type", "other-user", "command-timeout"}},
	"doas":    {flags: "Lns", valued: "aCu"},
	"pkexec":  {takes: []string{"user"}, long: []string{"disable-internal-agent", "keep-cwd"}, moves: true},
	"chroot":  {long: []string{"skip-chdir"}, takes: []string{"groups", "userspec"}, skip: 1, moves: true},
	"nsenter": {flags: "amuinpUCTrwFZ", valued: "tSG", takes: []string{"target", "setuid", "setgid"}, moves: true, doubted: true},
	"unshare": {flags: "muinpUCTfrc", valued: "RwSG", takes: []string{"root", "wd", "setuid", "setgid", "map-users", "map-groups", "propagation", "setgroups"}, moves: true,
		long: []string{"mount", "uts", "ipc", "net", "pid", "user", "cgroup", "time", "fork", "mount-proc", "map-root-user", "map-current-user", "kill-child", "keep-caps"}},
	"busybox": {}, "toybox": {},
	"strace": {flags: "cCdDfFhikqrtTvVwxyYzZ", valued: "abeEIoOpPsSuUX", doubted: true, long: []string{"follow-forks"}, takes: []string{"output", "trace", "env"}},
	"xargs": {flags: "0orptx", valued: "adEIJLnPRsS", attached: "eil",
		long:  []string{"null", "no-run-if-empty", "interactive", "verbose", "exit", "open-tty", "show-limits", "eof", "replace", "max-lines", "process-slot-var"},
		takes: []string{"arg-file", "delimiter", "max-args", "max-procs", "max-chars"}},
	"caffeinate": {flags: "dimsu", valued: "tw"},
	"setarch":    {doubted: true}, "linux32": {doubted: true}, "linux64": {doubted: true}, "arch": {doubted: true},
	"ltrace": {valued: "aeFlnopsuAD", doubted: true}, "valgrind": {doubted: true}, "gdb": {doubted: true}, "perf": {skip: 1, doubted: true},
	"prlimit": {doubted: true}, "numactl": {doubted: true}, "cpulimit": {doubted: true, valued: "lpeP"}, "chpst": {doubted: true, valued: "ubeUnlLvPmocdfrtp/"}, "softlimit": {doubted: true},
	"fakeroot": {doubted: true}, "proot": {doubted: true, moves: true}, "firejail": {doubted: true, moves: true}, "bwrap": {doubted: true, moves: true}, "xvfb-run": {doubted: true},
	"systemd-run": {doubted: true, moves: true, valued: "pEtMHu"}, "systemd-inhibit": {doubted: true}, "dbus-run-session": {doubted: true},
	"gosu": {skip: 1, doubted: true, moves: true}, "su-exec": {skip: 1, doubted: true, moves: true}, "setpriv": {doubted: true, moves: true}, "capsh": {doubted: true, moves: true}, "run0": {doubted: true, moves: true},
	"tini": {doubted: true}, "dumb-init": {doubted: true}, "unbuffer": {doubted: true}, "winpty": {doubted: true}, "rlwrap": {doubted: true}, "setuidgid": {skip: 1, doubted: true}, "ld.so": {doubted: true}, "ld-linux-x86-64.so.2": {doubted: true},
}

// seen is called with each option of a wrapper: its letter or long name, and
// its value.
type seen func(option string, value Word)

// option reads the option in words[0] and reports how many words it takes;
// known is false when the row does not have it.
func (row *wrapper) option(words []Word, found seen) (n int, known bool) {
	v := words[0].Value
	if name, ok := strings.CutPrefix(v, "--"); ok {
		return row.longOption(name, words, found)
	}
	for i := 1; i < len(v); i++ {
		letter := v[i]
		switch {
		case strings.IndexByte(row.valued, letter) >= 0 && i+1 < len(v), strings.IndexByte(row.attached, letter) >= 0:
			value := words[0]
			value.Value = v[i+1:]
			found(string(letter), value)
			return 1, true
		case strings.IndexByte(row.valued, letter) >= 0 && len(words) > 1:
			found(string(letter), words[1])
			return 2, true
		case strings.IndexByte(row.flags, letter) >= 0:
			found(string(letter), Word{})
		default:
			return 1, false
		}
	}
	return 1, true
}

func (row *wrapper) longOption(name string, words []Word, found seen) (n int, known bool) {
	name, text, attached := strings.Cut(name, "=")
	value := words[0]
	value.Value = text
	for _, full := range row.takes {
		switch {
		case !strings.HasPrefix(full, name):
		case attached:
			found(full, value)
			return 1, true
		case len(words) > 1:
			found(full, words[1])
			return 2, true
		}
	}
	for _, full := range row.long {
		if strings.HasPrefix(full, name) {
			found(full, value)
			return 1, true
		}
	}
	return 1, false
}

package plugins

import (
	"context"
	"encoding/binary"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// wasi is a module that runtimes of languages import whether they need it or not.
// It exists for modules that import it, with what they need to begin and nothing
// behind it: no environment, arguments, files or sockets, a clock and random numbers
// that are the same for every instance, and sleep that ends at once. What is
// written to the standard output and error goes to the log.
const wasi = "wasi_snapshot_preview1"

// Errors of WASI.
const (
	errnoBadFile = 8
	errnoInvalid = 28
	errnoMissing = 52 // the function is not there
)

// Bounds of single functions, which run outside of a call's deadline.
const (
	maxBuffers = 256     // buffers of one write
	maxRandom  = 1 << 20 // bytes
	maxPolled  = 64      // things one poll waits for
)

type wasiFunction struct {
	params string // i is an i32, l an i64
	call   func(x *exchange, m memory, p []uint64) uint32
}

// wasiFunctions are those that do something. The others of WASI say that they are
// not there.
var wasiFunctions = map[string]wasiFunction{
	"args_get":            {"ii", wasiNothing},
	"args_sizes_get":      {"ii", wasiNone},
	"environ_get":         {"ii", wasiNothing},
	"environ_sizes_get":   {"ii", wasiNone},
	"clock_res_get":       {"ii", wasiClockRes},
	"clock_time_get":      {"ili", wasiClock},
	"fd_close":            {"i", wasiStdio},
	"fd_fdstat_get":       {"ii", wasiStat},
	"fd_fdstat_set_flags": {"ii", wasiStdio},
	"fd_prestat_get":      {"ii", wasiBadFile},
	"fd_prestat_dir_name": {"iii", wasiBadFile},
	"fd_read":             {"iiii", wasiBadFile},
	"fd_write":            {"iiii", wasiWrite},
	"poll_oneoff":         {"iiii", wasiPoll},
	"random_get":          {"ii", wasiRandom},
	"sched_yield":         {"", wasiNothing},
}

// wasiAbsent are functions of WASI that are importable and not there.
var wasiAbsent = strings.Fields(`fd_advise fd_allocate fd_datasync fd_fdstat_set_rights fd_filestat_get
	fd_filestat_set_size fd_filestat_set_times fd_pread fd_pwrite fd_readdir fd_renumber fd_seek fd_sync fd_tell
	path_create_directory path_filestat_get path_filestat_set_times path_link path_open path_readlink
	path_remove_directory path_rename path_symlink path_unlink_file proc_raise
	sock_accept sock_recv sock_send sock_shutdown`)

const wasiExit = "proc_exit"

// hasWASI says whether an import of that type can be served.
func hasWASI(name, typ string) bool {
	if f, ok := wasiFunctions[name]; ok {
		return typ == f.typeText()
	}
	if name == wasiExit {
		return typ == "(i32) -> ()"
	}
	return slices.Contains(wasiAbsent, name) && strings.HasSuffix(typ, " -> i32")
}

func (f wasiFunction) typeText() string {
	params := make([]string, len(f.params))
	for i, c := range f.params {
		params[i] = map[rune]string{'i': "i32", 'l': "i64"}[c]
	}
	return "(" + strings.Join(params, ", ") + ") -> i32"
}

// wasiModule makes the functions of WASI that a module imports.
func wasiModule(ctx context.Context, r wazero.Runtime, imports []api.FunctionDefinition) error {
	builder := r.NewHostModuleBuilder(wasi)
	done := map[string]bool{}
	for _, d := range imports {
		module, name, _ := d.Import()
		if module != wasi || done[name] {
			continue
		}
		done[name] = true
		builder.NewFunctionBuilder().WithGoModuleFunction(wasiCall(name), d.ParamTypes(), d.ResultTypes()).Export(name)
	}
	if len(done) == 0 {
		return nil
	}
	_, err := builder.Instantiate(ctx)
	return err
}

func wasiCall(name string) api.GoModuleFunc {
	if name == wasiExit {
		return func(ctx context.Context, _ api.Module, stack []uint64) {
			x := exchangeOf(ctx)
			x.exited, x.exitStatus = true, uint32(stack[0])
			panic(sys.NewExitError(uint32(stack[0]))) // the runtime's own way to leave a guest
		}
	}
	f, ok := wasiFunctions[name]
	if !ok {
		return func(ctx context.Context, _ api.Module, stack []uint64) {
			leaveIfDone(ctx)
			stack[0] = errnoMissing
		}
	}
	return func(ctx context.Context, guest api.Module, stack []uint64) {
		leaveIfDone(ctx)
		stack[:1][0] = uint64(f.call(exchangeOf(ctx), memory{guest.Memory()}, stack))
	}
}

func wasiNothing(*exchange, memory, []uint64) uint32 { return 0 }

func wasiBadFile(*exchange, memory, []uint64) uint32 { return errnoBadFile }

// wasiNone says that there are no arguments or variables.
func wasiNone(_ *exchange, m memory, p []uint64) uint32 {
	if !m.WriteUint32Le(uint32(p[0]), 0) || !m.WriteUint32Le(uint32(p[1]), 0) {
		return errnoInvalid
	}
	return 0
}

func wasiStdio(_ *exchange, _ memory, p []uint64) uint32 {
	if uint32(p[0]) > 2 {
		return errnoBadFile
	}
	return 0
}

// wasiStat says that the standard streams are terminals without rights.
func wasiStat(_ *exchange, m memory, p []uint64) uint32 {
	if uint32(p[0]) > 2 {
		return errnoBadFile
	}
	stat := [24]byte{2}
	if !m.Write(uint32(p[1]), stat[:]) {
		return errnoInvalid
	}
	return 0
}

// fd_write(fd, buffers, count, written)
func wasiWrite(x *exchange, m memory, p []uint64) uint32 {
	fd := uint32(p[0])
	if fd != 1 && fd != 2 {
		return errnoBadFile
	}
	if uint32(p[2]) > maxBuffers {
		return errnoInvalid
	}
	level := slog.LevelInfo
	if fd == 2 {
		level = slog.LevelWarn
	}
	buffers, ok := m.read(p[1], uint64(8*uint32(p[2])))
	total := uint32(0)
	for ; ok && len(buffers) > 0; buffers = buffers[8:] {
		var text []byte
		size := binary.LittleEndian.Uint32(buffers[4:])
		if text, ok = m.Read(binary.LittleEndian.Uint32(buffers), size); ok {
			x.log.write(level, text)
			total += size
		}
	}
	if !ok || !m.WriteUint32Le(uint32(p[3]), total) {
		return errnoInvalid
	}
	return 0
}

// guestClock is what an instance takes for time and chance.
type guestClock struct {
	now    uint64 // nanoseconds since 2022
	random *rand.ChaCha8
}

// clockStart is 2022-01-01 in nanoseconds since 1970.
const clockStart = 1640995200 * 1e9

// tick moves the clock by a millisecond, so that who waits for it gets somewhere.
func (c *guestClock) tick() uint64 {
	c.now += 1e6
	return clockStart + c.now
}

// clock_time_get(id, precision, result)
func wasiClock(x *exchange, m memory, p []uint64) uint32 {
	if !m.WriteUint64Le(uint32(p[2]), x.clock.tick()) {
		return errnoInvalid
	}
	return 0
}

func wasiClockRes(_ *exchange, m memory, p []uint64) uint32 {
	if !m.WriteUint64Le(uint32(p[1]), 1e6) {
		return errnoInvalid
	}
	return 0
}

// random_get(buffer, size)
func wasiRandom(x *exchange, m memory, p []uint64) uint32 {
	buffer, ok := m.read(p[0], p[1])
	if !ok || len(buffer) > maxRandom {
		return errnoInvalid
	}
	if x.clock.random == nil {
		x.clock.random = rand.NewChaCha8([32]byte{})
	}
	_, _ = x.clock.random.Read(buffer) // never fails
	return 0
}

// poll_oneoff(subscriptions, events, count, result) ends at once: what waits for
// the clock finds it moved on, what waits for a file finds none.
func wasiPoll(x *exchange, m memory, p []uint64) uint32 {
	count := uint32(p[2])
	if count == 0 || count > maxPolled {
		return errnoInvalid
	}
	in, ok := m.read(p[0], uint64(48*count))
	if !ok {
		return errnoInvalid
	}
	events := make([]byte, 32*count)
	for n := range int(count) {
		subscription, event := in[48*n:48*(n+1)], events[32*n:32*(n+1)]
		copy(event, subscription[:8])
		event[10] = subscription[8]
		if subscription[8] != 0 {
			binary.LittleEndian.PutUint16(event[8:], errnoBadFile)
			continue
		}
		x.clock.sleep(binary.LittleEndian.Uint64(subscription[24:]), subscription[40]&1 == 1)
	}
	if !m.Write(uint32(p[1]), events) || !m.WriteUint32Le(uint32(p[3]), count) {
		return errnoInvalid
	}
	return 0
}

// longestSleep keeps the clock within what a guest can add up, in nanoseconds.
const longestSleep = 100 * 365 * 24 * 3600 * 1e9

func (c *guestClock) sleep(until uint64, absolute bool) {
	if absolute {
		until -= min(until, clockStart+c.now)
	}
	c.now = min(c.now+min(until, longestSleep), longestSleep)
}

package plugins

import (
	"context"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// What functions of the ABI return when they refuse.
const (
	codeMissing    int32 = -1 // there is no such value
	codeBounds     int32 = -2 // a pointer is malformed, or memory is out of bounds
	codeUnknown    int32 = -3 // no such kind, level or operation; no JSON, or no UTF-8
	codeLimit      int32 = -4 // over a limit
	codeNotAllowed int32 = -5 // not at this hook, or not with this plugin's settings
)

// abiFunction is one function of [ABI]: i32 parameters, an i32 result.
type abiFunction struct {
	params int
	call   func(x *exchange, m memory, p []uint64) int32
}

var abiFunctions = map[string]abiFunction{
	"get":      {4, abiGet},
	"verdict":  {3, abiVerdict},
	"annotate": {4, abiAnnotate},
	"output":   {2, abiOutput},
	"log":      {3, abiLog},
	"kv":       {5, abiKV},
}

// abiModule makes the module of the ABI in a runtime.
func abiModule(ctx context.Context, r wazero.Runtime) error {
	builder := r.NewHostModuleBuilder(ABI)
	for name, f := range abiFunctions {
		params := make([]api.ValueType, f.params)
		for i := range params {
			params[i] = api.ValueTypeI32
		}
		call := func(ctx context.Context, guest api.Module, stack []uint64) {
			leaveIfDone(ctx)
			stack[0] = api.EncodeI32(f.call(exchangeOf(ctx), memory{guest.Memory()}, stack))
		}
		builder.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(call), params, []api.ValueType{api.ValueTypeI32}).Export(name)
	}
	_, err := builder.Instantiate(ctx)
	return err
}

// leaveIfDone leaves a guest whose time is up, or whose call was cancelled: the
// runtime itself looks only where code loops or calls functions of the guest's own.
func leaveIfDone(ctx context.Context) {
	if ctx.Err() != nil {
		panic(sys.NewExitError(sys.ExitCodeContextCanceled))
	}
}

// memory is a guest's linear memory. Numbers of guests are only ever given to its
// methods, which check them. What read returns is a view: it is copied at once.
type memory struct{ api.Memory }

func (m memory) read(ptr, size uint64) ([]byte, bool) {
	return m.Read(uint32(ptr), uint32(size))
}

// put writes text where it fits in limit bytes, and returns its size.
func (m memory) put(text []byte, dst, limit uint64) int32 {
	if uint64(len(text)) <= uint64(uint32(limit)) && len(text) > 0 && !m.Write(uint32(dst), text) {
		return codeBounds
	}
	return int32(len(text))
}

// get(path, len, dst, cap)
func abiGet(x *exchange, m memory, p []uint64) int32 {
	if uint32(p[1]) > MaxPath {
		return codeLimit
	}
	path, ok := m.read(p[0], p[1])
	if !ok {
		return codeBounds
	}
	text, code := x.get(string(path))
	if code < 0 {
		return code
	}
	return m.put(text, p[2], p[3])
}

// verdict(kind, ptr, len)
func abiVerdict(x *exchange, m memory, p []uint64) int32 {
	reason, ok := m.read(p[1], p[2])
	if !ok {
		return x.refuse(codeBounds, "the reason of a verdict is out of bounds of its memory")
	}
	return x.say(uint32(p[0]), reason)
}

// annotate(key, klen, val, vlen)
func abiAnnotate(x *exchange, m memory, p []uint64) int32 {
	key, ok := m.read(p[0], p[1])
	value, ok2 := m.read(p[2], p[3])
	if !ok || !ok2 {
		return x.refuse(codeBounds, "an annotation is out of bounds of its memory")
	}
	return x.annotate(key, value)
}

// output(ptr, len)
func abiOutput(x *exchange, m memory, p []uint64) int32 {
	output, ok := m.read(p[0], p[1])
	if !ok {
		return x.refuse(codeBounds, "the output is out of bounds of its memory")
	}
	return x.give(output)
}

// log(level, ptr, len)
func abiLog(x *exchange, m memory, p []uint64) int32 {
	text, ok := m.read(p[1], p[2])
	switch {
	case !ok:
		return codeBounds
	case uint32(p[0]) >= uint32(len(logLevels)):
		return codeUnknown
	}
	x.log.add(logLevels[uint32(p[0])], text)
	return 0
}

// kv(op, key, klen, val, vlen_or_cap)
func abiKV(x *exchange, m memory, p []uint64) int32 {
	if x.hook == "" || x.session == "" || !x.plugin.config.KV {
		return codeNotAllowed
	}
	key, ok := m.read(p[1], p[2])
	switch {
	case !ok:
		return codeBounds
	case len(key) > MaxKVKey: // not even looked for: that takes time by its length
		return keyTooLong(uint32(p[0]))
	}
	scope := kvScope{session: x.session, plugin: x.plugin.config.Name}
	switch uint32(p[0]) {
	case 0:
		value, there := x.plugin.host.kv.get(scope, key)
		if !there {
			return codeMissing
		}
		return m.put(value, p[3], p[4])
	case 1:
		value, ok := m.read(p[3], p[4])
		if !ok {
			return codeBounds
		}
		if !x.plugin.host.kv.set(scope, key, value) {
			return codeLimit
		}
		return 0
	case 2:
		if !x.plugin.host.kv.delete(scope, key) {
			return codeMissing
		}
		return 0
	}
	return codeUnknown
}

// keyTooLong is what an operation of kv returns for a key that cannot be there.
func keyTooLong(op uint32) int32 {
	switch op {
	case 0, 2:
		return codeMissing
	case 1:
		return codeLimit
	}
	return codeUnknown
}

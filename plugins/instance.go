package plugins

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/tetratelabs/wazero/api"
	"github.com/tetratelabs/wazero/sys"
)

// instance is one instance of a plugin's module. One call at a time uses it; after
// one that failed it is closed.
type instance struct {
	module api.Module
	memory linear
	beside int64                 // bytes it takes beside its memory
	hooks  map[Hook]api.Function // made at the first call, when an instance is used again
	clock  guestClock
}

// instantiate makes an instance, which runs its start function and _initialize,
// until ctx is done.
func (c *code) instantiate(ctx context.Context, x *exchange) (*instance, error) {
	i := &instance{hooks: make(map[Hook]api.Function, 1), beside: c.beside, memory: linear{from: c.memories}}
	x.clock = &i.clock
	module, err := c.runtime.InstantiateModule(allocating(&callContext{ctx, x}, &i.memory), c.module, c.config)
	switch {
	case x.exited:
		err = x.exitError()
	case err == nil && (module == nil || module.IsClosed()):
		err = errors.New("it closed itself")
	case err != nil:
		err = guestError(ctx, err)
	case x.failure != nil:
		err = x.failure
	}
	if err != nil {
		if module != nil {
			_ = module.Close(context.Background())
		}
		i.memory.release()
		return nil, err
	}
	i.module = module
	return i, nil
}

// call calls a hook until ctx is done. Only nil means that what the exchange holds
// counts: a normal return with code 0, within all limits.
func (i *instance) call(ctx context.Context, x *exchange) error {
	f := i.hooks[x.hook]
	if f == nil {
		if f = i.module.ExportedFunction(string(x.hook)); f == nil {
			return fmt.Errorf("%s is not exported", x.hook) // cannot be: load looks
		}
		i.hooks[x.hook] = f
	}
	x.clock = &i.clock
	var stack [1]uint64
	err := f.CallWithStack(&callContext{ctx, x}, stack[:])
	if !lean(f) {
		delete(i.hooks, x.hook)
	}
	switch code := api.DecodeI32(stack[0]); {
	case x.exited:
		return x.exitError()
	case err != nil:
		return guestError(ctx, err)
	case x.failure != nil:
		return x.failure
	case i.module.IsClosed():
		return errors.New("it closed itself")
	case code != 0:
		return fmt.Errorf("returned %d, want 0", code)
	}
	return nil
}

// maxStack is how large a stack an instance that is used again may keep for each
// hook, in bytes.
const maxStack = 64 << 10

// lean says whether a function may be kept. It keeps the stack of its calls, which
// grows to 100 MB where they go deep and never shrinks; the runtime does not tell, so
// this looks, and what it cannot see is not lean.
func lean(f api.Function) bool {
	v := reflect.ValueOf(f)
	if v.Kind() != reflect.Pointer || v.Elem().Kind() != reflect.Struct {
		return false
	}
	stack := v.Elem().FieldByName("stack")
	return stack.IsValid() && stack.Kind() == reflect.Slice && stack.Cap()*int(stack.Type().Elem().Size()) <= maxStack
}

// all is how many bytes it takes.
func (i *instance) all() int64 { return i.size() + i.beside }

// size is how many bytes of linear memory it has.
func (i *instance) size() int64 {
	if m := i.module.Memory(); m != nil {
		return int64(m.Size())
	}
	return 0
}

// close frees the instance, of which no call is under way; once.
func (i *instance) close() {
	_ = i.module.Close(context.Background())
	i.memory.release()
}

func (x *exchange) exitError() error {
	return fmt.Errorf("exited with status %d, where only a return counts", int32(x.exitStatus))
}

// maxFault bounds what of a trap's text is told, in bytes.
const maxFault = 200

// guestError says how a guest ended. The names of functions in the trace of a trap
// are the guest's own words, so only the first line is told.
func guestError(ctx context.Context, err error) error {
	var exit *sys.ExitError
	if ctx.Err() != nil && errors.As(err, &exit) {
		cause := context.Cause(ctx)
		if t := timedOut(0); errors.As(cause, &t) {
			return cause
		}
		return &hostFault{fmt.Errorf("cancelled: %w", cause)}
	}
	return fmt.Errorf("trapped: %s", fault(err))
}

// fault is an error of the runtime's, as it is told: it may hold names of the guest's.
func fault(err error) string {
	text, _, _ := strings.Cut(err.Error(), "\n")
	if _, rest, ok := strings.Cut(text, "wasm error: "); ok {
		text = rest
	}
	text = strings.TrimSuffix(text, " (recovered by wazero)")
	if len(text) > maxFault {
		text = text[:maxFault]
	}
	return visible(text)
}

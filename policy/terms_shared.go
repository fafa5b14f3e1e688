package policy

import (
	"reflect"
	"strconv"
	"sync"

	"github.com/gatehouse-mcp/gatehouse/policy/facts"
	"github.com/open-policy-agent/opa/v1/ast"
)

// sharedTypes are parts of documents that stay the same from call to call, or
// come again in the next one: the files a session works on, the programs it
// starts and their options. A file stands in the same document twice, too. The
// number bounds the bytes of one that is kept.
var sharedTypes = map[reflect.Type]int{
	reflect.TypeFor[sessionInput](): 16 << 10, reflect.TypeFor[callerFacts](): 16 << 10, reflect.TypeFor[serverFacts](): 16 << 10,
	reflect.TypeFor[facts.Path](): 1 << 10, reflect.TypeFor[facts.Word](): 1 << 10, reflect.TypeFor[facts.Name](): 1 << 10,
}

// maxShared bounds the parts of one type that are kept; when there are more, all
// are forgotten.
const maxShared = 256

// shared keeps what build made of equal parts of at most size bytes.
func shared(build termMaker, size int) termMaker {
	var mu sync.Mutex
	known := map[string]ast.Value{}
	return func(v reflect.Value) ast.Value {
		buffer := keyBuffers.Get().(*[]byte)
		defer keyBuffers.Put(buffer)
		key, ok := partKey((*buffer)[:0], v)
		*buffer = key
		if !ok || len(key) > size {
			return build(v)
		}
		mu.Lock()
		value, ok := known[string(key)]
		mu.Unlock()
		if ok {
			return value
		}
		value = build(v)
		mu.Lock()
		defer mu.Unlock()
		if len(known) >= maxShared {
			clear(known)
		}
		known[string(key)] = value
		return value
	}
}

// partKey writes everything a part holds; false for what has no order.
func partKey(b []byte, v reflect.Value) ([]byte, bool) {
	ok := true
	switch v.Kind() {
	case reflect.String:
		b = text0(b, v.String())
	case reflect.Bool:
		b = strconv.AppendBool(b, v.Bool())
	case reflect.Int, reflect.Int64:
		b = append(strconv.AppendInt(b, v.Int(), 10), 0)
	case reflect.Slice:
		b = number0(b, v.Len())
		for i := 0; i < v.Len() && ok; i++ {
			b, ok = partKey(b, v.Index(i))
		}
	case reflect.Struct:
		for i := 0; i < v.NumField() && ok; i++ {
			b, ok = partKey(b, v.Field(i))
		}
	case reflect.Pointer:
		if b = strconv.AppendBool(b, v.IsNil()); !v.IsNil() {
			return partKey(b, v.Elem())
		}
	case reflect.Map:
		ok = v.Len() == 0
	default:
		ok = false
	}
	return b, ok
}

package testwasm

// Hook is a guest with one hook, which runs code that leaves nothing and returns 0.
// The code may call the functions of the ABI by their indices.
func Hook(name string, code ...[]byte) []byte {
	g := NewGuest()
	g.Hook(name, code...)
	return g.Bytes()
}

// Deny is a guest that denies.
func Deny(hook, reason string) []byte { return Verdict(hook, DenyKind, reason) }

// Verdict is a guest that says a verdict.
func Verdict(hook string, kind int32, reason string) []byte {
	g := NewGuest()
	g.Hook(hook, g.Verdict(kind, reason))
	return g.Bytes()
}

// DenyWith is a guest that denies; its reason is the string at a path of the document.
func DenyWith(hook, path string) []byte {
	g := NewGuest()
	g.Hook(hook, g.VerdictOf(DenyKind, path))
	return g.Bytes()
}

// Annotate is a guest that annotates with a JSON value.
func Annotate(hook, key, value string) []byte {
	g := NewGuest()
	g.Hook(hook, g.Annotate(key, value))
	return g.Bytes()
}

// Output is a guest that gives an output.
func Output(hook, json string) []byte {
	g := NewGuest()
	g.Hook(hook, g.Output(json))
	return g.Bytes()
}

// Log is a guest that logs one line.
func Log(hook string, level int32, text string) []byte {
	g := NewGuest()
	g.Hook(hook, g.Log(level, text))
	return g.Bytes()
}

// Remember is a guest that sets a key at one hook, and at another denies with its
// value; where the key is missing that hook passes.
func Remember(set, read, key, value string) []byte {
	g := NewGuest()
	g.Hook(set, g.KVSet(key, value), Drop())
	g.Hook(read,
		g.KVGet(key, Buffer, Buffer), LocalSet(3),
		LocalGet(3), Const(0), []byte{0x4e}, // ge_s
		If(Const(DenyKind), Const(Buffer), LocalGet(3), Call(VerdictFunc), Drop()))
	return g.Bytes()
}

package testwasm

import "bytes"

// Const pushes an i32.
func Const(n int32) []byte { return Cat([]byte{0x41}, Int(int64(n))) }

// Const64 pushes an i64.
func Const64(n int64) []byte { return Cat([]byte{0x42}, Int(n)) }

// Call calls a function by its index.
func Call(function uint32) []byte { return Cat([]byte{0x10}, Uint(uint64(function))) }

// Drop drops a value.
func Drop() []byte { return []byte{0x1a} }

// Return returns from the function.
func Return() []byte { return []byte{0x0f} }

// Trap is unreachable.
func Trap() []byte { return []byte{0x00} }

// LocalGet pushes a local, LocalSet sets one.
func LocalGet(i uint32) []byte { return Cat([]byte{0x20}, Uint(uint64(i))) }

// LocalSet sets a local.
func LocalSet(i uint32) []byte { return Cat([]byte{0x21}, Uint(uint64(i))) }

// Block, Loop and If hold code that leaves nothing; If takes an i32.
func Block(code ...[]byte) []byte { return nested(0x02, code) }

// Loop is a loop that ends unless code branches to it.
func Loop(code ...[]byte) []byte { return nested(0x03, code) }

// If runs code when the i32 on the stack is not 0.
func If(code ...[]byte) []byte { return nested(0x04, code) }

func nested(op byte, code [][]byte) []byte {
	return Cat([]byte{op, 0x40}, Cat(code...), []byte{0x0b})
}

// Br branches, BrIf does so when the i32 on the stack is not 0.
func Br(depth uint32) []byte { return Cat([]byte{0x0c}, Uint(uint64(depth))) }

// BrIf branches when the i32 on the stack is not 0.
func BrIf(depth uint32) []byte { return Cat([]byte{0x0d}, Uint(uint64(depth))) }

// Forever runs code again and again.
func Forever(code ...[]byte) []byte { return Loop(Cat(code...), Br(0)) }

// Times runs code n times, counting in a local of type i32 that is 0.
func Times(n int32, local uint32, code ...[]byte) []byte {
	count := Cat(LocalGet(local), Const(1), []byte{0x6a, 0x22}, Uint(uint64(local))) // add, tee
	return Loop(Cat(code...), count, Const(n), []byte{0x49}, BrIf(0))                // lt_u
}

// Repeat writes code n times.
func Repeat(n int, code ...[]byte) []byte { return bytes.Repeat(Cat(code...), n) }

// MemoryGrow grows the memory by the pages on the stack, and leaves its old size or -1.
func MemoryGrow() []byte { return []byte{0x40, 0x00} }

// Fill fills memory: address, byte and length are on the stack.
func Fill() []byte { return []byte{0xfc, 0x0b, 0x00} }

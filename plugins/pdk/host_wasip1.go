//go:build wasip1

package pdk

import "unsafe"

//go:wasmimport gatehouse.hook.v1 get
func importGet(path string, dst unsafe.Pointer, size uint32) int32

//go:wasmimport gatehouse.hook.v1 verdict
func hostVerdict(kind int32, reason string) int32

//go:wasmimport gatehouse.hook.v1 annotate
func hostAnnotate(key, json string) int32

//go:wasmimport gatehouse.hook.v1 output
func hostOutput(json string) int32

//go:wasmimport gatehouse.hook.v1 log
func hostLog(level int32, text string) int32

//go:wasmimport gatehouse.hook.v1 kv
func importKV(op int32, key string, value unsafe.Pointer, size uint32) int32

func hostGet(path string, dst []byte) int32 {
	return importGet(path, unsafe.Pointer(unsafe.SliceData(dst)), uint32(len(dst)))
}

func hostKV(op int32, key string, value []byte) int32 {
	return importKV(op, key, unsafe.Pointer(unsafe.SliceData(value)), uint32(len(value)))
}

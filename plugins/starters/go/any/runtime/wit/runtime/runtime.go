// Package runtime gives memory to what the host hands over. The generated code asks for it by these
// names.
package runtime

import (
	"runtime"
	"unsafe"
)

// What the host handed over and nobody has taken yet. Nothing else refers to it, so it is pinned.
var handed runtime.Pinner

// Allocate gives pinned memory.
func Allocate(pinner *runtime.Pinner, size, align uintptr) unsafe.Pointer {
	if size == 0 {
		return nil
	}
	// Eight bytes are the most that the contract aligns to.
	words := make([]uint64, (size+7)/8)
	pointer := unsafe.Pointer(unsafe.SliceData(words))
	pinner.Pin(pointer)
	return pointer
}

// Unpin lets go of what the host handed over: from here on Go's own variables hold it.
func Unpin() { handed.Unpin() }

// The collector may run in here, and asks for the time: what the plugin is wrapped with tells it,
// without the host, which must not be called before it has handed everything over.
//
//go:wasmexport cabi_realloc
func reallocate(old unsafe.Pointer, oldSize, align, size uintptr) unsafe.Pointer {
	if old != nil {
		panic("the host wants memory of its own to grow, which the contract never asks for")
	}
	return Allocate(&handed, size, align)
}

package export_harness_plugin_provider_profile

import (
	"runtime"
	"unsafe"

	. "wit_component/harness_plugin_provider_profile"
)

// Decoder reads one reply; this one keeps nothing. The host holds it by a number, so it is pinned.
type Decoder struct {
	pinner runtime.Pinner
	handle int32
}

// MakeDecoder is a decoder for one reply.
func MakeDecoder(name string, streaming bool) *Decoder { return &Decoder{} }

// Push is what an event adds.
func (decoder *Decoder) Push(event StreamEvent) []Delta { return nil }

// Finish is what is left at the end.
func (decoder *Decoder) Finish() []Delta { return nil }

// What follows is how the contract's resources are handed over; the generated code calls it.

//go:wasmimport [export]harness:plugin/provider-profile@0.1.0 [resource-new]decoder
func newHandle(pointer unsafe.Pointer) int32

//go:wasmimport [export]harness:plugin/provider-profile@0.1.0 [resource-rep]decoder
func ofHandle(handle int32) unsafe.Pointer

//go:wasmexport harness:plugin/provider-profile@0.1.0#[dtor]decoder
func drop(pointer int32) { DecoderFromBorrowHandle(pointer).pinner.Unpin() }

// TakeHandle gives it to the host.
func (decoder *Decoder) TakeHandle() int32 {
	decoder.pinner.Pin(decoder)
	decoder.handle = newHandle(unsafe.Pointer(decoder))
	return decoder.handle
}

// SetHandle is told the number that it has already.
func (decoder *Decoder) SetHandle(handle int32) {}

// DecoderFromOwnHandle is the one that the host gives back.
func DecoderFromOwnHandle(handle int32) *Decoder { return (*Decoder)(ofHandle(handle)) }

// DecoderFromBorrowHandle is the one that the host lends.
func DecoderFromBorrowHandle(pointer int32) *Decoder {
	return (*Decoder)(unsafe.Pointer(uintptr(pointer)))
}

package export_harness_plugin_provider_profile

import (
	"runtime"

	. "wit_component/harness_plugin_provider_profile"
)

// Decoder reads one reply; this one keeps nothing. The host holds it by a number, so the generated code
// pins it, in the two fields that it asks for.
type Decoder struct {
	pinner runtime.Pinner
	handle int32
}

// OnDrop is called when the host lets go of it.
func (decoder *Decoder) OnDrop() {}

// MakeDecoder is a decoder for one reply.
func MakeDecoder(name string, streaming bool) *Decoder { return &Decoder{} }

// Push is what an event adds.
func (decoder *Decoder) Push(event StreamEvent) []Delta { return nil }

// Finish is what is left at the end.
func (decoder *Decoder) Finish() []Delta { return nil }

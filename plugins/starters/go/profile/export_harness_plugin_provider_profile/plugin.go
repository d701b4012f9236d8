// Package export_harness_plugin_provider_profile is the profile `example`: two differences of a
// provider from OpenAI's wire. Its name is the contract's.
//
// It is data: the host asks once, when it loads, and applies the quirks by itself. What stands below
// Describe is for a provider with a wire of its own, and is never called for this one.
package export_harness_plugin_provider_profile

import (
	. "go.bytecodealliance.org/pkg/wit/types"
	. "wit_component/harness_plugin_provider_profile"
	types "wit_component/harness_plugin_types"
)

// quirks: this provider limits output by another field, and gets confused by several calls in one
// reply.
const quirks = `{"output_limit_field":"max_completion_tokens","parallel_tool_calls":false}`

// Describe is the named profiles of this component.
func Describe() []Description {
	return []Description{{Name: "example", Matches: []string{"*example.org*"}, Quirks: quirks}}
}

func noWire() types.Fault {
	return types.Fault{
		Kind:    types.FaultKind_Unsupported,
		Message: "this profile has no wire of its own",
	}
}

// FrameRequest is a request without its messages.
func FrameRequest(name, request string) Result[Frame, types.Fault] { return Err[Frame](noWire()) }

// EncodeMessage is one message.
func EncodeMessage(name, message string) Result[[]uint8, types.Fault] { return Err[[]uint8](noWire()) }

// Classify is what a failure means; none leaves it to the host.
func Classify(name string, status uint16, headers []Tuple2[string, string], body string) Option[Failure] {
	return None[Failure]()
}

// Rescue is calls that a model wrote as text.
func Rescue(name, text string, tools []string) Option[Rescued] { return None[Rescued]() }

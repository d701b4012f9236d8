// Package export_harness_plugin_guard refuses writes outside `src/`. Its name is the contract's.
//
// It judges by where a path leads, which the host found out, links followed: to `src/../.env`, and to
// a link that leads there, it says the same. It has no way to allow a call, only no objection.
package export_harness_plugin_guard

import (
	"fmt"
	"strings"

	. "go.bytecodealliance.org/pkg/wit/types"
	. "wit_component/harness_plugin_guard"
	types "wit_component/harness_plugin_types"
	"wit_component/told"
)

// Earlier is how many past calls a check wants to see.
func Earlier() uint32 { return 0 }

// Check is the objection to a call, if there is one.
func Check(proposal Proposal) Option[Denial] {
	defer told.Panics()
	// Which files a command writes, its text does not say; a guard may refuse commands whole.
	if proposal.Effects&types.Effects_Execute != 0 || proposal.Effects&types.Effects_Write == 0 {
		return None[Denial]()
	}
	for _, named := range proposal.Paths {
		// A path that leads nowhere known is not inside.
		if named.Path.IsSome() && strings.HasPrefix(named.Path.Some(), "src/") {
			continue
		}
		place := "no known place"
		if named.Path.IsSome() {
			place = fmt.Sprintf("`%s`", named.Path.Some())
		}
		reason := fmt.Sprintf("`%s` leads to %s, and only files below `src/` may be written: write "+
			"there, or say what you would change", named.Argument, place)
		return Some(Denial{Rule: "outside-src", Reason: reason})
	}
	return None[Denial]()
}

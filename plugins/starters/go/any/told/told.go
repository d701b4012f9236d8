// Package told gives a panic its words: a component that panics ends with a trap, and a trap has no
// message.
package told

import (
	"fmt"
	"runtime/debug"

	log "wit_component/harness_plugin_log"
)

// Panics writes a panic to the log and lets it go on. Defer it in every function the host calls.
func Panics() {
	if err := recover(); err != nil {
		log.Write(log.Level_Error, fmt.Sprintf("panic: %v\n%s", err, debug.Stack()))
		panic(err)
	}
}

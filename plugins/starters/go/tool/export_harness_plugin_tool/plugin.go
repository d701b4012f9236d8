// Package export_harness_plugin_tool is the tool `todos`: it counts the lines with a TODO, file by
// file. Its name is the contract's.
//
// It needs the grant `workspace-read` and changes nothing; the host searches, beneath the workspace's
// root, and leaves out what ignore files exclude.
package export_harness_plugin_tool

import (
	"encoding/json"
	"fmt"
	"strings"

	. "go.bytecodealliance.org/pkg/wit/types"
	. "wit_component/harness_plugin_tool"
	types "wit_component/harness_plugin_types"
	workspace "wit_component/harness_plugin_workspace_read"
	"wit_component/told"
)

// mostFiles are named in one outcome: a model reads every line.
const mostFiles = 100

const schema = `{"type":"object","properties":{"path":{"type":"string","description":` +
	`"The directory to look in; the whole workspace when left out."}},"additionalProperties":false}`

// Specs is what it offers.
func Specs() []Spec {
	defer told.Panics()
	return []Spec{{
		Name:          "todos",
		Description:   "Counts the lines that hold the word TODO, file by file.",
		InputSchema:   schema,
		Effects:       types.Effects_Read,
		TimeoutMs:     30_000,
		PathArguments: []string{"path"},
	}}
}

// Run is one call.
func Run(call types.Call) Result[Outcome, types.Fault] {
	defer told.Panics()
	input := struct{ Path string }{Path: "."}
	if err := json.Unmarshal([]byte(call.Input), &input); err != nil {
		fault := types.Fault{Kind: types.FaultKind_InvalidInput, Message: err.Error()}
		return Err[Outcome](fault)
	}
	found := workspace.Grep(workspace.GrepQuery{
		Pattern: `\bTODO\b`,
		Root:    Some(input.Path),
		Mode:    workspace.GrepMode_Count,
		Limit:   mostFiles,
	})
	if found.IsErr() {
		// The model reads it as the host said it.
		return Err[Outcome](found.Err())
	}
	page := found.Ok()
	var text strings.Builder
	for _, file := range page.Files {
		fmt.Fprintf(&text, "%s: %d\n", file.Path, file.Matches)
	}
	files := "files"
	if page.TotalFiles == 1 {
		files = "file"
	}
	summary := fmt.Sprintf("%d in %d %s", page.TotalMatches, page.TotalFiles, files)
	if page.TotalMatches == 0 {
		summary = "no TODO"
	}
	text.WriteString(summary)
	parts := []Part{MakePartText(text.String())}
	return Ok[Outcome, types.Fault](Outcome{Parts: parts, Summary: summary})
}

// The tool `todos`: counts the lines with a TODO, file by file.
//
// It needs the grant `workspace-read` and changes nothing; the host searches, beneath the workspace's
// root, and leaves out what ignore files exclude. Each call has a fresh instance, so nothing is freed.

#include <stdlib.h>
#include <string.h>

#include "bindings/tool_plugin.h"
#include "json.h"

// Files named in one outcome: a model reads every line.
#define MOST_FILES 100

static const char schema[] =
    "{\"type\":\"object\",\"properties\":{\"path\":{\"type\":\"string\",\"description\":"
    "\"The directory to look in; the whole workspace when left out.\"}},"
    "\"additionalProperties\":false}";

// Memory is 64 MiB; when there is no more the call fails.
static void *room(size_t size) {
    void *made = malloc(size);
    if (made == NULL) abort();
    return made;
}

static void add(tool_plugin_string_t *text, const void *piece, size_t length) {
    uint8_t *grown = realloc(text->ptr, text->len + length + 1);
    if (grown == NULL) abort();
    memcpy(grown + text->len, piece, length);
    text->ptr = grown;
    text->len += length;
}

static void add_words(tool_plugin_string_t *text, const char *words) {
    add(text, words, strlen(words));
}

// snprintf would do; it is most of a libc.
static void add_number(tool_plugin_string_t *text, uint64_t number) {
    char digits[20];
    size_t at = sizeof digits;
    do {
        digits[--at] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    add(text, digits + at, sizeof digits - at);
}

// What it offers.
void exports_harness_plugin_tool_specs(exports_harness_plugin_tool_list_spec_t *specs) {
    exports_harness_plugin_tool_spec_t *spec = room(sizeof *spec);
    memset(spec, 0, sizeof *spec);
    tool_plugin_string_dup(&spec->name, "todos");
    tool_plugin_string_dup(&spec->description, "Counts the lines that hold the word TODO, file by file.");
    tool_plugin_string_dup(&spec->input_schema, schema);
    spec->effects = HARNESS_PLUGIN_TYPES_EFFECTS_READ;
    spec->timeout_ms = 30000;
    spec->path_arguments.ptr = room(sizeof *spec->path_arguments.ptr);
    spec->path_arguments.len = 1;
    tool_plugin_string_dup(spec->path_arguments.ptr, "path");
    specs->ptr = spec;
    specs->len = 1;
}

// One call: true with an outcome, false with a fault that the model reads.
bool exports_harness_plugin_tool_run(exports_harness_plugin_tool_call_t *call,
                                     exports_harness_plugin_tool_outcome_t *outcome,
                                     exports_harness_plugin_tool_fault_t *fault) {
    harness_plugin_workspace_read_grep_query_t query;
    memset(&query, 0, sizeof query);
    tool_plugin_string_set(&query.pattern, "\\bTODO\\b");
    query.mode = HARNESS_PLUGIN_WORKSPACE_READ_GREP_MODE_COUNT;
    query.limit = MOST_FILES;
    query.root.is_some = json_find(call->input.ptr, call->input.len, "path", &query.root.val.ptr,
                                   &query.root.val.len);

    harness_plugin_workspace_read_grep_page_t page;
    if (!harness_plugin_workspace_read_grep(&query, &page, fault)) return false;

    tool_plugin_string_t text = {NULL, 0}, summary = {NULL, 0};
    for (size_t i = 0; i < page.files.len; i++) {
        add(&text, page.files.ptr[i].path.ptr, page.files.ptr[i].path.len);
        add_words(&text, ": ");
        add_number(&text, page.files.ptr[i].matches);
        add_words(&text, "\n");
    }
    if (page.total_matches == 0) {
        add_words(&summary, "no TODO");
    } else {
        add_number(&summary, page.total_matches);
        add_words(&summary, " in ");
        add_number(&summary, page.total_files);
        add_words(&summary, page.total_files == 1 ? " file" : " files");
    }
    add(&text, summary.ptr, summary.len);

    memset(outcome, 0, sizeof *outcome);
    outcome->summary = summary;
    outcome->parts.ptr = room(sizeof *outcome->parts.ptr);
    outcome->parts.len = 1;
    outcome->parts.ptr->tag = EXPORTS_HARNESS_PLUGIN_TOOL_PART_TEXT;
    outcome->parts.ptr->val.text = text;
    return true;
}

// Refuses writes outside `src/`.
//
// It judges by where a path leads, which the host found out, links followed: to `src/../.env`, and to
// a link that leads there, it says the same. It has no way to allow a call, only no objection.

#include <stdlib.h>
#include <string.h>

#include "bindings/guard_plugin.h"

#define WRITE HARNESS_PLUGIN_TYPES_EFFECTS_WRITE
#define EXECUTE HARNESS_PLUGIN_TYPES_EFFECTS_EXECUTE

typedef exports_harness_plugin_guard_option_path_t place;

// A path that leads nowhere known is not inside.
static bool is_inside(const place *path) {
    static const char inside[] = "src/";
    size_t length = sizeof inside - 1;
    return path->is_some && path->val.len >= length && memcmp(path->val.ptr, inside, length) == 0;
}

// Adds a piece to a text. Memory is 64 MiB and an instance lives for one check: when there is no more,
// a guard that stops refuses the call.
static void add(guard_plugin_string_t *text, const void *piece, size_t length) {
    uint8_t *grown = realloc(text->ptr, text->len + length + 1);
    if (grown == NULL) abort();
    memcpy(grown + text->len, piece, length);
    text->ptr = grown;
    text->len += length;
}

static void add_words(guard_plugin_string_t *text, const char *words) {
    add(text, words, strlen(words));
}

// How many past calls a check wants to see.
uint32_t exports_harness_plugin_guard_earlier(void) {
    return 0;
}

// True with the objection in `denial`; false when there is none.
bool exports_harness_plugin_guard_check(exports_harness_plugin_guard_proposal_t *proposal,
                                        exports_harness_plugin_guard_denial_t *denial) {
    // Which files a command writes, its text does not say; a guard may refuse commands whole.
    if ((proposal->effects & EXECUTE) || !(proposal->effects & WRITE)) return false;
    for (size_t i = 0; i < proposal->paths.len; i++) {
        const exports_harness_plugin_guard_named_path_t *named = &proposal->paths.ptr[i];
        if (is_inside(&named->path)) continue;
        guard_plugin_string_dup(&denial->rule, "outside-src");
        guard_plugin_string_t reason = {NULL, 0};
        add_words(&reason, "`");
        add(&reason, named->argument.ptr, named->argument.len);
        add_words(&reason, "` leads ");
        if (named->path.is_some) {
            add_words(&reason, "to `");
            add(&reason, named->path.val.ptr, named->path.val.len);
            add_words(&reason, "`");
        } else {
            add_words(&reason, "to no known place");
        }
        add_words(&reason, ", and only files below `src/` may be written: write there, or say what you "
                           "would change");
        denial->reason = reason;
        return true;
    }
    return false;
}

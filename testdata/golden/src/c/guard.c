// The golden guard in C: refuses writes below `protected-c/`.
//
// A path `break-c/WORD` makes it misbehave the way WORD says, for the tests of what is told of a guard
// that breaks.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "guard_plugin.h"

typedef exports_harness_plugin_guard_proposal_t proposal_t;
typedef exports_harness_plugin_guard_denial_t denial_t;

static void fail(const char *message) {
    fprintf(stderr, "guard.c: %s\n", message);
    abort();
}

static int deeper(volatile int depth) {
    return deeper(depth + 1) + depth;
}

static void misbehave(const char *word) {
    if (strncmp(word, "panic", 5) == 0) fail("the guard was told to panic");
    if (strncmp(word, "recurse", 7) == 0) exit(deeper(0));
    if (strncmp(word, "leave", 5) == 0) exit(3);
    fail("this is nothing the guard can do");
}

uint32_t exports_harness_plugin_guard_earlier(void) {
    return 0;
}

bool exports_harness_plugin_guard_check(proposal_t *proposal, denial_t *denial) {
    const char *input = (const char *)proposal->call.input.ptr;
    char *text = strndup(input, proposal->call.input.len);
    if (text == NULL) fail("no memory");
    // The input is canonical: keys and values without a space between them.
    const char *word = strstr(text, "\"path\":\"break-c/");
    if (word != NULL) misbehave(word + strlen("\"path\":\"break-c/"));
    bool refused = strstr(text, "\"path\":\"protected-c/") != NULL;
    free(text);
    exports_harness_plugin_guard_proposal_free(proposal);
    if (refused) {
        guard_plugin_string_dup(&denial->rule, "protected");
        guard_plugin_string_dup(&denial->reason, "nothing below `protected-c/` is written to");
    }
    return refused;
}

// The profile `example`: two differences of a provider from OpenAI's wire.
//
// It is data: the host asks once, when it loads, and applies the quirks by itself. What stands below
// `describe` is for a provider with a wire of its own, and is never called for this one.

#include <stdlib.h>
#include <string.h>

#include "bindings/profile_plugin.h"

// Shorter names for what the contract spells out.
#define EXPORTED(name) exports_harness_plugin_provider_profile_##name

// This provider limits output by another field, and gets confused by several calls in one reply.
static const char quirks[] =
    "{\"output_limit_field\":\"max_completion_tokens\",\"parallel_tool_calls\":false}";

// Memory is 64 MiB; when there is no more the call fails.
static void *room(size_t size) {
    void *made = malloc(size);
    if (made == NULL) abort();
    return memset(made, 0, size);
}

// The named profiles of this component.
void EXPORTED(describe)(EXPORTED(list_description_t) *descriptions) {
    EXPORTED(description_t) *one = room(sizeof *one);
    profile_plugin_string_dup(&one->name, "example");
    one->matches.ptr = room(sizeof *one->matches.ptr);
    one->matches.len = 1;
    profile_plugin_string_dup(one->matches.ptr, "*example.org*");
    profile_plugin_string_dup(&one->quirks, quirks);
    descriptions->ptr = one;
    descriptions->len = 1;
}

static bool no_wire(EXPORTED(fault_t) *fault) {
    memset(fault, 0, sizeof *fault);
    fault->kind = HARNESS_PLUGIN_TYPES_FAULT_KIND_UNSUPPORTED;
    profile_plugin_string_dup(&fault->message, "this profile has no wire of its own");
    return false;
}

// A request without its messages.
bool EXPORTED(frame_request)(profile_plugin_string_t *name, EXPORTED(json_t) *request,
                             EXPORTED(frame_t) *frame, EXPORTED(fault_t) *fault) {
    (void)name, (void)request, (void)frame;
    return no_wire(fault);
}

// One message.
bool EXPORTED(encode_message)(profile_plugin_string_t *name, EXPORTED(json_t) *message,
                              profile_plugin_list_u8_t *bytes, EXPORTED(fault_t) *fault) {
    (void)name, (void)message, (void)bytes;
    return no_wire(fault);
}

// What a failure means; false leaves it to the host.
bool EXPORTED(classify)(profile_plugin_string_t *name, uint16_t status,
                        profile_plugin_list_tuple2_string_string_t *headers,
                        profile_plugin_string_t *body, EXPORTED(failure_t) *failure) {
    (void)name, (void)status, (void)headers, (void)body, (void)failure;
    return false;
}

// Calls that a model wrote as text.
bool EXPORTED(rescue)(profile_plugin_string_t *name, profile_plugin_string_t *text,
                      profile_plugin_list_string_t *tools, EXPORTED(rescued_t) *rescued) {
    (void)name, (void)text, (void)tools, (void)rescued;
    return false;
}

// Reads one reply; this one keeps nothing.
struct EXPORTED(decoder_t) {
    bool streaming;
};

EXPORTED(own_decoder_t) EXPORTED(constructor_decoder)(profile_plugin_string_t *name, bool streaming) {
    (void)name;
    EXPORTED(decoder_t) *decoder = room(sizeof *decoder);
    decoder->streaming = streaming;
    return EXPORTED(decoder_new)(decoder);
}

void EXPORTED(method_decoder_push)(EXPORTED(borrow_decoder_t) self, EXPORTED(stream_event_t) *event,
                                   EXPORTED(list_delta_t) *deltas) {
    (void)self, (void)event;
    memset(deltas, 0, sizeof *deltas);
}

void EXPORTED(method_decoder_finish)(EXPORTED(borrow_decoder_t) self, EXPORTED(list_delta_t) *deltas) {
    (void)self;
    memset(deltas, 0, sizeof *deltas);
}

void EXPORTED(decoder_destructor)(EXPORTED(decoder_t) *decoder) {
    free(decoder);
}

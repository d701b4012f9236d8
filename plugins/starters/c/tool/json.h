// One text out of a call's arguments. The host has checked them against the schema and gives canonical
// JSON: an object, keys sorted, no white space between.

#ifndef JSON_H
#define JSON_H

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static uint32_t json_hex(const uint8_t *at) {
    char digits[5] = {(char)at[0], (char)at[1], (char)at[2], (char)at[3], 0};
    return (uint32_t)strtoul(digits, NULL, 16);
}

static size_t json_utf8(uint32_t letter, uint8_t *to) {
    if (letter < 0x80) {
        to[0] = (uint8_t)letter;
        return 1;
    }
    size_t more = letter < 0x800 ? 1 : letter < 0x10000 ? 2 : 3;
    static const uint8_t heads[] = {0, 0xC0, 0xE0, 0xF0};
    for (size_t i = more; i > 0; i--) {
        to[i] = 0x80 | (letter & 0x3F);
        letter >>= 6;
    }
    to[0] = heads[more] | (uint8_t)letter;
    return more + 1;
}

// Reads the text that begins behind a quote; gives where its closing quote is. `to` has room for all
// of it: what is read is never longer than what was written. `to` may be NULL.
static const uint8_t *json_text(const uint8_t *at, const uint8_t *end, uint8_t *to, size_t *length) {
    static const char escapes[] = "bfnrt", letters[] = "\b\f\n\r\t";
    uint8_t letter[4];
    size_t count = 0;
    while (at < end && *at != '"') {
        size_t bytes = 1;
        letter[0] = *at++;
        if (letter[0] == '\\' && at < end) {
            letter[0] = *at++;
            const char *escape = strchr(escapes, letter[0]);
            if (letter[0] == 'u' && end - at >= 4) {
                uint32_t code = json_hex(at);
                at += 4;
                if (code >= 0xD800 && code < 0xDC00 && end - at >= 6) {
                    code = 0x10000 + ((code - 0xD800) << 10) + (json_hex(at + 2) - 0xDC00);
                    at += 6;
                }
                bytes = json_utf8(code, letter);
            } else if (escape != NULL && letter[0] != 0) {
                letter[0] = (uint8_t)letters[escape - escapes];
            }
        }
        if (to != NULL) memcpy(to + count, letter, bytes);
        count += bytes;
    }
    *length = count;
    return at;
}

// The text under `name` in the object `json`, in memory of its own; false when there is none.
static bool json_find(const uint8_t *json, size_t length, const char *name, uint8_t **text, size_t *size) {
    const uint8_t *at = json, *end = json + length;
    int depth = 0;
    while (at < end) {
        uint8_t letter = *at++;
        if (letter == '{' || letter == '[') depth++;
        if (letter == '}' || letter == ']') depth--;
        if (letter != '"') continue;
        const uint8_t *key = at;
        size_t count;
        at = json_text(at, end, NULL, &count) + 1;
        bool is_key = depth == 1 && at < end && *at == ':';
        if (!is_key || count != strlen(name) || memcmp(key, name, count) != 0) continue;
        if (end - at < 2 || at[1] != '"') return false;
        *text = malloc((size_t)(end - at));
        if (*text == NULL) abort();
        json_text(at + 2, end, *text, size);
        return true;
    }
    return false;
}

#endif

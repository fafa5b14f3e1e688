/*
 * gatehouse_hook.h: write a plugin for Gatehouse in C, without a C library.
 *
 *	#include "gatehouse_hook.h"
 *
 *	static char command[65536];
 *
 *	GH_HOOK(pre_permission) {
 *		if (!gh_is("/tool_name", "Bash"))
 *			return gh_pass();
 *		if (gh_text("/tool_input/command", command, sizeof command) == GH_TOO_LARGE)
 *			return gh_deny("the command is too long to be looked at");
 *		if (gh_contains(command, "rm -rf"))
 *			return gh_deny("rm -rf is not allowed here");
 *		return gh_pass();
 *	}
 *
 *	clang --target=wasm32 -Oz -nostdlib -fno-builtin -Wl,--no-entry,--strip-all -o x.wasm x.c
 *
 * A hook takes nothing and returns 0; any other code, a trap and a deadline that
 * passed are failures, and the plugin's on_error holds. Paths are JSON pointers into
 * the document of the call. Variables last for one call: what has to last for a
 * session goes into kv.
 */
#ifndef GATEHOUSE_HOOK_H
#define GATEHOUSE_HOOK_H

#define GH_IMPORT(name) __attribute__((import_module("gatehouse.hook.v1"), import_name(name)))

/* The functions of the host. All return 0 or a size, or one of the codes below. */
GH_IMPORT("get") int gh_get(const char *path, int len, void *dst, int cap);
GH_IMPORT("verdict") int gh_verdict(int kind, const char *reason, int len);
GH_IMPORT("annotate") int gh_annotate_raw(const char *key, int klen, const char *json, int jlen);
GH_IMPORT("output") int gh_output_raw(const char *json, int len);
GH_IMPORT("log") int gh_log_raw(int level, const char *text, int len);
GH_IMPORT("kv") int gh_kv(int op, const char *key, int klen, void *value, int len);

enum { GH_MISSING = -1, GH_BAD_POINTER = -2, GH_UNKNOWN = -3, GH_LIMIT = -4, GH_NOT_ALLOWED = -5 };
enum { GH_PASS, GH_ALLOW, GH_DENY, GH_ASK };
enum { GH_DEBUG, GH_INFO, GH_WARN, GH_ERROR };
enum { GH_KV_GET, GH_KV_SET, GH_KV_DELETE };
enum { GH_TOO_LARGE = -100 }; /* of gh_text and gh_kv_text: it does not fit */

/* GH_HOOK begins a hook: pre_permission, session_admit, redact, post_tool,
 * session_event, tools_list or tools_call. */
#define GH_HOOK(name) __attribute__((export_name(#name))) int name(void)

static inline int gh_len(const char *s) {
	int n = 0;
	while (s[n])
		n++;
	return n;
}

static inline int gh_equal(const char *a, const char *b) {
	while (*a && *a == *b)
		a++, b++;
	return *a == *b;
}

static inline int gh_starts(const char *s, const char *prefix) {
	while (*prefix)
		if (*s++ != *prefix++)
			return 0;
	return 1;
}

static inline int gh_contains(const char *s, const char *part) {
	for (;; s++) {
		if (gh_starts(s, part))
			return 1;
		if (!*s)
			return 0;
	}
}

static inline int gh_has(const char *path) { return gh_get(path, gh_len(path), 0, 0) >= 0; }

static inline int gh_ended(char *dst, int n, int cap) {
	if (n >= cap)
		n = GH_TOO_LARGE;
	dst[n < 0 ? 0 : n] = 0;
	for (int i = 0; i < n; i++)
		if (!dst[i])
			return GH_TOO_LARGE; /* a NUL would hide the rest from gh_contains */
	return n;
}

/* gh_text puts a part of the document into dst, ended by a NUL: a string as it is,
 * everything else as JSON. It returns the length, or GH_MISSING or GH_TOO_LARGE with
 * an empty dst. A text that holds a NUL itself counts as too large. */
static inline int gh_text(const char *path, char *dst, int cap) {
	int n = gh_ended(dst, gh_get(path, gh_len(path), dst, cap), cap);
	if (n < 0)
		dst[0] = 0;
	return n;
}

/* gh_is says whether a part is a text of up to 255 bytes. */
static inline int gh_is(const char *path, const char *want) {
	char got[256];
	return gh_text(path, got, sizeof got) >= 0 && gh_equal(got, want);
}

static inline long long gh_number(const char *s) {
	long long n = 0;
	int minus = *s == '-';
	for (s += minus; *s >= '0' && *s <= '9' && n < 900000000000000000LL; s++)
		n = n * 10 + (*s - '0');
	return minus ? -n : n;
}

/* gh_int returns a whole number, 0 for what is none; a fraction is cut off. A number
 * with an exponent, and one of more than 31 characters, is a large one: a rule about a
 * bound must not take 1e21 for 1. (Below 1e-6 numbers have an exponent too.) */
static inline long long gh_int(const char *path) {
	char text[32];
	int n = gh_text(path, text, sizeof text);
	if (n == GH_TOO_LARGE)
		return 900000000000000000LL;
	for (int i = 1; i < n; i++)
		if ((text[i] == 'e' || text[i] == 'E') && text[i - 1] >= '0' && text[i - 1] <= '9')
			return text[i + 1] == '-' ? 0 : text[0] == '-' ? -900000000000000000LL : 900000000000000000LL;
	return n < 0 ? 0 : gh_number(text);
}

/* A list's items: gh_item writes "<path>/<i>" into dst, of at least 12 bytes more
 * than the path. */
static inline const char *gh_item(char *dst, const char *path, int i) {
	char digits[12];
	int n = 0, d = 0;
	for (; path[n]; n++)
		dst[n] = path[n];
	dst[n++] = '/';
	do
		digits[d++] = '0' + i % 10;
	while (i /= 10);
	while (d)
		dst[n++] = digits[--d];
	dst[n] = 0;
	return dst;
}

/* Verdicts, of session_admit and pre_permission. The strictest of a call holds.
 * Allow loosens nothing by itself: policies see it. */
static inline int gh_say(int kind, const char *reason) {
	gh_verdict(kind, reason, gh_len(reason)); /* on an error the host fails the call itself */
	return 0;
}
static inline int gh_pass(void) { return 0; }
static inline int gh_allow(const char *reason) { return gh_say(GH_ALLOW, reason); }
static inline int gh_ask(const char *reason) { return gh_say(GH_ASK, reason); }
static inline int gh_deny(const char *reason) { return gh_say(GH_DENY, reason); }

/* gh_annotate shows policies a JSON value at input.plugins.<plugin>.annotations.<key>. */
static inline void gh_annotate(const char *key, const char *json) {
	gh_annotate_raw(key, gh_len(key), json, gh_len(json));
}

/* gh_output gives the result of redact, post_tool, tools_list and tools_call: JSON. */
static inline int gh_output(const char *json) {
	gh_output_raw(json, gh_len(json));
	return 0;
}

static inline void gh_log(int level, const char *text) { gh_log_raw(level, text, gh_len(text)); }

/* kv keeps values for a session; it needs kv = true. gh_kv_text returns the length,
 * or GH_MISSING, GH_NOT_ALLOWED or GH_TOO_LARGE; gh_kv_set 0 or a code. */
static inline int gh_kv_text(const char *key, char *dst, int cap) {
	int n = gh_ended(dst, gh_kv(GH_KV_GET, key, gh_len(key), dst, cap), cap);
	if (n < 0)
		dst[0] = 0;
	return n;
}
static inline int gh_kv_set(const char *key, const char *value) {
	return gh_kv(GH_KV_SET, key, gh_len(key), (void *)value, gh_len(value));
}
static inline int gh_kv_delete(const char *key) {
	return gh_kv(GH_KV_DELETE, key, gh_len(key), 0, 0);
}

/* gh_builder builds a JSON text in memory that the caller gives. What does not
 * fit is left out and gh_done returns 1, which fails the call. */
typedef struct {
	char *at;
	int len, cap, full;
} gh_builder;

static inline void gh_put(gh_builder *b, char c) {
	if (b->len + 1 < b->cap)
		b->at[b->len++] = c, b->at[b->len] = 0;
	else
		b->full = 1;
}

static inline void gh_raw(gh_builder *b, const char *s) {
	while (*s)
		gh_put(b, *s++);
}

/* gh_quoted adds a text as a JSON string. */
static inline void gh_quoted(gh_builder *b, const char *s) {
	const char *hex = "0123456789abcdef";
	gh_put(b, '"');
	for (; *s; s++) {
		unsigned char c = (unsigned char)*s;
		if (c == '"' || c == '\\') {
			gh_put(b, '\\');
			gh_put(b, c);
		} else if (c < 0x20) {
			gh_raw(b, "\\u00");
			gh_put(b, hex[c >> 4]);
			gh_put(b, hex[c & 15]);
		} else {
			gh_put(b, c);
		}
	}
	gh_put(b, '"');
}

static inline void gh_int_text(gh_builder *b, long long n) {
	char digits[24];
	unsigned long long u = n < 0 ? 0ULL - (unsigned long long)n : (unsigned long long)n;
	int d = 0;
	if (n < 0)
		gh_put(b, '-');
	do
		digits[d++] = '0' + (char)(u % 10);
	while (u /= 10);
	while (d)
		gh_put(b, digits[--d]);
}

/* gh_done gives what was built as the hook's output. */
static inline int gh_done(gh_builder *b) { return b->full ? 1 : gh_output(b->at); }

#endif

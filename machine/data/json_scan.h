/* Reads JSON whose members and their order are known, without making a tree of it.  Whatever is not
 * as expected, may it be JSON or not, only sets `differs`; what is read from then on means nothing,
 * and a library that knows all of JSON has to look.  What is read while `differs` is false is what
 * that library reads: `differs` is set as well by duplicates, which are never in order, by escapes
 * in texts, and by numbers that do not fit. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct json_scan {
	const char *at, *end; /* *end is '\0' */
	bool differs;
	bool first; /* nothing stands before in the object or array at hand */
};

/* `text` has a '\0' at text[size]. */
void json_scan_init(struct json_scan *scan, const char *text, size_t size);

/* The beginning of an object or array ('{', '['), and the end of an object ('}'). */
void json_scan_open(struct json_scan *scan, char bracket);
void json_scan_close(struct json_scan *scan);
/* Whether another element of an array comes; else its end has been read. */
bool json_scan_next(struct json_scan *scan);
/* "NAME":, the beginning of an object's member; its value has to follow. */
void json_scan_name(struct json_scan *scan, const char *name);

/* Values. */
int64_t json_scan_whole(struct json_scan *scan);
int json_scan_int(struct json_scan *scan);
double json_scan_number(struct json_scan *scan);
bool json_scan_bool(struct json_scan *scan);
/* Whether it is null, which is then read. */
bool json_scan_null(struct json_scan *scan);
/* Copies a text that has less than `size` bytes; returns `to`. */
const char *json_scan_text(struct json_scan *scan, char *to, size_t size);
/* A text of any length, heap; NULL where `differs` is set, also when memory is short. */
char *json_scan_new_text(struct json_scan *scan);

/* Nothing is left, and all was as expected. */
bool json_scan_ends(struct json_scan *scan);

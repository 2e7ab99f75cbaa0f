/* Writes JSON as it comes, without keeping it: a report of many functions has hundreds of values of
 * each.  Reals are written as jansson writes them, so that no view shows another figure. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum json_style {
	JSON_LINES, /* a line for each value, indented */
	JSON_PAGE,  /* compact ASCII in which no character has a meaning in HTML */
};

#define JSON_LONG_TEXT 2000 /* bytes; of what is longer a page shows no middle */

struct json_writer;
/* `stream`: not owned; its errors show there; NULL: what is written is dropped.  Returns NULL when
 * memory is short. */
struct json_writer *json_writer_create(FILE *stream, enum json_style style);
/* Significant digits of reals (17, which give back the same number, if not set). */
void json_writer_set_digits(struct json_writer *writer, int digits);
/* A writer of some members of the object, or values of the array, that `whole` has begun last: it
 * keeps them in memory until they are joined to it.  Several of them can be written at one time, by
 * a thread each, and are joined in their order; each can then be written again.  NULL when memory
 * is short. */
struct json_writer *json_writer_create_part(const struct json_writer *whole);
void json_writer_join(struct json_writer *whole, struct json_writer *part);
/* Writes out what is still held.  False: memory was short, and something is missing. */
bool json_writer_destroy(struct json_writer *writer);

/* `key`: of a member of an object, plain ASCII; NULL for a value in an array, or the only one. */
void put_object(struct json_writer *writer, const char *key);
void put_array(struct json_writer *writer, const char *key);
/* Ends the object or array that was begun last. */
void put_end(struct json_writer *writer);
void put_null(struct json_writer *writer, const char *key);
/* null for what is not finite. */
void put_real(struct json_writer *writer, const char *key, double value);
/* At most INT64_MAX is written. */
void put_count(struct json_writer *writer, const char *key, uint64_t value);
void put_integer(struct json_writer *writer, const char *key, int64_t value);
/* null where it is not known. */
void put_known(struct json_writer *writer, const char *key, bool known, int64_t value);
/* The text cleaned; null for NULL. */
void put_text(struct json_writer *writer, const char *key, const char *text);
void put_flag(struct json_writer *writer, const char *key, bool value);
/* Text between whole values that is none of JSON's, as it stands. */
void json_writer_put_between(struct json_writer *writer, const char *text);

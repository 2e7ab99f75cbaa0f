/* Single values as JSON. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

/* null for what is not finite. */
struct json_t *report_json_real(double value);
struct json_t *report_json_count(uint64_t value);
/* The text cleaned; null for NULL.  NULL: no memory. */
struct json_t *report_json_string(const char *text);

/* Members of an object; their errors are those of memory and leave the member out. */
static inline void set_real(json_t *object, const char *key, double value)
{
	json_object_set_new(object, key, report_json_real(value));
}

static inline void set_count(json_t *object, const char *key, uint64_t value)
{
	json_object_set_new(object, key, report_json_count(value));
}

/* null where it is not known. */
static inline void set_integer(json_t *object, const char *key, bool known, json_int_t value)
{
	json_object_set_new(object, key, known ? json_integer(value) : json_null());
}

static inline void set_text(json_t *object, const char *key, const char *text)
{
	json_object_set_new(object, key, report_json_string(text));
}

static inline void set_flag(json_t *object, const char *key, bool value)
{
	json_object_set_new(object, key, json_boolean(value));
}

/* Single values as JSON. */
#pragma once

#include <stdint.h>

struct json_t;

/* null for what is not finite. */
struct json_t *report_json_real(double value);
struct json_t *report_json_count(uint64_t value);
/* The text cleaned; null for NULL.  NULL: no memory. */
struct json_t *report_json_string(const char *text);

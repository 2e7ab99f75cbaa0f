/* `rfprof diff A B`: what has changed from one profile to another. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

struct diff_command {
	const char *paths[2];             /* A, B */
	size_t top;                       /* rows; 0: 20 */
	const char *const *fail_on;       /* conditions, NULL at the end; or NULL */
	const char *svg_path, *json_path; /* "-": standard output; or NULL */
	const char
		*output_path; /* the table; NULL: standard output, unless that has something else */
};

/* Does it.  *failed: a condition is met, which was said on standard error. */
struct rf_error *diff_command(const struct diff_command *command, bool *failed);

/* Time by Python functions: of each sample that has a Python stack, the innermost function has the
 * time, whatever C it was in, and all functions of the stack have it in their totals. */
#pragma once

#include "report/rows/view.h"

#include <stddef.h>
#include <stdint.h>

struct python_line_time {
	uint32_t function; /* row in profile->python_functions */
	uint32_t line;     /* 0: not known */
	uint64_t time_ns;
};

struct python_row {
	uint32_t function;              /* row in profile->python_functions */
	uint64_t time_ns, total_ns;     /* its own, and with the functions that it called */
	size_t samples;                 /* behind its own time */
	struct python_line_time *lines; /* its own time by line, longest first */
	size_t n_lines;
};

struct python_rows {
	struct python_row *rows; /* by their own time, then by their totals; the longest first */
	size_t n_rows;
	uint64_t time_ns;               /* of all their samples */
	struct python_line_time *lines; /* of all rows */
	size_t n_lines, cap_lines;
};

/* The rows of a view that was not made from sums; no rows where nothing of Python was seen.  Fails
 * only when memory is short; deinit in any case. */
struct rf_error *python_rows_init(const struct report_view *view, struct python_rows *out);
void python_rows_deinit(struct python_rows *rows);

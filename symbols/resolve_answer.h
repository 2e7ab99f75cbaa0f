/* What a child that names the code of a module (symbols/resolve.c) answers: rows of a profile. */
#pragma once

#include "base/confined.h"
#include "profile/profile.h"

/* How many rows a profile has, of those that naming adds. */
struct resolve_rows {
	size_t n_functions, n_lines, n_inlined_functions, n_inlined_calls, n_inlined_code;
};
struct resolve_rows resolve_rows_of(const struct profile *profile);

enum resolve_tag {
	RESOLVE_FUNCTION = 1,
	RESOLVE_LINE,
	RESOLVE_INLINED_FUNCTION,
	RESOLVE_INLINED_CALL,
	RESOLVE_INLINED_CODE,
	RESOLVE_OTHER /* from here on: other items */
};

/* Answers with all rows but the first ones. */
void resolve_answer_put(FILE *answer, const struct profile *profile,
			const struct resolve_rows *first);

/* Takes one item into `rows`, a profile of its own.  False: it is no such row, or one that cannot
 * be: rows are in order, do not overlap, and refer to rows before them. */
bool resolve_answer_take(struct confined *child, uint8_t tag, uint32_t module,
			 struct profile *rows);
/* Moves all rows to where they belong. */
struct rf_error *resolve_answer_merge(struct profile *rows, struct profile *profile);

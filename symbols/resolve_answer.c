/* Rows as items of an answer, and back.  References to inlined functions and calls count from the
 * first row of the answer. */
#include "symbols/resolve_answer.h"

#include "base/array.h"

struct resolve_rows resolve_rows_of(const struct profile *profile)
{
	return (struct resolve_rows){profile->n_functions, profile->n_lines,
				     profile->n_inlined_functions, profile->n_inlined_calls,
				     profile->n_inlined_code};
}

/* ---- in the child ---- */

static void put_range(FILE *answer, enum resolve_tag tag, uint64_t start, uint64_t end)
{
	confined_put_tag(answer, (uint8_t)tag);
	confined_put_number(answer, start);
	confined_put_number(answer, end);
}

static void put_code(FILE *answer, const struct profile *profile, const struct resolve_rows *first)
{
	for (size_t i = first->n_functions; i < profile->n_functions; i++) {
		const struct profile_function *row = &profile->functions[i];
		put_range(answer, RESOLVE_FUNCTION, row->start, row->end);
		confined_put_number(answer, row->line);
		confined_put_text(answer, row->name);
		confined_put_text(answer, row->file);
	}
	for (size_t i = first->n_lines; i < profile->n_lines; i++) {
		const struct profile_line *row = &profile->lines[i];
		put_range(answer, RESOLVE_LINE, row->start, row->end);
		confined_put_number(answer, row->line);
		confined_put_text(answer, row->file);
	}
}

static void put_inlined(FILE *answer, const struct profile *profile,
			const struct resolve_rows *first)
{
	for (size_t i = first->n_inlined_functions; i < profile->n_inlined_functions; i++) {
		const struct profile_inlined_function *row = &profile->inlined_functions[i];
		confined_put_tag(answer, RESOLVE_INLINED_FUNCTION);
		confined_put_number(answer, row->line);
		confined_put_text(answer, row->name);
		confined_put_text(answer, row->file);
	}
	for (size_t i = first->n_inlined_calls; i < profile->n_inlined_calls; i++) {
		const struct profile_inlined_call *row = &profile->inlined_calls[i];
		confined_put_tag(answer, RESOLVE_INLINED_CALL);
		confined_put_number(answer, row->parent == PROFILE_NONE
						    ? PROFILE_NONE
						    : row->parent - first->n_inlined_calls);
		confined_put_number(answer, row->function - first->n_inlined_functions);
		confined_put_number(answer, row->line);
		confined_put_text(answer, row->file);
	}
	for (size_t i = first->n_inlined_code; i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *row = &profile->inlined_code[i];
		put_range(answer, RESOLVE_INLINED_CODE, row->start, row->end);
		confined_put_number(answer, row->call - first->n_inlined_calls);
	}
}

void resolve_answer_put(FILE *answer, const struct profile *profile,
			const struct resolve_rows *first)
{
	put_code(answer, profile, first);
	put_inlined(answer, profile, first);
}

/* ---- in rfprof ---- */

/* The last row of a table, or zeros. */
#define LAST(items, n) ((n) ? (items)[(n)-1] : (__typeof__(*(items))){0})

static uint32_t number32(struct confined *child)
{
	const uint64_t number = confined_number(child);
	return number < PROFILE_NONE ? (uint32_t)number : PROFILE_NONE;
}

static bool take_function(struct confined *child, uint32_t module, struct profile *rows)
{
	struct profile_function row = {.module = module};
	row.start = confined_number(child);
	row.end = confined_number(child);
	row.line = number32(child);
	row.name = confined_text(child);
	row.file = confined_text(child);
	if (row.name && row.file && row.start < row.end &&
	    row.start >= LAST(rows->functions, rows->n_functions).end &&
	    rf_array_push(rows->functions, rows->n_functions, rows->cap_functions, row))
		return true;
	free(row.name);
	free(row.file);
	return false;
}

static bool take_line(struct confined *child, uint32_t module, struct profile *rows)
{
	struct profile_line row = {.module = module};
	row.start = confined_number(child);
	row.end = confined_number(child);
	row.line = number32(child);
	row.file = confined_text(child);
	if (row.file && row.start < row.end && row.start >= LAST(rows->lines, rows->n_lines).end &&
	    rf_array_push(rows->lines, rows->n_lines, rows->cap_lines, row))
		return true;
	free(row.file);
	return false;
}

static bool take_inlined_function(struct confined *child, uint32_t module, struct profile *rows)
{
	struct profile_inlined_function row = {.module = module};
	row.line = number32(child);
	row.name = confined_text(child);
	row.file = confined_text(child);
	if (row.name && row.file &&
	    rf_array_push(rows->inlined_functions, rows->n_inlined_functions,
			  rows->cap_inlined_functions, row))
		return true;
	free(row.name);
	free(row.file);
	return false;
}

static bool take_inlined_call(struct confined *child, struct profile *rows)
{
	struct profile_inlined_call row = {0};
	row.parent = number32(child);
	row.function = number32(child);
	row.line = number32(child);
	row.file = confined_text(child);
	if (row.file && (row.parent == PROFILE_NONE || row.parent < rows->n_inlined_calls) &&
	    row.function < rows->n_inlined_functions &&
	    rf_array_push(rows->inlined_calls, rows->n_inlined_calls, rows->cap_inlined_calls, row))
		return true;
	free(row.file);
	return false;
}

static bool take_inlined_code(struct confined *child, uint32_t module, struct profile *rows)
{
	struct profile_inlined_code row = {.module = module};
	row.start = confined_number(child);
	row.end = confined_number(child);
	row.call = number32(child);
	return row.start < row.end && row.call < rows->n_inlined_calls &&
	       row.start >= LAST(rows->inlined_code, rows->n_inlined_code).end &&
	       rf_array_push(rows->inlined_code, rows->n_inlined_code, rows->cap_inlined_code, row);
}

bool resolve_answer_take(struct confined *child, uint8_t tag, uint32_t module, struct profile *rows)
{
	switch (tag) {
	case RESOLVE_FUNCTION:
		return take_function(child, module, rows);
	case RESOLVE_LINE:
		return take_line(child, module, rows);
	case RESOLVE_INLINED_FUNCTION:
		return take_inlined_function(child, module, rows);
	case RESOLVE_INLINED_CALL:
		return take_inlined_call(child, rows);
	case RESOLVE_INLINED_CODE:
		return take_inlined_code(child, module, rows);
	}
	return false;
}

/* Functions and calls that are there already are not added again. */
static struct rf_error *merge_inlined(const struct profile *rows, struct profile *profile,
				      uint32_t *functions, uint32_t *calls)
{
	for (size_t i = 0; i < rows->n_inlined_functions; i++) {
		const struct profile_inlined_function *row = &rows->inlined_functions[i];
		functions[i] = profile_inlined_function(profile, row->module, row->name, row->file,
							row->line);
		if (functions[i] == PROFILE_NONE)
			return rf_error_no_memory();
	}
	for (size_t i = 0; i < rows->n_inlined_calls; i++) {
		const struct profile_inlined_call *row = &rows->inlined_calls[i];
		const uint32_t parent =
			row->parent == PROFILE_NONE ? PROFILE_NONE : calls[row->parent];
		calls[i] = profile_inlined_call(profile, parent, functions[row->function],
						row->file, row->line);
		if (calls[i] == PROFILE_NONE)
			return rf_error_no_memory();
	}
	for (size_t i = 0; i < rows->n_inlined_code; i++) {
		struct profile_inlined_code row = rows->inlined_code[i];
		row.call = calls[row.call];
		if (!rf_array_push(profile->inlined_code, profile->n_inlined_code,
				   profile->cap_inlined_code, row))
			return rf_error_no_memory();
	}
	return NULL;
}

static struct rf_error *move_code(struct profile *rows, struct profile *profile)
{
	for (size_t i = 0; i < rows->n_functions; i++) {
		struct profile_function *row = &rows->functions[i];
		if (!rf_array_push(profile->functions, profile->n_functions, profile->cap_functions,
				   *row))
			return rf_error_no_memory();
		row->name = row->file = NULL;
	}
	for (size_t i = 0; i < rows->n_lines; i++) {
		struct profile_line *row = &rows->lines[i];
		if (!rf_array_push(profile->lines, profile->n_lines, profile->cap_lines, *row))
			return rf_error_no_memory();
		row->file = NULL;
	}
	return NULL;
}

struct rf_error *resolve_answer_merge(struct profile *rows, struct profile *profile)
{
	uint32_t *functions = calloc(rows->n_inlined_functions + 1, sizeof(*functions));
	uint32_t *calls = calloc(rows->n_inlined_calls + 1, sizeof(*calls));
	struct rf_error *error = functions && calls ? merge_inlined(rows, profile, functions, calls)
						    : rf_error_no_memory();
	free(functions);
	free(calls);
	return error ?: move_code(rows, profile);
}

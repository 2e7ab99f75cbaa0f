/* What places in the code are called: functions, lines, loops, and the inlined functions that code
 * belongs to. */
#include "report/rows/code_names.h"

#include "base/search.h"
#include "report/model/model_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_NO_LOOP_YET (PROFILE_NONE - 1) /* no code of the loop has been seen */

/* "2.1": its place among the loops of its parent, behind its parent's number. */
static size_t put_number(char *text, size_t size, const struct model_function *function,
			 size_t loop)
{
	const uint32_t parent = function->loops[loop].parent;
	size_t used = 0;
	if (parent != PROFILE_NONE && parent < loop) {
		used = put_number(text, size, function, parent);
		used += used + 1 < size ? (size_t)snprintf(text + used, size - used, ".") : 0;
	}
	const uint32_t number = function->loops[loop].number;
	const int n = used < size ? snprintf(text + used, size - used, "%" PRIu32, number) : 0;
	return used + (size_t)n < size ? used + (size_t)n : size - 1;
}

void report_loop_number(char *text, const struct model_function *function, size_t loop)
{
	memcpy(text, "loop ", 6);
	(void)put_number(text + 5, 59, function, loop);
}

const struct profile_line *report_line_row(const struct profile *profile, uint32_t module,
					   uint64_t offset)
{
	const struct profile_line *lines = profile->lines; /* they stand by (module, start) */
	const size_t n = rf_search(profile->n_lines, i,
				   lines[i].module < module ||
					   (lines[i].module == module && lines[i].start <= offset));
	const struct profile_line *line = n ? &lines[n - 1] : NULL;
	return line && line->module == module && offset >= line->start && offset < line->end ? line
											     : NULL;
}

bool report_line_at(const struct profile *profile, uint32_t module, uint64_t offset, char *text,
		    size_t size)
{
	const struct profile_line *line = report_line_row(profile, module, offset);
	if (!line)
		return false;
	snprintf(text, size, "%.100s:%" PRIu32, report_base_name(line->file), line->line);
	return true;
}

const char *report_branch_place(const struct profile_branch *branch, char text[REPORT_PLACE])
{
	if (branch->file[0])
		snprintf(text, REPORT_PLACE, "%.100s:%" PRIu32, report_base_name(branch->file),
			 branch->source_line);
	else
		snprintf(text, REPORT_PLACE, "+0x%" PRIx64, branch->offset);
	return text;
}

const char *report_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

const char *report_row_name(const struct profile *profile, uint32_t row)
{
	if (row < profile->n_functions)
		return profile->functions[row].name;
	row -= (uint32_t)profile->n_functions;
	return row < profile->n_modules ? profile->modules[row].name : "[unknown]";
}

enum report_kind report_row_kind(const struct report_filter *filter, const struct profile *profile,
				 uint32_t row)
{
	const char *name = report_row_name(profile, row);
	const bool function = row < profile->n_functions;
	return report_filter_kind(filter, name, function ? model_place_module(profile, row) : name);
}

bool report_is_start_up(const char *name)
{
	static const char *const names[] = {"_start",
					    "__libc_start_main",
					    "__libc_start_call_main",
					    "clone",
					    "clone3",
					    "__clone",
					    "__clone3",
					    "start_thread"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		const size_t n = strlen(names[i]);
		if (strncmp(name, names[i], n) == 0 &&
		    (!name[n] || name[n] == '@' || name[n] == '.'))
			return true;
	}
	return false;
}

/* ---- inlined calls ---- */

size_t report_inlined_from(const struct profile *profile, uint32_t module, uint64_t offset)
{
	const struct profile_inlined_code *code = profile->inlined_code; /* by (module, start) */
	return rf_search(profile->n_inlined_code, i,
			 code[i].module < module ||
				 (code[i].module == module && code[i].end <= offset));
}

uint32_t report_inlined_at(const struct profile *profile, uint32_t module, uint64_t offset)
{
	const size_t i = report_inlined_from(profile, module, offset);
	const struct profile_inlined_code *code =
		i < profile->n_inlined_code ? &profile->inlined_code[i] : NULL;
	return code && code->module == module && code->start <= offset ? code->call : PROFILE_NONE;
}

const char *report_inlined_name(const struct profile *profile, uint32_t call)
{
	return profile->inlined_functions[profile->inlined_calls[call].function].name;
}

char *report_inlined_chain(const struct profile *profile, uint32_t call)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	if (!stream)
		return NULL;
	for (bool first = true; call != PROFILE_NONE;
	     call = profile->inlined_calls[call].parent, first = false) {
		const struct profile_inlined_call *row = &profile->inlined_calls[call];
		fprintf(stream, "%s%s", first ? "" : ", in ", report_inlined_name(profile, call));
		if (row->file[0])
			fprintf(stream, " (%s:%" PRIu32 ")", report_base_name(row->file),
				row->line);
	}
	if (fclose(stream) == 0)
		return text;
	free(text);
	return NULL;
}

/* The innermost call that holds both; callers stand before what they call. */
static uint32_t common_call(const struct profile *profile, uint32_t a, uint32_t b)
{
	if (a == IN_NO_LOOP_YET || b == IN_NO_LOOP_YET)
		return a == IN_NO_LOOP_YET ? b : a;
	while (a != b && a != PROFILE_NONE && b != PROFILE_NONE) {
		if (a > b)
			a = profile->inlined_calls[a].parent;
		else
			b = profile->inlined_calls[b].parent;
	}
	return a == b ? a : PROFILE_NONE;
}

/* The innermost call that holds all of [start, end). */
static uint32_t call_of_code(const struct profile *profile, const struct model_loop_code *code)
{
	uint64_t done = code->start;
	uint32_t call = IN_NO_LOOP_YET;
	for (size_t i = report_inlined_from(profile, code->module, done);
	     done < code->end && i < profile->n_inlined_code; i++) {
		const struct profile_inlined_code *part = &profile->inlined_code[i];
		if (part->module != code->module || part->start > done)
			break;
		call = common_call(profile, call, part->call);
		done = part->end;
	}
	return done < code->end ? PROFILE_NONE : call;
}

uint32_t *report_calls_of_loops(const struct report_view *view, const struct model_function *f)
{
	const struct profile *profile = view->profile;
	const struct model *model = view->model;
	uint32_t *calls = malloc((f->n_loops + 1) * sizeof(*calls));
	if (!calls)
		return NULL;
	for (size_t i = 0; i < f->n_loops; i++)
		calls[i] = IN_NO_LOOP_YET;
	for (size_t i =
		     rf_search(model->n_loop_code, k, model->loop_code[k].function < f->function);
	     i < model->n_loop_code && model->loop_code[i].function == f->function; i++) {
		const struct model_loop_code *code = &model->loop_code[i];
		if (code->loop < f->n_loops)
			calls[code->loop] = common_call(profile, calls[code->loop],
							call_of_code(profile, code));
	}
	/* an outer loop stands before those within it */
	for (size_t i = f->n_loops; i-- > 0;) {
		const uint32_t parent = f->loops[i].parent;
		if (parent < i)
			calls[parent] = common_call(profile, calls[parent], calls[i]);
	}
	for (size_t i = 0; i < f->n_loops; i++)
		if (calls[i] == IN_NO_LOOP_YET)
			calls[i] = PROFILE_NONE;
	return calls;
}

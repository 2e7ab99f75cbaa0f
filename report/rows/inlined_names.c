/* Which inlined function code belongs to, and loops. */
#include "report/rows/inlined_names.h"

#include "base/search.h"
#include "report/rows/code_names.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define IN_NO_LOOP_YET (PROFILE_NONE - 1) /* no code of the loop has been seen */

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

/* What places in the code are called. */
#include "report/rows/code_names.h"

#include "base/search.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* "2.1": its place among the loops of its parent, behind its parent's number. */
static size_t put_number(char *text, size_t size, const struct model_function *function,
			 size_t loop)
{
	const uint32_t parent = function->loops[loop].parent;
	size_t used = 0, place = 1;
	if (parent != PROFILE_NONE && parent < loop) {
		used = put_number(text, size, function, parent);
		used += used + 1 < size ? (size_t)snprintf(text + used, size - used, ".") : 0;
	}
	for (size_t i = 0; i < function->n_loops; i++)
		place += function->loops[i].parent == parent && i != loop &&
			 (function->loops[i].header < function->loops[loop].header ||
			  (function->loops[i].header == function->loops[loop].header && i < loop));
	const int n = used < size ? snprintf(text + used, size - used, "%zu", place) : 0;
	return used + (size_t)n < size ? used + (size_t)n : size - 1;
}

void report_loop_number(char *text, const struct model_function *function, size_t loop)
{
	memcpy(text, "loop ", 6);
	(void)put_number(text + 5, 59, function, loop);
}

bool report_line_at(const struct profile *profile, uint32_t module, uint64_t offset, char *text,
		    size_t size)
{
	const struct profile_line *lines = profile->lines; /* they stand by (module, start) */
	const size_t n = rf_search(profile->n_lines, i,
				   lines[i].module < module ||
					   (lines[i].module == module && lines[i].start <= offset));
	const struct profile_line *line = n ? &lines[n - 1] : NULL;
	if (!line || line->module != module || offset < line->start || offset >= line->end)
		return false;
	snprintf(text, size, "%.100s:%" PRIu32, report_base_name(line->file), line->line);
	return true;
}

const char *report_base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

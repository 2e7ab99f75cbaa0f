/* Lines of the doctor's report, filled by the checks. */
#include "tracer/doctor/line.h"

#include <string.h>

void doctor_lacks(struct doctor_line *line, enum doctor_state state, const char *cost,
		  const char *next)
{
	line->state = state;
	SAY(line->cost, "%s", cost);
	SAY(line->next, "%s", next);
}

void doctor_add_words(char *text, size_t size, const char *between, const char *words)
{
	const size_t used = strlen(text);
	snprintf(text + used, size - used, "%s%s", used ? between : "", words);
}

const char *doctor_state_name(enum doctor_state state)
{
	static const char *const names[] = {
		[DOCTOR_WORKS] = "works", [DOCTOR_PARTLY] = "partly", [DOCTOR_MISSING] = "missing"};
	return names[state];
}

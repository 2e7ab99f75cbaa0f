/* Reads the thread counts of --threads. */
#include "machine/store/thread_list.h"

#include <ctype.h>
#include <stdlib.h>

/* Marks the numbers of one number or range at *text, which then points behind it. */
static bool mark_range(const char **text, bool *marks)
{
	char *end = NULL;
	if (!isdigit((unsigned char)**text))
		return false;
	unsigned long first = strtoul(*text, &end, 10), last = first;
	if (*end == '-' && isdigit((unsigned char)end[1]))
		last = strtoul(end + 1, &end, 10);
	*text = end;
	if (first < 1 || first > last || last > THREAD_LIST_MOST)
		return false;
	for (unsigned long k = first; k <= last; k++)
		marks[k] = true;
	return true;
}

bool thread_list_parse(const char *text, int **counts, size_t *n)
{
	bool marks[THREAD_LIST_MOST + 1] = {false};
	do {
		if (!mark_range(&text, marks))
			return false;
	} while (*text++ == ',');
	int *list = text[-1] ? NULL : malloc(THREAD_LIST_MOST * sizeof(*list));
	if (!list)
		return false;
	*n = 0;
	for (int count = 1; count <= THREAD_LIST_MOST; count++)
		if (marks[count])
			list[(*n)++] = count;
	*counts = list;
	return true;
}

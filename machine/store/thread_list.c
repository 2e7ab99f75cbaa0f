/* Reads the thread counts of --threads. */
#include "machine/store/thread_list.h"

#include <ctype.h>
#include <stdlib.h>

/* A number at *text, which then points behind it; 0: none, or not in range. */
static int read_count(const char **text)
{
	int value = 0;
	for (; isdigit((unsigned char)**text); (*text)++) {
		value = value * 10 + (**text - '0');
		if (value > THREAD_LIST_MOST)
			return 0;
	}
	return value;
}

/* Marks one number or range at *text. */
static bool mark_range(const char **text, bool *marks)
{
	int first = read_count(text), last = first;
	if (**text == '-') {
		(*text)++;
		last = read_count(text);
	}
	for (int k = first; k <= last; k++)
		marks[k] = true;
	return first > 0 && first <= last;
}

bool thread_list_parse(const char *text, int **counts, size_t *n)
{
	bool marks[THREAD_LIST_MOST + 1] = {false};
	size_t marked = 0;
	for (;; text++) {
		if (!mark_range(&text, marks))
			return false;
		if (*text != ',')
			break;
	}
	int *list = *text ? NULL : malloc(THREAD_LIST_MOST * sizeof(*list));
	for (int count = 1; list && count <= THREAD_LIST_MOST; count++)
		if (marks[count])
			list[marked++] = count;
	if (!list)
		return false;
	*counts = list;
	*n = marked;
	return true;
}

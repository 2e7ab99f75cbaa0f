/* The lives of a process's children, in the order of their births. */
#include "report/account/child_lives.h"

#include "base/search.h"

#include <math.h>
#include <stdlib.h>

struct life {
	uint32_t parent;
	double start_s, end_s;
};

static int by_parent_and_start(const void *left, const void *right)
{
	const struct life *a = left, *b = right;
	return rf_compare(a->parent, b->parent) ?: rf_compare(a->start_s, b->start_s);
}

/* Of the children of processes of the timed run, *n of them; to be freed.  NULL: memory is short.
 */
static struct life *find_lives(const struct profile *profile, double wall_s, size_t *n)
{
	struct life *lives = malloc(profile->n_processes * sizeof(*lives) + 1);
	*n = 0;
	for (size_t i = 0; i < profile->n_processes && lives; i++) {
		const struct profile_process *process = &profile->processes[i];
		const double end_s = process->end_ns ? (double)process->end_ns * 1e-9 : wall_s;
		const double start_s = (double)process->start_ns * 1e-9;
		if (process->run == RUN_TIMED && process->parent != PROFILE_NONE && end_s > start_s)
			lives[(*n)++] = (struct life){process->parent, start_s, end_s};
	}
	if (lives)
		qsort(lives, *n, sizeof(*lives), by_parent_and_start);
	return lives;
}

/* What n children of one process would save. */
static double in_turn(const struct life *lives, size_t n, double processors)
{
	double any_s = 0, all_s = 0, longest_s = 0, until_s = 0;
	for (size_t i = 0; i < n; i++) {
		const double took_s = lives[i].end_s - lives[i].start_s;
		all_s += took_s;
		longest_s = fmax(longest_s, took_s);
		any_s += fmax(0, lives[i].end_s - fmax(until_s, lives[i].start_s));
		until_s = fmax(until_s, lives[i].end_s);
	}
	return any_s - fmax(longest_s, all_s / processors);
}

double child_lives_in_turn(const struct profile *profile, double processors, double wall_s)
{
	double most_s = 0;
	size_t n, end;
	struct life *lives = find_lives(profile, wall_s, &n);
	for (size_t i = 0; i < n; i = end) {
		for (end = i; end < n && lives[end].parent == lives[i].parent;)
			end++;
		most_s = fmax(most_s, in_turn(&lives[i], end - i, processors));
	}
	free(lives);
	return most_s;
}

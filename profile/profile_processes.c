/* Which process of one run is which of the other. */
#include "profile/profile.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

#define MOST_LIVES 1000

uint64_t profile_longest_life(const struct profile *profile, enum profile_run run,
			      const char *command)
{
	uint64_t longest = 0;
	size_t n = 0;
	for (size_t i = 0; i < profile->n_processes && n < MOST_LIVES; i++) {
		const struct profile_process *process = &profile->processes[i];
		if (process->run != run || strcmp(process->command, command) != 0)
			continue;
		n++;
		if (process->end_ns && process->end_ns - process->start_ns > longest)
			longest = process->end_ns - process->start_ns;
	}
	return longest;
}

uint64_t profile_mean_life(const struct profile *profile, enum profile_run run, const char *command)
{
	uint64_t sum = 0, n = 0;
	for (size_t i = 0; i < profile->n_processes && n < MOST_LIVES; i++) {
		const struct profile_process *process = &profile->processes[i];
		if (process->run != run || !process->end_ns ||
		    strcmp(process->command, command) != 0)
			continue;
		n++;
		sum += process->end_ns - process->start_ns;
	}
	return n ? sum / n : 0;
}

struct family_key {
	uint32_t parent;
	const char *command;
};

static int compare_keys(const struct profile_process *process, const struct family_key *key)
{
	return rf_compare(process->parent, key->parent) ?: strcmp(process->command, key->command);
}

static int compare_families(const void *a, const void *b, void *processes)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct profile_process *all = processes;
	const struct family_key key = {all[y].parent, all[y].command};
	return compare_keys(&all[x], &key) ?: rf_compare(x, y);
}

/* The processes of the counted run by (parent, command, birth): each family stands together. */
struct families {
	uint32_t *rows;
	size_t *taken; /* where a family begins: how many of it are twins already */
	size_t n;
};

/* The next of the family that is the timed one's (`parent`: the twin of its parent), or
 * PROFILE_NONE. */
static uint32_t find_twin(const struct profile *profile, struct families *counted, uint32_t parent,
			  const char *command)
{
	const struct profile_process *all = profile->processes;
	const struct family_key key = {parent, command};
	const size_t start =
		rf_search(counted->n, i, compare_keys(&all[counted->rows[i]], &key) < 0);
	const size_t at = start + counted->taken[start];
	if (at >= counted->n || compare_keys(&all[counted->rows[at]], &key) != 0)
		return PROFILE_NONE;
	counted->taken[start]++;
	return counted->rows[at];
}

static void match(struct profile *profile, struct families *counted, uint32_t *twin_of)
{
	for (size_t i = 0; i < profile->n_processes; i++) {
		const struct profile_process *timed = &profile->processes[i];
		const bool first = timed->parent == PROFILE_NONE;
		twin_of[i] = PROFILE_NONE;
		if (timed->run != RUN_TIMED || (!first && twin_of[timed->parent] == PROFILE_NONE))
			continue;
		twin_of[i] =
			find_twin(profile, counted, first ? PROFILE_NONE : twin_of[timed->parent],
				  timed->command);
		if (twin_of[i] == PROFILE_NONE)
			continue;
		if (profile->processes[i].birth == BIRTH_UNKNOWN) /* a sampler does not see it */
			profile->processes[i].birth = profile->processes[twin_of[i]].birth;
		uint32_t twin = twin_of[i], later = twin > i ? twin : (uint32_t)i;
		profile->processes[later].twin = later == twin ? (uint32_t)i : twin;
	}
}

struct rf_error *profile_match_processes(struct profile *profile)
{
	const size_t n = profile->n_processes + 1;
	struct families counted = {malloc(n * sizeof(*counted.rows)),
				   calloc(n, sizeof(*counted.taken))};
	uint32_t *twin_of = calloc(n, sizeof(*twin_of));
	const bool done = counted.rows && counted.taken && twin_of;
	for (size_t i = 0; done && i + 1 < n; i++)
		if (profile->processes[i].run == RUN_COUNTED)
			counted.rows[counted.n++] = (uint32_t)i;
	if (counted.n)
		qsort_r(counted.rows, counted.n, sizeof(*counted.rows), compare_families,
			profile->processes);
	if (done)
		match(profile, &counted, twin_of);
	free(counted.rows);
	free(counted.taken);
	free(twin_of);
	return done ? NULL : rf_error_no_memory();
}

/* Which process of one run is which of the other. */
#include "profile/profile.h"

#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* The processes of one run by (parent, command, birth): each family stands together. */
struct families {
	uint32_t *rows;
	size_t n;
};

struct family_key {
	uint32_t parent;
	const char *command;
};

static int compare_keys(const struct profile_process *process, const struct family_key *key)
{
	if (process->parent != key->parent)
		return process->parent < key->parent ? -1 : 1;
	return strcmp(process->command, key->command);
}

static int compare_families(const void *a, const void *b, void *processes)
{
	const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
	const struct profile_process *all = processes;
	const struct family_key key = {all[y].parent, all[y].command};
	int order = compare_keys(&all[x], &key);
	return order ? order : x < y ? -1 : x > y;
}

static bool families_init(const struct profile *profile, enum profile_run run,
			  struct families *families)
{
	families->n = 0;
	families->rows = malloc((profile->n_processes + 1) * sizeof(*families->rows));
	for (size_t i = 0; families->rows && i < profile->n_processes; i++)
		if (profile->processes[i].run == run)
			families->rows[families->n++] = (uint32_t)i;
	if (families->n)
		qsort_r(families->rows, families->n, sizeof(*families->rows), compare_families,
			profile->processes);
	return families->rows != NULL;
}

/* Where a family begins, or would. */
static size_t family_start(const struct profile *profile, const struct families *families,
			   const struct family_key *key)
{
	return rf_search(families->n, i,
			 compare_keys(&profile->processes[families->rows[i]], key) < 0);
}

/* place[row]: how many of its family were born before it. */
static void number_members(const struct profile *profile, const struct families *families,
			   size_t *place)
{
	for (size_t i = 0; i < families->n; i++) {
		const struct profile_process *process = &profile->processes[families->rows[i]];
		const struct family_key key = {process->parent, process->command};
		bool same = i > 0 &&
			    compare_keys(&profile->processes[families->rows[i - 1]], &key) == 0;
		place[families->rows[i]] = same ? place[families->rows[i - 1]] + 1 : 0;
	}
}

/* The counted run's row for a timed one whose parent's is known, or PROFILE_NONE. */
static uint32_t find_twin(const struct profile *profile, const struct families *counted,
			  uint32_t parent, const struct profile_process *timed, size_t place)
{
	const struct family_key key = {parent, timed->command};
	size_t at = family_start(profile, counted, &key) + place;
	if (at >= counted->n || compare_keys(&profile->processes[counted->rows[at]], &key) != 0)
		return PROFILE_NONE;
	return counted->rows[at];
}

static void match(struct profile *profile, const struct families *counted, const size_t *place,
		  uint32_t *twin_of)
{
	for (size_t i = 0; i < profile->n_processes; i++) {
		const struct profile_process *timed = &profile->processes[i];
		const bool first = timed->parent == PROFILE_NONE;
		twin_of[i] = PROFILE_NONE;
		if (timed->run != RUN_TIMED || (!first && twin_of[timed->parent] == PROFILE_NONE))
			continue;
		twin_of[i] =
			find_twin(profile, counted, first ? PROFILE_NONE : twin_of[timed->parent],
				  timed, place[i]);
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
	struct families timed = {0}, counted = {0};
	size_t *place = calloc(profile->n_processes + 1, sizeof(*place));
	uint32_t *twin_of = calloc(profile->n_processes + 1, sizeof(*twin_of));
	bool done = place && twin_of && families_init(profile, RUN_TIMED, &timed) &&
		    families_init(profile, RUN_COUNTED, &counted);
	if (done) {
		number_members(profile, &timed, place);
		match(profile, &counted, place, twin_of);
	}
	free(timed.rows);
	free(counted.rows);
	free(place);
	free(twin_of);
	return done ? NULL : rf_error_no_memory();
}

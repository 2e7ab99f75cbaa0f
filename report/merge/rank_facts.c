/* By the names of facts: what they are of decides how those of two ranks become one. */
#include "report/merge/rank_facts.h"

#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_NOTES 20 /* that are kept of all ranks */

static const char *const summed[] = {
	"minor_faults",
	"major_faults",
	"voluntary_switches",
	"involuntary_switches",
	"read_bytes",
	"written_bytes",
	"threads",
	"counter_samples_lost",
	"lost_samples",
	"throttled_samples",
	"unsampled_threads",
	"traffic_records",
	"traffic_simulation_s",
	"sharing_lost",
	"untraced_accesses",
	"allocations_unseen",
	"unreadable_blocks",
	"unmatched_units",
	"translation_s",
	"translated_blocks",
	"translated_instructions",
	"hot_blocks",
};
static const char *const greatest[] = {
	"wall_s",           "counted_wall_s", "peak_memory",   "sample_cost_ns",
	"sample_period_ns", "sample_spread",  "fault_cost_ns",
};
/* Where one rank has it, it is to be said of all. */
static const char *const spread[] = {
	"counts_incomplete", "traffic_incomplete", "no_kernel_samples", "once",
	"no_children",       "redacted",           "rank_roofs",        "tlb",
	"other_geometry",    "other_machine",      "other_line_bytes",  "other_write_through",
};
/* Of one rank alone, or of what is not merged. */
static const char *const left_out[] = {"rank",        "rank_local", "rank_local_size",
				       "rank_node",   "slice_ns",   "sums",
				       "stdout_same", "exit_same",  "user_kernel_halfwidth_s"};

#define N(list) (sizeof(list) / sizeof(*(list)))

static bool has(const char *const *list, size_t n, const char *key)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(list[i], key) == 0)
			return true;
	return false;
}

static void add_number(struct profile *into, const struct profile_fact *fact, bool sum)
{
	const double there = profile_number_fact(into, fact->key, 0),
		     more = strtod(fact->value, NULL);
	const double value = sum ? there + more : fmax(there, more);
	if (fact_kind(fact->key)->type == FACT_REAL)
		profile_set_fact(into, fact->key, "%.9g", value);
	else
		profile_set_fact(into, fact->key, "%.0f", value);
}

static void add_note(struct profile *into, const char *text)
{
	size_t n = 0;
	for (size_t i = 0; i < into->n_facts; i++)
		if (strncmp(into->facts[i].key, "note.", 5) == 0) {
			if (strcmp(into->facts[i].value, text) == 0)
				return;
			n++;
		}
	if (n < MOST_NOTES)
		profile_add_note(into, "%s", text);
}

/* The first rank that did not end well is told of. */
static void add_status(struct profile *into, const char *value)
{
	const char *there = profile_get_fact(into, "exit_status");
	if (!there || strcmp(there, "0") == 0)
		profile_set_fact(into, "exit_status", "%s", value);
}

/* Sums are then of several TLBs, or machines. */
static bool differs(const struct profile *into, const struct profile_fact *fact)
{
	static const char *const simulated[] = {"tlb", "other_geometry"};
	const char *there = profile_get_fact(into, fact->key);
	return there && has(simulated, N(simulated), fact->key) && strcmp(there, fact->value) != 0;
}

static void say_that_differ(struct profile *into, const struct profile_fact *fact)
{
	char text[512];
	snprintf(text, sizeof(text), "the ranks did not simulate the same: %.200s; and %.200s",
		 profile_get_fact(into, fact->key), fact->value);
	add_note(into, text);
}

static void add_fact(struct profile *into, const struct profile_fact *fact, bool first)
{
	const struct fact_kind *kind = fact_kind(fact->key);
	if (!kind || has(left_out, N(left_out), fact->key))
		return;
	if (strncmp(fact->key, "note.", 5) == 0)
		add_note(into, fact->value);
	else if (has(summed, N(summed), fact->key))
		add_number(into, fact, true);
	else if (has(greatest, N(greatest), fact->key))
		add_number(into, fact, false);
	else if (strcmp(fact->key, "exit_status") == 0)
		add_status(into, fact->value);
	else if (differs(into, fact))
		say_that_differ(into, fact);
	else if (!profile_get_fact(into, fact->key) &&
		 (first || has(spread, N(spread), fact->key) ||
		  strcmp(fact->key, "cpu_model") == 0))
		profile_set_fact(into, fact->key, "%s", fact->value);
}

static struct rf_error *add_timed_run(struct profile *into, const struct profile *profile)
{
	const struct profile_timed_run none = {.shown = true};
	if (!into->n_timed_runs) {
		struct rf_error *error = rf_array_add(into->timed_runs, into->n_timed_runs,
						      into->cap_timed_runs, none);
		if (error)
			return error;
	}
	struct profile_timed_run *to = into->timed_runs;
	for (size_t i = 0; i < profile->n_timed_runs; i++) {
		const struct profile_timed_run *run = &profile->timed_runs[i];
		if (!run->shown)
			continue;
		to->wall_s = fmax(to->wall_s, run->wall_s);
		to->user_s += run->user_s;
		to->system_s += run->system_s;
		to->samples += run->samples;
		to->time_ns += run->time_ns;
		to->exit_status = to->exit_status ? to->exit_status : run->exit_status;
	}
	return NULL;
}

struct rf_error *rank_facts_add(struct profile *into, const struct profile *profile, bool first)
{
	for (size_t i = 0; i < profile->n_facts; i++)
		add_fact(into, &profile->facts[i], first);
	return add_timed_run(into, profile);
}

/* Sources of work: those of the first rank whose work was counted are what the report tells. */
void rank_facts_finish(struct profile *into)
{
	const char *source = profile_get_fact(into, "work_source");
	bool counted = false;
	for (size_t i = 0; i < into->n_ranks; i++)
		counted |= into->ranks[i].counted;
	if (counted && (!source || strcmp(source, "none") == 0))
		profile_set_fact(into, "work_source", "counted execution");
	if (!into->timed_runs[0].samples && !into->timed_runs[0].wall_s)
		into->n_timed_runs = 0;
}

/* The sentences under a comparison. */
#include "report/reasons/diff_notes.h"

#include <math.h>
#include <string.h>

static bool differs(const struct diff *diff, const char *key)
{
	const char *a = profile_get_fact(diff->a.profile, key),
		   *b = profile_get_fact(diff->b.profile, key);
	return a && b && strcmp(a, b) != 0;
}

/* Of the shares of their cores that both had. */
#define ABOUT_SAME 0.1

static bool shares_differ(const struct diff *diff)
{
	const double a = profile_number_fact(diff->a.profile, "left_slots", NAN),
		     b = profile_number_fact(diff->b.profile, "left_slots", NAN);
	return fabs(a - b) > ABOUT_SAME; /* not where either is not known */
}

static bool has_fact(const struct diff *diff, const char *key)
{
	return profile_get_fact(diff->a.profile, key) || profile_get_fact(diff->b.profile, key);
}

static bool any_above(const struct diff *diff)
{
	for (size_t i = 0; i < diff->n_functions; i++) {
		const struct diff_function *f = &diff->functions[i];
		if ((f->a && f->a->place.above) || (f->b && f->b->place.above))
			return true;
	}
	return false;
}

struct diff_notes diff_notes(const struct diff *diff)
{
	const bool repeated = diff->a.model.runs.n && diff->b.model.runs.n;
	const struct {
		bool holds;
		const char *text;
	} all[] = {
		{repeated, "±: 95 %, of medians over the runs"},
		{!repeated,
		 "±: the spread of sampling, 95 %; from run to run other load on the machine "
		 "adds to it (--repeat measures that)"},
		{differs(diff, "cpu_model") || differs(diff, "hostname"),
		 "A and B are of different machines: distances are to each one's own roofs"},
		{shares_differ(diff),
		 "A and B had other shares of their cores (\"SHARED CORES\" in their reports): "
		 "times differ for that alone"},
		{has_fact(diff, "counts_incomplete"),
		 "the counts of A or B are incomplete: work and bytes may differ for that alone"},
		{has_fact(diff, "once"), "the times of A or B include the counting (--once)"},
		{!diff->memory,
		 "bytes: loaded and stored, for memory traffic was not traced in both"},
		{diff->memory && differs(diff, "traffic_geometry"),
		 "the caches that were simulated differ"},
		{any_above(diff), "!: above its roof; the report of that profile says why"},
	};
	struct diff_notes notes = {0};
	_Static_assert(sizeof(all) / sizeof(*all) == sizeof(notes.texts) / sizeof(*notes.texts),
		       "room for all of them");
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++)
		if (all[i].holds)
			notes.texts[notes.n++] = all[i].text;
	return notes;
}

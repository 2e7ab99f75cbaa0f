/* Facts: each is read as what it is, and facts.def has those of docs/profile-format.md. */
#include "profile/facts.h"
#include "profile/profile.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>

#define FORMAT TEST_SOURCE_DIR "/../../docs/profile-format.md"

/* The keys in the first column of the table of facts: text between two backquotes. */
static size_t documented(char keys[][64], size_t max)
{
	FILE *stream = fopen(FORMAT, "r");
	char *line = NULL;
	size_t cap = 0, n = 0;
	bool within = false;
	cr_assert_not_null(stream, "cannot open %s", FORMAT);
	while (getline(&line, &cap, stream) > 0) {
		if (line[0] == '#')
			within = strcmp(line, "### Facts\n") == 0;
		char *end = within && line[0] == '|' ? strchr(line + 1, '|') : NULL;
		for (char *at = line; end && (at = strchr(at, '`')) && at < end;) {
			char *close = strchr(at + 1, '`');
			cr_assert(close && close < end && n < max);
			snprintf(keys[n++], sizeof(*keys), "%.*s", (int)(close - at - 1), at + 1);
			at = close + 1;
		}
	}
	free(line);
	fclose(stream);
	return n;
}

Test(facts, are_those_of_the_documentation)
{
	static char keys[200][64];
	const size_t n = documented(keys, 200);
	cr_assert_gt(n, 40);
	for (size_t i = 0; i < n; i++)
		cr_expect(fact_kind(keys[i]), "%s is not in facts.def", keys[i]);
	for (size_t k = 0; k < n_fact_kinds; k++) {
		size_t found = 0;
		for (size_t i = 0; i < n; i++)
			found += strcmp(keys[i], fact_kinds[k].key) == 0;
		cr_expect_eq(found, 1, "%s stands %zu times in %s", fact_kinds[k].key, found,
			     FORMAT);
	}
}

Test(facts, have_one_kind_each)
{
	for (size_t k = 0; k < n_fact_kinds; k++) {
		cr_expect_eq(fact_kind(fact_kinds[k].key), &fact_kinds[k], "%s stands twice",
			     fact_kinds[k].key);
		cr_expect(fact_kinds[k].meaning[0]);
		const bool counts = fact_kinds[k].type == FACT_COUNT ||
				    fact_kinds[k].type == FACT_FEW ||
				    fact_kinds[k].type == FACT_REAL;
		cr_expect_eq(counts, fact_kinds[k].unit[0] != '\0', "unit of %s",
			     fact_kinds[k].key);
	}
	cr_expect(fact_kind("note.12"));
	cr_expect_null(fact_kind("note."));
	cr_expect_null(fact_kind("note.1a"));
	cr_expect_null(fact_kind("wall"));
}

/* What a file may have. */
static void put(struct profile *p, const char *key, const char *value)
{
	const struct profile_fact fact = {strdup(key), strdup(value)};
	p->facts = realloc(p->facts, (p->n_facts + 1) * sizeof(fact));
	p->facts[p->n_facts++] = fact;
	p->cap_facts = p->n_facts;
}

Test(facts, are_read_as_what_they_are)
{
	struct profile *p = profile_create();
	long long count;
	put(p, "wall_s", "1.25");
	put(p, "threads", "12");
	put(p, "lost_samples", "many");
	put(p, "clock_ghz", "inf");
	put(p, "sample_cost_ns", "1e3");
	put(p, "once", "1");
	put(p, "no_children", "0");
	put(p, "work_source", "PMU");
	put(p, "counted_wall_s", "1.8e308");
	put(p, "usable_threads", "2147483648");
	put(p, "traffic_records", "-1");
	cr_expect_eq(profile_number_fact(p, "wall_s", 7), 1.25);
	cr_expect_eq(profile_number_fact(p, "counted_wall_s", 7), 7);
	cr_expect_eq(profile_number_fact(p, "lost_samples", 7), 7);
	cr_expect_eq(profile_number_fact(p, "usable_threads", 7), 7);
	cr_expect_eq(profile_number_fact(p, "traffic_records", 7), 7);
	cr_expect_eq(profile_number_fact(p, "issue_width", 7), 7);
	cr_expect_eq(profile_number_fact(p, "clock_ghz", 7), 7);
	cr_expect_eq(profile_number_fact(p, "sample_cost_ns", 7), 1000);
	cr_expect(profile_count_fact(p, "threads", &count) && count == 12);
	cr_expect_not(profile_count_fact(p, "sample_cost_ns", &count));
	cr_expect_not(profile_count_fact(p, "usable_threads", &count));
	cr_expect(profile_flag_fact(p, "once"));
	cr_expect_not(profile_flag_fact(p, "no_children"));
	cr_expect(profile_fact_is(p, "work_source", "PMU"));
	cr_expect_not(profile_fact_is(p, "work_source", "PM"));
	cr_expect_not(profile_fact_is(p, "work_why", ""));
	profile_destroy(p);
}

Test(facts, an_unknown_one_cannot_be_set, .signal = SIGABRT)
{
	profile_set_fact(profile_create(), "wall", "%d", 1);
}

Test(facts, a_number_cannot_be_a_word, .signal = SIGABRT)
{
	profile_set_fact(profile_create(), "wall_s", "long");
}

#include "machine/store/thread_list.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

Test(thread_list, numbers_and_ranges_come_out_ascending_and_once)
{
	static const struct {
		const char *text;
		size_t n;
		int counts[8];
	} cases[] = {
		{"1", 1, {1}},
		{"8192", 1, {8192}},
		{"1,2,4-8", 7, {1, 2, 4, 5, 6, 7, 8}},
		{"4,2,2,1-2", 3, {1, 2, 4}},
		{"3-3", 1, {3}},
		{"007", 1, {7}},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		int *counts = NULL;
		size_t n = 0;
		cr_assert(thread_list_parse(cases[i].text, &counts, &n), "%s", cases[i].text);
		cr_assert_eq(n, cases[i].n, "%s: %zu", cases[i].text, n);
		cr_expect_eq(memcmp(counts, cases[i].counts, n * sizeof(int)), 0, "%s",
			     cases[i].text);
		free(counts);
	}
}

Test(thread_list, a_range_may_hold_every_count)
{
	int *counts = NULL;
	size_t n = 0;
	cr_assert(thread_list_parse("1-8192", &counts, &n));
	cr_expect_eq(n, THREAD_LIST_MOST);
	cr_expect_eq(counts[8191], 8192);
	free(counts);
}

Test(thread_list, anything_else_is_refused_and_changes_nothing)
{
	static const char *const bad[] = {
		"",    "0",   "-1",    "1-",     "-",
		",",   "1,",  ",1",    "1,,2",   "8-4",
		"0-4", "1-0", "8193",  "1-8193", "99999999999999999999",
		"1 ",  " 1",  "1;2",   "+1",     "0x2",
		"1.5", "all", "1-2-3", "1,two",
	};
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int untouched, *counts = &untouched;
		size_t n = 77;
		cr_expect_not(thread_list_parse(bad[i], &counts, &n), "\"%s\"", bad[i]);
		cr_expect_eq(counts, &untouched);
		cr_expect_eq(n, 77);
	}
}

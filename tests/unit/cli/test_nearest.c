#include "cli/nearest.h"

#include <criterion/criterion.h>

static const char *nearest_of(const char *written, const char *const *words)
{
	struct nearest nearest = nearest_to(written);
	for (; *words; words++)
		nearest_offer(&nearest, *words);
	return nearest.word;
}

static const char *const options[] = {"traffic", "top", "to", "level", "levels", "save", NULL};

Test(nearest, one_wrong_letter_of_each_kind)
{
	cr_expect_str_eq(nearest_of("trafic", options), "traffic");
	cr_expect_str_eq(nearest_of("trafffic", options), "traffic");
	cr_expect_str_eq(nearest_of("traffik", options), "traffic");
	cr_expect_str_eq(nearest_of("tarffic", options), "traffic");
	cr_expect_str_eq(nearest_of("TRAFFIC", options), "traffic");
}

Test(nearest, what_follows_an_equals_sign_does_not_count)
{
	cr_expect_str_eq(nearest_of("trafic=a_long_value", options), "traffic");
}

Test(nearest, a_beginning_is_near)
{
	cr_expect_str_eq(nearest_of("tra", options), "traffic");
	cr_expect_null(nearest_of("tr=", (const char *const[]){"traffic", NULL}));
}

Test(nearest, of_words_as_near_the_first)
{
	cr_expect_str_eq(nearest_of("levelx", options), "level");
	cr_expect_str_eq(nearest_of("levelss", options), "levels");
}

Test(nearest, what_is_far_is_not_meant)
{
	cr_expect_null(nearest_of("zyx", options));
	cr_expect_null(nearest_of("", options));
	cr_expect_null(nearest_of("x", (const char *const[]){"a", "y", NULL}));
	cr_expect_null(nearest_of("a_word_that_is_longer_than_all_that_there_are_here", options));
}

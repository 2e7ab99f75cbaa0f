#include "base/words.h"

#include <criterion/criterion.h>

static const struct rf_word colours[] = {{"red", 3}, {"Blue", 1}, {"azure", 1}, {NULL, 0}};

Test(words, a_word_gives_its_value)
{
	int value = -1;
	cr_expect(rf_word_find(colours, "Blue", &value));
	cr_expect_eq(value, 1);
	cr_expect(rf_word_find(colours, "red", &value));
	cr_expect_eq(value, 3);
}

Test(words, another_word_changes_nothing)
{
	int value = -1;
	cr_expect_not(rf_word_find(colours, "blue", &value));
	cr_expect_not(rf_word_find(colours, "re", &value));
	cr_expect_not(rf_word_find(colours, "", &value));
	cr_expect_not(rf_word_find_any_case(colours, "reddish", &value));
	cr_expect_eq(value, -1);
}

Test(words, case_matters_where_it_should)
{
	int value = -1;
	cr_expect(rf_word_find_any_case(colours, "bLUE", &value));
	cr_expect_eq(value, 1);
}

Test(words, a_value_gives_its_first_word)
{
	cr_expect_str_eq(rf_word_of(colours, 1), "Blue");
	cr_expect_null(rf_word_of(colours, 0));
}

/* Looks up words and values in tables of words. */
#include "base/words.h"

#include <stddef.h>
#include <string.h>
#include <strings.h>

static bool find(const struct rf_word *table, const char *word,
		 int (*compare)(const char *, const char *), int *value)
{
	for (; table->word; table++)
		if (compare(table->word, word) == 0) {
			*value = table->value;
			return true;
		}
	return false;
}

bool rf_word_find(const struct rf_word *table, const char *word, int *value)
{
	return find(table, word, strcmp, value);
}

bool rf_word_find_any_case(const struct rf_word *table, const char *word, int *value)
{
	return find(table, word, strcasecmp, value);
}

const char *rf_word_of(const struct rf_word *table, int value)
{
	for (; table->word; table++)
		if (table->value == value)
			return table->word;
	return NULL;
}

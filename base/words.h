/* The words that an option takes, each with the value that it stands for: tables that stand next to
 * an enum and are read by the command line, its help and completion, and by what writes the words.
 */
#pragma once

#include <stdbool.h>

struct rf_word {
	const char *word; /* NULL: the end of the table */
	int value;
};

/* Puts the value of `word` into *value; false, and *value untouched, for a word that is not in the
 * table. */
bool rf_word_find(const struct rf_word *table, const char *word, int *value);
/* The same, in any case of letters. */
bool rf_word_find_any_case(const struct rf_word *table, const char *word, int *value);
/* The first word for a value; NULL: there is none. */
const char *rf_word_of(const struct rf_word *table, int value);

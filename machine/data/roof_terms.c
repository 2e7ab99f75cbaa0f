/* The words of the terms of roofs, and the way back from a word to its value. */
#include "machine/data/roof_terms.h"

#include <assert.h>
#include <string.h>

#define WORD(name, word) #word,

/* By term and value; behind the last one of a term is NULL. */
static const char *const words[ROOF_TERMS][ROOF_OPS + 1] = {
	{
		"",
#define ROOF_ISA WORD
#include "machine/data/roof_terms.def"
		"unknown",
	},
	{
		"",
#define ROOF_PRECISION WORD
#include "machine/data/roof_terms.def"
		"unknown",
	},
	{
		"",
#define ROOF_OP WORD
#include "machine/data/roof_terms.def"
		"unknown",
	},
	{
		"",
#define ROOF_LEVEL WORD
#include "machine/data/roof_terms.def"
		"unknown",
	},
};

static const char *const kinds[ROOF_KINDS] = {"compute", "bandwidth", "zeros", "narrow"};

const char *roof_kind_name(enum roof_kind kind)
{
	assert(kind < ROOF_KINDS);
	return kinds[kind];
}

enum roof_kind roof_kind_find(const char *word)
{
	unsigned kind = 0;
	while (kind < ROOF_KINDS && strcmp(kinds[kind], word) != 0)
		kind++;
	return (enum roof_kind)kind;
}

const char *roof_term_name(enum roof_term term, unsigned value)
{
	assert(value < ROOF_OPS && words[term][value]);
	return words[term][value];
}

unsigned roof_term_find(enum roof_term term, const char *word)
{
	unsigned value = 0;
	while (words[term][value + 1] && strcmp(words[term][value], word) != 0)
		value++;
	return value;
}

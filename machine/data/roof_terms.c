/* The words of the terms of roofs, and the way back from a word to its value. */
#include "machine/data/roof_terms.h"

#include <assert.h>
#include <string.h>

#define WORD(name, word) #word,

static const char *const isas[ROOF_ISAS] = {
	"",
#define ROOF_ISA WORD
#include "machine/data/roof_terms.def"
	"unknown",
};

static const char *const precisions[ROOF_PRECISIONS] = {
	"",
#define ROOF_PRECISION WORD
#include "machine/data/roof_terms.def"
	"unknown",
};

static const char *const ops[ROOF_OPS] = {
	"",
#define ROOF_OP WORD
#include "machine/data/roof_terms.def"
	"unknown",
};

static const char *const levels[ROOF_LEVELS] = {
	"",
#define ROOF_LEVEL WORD
#include "machine/data/roof_terms.def"
	"unknown",
};

static const struct {
	const char *const *words;
	unsigned n;
} terms[ROOF_TERMS] = {
	[ROOF_TERM_ISA] = {isas, ROOF_ISAS},
	[ROOF_TERM_PRECISION] = {precisions, ROOF_PRECISIONS},
	[ROOF_TERM_OP] = {ops, ROOF_OPS},
	[ROOF_TERM_LEVEL] = {levels, ROOF_LEVELS},
};

const char *roof_term_name(enum roof_term term, unsigned value)
{
	assert(value < terms[term].n);
	return terms[term].words[value];
}

unsigned roof_term_find(enum roof_term term, const char *word)
{
	unsigned value = 0;
	while (value < terms[term].n - 1 && strcmp(terms[term].words[value], word) != 0)
		value++;
	return value;
}

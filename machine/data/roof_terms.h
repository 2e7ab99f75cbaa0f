/* What a roof is of, as enums; and their words, for files and for people.
 *
 * NONE is a term that the roof does not have (its word is ""), UNKNOWN a word that this version
 * does not know: such rows are kept and shown, but no look-up finds them. */
#pragma once

/* ROOF_ZEROS: bandwidth with data that is all zeros, which some processors move faster.
 * ROOF_NARROW: bandwidth by accesses of 8 bytes, which is no roof but what a loop of such reaches
 * at most. */
enum roof_kind { ROOF_COMPUTE, ROOF_BANDWIDTH, ROOF_ZEROS, ROOF_NARROW, ROOF_KINDS };

/* ROOF_ISA_ANY is for look-ups alone. */
enum roof_isa {
	ROOF_ISA_NONE,
#define ROOF_ISA(name, word) ROOF_ISA_##name,
#include "machine/data/roof_terms.def"
	ROOF_ISA_UNKNOWN,
	ROOF_ISAS,
	ROOF_ISA_ANY = ROOF_ISAS
};

enum roof_precision {
	ROOF_PRECISION_NONE,
#define ROOF_PRECISION(name, word) ROOF_PRECISION_##name,
#include "machine/data/roof_terms.def"
	ROOF_PRECISION_UNKNOWN,
	ROOF_PRECISIONS
};

enum roof_op {
	ROOF_OP_NONE,
#define ROOF_OP(name, word) ROOF_OP_##name,
#include "machine/data/roof_terms.def"
	ROOF_OP_UNKNOWN,
	ROOF_OPS
};

/* A greater one is farther from the core. */
enum roof_level {
	ROOF_LEVEL_NONE,
#define ROOF_LEVEL(name, word) ROOF_LEVEL_##name,
#include "machine/data/roof_terms.def"
	ROOF_LEVEL_UNKNOWN,
	ROOF_LEVELS
};

/* "compute", "bandwidth", "zeros" or "narrow". */
const char *roof_kind_name(enum roof_kind kind);
/* The kind of a word; ROOF_KINDS where there is none. */
enum roof_kind roof_kind_find(const char *word);

/* For code that treats the four alike, such as a file's columns. */
enum roof_term { ROOF_TERM_ISA, ROOF_TERM_PRECISION, ROOF_TERM_OP, ROOF_TERM_LEVEL, ROOF_TERMS };

/* Bytes of the longest word that a file may hold, with its end; a longer one is damage. */
#define ROOF_WORD_BYTES 16
/* The word of a value of the term's enum. */
const char *roof_term_name(enum roof_term term, unsigned value);
/* The value of a word; UNKNOWN where there is none. */
unsigned roof_term_find(enum roof_term term, const char *word);

/* roof_isa_name(), roof_isa_find() and so on. */
#define ROOF_WORDS(term, TERM)                                                   \
	static inline const char *roof_##term##_name(enum roof_##term value)     \
	{                                                                        \
		return roof_term_name(ROOF_TERM_##TERM, value);                  \
	}                                                                        \
	static inline enum roof_##term roof_##term##_find(const char *word)      \
	{                                                                        \
		return (enum roof_##term)roof_term_find(ROOF_TERM_##TERM, word); \
	}
ROOF_WORDS(isa, ISA)
ROOF_WORDS(precision, PRECISION)
ROOF_WORDS(op, OP)
ROOF_WORDS(level, LEVEL)
#undef ROOF_WORDS

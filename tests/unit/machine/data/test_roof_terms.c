/* The words of roofs' terms: each is found again, and fits into what a file may hold. */
#include "machine/data/roof_terms.h"

#include <criterion/criterion.h>
#include <string.h>

static const unsigned sizes[ROOF_TERMS] = {ROOF_ISAS, ROOF_PRECISIONS, ROOF_OPS, ROOF_LEVELS};

Test(roof_terms, each_word_is_found_again)
{
	for (enum roof_term term = 0; term < ROOF_TERMS; term++)
		for (unsigned value = 0; value < sizes[term]; value++) {
			const char *word = roof_term_name(term, value);
			cr_expect_eq(roof_term_find(term, word), value, "%s", word);
			cr_expect_lt(strlen(word), ROOF_WORD_BYTES, "%s", word);
		}
}

Test(roof_terms, words_are_those_of_the_files)
{
	cr_expect_str_eq(roof_isa_name(ROOF_ISA_AVX512F), "avx512f");
	cr_expect_str_eq(roof_precision_name(ROOF_PRECISION_DOUBLE), "double");
	cr_expect_str_eq(roof_op_name(ROOF_OP_FMA2_ADD1), "fma2_add1");
	cr_expect_str_eq(roof_level_name(ROOF_LEVEL_DRAM), "DRAM");
	cr_expect_str_eq(roof_level_name(ROOF_LEVEL_NONE), "");
}

Test(roof_terms, other_words_are_unknown)
{
	cr_expect_eq(roof_isa_find("avx1024"), ROOF_ISA_UNKNOWN);
	cr_expect_eq(roof_precision_find("Double"), ROOF_PRECISION_UNKNOWN);
	cr_expect_eq(roof_op_find("fma "), ROOF_OP_UNKNOWN);
	cr_expect_eq(roof_level_find("L4"), ROOF_LEVEL_UNKNOWN);
}

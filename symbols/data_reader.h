/* Reads the variables of an ELF file for data_symbols, in a child (base/confined.h). */
#pragma once

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum data_tag {
	DATA_VARIABLE = 1, /* start, end, name; by start, without overlaps */
	DATA_SECTION,      /* start, end, name; by start, without overlaps */
	DATA_DECLARATION,  /* line, name, file */
};

/* Both read the file behind CONFINED_FD, which is at `path`, as struct asking has it
 * (symbols/kept_answers.h).  Damaged files give fewer items.
 *
 * All variables and sections, whatever is asked. */
void data_reader_variables(const char *path, const uint64_t *questions, size_t n, FILE *answer);
/* Where the variables at those addresses are declared. */
void data_reader_declarations(const char *path, const uint64_t *questions, size_t n, FILE *answer);

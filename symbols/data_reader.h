/* Reads the variables of an ELF file for data_symbols, in a child (base/confined.h). */
#pragma once

#include "base/confined.h"

#include <stddef.h>
#include <stdint.h>

enum data_tag {
	DATA_VARIABLE = 1, /* start, end, name; by start, without overlaps */
	DATA_SECTION,      /* start, end, name; by start, without overlaps */
	DATA_DECLARATION,  /* index of the address, line, name, file */
};

/* The file behind CONFINED_FD, which is at `path`, as far as data_symbols_open needs it. */
struct data_question {
	const char *path;
	/* of these variables, sorted, where they are declared; n 0: all variables */
	const uint64_t *declared;
	size_t n_declared;
};
/* context: struct data_question.  Damaged files give fewer items. */
void data_reader(void *context, FILE *answer);

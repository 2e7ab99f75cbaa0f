/* Reads from the files of a module what is not known of its code yet.  It runs in a child without
 * rights (base/confined.h). */
#pragma once

#include "base/error.h"
#include "names/name_facts.h"
#include "symbols/symbols.h"

/* Code that is asked about: [start, end) ran. */
struct code_question {
	uint64_t start, end;
};

/* Adds to `facts` what the questions, in ascending order of `start`, want to know, and all of the
 * functions that they are about, which the next run may ask for.  Lasting facts stay lasting where
 * `symbols` says so.  Fails only when memory is short. */
struct rf_error *read_facts(struct symbol_module *symbols, const struct code_question *questions,
			    size_t n, struct name_facts *facts);

/* Latencies of forms: by chains in which each instruction waits for the one before. */
#pragma once

#include "machine/core/form_measure.h"

/* Sets fact->latency; what cannot be told is NAN. */
void form_latencies(struct form_measure *measure, struct insn_form form,
		    const struct form_shape *shape, struct form_fact *fact);
/* Whether there is a latency from each operand that can be waited for; it may be lacking since it
 * did not repeat.  `shape`: the form's. */
bool form_latencies_known(const struct form_fact *fact, const struct form_shape *shape);
/* Appends a chain of multiplications, `with` the form between each two of them: one value goes
 * through all.  What does not read the register that it writes has another one there: no core does
 * a move from a register to itself by giving it another name. */
void form_add_mixed_chain(struct code *code, struct insn_form form, const struct form_shape *shape,
			  bool with);
/* Measures the ways between registers of different classes, which chains are closed by. */
void form_measure_ways(struct form_measure *measure);

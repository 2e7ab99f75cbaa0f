/* Latencies of forms: by chains in which each instruction waits for the one before. */
#pragma once

#include "machine/core/form_measure.h"

/* Sets fact->latency; what cannot be told is NAN. */
void form_latencies(struct form_measure *measure, struct insn_form form,
		    const struct form_shape *shape, struct form_fact *fact);
/* Measures the ways between registers of different classes, which chains are closed by. */
void form_measure_ways(struct form_measure *measure);

/* Measures what a form of instruction takes on this core. */
#pragma once

#include "machine/core/timed_code.h"
#include "machine/data/core_facts.h"

#define FORM_MOST_PROBES 96 /* in a row around one instruction */

/* What measurements of forms need to know of the machine first. */
struct form_measure {
	struct timed_code *timed;
	struct insn_form probes[CORE_PROBES]; /* mnemonic 0: this machine does not have it */
	/* Cycles of a row of so many; 0: not measured yet, NAN: not known. */
	double probe_rows[CORE_PROBES][FORM_MOST_PROBES + 1];
	/* From a vector register to a general one and back; the same of a mask. */
	double vector_and_back, mask_and_back;
};

/* False: nothing can be measured here. */
bool form_measure_init(struct form_measure *measure);
/* Times the probes that have no time: all of them where probe_rows was set to 0. */
void form_measure_probes(struct form_measure *measure);
void form_measure_deinit(struct form_measure *measure);

/* Fills *out; false: the form cannot be executed here (form_shape_of), or its throughput did not
 * repeat. */
bool form_measure(struct form_measure *measure, struct insn_form form, struct form_fact *out);

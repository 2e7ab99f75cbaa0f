/* From the operands of an instruction to its result, as the machine was measured. */
#pragma once

#include "insn/dataflow.h"
#include "machine/data/core_facts.h"

#define CORE_TICKS 100 /* in a cycle */

/* Cycles as whole ticks; 0: of what is not known. */
uint32_t core_ticks(double cycles);
/* Whether the form computes with 512 bits. */
bool core_is_wide(const struct insn_form *form);
/* Ticks from each operand of the form, and FORM_HIDDEN.  `beside_wide`: of a turn in which
 * something computes with 512 bits. */
void core_latencies(const struct core_facts *facts, const struct dataflow *flow, bool beside_wide,
		    uint32_t latency[FORM_OPERANDS + 1]);
/* Cycles from an address to what is loaded from L1. */
double core_load_cycles(const struct core_facts *facts, const struct dataflow *flow);

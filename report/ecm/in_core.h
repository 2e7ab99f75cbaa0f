/* What one turn of a loop takes in the core while all its data are in L1: the in-core part of the
 * ECM model (Hofmann et al. 2019, section 2), from the instructions that were executed and from
 * what forms of instructions take on this machine (machine/data/core_facts.h).  All times are
 * cycles a turn of the loop's header. */
#pragma once

#include "report/model/model.h"

/* What may bind a turn of those things that overlap with transfers. */
enum in_core_part {
	IN_CORE_ISSUE,   /* instructions over the width of the core's narrowest stage */
	IN_CORE_UNITS,   /* the group of execution units that is busiest */
	IN_CORE_DIVIDER, /* divisions and square roots */
	IN_CORE_TAKEN,   /* taken branches, one a cycle (two on some) */
	IN_CORE_CHAIN,   /* the longest recurrence from turn to turn through registers and memory */
	IN_CORE_PARTS
};

struct in_core {
	double part[IN_CORE_PARTS];
	/* The longest of the parts; for the chain: what is left of it where the loop is left before
	 * the reorder buffer is full. */
	double t_ol;
	/* Loads, stores and their addresses, over the units for these. */
	double t_nol;
	/* part[IN_CORE_CHAIN] before that correction. */
	double lcd;
	/* Share of the executed instructions, 0 to 1, of forms that nobody has measured or tabled:
	 * they count as one slot of issue and the latency of an addition. */
	double unknown;
};

/* In words: "instructions", "execution units", ... */
const char *in_core_part_name(enum in_core_part part);

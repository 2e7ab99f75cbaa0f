/* A second opinion on a loop in the core: what llvm-mca, LLVM's simulator of pipelines, says of its
 * most frequent way (https://llvm.org/docs/CommandGuide/llvm-mca.html).  It is a program that is
 * installed or not; it knows tables where rfprof measures, takes all accesses as hits in L1 and all
 * branches as predicted. */
#pragma once

#include "report/in_core/function_code.h"

/* Older ones are not asked: their tables of today's processors are those of much earlier ones. */
#define SECOND_OPINION_OLDEST 16

struct second_opinion {
	char program[32]; /* "llvm-mca-16" */
	char cpu[32];     /* that it is asked for, "znver4" */
	bool is_other;    /* its table for that is of another core than the profile's */
};

/* The program that is in PATH, and the processor for a microarchitecture by the name that rfprof
 * has for it (NULL: not known).  False: it is not installed, is older than SECOND_OPINION_OLDEST,
 * or has nothing for such a processor.  Takes some 20 ms. */
bool second_opinion_find(const char *microarchitecture, struct second_opinion *opinion);

/* Cycles a turn of innermost loop number `loop` (in function->loops) of the code that
 * function_code_graph has given, each turn on the most frequent way.  NAN: there is no such way, or
 * llvm-mca does not know an instruction of it.  Fails only when memory is short. */
struct rf_error *second_opinion_cycles(const struct second_opinion *opinion,
				       const struct profile *profile,
				       const struct flow_graph *graph,
				       const struct model_function *function, uint32_t loop,
				       double *cycles);

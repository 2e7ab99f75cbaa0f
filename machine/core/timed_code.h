/* Code that was made just now, timed in cycles of the core: those of a chain of dependent adds that
 * is timed beside it (machine/kernels/clock_kernels.h). */
#pragma once

#include "machine/core/form_code.h"

#define TIMED_CODE_MOST 49152 /* bytes of a loop's body */

struct timed_code;
/* NULL: no memory, or none that can be executed. */
struct timed_code *timed_code_create(void);
void timed_code_destroy(struct timed_code *timed);

/* The code to be filled with the body of a loop, empty.  When it runs, rcx is 3 and r13, r12 and
 * the vectors hold constants (form_code.h), rdx is 0, rax points at itself, and r14 at the middle
 * of a buffer whose upper half is 0.  r15 and rsp must stay. */
struct code *timed_code_body(struct timed_code *timed);

/* How wide vectors of the body are at most, which kind their numbers are. */
struct timed_kind {
	enum form_kind vectors; /* KIND_NONE: as few as possible */
	bool single;            /* numbers of single precision */
};

/* Cycles of one turn of the body; NAN: it could not be made, or its time does not repeat within 1
 * %.
 */
double timed_code_cycles(struct timed_code *timed, struct timed_kind kind);
/* Ticks of the time stamp counter that so many turns of the body take, the least of so many looks;
 * NAN: it could not be made.  Of what does not repeat as code in L1 does. */
double timed_code_least_ticks(struct timed_code *timed, uint64_t turns, int looks);

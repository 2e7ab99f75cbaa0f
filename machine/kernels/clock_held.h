/* The clock that the processor holds, of the thread that asks. */
#pragma once

/* 1e9 cycles per second: the median of some 40 chains of dependent adds of 0.1 ms each, so that
 * neither a moment of turbo nor one of other load counts, in processor time of the thread.  Takes 4
 * ms. */
double clock_held_ghz(void);

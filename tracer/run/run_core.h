/* What the instructions of a recorded program take on this machine's core. */
#pragma once

#include "tracer/run/run_state.h"

/* Behind the runs: puts the facts about the core that are known of the forms of instructions that
 * the counted run has executed into the profile (the fact core_facts).  Those that are not known
 * yet are measured now, for a second at most and the most executed first, unless
 * run->options->keep_roofs or the program was interrupted.  Nothing of a program that took less
 * than 0.1 s.  Also measures the clock
 * that the machine holds now (the fact clock_held_ghz).  Fails only when memory is short. */
struct rf_error *run_core_take(struct run *run);

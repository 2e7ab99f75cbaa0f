/* What a profile says about its runs: facts of the command, the system, the sources and the end. */
#pragma once

#include "tracer/run/run_state.h"

/* Before the runs: command, program, kernel, hostname, date, version. */
void run_note_environment(struct run *run);
/* After both runs: whether they did the same. */
void run_note_comparison(struct run *run);
/* At the end: exit status, where the numbers come from, how many threads had samples. */
void run_note_end(struct run *run);

/* Roofs are measured again now and then: what a run does for the next ones. */
#pragma once

#include "machine/data/machine.h"

/* Measures some rows again for about `budget_ns`, and keeps the results: in the file that the
 * machine was read from, and in *machine, whose rows also get their `now` (roofs_again.h).  Nothing
 * is measured where no file is kept, where another process is measuring, and of rows that need a
 * hardware thread that something else uses just now.  Only what is short of memory is an error. */
struct rf_error *machine_measure_again(uint64_t budget_ns, struct machine *machine);

/* Hardware threads that nothing but this process uses, of `online`, when the kernel says `running`
 * in /proc/loadavg ("0.20 0.18 0.12 1/80 11206": 1 of 80 tasks, this one, can run); all where it
 * says nothing. */
int machine_idle_threads(const char *running, int online);

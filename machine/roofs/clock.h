/* The clock of the cores, measured with a chain of dependent adds (one cycle each). */
#pragma once

#include "base/error.h"
#include "machine/roofs/team.h"

struct machine_clock {
	double ghz;    /* 1e9 cycles a second; the mean over the team's threads */
	double fp_ghz; /* the same while the widest vectors multiply and add */
};

/* Measures both for about 10 ms; the highest rates seen. */
struct rf_error *clock_measure(struct team *team, struct machine_clock *clock);

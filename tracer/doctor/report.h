/* `rfprof doctor`: what works here, what each lack costs, and what a run will do. */
#pragma once

#include "tracer/doctor/line.h"

enum { DOCTOR_MAX_LINES = 26 };
struct doctor_report {
	struct doctor_line lines[DOCTOR_MAX_LINES];
	size_t n;
	bool possible;       /* a full profile: times, counts and traffic */
	char missing[320];   /* names of what a default run lacks, "ptrace, BMI2"; or "" */
	char sentence[1400]; /* what `rfprof ./app` will do here */
};

/* Total: all facts have a meaning. */
void doctor_report_make(const struct doctor_facts *facts, struct doctor_report *report);

/* One line of the doctor's report: what was found, what its lack costs, and what to do. */
#pragma once

#include "tracer/doctor/facts.h"

#include <stdio.h>

enum doctor_state { DOCTOR_WORKS, DOCTOR_PARTLY, DOCTOR_MISSING };
/* What a run cannot do without it. */
enum doctor_need { NEED_NOTHING, NEED_TIMES, NEED_COUNTS, NEED_TRAFFIC };

struct doctor_line {
	const char *name;
	enum doctor_state state;
	enum doctor_need need; /* of a default run, where the state is missing */
	char found[1024];
	char cost[400], next[400]; /* "" where it works */
};

#define SAY(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

#define COSTS_COUNTS "nothing is counted: no work, no intensity, no traffic; times alone are shown"
#define UNCONFINED "start the container with --security-opt seccomp=unconfined"

/* A check: what facts mean, in one line. */
typedef void check_fn(const struct doctor_facts *facts, struct doctor_line *line);

/* Says what a lack costs and what to do. */
void doctor_lacks(struct doctor_line *line, enum doctor_state state, const char *cost,
		  const char *next);
/* Adds words to those that are there. */
void doctor_add_words(char *text, size_t size, const char *between, const char *words);

const char *doctor_state_name(enum doctor_state state); /* "works", "partly", "missing" */

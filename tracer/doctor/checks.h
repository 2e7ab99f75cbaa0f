/* Checks: from facts to a line each, by subject.  checks.c has their table, and adds them up. */
#pragma once

#include "tracer/doctor/doctor.h"

#include <stdio.h>

#define SAY(field, ...) snprintf(field, sizeof(field), __VA_ARGS__)

#define COSTS_COUNTS "nothing is counted: no work, no intensity, no traffic; times alone are shown"
#define UNCONFINED "start the container with --security-opt seccomp=unconfined"

/* checks.c: says what a lack costs and what to do; adds words to those that are there. */
void doctor_lacks(struct doctor_line *line, enum doctor_state state, const char *cost,
		  const char *next);
void doctor_add_words(char *text, size_t size, const char *between, const char *words);

typedef void check_fn(const struct doctor_facts *facts, struct doctor_line *line);
/* checks_system.c */
check_fn check_kernel, check_proc, check_sys, check_hypervisor, check_container, check_seccomp;
/* checks_times.c: of the timed run.  Whether perf samples here, or a timer. */
check_fn check_paranoid, check_perf, check_timer, check_locked, check_descriptors;
bool doctor_perf_works(const struct doctor_facts *facts);
bool doctor_timer_works(const struct doctor_facts *facts);
/* checks_tracing.c: of the counted run */
check_fn check_scope, check_ptrace, check_memory, check_address_space, check_fsgsbase, check_bmi2;
/* checks_caches.c: caches, roofs, names */
check_fn check_caches, check_roofs, check_debuginfod;
/* checks_counters.c */
check_fn check_pmu, check_events, check_uncore, check_resctrl;
/* Why there is no PMU, in the words for what is known of this machine. */
struct doctor_refusal doctor_explained_pmu(const struct doctor_facts *facts);

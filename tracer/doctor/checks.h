/* The checks, by subject in checks_*.c.  A new one is a row of the table in report.c, a function
 * there, and a fact in facts.h. */
#pragma once

#include "tracer/doctor/line.h"

check_fn check_kernel, check_proc, check_sys, check_hypervisor, check_container, check_seccomp;
check_fn check_paranoid, check_kernel_time, check_perf, check_attach, check_timer, check_locked,
	check_descriptors;
check_fn check_scope, check_ptrace, check_memory, check_address_space, check_fsgsbase, check_bmi2;
check_fn check_caches, check_roofs, check_debuginfod;
check_fn check_pmu, check_events, check_uncore, check_resctrl;

/* Whether perf samples here. */
bool doctor_perf_works(const struct doctor_facts *facts);
/* Why there is no PMU, in the words for what is known of this machine. */
struct doctor_refusal doctor_explained_pmu(const struct doctor_facts *facts);

/* Checks of hardware counters. */
#pragma once

#include "tracer/doctor/line.h"

check_fn check_pmu, check_events, check_uncore, check_resctrl;

/* Why there is no PMU, in the words for what is known of this machine. */
struct doctor_refusal doctor_explained_pmu(const struct doctor_facts *facts);

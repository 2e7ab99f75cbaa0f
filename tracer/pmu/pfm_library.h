/* libpfm4, which is loaded when events are looked for: its tables of all processors take a
 * millisecond to load, and where there is no PMU nobody asks. */
#pragma once

#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>

struct pfm_library {
	pfm_err_t (*pmu_info)(pfm_pmu_t pmu, pfm_pmu_info_t *info);
	pfm_err_t (*encode)(const char *event, int levels, pfm_os_t os, void *argument);
	const char *(*error)(int code);
};

/* Loaded and initialised; NULL: it cannot be. */
const struct pfm_library *pfm_library(void);

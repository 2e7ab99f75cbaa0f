/* The attributes of breakpoints. */
#include "tracer/perf/breakpoint.h"

#include <linux/hw_breakpoint.h>

struct perf_event_attr breakpoint_attributes(uint64_t address)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long), /* as the kernel wants it for those at code */
		.sample_period = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

/* Attributes of breakpoints. */
#include "tracer/calls/call_event.h"

#include "tracer/perf/perf_ring.h"

#include <linux/hw_breakpoint.h>
#include <time.h>

struct perf_event_attr call_event_attributes(uint64_t address)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_BREAKPOINT,
		.size = sizeof(struct perf_event_attr),
		.bp_type = HW_BREAKPOINT_X,
		.bp_addr = address,
		.bp_len = sizeof(long),
		.sample_period = 1,
		.sample_type = PERF_RING_HIT_TYPE,
		.sample_regs_user = 1ull << PERF_REG_X86_SP,
		.disabled = 1,
		.inherit = 1,
		.remove_on_exec = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
		.sample_id_all = 1,
		.use_clockid = 1,
		.clockid = CLOCK_MONOTONIC,
		.watermark = 1,
		.wakeup_watermark = UINT32_MAX,
	};
}

/* Attributes of breakpoints. */
#include "tracer/calls/call_event.h"

#include "tracer/perf/breakpoint.h"
#include "tracer/perf/event_records.h"
#include "tracer/perf/perf_ring.h"

#include <asm/perf_regs.h>

struct perf_event_attr call_event_attributes(uint64_t address)
{
	struct perf_event_attr attr = breakpoint_attributes(address);
	attr.sample_type = PERF_RING_HIT_TYPE;
	attr.sample_regs_user = 1ull << PERF_REG_X86_SP;
	attr.sample_stack_user = sizeof(uint64_t);
	attr.disabled = 1;
	attr.inherit = 1;
	attr.remove_on_exec = 1;
	event_records_have_times(&attr);
	attr.watermark = 1;
	attr.wakeup_watermark = UINT32_MAX;
	return attr;
}

struct perf_event_attr call_event_records(void)
{
	struct perf_event_attr attr = call_event_attributes(0);
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.bp_type = attr.sample_period = attr.disabled = attr.remove_on_exec = 0;
	attr.config2 = 0;
	return attr;
}

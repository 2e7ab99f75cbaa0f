/* What a sample costs. */
#include "tracer/timed/sample_cost.h"

#include "tracer/perf/perf_ring.h"

#include <criterion/criterion.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static struct perf_event_attr cpu_clock(void)
{
	return (struct perf_event_attr){
		.type = PERF_TYPE_SOFTWARE,
		.size = sizeof(struct perf_event_attr),
		.config = PERF_COUNT_SW_CPU_CLOCK,
		.sample_type = PERF_RING_SAMPLE_TYPE,
		.sample_regs_user = PERF_RING_REGS_USER,
		.sample_stack_user = 4096,
		.sample_period = 997001,
		.disabled = 1,
		.exclude_kernel = 1,
		.exclude_hv = 1,
	};
}

/* From a fast machine's interrupt to one in a virtual machine inside another.  Where others have
 * the processor in the middle of a pair of loops its cost is too high, or too low and told as 0. */
Test(sample_cost, is_that_of_an_interrupt)
{
	struct perf_event_attr attr = cpu_clock();
	int event = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, 0);
	if (event < 0)
		cr_skip_test("perf_event_open is refused here");
	close(event);
	uint64_t best = UINT64_MAX, best_rough = UINT64_MAX, most = 0;
	for (int i = 0; i < 5; i++) {
		uint64_t cost = sample_cost_ns(&attr, false), rough = sample_cost_ns(&attr, true);
		best = cost < best ? cost : best;
		most = cost > most ? cost : most;
		best_rough = rough < best_rough ? rough : best_rough;
	}
	cr_assert_lt(best, 200000);
	cr_assert_gt(most, 100);
	cr_assert_lt(best_rough, 200000);
}

Test(sample_cost, is_none_where_there_are_no_samples)
{
	struct perf_event_attr unknown = cpu_clock();
	unknown.type = 0x7ffffff;
	cr_assert_eq(sample_cost_ns(&unknown, false), 0);
}

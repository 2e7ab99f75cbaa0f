/* Processes that have what another one has mapped. */
#include "tracer/calls/call_processes.h"

#include <criterion/criterion.h>

Test(call_processes, those_that_were_forked_afterwards)
{
	struct call_processes processes = {0};
	call_processes_add(&processes, 20, 10, 5);  /* before */
	call_processes_add(&processes, 30, 10, 15); /* after */
	call_processes_add(&processes, 40, 20, 16); /* of one of before */
	call_processes_add(&processes, 50, 30, 17);
	call_processes_add(&processes, 20, 50, 18); /* a number that was used again */
	const struct {
		uint32_t pid;
		bool shares;
	} cases[] = {{10, true}, {30, true}, {40, false}, {50, true}, {20, true}, {60, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_eq(call_processes_share(&processes, cases[i].pid, 10, 10),
			     cases[i].shares, "process %u", cases[i].pid);
	cr_assert(!call_processes_share(&processes, 30, 10, 16));
	cr_assert(!processes.memory_is_short);
	call_processes_deinit(&processes);
}

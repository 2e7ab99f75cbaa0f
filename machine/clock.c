#include "machine/clock.h"

#define ADDS_PER_COUNT 256

static void dependent_adds(void *context, int thread, uint64_t count)
{
	uint64_t sum = 0, step = count | 1;
	__asm__ volatile(".p2align 6\n"
			 "1:\n\t"
			 ".rept 256\n\t"
			 "add %[step], %[sum]\n\t"
			 ".endr\n\t"
			 "dec %[count]\n\t"
			 "jnz 1b"
			 : [sum] "+r"(sum), [count] "+r"(count)
			 : [step] "r"(step)
			 : "cc");
}

struct rf_error *clock_measure(struct team *team, const struct measure_effort *effort, double *ghz)
{
	struct measure_task task = { .run = dependent_adds, .work = ADDS_PER_COUNT };
	struct measure_rate rate;
	size_t best;
	struct rf_error *error = measure_fastest(team, &task, 1, effort, &rate, &best);
	if (!error)
		*ghz = rate.best / team_size(team);
	return error;
}

/* The clock that lasts, beside chains whose cycles are known. */
#include "base/clock.h"
#include "machine/kernels/clock_held.h"
#include "machine/kernels/clock_kernels.h"

#include <criterion/criterion.h>
#include <math.h>
#include <signal.h>
#include <sys/time.h>

/* The median of many chains is no higher than the fastest of others, but for turbo, and is some
 * clock of a processor, however busy that is. */
Test(clock_held, is_no_higher_than_the_fastest_chain)
{
	double fastest = 0, held = INFINITY;
	for (int i = 0; i < 200; i++) {
		const uint64_t start = clock_now_ns();
		clock_adds(1000);
		fastest = fmax(fastest,
			       1000.0 * CLOCK_CYCLES_PER_COUNT / (double)(clock_now_ns() - start));
		if (i % 50 == 49)
			held = fmin(held, clock_held_ghz());
	}
	cr_expect(held > 0.02 && held < 2 * fastest, "%g beside %g", held, fastest);
}

static void go_on_in_50_us(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 50}};
	setitimer(ITIMER_REAL, &soon, NULL);
}

static void others_run(int number)
{
	const struct timespec time = {.tv_nsec = 300000};
	(void)number;
	nanosleep(&time, NULL);
	go_on_in_50_us();
}

/* Each chain of 0.1 ms is interrupted for several times as long, as on a processor that is shared.
 */
Test(clock_held, is_not_lower_because_others_run_in_between)
{
	double fastest = 0;
	for (int i = 0; i < 100; i++) {
		const uint64_t start = clock_thread_ns();
		clock_adds(1000);
		fastest = fmax(fastest, 1000.0 * CLOCK_CYCLES_PER_COUNT /
						(double)(clock_thread_ns() - start));
	}
	struct sigaction action = {.sa_handler = others_run};
	sigaction(SIGALRM, &action, NULL);
	go_on_in_50_us();
	const double held = clock_held_ghz();
	signal(SIGALRM, SIG_IGN);
	/* by the clock it would be a seventh; signals and timers take the thread's own time, half
	 * of it where a virtual machine's timers are dear */
	cr_expect(held > 0.3 * fastest, "%g beside %g", held, fastest);
}

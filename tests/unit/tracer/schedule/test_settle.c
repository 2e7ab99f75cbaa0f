/* What records of switches do not tell, shared out: threads that lose a little at each switch. */
#include "tracer/schedule/settle.h"

#include <criterion/criterion.h>
#include <stdlib.h>

enum { THREADS = 8, ROUNDS = 2000 };

static uint64_t seed = 7;

static uint64_t any(uint64_t n)
{
	seed = seed * 6364136223846793005u + 1442695040888963407u;
	return (seed >> 33) % n;
}

static uint64_t distance(uint64_t a, uint64_t b)
{
	return a > b ? a - b : b - a;
}

/* Each switch takes `each`, give or take a tenth; threads are looked at somewhere in their lives.
 */
static uint64_t make(struct settle_thread *threads, uint64_t *ran, uint64_t *ready, uint64_t each)
{
	uint64_t total = 0;
	for (size_t i = 0; i < THREADS; i++) {
		struct settle_thread *t = &threads[i];
		const uint64_t of_this = each + any(each / 5 + 1) - each / 10;
		const uint64_t at_look = 500 + any(2000), behind = any(1000);
		const uint64_t woken = any(3000);
		*t = (struct settle_thread){
			.switches = at_look + behind,
			.process = 1,
			.ran_ns = any(1000000000),
			.waited_ns = 100000000 + any(1000000000),
			.excess = {true, (int64_t)(of_this * at_look), (int64_t)(woken * at_look),
				   at_look},
			.is_final = i == 0,
		};
		if (t->is_final) {
			t->excess.ran_ns = (int64_t)(of_this * t->switches);
			t->excess.ready_ns = (int64_t)(woken * t->switches);
		}
		ran[i] = t->ran_ns + of_this * t->switches;
		ready[i] = woken * t->switches;
		total += ran[i];
	}
	return total;
}

Test(settle, gives_each_thread_what_the_kernel_says)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct settle_thread threads[THREADS], before[THREADS];
		uint64_t ran[THREADS], ready[THREADS], sum = 0;
		const uint64_t total = make(threads, ran, ready, 1000 + any(14000));
		for (size_t i = 0; i < THREADS; i++)
			before[i] = threads[i];
		settle(threads, THREADS, 1, total);
		for (size_t i = 0; i < THREADS; i++) {
			const struct settle_thread *t = &threads[i], *b = &before[i];
			const uint64_t more = ran[i] - b->ran_ns;
			cr_assert_eq(t->ran_ns + t->ready_ns + t->waited_ns,
				     b->ran_ns + b->ready_ns + b->waited_ns);
			cr_assert_leq(distance(t->ran_ns, ran[i]), more / 50 + 100);
			cr_assert_leq(distance(t->ready_ns, ready[i]), ready[i] / 50 + 500000);
			sum += t->ran_ns;
		}
		cr_assert_eq(threads[0].ran_ns, ran[0]);
		cr_assert_leq(distance(sum, total), 100);
	}
}

/* A thread that nobody has looked at gets what is left of its process. */
Test(settle, threads_that_were_not_looked_at)
{
	for (int round = 0; round < ROUNDS; round++) {
		struct settle_thread threads[THREADS] = {{0}};
		uint64_t total = 0, ran[THREADS];
		for (size_t i = 0; i < THREADS; i++) {
			threads[i] = (struct settle_thread){.ran_ns = any(100000000),
							    .waited_ns = 1000000000,
							    .switches = any(20000),
							    .process = i < 4 ? 1 : 2};
			ran[i] = threads[i].ran_ns + 9000 * (threads[i].switches + 1);
			total += i < 4 ? ran[i] : 0;
		}
		const struct settle_thread other = threads[7];
		settle(threads, THREADS, 1, total);
		for (size_t i = 0; i < 4; i++)
			cr_assert_leq(distance(threads[i].ran_ns, ran[i]), 100);
		cr_assert_eq(threads[7].ran_ns, other.ran_ns);
	}
}

/* Nothing is invented beyond what a switch can take, nor beyond a life. */
Test(settle, sums_that_make_no_sense)
{
	struct settle_thread thread = {.ran_ns = 1000,
				       .waited_ns = 500,
				       .switches = 3,
				       .process = 1,
				       .excess = {true, 100000, 100000, 1}};
	settle(&thread, 1, 1, 900000000);
	cr_assert_eq(thread.ran_ns + thread.ready_ns + thread.waited_ns, 1500);
	thread = (struct settle_thread){
		.ran_ns = 1000000, .waited_ns = 5000000, .switches = 3, .process = 1};
	settle(&thread, 1, 1, 900000000);
	cr_assert_leq(thread.ran_ns, 1000000 + 4 * 50000);
}

/* A processor that was taken away is one that was waited for; what is behind the end is neither. */
Test(settle, stolen_time_is_ready)
{
	struct settle_thread thread = {.ran_ns = 10000000,
				       .waited_ns = 0,
				       .late_ns = 100000,
				       .process = 1,
				       .excess = {true, -3000000, 0, 0},
				       .is_final = true};
	settle(&thread, 1, 1, 7000000);
	cr_assert_eq(thread.ran_ns, 7000000);
	cr_assert_eq(thread.ready_ns, 2900000);
	cr_assert_eq(thread.waited_ns, 100000);
}

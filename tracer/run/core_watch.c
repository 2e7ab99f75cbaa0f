/* A thread that asks, now and then, what is left of the cores that the program runs on: only who
 * runs on a core sees it. */
#include "tracer/run/core_watch.h"

#include "base/clock.h"
#include "base/search.h"
#include "base/thread.h"
#include "machine/kernels/core_rates.h"

#include <sched.h>
#include <stdlib.h>
#include <x86intrin.h>

/* A look takes some 40 us: of the program's time a 500th, and later a thousandth. */
#define FIRST_NS UINT64_C(20000000)
#define LATER_NS UINT64_C(50000000)
#define FIRST_LOOKS 50
#define KEPT 1000 /* looks, the last ones */
#define QUIET 5   /* one of so many, that with the most slots, is taken for quiet */

struct core_watch {
	struct sampler *sampler;
	pthread_t thread;
	sem_t end;
	int cpu; /* that was looked at last */
	uint64_t n;
	double rates[CORE_RATES], tick_cycles; /* sums */
	uint64_t begin_tick, begin_ns;
	double cycles[KEPT][CORE_RATES];
};

static bool take_mark(struct sampler *sampler, int cpu)
{
	const uint64_t bit = 1ull << cpu % 64;
	return __atomic_load_n(&sampler->ran_on[cpu / 64], __ATOMIC_RELAXED) & bit &&
	       __atomic_fetch_and(&sampler->ran_on[cpu / 64], ~bit, __ATOMIC_RELAXED) & bit;
}

/* The next one behind the last that had samples since it was looked at; -1: none has. */
static int next_cpu(const struct core_watch *watch)
{
	for (int i = 1; i <= SAMPLER_CPUS; i++) {
		const int cpu = (watch->cpu + i) % SAMPLER_CPUS;
		if (take_mark(watch->sampler, cpu))
			return cpu;
	}
	return -1;
}

static bool go_to(int cpu)
{
	cpu_set_t *set = CPU_ALLOC(SAMPLER_CPUS);
	if (!set)
		return false;
	CPU_ZERO_S(CPU_ALLOC_SIZE(SAMPLER_CPUS), set);
	CPU_SET_S(cpu, CPU_ALLOC_SIZE(SAMPLER_CPUS), set);
	const bool there = sched_setaffinity(0, CPU_ALLOC_SIZE(SAMPLER_CPUS), set) == 0;
	CPU_FREE(set);
	return there;
}

static void look(struct core_watch *watch)
{
	double cycles[CORE_RATES], tick_cycles;
	const int cpu = next_cpu(watch);
	if (cpu < 0)
		return;
	watch->cpu = cpu;
	if (!go_to(cpu) || !core_rates_look(cycles, &tick_cycles))
		return;
	watch->tick_cycles += tick_cycles;
	for (int i = 0; i < CORE_RATES; i++) {
		watch->rates[i] += 1 / cycles[i];
		watch->cycles[watch->n % KEPT][i] = cycles[i];
	}
	watch->n++;
}

static uint64_t next_look(const struct core_watch *watch)
{
	return clock_now_ns() + (watch->n < FIRST_LOOKS ? FIRST_NS : LATER_NS);
}

static void *look_often(void *context)
{
	struct core_watch *watch = context;
	thread_wake_promptly();
	while (thread_wait_until(&watch->end, next_look(watch)))
		look(watch);
	return NULL;
}

struct core_watch *core_watch_start(struct sampler *sampler)
{
	struct core_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return NULL;
	watch->sampler = sampler;
	watch->cpu = -1;
	watch->begin_tick = __rdtsc();
	watch->begin_ns = clock_now_ns();
	sem_init(&watch->end, 0, 0);
	if (thread_start(&watch->thread, look_often, watch) == 0)
		return watch;
	free(watch);
	return NULL;
}

/* Rows of cycles by one of their columns. */
static int compare(const void *a, const void *b, void *column)
{
	const enum core_rate *rate = column;
	const double *x = a, *y = b;
	return rf_compare(x[*rate], y[*rate]);
}

/* looks->least: looks at branches differ by chance, so that it is not the least of each. */
static void find_quiet(struct core_watch *watch, struct core_looks *looks)
{
	const size_t kept = watch->n < KEPT ? watch->n : KEPT, quiet = kept / QUIET + 1;
	for (enum core_rate rate = CORE_RATE_SLOTS; rate < CORE_RATES && kept; rate++) {
		const bool is_first = rate == CORE_RATE_SLOTS;
		qsort_r(watch->cycles, is_first ? kept : quiet, sizeof(*watch->cycles), compare,
			&rate);
		looks->least[rate] = watch->cycles[quiet / 2][rate];
	}
}

void core_watch_stop(struct core_watch *watch, struct core_looks *looks)
{
	*looks = (struct core_looks){0};
	if (!watch)
		return;
	sem_post(&watch->end);
	pthread_join(watch->thread, NULL);
	const double ticks = (double)(__rdtsc() - watch->begin_tick),
		     ns = (double)(clock_now_ns() - watch->begin_ns);
	looks->n = watch->n;
	looks->clock_ghz =
		watch->n && ns > 0 ? watch->tick_cycles / (double)watch->n * ticks / ns : 0;
	find_quiet(watch, looks);
	for (int i = 0; i < CORE_RATES && watch->n; i++)
		looks->rates[i] = watch->rates[i] / (double)watch->n;
	sem_destroy(&watch->end);
	free(watch);
}

/* Takes from waits what was none. */
#include "tracer/schedule/settle_waits.h"

#include <math.h>
#include <stdlib.h>

/* Of a thread's waits, sampled ones and others. */
struct change {
	double n, n_unknown;
	double each_ns; /* of each: it ran */
	double left_ns; /* of all, without that */
	double factor;  /* of what is left: it waited */
};

static double left_of(double ns, double n, const struct change *change)
{
	return fmax(0, ns - n * change->each_ns);
}

static double factor_of(double ns, double n, const struct change *change)
{
	return ns > 0 ? left_of(ns, n, change) * change->factor / ns : 1;
}

static void scale(uint64_t *ns, double factor)
{
	*ns = (uint64_t)((double)*ns * factor);
}

static void find_factor(struct change *change, const struct schedule_thread *thread,
			uint64_t waited_ns)
{
	change->n_unknown = fmax(0, (double)thread->voluntary - change->n);
	change->left_ns += left_of((double)thread->unknown_ns, change->n_unknown, change);
	change->factor = change->left_ns > 0 ? (double)waited_ns / change->left_ns : 1;
}

static void change_thread(struct schedule_thread *thread, const struct settle_thread *settled,
			  const struct change *change)
{
	const double factor = factor_of((double)thread->unknown_ns, change->n_unknown, change);
	scale(&thread->unknown_ns, factor);
	scale(&thread->unknown_alone_ns, factor);
	scale(&thread->unknown_others_ns, factor);
	thread->ran_ns = settled->ran_ns;
	thread->ready_ns = settled->ready_ns;
	thread->waited_ns = settled->waited_ns;
}

void settle_waits(struct schedule_wait *waits, size_t n_waits, struct schedule_thread *threads,
		  const struct settle_thread *settled, size_t n)
{
	struct change *changes = calloc(n + 1, sizeof(*changes));
	if (!changes)
		return;
	for (size_t i = 0; i < n; i++)
		if (settled[i].ran_ns > threads[i].ran_ns && settled[i].switches)
			changes[i].each_ns = (double)(settled[i].ran_ns - threads[i].ran_ns) /
					     (double)settled[i].switches;
	for (size_t i = 0; i < n_waits; i++)
		if (waits[i].thread < n) {
			struct change *of = &changes[waits[i].thread];
			of->n++;
			of->left_ns += left_of((double)waits[i].time_ns, 1, of);
		}
	for (size_t i = 0; i < n; i++) {
		find_factor(&changes[i], &threads[i], settled[i].waited_ns);
		change_thread(&threads[i], &settled[i], &changes[i]);
	}
	for (size_t i = 0; i < n_waits; i++) {
		struct schedule_wait *wait = &waits[i];
		if (wait->thread >= n)
			continue;
		const double factor = factor_of((double)wait->time_ns, 1, &changes[wait->thread]);
		scale(&wait->time_ns, factor);
		scale(&wait->alone_ns, factor);
		scale(&wait->others_ns, factor);
	}
	free(changes);
}

/* Of a thread's waits: what of them it was ready.  Some of its waits it ran, just before it was
 * said to. */
static double share_of(const struct schedule_thread *thread, const struct settle_thread *settled)
{
	const double ran = fmax(0, (double)settled->ran_ns - (double)thread->ran_ns);
	const double less = (double)thread->waited_ns - (double)settled->waited_ns - ran;
	return less > 0 ? less / (double)thread->waited_ns : 0;
}

double ready_share(const struct schedule_wait *waits, size_t n_waits,
		   const struct schedule_thread *threads, const struct settle_thread *settled,
		   size_t n)
{
	double ready = 0, all = 0;
	for (size_t i = 0; i < n; i++) {
		const double alone = (double)threads[i].unknown_alone_ns;
		ready += alone * share_of(&threads[i], &settled[i]);
		all += alone;
	}
	for (size_t i = 0; i < n_waits; i++) {
		const uint32_t thread = waits[i].thread;
		if (thread >= n)
			continue;
		ready += (double)waits[i].alone_ns * share_of(&threads[thread], &settled[thread]);
		all += (double)waits[i].alone_ns;
	}
	return all > 0 ? ready / all : 0;
}

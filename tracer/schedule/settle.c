/* Shares out what records of switches do not tell. */
#include "tracer/schedule/settle.h"

#include <math.h>

/* What a switch takes at most.  More is something else: a look that was late, records that were
 * lost. */
#define MOST_SWITCH_NS 50000.0

/* A thread that was switched to as often counts as much as all threads of the run together. */
#define PRIOR_SWITCHES 16.0

/* ns of each switch. */
struct rates {
	double ran, ready;
};

static double within(double value, double least, double most)
{
	return value < least ? least : value > most ? most : value;
}

/* Of all threads that were looked at. */
static struct rates rates_of_all(const struct settle_thread *threads, size_t n)
{
	struct rates sum = {0, 0};
	double switches = 0;
	for (size_t i = 0; i < n; i++) {
		const struct settle_excess *excess = &threads[i].excess;
		if (!excess->known)
			continue;
		sum.ran += (double)excess->ran_ns;
		sum.ready += (double)excess->ready_ns;
		switches += (double)excess->switches;
	}
	if (!(switches > 0))
		return (struct rates){0, 0};
	return (struct rates){within(sum.ran / switches, 0, MOST_SWITCH_NS), sum.ready / switches};
}

static struct rates rates_of(const struct settle_thread *thread, const struct rates *all)
{
	const struct settle_excess *excess = &thread->excess;
	const double weight = (double)excess->switches + PRIOR_SWITCHES;
	const double ran = (double)excess->ran_ns + PRIOR_SWITCHES * all->ran;
	const double ready = (double)excess->ready_ns + PRIOR_SWITCHES * all->ready;
	return excess->known
		       ? (struct rates){within(ran / weight, 0, MOST_SWITCH_NS), ready / weight}
		       : *all;
}

/* Runs and is ready so much longer, within its life.  What it ran less than the records say was
 * taken from it by a hypervisor, unless it had ended. */
static void change(struct settle_thread *thread, double ran, double ready)
{
	const double life = (double)(thread->ran_ns + thread->ready_ns + thread->waited_ns);
	const double stolen = fmax(0, -ran - (double)thread->late_ns);
	const double runs = within((double)thread->ran_ns + ran, 0, life);
	const double waits = within((double)thread->ready_ns + ready + stolen, 0, life - runs);
	const uint64_t whole = thread->ran_ns + thread->ready_ns + thread->waited_ns;
	thread->ran_ns = (uint64_t)runs;
	thread->ready_ns = (uint64_t)waits;
	thread->waited_ns = whole - thread->ran_ns - thread->ready_ns;
}

static double switches_since(const struct settle_thread *thread)
{
	return thread->is_final ? 0 : (double)(thread->switches - thread->excess.switches);
}

/* What is left of the process's sum goes to those whose own is not known, each by its switches and
 * its end. */
static void share_rest(struct settle_thread *threads, size_t n, uint32_t process, uint64_t total_ns)
{
	double rest = (double)total_ns, parts = 0;
	for (size_t i = 0; i < n; i++)
		if (threads[i].process == process) {
			rest -= (double)threads[i].ran_ns;
			parts += threads[i].is_final ? 0 : switches_since(&threads[i]) + 1;
		}
	for (size_t i = 0; i < n && parts > 0; i++)
		if (threads[i].process == process && !threads[i].is_final)
			change(&threads[i],
			       within(rest / parts, -MOST_SWITCH_NS, MOST_SWITCH_NS) *
				       (switches_since(&threads[i]) + 1),
			       0);
}

void settle(struct settle_thread *threads, size_t n, uint32_t process, uint64_t total_ns)
{
	const struct rates all = rates_of_all(threads, n);
	for (size_t i = 0; i < n; i++) {
		struct settle_thread *thread = &threads[i];
		const struct rates rates = rates_of(thread, &all);
		const double since = switches_since(thread);
		change(thread, (double)thread->excess.ran_ns + rates.ran * since,
		       (double)thread->excess.ready_ns + rates.ready * since);
	}
	if (total_ns)
		share_rest(threads, n, process, total_ns);
}

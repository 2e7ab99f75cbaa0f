/* Takes in what the kernel told of threads when all records have been played. */
#include "tracer/schedule/schedule_state.h"
#include "tracer/schedule/settle_waits.h"

#include <stdlib.h>

/* Not by more than the end of a process takes: rfprof may have been kept from seeing it. */
static void add_end(struct schedule *schedule, const struct schedule_first *first)
{
	for (size_t i = 0; i < schedule->n_threads; i++) {
		struct live *thread = &schedule->threads[i];
		const uint64_t told = thread->sums.end;
		if (thread->sums.tid != first->tid || told != schedule->now ||
		    first->end_ns <= told || first->end_ns - told > SCHEDULE_MOST_END_NS)
			continue;
		schedule->n_in[RUNNING]++;
		schedule_advance(schedule, first->end_ns);
		schedule->n_in[RUNNING]--;
		thread->late_ns = first->end_ns - told;
		thread->sums.ran_ns += thread->late_ns;
		thread->sums.end = first->end_ns;
	}
}

/* Both runs of the kernel's sums of the first thread begin where its life here does.  Of a part of
 * the run they say nothing. */
static void take_first(const struct live *thread, const struct schedule_first *first,
		       struct settle_thread *settled)
{
	if (thread->sums.tid != first->tid)
		return;
	settled->excess.ran_ns -= settled->excess.known ? (int64_t)first->before.ran_ns : 0;
	settled->excess.ready_ns -= settled->excess.known ? (int64_t)first->before.ready_ns : 0;
	if (!first->has_sums)
		return;
	settled->is_final = true;
	settled->excess = (struct settle_excess){
		true,
		(int64_t)(first->sums.ran_ns - first->before.ran_ns - thread->sums.ran_ns),
		(int64_t)(first->sums.ready_ns - first->before.ready_ns - thread->sums.ready_ns),
		thread->switches,
	};
}

/* Of the first process, which may have the id of its first thread alone. */
static uint64_t total_of(const struct schedule_first *first)
{
	return first->process_ns > first->before.ran_ns ? first->process_ns - first->before.ran_ns
							: 0;
}

/* By the clock: threads ran just before they were switched to; the first one may have waited for a
 * processor at its start, and had ended for a while when that was seen; and a hypervisor takes
 * processors away that were said to run. */
static void settle_clock(struct schedule *schedule, const struct settle_thread *settled)
{
	struct schedule_sums *sums = &schedule->sums;
	double longer = 0, stolen = 0;
	for (size_t i = 0; i < schedule->n_threads; i++) {
		const struct live *thread = &schedule->threads[i];
		const uint64_t ran = thread->sums.ran_ns, runs = settled[i].ran_ns;
		longer += runs > ran ? (double)(runs - ran) : 0;
		if (runs >= ran)
			continue;
		const uint64_t late = schedule_lesser(ran - runs, thread->late_ns);
		const uint64_t start = schedule_lesser(ran - runs - late, thread->start_ns);
		schedule_sums_shorten(sums, thread->sums.end - thread->late_ns, thread->sums.end,
				      late, false);
		schedule_sums_shorten(sums, thread->sums.start,
				      thread->sums.start + thread->start_ns, start, true);
		stolen += (double)(ran - runs - late - start);
	}
	schedule_sums_steal(sums, (uint64_t)stolen);
	schedule_sums_lengthen(sums, (uint64_t)longer);
	schedule_sums_ready(sums, ready_share(schedule->waits, schedule->n_waits,
					      schedule->finished, settled, schedule->n_threads));
}

static void settle_threads(struct schedule *schedule, const struct schedule_first *first)
{
	const size_t n = schedule->n_threads;
	struct settle_thread *settled = calloc(n + 1, sizeof(*settled));
	for (size_t i = 0; settled && i < n; i++) {
		const struct live *thread = &schedule->threads[i];
		settled[i] = (struct settle_thread){
			.ran_ns = thread->sums.ran_ns,
			.ready_ns = thread->sums.ready_ns,
			.waited_ns = thread->sums.waited_ns,
			.late_ns = thread->late_ns,
			.switches = thread->switches,
			.process = thread->sums.pid,
			.excess = thread->excess,
		};
		if (!schedule->clips)
			take_first(thread, first, &settled[i]);
	}
	if (settled) {
		settle(settled, n, first->tid, schedule->clips ? 0 : total_of(first));
		settle_clock(schedule, settled);
		settle_waits(schedule->waits, schedule->n_waits, schedule->finished, settled, n);
	}
	free(settled);
}

void schedule_finish(struct schedule *schedule, const struct schedule_first *first)
{
	schedule_play(schedule, UINT64_MAX);
	if (schedule->clips && first->end_ns)
		schedule_advance(schedule, schedule_clipped(schedule, first->end_ns));
	else
		add_end(schedule, first);
	for (size_t i = 0; i < schedule->n_threads; i++)
		if (schedule->threads[i].state != GONE)
			schedule_end_thread(schedule, &schedule->threads[i]);
	schedule->finished = calloc(schedule->n_threads + 1, sizeof(*schedule->finished));
	for (size_t i = 0; schedule->finished && i < schedule->n_threads; i++)
		schedule->finished[i] = schedule->threads[i].sums;
	if (schedule->finished)
		settle_threads(schedule, first);
}

const struct schedule_thread *schedule_threads(const struct schedule *schedule, size_t *n)
{
	*n = schedule->finished ? schedule->n_threads : 0;
	return schedule->finished;
}

const struct schedule_wait *schedule_get_wait(const struct schedule *schedule, uint32_t wait)
{
	return wait < schedule->n_waits ? &schedule->waits[wait] : NULL;
}

const struct schedule_sums *schedule_get_sums(const struct schedule *schedule)
{
	return &schedule->sums;
}

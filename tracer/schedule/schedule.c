/* Plays records of switches in the order of their times, and adds up what each thread did. */
#include "tracer/schedule/schedule_gap.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

/* How many threads are asked about in one look: some 8 us each. */
enum { LOOKS = 16 };

/* What a switch takes of which nothing is known. */
#define USUAL_SWITCH_NS 5000

/* What the kernel's sum of a thread may lack when it is taken. */
#define MOST_UNSURE_NS 200000

/* Of shorter waits one cannot be sure that it is still the same when it is looked at. */
#define LONG_WAIT_NS 3000000

struct schedule *schedule_create(void)
{
	struct schedule *schedule = calloc(1, sizeof(*schedule));
	if (schedule)
		schedule_sums_init(&schedule->sums);
	return schedule;
}

void schedule_destroy(struct schedule *schedule)
{
	if (!schedule)
		return;
	u64_map_deinit(&schedule->of_tid);
	u64_map_deinit(&schedule->of_pid);
	free(schedule->processes);
	free(schedule->records);
	free(schedule->tellings);
	free(schedule->threads);
	free(schedule->waits);
	free(schedule->finished);
	schedule_sums_deinit(&schedule->sums);
	free(schedule);
}

bool schedule_record(struct schedule *schedule, enum schedule_kind kind, uint64_t time,
		     uint32_t pid, uint32_t tid, uint32_t wait)
{
	const struct record record = {time, schedule->n_arrived++, pid, tid, wait, (uint8_t)kind};
	return rf_array_push(schedule->records, schedule->n_records, schedule->cap_records, record);
}

uint32_t schedule_add_wait(struct schedule *schedule)
{
	const struct schedule_wait fresh = {.thread = UINT32_MAX, .waker_wait = SCHEDULE_NO_WAIT};
	return schedule->n_waits < SCHEDULE_WAIT_UNSEEN &&
			       rf_array_push(schedule->waits, schedule->n_waits,
					     schedule->cap_waits, fresh)
		       ? (uint32_t)schedule->n_waits - 1
		       : UINT32_MAX;
}

void schedule_clip(struct schedule *schedule, uint64_t from, uint64_t until)
{
	schedule->clips = true;
	schedule->from = from;
	schedule->until = until;
}

/* ---- records ---- */

/* What a switch to a thread seems to take, ns. */
static double usual_switch(const struct live *thread)
{
	const struct settle_excess *excess = &thread->excess;
	if (!excess->known || !excess->switches || excess->ran_ns <= 0)
		return USUAL_SWITCH_NS;
	return (double)excess->ran_ns / (double)excess->switches;
}

static void switch_to(struct schedule *schedule, struct live *thread)
{
	if (thread->state != RUNNING) {
		schedule_sums_switch(&schedule->sums, schedule->now, schedule->n_in[RUNNING],
				     thread->state == READY, usual_switch(thread));
		thread->switches++;
	}
	schedule_enter(schedule, thread, RUNNING);
}

/* While a thread runs the kernel tells what it had run as it began to, or at the last tick.  Where
 * it stopped amid the look it may be either. */
static void take_telling(struct schedule *schedule, struct live *thread,
			 const struct telling *telling)
{
	uint64_t from = telling->since;
	for (int i = 0; i < 2; i++)
		if (thread->runs[i].end >= telling->since && thread->runs[i].start < from)
			from = thread->runs[i].start;
	/* in a gap: it switches all the time */
	if (thread->in_gap)
		schedule_add_deeds(schedule, thread);
	else if (schedule->now - from > MOST_UNSURE_NS)
		return;
	const struct settle_excess excess = {
		.known = true,
		.ran_ns = (int64_t)(telling->sums.ran_ns - thread->sums.ran_ns),
		.ready_ns = (int64_t)(telling->sums.ready_ns - thread->sums.ready_ns),
		.switches = thread->switches - (thread->switches && thread->state == RUNNING),
	};
	/* what was before the part is not of it */
	if (schedule->clips && thread->sums.start <= schedule->from && !thread->before.known)
		thread->before = excess;
	const struct settle_excess *before = &thread->before;
	thread->excess = (struct settle_excess){true, excess.ran_ns - before->ran_ns,
						excess.ready_ns - before->ready_ns,
						excess.switches - before->switches};
}

static bool is_of_no_thread(const struct record *record)
{
	return record->kind == SCHEDULE_WINDOW || record->kind == SCHEDULE_GAP;
}

/* What is only known in windows. */
static bool is_of_switches(const struct record *record)
{
	return record->kind == SCHEDULE_RUNS || record->kind == SCHEDULE_READY ||
	       record->kind == SCHEDULE_WAITS || record->kind == SCHEDULE_WAIT_SAMPLE;
}

static void play(struct schedule *schedule, const struct record *record)
{
	schedule_advance(schedule, schedule_clipped(schedule, record->time));
	schedule->n_untold -= record->kind == TOLD;
	if (record->kind == SCHEDULE_WINDOW)
		schedule_begin_window(schedule);
	else if (record->kind == SCHEDULE_GAP)
		schedule_begin_gap(schedule);
	if (is_of_no_thread(record) || (schedule->window_ns && is_of_switches(record)))
		return;
	/* The kernel switches to a thread's end once more when it has told it. */
	const bool is_known = u64_map_find(&schedule->of_tid, record->tid + 1ull);
	if (!is_known && record->kind != SCHEDULE_BEGIN && record->kind != SCHEDULE_BORN)
		return;
	struct live *thread = schedule_live(schedule, record);
	if (!thread)
		return;
	switch (record->kind) {
	case SCHEDULE_BEGIN:
		if (thread->state == RUNNING && !thread->sums.ran_ns)
			thread->start_ns = schedule->now - thread->since;
		schedule_enter(schedule, thread, RUNNING);
		break;
	case SCHEDULE_RUNS:
		switch_to(schedule, thread);
		break;
	case SCHEDULE_BORN:
		schedule_enter(schedule, thread, READY);
		break;
	case SCHEDULE_READY:
		thread->wait = UINT32_MAX;
		thread->sums.involuntary += schedule_is_in_part(schedule, record->time);
		schedule_enter(schedule, thread, READY);
		break;
	case SCHEDULE_WAITS:
		thread->sums.voluntary += schedule_is_in_part(schedule, record->time);
		schedule_enter(schedule, thread, WAITING);
		break;
	case SCHEDULE_WAIT_SAMPLE:
		thread->wait = record->wait;
		break;
	case SCHEDULE_END:
		schedule_end_thread(schedule, thread);
		break;
	case TOLD:
		if (schedule_is_in_part(schedule, record->time))
			take_telling(schedule, thread, &schedule->tellings[record->wait]);
		break;
	}
}

static int compare_records(const void *left, const void *right)
{
	const struct record *a = left, *b = right;
	return rf_compare(a->time, b->time) ?: rf_compare(a->order, b->order);
}

void schedule_play(struct schedule *schedule, uint64_t until)
{
	struct record *records = schedule->records;
	schedule->played = until;
	if (!schedule->n_records)
		return;
	qsort(records, schedule->n_records, sizeof(*records), compare_records);
	size_t n = 0;
	while (n < schedule->n_records && records[n].time < until)
		play(schedule, &records[n++]);
	schedule->n_records -= n;
	memmove(records, records + n, schedule->n_records * sizeof(*records));
}

bool schedule_next_wait(struct schedule *schedule, size_t *at, uint32_t *pid, uint32_t *tid)
{
	for (; *at < schedule->n_threads; ++*at) {
		struct live *thread = &schedule->threads[*at];
		if (thread->state != WAITING || thread->wait != UINT32_MAX || thread->offered ||
		    schedule->played - thread->since < LONG_WAIT_NS)
			continue;
		thread->offered = true;
		*pid = thread->sums.pid;
		*tid = thread->sums.tid;
		++*at;
		return true;
	}
	return false;
}

void schedule_set_wait(struct schedule *schedule, size_t at, uint32_t wait)
{
	schedule->threads[at - 1].wait = wait;
	schedule->waits[wait].start = schedule->threads[at - 1].since;
}

/* ---- what the kernel tells ---- */

bool schedule_told(struct schedule *schedule, uint32_t pid, uint32_t tid, uint64_t since,
		   uint64_t time, const struct kernel_sums *sums)
{
	const struct telling telling = {since, *sums};
	if (!schedule->n_untold)
		schedule->n_tellings = 0;
	const struct record record = {time, schedule->n_arrived++,          pid,
				      tid,  (uint32_t)schedule->n_tellings, TOLD};
	if (!rf_array_push(schedule->tellings, schedule->n_tellings, schedule->cap_tellings,
			   telling) ||
	    !rf_array_push(schedule->records, schedule->n_records, schedule->cap_records, record))
		return false;
	schedule->n_untold++;
	return true;
}

void schedule_look(struct schedule *schedule)
{
	size_t n = LOOKS;
	for (size_t tried = 0; n > 0 && tried < schedule->n_threads; tried++) {
		const struct live *thread =
			&schedule->threads[schedule->next_look++ % schedule->n_threads];
		struct kernel_sums sums;
		const uint64_t since = clock_now_ns();
		if (thread->state == GONE)
			continue;
		if (kernel_sums_of_thread(thread->sums.pid, thread->sums.tid, &sums) &&
		    !schedule_told(schedule, thread->sums.pid, thread->sums.tid, since,
				   clock_now_ns(), &sums))
			return;
		n--;
	}
}

/* Plays records of switches in the order of their times, and adds up what each thread did. */
#include "tracer/schedule/schedule_state.h"

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

/* Who is woken may run only when its waker has left the processor: so long after at most. */
#define WAKE_NS 5000

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

/* ---- by the clock ---- */

void schedule_advance(struct schedule *schedule, uint64_t time)
{
	const size_t running = schedule->n_in[RUNNING];
	if (!schedule->now)
		schedule->now = time;
	if (time <= schedule->now)
		return;
	const uint64_t ns = time - schedule->now;
	schedule_sums_add(&schedule->sums, schedule->now, time, running, schedule->n_in[READY] > 0);
	schedule->idle_ns += running ? 0 : ns;
	schedule->quiet_ns += running || schedule->n_in[READY] ? 0 : ns;
	schedule->busy_ns += running * ns;
	schedule->now = time;
}

/* ---- threads ---- */

/* The number of a process; UINT32_MAX: no memory. */
static uint32_t process_of(struct schedule *schedule, uint32_t pid)
{
	const uint32_t *known = u64_map_find(&schedule->of_pid, pid + 1ull);
	const struct process fresh = {.ran_last = UINT32_MAX};
	if (known)
		return *known;
	if (!rf_array_push(schedule->processes, schedule->n_processes, schedule->cap_processes,
			   fresh))
		return UINT32_MAX;
	const uint32_t number = (uint32_t)schedule->n_processes - 1;
	if (u64_map_set(&schedule->of_pid, pid + 1ull, number))
		return number;
	schedule->n_processes--;
	return UINT32_MAX;
}

/* The thread with that id, added when it is new; NULL: no memory. */
static struct live *live(struct schedule *schedule, const struct record *record)
{
	const uint32_t *number = u64_map_find(&schedule->of_tid, record->tid + 1ull);
	if (number)
		return &schedule->threads[*number];
	const uint64_t start = schedule->clips ? schedule->now : record->time;
	const struct live fresh = {.sums = {.pid = record->pid, .tid = record->tid, .start = start},
				   .wait = UINT32_MAX,
				   .last_wait = SCHEDULE_NO_WAIT,
				   .process = process_of(schedule, record->pid),
				   .since = start};
	if (fresh.process == UINT32_MAX ||
	    !rf_array_push(schedule->threads, schedule->n_threads, schedule->cap_threads, fresh))
		return NULL;
	if (!u64_map_set(&schedule->of_tid, record->tid + 1ull,
			 (uint32_t)schedule->n_threads - 1)) {
		schedule->n_threads--;
		return NULL;
	}
	return &schedule->threads[schedule->n_threads - 1];
}

/* Beside `thread`, whose wait ends now. */
static void find_waker(const struct schedule *schedule, const struct live *thread,
		       struct schedule_wait *wait)
{
	const struct process *process = &schedule->processes[thread->process];
	const bool just_stopped = process->ran_last != UINT32_MAX &&
				  schedule->threads[process->ran_last].state != RUNNING &&
				  schedule->now - process->stopped < WAKE_NS;
	const uint32_t number = process->n_running == 0                    ? process->ran_last
				: process->n_running == 1 && !just_stopped ? process->running
									   : UINT32_MAX;
	const struct live *waker = number == UINT32_MAX ? NULL : &schedule->threads[number];
	if (!waker || waker == thread)
		return;
	wait->waker_tid = waker->sums.tid;
	if (waker->last_wait_end > wait->start)
		wait->waker_wait = waker->last_wait;
}

static void end_wait(struct schedule *schedule, struct live *thread, uint64_t ns)
{
	const uint32_t before = thread->last_wait;
	thread->last_wait = thread->wait == UINT32_MAX ? SCHEDULE_WAIT_UNSEEN : thread->wait;
	thread->last_wait_end = schedule->now;
	if (thread->wait == UINT32_MAX) {
		thread->sums.unknown_ns += ns;
		thread->sums.unknown_alone_ns += schedule->idle_ns - thread->idle_at;
		thread->sums.unknown_others_ns += schedule->busy_ns - thread->busy_at;
		return;
	}
	struct schedule_wait *wait = &schedule->waits[thread->wait];
	wait->thread = (uint32_t)(thread - schedule->threads);
	wait->start = thread->since;
	wait->end = schedule->now;
	wait->before = before;
	wait->quiet_start = thread->quiet_at;
	wait->quiet_end = schedule->quiet_ns;
	find_waker(schedule, thread, wait);
	wait->time_ns = ns;
	wait->alone_ns = schedule->idle_ns - thread->idle_at;
	wait->others_ns = schedule->busy_ns - thread->busy_at;
	wait->late = thread->sums.unknown_ns > 0;
	thread->wait = UINT32_MAX;
}

static void leave_state(struct schedule *schedule, struct live *thread)
{
	const uint64_t ns = schedule->now - thread->since;
	if (thread->state == RUNNING)
		thread->sums.ran_ns += ns;
	else if (thread->state == READY)
		thread->sums.ready_ns += ns;
	else if (thread->state == WAITING)
		thread->sums.waited_ns += ns;
	if (thread->state == WAITING)
		end_wait(schedule, thread, ns);
	schedule->n_in[thread->state]--;
}

/* A thread begins to run, or stops. */
static void count_running(struct schedule *schedule, const struct live *thread, bool runs)
{
	const uint32_t number = (uint32_t)(thread - schedule->threads);
	struct process *process = &schedule->processes[thread->process];
	process->running ^= number;
	process->n_running += runs ? 1 : -1u;
	if (runs)
		return;
	process->ran_last = number;
	process->stopped = schedule->now;
}

static void note_run(struct live *thread, uint64_t time, bool runs)
{
	if (!runs) {
		thread->runs[0].end = time;
		return;
	}
	thread->runs[1] = thread->runs[0];
	thread->runs[0] = (struct stretch){time, UINT64_MAX};
}

static void enter(struct schedule *schedule, struct live *thread, enum state state)
{
	if (thread->state != GONE)
		leave_state(schedule, thread);
	if ((thread->state == RUNNING) != (state == RUNNING)) {
		count_running(schedule, thread, state == RUNNING);
		note_run(thread, schedule->now, state == RUNNING);
	}
	if (state == WAITING && thread->wait != UINT32_MAX)
		schedule->waits[thread->wait].start = schedule->now;
	thread->state = state;
	thread->since = schedule->now;
	thread->offered = false;
	thread->idle_at = schedule->idle_ns;
	thread->busy_at = schedule->busy_ns;
	thread->quiet_at = schedule->quiet_ns;
	if (state != GONE)
		schedule->n_in[state]++;
}

void schedule_end_thread(struct schedule *schedule, struct live *thread)
{
	enter(schedule, thread, GONE);
	thread->sums.end = schedule->now;
	u64_map_remove(&schedule->of_tid, thread->sums.tid + 1ull);
}

/* ---- a part of the run ---- */

void schedule_clip(struct schedule *schedule, uint64_t from, uint64_t until)
{
	schedule->clips = true;
	schedule->from = from;
	schedule->until = until;
}

/* All that goes on does so from now on. */
static void begin_part(struct schedule *schedule)
{
	schedule->begun = true;
	schedule->now = schedule->sums.start = schedule->from;
	for (size_t i = 0; i < schedule->n_threads; i++) {
		struct live *thread = &schedule->threads[i];
		thread->since = schedule->from;
		thread->switches = 0;
		if (thread->state == WAITING && thread->wait != UINT32_MAX)
			schedule->waits[thread->wait].start = schedule->from;
	}
}

/* What lies before the part happens at one moment of its own, what lies behind it at its end. */
uint64_t schedule_clipped(struct schedule *schedule, uint64_t time)
{
	if (!schedule->clips)
		return time;
	if (time < schedule->from)
		return 1;
	if (!schedule->begun)
		begin_part(schedule);
	return time < schedule->until ? time : schedule->until;
}

static bool is_in_part(const struct schedule *schedule, uint64_t time)
{
	return !schedule->clips || (time >= schedule->from && time < schedule->until);
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
	enter(schedule, thread, RUNNING);
}

/* While a thread runs the kernel tells what it had run as it began to, or at the last tick.  Where
 * it stopped amid the look it may be either. */
static void take_telling(const struct schedule *schedule, struct live *thread,
			 const struct telling *telling)
{
	uint64_t from = telling->since;
	for (int i = 0; i < 2; i++)
		if (thread->runs[i].end >= telling->since && thread->runs[i].start < from)
			from = thread->runs[i].start;
	if (schedule->now - from > MOST_UNSURE_NS)
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

static void play(struct schedule *schedule, const struct record *record)
{
	schedule_advance(schedule, schedule_clipped(schedule, record->time));
	schedule->n_untold -= record->kind == TOLD;
	/* The kernel switches to a thread's end once more when it has told it. */
	const bool is_known = u64_map_find(&schedule->of_tid, record->tid + 1ull);
	if (!is_known && record->kind != SCHEDULE_BEGIN && record->kind != SCHEDULE_BORN)
		return;
	struct live *thread = live(schedule, record);
	if (!thread)
		return;
	switch (record->kind) {
	case SCHEDULE_BEGIN:
		if (thread->state == RUNNING && !thread->sums.ran_ns)
			thread->start_ns = schedule->now - thread->since;
		enter(schedule, thread, RUNNING);
		break;
	case SCHEDULE_RUNS:
		switch_to(schedule, thread);
		break;
	case SCHEDULE_BORN:
		enter(schedule, thread, READY);
		break;
	case SCHEDULE_READY:
		thread->wait = UINT32_MAX;
		thread->sums.involuntary += is_in_part(schedule, record->time);
		enter(schedule, thread, READY);
		break;
	case SCHEDULE_WAITS:
		thread->sums.voluntary += is_in_part(schedule, record->time);
		enter(schedule, thread, WAITING);
		break;
	case SCHEDULE_WAIT_SAMPLE:
		thread->wait = record->wait;
		break;
	case SCHEDULE_END:
		schedule_end_thread(schedule, thread);
		break;
	case TOLD:
		if (is_in_part(schedule, record->time))
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

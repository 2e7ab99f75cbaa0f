/* In which state each thread is, and for how long it has been in it. */
#include "tracer/schedule/schedule_state.h"

#include "base/array.h"
#include "tracer/schedule/schedule_gap.h"

/* Who is woken may run only when its waker has left the processor: so long after at most. */
#define WAKE_NS 5000

/* ---- by the clock ---- */

void schedule_advance(struct schedule *schedule, uint64_t time)
{
	const size_t running = schedule->n_in[RUNNING];
	if (!schedule->now)
		schedule->now = time;
	if (time <= schedule->now)
		return;
	if (schedule->window_ns)
		schedule->now = schedule_advance_gap(schedule, time);
	const uint64_t ns = time - schedule->now;
	schedule_sums_add(&schedule->sums, schedule->now, time, running, schedule->n_in[READY] > 0);
	schedule->clock.idle_ns += running ? 0 : ns;
	schedule->clock.quiet_ns += running || schedule->n_in[READY] ? 0 : ns;
	schedule->clock.busy_ns += running * ns;
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
struct live *schedule_live(struct schedule *schedule, const struct record *record)
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
		thread->sums.unknown_alone_ns += schedule->clock.idle_ns - thread->idle_at;
		thread->sums.unknown_others_ns += schedule->clock.busy_ns - thread->busy_at;
		return;
	}
	struct schedule_wait *wait = &schedule->waits[thread->wait];
	wait->thread = (uint32_t)(thread - schedule->threads);
	wait->start = thread->since;
	wait->end = schedule->now;
	wait->before = before;
	wait->quiet_start = thread->quiet_at;
	wait->quiet_end = schedule->clock.quiet_ns;
	find_waker(schedule, thread, wait);
	wait->time_ns = ns;
	wait->alone_ns = schedule->clock.idle_ns - thread->idle_at;
	wait->others_ns = schedule->clock.busy_ns - thread->busy_at;
	wait->late = thread->sums.unknown_ns > 0;
	thread->wait = UINT32_MAX;
}

static void leave_state(struct schedule *schedule, struct live *thread)
{
	const uint64_t ns = schedule->now - thread->since;
	if (thread->in_gap) {
		schedule_leave_gap(schedule, thread);
		return;
	}
	schedule->n_in[thread->state]--;
	if (thread->state == RUNNING)
		thread->sums.ran_ns += ns;
	else if (thread->state == READY)
		thread->sums.ready_ns += ns;
	else if (thread->state == WAITING)
		thread->sums.waited_ns += ns;
	if (thread->state == READY && thread->is_preempted)
		thread->sums.preempted_ns += ns;
	if (thread->state == WAITING)
		end_wait(schedule, thread, ns);
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

void schedule_enter(struct schedule *schedule, struct live *thread, enum state state)
{
	if (thread->state != GONE)
		leave_state(schedule, thread);
	if ((thread->state == RUNNING) != (state == RUNNING)) {
		count_running(schedule, thread, state == RUNNING);
		note_run(thread, schedule->now, state == RUNNING);
	}
	if (state == WAITING && thread->wait != UINT32_MAX)
		schedule->waits[thread->wait].start = schedule->now;
	thread->is_preempted = thread->state == RUNNING;
	thread->state = state;
	thread->since = schedule->now;
	thread->offered = false;
	thread->idle_at = schedule->clock.idle_ns;
	thread->busy_at = schedule->clock.busy_ns;
	thread->quiet_at = schedule->clock.quiet_ns;
	if (state != GONE)
		schedule->n_in[state]++;
}

void schedule_end_thread(struct schedule *schedule, struct live *thread)
{
	schedule_enter(schedule, thread, GONE);
	thread->sums.end = schedule->now;
	u64_map_remove(&schedule->of_tid, thread->sums.tid + 1ull);
}

/* ---- a part of the run ---- */

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

bool schedule_is_in_part(const struct schedule *schedule, uint64_t time)
{
	return !schedule->clips || (time >= schedule->from && time < schedule->until);
}

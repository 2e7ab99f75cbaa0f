/* Plays records of switches in the order of their times, and adds up what each thread did. */
#include "tracer/timed/schedule.h"

#include "base/array.h"
#include "base/search.h"
#include "base/small_file.h"
#include "base/u64_map.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* How many threads are asked about in one look: some 8 us each. */
enum { LOOKS = 16 };

/* The first width of a slice of the strip, doubled as the run goes on. */
enum { FIRST_SLICE_NS = 1 << 20 };

/* More threads than that at once are counted as so many. */
enum { MOST_RUNNING = 4096 };

/* Longer after its last record no end of a process is seen. */
#define MOST_END_NS 50000000

/* What a switch takes at most. */
#define SWITCH_NS 20000

/* Who is woken may run only when its waker has left the processor: so long after at most. */
#define WAKE_NS 5000

/* Of shorter waits one cannot be sure that it is still the same when it is looked at. */
#define LONG_WAIT_NS 3000000

enum state { GONE, RUNNING, READY, WAITING };

struct record {
	uint64_t time;
	uint32_t order, pid, tid, wait;
	uint8_t kind; /* enum schedule_kind */
};

struct live {
	struct schedule_thread sums;
	enum state state;
	uint64_t since;
	bool offered;                        /* schedule_next_wait has told of its wait */
	uint32_t wait;                       /* of the sample before the switch, or UINT32_MAX */
	uint64_t idle_at, busy_at, quiet_at; /* the clocks below when it began to wait */
	uint64_t start_ns;                   /* of what it ran: until its execve */
	/* The kernel's sum when it was last asked, and what switches had told by then; 0: never */
	uint64_t told_ns, ready_then_ns;
	uint64_t told_before_ns; /* schedule_clip: of told_ns, by the beginning of the part */
	bool has_before;
	uint64_t told_ran_ns; /* in all; 0: not known */
	uint32_t process;     /* its number */
	uint32_t last_wait;   /* of those that have ended; and when */
	uint64_t last_wait_end;
};

/* Which of its threads run. */
struct process {
	uint32_t n_running, running; /* `running`: their numbers, exclusive or */
	uint32_t ran_last; /* the number of the last one that stopped, or UINT32_MAX; and when */
	uint64_t stopped;
};

struct schedule {
	struct record *records;
	size_t n_records, cap_records;
	uint32_t n_arrived;
	struct live *threads;
	size_t n_threads, cap_threads;
	struct u64_map of_tid; /* those that live */
	struct process *processes;
	size_t n_processes, cap_processes;
	struct u64_map of_pid;
	struct schedule_wait *waits;
	size_t n_waits, cap_waits;
	struct schedule_thread *finished;
	struct schedule_sums sums;
	size_t n_in[WAITING + 1]; /* threads by state */
	uint64_t now, played;     /* time of the last record; up to which all were played */
	/* time in which no thread ran; running time of all; time in which all waited */
	uint64_t idle_ns, busy_ns, quiet_ns;
	size_t next_look;
	uint64_t from, until; /* schedule_clip */
	bool clips, begun;    /* it was called; `from` has come */
};

struct schedule *schedule_create(void)
{
	struct schedule *schedule = calloc(1, sizeof(*schedule));
	if (schedule)
		schedule->sums.slice_ns = FIRST_SLICE_NS;
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
	free(schedule->threads);
	free(schedule->waits);
	free(schedule->finished);
	free(schedule->sums.running_ns);
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

/* Half as many slices of twice the width. */
static void widen_slices(struct schedule_sums *sums)
{
	for (size_t i = 0; i < SCHEDULE_STRIP; i++) {
		const uint64_t both = i < SCHEDULE_STRIP / 2
					      ? sums->busy_ns[2 * i] + sums->busy_ns[2 * i + 1]
					      : 0;
		sums->busy_ns[i] = both;
	}
	sums->slice_ns *= 2;
}

static void add_to_strip(struct schedule_sums *sums, uint64_t from, uint64_t until,
			 uint64_t running)
{
	while (until - sums->start > SCHEDULE_STRIP * sums->slice_ns)
		widen_slices(sums);
	for (uint64_t at = from; at < until;) {
		const uint64_t slice = (at - sums->start) / sums->slice_ns;
		const uint64_t end = sums->start + (slice + 1) * sums->slice_ns;
		const uint64_t next = end < until ? end : until;
		sums->busy_ns[slice] += (next - at) * running;
		at = next;
	}
}

static bool add_running(struct schedule_sums *sums, size_t running, uint64_t ns)
{
	running = running < MOST_RUNNING ? running : MOST_RUNNING;
	while (sums->n_running <= running)
		if (!rf_array_push(sums->running_ns, sums->n_running, sums->cap_running, 0))
			return false;
	sums->running_ns[running] += ns;
	return true;
}

static void advance(struct schedule *schedule, uint64_t time)
{
	const size_t running = schedule->n_in[RUNNING];
	struct schedule_sums *sums = &schedule->sums;
	if (!schedule->now)
		schedule->now = sums->start = time;
	if (time <= schedule->now)
		return;
	const uint64_t ns = time - schedule->now;
	(void)add_running(sums, running, ns); /* without memory the strip alone goes on */
	if (!running && schedule->n_in[READY])
		sums->idle_ready_ns += ns;
	if (running)
		add_to_strip(sums, schedule->now, time, running);
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
	const struct live fresh = {.sums = {.pid = record->pid,
					    .tid = record->tid,
					    .start =
						    schedule->clips ? schedule->now : record->time},
				   .wait = UINT32_MAX,
				   .last_wait = SCHEDULE_NO_WAIT,
				   .process = process_of(schedule, record->pid),
				   .since = schedule->clips ? schedule->now : record->time};
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

static void enter(struct schedule *schedule, struct live *thread, enum state state)
{
	if (thread->state != GONE)
		leave_state(schedule, thread);
	if ((thread->state == RUNNING) != (state == RUNNING))
		count_running(schedule, thread, state == RUNNING);
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

static void end_thread(struct schedule *schedule, struct live *thread)
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
		if (thread->state == WAITING && thread->wait != UINT32_MAX)
			schedule->waits[thread->wait].start = schedule->from;
	}
}

/* What lies before the part happens at one moment of its own, what lies behind it at its end. */
static uint64_t clipped(struct schedule *schedule, uint64_t time)
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

static void play(struct schedule *schedule, const struct record *record)
{
	advance(schedule, clipped(schedule, record->time));
	/* The kernel switches to a thread's end once more when it has told it. */
	const bool is_known = u64_map_find(&schedule->of_tid, record->tid + 1ull);
	if (!is_known && record->kind != SCHEDULE_BEGIN && record->kind != SCHEDULE_BORN)
		return;
	struct live *thread = live(schedule, record);
	if (!thread)
		return;
	switch ((enum schedule_kind)record->kind) {
	case SCHEDULE_BEGIN:
		if (thread->state == RUNNING && !thread->sums.ran_ns)
			thread->start_ns = schedule->now - thread->since;
		enter(schedule, thread, RUNNING);
		break;
	case SCHEDULE_RUNS:
		enter(schedule, thread, RUNNING);
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
		end_thread(schedule, thread);
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

bool schedule_kernel_sums(uint32_t pid, uint32_t tid, uint64_t *ran_ns, uint64_t *ready_ns)
{
	char directory[64], line[128];
	snprintf(directory, sizeof(directory), "/proc/%" PRIu32 "/task/%" PRIu32, pid, tid);
	return small_file_line(directory, "schedstat", line, sizeof(line)) &&
	       sscanf(line, "%" SCNu64 " %" SCNu64, ran_ns, ready_ns) == 2;
}

static void tell(struct live *thread, uint64_t ns)
{
	thread->told_ns = ns;
	thread->ready_then_ns = thread->sums.ready_ns;
}

/* Of a part of the run only what is of it. */
static void tell_part(const struct schedule *schedule, struct live *thread, uint64_t ns)
{
	const bool is_old = schedule->clips && thread->sums.start <= schedule->from;
	if (is_old && (!schedule->begun || !thread->has_before)) {
		thread->told_before_ns = ns;
		thread->has_before = true;
	} else if (!schedule->clips || schedule->played < schedule->until) {
		tell(thread, ns - thread->told_before_ns);
	}
}

void schedule_look(struct schedule *schedule)
{
	size_t n = LOOKS;
	for (size_t tried = 0; n > 0 && tried < schedule->n_threads; tried++) {
		struct live *thread =
			&schedule->threads[schedule->next_look++ % schedule->n_threads];
		uint64_t ran_ns, ready_ns;
		if (thread->state == GONE)
			continue;
		if (schedule_kernel_sums(thread->sums.pid, thread->sums.tid, &ran_ns, &ready_ns))
			tell_part(schedule, thread, ready_ns);
		n--;
	}
}

void schedule_told(struct schedule *schedule, uint32_t tid, uint64_t ran_ns, uint64_t ready_ns)
{
	for (size_t i = schedule->n_threads; i-- > 0 && !schedule->clips;)
		if (schedule->threads[i].sums.tid == tid) {
			schedule->threads[i].told_ran_ns = ran_ns;
			tell(&schedule->threads[i], ready_ns);
			return;
		}
}

static uint64_t move(uint64_t ns, uint64_t *from, uint64_t most, uint64_t *to)
{
	uint64_t moved = ns < *from ? ns : *from;
	moved = moved < most ? moved : most;
	*from -= moved;
	*to += moved;
	return ns - moved;
}

/* The ends of waits, where the thread was ready, are not known one by one. */
static void scale_waits(struct schedule *schedule, struct live *thread, double factor)
{
	struct schedule_thread *sums = &thread->sums;
	for (size_t i = 0; i < schedule->n_waits; i++) {
		struct schedule_wait *wait = &schedule->waits[i];
		if (wait->thread != (uint32_t)(thread - schedule->threads))
			continue;
		wait->time_ns = (uint64_t)((double)wait->time_ns * factor);
		wait->alone_ns = (uint64_t)((double)wait->alone_ns * factor);
		wait->others_ns = (uint64_t)((double)wait->others_ns * factor);
	}
	sums->unknown_ns = (uint64_t)((double)sums->unknown_ns * factor);
	sums->unknown_alone_ns = (uint64_t)((double)sums->unknown_alone_ns * factor);
	sums->unknown_others_ns = (uint64_t)((double)sums->unknown_others_ns * factor);
}

/* What switches did not tell of being ready was told as waiting, or before the execve, of which
 * there are no records, as running. */
static void take_in(struct schedule *schedule, struct live *thread)
{
	struct schedule_thread *sums = &thread->sums;
	const double waited = (double)sums->waited_ns;
	if (thread->told_ns > thread->ready_then_ns) {
		const uint64_t missing = thread->told_ns - thread->ready_then_ns;
		const uint64_t rest = move(missing, &sums->waited_ns, UINT64_MAX, &sums->ready_ns);
		move(rest, &sums->ran_ns, thread->start_ns, &sums->ready_ns);
	}
	/* The record of a switch is written amid it: some us of each are the thread's as well. */
	const uint64_t switches = SWITCH_NS * (sums->voluntary + sums->involuntary);
	if (thread->told_ran_ns && sums->ran_ns > thread->told_ran_ns) /* its end was seen late */
		move(sums->ran_ns - thread->told_ran_ns, &sums->ran_ns, UINT64_MAX,
		     &sums->waited_ns);
	if (thread->told_ran_ns > sums->ran_ns)
		move(thread->told_ran_ns - sums->ran_ns, &sums->waited_ns, switches, &sums->ran_ns);
	if (waited > 0)
		scale_waits(schedule, thread, (double)sums->waited_ns / waited);
}

/* Not by more than the end of a process takes: rfprof may have been kept from seeing it. */
static void add_end(struct schedule *schedule, uint32_t first, uint64_t end_ns)
{
	for (size_t i = 0; i < schedule->n_threads; i++) {
		struct live *thread = &schedule->threads[i];
		const uint64_t told = thread->sums.end;
		if (thread->sums.tid != first || told != schedule->now || end_ns <= told ||
		    end_ns - told > MOST_END_NS)
			continue;
		schedule->n_in[RUNNING]++;
		advance(schedule, end_ns);
		schedule->n_in[RUNNING]--;
		thread->sums.ran_ns += end_ns - told;
		thread->sums.end = end_ns;
	}
}

void schedule_finish(struct schedule *schedule, uint32_t first, uint64_t end_ns)
{
	schedule_play(schedule, UINT64_MAX);
	if (schedule->clips && end_ns)
		advance(schedule, clipped(schedule, end_ns));
	else
		add_end(schedule, first, end_ns);
	for (size_t i = 0; i < schedule->n_threads; i++) {
		struct live *thread = &schedule->threads[i];
		if (thread->state != GONE)
			end_thread(schedule, thread);
		take_in(schedule, thread);
	}
	schedule->finished = calloc(schedule->n_threads + 1, sizeof(*schedule->finished));
	for (size_t i = 0; schedule->finished && i < schedule->n_threads; i++)
		schedule->finished[i] = schedule->threads[i].sums;
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

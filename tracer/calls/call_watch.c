/* The events of breakpoints, their rings, and the thread that reads them. */
#include "tracer/calls/call_watch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/thread.h"
#include "tracer/calls/call_event.h"
#include "tracer/calls/call_pairs.h"
#include "tracer/calls/call_places.h"
#include "tracer/calls/call_schedule.h"
#include "tracer/calls/call_sums.h"
#include "tracer/calls/hit_cost.h"
#include "tracer/perf/perf_ring.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

enum { MOST_PAGES = 16 };
#define WAKE_BYTES 12288          /* some 150 hits, 2 ms at the most that 10 us each can be */
#define LOOK_FOR_BACK_NS 1000000  /* while no address is known that calls return to */
#define USER_CS_64 0x33           /* __USER_CS of asm/segment.h */
#define CALL_MOST_WAIT_NS 5000000 /* of hits, while calls of a window are waited for */

struct cpu_watch {
	int number;
	bool has_ended; /* the process, as its event tells */
	int threads;    /* tells which begin and end; has the ring */
	int events[MOST_CALL_PLACES];
	uint64_t ids[MOST_CALL_PLACES];
	struct perf_ring ring;
};

/* An address that calls return to, from when its breakpoint is on where others are. */
struct found_back {
	uint64_t address, since;
	bool is_refused;
};

struct thread_hits {
	uint32_t tid;
	uint64_t n;
};

struct call_watch {
	pid_t pid;
	const char *kernels;
	bool first_only;
	struct hit_cost cost;
	struct call_places places;
	struct found_back backs[MOST_CALL_PLACES]; /* of the places that are PLACE_BACK */
	struct cpu_watch *cpus;
	size_t n_cpus;
	struct call_event *events; /* read, and not yet taken */
	size_t n_events, cap_events;
	struct thread_hits *hits; /* in this window */
	size_t n_hits, cap_hits;
	struct call_pairs pairs;
	struct call_window *windows;
	size_t n_windows, cap_windows;
	struct call_schedule schedule;
	bool is_on;         /* the breakpoints */
	bool is_closing;    /* calls that have begun in the window are waited for */
	uint64_t closed_ns; /* when that began */
	uint64_t lost;      /* records, or times that the kernel took no more of them */
	bool memory_is_short;
	int stop; /* readable: the end */
	pthread_t thread;
	bool runs;
};

/* ---- events ---- */

static struct rf_error *refused(int errnum)
{
	return rf_error_errno(RF_EUNAVAILABLE, errnum, NULL, "%s",
			      errnum == ENOSPC ? "the processor's breakpoints are all in use"
					       : "the kernel refuses breakpoints");
}

static bool open_threads(struct cpu_watch *cpu, const struct call_watch *watch, size_t pages)
{
	struct perf_event_attr attr = call_event_attributes(0);
	attr.inherit_thread = watch->first_only;
	attr.type = PERF_TYPE_SOFTWARE;
	attr.config = PERF_COUNT_SW_DUMMY;
	attr.bp_type = attr.sample_period = attr.disabled = attr.remove_on_exec = 0;
	attr.config2 = 0;
	attr.task = 1;
	attr.wakeup_watermark = WAKE_BYTES;
	cpu->threads = perf_source_kernel.open(NULL, &attr, watch->pid, cpu->number, -1);
	return cpu->threads >= 0 &&
	       perf_ring_map(&perf_source_kernel, cpu->threads, pages, &cpu->ring);
}

static void close_cpu(struct cpu_watch *cpu)
{
	perf_ring_unmap(&perf_source_kernel, &cpu->ring);
	for (size_t i = 0; i < MOST_CALL_PLACES; i++)
		if (cpu->events[i] >= 0)
			close(cpu->events[i]);
	if (cpu->threads >= 0)
		close(cpu->threads);
}

/* Rings of all processors; errno, or 0. */
static int open_rings(struct call_watch *watch, size_t pages)
{
	const long n = sysconf(_SC_NPROCESSORS_CONF);
	watch->cpus = calloc((size_t)n, sizeof(*watch->cpus));
	for (int number = 0; watch->cpus && number < n; number++) {
		struct cpu_watch *cpu = &watch->cpus[watch->n_cpus];
		memset(cpu->events, -1, sizeof(cpu->events));
		cpu->number = number;
		const bool ok = open_threads(cpu, watch, pages);
		const int errnum = ok ? 0 : errno;
		watch->n_cpus += errnum != ENODEV; /* that one is off line */
		if (errnum && errnum != ENODEV)
			return errnum;
	}
	return watch->n_cpus ? 0 : ENOMEM;
}

static void close_rings(struct call_watch *watch)
{
	for (size_t i = 0; i < watch->n_cpus; i++)
		close_cpu(&watch->cpus[i]);
	free(watch->cpus);
	watch->cpus = NULL;
	watch->n_cpus = 0;
}

struct rf_error *call_watch_create(pid_t pid, const char *kernels, bool first_only,
				   struct call_watch **out)
{
	struct call_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return rf_error_no_memory();
	*watch = (struct call_watch){.pid = pid,
				     .kernels = kernels,
				     .first_only = first_only,
				     .stop = eventfd(0, EFD_CLOEXEC)};
	int errnum = hit_cost_measure(&watch->cost) ? EPERM : errno;
	for (size_t pages = MOST_PAGES; errnum && watch->cost.hit_ns > 0 && pages; pages /= 2) {
		close_rings(watch);
		errnum = open_rings(watch, pages);
	}
	if (!errnum) {
		*out = watch;
		return NULL;
	}
	call_watch_destroy(watch);
	return refused(errnum);
}

static struct perf_event_attr attributes_of(const struct call_watch *watch, uint64_t address)
{
	struct perf_event_attr attr = call_event_attributes(address);
	attr.wakeup_watermark = WAKE_BYTES;
	attr.inherit_thread = watch->first_only;
	return attr;
}

/* Threads inherit only what is there when they begin: so there are events for addresses that are
 * not yet known, too, which are turned off and stand at the first entry. */
static struct rf_error *open_breakpoints(struct call_watch *watch)
{
	for (size_t c = 0; c < watch->n_cpus; c++)
		for (size_t i = 0; i < watch->places.n; i++) {
			struct cpu_watch *cpu = &watch->cpus[c];
			const struct perf_event_attr attr =
				attributes_of(watch, watch->places.items[i].address
							     ?: watch->places.items[0].address);
			cpu->events[i] =
				perf_source_kernel.open(NULL, &attr, watch->pid, cpu->number, -1);
			if (cpu->events[i] < 0 ||
			    ioctl(cpu->events[i], PERF_EVENT_IOC_ID, &cpu->ids[i]) != 0 ||
			    ioctl(cpu->events[i], PERF_EVENT_IOC_SET_OUTPUT, cpu->threads) != 0)
				return refused(errno);
		}
	return NULL;
}

static bool is_way_out(const struct call_place *place)
{
	return place->kind == PLACE_RETURN || place->kind == PLACE_BACK;
}

static void turn_kind(const struct call_watch *watch, bool way_out, unsigned long request)
{
	for (size_t c = 0; c < watch->n_cpus; c++)
		for (size_t i = 0; i < watch->places.n; i++) {
			const struct call_place *place = &watch->places.items[i];
			if (place->address && is_way_out(place) == way_out)
				ioctl(watch->cpus[c].events[i], request, 0);
		}
}

/* Wherever a return is seen, all entries are: one that was missed might make the return that of an
 * earlier call. */
static void turn(struct call_watch *watch, bool on)
{
	turn_kind(watch, !on, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
	turn_kind(watch, on, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE);
	watch->is_on = on;
}

/* ---- where calls return to ---- */

/* Moves the events of a place, with those that threads have inherited, and turns them on where
 * others are. */
static void watch_back(struct call_watch *watch, size_t number, uint64_t address)
{
	struct found_back *back = &watch->backs[number];
	struct perf_event_attr attr = attributes_of(watch, address);
	*back = (struct found_back){.address = address};
	for (size_t c = 0; c < watch->n_cpus; c++) {
		const int event = watch->cpus[c].events[number];
		if (ioctl(event, PERF_EVENT_IOC_MODIFY_ATTRIBUTES, &attr) != 0 ||
		    (watch->is_on && ioctl(event, PERF_EVENT_IOC_ENABLE, 0) != 0)) {
			back->is_refused = true;
			return;
		}
	}
	watch->places.items[number].address = address;
	back->since = clock_now_ns();
}

/* Whether the end of a call is seen that begins at `time` and returns to that address. */
static enum call_end end_of(struct call_watch *watch, uint64_t address, uint64_t time)
{
	size_t i = 0;
	while (i < watch->places.n &&
	       (watch->places.items[i].kind != PLACE_BACK ||
		(watch->backs[i].address && watch->backs[i].address != address)))
		i++;
	if (i == watch->places.n || !address)
		return CALL_ENDS_UNSEEN;
	if (!watch->backs[i].address)
		watch_back(watch, i, address);
	if (watch->backs[i].is_refused)
		return CALL_ENDS_UNSEEN;
	return time < watch->backs[i].since ? CALL_ENDS_EARLY : CALL_ENDS_SEEN;
}

static bool lacks_back(const struct call_watch *watch)
{
	bool is_wanted = false, has_one = false;
	for (size_t i = 0; i < watch->places.n; i++) {
		is_wanted |= watch->places.items[i].kind == PLACE_BACK;
		has_one |= watch->backs[i].address != 0;
	}
	return is_wanted && !has_one;
}

/* ---- records ---- */

static void add_event(struct call_watch *watch, struct call_event event)
{
	if (!rf_array_push(watch->events, watch->n_events, watch->cap_events, event))
		watch->memory_is_short = true;
}

static void add_mark(struct call_watch *watch, enum call_event_kind kind, uint64_t time)
{
	add_event(watch, (struct call_event){.time = time, .kind = (uint8_t)kind});
}

static void count_hit(struct call_watch *watch, uint32_t tid)
{
	for (size_t i = 0; i < watch->n_hits; i++)
		if (watch->hits[i].tid == tid) {
			watch->hits[i].n++;
			return;
		}
	if (!rf_array_push(watch->hits, watch->n_hits, watch->cap_hits,
			   ((struct thread_hits){tid, 1})))
		watch->memory_is_short = true;
}

static uint64_t most_hits(const struct call_watch *watch)
{
	uint64_t most = 0;
	for (size_t i = 0; i < watch->n_hits; i++)
		most = watch->hits[i].n > most ? watch->hits[i].n : most;
	return most;
}

struct read_context {
	struct call_watch *watch;
	const struct cpu_watch *cpu;
};

static void add_hit(struct call_watch *watch, const struct call_place *place,
		    const struct perf_record *record)
{
	struct call_event event = {.time = record->time,
				   .sp = record->regs.sp,
				   .return_to = place->address,
				   .tid = record->tid,
				   .kernel = place->kernel,
				   .kind = CALL_ENTRY,
				   .ends_at_back = place->kind == PLACE_ENTRY_ALONE};
	if (place->kind == PLACE_RETURN)
		event.kind = CALL_RETURN;
	else if (place->kind == PLACE_BACK)
		event.kind = CALL_BACK;
	else if (record->stack_size >= sizeof(event.return_to))
		memcpy(&event.return_to, record->stack, sizeof(event.return_to));
	else
		event.return_to = 0;
	if (event.ends_at_back)
		event.end = (uint8_t)end_of(watch, event.return_to, event.time);
	add_event(watch, event);
}

static void take_hit(struct call_watch *watch, const struct cpu_watch *cpu,
		     const struct perf_record *record)
{
	count_hit(watch, record->tid);
	for (size_t i = 0; i < watch->places.n; i++)
		if (cpu->ids[i] == record->id && record->has_regs)
			add_hit(watch, &watch->places.items[i], record);
}

static void take_record(void *opaque, const void *bytes, size_t size)
{
	const struct read_context *context = opaque;
	struct call_watch *watch = context->watch;
	struct perf_record record;
	if (!perf_record_parse_hit(bytes, size, &record)) {
		watch->lost++;
		return;
	}
	if (record.type == PERF_RECORD_SAMPLE)
		take_hit(watch, context->cpu, &record);
	else if (record.type == PERF_RECORD_FORK) /* a thread, or the first one of a process */
		add_event(watch, (struct call_event){.time = record.time,
						     .tid = record.tid,
						     .kernel = record.pid == record.parent_pid
								       ? record.parent_tid
								       : 0,
						     .kind = CALL_BORN});
	else if (record.type == PERF_RECORD_EXIT)
		add_event(watch, (struct call_event){.time = record.time,
						     .tid = record.tid,
						     .kind = CALL_ENDED});
	else if (record.type == PERF_RECORD_LOST || record.type == PERF_RECORD_THROTTLE)
		watch->lost++;
}

static int compare_events(const void *a, const void *b)
{
	const struct call_event *x = a, *y = b;
	return rf_compare(x->time, y->time) ?: rf_compare(x->kind, y->kind);
}

/* Records are missing, of which it is not known when they would have come: whatever was not yet
 * taken, and all of this window and the one before, holds no longer. */
static void forget_windows(struct call_watch *watch, uint64_t now)
{
	const size_t n = watch->n_windows;
	for (size_t i = n > 2 ? n - 2 : 0; i < n; i++)
		watch->windows[i].is_spoilt = true;
	add_mark(watch, CALL_FORGET, now);
}

/* Takes all that came before `now`: of a thread's records none that is older comes after that. */
static void read_rings(struct call_watch *watch, uint64_t now)
{
	const uint64_t lost = watch->lost;
	for (size_t i = 0; i < watch->n_cpus; i++) {
		struct read_context context = {watch, &watch->cpus[i]};
		perf_ring_read(&watch->cpus[i].ring, take_record, &context);
		watch->lost += watch->cpus[i].ring.broken;
		watch->cpus[i].ring.broken = 0;
	}
	if (watch->lost > lost)
		forget_windows(watch, now - 1);
	if (watch->n_events)
		qsort(watch->events, watch->n_events, sizeof(*watch->events), compare_events);
	const size_t n = rf_search(watch->n_events, i, watch->events[i].time < now);
	for (size_t i = 0; i < n; i++)
		call_pairs_take(&watch->pairs, &watch->events[i]);
	watch->n_events -= n;
	if (n)
		memmove(watch->events, watch->events + n, watch->n_events * sizeof(*watch->events));
}

/* ---- windows ---- */

static void begin_window(struct call_watch *watch, uint64_t now)
{
	const struct call_window window = {.begin = now,
					   .is_whole = watch->schedule.is_whole,
					   .cycle_ns = watch->schedule.cycle_ns};
	if (!rf_array_push(watch->windows, watch->n_windows, watch->cap_windows, window))
		watch->memory_is_short = true;
	watch->n_hits = 0;
	add_mark(watch, CALL_WINDOW, now);
}

static void end_window(struct call_watch *watch, uint64_t now)
{
	if (watch->n_windows && !watch->windows[watch->n_windows - 1].end)
		watch->windows[watch->n_windows - 1].end = now;
}

static void close_window(struct call_watch *watch, uint64_t now)
{
	end_window(watch, now);
	add_mark(watch, CALL_CLOSE, now);
	watch->is_closing = true;
	watch->closed_ns = now;
	watch->n_hits = 0;
}

/* Calls that have begun in the window go on: those whose threads have lost their processor take ten
 * times as long as others.  Not for ever where other threads are slowed down meanwhile. */
static void wait_for_calls(struct call_watch *watch, uint64_t now)
{
	const double spent_ns = (double)most_hits(watch) * watch->cost.hit_ns;
	const double limit = CALL_MOST_WAIT_NS + CALL_MOST_SHARE * (double)(now - watch->closed_ns);
	if (call_pairs_wait(&watch->pairs) && spent_ns < limit)
		return;
	turn(watch, false);
	watch->is_closing = false;
	add_mark(watch, CALL_FORGET, clock_now_ns());
}

static void step(struct call_watch *watch, uint64_t now)
{
	const uint64_t turned = watch->schedule.turned;
	const bool was_on = watch->schedule.is_on;
	if (watch->is_closing) {
		wait_for_calls(watch, now);
		return;
	}
	const bool on = call_schedule_step(&watch->schedule, now, most_hits(watch));
	if (was_on && !on) {
		close_window(watch, now);
	} else if (on && !was_on) {
		turn(watch, true);
		watch->schedule.turned = clock_now_ns();
		begin_window(watch, watch->schedule.turned);
	} else if (on && watch->schedule.turned != turned) {
		end_window(watch, now);
		begin_window(watch, now);
	}
}

static void wait_for_records(struct call_watch *watch, struct pollfd *polls)
{
	for (size_t i = 0; i < watch->n_cpus; i++)
		polls[i] = (struct pollfd){watch->cpus[i].has_ended ? -1 : watch->cpus[i].threads,
					   POLLIN, 0};
	polls[watch->n_cpus] = (struct pollfd){watch->stop, POLLIN, 0};
	const uint64_t now = clock_now_ns();
	uint64_t until =
		watch->is_closing ? now + 1000000 : call_schedule_next(&watch->schedule, now);
	if (watch->is_on && lacks_back(watch) && until > now + LOOK_FOR_BACK_NS)
		until = now + LOOK_FOR_BACK_NS;
	const uint64_t ns = until > now ? until - now : 0;
	const struct timespec timeout = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	ppoll(polls, watch->n_cpus + 1, &timeout, NULL);
	for (size_t i = 0; i < watch->n_cpus; i++)
		watch->cpus[i].has_ended |= (polls[i].revents & (POLLHUP | POLLERR)) != 0;
}

static void *run(void *context)
{
	struct call_watch *watch = context;
	struct pollfd *polls = calloc(watch->n_cpus + 1, sizeof(*polls));
	thread_wake_promptly();
	while (polls && !(polls[watch->n_cpus].revents & POLLIN)) {
		wait_for_records(watch, polls);
		const uint64_t now = clock_now_ns();
		read_rings(watch, now);
		step(watch, now);
	}
	free(polls);
	return NULL;
}

/* ---- begin and end ---- */

struct rf_error *call_watch_begin(struct call_watch *watch)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, watch->pid, 0, &regs) < 0 || regs.cs != USER_CS_64)
		return rf_error_create(RF_EUNAVAILABLE, NULL, "the program is no 64-bit one");
	struct rf_error *error = call_places_find(watch->pid, watch->kernels, &watch->places);
	if (!error && !watch->places.n)
		error = rf_error_create(RF_EUNAVAILABLE, NULL, "%s", watch->places.why);
	if (!error)
		error = open_breakpoints(watch);
	if (error)
		return error;
	turn(watch, true);
	call_schedule_begin(&watch->schedule, watch->cost.hit_ns, clock_now_ns());
	begin_window(watch, watch->schedule.turned);
	const int errnum = thread_start(&watch->thread, run, watch);
	watch->runs = !errnum;
	return errnum ? rf_error_errno(RF_EINTERNAL, errnum, NULL, "cannot start a thread") : NULL;
}

static void stop(struct call_watch *watch)
{
	if (!watch->runs)
		return;
	eventfd_write(watch->stop, 1);
	pthread_join(watch->thread, NULL);
	watch->runs = false;
}

/* So large a share of calls whose end could not be seen makes that none is told (call_sums.c). */
#define MOST_UNSEEN 0.01

static void find_missing(struct call_watch *watch)
{
	for (size_t k = 0; k < watch->places.n_kernels; k++) {
		uint64_t started = 0;
		for (size_t i = 0; i < watch->pairs.n_windows; i++)
			started += watch->pairs.started[i].n[k];
		if ((double)watch->pairs.n_unseen[k] > MOST_UNSEEN * (double)started)
			call_places_say_missing(
				&watch->places, watch->places.names[k],
				"it is called from more places than there are breakpoints for");
	}
}

static void note_missing(struct call_watch *watch, struct profile *profile)
{
	const struct call_places *places = &watch->places;
	find_missing(watch);
	if (places->missing[0]) {
		profile_set_fact(profile, "call_times_missing", "%s", places->missing);
		profile_set_fact(profile, "call_times_missing_why", "%s", places->why);
	}
	profile_set_fact(profile, "breakpoint_cost_ns", "%.0f", watch->cost.hit_ns);
}

struct rf_error *call_watch_finish(struct call_watch *watch, struct profile *profile)
{
	if (!watch->runs)
		return NULL;
	stop(watch);
	read_rings(watch, UINT64_MAX);
	end_window(watch, clock_now_ns());
	if (watch->memory_is_short || watch->pairs.memory_is_short)
		return rf_error_no_memory();
	const struct call_sources sources = {
		.calls = watch->pairs.calls,
		.n_calls = watch->pairs.n_calls,
		.started = watch->pairs.started,
		.windows = watch->windows,
		.n_windows = watch->n_windows,
		.kernels = watch->places.kernels,
		.n_kernels = watch->places.n_kernels,
		.cost_ns = watch->cost.pair_ns,
		.nested = watch->pairs.nested,
	};
	note_missing(watch, profile);
	return call_sums_save(&sources, profile);
}

void call_watch_destroy(struct call_watch *watch)
{
	if (!watch)
		return;
	stop(watch);
	close_rings(watch);
	call_pairs_deinit(&watch->pairs);
	free(watch->events);
	free(watch->hits);
	free(watch->windows);
	if (watch->stop >= 0)
		close(watch->stop);
	free(watch);
}

/* The thread that reads what breakpoints tell, moves them, and turns them on and off. */
#include "tracer/calls/call_watch.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "base/thread.h"
#include "tracer/calls/call_reader.h"
#include "tracer/calls/call_schedule.h"
#include "tracer/calls/call_sums.h"
#include "tracer/calls/hit_cost.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <unistd.h>

#define LOOK_FOR_BACK_NS 1000000  /* while no address is known that calls return to */
#define USER_CS_64 0x33           /* __USER_CS of asm/segment.h */
#define CALL_MOST_WAIT_NS 2000000 /* of hits, while calls of a window are waited for */

struct call_watch {
	struct hit_cost cost;
	struct call_reader reader;
	struct call_window *windows;
	size_t n_windows, cap_windows;
	struct call_schedule schedule;
	bool is_closing; /* calls that have begun in the window are waited for */
	bool memory_is_short;
	int stop; /* readable: the end */
	pthread_t thread;
	bool runs;
};

struct rf_error *call_watch_create(pid_t pid, const char *kernels, bool first_only,
				   struct call_watch **out)
{
	struct call_watch *watch = calloc(1, sizeof(*watch));
	if (!watch)
		return rf_error_no_memory();
	*watch = (struct call_watch){.reader = {.pid = pid,
						.kernels = kernels,
						.breakpoints = {.pid = pid,
								.first_only = first_only}},
				     .stop = eventfd(0, EFD_CLOEXEC)};
	int errnum = hit_cost_measure(&watch->cost) ? EPERM : errno;
	if (watch->cost.hit_ns > 0)
		errnum = call_reader_map(&watch->reader);
	if (!errnum) {
		*out = watch;
		return NULL;
	}
	call_watch_destroy(watch);
	return call_breakpoints_refused(errnum);
}

/* ---- windows ---- */

/* Records are missing, of which it is not known when they would have come: whatever was not yet
 * taken, and all of this window and the one before, holds no longer. */
static void forget_windows(struct call_watch *watch)
{
	const size_t n = watch->n_windows;
	for (size_t i = n > 2 ? n - 2 : 0; i < n; i++)
		watch->windows[i].is_spoilt = true;
}

static void begin_window(struct call_watch *watch, uint64_t now)
{
	const struct call_window window = {.begin = now,
					   .is_whole = watch->schedule.is_whole,
					   .cycle_ns = watch->schedule.cycle_ns};
	if (!rf_array_push(watch->windows, watch->n_windows, watch->cap_windows, window))
		watch->memory_is_short = true;
	call_reader_clear_hits(&watch->reader);
	call_reader_mark(&watch->reader, CALL_WINDOW, now);
}

static void end_window(struct call_watch *watch, uint64_t now)
{
	if (watch->n_windows && !watch->windows[watch->n_windows - 1].end)
		watch->windows[watch->n_windows - 1].end = now;
}

static void close_window(struct call_watch *watch, uint64_t now)
{
	end_window(watch, now);
	call_reader_mark(&watch->reader, CALL_CLOSE, now);
	watch->is_closing = true;
	call_reader_clear_hits(&watch->reader);
}

/* Calls that have begun in the window go on: those whose threads have lost their processor take ten
 * times as long as others.  Not for ever where other threads are slowed down meanwhile. */
static void wait_for_calls(struct call_watch *watch, uint64_t now)
{
	const struct call_load load = call_reader_load(&watch->reader, now);
	const double spent_ns = (double)load.hits * watch->cost.hit_ns;
	const double limit = CALL_MOST_WAIT_NS + CALL_MOST_SHARE * (double)load.ran_ns;
	if (call_pairs_wait(&watch->reader.pairs) && spent_ns < limit)
		return;
	call_reader_turn(&watch->reader, false);
	watch->is_closing = false;
	call_reader_mark(&watch->reader, CALL_FORGET, clock_now_ns());
}

static void step(struct call_watch *watch, uint64_t now)
{
	const uint64_t turned = watch->schedule.turned;
	const bool was_on = watch->schedule.is_on;
	if (watch->is_closing) {
		wait_for_calls(watch, now);
		return;
	}
	const struct call_load load = call_reader_load(&watch->reader, now);
	const bool on = call_schedule_step(&watch->schedule, now, &load);
	if (was_on && !on) {
		close_window(watch, now);
	} else if (on && !was_on) {
		call_reader_turn(&watch->reader, true);
		watch->schedule.turned = clock_now_ns();
		begin_window(watch, watch->schedule.turned);
	} else if (on && watch->schedule.turned != turned) {
		end_window(watch, now);
		begin_window(watch, now);
	}
}

static uint64_t next_step(const struct call_watch *watch, uint64_t now)
{
	uint64_t until =
		watch->is_closing ? now + 1000000 : call_schedule_next(&watch->schedule, now);
	if (watch->reader.is_on && call_reader_lacks_back(&watch->reader) &&
	    until > now + LOOK_FOR_BACK_NS)
		until = now + LOOK_FOR_BACK_NS;
	return until;
}

static void wait_for_records(struct call_watch *watch, struct pollfd *polls)
{
	const size_t n = call_reader_fill_polls(&watch->reader, polls);
	polls[0] = (struct pollfd){watch->stop, POLLIN, 0};
	const uint64_t now = clock_now_ns(), until = next_step(watch, now);
	const uint64_t ns = until > now ? until - now : 0;
	const struct timespec timeout = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	ppoll(polls, n, &timeout, NULL);
	call_reader_take_polls(&watch->reader, polls);
}

static void read_rings(struct call_watch *watch, uint64_t now)
{
	if (!call_reader_read(&watch->reader, now))
		forget_windows(watch);
}

static void *run(void *context)
{
	struct call_watch *watch = context;
	struct pollfd *polls = calloc(call_reader_n_polls(&watch->reader), sizeof(*polls));
	thread_wake_promptly();
	while (polls && !(polls[0].revents & POLLIN)) {
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
	if (ptrace(PTRACE_GETREGS, watch->reader.pid, 0, &regs) < 0 || regs.cs != USER_CS_64)
		return rf_error_create(RF_EUNAVAILABLE, NULL, "the program is no 64-bit one");
	watch->reader.places.avoids_loops = watch->cost.slows_line;
	struct rf_error *error = call_reader_begin(&watch->reader, regs.rip);
	if (error)
		return error;
	call_reader_turn(&watch->reader, true);
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

static void find_missing(struct call_watch *watch, bool is_whole)
{
	for (size_t k = 0; k < watch->reader.places.n_kernels; k++) {
		uint64_t started = 0;
		for (size_t i = 0; i < watch->reader.pairs.n_windows; i++)
			started += watch->reader.pairs.started[i].n[k];
		if ((double)watch->reader.pairs.n_unseen[k] > MOST_UNSEEN * (double)started)
			call_places_say_missing(
				&watch->reader.places, watch->reader.places.names[k],
				"it is called from more places than there are breakpoints for");
		else if (watch->reader.from_one_place >> k & 1 && !is_whole)
			call_places_say_missing(
				&watch->reader.places, watch->reader.places.names[k],
				"a loop lies next to its entry, and its calls are too short to "
				"time all of them");
	}
}

static void note_missing(struct call_watch *watch, bool is_whole, struct profile *profile)
{
	const struct call_places *places = &watch->reader.places;
	find_missing(watch, is_whole);
	if (!places->n_kernels) {
		profile_set_fact(profile, "call_times_why", "%s", places->why);
	} else if (places->missing[0]) {
		profile_set_fact(profile, "call_times_missing", "%s", places->missing);
		profile_set_fact(profile, "call_times_missing_why", "%s", places->why);
	}
	profile_set_fact(profile, "breakpoint_cost_ns", "%.0f", watch->cost.hit_ns);
	profile_set_fact(profile, "breakpoint_hits", "%" PRIu64, watch->reader.all_hits);
}

struct rf_error *call_watch_finish(struct call_watch *watch, struct profile *profile)
{
	if (!watch->runs)
		return NULL;
	stop(watch);
	read_rings(watch, UINT64_MAX);
	const uint64_t now = clock_now_ns();
	end_window(watch, now);
	call_reader_end(&watch->reader, now);
	if (watch->memory_is_short || watch->reader.memory_is_short)
		return rf_error_no_memory();
	const struct call_sources sources = {
		.calls = watch->reader.pairs.calls,
		.n_calls = watch->reader.pairs.n_calls,
		.started = watch->reader.pairs.started,
		.unseen_least_ns = watch->reader.pairs.unseen_least_ns,
		.unseen_ns = watch->reader.pairs.unseen_ns,
		.windows = watch->windows,
		.n_windows = watch->n_windows,
		.end = now,
		.kernels = watch->reader.places.kernels,
		.n_kernels = watch->reader.places.n_kernels,
		.cost_ns = watch->cost.pair_ns,
		.cost_spread_ns = watch->cost.pair_spread_ns,
		.from_one_place = watch->reader.from_one_place,
		.nested = watch->reader.pairs.nested,
	};
	note_missing(watch, call_sums_are_whole(&sources), profile);
	return call_sums_save(&sources, profile);
}

void call_watch_destroy(struct call_watch *watch)
{
	if (!watch)
		return;
	stop(watch);
	call_reader_deinit(&watch->reader);
	free(watch->windows);
	if (watch->stop >= 0)
		close(watch->stop);
	free(watch);
}

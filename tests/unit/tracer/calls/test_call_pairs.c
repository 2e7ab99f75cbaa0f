/* Calls as breakpoints show them, against what threads do and against a slow matcher. */
#include "tests/unit/splitmix.h"
#include "tracer/calls/call_pairs.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define THREADS 4
#define MOST_DEPTH 12
#define STEPS 200000

/* Its returns are not looked out for: the addresses that it returns to are. */
#define KERNEL_WITHOUT_RETURNS 1

struct frame {
	uint64_t sp, entered, return_to;
	int kernel; /* -1: no kernel's function */
	bool is_call, is_timed;
};

/* A thread's frames, and what is known of it. */
struct thread_model {
	struct frame frames[MOST_DEPTH];
	unsigned depth;
};

struct program {
	struct thread_model threads[THREADS];
	struct call_pairs pairs;
	struct timed_call *truth;
	size_t n_truth;
	struct call_event *log;
	size_t n_log;
	uint64_t now, state;
	bool is_on, in_window;
	bool all_leave_by_return;
	uint32_t window;
};

static void tell_place(struct program *program, enum call_event_kind kind, unsigned thread,
		       uint32_t kernel, uint64_t sp, uint64_t return_to)
{
	const struct call_event event = {.time = program->now,
					 .sp = sp,
					 .return_to = return_to,
					 .tid = thread + 1,
					 .kernel = kernel,
					 .ends_at_back = kind == CALL_ENTRY &&
							 kernel == KERNEL_WITHOUT_RETURNS,
					 .kind = (uint8_t)kind};
	program->log[program->n_log++] = event;
	call_pairs_take(&program->pairs, &event);
}

static void tell(struct program *program, enum call_event_kind kind, unsigned thread,
		 uint32_t kernel, uint64_t sp)
{
	tell_place(program, kind, thread, kernel, sp, 0);
}

static bool is_in_call(const struct thread_model *thread)
{
	for (unsigned i = 0; i < thread->depth; i++)
		if (thread->frames[i].kernel >= 0)
			return true;
	return false;
}

static void enter(struct program *program, unsigned t, int kernel)
{
	struct thread_model *thread = &program->threads[t];
	const uint64_t outer = thread->depth ? thread->frames[thread->depth - 1].sp
					     : 0x7f0000000000 + t * 0x100000000;
	struct frame frame = {.sp = outer - 16 - random_number(&program->state) % 8 * 16,
			      .entered = program->now,
			      .return_to = 0x4000 + random_number(&program->state) % 3,
			      .kernel = kernel};
	frame.is_call = kernel >= 0 && !is_in_call(thread);
	frame.is_timed = frame.is_call && program->in_window;
	thread->frames[thread->depth++] = frame;
	if (kernel >= 0 && program->is_on)
		tell_place(program, CALL_ENTRY, t, (uint32_t)kernel, frame.sp, frame.return_to);
}

static void leave(struct program *program, unsigned t, bool returns)
{
	struct thread_model *thread = &program->threads[t];
	const struct frame *frame = &thread->frames[--thread->depth];
	if (frame->kernel < 0 || !returns)
		return;
	if (program->is_on && frame->kernel == KERNEL_WITHOUT_RETURNS)
		tell_place(program, CALL_BACK, t, 0, frame->sp + sizeof(uint64_t),
			   frame->return_to);
	else if (program->is_on)
		tell(program, CALL_RETURN, t, (uint32_t)frame->kernel, frame->sp);
	if (frame->is_timed && program->is_on)
		program->truth[program->n_truth++] =
			(struct timed_call){frame->entered, program->now - frame->entered,
					    (uint32_t)frame->kernel, program->window};
}

/* What was open when breakpoints went off is timed no more. */
static void forget(struct program *program)
{
	tell(program, CALL_FORGET, 0, 0, 0);
	for (unsigned t = 0; t < THREADS; t++)
		for (unsigned i = 0; i < program->threads[t].depth; i++)
			program->threads[t].frames[i].is_timed = false;
}

static void turn(struct program *program)
{
	if (!program->is_on) {
		program->is_on = program->in_window = true;
		program->window = (uint32_t)program->pairs.n_windows;
		tell(program, CALL_WINDOW, 0, 0, 0);
	} else if (program->in_window) {
		program->in_window = false;
		tell(program, CALL_CLOSE, 0, 0, 0);
	} else {
		program->is_on = false;
		forget(program);
	}
}

static void begin(struct program *program, uint64_t seed)
{
	*program = (struct program){.state = seed};
	program->truth = malloc(STEPS * sizeof(*program->truth));
	program->log = malloc(2 * STEPS * sizeof(*program->log));
	turn(program);
}

static void end(struct program *program)
{
	call_pairs_deinit(&program->pairs);
	free(program->truth);
	free(program->log);
}

static int compare_calls(const void *a, const void *b)
{
	const struct timed_call *x = a, *y = b;
	return x->start < y->start ? -1 : x->start > y->start;
}

static void check(struct timed_call *found, size_t n_found, struct timed_call *truth, size_t n)
{
	cr_assert_eq(n_found, n, "%zu calls, %zu in truth", n_found, n);
	qsort(found, n, sizeof(*found), compare_calls);
	qsort(truth, n, sizeof(*truth), compare_calls);
	for (size_t i = 0; i < n; i++)
		cr_assert(found[i].start == truth[i].start && found[i].ns == truth[i].ns &&
				  found[i].kernel == truth[i].kernel &&
				  found[i].window == truth[i].window,
			  "call %zu", i);
}

/* Breakpoints are on all the time: each call that is left by a return is timed, whatever lies in
 * it. A call that was left otherwise hides others only as long as the stack stays deeper. */
Test(call_pairs, all_the_time)
{
	struct program program;
	begin(&program, 3);
	for (int i = 0; i < STEPS; i++) {
		const uint64_t random = random_number(&program.state);
		const unsigned t = (unsigned)(random % THREADS);
		struct thread_model *thread = &program.threads[t];
		program.now += random >> 8 & 15;
		program.now++;
		if (thread->depth && (thread->depth == MOST_DEPTH || random >> 40 & 1))
			leave(&program, t, true);
		else
			enter(&program, t, (int)(random >> 16 & 3) - 2);
	}
	cr_assert(program.n_truth > 1000 && program.pairs.nested);
	check(program.pairs.calls, program.pairs.n_calls, program.truth, program.n_truth);
	end(&program);
}

/* In windows, of a program without calls in calls: those that begin in one and end before the
 * breakpoints go off, and nothing that looks as if there were calls in calls. */
Test(call_pairs, windows)
{
	struct program program;
	begin(&program, 4);
	for (int i = 0; i < STEPS; i++) {
		const uint64_t random = random_number(&program.state);
		const unsigned t = (unsigned)(random % THREADS);
		struct thread_model *thread = &program.threads[t];
		program.now += (random >> 8 & 15) + 1;
		if ((random >> 32 & 63) == 0)
			turn(&program);
		else if (thread->depth && (thread->depth == MOST_DEPTH || random >> 40 & 1))
			leave(&program, t, true);
		else
			enter(&program, t, is_in_call(thread) ? -1 : (int)(random >> 16 & 3) - 2);
	}
	cr_assert(program.n_truth > 1000 && !program.pairs.nested);
	check(program.pairs.calls, program.pairs.n_calls, program.truth, program.n_truth);
	end(&program);
}

/* Calls that are left by longjmp and others within calls, in windows: what is timed is a call,
 * never a piece of one or two of them; and where an inner one was taken for an outer one, that is
 * told. */
Test(call_pairs, nothing_is_made_up)
{
	for (uint64_t seed = 0; seed < 50; seed++) {
		struct program program;
		size_t n_outer = 0;
		begin(&program, seed);
		struct timed_call *all = malloc(STEPS * sizeof(*all));
		size_t n_all = 0;
		for (int i = 0; i < STEPS / 20; i++) {
			const uint64_t random = random_number(&program.state);
			const unsigned t = (unsigned)(random % THREADS);
			struct thread_model *thread = &program.threads[t];
			program.now += (random >> 8 & 15) + 1;
			if ((random >> 32 & 63) == 0) {
				turn(&program);
			} else if (thread->depth &&
				   (thread->depth == MOST_DEPTH || random >> 40 & 1)) {
				const struct frame frame = thread->frames[thread->depth - 1];
				const bool returns = random >> 48 & 7;
				leave(&program, t, returns);
				if (frame.kernel >= 0 && returns)
					all[n_all++] = (struct timed_call){
						frame.entered, program.now - frame.entered,
						(uint32_t)frame.kernel, frame.is_call};
			} else {
				enter(&program, t, (int)(random >> 16 & 3) - 2);
			}
		}
		for (size_t i = 0; i < program.pairs.n_calls; i++) {
			const struct timed_call *call = &program.pairs.calls[i];
			bool is_there = false;
			for (size_t k = 0; k < n_all; k++)
				if (all[k].start == call->start && all[k].ns == call->ns &&
				    all[k].kernel == call->kernel) {
					is_there = true;
					n_outer += all[k].window;
				}
			cr_assert(is_there, "seed %lu, call %zu", (unsigned long)seed, i);
		}
		cr_assert(program.pairs.nested || n_outer == program.pairs.n_calls);
		free(all);
		end(&program);
	}
}

/* ---- lost processors ---- */

/* A thread's call, in which it loses its processor, and what it was then. */
struct losing {
	struct call_pairs pairs;
	uint64_t now, state, ready;
	uint64_t n_cut, n_checked;
};

static void tell_losing(struct losing *losing, enum call_event_kind kind)
{
	const struct call_event event = {
		.time = ++losing->now, .sp = 0x1000, .tid = 1, .kind = (uint8_t)kind};
	call_pairs_take(&losing->pairs, &event);
}

/* Whether it has none at the end. */
static bool lose_processor(struct losing *losing, bool stays_out)
{
	for (uint64_t losses = random_number(&losing->state) % 4; losses; losses--) {
		losing->now += random_number(&losing->state) % 9;
		tell_losing(losing, CALL_PREEMPTED);
		const uint64_t out = losing->now;
		losing->now += random_number(&losing->state) % 99;
		if (stays_out && losses == 1)
			return true;
		tell_losing(losing, CALL_RESUMED);
		losing->ready += losing->now - out;
	}
	return false;
}

static void call_and_lose(struct losing *losing, bool forgets)
{
	const size_t n_calls = losing->pairs.n_calls;
	tell_losing(losing, CALL_WINDOW);
	tell_losing(losing, CALL_ENTRY);
	const uint64_t entered = losing->now;
	losing->ready = 0;
	losing->n_cut += lose_processor(losing, forgets);
	tell_losing(losing, forgets ? CALL_FORGET : CALL_RETURN);
	cr_assert_eq(losing->pairs.n_calls, n_calls + !forgets);
	if (!forgets) {
		cr_assert_eq(losing->pairs.calls[n_calls].ready_ns, losing->ready);
		cr_assert_eq(losing->pairs.calls[n_calls].ns, losing->now - entered);
		losing->n_checked += losing->ready > 0;
	}
	tell_losing(losing, CALL_CLOSE);
	tell_losing(losing, CALL_RESUMED); /* of which nothing may stay */
}

/* Threads lose their processor and get it again at any moment: of each call is told how long it had
 * none.  One whose thread has none when breakpoints go off is cut, others have no match. */
Test(call_pairs, ready_times)
{
	enum { CALLS = 4000 };
	struct losing losing = {.state = 21, .now = 1};
	uint64_t started = 0, cut = 0;
	tell_losing(&losing, CALL_BORN);
	for (int i = 0; i < CALLS; i++)
		call_and_lose(&losing, random_number(&losing.state) % 4 == 0);
	for (size_t w = 0; w < losing.pairs.n_windows; w++) {
		started += losing.pairs.started[w].n[0];
		cut += losing.pairs.started[w].cut[0];
	}
	cr_assert(losing.n_checked > 1000 && cut > 100);
	cr_assert_eq(cut, losing.n_cut);
	cr_assert_eq(started, CALLS - losing.n_cut);
	call_pairs_deinit(&losing.pairs);
}

/* ---- any records ---- */

/* Whether `event` of the log is an entry that opens a call, looked up anew from the log alone. */
static bool is_open_at(const struct call_event *log, size_t n, uint32_t tid, size_t *entry)
{
	bool open = false;
	for (size_t i = 0; i < n; i++) {
		if (log[i].kind == CALL_FORGET)
			open = false;
		if (log[i].tid != tid || (log[i].kind != CALL_ENTRY && log[i].kind != CALL_RETURN))
			continue;
		if (log[i].kind == CALL_ENTRY && (!open || log[i].sp >= log[*entry].sp)) {
			open = true;
			*entry = i;
		} else if (log[i].kind == CALL_RETURN && open && log[i].sp == log[*entry].sp &&
			   log[i].kernel == log[*entry].kernel) {
			open = false;
		}
	}
	return open;
}

static size_t match_slowly(const struct call_event *log, size_t n, struct timed_call *calls)
{
	size_t n_calls = 0, entry;
	for (size_t i = 0; i < n; i++) {
		if (log[i].kind != CALL_RETURN || !is_open_at(log, i, log[i].tid, &entry) ||
		    log[entry].sp != log[i].sp || log[entry].kernel != log[i].kernel)
			continue;
		uint32_t windows = 0;
		bool in_window = false;
		for (size_t k = 0; k < entry; k++) {
			windows += log[k].kind == CALL_WINDOW;
			in_window = log[k].kind == CALL_WINDOW ||
				    (in_window && log[k].kind != CALL_CLOSE);
		}
		if (in_window)
			calls[n_calls++] =
				(struct timed_call){log[entry].time, log[i].time - log[entry].time,
						    log[i].kernel, windows - 1};
	}
	return n_calls;
}

Test(call_pairs, any_records_as_a_slow_matcher)
{
	enum { RECORDS = 400 };
	static const enum call_event_kind kinds[] = {
		CALL_ENTRY,  CALL_RETURN, CALL_ENTRY,  CALL_RETURN, CALL_ENTRY, CALL_RETURN,
		CALL_ENTRY,  CALL_RETURN, CALL_ENTRY,  CALL_RETURN, CALL_ENTRY, CALL_RETURN,
		CALL_WINDOW, CALL_CLOSE,  CALL_WINDOW, CALL_FORGET};
	uint64_t state = 9, n_all = 0;
	for (int round = 0; round < 300; round++) {
		struct call_event log[RECORDS];
		struct timed_call calls[RECORDS];
		struct call_pairs pairs = {0};
		for (size_t i = 0; i < RECORDS; i++) {
			const uint64_t random = random_number(&state);
			log[i] = (struct call_event){.time = 10 * i + (random & 7),
						     .sp = 0x1000 + (random >> 8 & 3) * 8,
						     .tid = 1 + (random >> 16 & 1),
						     .kernel = random >> 20 & 1,
						     .kind = kinds[random >> 24 & 15]};
			call_pairs_take(&pairs, &log[i]);
		}
		const size_t n = match_slowly(log, RECORDS, calls);
		check(pairs.calls, pairs.n_calls, calls, n);
		n_all += n;
		call_pairs_deinit(&pairs);
	}
	cr_assert(n_all > 1000, "%lu", (unsigned long)n_all);
}

/* ---- calls whose returns are not looked out for ---- */

/* Those that begin before it is known where they return to are timed when their end is seen, and
 * told when not.  Such that will not be seen hide no others. */
Test(call_pairs, early_and_unseen_ends)
{
	struct call_pairs pairs = {0};
	const struct call_event entry = {
		.tid = 1, .sp = 100, .return_to = 7, .kind = CALL_ENTRY, .ends_at_back = true};
	const struct call_event back = {.tid = 1, .sp = 108, .return_to = 7, .kind = CALL_BACK};
	struct call_event events[] = {
		{.kind = CALL_WINDOW}, entry, entry, back, entry, back, entry, back, entry};
	events[1].end = events[2].end = CALL_ENDS_EARLY; /* of the first nothing is seen */
	events[4].end = CALL_ENDS_UNSEEN;
	events[7].sp = 100; /* at that address, by another way */
	events[8].sp = 50;  /* within the call that goes on */
	for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++) {
		events[i].time = 1 + i;
		call_pairs_take(&pairs, &events[i]);
	}
	cr_assert_eq(pairs.n_calls, 1);
	cr_assert(pairs.calls[0].start == 3 && pairs.calls[0].ns == 1);
	cr_assert_eq(pairs.n_early[0], 1);
	cr_assert_eq(pairs.n_unseen[0], 1);
	cr_assert_eq(pairs.started[0].n[0], 3); /* the second, the unseen and the last */
	cr_assert(pairs.nested && call_pairs_wait(&pairs));
	call_pairs_deinit(&pairs);
}

/* A kernel that ends with a jump to another kernel: the second belongs to the call.  Called from
 * elsewhere at the same depth, it is one of its own. */
Test(call_pairs, jumps_to_another_kernel)
{
	for (uint64_t other = 0; other < 2; other++) {
		struct call_pairs pairs = {0};
		const struct call_event events[] = {
			{.time = 1, .kind = CALL_WINDOW},
			{.time = 2,
			 .tid = 1,
			 .sp = 96,
			 .return_to = 7,
			 .kind = CALL_ENTRY,
			 .ends_at_back = true},
			{.time = 3,
			 .tid = 1,
			 .sp = 96,
			 .return_to = 7 + other,
			 .kernel = 1,
			 .kind = CALL_ENTRY},
			{.time = 4, .tid = 1, .sp = 96, .kernel = 1, .kind = CALL_RETURN},
			{.time = 5, .tid = 1, .sp = 104, .return_to = 7, .kind = CALL_BACK},
		};
		for (size_t i = 0; i < sizeof(events) / sizeof(events[0]); i++)
			call_pairs_take(&pairs, &events[i]);
		cr_assert_eq(pairs.n_calls, 1);
		cr_assert_eq(pairs.calls[0].kernel, other);
		cr_assert_eq(pairs.calls[0].ns, other ? 1 : 3);
		call_pairs_deinit(&pairs);
	}
}

/* ---- threads ---- */

Test(call_pairs, threads_of_a_call_and_threads_that_end)
{
	struct call_pairs pairs = {0};
	const struct call_event events[] = {
		{.time = 1, .kind = CALL_WINDOW},
		{.time = 2, .tid = 1, .sp = 100, .kind = CALL_ENTRY},
		{.time = 3, .tid = 2, .kernel = 1, .kind = CALL_BORN}, /* it works for that call */
		{.time = 4, .tid = 2, .sp = 900, .kind = CALL_ENTRY},
		{.time = 5, .tid = 2, .sp = 900, .kind = CALL_RETURN},
		{.time = 6, .tid = 3, .kernel = 2, .kind = CALL_BORN},
		{.time = 7, .tid = 2, .kind = CALL_ENDED},
		{.time = 8, .tid = 3, .sp = 800, .kind = CALL_ENTRY},
		{.time = 9, .tid = 3, .sp = 800, .kind = CALL_RETURN},
		{.time = 10, .tid = 1, .sp = 100, .kind = CALL_RETURN},
		{.time = 11, .tid = 3, .sp = 800, .kind = CALL_ENTRY}, /* its own */
		{.time = 14, .tid = 3, .sp = 800, .kind = CALL_RETURN},
		{.time = 15, .tid = 3, .sp = 800, .kind = CALL_ENTRY},
		{.time = 16, .tid = 3, .kind = CALL_ENDED},
		{.time = 17, .tid = 3, .kernel = 1, .kind = CALL_BORN}, /* another one */
		{.time = 18, .tid = 3, .sp = 800, .kind = CALL_RETURN},
	};
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		call_pairs_take(&pairs, &events[i]);
	cr_assert_eq(pairs.n_calls, 2);
	cr_assert(pairs.calls[0].start == 2 && pairs.calls[0].ns == 8);
	cr_assert(pairs.calls[1].start == 11 && pairs.calls[1].ns == 3);
	cr_assert_eq(pairs.started[0].n[0], 3);
	cr_assert(pairs.nested && !call_pairs_wait(&pairs));
	call_pairs_deinit(&pairs);
}

/* ---- calls that begin before they can be seen ---- */

/* Between 10 and 20 three threads may have called; the first is seen to return at 50, the second
 * to enter at 35, the third was born afterwards. */
Test(call_pairs, unseen_calls)
{
	for (int alone = 0; alone < 2; alone++) {
		struct call_pairs pairs = {0};
		const struct call_event events[] = {
			{.time = 1, .kind = CALL_WINDOW},
			{.time = 2, .tid = 2, .kernel = 1, .kind = CALL_BORN},
			{.time = 20,
			 .mapped = 10,
			 .tid = 1,
			 .kernel = 2,
			 .ends_at_back = alone,
			 .kind = CALL_UNSEEN},
			{.time = 30, .tid = 3, .kernel = 2, .kind = CALL_BORN},
			{.time = 35,
			 .tid = 2,
			 .sp = 200,
			 .kernel = 2,
			 .ends_at_back = alone,
			 .kind = CALL_ENTRY},
			{.time = 40,
			 .tid = 3,
			 .sp = 300,
			 .kernel = 2,
			 .ends_at_back = alone,
			 .kind = CALL_ENTRY},
			{.time = 50, .tid = 1, .sp = 100, .kernel = 2, .kind = CALL_RETURN},
			{.time = 60, .tid = 1, .sp = 100, .kernel = 2, .kind = CALL_RETURN},
		};
		const size_t n = sizeof(events) / sizeof(*events) - (alone ? 2 : 0);
		for (size_t i = 0; i < n; i++)
			call_pairs_take(&pairs, &events[i]);
		call_pairs_end(&pairs, 100);
		cr_assert_eq(pairs.unseen_least_ns[2], alone ? 0 : 30);
		/* where no returns are looked out for, up to the next entry, or the end */
		cr_assert_eq(pairs.unseen_ns[2], alone ? 2 * 10 + 15 + 80 : 2 * 10 + 30);
		cr_assert_eq(pairs.unseen_ns[0], 0);
		call_pairs_deinit(&pairs);
	}
}

/* A call that has begun unseen is over where a place tells that one of its kernel is. */
Test(call_pairs, unseen_call_that_comes_back)
{
	struct call_pairs pairs = {0};
	const struct call_event events[] = {
		{.time = 1, .kind = CALL_WINDOW},
		{.time = 20, .mapped = 10, .tid = 1, .ends_at_back = true, .kind = CALL_UNSEEN},
		{.time = 30, .tid = 1, .sp = 108, .return_to = 9, .kind = CALL_BACK},
		{.time = 50,
		 .tid = 1,
		 .sp = 108,
		 .return_to = 7,
		 .ends_at_back = true,
		 .kind = CALL_BACK},
		{.time = 60,
		 .tid = 1,
		 .sp = 100,
		 .return_to = 7,
		 .ends_at_back = true,
		 .kind = CALL_ENTRY},
		{.time = 70,
		 .tid = 1,
		 .sp = 108,
		 .return_to = 7,
		 .ends_at_back = true,
		 .kind = CALL_BACK},
	};
	for (size_t i = 0; i < sizeof(events) / sizeof(*events); i++)
		call_pairs_take(&pairs, &events[i]);
	call_pairs_end(&pairs, 100);
	cr_assert(pairs.n_calls == 1 && pairs.calls[0].start == 60 && pairs.calls[0].ns == 10);
	cr_assert(pairs.unseen_least_ns[0] == 30 && pairs.unseen_ns[0] == 40);
	call_pairs_deinit(&pairs);
}

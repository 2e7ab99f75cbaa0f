/* Calls of kernels as breakpoints at entries and returns show them, against what threads do. */
#include "tests/unit/splitmix.h"
#include "tracer/flush/call_depth.h"

#include <criterion/criterion.h>
#include <stdlib.h>

#define THREADS 4
#define MOST_DEPTH 12
#define STEPS 200000

/* A thread's frames: the stack pointer at each one's entry, and whether a kernel's function it is;
 * the outermost call that the first of them is in. */
struct model {
	uint64_t sp[MOST_DEPTH];
	bool is_kernel[MOST_DEPTH];
	unsigned depth, call; /* call: depth at which its own call began, plus 1; 0: none */
};

static const unsigned starters[THREADS] = {0, 0, 1, 2}; /* thread 0 is the first */

static bool is_in_call(const struct model *models, unsigned thread)
{
	for (;; thread = starters[thread]) {
		if (models[thread].call)
			return true;
		if (!thread)
			return false;
	}
}

static uint64_t return_address(unsigned thread, unsigned depth)
{
	return 0x400000 + thread * 0x10000 + depth * 0x100;
}

static void enter(struct call_depth *depth, struct model *models, unsigned thread, bool is_kernel,
		  uint64_t frame)
{
	struct model *model = &models[thread];
	const unsigned d = model->depth++;
	model->sp[d] = (d ? model->sp[d - 1] : 0x7f0000000000 + thread * 0x100000000) - frame;
	model->is_kernel[d] = is_kernel;
	if (!is_kernel)
		return;
	const bool truth = !is_in_call(models, thread);
	struct call_thread *at = call_depth_thread(depth, (pid_t)thread + 1);
	/* what lies where its call's return address lay: that, as long as the frame is there */
	const bool still =
		at->known.is_open && model->call && model->sp[model->call - 1] == at->call.sp;
	cr_assert_eq(call_depth_enters(depth, at, model->sp[d], return_address(thread, d),
				       still ? at->call.return_to : 0),
		     truth);
	if (truth)
		model->call = d + 1;
}

static void leave(struct call_depth *depth, struct model *models, unsigned thread, bool returns)
{
	struct model *model = &models[thread];
	const unsigned d = --model->depth;
	struct call_thread *at = call_depth_thread(depth, (pid_t)thread + 1);
	const bool ends = model->call == d + 1;
	if (ends)
		model->call = 0;
	if (!returns || !at->known.is_open || at->call.return_to != return_address(thread, d) ||
	    !model->is_kernel[d])
		return;
	cr_assert_eq(call_depth_returns(at, model->sp[d] + 8), ends);
	if (ends)
		at->known.is_open = false;
}

Test(call_depth, random_calls)
{
	struct call_depth depth = {0};
	struct model models[THREADS] = {0};
	uint64_t state = 7, calls = 0;
	for (unsigned thread = 0; thread < THREADS; thread++)
		cr_assert(call_depth_begin(&depth, (pid_t)thread + 1,
					   thread ? (pid_t)starters[thread] + 1 : 0));
	for (unsigned step = 0; step < STEPS; step++) {
		const uint64_t random = random_number(&state);
		const unsigned thread = random % THREADS;
		struct model *model = &models[thread];
		if (random >> 8 & 1 && model->depth < MOST_DEPTH) {
			enter(&depth, models, thread, random >> 9 & 1, 16 + (random >> 16 & 0xff0));
			calls += model->call == model->depth;
		} else if (model->depth && (random >> 10) % 50 == 0 &&
			   (random_number(&state) & 1 || !model->call)) {
			/* longjmp: all frames are gone, and nobody is told; threads that it has
			 * started would not know either */
			if (thread == THREADS - 1)
				while (model->depth)
					leave(&depth, models, thread, false);
		} else if (model->depth) {
			leave(&depth, models, thread, true);
		}
	}
	cr_assert_gt(calls, 1000);
	call_depth_deinit(&depth);
}

Test(call_depth, threads_end)
{
	struct call_depth depth = {0};
	call_depth_begin(&depth, 1, 0);
	call_depth_begin(&depth, 3, 0); /* its first stop comes before its starter's */
	call_depth_begin(&depth, 2, 1);
	call_depth_begin(&depth, 3, 2);
	cr_assert(call_depth_enters(&depth, call_depth_thread(&depth, 1), 1000, 50, 0));
	cr_assert_not(call_depth_enters(&depth, call_depth_thread(&depth, 3), 2000, 60, 0));
	call_depth_end(&depth, 2);
	cr_assert_not(call_depth_enters(&depth, call_depth_thread(&depth, 3), 2000, 60, 0));
	call_depth_end(&depth, 1);
	cr_assert(call_depth_enters(&depth, call_depth_thread(&depth, 3), 2000, 60, 0));
	cr_assert_null(call_depth_thread(&depth, 1));
	call_depth_deinit(&depth);
}

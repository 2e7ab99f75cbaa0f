/* Accounts of a made-up loop that calls made-up functions: on a core of 1 GHz in which an addition
 * of numbers and a multiplication take 4 cycles, and everything is in L1. */
#include "report/ecm/loop_account.h"
#include "report/in_core/measured_core.h"
#include "tests/unit/report/ecm/made_up_core.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 1000000
enum { LOOP = 0x100, LEAF = 0x200, MIDDLE = 0x300, STUB = 0x400 };

static const struct model_choice with_loops = {.loops = true};

/* ---- the program ---- */

struct program {
	struct profile *p;
	uint32_t module, counted, timed;
};

static struct program program_begin(void)
{
	struct program program = {.p = profile_create()};
	program.module = profile_module(program.p, "/x", "");
	program.counted = profile_thread(program.p, RUN_COUNTED, 1, 1, "");
	program.timed = profile_thread(program.p, RUN_TIMED, 2, 2, "");
	profile_set_fact(program.p, "clock_ghz", "1");
	made_up_core(program.p);
	return program;
}

static void add_block(struct program *program, uint64_t start, const char *bytes, uint32_t size,
		      uint64_t n)
{
	sample_block(program->p, program->module, start, bytes, size, program->counted, n);
}

/* nop; call TARGET; dec rcx; jnz; ret: the loop is from the call to the branch.  A target of 0 is
 * called through rax. */
static void add_loop(struct program *program, uint64_t target)
{
	char call[] = "\xe8\0\0\0";
	const uint64_t from = LOOP + 1;
	const uint32_t size = target ? 5 : 2;
	if (target) {
		const int32_t distance = (int32_t)(target - (from + 5));
		memcpy(call + 1, &distance, 4);
	} else {
		memcpy(call, "\xff\xd0", 2);
	}
	sample_function(program->p, program->module, LOOP, LOOP + 0x10, "caller", "", 0);
	add_block(program, LOOP, "\x90", 1, 1);
	add_block(program, from, call, size, TURNS);
	add_block(program, from + size, target ? "\x48\xff\xc9\x75\xf6" : "\x48\xff\xc9\x75\xf9", 5,
		  TURNS);
	add_block(program, from + size + 5, "\xc3", 1, 1);
}

/* addsd xmm0,xmm1; mulsd xmm0,xmm2; ret: 8 cycles from turn to turn. */
static void add_leaf(struct program *program, uint64_t n)
{
	sample_function(program->p, program->module, LEAF, LEAF + 9, "leaf", "", 0);
	add_block(program, LEAF, "\xf2\x0f\x58\xc1\xf2\x0f\x59\xc2\xc3", 9, n);
}

/* So many samples of 1 ms at a place, below the frame of the loop's call. */
static void add_samples(struct program *program, uint64_t offset, uint64_t call, int n)
{
	struct profile *p = program->p;
	const uint32_t parent =
		call ? profile_frame(p, PROFILE_NONE, program->module, call) : PROFILE_NONE;
	for (int i = 0; i < n; i++) {
		const struct profile_sample sample = {
			program->timed, p->n_samples * 1000000, 1000000,
			profile_frame(p, parent, program->module, offset)};
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
}

/* Accounts of both, and what is measured of the core. */
struct accounts {
	struct measured_core core;
	struct model model;
	struct ecm_machine machine;
	struct ecm_function caller, leaf;
};

static void account_init(struct accounts *all, struct profile *p)
{
	all->model = build_as(p, with_loops);
	all->machine = ecm_machine_of(p);
	assert_ok(measured_core_init(p, &all->core));
	all->machine.core = &all->core;
	assert_ok(ecm_function_init(&all->caller, &all->machine, p, &all->model,
				    find(&all->model, "caller")));
	assert_ok(ecm_function_init(&all->leaf, &all->machine, p, &all->model,
				    find(&all->model, "leaf")));
}

static void account_deinit(struct accounts *all, struct profile *p)
{
	ecm_function_deinit(&all->caller);
	ecm_function_deinit(&all->leaf);
	measured_core_deinit(&all->core);
	model_deinit(&all->model);
	profile_destroy(p);
}

static void near(double value, double truth, const char *what)
{
	cr_expect(fabs(value - truth) <= 0.01 * fabs(truth), "%s: %g, not %g", what, value, truth);
}

/* The chain goes through the callee: 8 ms, of which both take as much as of the measured 10 ms. */
static void expect_joined(const struct accounts *all, double calls_share, const char *what)
{
	const struct ecm_account *with = &all->caller.with_calls[0];
	near(with->predicted_s, 8e-9 * TURNS, what);
	near(with->measured_s, 0.010, what);
	cr_expect_eq(ecm_largest(with), ACCOUNT_CHAIN, "%s", what);
	cr_expect_eq(ecm_largest(&all->leaf.whole), ACCOUNT_CHAIN, "%s", what);
	near(all->caller.loops[0].predicted_s, 0.2 * 8e-9 * TURNS, what);
	near(all->leaf.whole.predicted_s, calls_share * 8e-9 * TURNS, what);
	cr_expect(ecm_is_predicted(&all->caller.whole));
}

/* ---- what is followed ---- */

Test(joined_account, a_chain_goes_through_a_call)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, LEAF);
	add_leaf(&program, TURNS);
	add_samples(&program, LOOP + 6, 0, 2);
	add_samples(&program, LEAF, LOOP + 5, 8);
	account_init(&all, program.p);
	expect_joined(&all, 0.8, "by name");
	account_deinit(&all, program.p);
}

/* The frame of the caller is the last byte of its call. */
Test(joined_account, stacks_tell_what_is_called_through_a_pointer)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, 0);
	add_leaf(&program, TURNS);
	add_samples(&program, LOOP + 3, 0, 2);
	add_samples(&program, LEAF, LOOP + 2, 8);
	account_init(&all, program.p);
	expect_joined(&all, 0.8, "by a pointer");
	account_deinit(&all, program.p);
}

/* jmp [rip]: the stub has samples of its own. */
Test(joined_account, a_stub_leads_to_a_library)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, STUB);
	sample_function(program.p, program.module, STUB, STUB + 6, "stub", "", 0);
	add_block(&program, STUB, "\xff\x25\0\0\0\0", 6, TURNS);
	add_leaf(&program, TURNS);
	add_samples(&program, LOOP + 6, 0, 2);
	add_samples(&program, STUB, LOOP + 5, 1);
	add_samples(&program, LEAF, LOOP + 5, 7);
	account_init(&all, program.p);
	expect_joined(&all, 0.7, "by a stub");
	account_deinit(&all, program.p);
}

/* call LEAF; ret */
Test(joined_account, what_is_called_calls_something_itself)
{
	struct program program = program_begin();
	struct accounts all;
	char call[] = "\xe8\0\0\0\0";
	const int32_t distance = LEAF - (MIDDLE + 5);
	memcpy(call + 1, &distance, 4);
	add_loop(&program, MIDDLE);
	sample_function(program.p, program.module, MIDDLE, MIDDLE + 6, "middle", "", 0);
	add_block(&program, MIDDLE, call, 5, TURNS);
	add_block(&program, MIDDLE + 5, "\xc3", 1, TURNS);
	add_leaf(&program, TURNS);
	add_samples(&program, LOOP + 6, 0, 2);
	add_samples(&program, MIDDLE + 5, LOOP + 5, 1);
	add_samples(&program, LEAF, LOOP + 5, 7);
	account_init(&all, program.p);
	expect_joined(&all, 0.7, "by another");
	account_deinit(&all, program.p);
}

/* Half of the leaf's executions are for others: half of its 16 ms count for the loop, and of what
 * is for others only a lower bound is known. */
Test(joined_account, others_call_the_same)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, LEAF);
	add_leaf(&program, 2 * TURNS);
	add_samples(&program, LOOP + 6, 0, 2);
	add_samples(&program, LEAF, LOOP + 5, 16);
	account_init(&all, program.p);
	near(all.caller.with_calls[0].measured_s, 0.010, "measured");
	near(all.caller.with_calls[0].predicted_s, 8e-9 * TURNS, "predicted");
	const double rest = all.leaf.whole.predicted_s - 0.8 * 8e-9 * TURNS;
	cr_expect(rest > 0 && rest < 8e-9 * TURNS, "%g", rest);
	account_deinit(&all, program.p);
}

/* ---- what is not ---- */

static void expect_unknown(const struct accounts *all)
{
	cr_expect(!ecm_is_predicted(&all->caller.loops[0]));
	cr_expect(!ecm_is_predicted(&all->caller.whole));
	cr_expect(all->caller.whole.lacks & ECM_LACKS_CALLS);
	cr_expect_eq(all->caller.with_calls[0].turns, 0);
	cr_expect(ecm_is_predicted(&all->leaf.whole), "a lower bound");
}

Test(joined_account, nobody_knows_what_a_pointer_calls)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, 0);
	add_leaf(&program, TURNS);
	add_samples(&program, LOOP + 3, 0, 2);
	add_samples(&program, LEAF, 0, 8);
	account_init(&all, program.p);
	expect_unknown(&all);
	account_deinit(&all, program.p);
}

/* Two thirds of the time below the call are in one function, a third in another. */
Test(joined_account, a_pointer_calls_several)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, 0);
	add_leaf(&program, TURNS);
	sample_function(program.p, program.module, MIDDLE, MIDDLE + 1, "other", "", 0);
	add_block(&program, MIDDLE, "\xc3", 1, TURNS / 3);
	add_samples(&program, LOOP + 3, 0, 2);
	add_samples(&program, LEAF, LOOP + 2, 6);
	add_samples(&program, MIDDLE, LOOP + 2, 3);
	account_init(&all, program.p);
	expect_unknown(&all);
	account_deinit(&all, program.p);
}

/* addsd xmm0,xmm1; call LEAF; ret */
Test(joined_account, what_is_called_calls_itself)
{
	struct program program = program_begin();
	struct accounts all;
	add_loop(&program, LEAF);
	sample_function(program.p, program.module, LEAF, LEAF + 10, "leaf", "", 0);
	add_block(&program, LEAF, "\xf2\x0f\x58\xc1\xe8\xf7\xff\xff\xff", 9, 2 * TURNS);
	add_block(&program, LEAF + 9, "\xc3", 1, 2 * TURNS);
	add_samples(&program, LOOP + 6, 0, 2);
	add_samples(&program, LEAF, LOOP + 5, 8);
	account_init(&all, program.p);
	expect_unknown(&all);
	account_deinit(&all, program.p);
}

/* What executes more than the reorder buffer holds stands by itself. */
Test(joined_account, what_is_long_has_an_account_of_its_own)
{
	struct program program = program_begin();
	struct accounts all;
	profile_set_fact(program.p, "reorder_buffer", "3");
	add_loop(&program, LEAF);
	add_leaf(&program, TURNS);
	add_samples(&program, LOOP + 6, 0, 2);
	add_samples(&program, LEAF, LOOP + 5, 8);
	account_init(&all, program.p);
	cr_expect_eq(all.caller.with_calls[0].turns, 0);
	cr_expect(ecm_is_predicted(&all.caller.loops[0]));
	cr_expect(all.caller.loops[0].predicted_s < 3e-9 * TURNS);
	account_deinit(&all, program.p);
}

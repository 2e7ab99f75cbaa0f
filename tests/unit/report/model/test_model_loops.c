/* Loops, found in code whose loops are known. */
#include "insn/flow.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"
#include "tests/unit/splitmix.h"

static const struct model_choice with_loops = {.loops = true};

/* One function of `size` bytes at 0x100. */
static struct profile *function_of(uint32_t size)
{
	struct profile *p = profile_create();
	uint32_t m = profile_module(p, "/x", "");
	sample_function(p, m, 0x100, 0x100 + size, "f", "", 0);
	return p;
}

static void add_block(struct profile *p, const char *code, uint32_t from, uint32_t to, int64_t n)
{
	sample_block(p, 0, 0x100 + from, code + from, to - from,
		     profile_thread(p, RUN_COUNTED, 1, 1, ""), n);
}

static void add_sample(struct profile *p, uint64_t offset)
{
	struct profile_sample sample = {profile_thread(p, RUN_TIMED, 2, 2, ""), 1000, 1000,
					profile_frame(p, PROFILE_NONE, 0, 0x100 + offset)};
	cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
}

/* 0 nop; 1 xor eax,eax; 3 add rbx,rax; 6 inc rax; 9 cmp rax,rcx; c jb 3; e dec rdx; 11 jnz 1; 13
 * ret */
static const char nest[] =
	"\x90\x31\xc0\x48\x01\xc3\x48\xff\xc0\x48\x39\xc8\x72\xf5\x48\xff\xca\x75\xee\xc3";

/* 10 turns of the outer loop, 10 of the inner one in each. */
static struct profile *nested(void)
{
	struct profile *p = function_of(20);
	add_block(p, nest, 0, 0xe, 1);
	add_block(p, nest, 3, 0xe, 90);
	add_block(p, nest, 0xe, 0x13, 10);
	add_block(p, nest, 1, 0xe, 9);
	add_block(p, nest, 0x13, 0x14, 1);
	return p;
}

Test(model_loops, a_nest_is_taken_apart)
{
	struct profile *p = nested();
	add_sample(p, 0);
	add_sample(p, 3);
	add_sample(p, 0xc);
	add_sample(p, 0xe);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "f");
	cr_assert_eq(f->n_loops, 2, "%zu loops", f->n_loops);
	const struct model_loop *outer = &f->loops[0], *inner = &f->loops[1];
	cr_expect_eq(outer->parent, PROFILE_NONE);
	cr_expect_eq(inner->parent, 0);
	cr_expect_eq(outer->start, 0x101);
	cr_expect_eq(outer->end, 0x113);
	cr_expect_eq(outer->header, 0x101);
	cr_expect_eq(outer->turns, 10);
	cr_expect_eq(outer->entries, 1);
	cr_expect_eq(inner->start, 0x103);
	cr_expect_eq(inner->end, 0x10e);
	cr_expect_eq(inner->header, 0x103);
	cr_expect_eq(inner->turns, 100);
	cr_expect_eq(inner->entries, 10);
	cr_expect_eq(inner->tally.instructions, 4 * 100);
	cr_expect_eq(outer->tally.instructions, 3 * 10 + 4 * 100);
	cr_expect_eq(f->tally.instructions, 2 + 3 * 10 + 4 * 100);
	cr_expect_eq(inner->taken, 90);
	cr_expect_eq(outer->taken, 9, "without those within");
	cr_expect_eq(inner->chain_cycles, 0, "a cycle a turn is none");
	cr_expect_eq(inner->tally.loads, 0);
	cr_expect_eq(inner->n_samples, 2);
	cr_expect_eq(outer->n_samples, 3);
	cr_expect_eq(outer->time_ns, 3000);
	model_deinit(&model);
	model = build(p);
	cr_expect_eq(find(&model, "f")->n_loops, 0, "not asked for");
	model_deinit(&model);
	profile_destroy(p);
}

/* Entered in its middle: 0 jmp 5; 2 add rbx,rax; 5 cmp rax,rcx; 8 jb 2; a ret */
Test(model_loops, a_loop_entered_at_its_end_is_one)
{
	static const char code[] = "\xeb\x03\x48\x01\xc3\x48\x39\xc8\x72\xf8\xc3";
	struct profile *p = function_of(11);
	add_block(p, code, 0, 2, 1);
	add_block(p, code, 5, 10, 1);
	add_block(p, code, 2, 10, 7);
	add_block(p, code, 10, 11, 1);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "f");
	cr_assert_eq(f->n_loops, 1);
	cr_expect_eq(f->loops[0].start, 0x102);
	cr_expect_eq(f->loops[0].end, 0x10a);
	cr_expect_eq(f->loops[0].header, 0x105);
	cr_expect_eq(f->loops[0].turns, 8);
	cr_expect_eq(f->loops[0].entries, 1);
	cr_expect_eq(f->loops[0].tally.instructions, 7 + 2 * 8);
	model_deinit(&model);
	profile_destroy(p);
}

/* 0 dec rdx; 3 jnz 0; 5 ret: called three times, 100 turns in all; entries only from the ways back.
 */
Test(model_loops, entries_of_a_loop_that_the_function_begins_with)
{
	static const char code[] = "\x48\xff\xca\x75\xfb\xc3";
	struct profile *p = function_of(6);
	add_block(p, code, 0, 5, 100);
	add_block(p, code, 5, 6, 3);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "f");
	cr_assert_eq(f->n_loops, 1);
	cr_expect_eq(f->loops[0].turns, 100);
	cr_expect_eq(f->loops[0].entries, 3);
	model_deinit(&model);
	profile_destroy(p);
}

/* 0 test rcx,rcx; 3 jz a; 5 dec rdx; 8 jnz 5; a ret: how often each of the two jumps led to the ret
 * is not known. */
Test(model_loops, entries_that_the_counts_do_not_tell_are_not_told)
{
	static const char code[] = "\x48\x85\xc9\x74\x05\x48\xff\xca\x75\xfb\xc3";
	struct profile *p = function_of(11);
	add_block(p, code, 0, 5, 8);
	add_block(p, code, 5, 10, 100);
	add_block(p, code, 10, 11, 8);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "f");
	cr_assert_eq(f->n_loops, 1);
	cr_expect_eq(f->loops[0].turns, 100);
	cr_expect_eq(f->loops[0].entries, -1);
	model_deinit(&model);
	profile_destroy(p);
}

/* A switch: 0 nop; 1 jmp rax; 3 nop; 4 jmp 1; 6 nop; 7 jmp 1; 9 ret */
Test(model_loops, an_indirect_jump_leads_to_what_else_is_not_reached)
{
	static const char code[] = "\x90\xff\xe0\x90\xeb\xfb\x90\xeb\xf8\xc3";
	struct profile *p = function_of(10);
	add_block(p, code, 0, 3, 1);
	add_block(p, code, 1, 3, 9);
	add_block(p, code, 3, 6, 4);
	add_block(p, code, 6, 9, 5);
	add_block(p, code, 9, 10, 1);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "f");
	cr_assert_eq(f->n_loops, 1);
	cr_expect_eq(f->loops[0].start, 0x101);
	cr_expect_eq(f->loops[0].end, 0x109);
	cr_expect_eq(f->loops[0].turns, 10);
	cr_expect_eq(f->loops[0].tally.instructions, 10 + 2 * 4 + 2 * 5);
	model_deinit(&model);
	profile_destroy(p);
}

/* A call comes back; straight code has no loop.  0 call +0; 5 nop; 6 ret */
Test(model_loops, calls_are_no_loops)
{
	static const char code[] = "\xe8\xfb\xff\xff\xff\x90\xc3";
	struct profile *p = function_of(7);
	add_block(p, code, 0, 5, 5);
	add_block(p, code, 5, 7, 5);
	struct model model = build_as(p, with_loops);
	cr_expect_eq(find(&model, "f")->n_loops, 0);
	model_deinit(&model);
	profile_destroy(p);
}

/* Work, units, time and traffic of the sample's loops are those of its functions but for what is
 * outside. */
Test(model_loops, loops_have_their_functions_work)
{
	struct profile *p = report_traced_sample();
	struct model model = build_as(p, with_loops);
	const char *const whole[] = {"triad", "fma_crunch(unsigned long)", "dot", "masked_add",
				     "integer"};
	for (size_t i = 0; i < sizeof(whole) / sizeof(*whole); i++) {
		const struct model_function *f = find(&model, whole[i]);
		cr_assert_eq(f->n_loops, 1, "%s", whole[i]);
		const struct tally_main tally = model_tally_main(&f->tally);
		cr_expect_eq(memcmp(&f->loops->tally, &tally, sizeof(tally)), 0, "%s", whole[i]);
		cr_expect_eq(f->loops->time_ns, f->time_ns, "%s", whole[i]);
		cr_expect_eq(f->loops->bytes->l2.bytes, f->traffic->bytes.l2.bytes, "%s", whole[i]);
	}
	cr_expect_eq(find(&model, "copy")->n_loops, 0, "a repeated instruction is no loop");
	const struct model_function *triad = find(&model, "triad");
	expect_near(triad->loops->bytes->mem[DIRECTION_BOTH].stderr_bytes,
		    triad->traffic->bytes.mem[DIRECTION_BOTH].stderr_bytes, "error");
	model_deinit(&model);
	profile_destroy(p);
}

Test(model_loops, branches)
{
	static const struct {
		const char *code;
		size_t size;
		enum branch_kind kind;
		uint64_t target;
	} rows[] = {
		{"\x90", 1, BRANCH_NONE, 0},
		{"\x72\xf5", 2, BRANCH_CONDITIONAL, 0x1000 + 2 - 11},
		{"\x0f\x84\x10\x00\x00\x00", 6, BRANCH_CONDITIONAL, 0x1016},
		{"\xeb\x03", 2, BRANCH_JUMP, 0x1005},
		{"\xe9\xfb\xff\xff\xff", 5, BRANCH_JUMP, 0x1000},
		{"\xff\xe0", 2, BRANCH_INDIRECT, 0},
		{"\xff\x25\x00\x00\x00\x00", 6, BRANCH_INDIRECT, 0},
		{"\xc3", 1, BRANCH_LEAVE, 0},
		{"\xe8\x00\x00\x00\x00", 5, BRANCH_NONE, 0},
		{"\xff\xd0", 2, BRANCH_NONE, 0},
		{"\xe3\xfe", 2, BRANCH_CONDITIONAL, 0x1000},
		{"\xe2\xfe", 2, BRANCH_CONDITIONAL, 0x1000},
		{"\x0f\x0b", 2, BRANCH_LEAVE, 0},
		{"\x0f", 1, BRANCH_LEAVE, 0},
		{"\x0f\x05", 2, BRANCH_NONE, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct branch branch =
			branch_of_bytes((const uint8_t *)rows[i].code, rows[i].size, 0x1000);
		cr_expect_eq(branch.kind, rows[i].kind, "row %zu: %d", i, branch.kind);
		if (rows[i].target)
			cr_expect_eq(branch.target, rows[i].target, "row %zu: %lx", i,
				     branch.target);
	}
}

/* ---- random code, taken apart by the closure of its edges ---- */

enum { NODES = 12 };

struct slow {
	bool edge[NODES][NODES];
	const struct model_function *function;
	size_t n_found;
};

/* Instructions of two bytes: none, a jump, a conditional one, jmp rax. */
static void make_code(uint64_t *state, char code[2 * NODES + 1], struct slow *slow)
{
	bool indirect[NODES] = {false}, entered[NODES] = {true};
	for (int i = 0; i < NODES; i++) {
		const uint64_t kind = random_number(state) % 4;
		const int to = (int)(random_number(state) % NODES);
		memcpy(code + 2 * i, &"\x66\x90\xeb\x00\x74\x00\xff\xe0"[2 * kind], 2);
		if (kind == 1 || kind == 2)
			code[2 * i + 1] = (char)(2 * (to - i - 1)), slow->edge[i][to] = true;
		if ((kind == 0 || kind == 2) && i + 1 < NODES)
			slow->edge[i][i + 1] = true;
		indirect[i] = kind == 3;
	}
	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			entered[j] |= slow->edge[i][j];
	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			slow->edge[i][j] |= indirect[i] && !entered[j];
}

static unsigned members_of(const struct slow *slow, unsigned set, int node)
{
	bool reach[NODES][NODES];
	unsigned members = 0;
	for (int i = 0; i < NODES; i++)
		for (int j = 0; j < NODES; j++)
			reach[i][j] = slow->edge[i][j] && set >> i & set >> j & 1;
	for (int k = 0; k < NODES; k++)
		for (int i = 0; i < NODES; i++)
			for (int j = 0; j < NODES; j++)
				reach[i][j] |= reach[i][k] && reach[k][j];
	for (int i = 0; i < NODES; i++)
		if (reach[node][i] && reach[i][node])
			members |= 1u << i;
	return members;
}

/* Each connected part of the set is a loop in that one; its header is the function's to choose. */
static void compare_loops(struct slow *slow, unsigned set, uint32_t parent)
{
	uint32_t number = 0;
	for (int i = 0; i < NODES; i++) {
		const unsigned members = set >> i & 1 ? members_of(slow, set, i) : 0;
		const int last = members ? 31 - __builtin_clz(members) : 0;
		uint32_t k = 0;
		if (!members || __builtin_ctz(members) != i)
			continue;
		while (k < slow->function->n_loops &&
		       (slow->function->loops[k].parent != parent ||
			slow->function->loops[k].start != 0x100 + 2 * (uint64_t)i))
			k++;
		cr_assert_lt(k, slow->function->n_loops, "no loop at %d", 2 * i);
		const struct model_loop *loop = &slow->function->loops[k];
		const uint64_t header = (loop->header - 0x100) / 2;
		cr_assert_eq(loop->end, 0x102 + 2 * (uint64_t)last);
		cr_assert(members >> header & 1);
		number++;
		slow->n_found++;
		compare_loops(slow, members & ~(1u << header), k);
	}
	for (uint32_t k = 0; k < slow->function->n_loops; k++)
		if (slow->function->loops[k].parent == parent)
			cr_assert_leq(slow->function->loops[k].number, number);
}

Test(model_loops, random_code_has_the_loops_of_its_closure)
{
	uint64_t state = 1;
	size_t n_loops = 0, n_indirect = 0;
	for (int i = 0; i < 3000; i++) {
		char code[2 * NODES + 1];
		struct slow slow = {0};
		struct profile *p = function_of(2 * NODES);
		make_code(&state, code, &slow);
		for (uint32_t at = 0; at < 2 * NODES; at += 2)
			add_block(p, code, at, at + 2, 5);
		struct model model = build_as(p, with_loops);
		slow.function = find(&model, "f");
		compare_loops(&slow, (1u << NODES) - 1, PROFILE_NONE);
		cr_assert_eq(slow.n_found, slow.function->n_loops, "code %d", i);
		n_loops += slow.n_found;
		n_indirect += memmem(code, 2 * NODES, "\xff\xe0", 2) != NULL;
		model_deinit(&model);
		profile_destroy(p);
	}
	cr_expect_gt(n_loops, 3000);
	cr_expect_gt(n_indirect, 1000);
}

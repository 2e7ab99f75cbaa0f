/* Loops whose time in the core is known, on a core that is made up: each addition of numbers takes
 * 4 cycles and half a cycle of the adders, a load 5, a third of a cycle; six instructions a cycle.
 */
#include "base/array.h"
#include "machine/data/core_json.h"
#include "report/in_core/function_code.h"
#include "report/in_core/in_core.h"
#include "tests/unit/assert_ok.h"
#include "tests/unit/report/ecm/made_up_core.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define TURNS 1000

static struct core_facts made_up(void)
{
	struct core_facts facts = {.taken = 1,
				   .load = {5, 6},
				   .forward = {4, 6},
				   .forward_still = {1, 5},
				   .forward_indexed = {NAN, NAN},
				   .forward_update = NAN,
				   .dividers_apart = true,
				   .compares_fuse = true,
				   .steps_fuse = true};
	made_up_form(&facts, "nop", NAN, 1 / 6.0, PROBE_SLOT);
	made_up_form(&facts, "jz rel", NAN, 0.5, PROBE_BRANCH);
	made_up_form(&facts, "add r64, i8", 1, 0.2, PROBE_INTEGER);
	made_up_form(&facts, "dec r64", 1, 0.2, PROBE_INTEGER);
	made_up_form(&facts, "xor r64, r64", 1, 0.2, PROBE_INTEGER);
	made_up_form(&facts, "imul r64, r64", 3, 1, PROBE_MULTIPLY);
	made_up_form(&facts, "addsd xmm, xmm", 4, 0.5, PROBE_FP_ADD);
	made_up_form(&facts, "mulsd xmm, xmm", 4, 0.5, PROBE_FP_MULTIPLY);
	made_up_form(&facts, "divsd xmm, xmm", 14, 4, PROBE_FP_MULTIPLY);
	made_up_form(&facts, "mov r64, m64", NAN, 1 / 3.0, PROBE_SLOT);
	made_up_form(&facts, "movups xmm, m128", NAN, 1 / 3.0, PROBE_SLOT);
	made_up_form(&facts, "mov m64, r64", NAN, 1, PROBE_SLOT);
	made_up_form(&facts, "movups m128, xmm", NAN, 1, PROBE_SLOT);
	return facts;
}

static const struct profile_branch *their_branches; /* two of them; or NULL */

/* Bytes that are a block, which is executed so often. */
struct part {
	uint32_t from, to;
	int64_t n;
};

/* Code at 0x100 whose last loop of `n_loops` is entered so often; `crossing` and `stored`
 * may be NULL. */
static struct in_core in_core_of_last(const struct core_facts *facts, const char *bytes,
				      uint32_t size, const struct part *parts, size_t n_parts,
				      size_t n_loops, int64_t entries,
				      const struct profile_crossing *crossing,
				      const struct profile_store_load *stored)
{
	struct line_crossings crossings;
	struct stored_loads loads;
	struct profile *profile = profile_create();
	struct flow_graph graph = {0};
	struct model_function function = {.time_ns = 1};
	const struct profile_function row = {.start = 0x100, .end = 0x100 + size};
	struct insn_cache *insns = insn_cache_create();
	struct in_core found;
	profile_module(profile, "/x", "");
	for (uint32_t i = 0; i < n_parts; i++) {
		const uint32_t from = parts[i].from, part = parts[i].to - from;
		struct profile_block block = {0, 0x100 + from, part,
					      memcpy(malloc(part), bytes + from, part)};
		cr_assert(rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks,
					block));
		assert_ok(flow_graph_add(&graph, profile, i, 0, part, parts[i].n));
	}
	assert_ok(flow_graph_find_loops(&graph, &row, &function));
	cr_assert_eq(function.n_loops, n_loops);
	function.loops[n_loops - 1].entries = entries;
	if (crossing)
		cr_assert(rf_array_push(profile->crossings, profile->n_crossings,
					profile->cap_crossings, *crossing));
	if (stored)
		cr_assert(rf_array_push(profile->store_loads, profile->n_store_loads,
					profile->cap_store_loads, *stored));
	for (size_t i = 0; i < 2 && their_branches; i++)
		cr_assert(rf_array_push(profile->branches, profile->n_branches,
					profile->cap_branches, their_branches[i]));
	assert_ok(line_crossings_init(profile, &crossings));
	assert_ok(stored_loads_init(profile, &loads));
	const struct in_core_code code = {profile,   insns,      &graph, &row,
					  &function, &crossings, &loads};
	assert_ok(in_core_of_loop(facts, &code, (uint32_t)n_loops - 1, &found));
	free(function.loops);
	line_crossings_deinit(&crossings);
	stored_loads_deinit(&loads);
	flow_graph_deinit(&graph);
	insn_cache_destroy(insns);
	profile_destroy(profile);
	return found;
}

static struct in_core in_core_of_parts(const struct core_facts *facts, const char *bytes,
				       uint32_t size, const struct part *parts, size_t n_parts,
				       int64_t entries, const struct profile_crossing *crossing,
				       const struct profile_store_load *stored)
{
	return in_core_of_last(facts, bytes, size, parts, n_parts, 1, entries, crossing, stored);
}

/* All of it TURNS times. */
static struct in_core in_core_of(const struct core_facts *facts, const char *bytes, uint32_t size,
				 int64_t entries)
{
	const struct part all = {0, size, TURNS};
	return in_core_of_parts(facts, bytes, size, &all, 1, entries, NULL, NULL);
}

/* The same, with two branches: the first one leads to what stands behind it either way; behind the
 * second one two bytes are executed in half of the turns. */
static struct in_core in_core_with_branches(const struct core_facts *facts, const char *bytes,
					    uint32_t size, const struct profile_branch branches[2])
{
	const uint32_t first = (uint32_t)branches[0].offset - 0x100 + 2,
		       second = (uint32_t)branches[1].offset - 0x100 + 2;
	const struct part parts[] = {{0, first, TURNS},
				     {first, second, TURNS},
				     {second, second + 2, TURNS / 2},
				     {second + 2, size, TURNS}};
	const size_t skipped = first == 2; /* there is but one */
	const struct part whole = {0, second, TURNS};
	struct part used[4] = {whole, parts[2], parts[3]};
	if (!skipped)
		memcpy(used, parts, sizeof(parts));
	their_branches = branches;
	const struct in_core found =
		in_core_of_parts(facts, bytes, size, used, 4 - skipped, 1, NULL, NULL);
	their_branches = NULL;
	return found;
}

/* Assembled with gas 2.40; the comments are its disassembly. */
static const struct {
	const char *what, *code;
	uint32_t size;
	enum in_core_part longest;
	double t_ol, t_nol, lcd;
} known[] = {
	{"addsd xmm0,[rdi]; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x58\x07\x48\x83\xc7\x08\x48\xff\xc9\x75\xf3", 13, IN_CORE_CHAIN, 4, 1 / 3.0, 4},
	{"addsd xmm0,[rdi]; addsd xmm1,[rdi+8] and so on to xmm3; add rdi,32; dec rcx; jnz",
	 "\xf2\x0f\x58\x07\xf2\x0f\x58\x4f\x08\xf2\x0f\x58\x57\x10\xf2\x0f\x58\x5f\x18"
	 "\x48\x83\xc7\x20\x48\xff\xc9\x75\xe4",
	 28, IN_CORE_CHAIN, 4, 4 / 3.0, 4},
	{"xor rax,[rdi]; imul rax,rdx; add rdi,8; dec rcx; jnz",
	 "\x48\x33\x07\x48\x0f\xaf\xc2\x48\x83\xc7\x08\x48\xff\xc9\x75\xf0", 16, IN_CORE_CHAIN, 4,
	 1 / 3.0, 4},
	{"mulsd xmm0,xmm1; addsd xmm0,xmm2; dec rcx; jnz",
	 "\xf2\x0f\x59\xc1\xf2\x0f\x58\xc2\x48\xff\xc9\x75\xf3", 13, IN_CORE_CHAIN, 8, 0, 8},
	{"mov rax,[rax]; dec rcx; jnz", "\x48\x8b\x00\x48\xff\xc9\x75\xf8", 8, IN_CORE_CHAIN, 5,
	 1 / 3.0, 5},
	{"movsd xmm0,[rsp+8]; addsd xmm0,[rdi]; add rdi,8; movsd [rsp+8],xmm0; dec rcx; jnz",
	 "\xf2\x0f\x10\x44\x24\x08\xf2\x0f\x58\x07\x48\x83\xc7\x08\xf2\x0f\x11\x44\x24\x08\x48\xff"
	 "\xc9\x75\xe7",
	 25, IN_CORE_CHAIN, 9, 1, 9},
	{"movsd xmm0,[rdi]; addsd xmm0,xmm1; movsd [rdi+8],xmm0; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x10\x07\xf2\x0f\x58\xc1\xf2\x0f\x11\x47\x08\x48\x83\xc7\x08\x48\xff\xc9\x75\xea",
	 22, IN_CORE_CHAIN, 10, 1, 10},
	{"movsd xmm0,[rdi]; divsd xmm0,xmm1; movsd [rdi],xmm0; add rdi,8; dec rcx; jnz",
	 "\xf2\x0f\x10\x07\xf2\x0f\x5e\xc1\xf2\x0f\x11\x07\x48\x83\xc7\x08\x48\xff\xc9\x75\xeb", 21,
	 IN_CORE_DIVIDER, 4, 1, 1},
	{"9 × nop; dec rcx; jnz", "\x90\x90\x90\x90\x90\x90\x90\x90\x90\x48\xff\xc9\x75\xf2", 14,
	 IN_CORE_ISSUE, 10 / 6.0, 0, 1},
	{"mov rax,[rdi]; mov rbx,[rdi+8]; mov rdx,[rdi+16]; dec rcx; jnz",
	 "\x48\x8b\x07\x48\x8b\x5f\x08\x48\x8b\x57\x10\x48\xff\xc9\x75\xf0", 16, IN_CORE_FETCH, 1,
	 1, 1},
};

Test(in_core, of_loops_that_are_known)
{
	struct core_facts facts = made_up();
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		const struct in_core found = in_core_of(&facts, known[i].code, known[i].size, 1);
		cr_expect_float_eq(found.t_ol, known[i].t_ol, 1e-9, "%s: t_ol %g", known[i].what,
				   found.t_ol);
		cr_expect_float_eq(found.t_nol, known[i].t_nol, 1e-9, "%s: t_nol %g", known[i].what,
				   found.t_nol);
		cr_expect_float_eq(found.lcd, known[i].lcd, 1e-9, "%s: lcd %g", known[i].what,
				   found.lcd);
		cr_expect_float_eq(found.part[known[i].longest], found.t_ol, 1e-9, "%s: %s",
				   known[i].what, in_core_part_name(known[i].longest));
		cr_expect_eq(found.unknown, 0, "%s: %g", known[i].what, found.unknown);
	}
	core_facts_deinit(&facts);
}

/* Beside another hardware thread each kind of work takes longer by its own share alone, and a chain
 * as long as ever. */
Test(in_core, takes_longer_by_what_is_left)
{
	static const char adds[] = "\x48\x83\xc0\x01\x48\x83\xc3\x01\x48\x83\xc2\x01\x48\x83"
				   "\xc6\x01\x48\x83\xc7\x01\x48\xff\xc9\x75\xe7";
	const struct {
		const char *what, *code;
		uint32_t size;
		enum core_rate rate;
		double left, ol, nol; /* then */
	} rows[] = {
		{"nothing is known", known[8].code, 14, CORE_RATE_SLOTS, 0, 10 / 6.0, 0},
		{"9 x nop; dec rcx; jnz", known[8].code, 14, CORE_RATE_SLOTS, 0.5, 20 / 6.0, 0},
		{"the same", known[8].code, 14, CORE_RATE_LOADS, 0.5, 10 / 6.0, 0},
		{"three loads", known[9].code, 16, CORE_RATE_LOADS, 0.5, 1, 2},
		{"three loads", known[9].code, 16, CORE_RATE_SLOTS, 0.5, 2, 1},
		{"a chain of additions", known[0].code, 13, CORE_RATE_SLOTS, 0.5, 4, 1 / 3.0},
		{"a chain of additions", known[0].code, 13, CORE_RATE_VECTOR, 0.5, 4, 1 / 3.0},
		{"the same", known[0].code, 13, CORE_RATE_VECTOR, 0.1, 5, 1 / 3.0},
		{"a store to a load", known[6].code, 22, CORE_RATE_STORES, 0.25, 10, 4},
		{"5 x add; dec rcx; jnz", adds, 25, CORE_RATE_INTEGER, 0.25, 4, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct core_facts facts = made_up();
		facts.left[rows[i].rate] = rows[i].left;
		const struct in_core found = in_core_of(&facts, rows[i].code, rows[i].size, 1);
		cr_expect_float_eq(found.shared_ol, rows[i].ol, 1e-9, "%zu, %s: %g", i,
				   rows[i].what, found.shared_ol);
		cr_expect_float_eq(found.shared_nol, rows[i].nol, 1e-9, "%zu, %s: %g", i,
				   rows[i].what, found.shared_nol);
		cr_expect(found.t_ol <= found.shared_ol && found.t_nol <= found.shared_nol);
		core_facts_deinit(&facts);
	}
}

/* vaddsd xmm0,xmm0,xmm1; vaddpd zmm4,zmm3,zmm2; dec rcx; jnz: on a core that takes half again as
 * long for a scalar addition where something computes with 512 bits; and the same without the
 * latter. */
Test(in_core, wide_instructions_make_others_slower)
{
	static const char code[] = "\xc5\xfb\x58\xc1\x48\xff\xc9\x75\xf7",
			  wide[] = "\xc5\xfb\x58\xc1\x62\xf1\xe5\x48\x58\xe2\x48\xff\xc9\x75\xf1";
	struct core_facts facts = made_up();
	struct form_fact fact = {.reciprocal = 0.5, .beside_wide = 1};
	cr_assert(form_find("vaddsd xmm, xmm, xmm", &fact.form));
	for (int i = 0; i <= FORM_OPERANDS; i++)
		fact.latency[i] = 2;
	cr_assert(core_facts_add(&facts, &fact));
	cr_expect_float_eq(in_core_of(&facts, code, 9, 1).lcd, 2, 1e-9);
	cr_expect_float_eq(in_core_of(&facts, wide, 15, 1).lcd, 3, 1e-9);
	core_facts_deinit(&facts);
}

/* movsd [rax],xmm0 at 0x100, half of whose stores lie in two lines, which take 3.5 times as long.
 */
Test(in_core, an_access_to_two_lines_takes_longer)
{
	static const char code[] = "\xf2\x0f\x11\x00\x48\x83\xc0\x08\x48\xff\xc9\x75\xf3";
	const struct part all = {0, 13, TURNS};
	struct core_facts facts = made_up();
	facts.crossing[0] = 2;
	facts.crossing[1] = 3.5;
	const struct profile_crossing half = {0, 0x100, 1000, 500};
	const struct in_core found = in_core_of_parts(&facts, code, 13, &all, 1, 1, &half, NULL);
	cr_expect_float_eq(found.t_nol, 1 + 0.5 * 2.5, 1e-6, "%g", found.t_nol);
	facts.crossing[1] = NAN;
	const struct in_core twice = in_core_of_parts(&facts, code, 13, &all, 1, 1, &half, NULL);
	cr_expect_float_eq(twice.t_nol, 1.5, 1e-6, "%g", twice.t_nol);
	core_facts_deinit(&facts);
}

/* mov rax,[rsi]; mov [rdi],rax; dec rcx; jnz at 0x100: half of what is loaded comes from the store
 * of the turn before, so that it is not forwarded; and is wholly, and is but seems so. */
Test(in_core, a_load_behind_a_store_waits_for_it)
{
	static const char code[] = "\x48\x8b\x06\x48\x89\x07\x48\xff\xc9\x75\xf5";
	static const struct {
		uint64_t forwarded, blocked, aliased;
		double chain, t_nol;
	} rows[] = {
		{900, 0, 0, 3, 1},
		{0, 900, 0, 20, 0.9 * 18 + 1 / 3.0},
		{0, 0, 900, 1, 0.9 * 2 + 1 / 3.0},
		{300, 0, 0, 1, 1}, /* too few to be the rule */
	};
	const struct part all = {0, 11, TURNS};
	struct core_facts facts = made_up();
	facts.forward_still[0] = 3;
	facts.blocked = 20;
	facts.blocked_each = 18;
	facts.alias[0] = 2;
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct profile_store_load row = {
			.offset = 0x100,
			.store_offset = 0x103,
			.looked = 1000,
			.forwarded = rows[i].forwarded,
			.blocked = rows[i].blocked,
			.aliased = rows[i].aliased,
		};
		const struct in_core found =
			in_core_of_parts(&facts, code, 11, &all, 1, 1, NULL, &row);
		cr_expect_float_eq(found.lcd, rows[i].chain, 1e-6, "%zu: %g", i, found.lcd);
		cr_expect_float_eq(found.t_nol, rows[i].t_nol, 1e-6, "%zu: %g", i, found.t_nol);
	}
	core_facts_deinit(&facts);
}

/* A place that each turn loads, adds to and stores, by the registers of its address and the
 * instructions that do it: */
Test(in_core, a_store_may_be_forwarded_by_its_address_alone)
{
	static const struct {
		const char *what, *code;
		uint32_t size;
		double unknown, known;
	} rows[] = {
		{"mov rax,[rdi]; add rax,1; mov [rdi],rax",
		 "\x48\x8b\x07\x48\x83\xc0\x01\x48\x89\x07\x48\xff\xc9\x75\xf1", 15, 2, 2},
		{"mov rax,[rdi+rdx*8]; add rax,1; mov [rdi+rdx*8],rax",
		 "\x48\x8b\x04\xd7\x48\x83\xc0\x01\x48\x89\x04\xd7\x48\xff\xc9\x75\xef", 17, 2, 8},
		{"xor [rdi],rax", "\x48\x31\x07\x48\xff\xc9\x75\xf8", 8, 2, 4},
		{"add qword [rdi],1", "\x48\x83\x07\x01\x48\xff\xc9\x75\xf7", 9, 2, 2},
		{"add qword [rdi+rdx*8],1", "\x48\x83\x04\xd7\x01\x48\xff\xc9\x75\xf6", 10, 2, 4},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct core_facts facts = made_up();
		const double unknown = in_core_of(&facts, rows[i].code, rows[i].size, 1).lcd;
		facts.forward_indexed[0] = 7;
		facts.forward_update = 3;
		const double with = in_core_of(&facts, rows[i].code, rows[i].size, 1).lcd;
		cr_expect_float_eq(unknown, rows[i].unknown, 1e-9, "%s: %g", rows[i].what, unknown);
		cr_expect_float_eq(with, rows[i].known, 1e-9, "%s: %g", rows[i].what, with);
		core_facts_deinit(&facts);
	}
}

/* mov rax,[rax+rbx*8]; dec rcx; jnz */
Test(in_core, a_scaled_index_may_take_longer)
{
	static const char code[] = "\x48\x8b\x04\xd8\x48\xff\xc9\x75\xf7";
	struct core_facts facts = made_up();
	cr_expect_float_eq(in_core_of(&facts, code, 9, 1).lcd, 5, 1e-9);
	facts.load_scaled = 6;
	cr_expect_float_eq(in_core_of(&facts, code, 9, 1).lcd, 6, 1e-9);
	core_facts_deinit(&facts);
}

/* movzx eax,byte [rsp+8]; mov [rsp+8],al; dec rcx; jnz */
Test(in_core, a_byte_may_be_forwarded_later)
{
	static const char code[] = "\x0f\xb6\x44\x24\x08\x88\x44\x24\x08\x48\xff\xc9\x75\xf2";
	struct core_facts facts = made_up();
	made_up_form(&facts, "movzx r32, r8", 0, 0.2, PROBE_INTEGER);
	facts.forward_part = 7;
	cr_expect_float_eq(in_core_of(&facts, code, 14, 1).lcd, 7, 1e-9);
	core_facts_deinit(&facts);
}

/* What a branch waits that looks at something `first` cycles later than the measured one when the
 * code has begun anew in that turn, and `more` for each turn before, where it begins anew with
 * probability `anew` in each, and the core takes `turn` cycles for one. */
static double mean_wait(double first, double more, double anew, double turn)
{
	double sum = 0, probability = anew;
	for (int k = 0; k < 1000; k++, probability *= 1 - anew)
		sum += probability * fmax(0, first + k * (more - turn));
	return sum;
}

/* 0 cmp [rdi+rax],cl; 3 jb 7; 5 inc edx; 7 inc rax; a dec rsi; d jnz 0: the index is there when it
 * begins anew.  Behind a load that the address waits for, which each turn does for the one before;
 * and behind another branch, by which it begins anew in two fifths of the turns: */
Test(in_core, mispredicted_branches_wait_for_their_addresses)
{
	static const struct {
		const char *what, *code;
		uint32_t size, branch, other;
		double other_share, first, more;
	} rows[] = {
		{"cmp [rdi+rax],cl; jb; inc edx; inc rax; dec rsi; jnz",
		 "\x38\x0c\x07\x72\x02\xff\xc2\x48\xff\xc0\x48\xff\xce\x75\xf1", 15, 3, 0, 0, 1, 1},
		{"mov rax,[rax]; cmp [rdi+rax],cl; jb; inc edx; dec rsi; jnz",
		 "\x48\x8b\x00\x38\x0c\x07\x72\x02\xff\xc2\x48\xff\xce\x75\xf1", 15, 6, 0, 0, 5, 5},
		{"mov rax,[rax]; test rbx,rbx; jz 8; cmp [rdi+rax],cl; jb; inc edx; dec rsi; jnz",
		 "\x48\x8b\x00\x48\x85\xdb\x74\x00\x38\x0c\x07\x72\x02\xff\xc2\x48\xff\xce"
		 "\x75\xec",
		 20, 11, 6, 0.4, 5 * 0.6, 5 * 0.6},
	};
	struct core_facts facts = made_up();
	made_up_form(&facts, "cmp r8, r8", 1, 0.2, PROBE_INTEGER);
	made_up_form(&facts, "inc r64", 1, 0.2, PROBE_INTEGER);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile_branch branches[2] = {
			{.offset = 0x100 + rows[i].other,
			 .executions = TURNS,
			 .share = rows[i].other_share},
			{.offset = 0x100 + rows[i].branch, .executions = TURNS, .share = 0.5}};
		const struct in_core found =
			in_core_with_branches(&facts, rows[i].code, rows[i].size, branches);
		const double anew = 1 - 0.5 * (1 - rows[i].other_share) * (1 - 1.0 / TURNS),
			     waits = 0.5 * mean_wait(rows[i].first, rows[i].more, anew,
						     fmax(found.t_ol, found.t_nol));
		cr_expect_float_eq(found.branch_waits, waits, 0.01 * waits, "%s: %g, not %g",
				   rows[i].what, found.branch_waits, waits);
	}
	core_facts_deinit(&facts);
}

/* The second loop of these, left after four turns: its chains of several entries are beside each
 * other, but for those behind a misprediction, which have been waited for from there on. */
Test(in_core, a_chain_is_waited_for_from_the_last_misprediction_on)
{
	static const char code[] = "\x48\x8b\x00\x38\x0c\x07\x72\x02\xff\xc2\x48\xff\xce\x75\xf1";
	static const struct part parts[] = {{0, 8, TURNS}, {8, 10, TURNS / 2}, {10, 15, TURNS}};
	static const struct profile_branch branches[2] = {
		{.offset = 0x106, .executions = TURNS, .share = 0.5},
		{.offset = 0x10d, .executions = TURNS}};
	struct core_facts facts = made_up();
	made_up_form(&facts, "cmp r8, r8", 1, 0.2, PROBE_INTEGER);
	made_up_form(&facts, "inc r64", 1, 0.2, PROBE_INTEGER);
	their_branches = branches;
	const struct in_core found =
		in_core_of_parts(&facts, code, 15, parts, 3, TURNS / 4, NULL, NULL);
	their_branches = NULL;
	cr_expect_lt(found.part[IN_CORE_CHAIN], 1, "%g of 5", found.part[IN_CORE_CHAIN]);
	const double turn = fmax(found.t_ol, found.t_nol), anew = 1 - 0.5 * 0.75;
	cr_expect_float_eq(found.branch_waits, 0.5 * (5 + (5 - turn) * (1 / anew - 1)), 0.02, "%g",
			   found.branch_waits);
	cr_expect_gt(found.branch_waits, 0.5 * 5 + 0.8, "longer than a round");
	core_facts_deinit(&facts);
}

/* addsd xmm0,[rdi]; add rdi,8; dec rcx; jnz: two of four write general registers and flags. */
Test(in_core, registers_limit_what_is_under_way)
{
	struct core_facts facts = made_up();
	cr_expect(isinf(in_core_of(&facts, known[0].code, known[0].size, 1).under_way));
	facts.windows[WINDOW_GENERAL] = 200;
	cr_expect_float_eq(in_core_of(&facts, known[0].code, known[0].size, 1).under_way, 400,
			   1e-6);
	facts.windows[WINDOW_LOADS] = 50;
	cr_expect_float_eq(in_core_of(&facts, known[0].code, known[0].size, 1).under_way, 200,
			   1e-6);
	core_facts_deinit(&facts);
}

/* Four turns of four instructions are a twelfth of 192: as many entries run beside each other. */
Test(in_core, a_loop_that_is_left_soon_overlaps_with_what_comes_behind_it)
{
	struct core_facts facts = made_up();
	const struct in_core found = in_core_of(&facts, known[0].code, known[0].size, TURNS / 4);
	cr_expect_float_eq(found.lcd, 4, 1e-9);
	cr_expect_float_eq(found.part[IN_CORE_CHAIN], 4 * 16 / 192.0, 1e-9, "%g",
			   found.part[IN_CORE_CHAIN]);
	cr_expect_float_eq(found.t_ol, 1, 1e-9);
	core_facts_deinit(&facts);
}

/* A loop of eight turns in another one, whose products go on from entry to entry, begin anew with
 * each, and the same beside an index that goes on. */
Test(in_core, a_chain_through_all_entries_does_not_overlap)
{
	static const struct {
		const char *what, *code;
		uint32_t inner, behind, size;
		double left;
	} rows[] = {
		{"1: mov rcx,rdx; 2: imul rax,rbx; dec rcx; jnz 2; dec rdi; jnz 1",
		 "\x48\x89\xd1\x48\x0f\xaf\xc3\x48\xff\xc9\x75\xf7\x48\xff\xcf\x75\xef", 3, 12, 17,
		 3},
		{"1: mov rcx,rdx; mov rax,rsi; 2: imul rax,rbx; dec rcx; jnz 2; dec rdi; jnz 1",
		 "\x48\x89\xd1\x48\x89\xf0\x48\x0f\xaf\xc3\x48\xff\xc9\x75\xf7\x48\xff\xcf\x75\xec",
		 6, 15, 20, 3 * 24 / 192.0},
		{"1: mov rcx,rdx; mov rax,rsi; 2: imul rax,rbx; add r8,8; dec rcx; jnz 2; dec rdi; "
		 "jnz 1",
		 "\x48\x89\xd1\x48\x89\xf0\x48\x0f\xaf\xc3\x49\x83\xc0\x08\x48\xff\xc9\x75\xf3"
		 "\x48\xff\xcf\x75\xe8",
		 6, 19, 24, 1},
	};
	struct core_facts facts = made_up();
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		const struct part parts[] = {{0, rows[i].inner, TURNS / 8},
					     {rows[i].inner, rows[i].behind, TURNS},
					     {rows[i].behind, rows[i].size, TURNS / 8}};
		const struct in_core found = in_core_of_last(&facts, rows[i].code, rows[i].size,
							     parts, 3, 2, TURNS / 8, NULL, NULL);
		cr_expect_float_eq(found.lcd, 3, 1e-9, "%s: %g", rows[i].what, found.lcd);
		cr_expect_float_eq(found.part[IN_CORE_CHAIN], rows[i].left, 1e-9, "%s: %g",
				   rows[i].what, found.part[IN_CORE_CHAIN]);
	}
	core_facts_deinit(&facts);
}

/* test rdi,rdi; jz 1; 2: movsd [rax],xmm0; add rax,8; cmp rdx,rax; jnz 2; 1: cmp rcx,rsi; ret: two
 * ways lead to both ends of the loop's branch, and none of its edges has a count of its own. */
Test(in_core, a_branch_is_taken_as_often_as_its_ends_allow)
{
	static const char code[] = "\x48\x85\xff\x74\x0d\xf2\x0f\x11\x00\x48\x83\xc0\x08"
				   "\x48\x39\xc2\x75\xf3\x48\x39\xf1\xc3";
	const struct part parts[] = {{0, 5, 10}, {5, 18, TURNS}, {18, 22, 10}};
	struct core_facts facts = made_up();
	facts.taken = 3;
	const struct in_core found = in_core_of_parts(&facts, code, 22, parts, 3, 10, NULL, NULL);
	cr_expect_float_eq(found.part[IN_CORE_FETCH], 3 * 0.995, 1e-9, "%g",
			   found.part[IN_CORE_FETCH]);
	core_facts_deinit(&facts);
}

/* Nops of random lengths at random places, and a branch back: a turn goes on into each line but the
 * first one that any of its bytes lies in. */
Test(in_core, code_that_goes_on_into_the_next_line_takes_longer)
{
	static const uint8_t nops[] = {0x66, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0};
	static const uint8_t end[] = {0x48, 0xff, 0xc9, 0x75}; /* dec rcx; jnz */
	uint64_t state = 3;
	struct core_facts facts = made_up();
	facts.code_lines[1] = 0.75;
	for (int round = 0; round < 300; round++) {
		const uint32_t before = 1 + (uint32_t)(random_number(&state) % 100);
		char code[256];
		uint32_t size = before;
		memset(code, 0x90, sizeof(code));
		for (uint64_t n = random_number(&state) % 12; n; n--) {
			const bool is_long = random_number(&state) % 2;
			if (is_long)
				memcpy(code + size, nops, sizeof(nops));
			size += is_long ? sizeof(nops) : 1;
		}
		memcpy(code + size, end, sizeof(end));
		size += sizeof(end) + 1;
		code[size - 1] = (char)(before - size);
		const struct part parts[] = {{0, before, 1}, {before, size, TURNS}};
		const struct in_core found =
			in_core_of_parts(&facts, code, size, parts, 2, 1, NULL, NULL);
		const uint32_t lines =
			(0x100 + size - 1) / CODE_LINE - (0x100 + before) / CODE_LINE;
		const double taken = 1 + lines * 0.75;
		cr_assert_float_eq(found.part[IN_CORE_FETCH], taken, 1e-9,
				   "%u bytes behind %u: %g not %g", size - before, before,
				   found.part[IN_CORE_FETCH], taken);
	}
	core_facts_deinit(&facts);
}

/* call 0x140; dec rcx; jnz, of which the call ends where a line does: what comes back from it is
 * fetched anew in any case. */
Test(in_core, a_call_does_not_go_on_into_the_next_line)
{
	char code[128];
	memset(code, 0x90, sizeof(code));
	memcpy(code + 59, "\xe8\x05\x00\x00\x00\x48\xff\xc9\x75\xf6", 10);
	const struct part parts[] = {{58, 59, 1}, {59, 64, TURNS}, {64, 69, TURNS}};
	struct core_facts facts = made_up();
	facts.code_lines[1] = 0.75;
	const struct in_core found = in_core_of_parts(&facts, code, 69, parts, 3, 1, NULL, NULL);
	cr_expect_float_eq(found.part[IN_CORE_FETCH], 2, 1e-9, "%g", found.part[IN_CORE_FETCH]);
	core_facts_deinit(&facts);
}

Test(in_core, what_is_not_known_is_said)
{
	struct core_facts none = {0}, facts = made_up();
	const struct in_core nothing = in_core_of(&none, known[0].code, known[0].size, 1);
	cr_expect_eq(nothing.unknown, 1);
	cr_expect_eq(nothing.t_ol, 0);
	/* vfmadd231pd ymm0,ymm1,[rdi]; add rdi,32; dec rcx; jnz */
	const struct in_core one =
		in_core_of(&facts, "\xc4\xe2\xf5\xb8\x07\x48\x83\xc7\x20\x48\xff\xc9\x75\xf2", 14,
			   1);
	cr_expect_float_eq(one.unknown, 0.25, 1e-9);
	cr_expect_float_eq(one.lcd, 4, 1e-9);
	core_facts_deinit(&facts);
}

Test(in_core, facts_are_read_from_the_profile)
{
	struct profile *profile = profile_create();
	struct core_facts facts = made_up(), read;
	assert_ok(in_core_facts(profile, &read));
	cr_expect(!core_facts_known(&read), "profiles of older versions have none");
	profile_set_fact(profile, "core_facts", "%s", "{\"forms\": 7}");
	assert_ok(in_core_facts(profile, &read));
	cr_expect(!core_facts_known(&read));
	json_t *json = core_facts_to_json(&facts);
	char *text = json_dumps(json, JSON_COMPACT);
	profile_set_fact(profile, "core_facts", "%s", text);
	assert_ok(in_core_facts(profile, &read));
	cr_expect_eq(read.n_forms, facts.n_forms);
	core_facts_deinit(&read);
	core_facts_deinit(&facts);
	free(text);
	json_decref(json);
	profile_destroy(profile);
}

/* Two functions in one module: 0 add rax,1; 4 dec rcx; 7 jnz 0; the second the same at 0x20. */
Test(in_core, code_of_a_function_is_found_in_the_profile)
{
	static const char code[] = "\x48\x83\xc0\x01\x48\xff\xc9\x75\xf7";
	struct profile *profile = profile_create();
	struct function_code all;
	const uint32_t module = profile_module(profile, "/x", "");
	for (uint32_t i = 0; i < 3; i++) { /* the last was never executed */
		struct profile_function row = {module,      0x20 * i,   0x20 * i + 9,
					       strdup("f"), strdup(""), 0};
		struct profile_block block = {module, 0x20 * i, 9, memcpy(malloc(9), code, 9)};
		const struct profile_count count = {i, 0, TURNS * (i + 1)};
		cr_assert(rf_array_push(profile->functions, profile->n_functions,
					profile->cap_functions, row));
		cr_assert(rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks,
					block));
		if (i < 2)
			cr_assert(rf_array_push(profile->counts, profile->n_counts,
						profile->cap_counts, count));
	}
	assert_ok(function_code_init(profile, &all));
	for (uint32_t i = 0; i < 3; i++) {
		struct flow_graph graph = {0};
		struct model_function function = {.time_ns = 1};
		assert_ok(function_code_graph(&all, i, &graph, &function));
		cr_assert_eq(function.n_loops, i < 2);
		if (i < 2) {
			cr_expect_eq(function.loops[0].turns, TURNS * (i + 1));
			cr_expect_eq(function.loops[0].header, 0x20 * i);
		}
		free(function.loops);
		flow_graph_deinit(&graph);
	}
	function_code_deinit(&all);
	profile_destroy(profile);
}

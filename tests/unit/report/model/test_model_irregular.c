/* Chains of loads in code that is known, and the roofs that they have. */
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 1000000
#define START 0x100

/* A loop; irregular instructions by their place in it; all of their lines come from memory. */
struct chain_case {
	const char *what, *code;
	uint32_t size;
	uint32_t irregular[2];   /* the second 0: only one */
	int fetching;            /* the first so many of them miss, the others hit L1 */
	double chained, longest; /* lines for each turn */
};

/* Assembled with gas 2.40. */
static const struct chain_case chain_cases[] = {
	/* mov rdi,[rdi] */
	{"one chain", "\x48\x8b\x3f\x48\xff\xce\x75\xf8", 8, {0}, 1, 1, 1},
	/* mov rdi,[rdi]; mov rdx,[rdx] */
	{"two chains", "\x48\x8b\x3f\x48\x8b\x12\x48\xff\xce\x75\xf5", 11, {0, 3}, 2, 2, 1},
	/* mov rax,[rdi+8]; mov rdi,[rax] */
	{"one chain of two loads",
	 "\x48\x8b\x47\x08\x48\x8b\x38\x48\xff\xce\x75\xf4",
	 12,
	 {0, 4},
	 2,
	 2,
	 2},
	/* mov rax,[rdi]; shl rax,6; lea rdi,[r8+rax+16] */
	{"through arithmetic",
	 "\x48\x8b\x07\x48\xc1\xe0\x06\x49\x8d\x7c\x00\x10\x48\xff\xce\x75\xef",
	 17,
	 {0},
	 1,
	 1,
	 1},
	/* lea r9,[rax+rcx]; cmp [rdi+r9*8],rdx; cmovb rax,r9 */
	{"through flags",
	 "\x4c\x8d\x0c\x08\x4a\x39\x14\xcf\x49\x0f\x42\xc1\x48\xff\xce\x75\xef",
	 17,
	 {4},
	 1,
	 1,
	 1},
	/* mov rax,[rsp+8]; mov rax,[rax]; mov [rsp+8],rax */
	{"kept in memory",
	 "\x48\x8b\x44\x24\x08\x48\x8b\x00\x48\x89\x44\x24\x08\x48\xff\xce\x75\xee",
	 18,
	 {5},
	 1,
	 1,
	 1},
	/* add rbx,[rdi+8]; mov rdi,[rdi]: the first gets the line for both */
	{"a line for two", "\x48\x03\x5f\x08\x48\x8b\x3f\x48\xff\xce\x75\xf4", 12, {0, 4}, 1, 1, 1},
	/* mov rax,[rdi+rsi*8]; add rbx,[rax] */
	{"independent", "\x48\x8b\x04\xf7\x48\x03\x18\x48\xff\xce\x75\xf4", 12, {4}, 1, 0, 0},
	/* mov rax,[rdi]; xor eax,eax; lea rdi,[rax+rsi*8] */
	{"overwritten",
	 "\x48\x8b\x07\x31\xc0\x48\x8d\x3c\xf0\x48\xff\xce\x75\xf2",
	 14,
	 {0},
	 1,
	 0,
	 0},
	/* cmp [rdi+rsi*8],rdx; jb over; inc rax: predicted */
	{"control alone",
	 "\x48\x39\x14\xf7\x72\x03\x48\xff\xc0\x48\xff\xce\x75\xf2",
	 14,
	 {0},
	 1,
	 0,
	 0},
};
#define N_CASES (sizeof(chain_cases) / sizeof(*chain_cases))

static void add_irregular(struct profile *p, uint64_t offset, bool fetches)
{
	const struct profile_stride stride = {.offset = START + offset, .random = TURNS};
	cr_assert(rf_array_push(p->strides, p->n_strides, p->cap_strides, stride));
	for (uint32_t class = 0; class < CACHE_CLASSES && fetches; class ++) {
		struct profile_traffic row = {.offset = START + offset,
					      .thread = profile_thread(p, RUN_COUNTED, 1, 1, ""),
					      .class = class};
		row.lines[TRAFFIC_L2_READ] = row.lines[TRAFFIC_L3_READ] =
			row.lines[TRAFFIC_MEM_READ] = TURNS / CACHE_CLASSES;
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
}

/* `entries` times entered; takes `seconds`, on a machine of 100 ns and 8 GB/s. */
static struct profile *profile_of(const struct chain_case *c, int64_t entries, double seconds)
{
	struct profile *p = profile_create();
	const uint32_t m = profile_module(p, "/x", ""),
		       counted = profile_thread(p, RUN_COUNTED, 1, 1, "");
	static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
	static const double chase[] = {60, 15, 3, 0.64}, random[] = {500, 100, 40, 8};
	sample_function(p, m, START - 1, START + c->size, "f", "", 0);
	sample_block(p, m, START - 1, "\x90", 1, counted, entries);
	sample_block(p, m, START, c->code, c->size, counted, TURNS);
	for (int i = 0; i < 2 && (i == 0 || c->irregular[i]); i++)
		add_irregular(p, c->irregular[i], i < c->fetching);
	for (int i = 0; i < 4; i++) {
		sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "chase", levels[i], 1, chase[i]);
		sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "random", levels[i], 1, random[i]);
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", levels[i], 1, 1000 >> 2 * i);
		p->roofs[p->n_roofs - 1].distinguishable = true;
	}
	const uint32_t thread = profile_thread(p, RUN_TIMED, 2, 2, "");
	for (int i = 0; i < 1000; i++) {
		struct profile_sample sample = {thread, (uint64_t)(i * seconds * 1e6),
						(uint64_t)(seconds * 1e6),
						profile_frame(p, PROFILE_NONE, m, START)};
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "%d", CACHE_CLASSES);
	profile_set_fact(p, "clock_ghz", "1");
	return p;
}

Test(model_irregular, chains_are_seen_in_the_code)
{
	for (size_t i = 0; i < N_CASES; i++) {
		const struct chain_case *c = &chain_cases[i];
		struct profile *p = profile_of(c, 1, 1);
		struct model model = build(p);
		const struct model_irregular *irregular = find(&model, "f")->traffic->irregular;
		cr_expect_eq(irregular[3].lines, (double)TURNS * c->fetching, "%s: %g lines",
			     c->what, irregular[3].lines);
		cr_expect_eq(irregular[3].chained, TURNS * c->chained, "%s: %g chained", c->what,
			     irregular[3].chained);
		cr_expect_eq(irregular[3].longest, TURNS * c->longest, "%s: %g on the longest",
			     c->what, irregular[3].longest);
		cr_expect_eq(irregular[0].longest, 0, "%s: what another fetched is no step",
			     c->what);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* mov rax,[rax], a quarter of whose lines from memory are conflicts: makers' last caches hash. */
Test(model_irregular, conflicts_of_the_last_cache_are_found_there)
{
	struct profile *p = profile_of(&chain_cases[0], 1, 1);
	struct packed_rows rows = p->traffic;
	struct packed_reader reader = packed_reader_of(&rows);
	p->traffic = (struct packed_rows){0};
	uint64_t read = 0;
	for (const struct profile_traffic *row; (row = packed_reader_next(&reader));) {
		struct profile_traffic changed = *row;
		read = read ? read : row->lines[TRAFFIC_MEM_READ];
		changed.lines[TRAFFIC_MEM_CONFLICT] = row->lines[TRAFFIC_MEM_READ] / 4;
		cr_assert(packed_rows_add(&p->traffic, &changed, sizeof(changed)));
	}
	packed_rows_deinit(&rows);
	const double conflicts = (double)(read / 4 * CACHE_CLASSES);
	const double all = (double)(read * CACHE_CLASSES);
	struct model model = build(p);
	const struct model_irregular *irregular = find(&model, "f")->traffic->irregular;
	cr_expect_float_eq(irregular[3].lines, all - conflicts, 1, "%g", irregular[3].lines);
	cr_expect_float_eq(irregular[2].lines, conflicts, 1, "%g", irregular[2].lines);
	model_deinit(&model);
	profile_destroy(p);
}

/* Where loops are asked for, each has those of its own code. */
Test(model_irregular, loops_have_their_own)
{
	for (size_t i = 0; i < N_CASES; i++) {
		const struct chain_case *c = &chain_cases[i];
		struct profile *p = profile_of(c, 1, 1);
		struct model model = build_as(p, (struct model_choice){.loops = true});
		const struct model_function *f = find(&model, "f");
		cr_assert_eq(f->n_loops, 1);
		const struct model_irregular *own = f->loops[0].irregular;
		cr_assert(own, "%s", c->what);
		cr_expect_eq(own[3].lines, f->traffic->irregular[3].lines, "%s", c->what);
		cr_expect_eq(own[3].longest, f->traffic->irregular[3].longest, "%s", c->what);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* "control alone" has no chain.  A quarter of its branches are mispredicted: so many of its lines
 * are waited for.  A branch that waits for none of them does not count. */
Test(model_irregular, mispredicted_branches_wait_for_their_lines)
{
	static const struct {
		uint64_t offset;
		double share, guessed;
	} rows[] = {{4, 0.25, 0.25}, {4, 0, 0}, {4, NAN, 0}, {4, 1.5, 1}, {12, 0.25, 0}};
	const struct chain_case *c = NULL;
	for (size_t i = 0; i < N_CASES; i++)
		if (strcmp(chain_cases[i].what, "control alone") == 0)
			c = &chain_cases[i];
	cr_assert(c);
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = profile_of(c, 1, 1);
		const struct profile_branch branch = {.offset = START + rows[i].offset,
						      .executions = TURNS,
						      .outcomes = TURNS,
						      .share = rows[i].share};
		cr_assert(rf_array_push(p->branches, p->n_branches, p->cap_branches, branch));
		struct model model = build_as(p, (struct model_choice){.loops = true});
		const struct model_function *f = find(&model, "f");
		cr_assert_eq(f->n_loops, 1);
		const struct model_irregular *own = f->loops[0].irregular;
		cr_assert(own);
		cr_expect_float_eq(own[3].guessed, rows[i].guessed * TURNS, 1e-6, "%zu: %g", i,
				   own[3].guessed);
		cr_expect_eq(own[2].guessed, 0);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* 20 turns an entry: the next walk may begin before this one has ended. */
Test(model_irregular, short_chains_are_told_apart)
{
	for (size_t i = 0; i < N_CASES; i++) {
		const struct chain_case *c = &chain_cases[i];
		struct profile *p = profile_of(c, TURNS / 20, 1);
		struct model model = build_as(p, (struct model_choice){.loops = true});
		const struct model_function *f = find(&model, "f");
		const struct model_irregular *irregular = f->traffic->irregular;
		cr_expect_eq(irregular[3].lines, (double)TURNS * c->fetching);
		cr_expect(irregular[3].chained == 0 && irregular[3].longest == 0);
		cr_assert_eq(f->n_loops, 1);
		cr_expect_eq(f->loops[0].irregular[3].longest, 0, "%s", c->what);
		cr_expect_eq(f->loops[0].irregular[3].brief, TURNS * c->longest, "%s", c->what);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* mov rdi,[rdi], so many nops, dec rsi, jnz: 20 turns an entry.  Lines on the longest chain. */
static double longest_with(int nops)
{
	char code[128] = "\x48\x8b\x3f";
	const int size = 3 + nops + 3 + 2;
	memset(code + 3, 0x90, (size_t)nops);
	memcpy(code + 3 + nops, "\x48\xff\xce\x75", 4);
	code[size - 1] = (char)-size;
	const struct chain_case c = {"with nops", code, (uint32_t)size, {0}, 1, 1, 1};
	struct profile *p = profile_of(&c, TURNS / 20, 1);
	struct model model = build(p);
	const double longest = find(&model, "f")->traffic->irregular[3].longest;
	model_deinit(&model);
	profile_destroy(p);
	return longest;
}

/* What does not fit into a reorder buffer is not beside the next entry. */
Test(model_irregular, short_chains_of_many_instructions_are_chains)
{
	cr_expect_eq(longest_with(10), 0, "260 instructions an entry");
	cr_expect_eq(longest_with(40), TURNS, "860 instructions an entry");
}

/* A million lines: 0.1 s one after the other, 8 ms beside each other, 4.3 ms streamed. */
Test(model_irregular, what_took_less_than_its_chain_was_none)
{
	static const struct {
		size_t chain;
		double seconds;
		enum model_pattern pattern;
		double distance, chains;
	} rows[] = {
		{0, 0.102, PATTERN_CHASE, 1.02, 1}, {0, 0.4, PATTERN_CHASE, 4, 1},
		{0, 0.05, PATTERN_RANDOM, 6.25, 0}, {0, 0.005, PATTERN_STREAM, 1.17, 0},
		{1, 0.102, PATTERN_CHASE, 1.02, 2}, {7, 0.016, PATTERN_RANDOM, 2, 0},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = profile_of(&chain_cases[rows[i].chain], 1, rows[i].seconds);
		struct model model = build(p);
		const struct model_place *place = &find(&model, "f")->place;
		cr_expect_eq(place->pattern, rows[i].pattern, "%zu: pattern %d", i,
			     (int)place->pattern);
		cr_expect(fabs(place->distance - rows[i].distance) < 0.01, "%zu: %g× below", i,
			  place->distance);
		cr_expect_str_eq(place->level, "DRAM");
		cr_expect_eq(place->chains, rows[i].chains, "%zu: %g chains", i, place->chains);
		cr_expect(!place->above);
		cr_expect_eq(place->bound == BOUND_LATENCY,
			     place->pattern == PATTERN_CHASE || place->distance > 2, "%zu", i);
		if (place->pattern != PATTERN_STREAM)
			cr_expect(place->roof_streamed > 1.5 * place->roof, "%zu: %g", i,
				  place->roof_streamed);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* Profiles of before have no such rows. */
Test(model_irregular, without_rows_it_is_a_stream)
{
	struct profile *p = profile_of(&chain_cases[0], 1, 0.102);
	for (size_t i = 0; i < p->n_roofs; i++)
		if (p->roofs[i].op != ROOF_OP_READ)
			p->roofs[i].best = 0;
	struct model model = build(p);
	cr_expect_eq(find(&model, "f")->place.pattern, PATTERN_STREAM);
	cr_expect_str_eq(find(&model, "f")->place.level, "DRAM");
	model_deinit(&model);
	profile_destroy(p);
}

/* Walks through page tables: whose they are, and what of them counts beside lines. */
#include "report/ecm/loop_account.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 640000
#define START 0x100

static const struct model_choice with_loops = {.loops = true};

/* 0 add rdx,[rax]; add rax,rdi; dec rcx; jnz 0; ret */
static const char column[] = "\x48\x03\x10\x48\x01\xf8\x48\xff\xc9\x75\xf5\xc3";

static void add_walks(struct profile *p, uint64_t offset, uint64_t near_misses, uint64_t walks)
{
	const struct profile_page_walk row = {0, offset, TURNS, near_misses, walks};
	cr_assert(rf_array_push(p->page_walks, p->n_page_walks, p->cap_page_walks, row));
}

static struct profile *profile_of(void)
{
	struct profile *p = profile_create();
	const uint32_t m = profile_module(p, "/x", ""),
		       counted = profile_thread(p, RUN_COUNTED, 1, 1, "");
	sample_function(p, m, START, START + 12, "column", "", 0);
	sample_block(p, m, START, column, 11, counted, TURNS);
	sample_block(p, m, START + 11, column + 11, 1, counted, 1);
	for (uint32_t class = 0; class < CACHE_CLASSES; class ++) {
		struct profile_traffic row = {.offset = START, .thread = counted, .class = class};
		row.lines[TRAFFIC_MEM_READ] = row.lines[TRAFFIC_L3_READ] =
			row.lines[TRAFFIC_L2_READ] = TURNS / CACHE_CLASSES;
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
	static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
	for (int level = 0; level < 4; level++)
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", levels[level], 1, 64 >> level);
	sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "random", "DRAM", 1, 64. / 8);
	sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "chase", "DRAM", 1, 64. / 100);
	for (size_t i = 0; i < p->n_roofs; i++)
		p->roofs[i].distinguishable = true;
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "%d", CACHE_CLASSES);
	profile_set_fact(p, "traffic_geometry", "L1=32K:8,L2=1M:16,L3=16M:16");
	profile_set_fact(p, "clock_ghz", "1");
	profile_set_fact(p, "page_walk_ns", "30");
	profile_set_fact(p, "page_walk_apart_ns", "10");
	return p;
}

Test(page_walks, are_those_of_the_loop_that_they_are_in)
{
	struct profile *p = profile_of();
	add_walks(p, START - 1, 1000, 1000); /* of no function */
	add_walks(p, START, 300, 200);
	add_walks(p, START + 3, 30, 20);
	add_walks(p, START + 11, 3, 2); /* behind the loop */
	add_walks(p, START + 12, 1000, 1000);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "column");
	struct page_walks sums[2] = {0};
	page_walks_by_loop(p, f, sums);
	cr_expect(sums[0].near_misses == 330 && sums[0].walks == 220);
	cr_expect(sums[0].accesses == 2 * TURNS && sums[1].accesses == TURNS);
	cr_expect(sums[1].near_misses == 3 && sums[1].walks == 2);
	cr_expect(!page_walks_known(p));
	profile_set_fact(p, "tlb", "64 and 2048 pages of 4 KiB");
	cr_expect(page_walks_known(p));
	model_deinit(&model);
	profile_destroy(p);
}

/* A line of memory each turn, 8 ns where lines do not wait for each other and 100 where they do,
 * and some walks, 10 and 30 ns each. */
Test(page_walks, count_where_they_bind)
{
	static const struct {
		double chained; /* share of the lines */
		int walks;      /* of 100 turns */
		double lines_ns, walks_ns;
	} cases[] = {
		{0, 0, 8, 0},     {0, 50, 8, 5},          {0, 100, 8, 10},
		{1, 50, 100, 15}, {0.5, 100, 50, 15 + 5}, /* half of them on a chain */
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = profile_of();
		struct ecm_function ecm;
		add_walks(p, START, TURNS, (uint64_t)(TURNS / 100 * cases[i].walks));
		profile_set_fact(p, "tlb", "64 and 2048 pages of 4 KiB");
		struct model model = build_as(p, with_loops);
		struct model_function *f = (struct model_function *)find(&model, "column");
		struct model_irregular irregular[MODEL_LEVELS] = {
			[3] = {.lines = TURNS, .longest = cases[i].chained * TURNS}};
		const struct ecm_machine machine = ecm_machine_of(p);
		f->loops[0].irregular = irregular;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, f));
		const struct ecm_account *loop = &ecm.loops[0];
		const double turn = TURNS * 1e-9;
		cr_expect_float_eq(loop->account_s[ACCOUNT_LATENCY], cases[i].lines_ns * turn, 1e-9,
				   "case %zu: lines %g", i,
				   loop->account_s[ACCOUNT_LATENCY] / turn);
		cr_expect_float_eq(loop->account_s[ACCOUNT_WALKS], cases[i].walks_ns * turn, 1e-9,
				   "case %zu: walks %g", i, loop->account_s[ACCOUNT_WALKS] / turn);
		cr_expect_eq(loop->walks.walks, TURNS / 100 * cases[i].walks);
		cr_expect_float_eq(loop->predicted_s - loop->changed_s[CHANGE_PAGES],
				   cases[i].walks_ns * turn, 1e-9, "case %zu: in reach %g", i,
				   (loop->predicted_s - loop->changed_s[CHANGE_PAGES]) / turn);
		ecm_function_deinit(&ecm);
		model_deinit(&model);
		profile_destroy(p);
	}
}

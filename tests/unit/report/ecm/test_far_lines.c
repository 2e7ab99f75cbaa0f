/* Lines that come by steps of a page or more: which these are, and the sets of L1 that they meet.
 */
#include "report/ecm/far_lines.h"
#include "report/ecm/loop_account.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 640000
#define START 0x100

static const struct model_choice with_loops = {.loops = true};

/* 0 add rdx,[rax]; add rax,rdi; dec rcx; jnz 0; ret: the sum of a column */
static const char column[] = "\x48\x03\x10\x48\x01\xf8\x48\xff\xc9\x75\xf5\xc3";

/* A line of memory each turn, by so many steps of each kind, most of `step` bytes; in L3 there is
 * one more for every two turns, in L2 for every four. */
static struct profile *profile_of(int64_t step, uint64_t unit, uint64_t constant, uint64_t random)
{
	struct profile *p = profile_create();
	const uint32_t m = profile_module(p, "/x", ""),
		       counted = profile_thread(p, RUN_COUNTED, 1, 1, "");
	const struct profile_stride stride = {.offset = START,
					      .unit = unit,
					      .constant = constant,
					      .random = random,
					      .step = step};
	sample_function(p, m, START, START + 12, "column", "", 0);
	sample_block(p, m, START, column, 11, counted, TURNS);
	sample_block(p, m, START + 11, column + 11, 1, counted, 1);
	cr_assert(rf_array_push(p->strides, p->n_strides, p->cap_strides, stride));
	for (uint32_t class = 0; class < CACHE_CLASSES; class ++) {
		struct profile_traffic row = {.offset = START, .thread = counted, .class = class};
		row.lines[TRAFFIC_MEM_READ] = TURNS / CACHE_CLASSES;
		row.lines[TRAFFIC_L3_READ] = TURNS * 3 / 2 / CACHE_CLASSES;
		row.lines[TRAFFIC_L2_READ] = TURNS * 7 / 4 / CACHE_CLASSES;
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "%d", CACHE_CLASSES);
	profile_set_fact(p, "traffic_geometry", "L1=32K:8,L2=1M:16,L3=16M:16");
	profile_set_fact(p, "clock_ghz", "1");
	return p;
}

/* By the set of each address in turn, with a list of those that were met. */
static int slow_sets_of(int64_t step)
{
	int met[FAR_SETS], n = 0;
	for (int64_t i = 0; i < FAR_SETS; i++) {
		const int64_t set = ((i * step % 4096 + 4096) % 4096) / 64;
		int at = 0;
		while (at < n && met[at] != set)
			at++;
		if (at == n)
			met[n++] = (int)set;
	}
	return n;
}

Test(far_lines, sets_that_a_step_meets)
{
	static const struct {
		int64_t step;
		double sets;
	} cases[] = {{4096, 1},  {16384, 1}, {-4096, 1},      {4096 + 2048, 2}, {4096 + 1024, 4},
		     {4160, 32}, {4104, 4},  {8192 + 64, 32}, {4096 + 128, 32}, {4096 + 256, 16}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
		cr_expect_eq(far_sets_of(cases[i].step), cases[i].sets, "%ld: %g",
			     (long)cases[i].step, far_sets_of(cases[i].step));
	uint64_t random = 1;
	for (int i = 0; i < 10000; i++) {
		random = random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		const int64_t step = (int64_t)(random >> 36) - (1 << 27);
		cr_assert_eq(far_sets_of(step), slow_sets_of(step), "%ld", (long)step);
	}
}

Test(far_lines, those_of_most_steps_of_a_page_or_more)
{
	static const struct {
		int64_t step;
		uint64_t unit, constant, random;
		bool far;
	} cases[] = {{4096, 0, 100, 0, true},    {-8192, 0, 100, 1, true},
		     {4160, 40, 100, 50, true},  {4088, 0, 100, 0, false},
		     {64, 0, 100, 0, false},     {8, 100, 0, 0, false},
		     {4096, 50, 100, 50, false}, {4096, 0, 50, 100, false}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = profile_of(cases[i].step, cases[i].unit, cases[i].constant,
					       cases[i].random);
		struct model model = build_as(p, with_loops);
		struct far_accesses far;
		assert_ok(far_accesses_init(p, &model, &far));
		cr_expect_eq(far.n_rows, cases[i].far, "case %zu", i);
		far_accesses_deinit(&far);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* Of a line of memory each turn, one of L3 every second and one of L2 every fourth turn. */
Test(far_lines, are_told_by_level_and_loop)
{
	struct profile *p = profile_of(4096 + 2048, 0, 100, 0);
	struct model model = build_as(p, with_loops);
	struct far_accesses far;
	struct far_lines sums[2] = {0};
	profile_set_fact(p, "one_set_l2_ns", "2");
	profile_set_fact(p, "one_set_l3_ns", "4");
	profile_set_fact(p, "one_set_memory_ns", "10");
	assert_ok(far_accesses_init(p, &model, &far));
	/* without rates of lines that nothing fetches ahead there are none */
	far_lines_by_loop(&far, p, find(&model, "column"), sums);
	cr_expect(sums[0].lines[3] == 0 && sums[0].crowded[3] == 0);
	static const char *const levels[] = {"L2", "L3", "DRAM"};
	for (int level = 0; level < 3; level++)
		sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "random", levels[level], 1, 16);
	far_lines_by_loop(&far, p, find(&model, "column"), sums);
	cr_expect_eq(sums[0].lines[1], TURNS / 4);
	cr_expect_eq(sums[0].lines[2], TURNS / 2);
	cr_expect_eq(sums[0].lines[3], TURNS);
	cr_expect_eq(sums[0].crowded[3], TURNS / 2);
	cr_expect_eq(sums[1].lines[3], 0);
	const double crowd = TURNS * (10. / 2 + 4. / 4 + 2. / 8) * 1e-9;
	cr_expect_float_eq(far_lines_crowd_s(p, &sums[0]), crowd, 1e-12);
	far_lines_by_loop(NULL, p, find(&model, "column"), &sums[1]);
	cr_expect_eq(sums[1].lines[3], 0);
	far_accesses_deinit(&far);
	model_deinit(&model);
	profile_destroy(p);
}

/* Nothing fetches them ahead: they take the rates of independent loads, or those of one set where
 * that is longer, and not those of the links. */
Test(far_lines, are_waited_for)
{
	static const struct {
		int64_t step;
		double ns; /* a turn */
	} cases[] = {{64, 0}, {4160, 8 + 0.5 * 4 + 0.25 * 2}, {4096, 20 + 0.5 * 6 + 0.25 * 3}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = profile_of(cases[i].step, 0, 100, 0);
		static const char *const levels[] = {"L2", "L3", "DRAM"};
		static const double ns[] = {2, 4, 8};
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", "L1", 1, 64);
		for (int level = 0; level < 3; level++) {
			sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", levels[level], 1,
				    32 >> level);
			sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "random", levels[level], 1,
				    64 / ns[level]);
			sample_roof(p, ROOF_BANDWIDTH, "scalar", "", "chase", levels[level], 1,
				    64 / ns[level] / 10);
		}
		for (size_t roof = 0; roof < p->n_roofs; roof++)
			p->roofs[roof].distinguishable = true;
		profile_set_fact(p, "one_set_l2_ns", "3");
		profile_set_fact(p, "one_set_l3_ns", "6");
		profile_set_fact(p, "one_set_memory_ns", "20");
		struct model model = build_as(p, with_loops);
		struct ecm_machine machine = ecm_machine_of(p);
		struct far_accesses far;
		struct ecm_function ecm;
		assert_ok(far_accesses_init(p, &model, &far));
		machine.far = &far;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "column")));
		cr_expect_float_eq(ecm.loops[0].latency_s, cases[i].ns * 1e-9 * TURNS, 1e-9,
				   "case %zu: %g", i, ecm.loops[0].latency_s / TURNS);
		cr_expect_eq(ecm_memory_s(&ecm.loops[0]) > 0, cases[i].ns == 0);
		ecm_function_deinit(&ecm);
		far_accesses_deinit(&far);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* Accounts of a made-up loop on a made-up machine, whose parts are known. */
#include "report/ecm/ecm_words.h"
#include "report/ecm/potentials.h"
#include "report/ecm/transfers.h"
#include "report/in_core/measured_core.h"
#include "report/in_core/under_way.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 1000000
#define START 0x100

static const struct model_choice with_loops = {.loops = true};

/* 0 vmovupd ymm0,[rsi+rax]; vfmadd213pd ymm0,ymm1,[rdx+rax]; vmovupd [rdi+rax],ymm0; add rax,32;
 * cmp rax,rcx; jb 0; ret: a triad */
static const char triad[] =
	"\xc5\xfd\x10\x04\x06\xc4\xe2\xf5\xa8\x04\x02\xc5\xfd\x11\x04\x07\x48\x83\xc0\x20\x48"
	"\x39\xc8\x72\xe7\xc3";

static void add_roofs(struct profile *p)
{
	/* by level: what six kernels reach on a machine of 1 GHz whose links move 64, 32 and 16
	 * bytes a cycle each way, one after the other, behind loads and stores of 64 bytes a cycle
	 */
	static const struct {
		const char *op;
		double bytes, in, out;
	} ops[] = {{"read", 1, 1, 0},  {"write", 1, 1, 1},  {"copy", 2, 2, 1},
		   {"triad", 3, 3, 1}, {"update", 2, 1, 1}, {"daxpy", 3, 2, 1}};
	static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
	for (int op = 0; op < 6; op++) {
		double time = ops[op].bytes / 64;
		for (int level = 0; level < 4; level++) {
			if (level > 0)
				time += (ops[op].in + ops[op].out) / (128 >> level);
			sample_roof(p, ROOF_BANDWIDTH, "avx2", "", ops[op].op, levels[level], 1,
				    ops[op].bytes / time);
			p->roofs[p->n_roofs - 1].distinguishable = true;
		}
	}
}

static void add_samples(struct profile *p, int n)
{
	const uint32_t thread = profile_thread(p, RUN_TIMED, 2, 2, "");
	for (int i = 0; i < n; i++) {
		struct profile_sample sample = {thread, (uint64_t)i * 1000000, 1000000,
						profile_frame(p, PROFILE_NONE, 0, START)};
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
}

/* Three lines in and one out of each level for every two turns: 96 and 32 bytes a turn. */
static void add_traffic(struct profile *p)
{
	for (uint32_t class = 0; class < CACHE_CLASSES; class ++) {
		struct profile_traffic row = {.offset = START,
					      .thread = profile_thread(p, RUN_COUNTED, 1, 1, ""),
					      .class = class};
		row.lines[TRAFFIC_L2_READ] = row.lines[TRAFFIC_L3_READ] =
			row.lines[TRAFFIC_MEM_READ] = 3 * TURNS / 2 / CACHE_CLASSES;
		row.lines[TRAFFIC_L2_WRITE_BACK] = row.lines[TRAFFIC_L3_WRITE_BACK] =
			row.lines[TRAFFIC_MEM_WRITE_BACK] = TURNS / 2 / CACHE_CLASSES;
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "%d", CACHE_CLASSES);
	profile_set_fact(p, "traffic_geometry", "L1=32K:8,L2=1M:16,L3=16M:16");
}

static struct profile *profile_of(bool traced, bool roofs, int samples)
{
	struct profile *p = profile_create();
	const uint32_t m = profile_module(p, "/x", ""),
		       counted = profile_thread(p, RUN_COUNTED, 1, 1, "");
	sample_function(p, m, START, START + 26, "triad", "", 0);
	sample_block(p, m, START, triad, 25, counted, TURNS);
	sample_block(p, m, START + 25, triad + 25, 1, counted, 1);
	if (roofs)
		add_roofs(p);
	add_samples(p, samples);
	if (traced)
		add_traffic(p);
	profile_set_fact(p, "clock_ghz", "1");
	return p;
}

static void near(double value, double truth, double by, const char *what)
{
	cr_expect(fabs(value - truth) <= by * fabs(truth), "%s: %g, not %g", what, value, truth);
}

/* 2 + 4 + 8 cycles a turn on the links behind 1.5 for loads and stores, whose sum is 15.5. */
Test(loop_account, parts_add_up)
{
	struct profile *p = profile_of(true, true, 20);
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "triad");
	const struct ecm_machine machine = ecm_machine_of(p);
	struct ecm_function ecm;
	cr_expect_eq(machine.source, ECM_FITTED);
	cr_expect_str_eq(machine.fit.rule->name, "none");
	cr_expect(machine.fit.error < 0.005, "%g", machine.fit.error);
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, f));
	const struct ecm_account *loop = &ecm.loops[0];
	const double turn = TURNS * 1e-9;
	near(loop->parts_s[ECM_OL], turn, 1e-3, "instructions and branches");
	near(loop->parts_s[ECM_L1_L2], 2 * turn, 0.02, "L1L2");
	near(loop->parts_s[ECM_L2_L3], 4 * turn, 0.02, "L2L3");
	near(ecm_memory_s(loop), 8 * turn, 0.02, "memory");
	near(loop->account_s[ACCOUNT_MEMORY], 8 * turn, 0.02, "memory in the account");
	near(loop->predicted_s, 14 * turn + loop->parts_s[ECM_NOL], 0.01, "all");
	cr_expect_eq(ecm_largest(loop), ACCOUNT_MEMORY);
	double sum = 0;
	for (int i = 0; i < ACCOUNT_PARTS; i++)
		sum += loop->account_s[i];
	near(sum, 0.020, 1e-9, "the account");
	near(loop->stderr_s, 0.020 / sqrt(20), 1e-9, "standard error");
	near(loop->least_s, loop->predicted_s, 1e-9, "all sets were simulated");
	near(loop->most_s, loop->predicted_s, 1e-9, "all sets were simulated");
	near(ecm.whole.predicted_s, loop->predicted_s, 1e-3, "the function");
	near(ecm_cycles_a_turn(&machine, loop, loop->predicted_s), 15.5, 0.1, "cycles");
	cr_expect(isnan(ecm_cycles_a_turn(&machine, &ecm.whole, 1)));
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* The triad of above, 15 cycles a turn of which loads and stores are one by what is known of all
 * cores, and the rest comes from links, on a core whose other hardware thread is busy. */
Test(loop_account, has_what_another_hardware_thread_takes)
{
	static const struct {
		const char *key, *left;
		double shared; /* cycles a turn */
	} rows[] = {
		{"left_slots", "1", 0},
		{"left_slots", "0.5", 0}, /* two cycles are hidden behind all else */
		{"left_slots", "0.05", 20 - 15},
		{"left_loads", "0.5", 1},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = profile_of(true, true, 20);
		struct measured_core core;
		profile_set_fact(p, rows[i].key, "%s", rows[i].left);
		struct model model = build_as(p, with_loops);
		struct ecm_machine machine = ecm_machine_of(p);
		struct ecm_function alone, shared;
		const struct model_function *f = find(&model, "triad");
		assert_ok(measured_core_init(p, &core));
		assert_ok(ecm_function_init(&alone, &machine, p, &model, f));
		machine.core = &core;
		assert_ok(ecm_function_init(&shared, &machine, p, &model, f));
		const struct ecm_account *loop = &shared.loops[0];
		const double turn = TURNS * 1e-9, more = loop->account_s[ACCOUNT_SHARED];
		cr_expect_eq(alone.loops[0].account_s[ACCOUNT_SHARED], 0);
		cr_expect_float_eq(more, rows[i].shared * turn, 0.1 * turn, "%zu: %g cycles", i,
				   more / turn);
		near(loop->predicted_s, alone.loops[0].predicted_s + more, 1e-9, "all");
		near(loop->light_s, alone.loops[0].light_s, 1e-9, "light speed");
		double sum = 0;
		for (int part = 0; part < ACCOUNT_PARTS; part++)
			sum += loop->account_s[part];
		near(sum, 0.020, 1e-9, "the account");
		for (int change = 0; change < ECM_CHANGES; change++)
			cr_expect(loop->changed_s[change] <= loop->predicted_s);
		ecm_function_deinit(&alone);
		ecm_function_deinit(&shared);
		measured_core_deinit(&core);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* A few sets were simulated, one of which has most of the lines. */
Test(loop_account, a_sample_of_sets_has_an_interval)
{
	struct profile *p = profile_of(false, true, 20);
	for (uint32_t class = 0; class < 4; class ++) {
		struct profile_traffic row = {.offset = START,
					      .thread = profile_thread(p, RUN_COUNTED, 1, 1, ""),
					      .class = class};
		row.lines[TRAFFIC_L2_READ] = row.lines[TRAFFIC_L3_READ] =
			row.lines[TRAFFIC_MEM_READ] = class ? 1000 : TURNS / 16.0;
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "4");
	profile_set_fact(p, "traffic_geometry", "L1=32K:8,L2=1M:16,L3=16M:16");
	struct model model = build_as(p, with_loops);
	const struct ecm_machine machine = ecm_machine_of(p);
	struct ecm_function ecm;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
	const struct ecm_account *loop = &ecm.loops[0];
	cr_expect(loop->least_s < 0.5 * loop->predicted_s, "%g of %g", loop->least_s,
		  loop->predicted_s);
	cr_expect(loop->most_s > 1.5 * loop->predicted_s, "%g of %g", loop->most_s,
		  loop->predicted_s);
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* 15.5 cycles a turn: 1.5 for loads and stores, 2, 4 and 8 for the links.  From L2 only 3.5 of them
 * are left; in vectors twice as wide half of the loads and stores. */
Test(loop_account, what_if)
{
	static const double compute[] = {8, 16, 32}; /* GFLOP/s in 16, 32 and 64 bytes */
	static const char *const isas[] = {"sse2", "avx2", "avx512f"};
	/* the last one: vectors of 64 bytes that take two turns */
	for (int widths = 0; widths <= 4; widths++) {
		struct profile *p = profile_of(true, true, 20);
		for (int i = 0; i < widths && i < 3; i++)
			sample_roof(p, ROOF_COMPUTE, isas[i], "double", "fma", "", 1,
				    widths == 4 && i == 2 ? 17 : compute[i]);
		struct model model = build_as(p, with_loops);
		const struct ecm_machine machine = ecm_machine_of(p);
		struct ecm_function ecm;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
		const struct ecm_account *loop = &ecm.loops[0];
		const double *now = loop->parts_s, saved = widths == 3 ? now[ECM_NOL] / 2 : 0;
		near(machine.vector_bytes, widths < 2 ? 16 : widths == 3 ? 64 : 32, 1e-9, "bytes");
		near(loop->changed_s[CHANGE_BLOCKED], now[ECM_NOL] + now[ECM_L1_L2], 1e-9, "L2");
		near(loop->changed_s[CHANGE_VECTORS], loop->predicted_s - saved, 1e-9, "vectors");
		near(loop->changed_s[CHANGE_PREDICTED], loop->predicted_s, 1e-9, "predicted");
		near(loop->changed_s[CHANGE_PREFETCHED], loop->predicted_s, 1e-9, "prefetched");
		near(ecm_saved_s(loop, CHANGE_BLOCKED),
		     loop->predicted_s - loop->changed_s[CHANGE_BLOCKED], 1e-9, "saved");
		cr_expect(ecm_saved_s(loop, CHANGE_PREDICTED) == 0);
		struct ecm_potential potentials[ECM_CHANGES];
		size_t n;
		assert_ok(ecm_potentials(&machine, p, &model, potentials, &n));
		cr_expect_eq(n, widths == 3 ? 2 : 1);
		cr_expect_eq(potentials[0].change, CHANGE_BLOCKED);
		near(potentials[0].saved_s, ecm_saved_s(&ecm.whole, CHANGE_BLOCKED), 1e-9, "all");
		cr_expect_str_eq(potentials[0].most->name, "triad");
		ecm_function_deinit(&ecm);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* 1.5 lines a turn of six instructions: 48 of them are under way in a usual core, 2 in one of eight
 * instructions, and none but the one at hand in one of two. */
Test(loop_account, lines_beyond_the_reorder_buffer_are_waited_for_alone)
{
	static const struct {
		const char *buffer;
		double ns; /* a turn */
	} cores[] = {{NULL, 96}, {"8", 480}, {"2", 960}};
	struct model_irregular irregular[MODEL_LEVELS] = {[3] = {.lines = 1.5 * TURNS}};
	for (size_t i = 0; i < sizeof(cores) / sizeof(*cores); i++) {
		struct profile *p = profile_of(true, true, 300);
		struct ecm_function ecm;
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "random", "DRAM", 1, 1);
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "chase", "DRAM", 1, 0.1);
		if (cores[i].buffer)
			profile_set_fact(p, "reorder_buffer", "%s", cores[i].buffer);
		struct model model = build_as(p, with_loops);
		struct model_function *f = (struct model_function *)find(&model, "triad");
		const struct ecm_machine machine = ecm_machine_of(p);
		f->loops[0].irregular = irregular;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, f));
		near(ecm.loops[0].latency_s, cores[i].ns * 1e-9 * TURNS, 1e-9, "latency");
		ecm_function_deinit(&ecm);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* 1.5 lines a turn for which the loop waits 96 cycles.  Prefetched, they come over the links with
 * the rest, as if they had been regular from the start; nearer, they take the same where nobody
 * knows what L2 takes. */
Test(loop_account, lines_that_are_prefetched_are_moved)
{
	struct model_irregular irregular[MODEL_LEVELS] = {[3] = {.lines = 1.5 * TURNS}};
	struct profile *p = profile_of(true, true, 300);
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "random", "DRAM", 1, 1);
	struct model model = build_as(p, with_loops);
	struct model_function *f = (struct model_function *)find(&model, "triad");
	const struct ecm_machine machine = ecm_machine_of(p);
	struct ecm_function regular, ecm;
	assert_ok(ecm_function_init(&regular, &machine, p, &model, f));
	f->loops[0].irregular = irregular;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, f));
	const struct ecm_account *loop = &ecm.loops[0];
	near(loop->latency_s, 96e-9 * TURNS, 1e-9, "latency");
	cr_expect(loop->predicted_s >= loop->latency_s);
	near(loop->changed_s[CHANGE_PREFETCHED], regular.loops[0].predicted_s, 1e-9, "prefetched");
	cr_expect(loop->changed_s[CHANGE_BLOCKED] >= loop->latency_s);
	near(loop->changed_s[CHANGE_PREDICTED], loop->predicted_s, 1e-9, "predicted");
	ecm_function_deinit(&regular);
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* 1.5 lines a turn, of 64 ns where they come beside each other, of which mispredicted branches wait
 * for a third, at 640 ns each; without mispredictions for none. */
Test(loop_account, lines_that_mispredicted_branches_wait_for)
{
	struct model_irregular irregular[MODEL_LEVELS] = {
		[3] = {.lines = 1.5 * TURNS, .guessed = 0.5 * TURNS}};
	struct profile *p = profile_of(true, true, 300);
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "random", "DRAM", 1, 1);
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "chase", "DRAM", 1, 0.1);
	struct model model = build_as(p, with_loops);
	struct model_function *f = (struct model_function *)find(&model, "triad");
	const struct ecm_machine machine = ecm_machine_of(p);
	struct ecm_function ecm;
	f->loops[0].irregular = irregular;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, f));
	const struct ecm_account *loop = &ecm.loops[0];
	near(loop->latency_s, 320e-9 * TURNS, 1e-9, "latency");
	near(loop->account_s[ACCOUNT_LATENCY], loop->latency_s, 1e-9, "in the account");
	near(loop->predicted_s - loop->changed_s[CHANGE_PREDICTED], (320 - 96) * 1e-9 * TURNS, 1e-6,
	     "predicted branches");
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* Of code that is faster than predicted nothing can be saved but in proportion. */
Test(loop_account, no_more_is_saved_than_was_measured)
{
	struct profile *p = profile_of(true, true, 5);
	struct model model = build_as(p, with_loops);
	const struct ecm_machine machine = ecm_machine_of(p);
	struct ecm_function ecm;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
	const struct ecm_account *loop = &ecm.loops[0];
	cr_assert(loop->predicted_s > 0.005);
	near(ecm_saved_s(loop, CHANGE_BLOCKED),
	     0.005 * (1 - loop->changed_s[CHANGE_BLOCKED] / loop->predicted_s), 1e-9, "saved");
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* Cycles of the core pass at the clock that was held, bytes at the rates that were measured. */
Test(loop_account, the_core_has_the_clock_that_was_held)
{
	static const struct {
		const char *held;
		double ghz;
	} cases[] = {{"0.8", 0.8}, {"1.7", 1}, {"0", 1}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = profile_of(true, true, 20);
		profile_set_fact(p, "clock_held_ghz", "%s", cases[i].held);
		struct model model = build_as(p, with_loops);
		const struct ecm_machine machine = ecm_machine_of(p);
		struct ecm_function ecm;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
		near(machine.clock_ghz, cases[i].ghz, 1e-9, "clock");
		near(ecm.loops[0].parts_s[ECM_OL], TURNS * 1e-9 / cases[i].ghz, 1e-3, "core");
		near(ecm.loops[0].parts_s[ECM_L2_L3], 4 * TURNS * 1e-9, 0.02, "L2L3");
		ecm_function_deinit(&ecm);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* What is not known is said, and not taken for nothing. */
Test(loop_account, what_is_lacking_is_said)
{
	static const struct {
		bool traced, roofs;
		int samples;
		unsigned lacks;
	} cases[] = {
		{false, true, 10, ECM_LACKS_TRAFFIC | ECM_LACKS_BRANCHES},
		{true, false, 10, ECM_LACKS_ROOFS | ECM_LACKS_BRANCHES},
		{true, true, 0, ECM_LACKS_SAMPLES | ECM_LACKS_BRANCHES},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = profile_of(cases[i].traced, cases[i].roofs, cases[i].samples);
		struct model model = build_as(p, with_loops);
		const struct ecm_machine machine = ecm_machine_of(p);
		struct ecm_function ecm;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
		cr_expect_eq(ecm.whole.lacks, cases[i].lacks, "%zu: %u", i, ecm.whole.lacks);
		cr_expect(ecm_lack_words(&ecm.whole));
		cr_expect(ecm_is_predicted(&ecm.whole) && ecm.whole.predicted_s > 0);
		cr_expect_eq(isnan(ecm.whole.measured_s), !cases[i].samples);
		ecm_function_deinit(&ecm);
		model_deinit(&model);
		profile_destroy(p);
	}
}

#define SAMPLED (CACHE_CLASSES / 2)

/* Lines that may have moved, or not, while nothing was traced, in each class of a sample. */
static struct profile *with_open(uint64_t seen, uint64_t open)
{
	struct profile *p = profile_of(false, true, 20);
	for (uint32_t class = 0; class < SAMPLED; class ++) {
		struct profile_traffic row = {.offset = START,
					      .thread = profile_thread(p, RUN_COUNTED, 1, 1, ""),
					      .class = class};
		row.lines[TRAFFIC_L2_READ] = row.lines[TRAFFIC_L3_READ] =
			row.lines[TRAFFIC_MEM_READ] = seen;
		row.lines[TRAFFIC_L2_READ_OPEN] = row.lines[TRAFFIC_L3_READ_OPEN] =
			row.lines[TRAFFIC_MEM_READ_OPEN] = open;
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "%d", SAMPLED);
	profile_set_fact(p, "traffic_geometry", "L1=32K:8,L2=1M:16,L3=16M:16");
	return p;
}

/* A function that no window met: zero bytes are not what it moves.  20 ms of samples and 16 bytes a
 * ns from memory: 25 million lines take more than a tenth of that, 0.5 million just so, and 25,000
 * less.  Where most of it was seen it is known. */
Test(loop_account, what_no_window_met_is_not_known)
{
	static const struct {
		uint64_t seen, open;
		bool known;
	} cases[] = {
		{0, 0, true},
		{0, 25000000 / CACHE_CLASSES, false},
		{0, 550000 / CACHE_CLASSES, false},
		{0, 25000 / CACHE_CLASSES, true},
		{25000000 / CACHE_CLASSES, 30000000 / CACHE_CLASSES, false},
		{30000000 / CACHE_CLASSES, 1000000 / CACHE_CLASSES, true},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct profile *p = with_open(cases[i].seen, cases[i].open);
		struct model model = build_as(p, with_loops);
		const struct ecm_machine machine = ecm_machine_of(p);
		struct ecm_function ecm;
		assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
		const unsigned lacks = cases[i].known ? 0 : ECM_LACKS_SIGHT;
		cr_expect_eq(ecm.whole.lacks & ECM_LACKS_TRANSFERS, lacks, "%zu", i);
		cr_expect_eq(ecm.loops[0].lacks & ECM_LACKS_TRANSFERS, lacks, "%zu: loop", i);
		cr_expect_eq(strstr(ecm_lack_words(&ecm.whole), "not known: it ran") == NULL,
			     cases[i].known, "%zu", i);
		ecm_function_deinit(&ecm);
		model_deinit(&model);
		profile_destroy(p);
	}
}

/* A shared L3 that gives two threads no more than one, and a memory that gives them 1.6 times as
 * much. */
Test(loop_account, threads_share_caches_and_memory)
{
	struct profile *p = profile_of(true, true, 10);
	const double l3 = p->roofs[2].best, memory = p->roofs[3].best;
	cr_assert_str_eq(roof_op_name(p->roofs[2].op), "read");
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", "L3", 2, l3);
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", "DRAM", 2, 1.6 * memory);
	struct model model = build_as(p, with_loops);
	const struct ecm_machine machine = ecm_machine_of(p);
	const struct ecm_moves moves = {.in = {6400, 6400, 6400}};
	double one[ECM_PARTS], two[ECM_PARTS];
	ecm_transfer_seconds(&machine, p, &moves, 1, 0, one);
	ecm_transfer_seconds(&machine, p, &moves, 2, 0, two);
	near(two[ECM_L1_L2], one[ECM_L1_L2], 1e-9, "L1L2 is each core's own");
	near(two[ECM_L2_L3], 2 * one[ECM_L2_L3], 1e-9, "L2L3");
	near(two[ECM_L3_MEMORY], one[ECM_L3_MEMORY], 1e-9, "memory is shared out by the model");
	near(ecm_memory_share(p), 1 / 1.6, 1e-9, "share");
	model_deinit(&model);
	profile_destroy(p);
}

/* On a machine with more processors, each of which has its own part of the L3: one thread takes
 * what is predicted of the loop, which one thread ran; two meet at the memory. */
Test(loop_account, threads_saturate_the_memory)
{
	struct profile *p = profile_of(true, true, 10);
	const double l3 = p->roofs[2].best, memory = p->roofs[3].best, turn = TURNS * 1e-9;
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", "L3", 7, 7 * l3);
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", "DRAM", 7, 1.6 * memory);
	profile_set_fact(p, "usable_threads", "7");
	struct model model = build_as(p, with_loops);
	const struct ecm_machine machine = ecm_machine_of(p);
	static const double threads[] = {1, 2, 3, 4, 6, 7};
	struct ecm_function ecm;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
	const struct ecm_account *loop = &ecm.loops[0];
	cr_assert_eq(machine.n_threads, 6);
	for (size_t i = 0; i < machine.n_threads; i++)
		cr_expect_eq(machine.threads[i], threads[i]);
	near(loop->memory_busy_s, 8 / 1.6 * turn, 0.02, "the memory is busy");
	near(loop->at_threads_s[0], loop->predicted_s, 1e-9, "one");
	near(loop->predicted_s, 15 * turn, 0.01, "alone");
	/* 5 of 15 cycles at the memory: the other is there a third of the time, and has half of its
	 * 5 cycles left */
	near(loop->at_threads_s[1], (15 + 5 / 15.0 * 5 / 2) * turn, 0.01, "two");
	near(ecm_wall_s(&machine, loop, 1), loop->at_threads_s[1] / 2, 1e-9, "by the clock");
	near(ecm_wall_s(&machine, loop, 5), loop->memory_busy_s, 1e-9, "seven: saturated");
	near(ecm_saturating_threads(loop), 15 / 5.0, 0.01, "saturated by");
	near(ecm.whole.at_threads_s[5], loop->at_threads_s[5], 1e-3, "the function");
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* A file may claim any number of threads, or none. */
Test(loop_account, numbers_of_threads_are_few)
{
	static const struct {
		const char *usable;
		double n, last;
	} rows[] = {{"", 1, 1},  {"0", 1, 1},      {"1", 1, 1},        {"2", 2, 2},
		    {"8", 6, 8}, {"192", 15, 192}, {"4096", 24, 4096}, {"1000000", 24, 4096}};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct profile *p = profile_of(false, true, 1);
		if (rows[i].usable[0])
			profile_set_fact(p, "usable_threads", "%s", rows[i].usable);
		const struct ecm_machine machine = ecm_machine_of(p);
		cr_expect_eq(machine.n_threads, rows[i].n, "%s: %zu", rows[i].usable,
			     machine.n_threads);
		cr_expect_eq(machine.threads[0], 1);
		cr_expect_eq(machine.threads[machine.n_threads - 1], rows[i].last);
		for (size_t k = 1; k < machine.n_threads; k++)
			cr_expect(machine.threads[k] > machine.threads[k - 1]);
		profile_destroy(p);
	}
}

/* Memory that gives accesses of 8 bytes half of what it gives others: accesses between are
 * between, and the memory itself is busy as long as ever. */
Test(loop_account, narrow_accesses_have_links_of_their_own)
{
	struct profile *p = profile_of(true, true, 10);
	const size_t n = p->n_roofs;
	for (size_t i = 0; i < n; i++) {
		const struct roof *row = &p->roofs[i];
		const double slower = row->level == ROOF_LEVEL_DRAM ? 2 : 1;
		sample_roof(p, ROOF_NARROW, "scalar", "", roof_op_name(row->op),
			    roof_level_name(row->level), 1, row->best / slower);
	}
	const struct ecm_machine machine = ecm_machine_of(p);
	const struct ecm_moves moves = {.in = {6400, 6400, 6400}};
	double wide[ECM_PARTS], narrow[ECM_PARTS], between[ECM_PARTS];
	ecm_transfer_seconds(&machine, p, &moves, 1, 0, wide);
	ecm_transfer_seconds(&machine, p, &moves, 1, 1, narrow);
	ecm_transfer_seconds(&machine, p, &moves, 1, 0.5, between);
	near(narrow[ECM_L1_L2], wide[ECM_L1_L2], 0.02, "L1L2");
	near(narrow[ECM_L2_L3], wide[ECM_L2_L3], 0.02, "L2L3");
	cr_expect(narrow[ECM_L3_MEMORY] > 1.9 * wide[ECM_L3_MEMORY], "%g beside %g",
		  narrow[ECM_L3_MEMORY], wide[ECM_L3_MEMORY]);
	near(between[ECM_L3_MEMORY], (wide[ECM_L3_MEMORY] + narrow[ECM_L3_MEMORY]) / 2, 1e-9,
	     "between");
	cr_expect_eq(ecm_narrowness(100, 6400), 0);
	cr_expect_eq(ecm_narrowness(100, 800), 1);
	cr_expect_eq(ecm_narrowness(100, 100), 1);
	cr_expect_eq(ecm_narrowness(0, 0), 0);
	near(ecm_narrowness(100, 1600), 3 / 7.0, 1e-9, "16 bytes");
	profile_destroy(p);
}

/* The made-up machine has no rows of latency. */
Test(loop_account, an_unknown_latency_is_said)
{
	struct profile *p = profile_of(true, true, 10);
	const struct profile_stride stride = {.offset = START, .random = TURNS};
	cr_assert(rf_array_push(p->strides, p->n_strides, p->cap_strides, stride));
	struct model model = build_as(p, with_loops);
	const struct ecm_machine machine = ecm_machine_of(p);
	struct ecm_function ecm;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, find(&model, "triad")));
	cr_expect_eq(ecm.whole.lacks, ECM_LACKS_LATENCY | ECM_LACKS_BRANCHES, "%u",
		     ecm.whole.lacks);
	cr_expect_eq(ecm.loops[0].lacks, ECM_LACKS_LATENCY | ECM_LACKS_BRANCHES, "%u",
		     ecm.loops[0].lacks);
	cr_expect_eq(ecm.whole.latency_s, 0);
	ecm_function_deinit(&ecm);
	model_deinit(&model);
	profile_destroy(p);
}

/* Irregular lines are waited for, and are not in the transfers as well. */
Test(loop_account, irregular_lines_count_once)
{
	double events[N_TRAFFIC] = {[TRAFFIC_L2_READ] = 6400,
				    [TRAFFIC_L3_READ] = 6400,
				    [TRAFFIC_L3_CLEAN_VICTIM] = 6400,
				    [TRAFFIC_MEM_READ] = 640,
				    [TRAFFIC_MEM_WRITE_BACK] = 64};
	struct model_irregular irregular[MODEL_LEVELS] = {
		{.lines = 1000}, {0}, {.lines = 80}, {.lines = 10}};
	const struct ecm_moves moves = ecm_moves_of(events, irregular),
			       all = ecm_moves_of(events, NULL);
	cr_expect_eq(all.in[0], 6400);
	cr_expect_eq(all.out[1], 6400);
	cr_expect_eq(all.in[2], 640);
	cr_expect_eq(moves.in[0], 640, "%g", moves.in[0]);
	cr_expect_eq(moves.in[1], 640, "%g", moves.in[1]);
	cr_expect_eq(moves.out[1], 640, "%g", moves.out[1]);
	cr_expect_eq(moves.in[2], 0);
	cr_expect_eq(moves.out[2], 64);
}

/* A branch of the loop that is mispredicted at a tenth of its turns, at 26.4 cycles each, and one
 * behind the loop. */
Test(loop_account, mispredictions_come_on_top)
{
	struct profile *p = profile_of(true, true, 20);
	const struct profile_branch in_loop = {.offset = START + 23,
					       .executions = TURNS,
					       .outcomes = 1000,
					       .share = 0.1,
					       .halfwidth = 0.01,
					       .file = strdup("/a/triad.c"),
					       .source_line = 4},
				    behind = {.offset = START + 25,
					      .kind = PROFILE_BRANCH_RETURN,
					      .executions = 1,
					      .outcomes = 1,
					      .share = 1,
					      .file = strdup("")};
	cr_assert(rf_array_push(p->branches, p->n_branches, p->cap_branches, in_loop));
	cr_assert(rf_array_push(p->branches, p->n_branches, p->cap_branches, behind));
	struct ecm_function without, with;
	struct model model = build_as(p, with_loops);
	const struct model_function *f = find(&model, "triad");
	const struct ecm_machine machine = ecm_machine_of(p);
	assert_ok(ecm_function_init(&without, &machine, p, &model, f));
	cr_expect(without.whole.lacks & ECM_LACKS_BRANCHES);
	profile_set_fact(p, "branch_outcomes", "1001");
	profile_set_fact(p, "mispredicted_cycles", "20");
	profile_set_fact(p, "mispredicted_rarely_cycles", "30");
	assert_ok(ecm_function_init(&with, &machine, p, &model, f));
	cr_expect(!with.whole.lacks);
	const double each = (20 + 10 * 0.8 * 0.8) * 1e-9;
	near(with.loops[0].mispredicted.n, 0.1 * TURNS, 1e-9, "in the loop");
	near(sqrt(with.loops[0].mispredicted.variance), 0.01 * TURNS, 1e-9, "half-width");
	near(with.loops[0].account_s[ACCOUNT_BRANCHES], 0.1 * TURNS * each, 1e-9, "seconds");
	near(with.loops[0].predicted_s - without.loops[0].predicted_s, 0.1 * TURNS * each, 1e-6,
	     "on top");
	near(with.whole.mispredicted.n, 0.1 * TURNS + 1, 1e-9, "in the function");
	near(with.whole.light_s, without.whole.light_s, 1e-9, "light speed is without");
	const struct profile_branch *told[MISPREDICTIONS_TOLD];
	cr_expect_eq(mispredictions_told(p, f, 0.02, told), 1);
	cr_expect_eq(told[0]->offset, START + 23);
	cr_expect_eq(mispredictions_worst(p, f, 3, told), 2);
	cr_expect_eq(told[1]->kind, PROFILE_BRANCH_RETURN);
	p->branches[0].halfwidth = 0.1;
	cr_expect_eq(mispredictions_told(p, f, 0.02, told), 0, "it may be none");
	ecm_function_deinit(&without);
	ecm_function_deinit(&with);
	model_deinit(&model);
	profile_destroy(p);
}

/* Lines lie as densely as the code has them, or as the program where it is entered and left within
 * a reorder buffer. */
Test(loop_account, as_many_wait_as_lie_within_a_reorder_buffer)
{
	struct profile *p = report_traced_sample();
	struct model_traffic traffic = {.program_instructions = 1e6};
	struct model_function f = {.traffic = &traffic};
	profile_set_fact(p, "reorder_buffer", "400");
	const double buffer = ecm_reorder_buffer(p);
	expect_near(ecm_under_way(&f, 200, 0.1, 1e4, 1000), 20, "of what is short");
	expect_near(ecm_under_way(&f, buffer, 0.1, 1e4, 1000), 40, "its own");
	expect_near(ecm_under_way(&f, buffer, 0.1, 1e4, 400), 40, "its own, just");
	expect_near(ecm_under_way(&f, buffer, 0.1, 1e4, 100), 13, "a quarter its own");
	expect_near(ecm_under_way(&f, buffer, 0.1, 1e4, 0), 4, "the program's");
	expect_near(ecm_under_way(&f, buffer, 0.001, 1e4, 1000), 1, "at least the one at hand");
	f.traffic = NULL;
	expect_near(ecm_under_way(&f, buffer, 0.1, 1e4, 100), 10, "nothing known of others");
	profile_destroy(p);
}

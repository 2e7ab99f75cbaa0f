/* A chain of loads and of other steps, some of whose lines come from memory: neither goes on beside
 * the other. */
#include "report/ecm/loop_account.h"
#include "report/in_core/measured_core.h"
#include "tests/unit/report/ecm/made_up_core.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

#define TURNS 1000000
#define START 0x100

/* mov rax,[rax]; imul rax,rdx; dec rcx; jnz; ret: 8 cycles a turn, of which 5 for the load */
static const char chase[] = "\x48\x8b\x00\x48\x0f\xaf\xc2\x48\xff\xc9\x75\xf4\xc3";
/* mov rbx,[rax]; imul rax,rdx; dec rcx; jnz; ret: the chain is none of loads */
static const char apart[] = "\x48\x8b\x18\x48\x0f\xaf\xc2\x48\xff\xc9\x75\xf4\xc3";

static struct profile *profile_of(const char *code)
{
	static const char *const levels[] = {"L1", "L2", "L3", "DRAM"};
	struct profile *p = profile_create();
	const uint32_t m = profile_module(p, "/x", ""),
		       counted = profile_thread(p, RUN_COUNTED, 1, 1, ""),
		       timed = profile_thread(p, RUN_TIMED, 2, 2, "");
	sample_function(p, m, START, START + 13, "loop", "", 0);
	sample_block(p, m, START, code, 12, counted, TURNS);
	sample_block(p, m, START + 12, code + 12, 1, counted, 1);
	for (int i = 0; i < 20; i++) {
		const struct profile_sample sample = {timed, (uint64_t)i * 1000000, 1000000,
						      profile_frame(p, PROFILE_NONE, m, START)};
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
	for (uint32_t class = 0; class < CACHE_CLASSES; class ++) {
		struct profile_traffic row = {.offset = START, .thread = counted, .class = class};
		row.lines[TRAFFIC_MEM_READ] = 1; /* a few: the traffic is known */
		cr_assert(packed_rows_add(&p->traffic, &row, sizeof(row)));
	}
	profile_set_fact(p, "traffic_source", "traced");
	profile_set_fact(p, "traffic_classes", "%d", CACHE_CLASSES);
	profile_set_fact(p, "traffic_geometry", "L1=32K:8,L2=1M:16,L3=16M:16");
	profile_set_fact(p, "clock_ghz", "1");
	for (int level = 0; level < 4; level++) {
		sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "read", levels[level], 1, 64 >> level);
		p->roofs[p->n_roofs - 1].distinguishable = true;
	}
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "random", "DRAM", 1, 10);
	sample_roof(p, ROOF_BANDWIDTH, "avx2", "", "chase", "DRAM", 1, 1);
	made_up_core(p);
	return p;
}

/* Half of the turns wait 64 ns for a line. */
static struct ecm_account account_of(const char *code)
{
	struct model_irregular irregular[MODEL_LEVELS] = {
		[3] = {.lines = 0.5 * TURNS, .longest = 0.5 * TURNS}};
	struct profile *p = profile_of(code);
	struct model model = build_as(p, (struct model_choice){.loops = true});
	struct model_function *f = (struct model_function *)find(&model, "loop");
	struct ecm_machine machine = ecm_machine_of(p);
	struct measured_core core;
	struct ecm_function ecm;
	f->loops[0].irregular = irregular;
	assert_ok(measured_core_init(p, &core));
	machine.core = &core;
	assert_ok(ecm_function_init(&ecm, &machine, p, &model, f));
	const struct ecm_account account = ecm.loops[0];
	ecm_function_deinit(&ecm);
	measured_core_deinit(&core);
	model_deinit(&model);
	profile_destroy(p);
	return account;
}

Test(chained_lines, add_to_the_other_steps_of_their_chain)
{
	const struct ecm_account account = account_of(chase);
	expect_near(account.account_s[ACCOUNT_LATENCY] / TURNS * 1e9, 32, "lines");
	expect_near(account.account_s[ACCOUNT_CHAIN] / TURNS * 1e9, 8 - 0.5 * 5, "other steps");
	expect_near(account.predicted_s / TURNS * 1e9, 37.5, "all");
	expect_near(account.changed_s[CHANGE_PREFETCHED] / TURNS * 1e9, 8, "prefetched");
}

Test(chained_lines, go_on_beside_a_chain_that_is_another_one)
{
	const struct ecm_account account = account_of(apart);
	expect_near(account.predicted_s / TURNS * 1e9, 32, "all");
	cr_expect(account.account_s[ACCOUNT_CHAIN] == 0);
}

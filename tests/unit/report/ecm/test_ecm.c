/* The ECM model against the paper that describes it: table 2 of [H] (report/ecm/ecm.h) gives its
 * table 3. */
#include "report/ecm/ecm.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

/* ---- [H] table 2 ---- */

/* Scalar operations a cycle, bytes a cycle. */
struct paper_machine {
	const char *microarchitecture;
	double mul, fma, load, store, memory_operations;
	struct ecm_link l1_l2, l2_l3;
	/* Table 2 has ranges, "since different data-access patterns exhibit slightly varying
	 * sustained memory bandwidths"; this is what table 3 was made with. */
	double memory;
	bool past_l3; /* what comes from memory; table 3 has no row "L2-Mem" for Skylake-SP */
	bool clean_victims, writes_through;
};

static const struct paper_machine machines[] = {
	{"Skylake-SP", 16, 16, 16, 8, 16, {64, 64}, {32, 32}, 60 / 2.2, false, true, false},
	/* Contradiction 1: table 2 has "Victim L3", and 3.3 says that such a cache "receives both
	 * modified and unmodified cache lines"; but 0.75 and 0.25 cycles in table 3 are 24 and 8
	 * bytes over 32 a cycle: modified ones alone. */
	{"Zen", 4, 4, 4, 2, 4, {32, 32, true}, {32, 32}, 13, true, false, false},
	{"ThunderX2", 4, 4, 4, 2, 4, {64, 64}, {32, 32}, 56, true, true, false},
	{"POWER9", 4, 4, 4, 4, 4, {64, 16, true}, {32, 32}, 45, true, true, true},
};

/* ---- daxpby, y[i] = a x[i] + b y[i]: one turn, as in [H] 5.1 and 5.2 ---- */

enum place { IN_L1, IN_L2, IN_L3, IN_MEMORY };

static void daxpby(const struct paper_machine *m, enum place place, double part[ECM_PARTS])
{
	const double loads = 2, stores = 1, bytes = 8;
	struct ecm_moves moves = {0};
	double in[ECM_PARTS], out[ECM_PARTS];
	if (place >= IN_L2 || m->writes_through)
		moves.out[0] = bytes; /* y */
	if (place >= IN_L2)
		moves.in[0] = 2 * bytes; /* x, y */
	if (place >= IN_L3) {
		moves.in[1] = 2 * bytes;
		moves.out[1] = (m->clean_victims ? 2 : 1) * bytes;
	}
	if (place == IN_MEMORY) {
		moves.in[2] = 2 * bytes;
		moves.out[2] = bytes;
	}
	ecm_by_link(&moves, m->past_l3, in, out);
	/* [H] eq. 1 and 2.  The multiplication and the FMA count as units of their own: on
	 * Skylake-SP, where they share ports, eq. 2 would give 0.125, which is hidden in all of
	 * table 3. */
	part[ECM_OL] = fmax(1 / m->mul, 1 / m->fma);
	part[ECM_NOL] = fmax(fmax(loads / m->load, stores / m->store),
			     (loads + stores) / m->memory_operations);
	const struct ecm_link memory = {m->memory, m->memory, false};
	const struct ecm_link *links[ECM_PARTS] = {[ECM_L1_L2] = &m->l1_l2,
						   [ECM_L2_L3] = &m->l2_l3,
						   [ECM_L2_MEMORY] = &memory,
						   [ECM_L3_MEMORY] = &memory};
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		part[p] = ecm_transfer(links[p], in[p], out[p]);
}

static double predicted(const struct paper_machine *m, enum place place)
{
	double part[ECM_PARTS];
	daxpby(m, place, part);
	const struct ecm_rule *rule = ecm_rule_of(m->microarchitecture);
	cr_assert(rule, "%s", m->microarchitecture);
	return ecm_compose(rule, part).cycles;
}

/* ---- [H] table 3: cycles an iteration, with the digits that are printed there ---- */

struct paper_row {
	const char *name;
	enum place place;
	enum ecm_part part;
	double cycles[4]; /* of the machines above; NAN: no entry */
};

static const struct paper_row parts[] = {
	{"T_OL", IN_L1, ECM_OL, {0.0625, 0.25, 0.25, 0.25}},
	{"T_nOL", IN_L1, ECM_NOL, {0.1875, 0.75, 0.75, 0.75}},
	{"T_L1L2", IN_L2, ECM_L1_L2, {0.375, 0.5, 0.375, 0.5}},
	{"T_L2L3, data in L3", IN_L3, ECM_L2_L3, {1, 0.75, 1, 1}},
	{"T_L2L3, data in memory", IN_MEMORY, ECM_L2_L3, {1, 0.25, 0.5, 0.5}},
	{"T_L2Mem", IN_MEMORY, ECM_L2_MEMORY, {0, 1.23, 0.29, 0.36}},
	{"T_L3Mem", IN_MEMORY, ECM_L3_MEMORY, {0.88, 0.62, 0.14, 0.18}},
};

Test(ecm, table_3_by_parts)
{
	for (size_t r = 0; r < sizeof(parts) / sizeof(*parts); r++)
		for (size_t m = 0; m < 4; m++) {
			double part[ECM_PARTS];
			daxpby(&machines[m], parts[r].place, part);
			cr_expect_float_eq(part[parts[r].part], parts[r].cycles[m], 0.0051,
					   "%s, %s: %g, not %g", machines[m].microarchitecture,
					   parts[r].name, part[parts[r].part], parts[r].cycles[m]);
		}
}

/* Contradiction 2: by table 2, transfers of ThunderX2 do not overlap "if Mem involved"; but 1.125
 * in L2 and L3 is the sum of 0.75 and 0.375, without memory.  The rule has that sum. Contradiction
 * 3: by table 2, POWER9 overlaps all but L2-Mem with L3-Mem; but 1.25 in all caches is 0.75 for
 * loads and stores and 0.5 for what is written through.  The rule has that sum, too.  2.1 in memory
 * is neither that (1.25) nor the sum of all parts (2.29), but is Zen's figure; 0.75 + 0.5 + 0.5 +
 * 0.36 would round to it, without L3-Mem, which table 2 says adds to L2-Mem.  No rule that gives
 * the other rows gives this one, so it is left out. The printed sums are sums of parts that were
 * rounded: up to 0.0075 off. */
static const struct paper_row wholes[] = {
	{"L1", IN_L1, ECM_PARTS, {0.1875, 0.75, 0.75, 1.25}},
	{"L2", IN_L2, ECM_PARTS, {0.5625, 0.75, 1.125, 1.25}},
	{"L3", IN_L3, ECM_PARTS, {1.5625, 0.75, 1.125, 1.25}},
	{"memory", IN_MEMORY, ECM_PARTS, {2.4425, 2.1, 2.06, NAN}},
};

Test(ecm, table_3_composed)
{
	for (size_t r = 0; r < sizeof(wholes) / sizeof(*wholes); r++)
		for (size_t m = 0; m < 4; m++) {
			const double is = predicted(&machines[m], wholes[r].place),
				     paper = wholes[r].cycles[m];
			cr_expect(isnan(paper) || fabs(is - paper) < 0.0075,
				  "%s, data in %s: %g, not %g", machines[m].microarchitecture,
				  wholes[r].name, is, paper);
		}
	cr_expect_float_eq(predicted(&machines[3], IN_MEMORY), 1.25, 0.001);
}

/* ---- the rules ---- */

Test(ecm, what_is_hidden_is_told)
{
	const double part[ECM_PARTS] = {
		[ECM_OL] = 3, [ECM_NOL] = 1, [ECM_L1_L2] = 1, [ECM_L2_L3] = 1.5};
	struct ecm_time time = ecm_compose(ecm_rule_of("Skylake-SP"), part);
	cr_expect_float_eq(time.cycles, 3.5, 1e-9);
	cr_expect_eq(time.adds & ~ECM_MEMORY,
		     ECM_SET(ECM_NOL) | ECM_SET(ECM_L1_L2) | ECM_SET(ECM_L2_L3));
	time = ecm_compose(ecm_rule_of("ThunderX2"), part);
	cr_expect_float_eq(time.cycles, 3, 1e-9);
	cr_expect_eq(time.adds, ECM_SET(ECM_OL));
}

Test(ecm, what_is_not_known_takes_no_time)
{
	const double part[ECM_PARTS] = {[ECM_OL] = NAN, [ECM_NOL] = 1, [ECM_L1_L2] = -1};
	for (size_t i = 0; i < n_ecm_rules; i++)
		cr_expect_float_eq(ecm_compose(&ecm_rules[i], part).cycles, 1, 1e-9, "%s",
				   ecm_rules[i].name);
}

Test(ecm, rules_differ)
{
	for (size_t i = 0; i < n_ecm_rules; i++)
		for (size_t k = 0; k < i; k++) {
			cr_expect(strcmp(ecm_rules[i].name, ecm_rules[k].name) != 0);
			cr_expect(memcmp(ecm_rules[i].sums, ecm_rules[k].sums,
					 sizeof(ecm_rules[i].sums)) != 0 ||
					  memcmp(ecm_rules[i].with_memory, ecm_rules[k].with_memory,
						 sizeof(ecm_rules[i].with_memory)) != 0,
				  "%s is %s", ecm_rules[i].name, ecm_rules[k].name);
		}
	cr_expect_null(ecm_rule_of("a processor that nobody has made"));
	cr_expect_null(ecm_rule_of(NULL));
}

/* ---- several threads ---- */

/* [H] 5.2.2: daxpby of Skylake-SP saturates a domain at 53 GB/s of 24 bytes a turn, 2.2 G turns a
 * second; one thread makes 2.2 / 2.4425 of them. */
Test(ecm, threads_saturate_the_memory)
{
	const double cycles = predicted(&machines[0], IN_MEMORY), memory = 24 / (53 / 2.2);
	cr_expect_float_eq(ecm_with_threads(cycles, memory, 1), cycles, 1e-9);
	cr_expect_float_eq(ecm_saturated_by(cycles, memory), 2.4517, 1e-3);
	double before = cycles;
	for (int n = 2; n <= 10; n++) {
		const double now = ecm_with_threads(cycles, memory, n);
		cr_expect(now >= before && now >= n * memory - 1e-9 && now >= cycles, "%d", n);
		cr_expect(now / n <= before / (n - 1) + 1e-9, "%d threads do less than %d", n,
			  n - 1);
		before = now;
	}
	cr_expect_float_eq(10 / ecm_with_threads(cycles, memory, 10) * 2.2, 2.2083, 1e-3);
}

/* By hand: u(1) = 1/4, so two take 4 + 1/4 · 1/2; u(2) = 2 / 4.125, three 4 + 2 · u(2) / 2. */
Test(ecm, a_busy_memory_is_waited_for)
{
	cr_expect_float_eq(ecm_with_threads(4, 1, 2), 4.125, 1e-9);
	cr_expect_float_eq(ecm_with_threads(4, 1, 3), 4 + 2 / 4.125, 1e-9);
	cr_expect_float_eq(ecm_with_threads(4, 0, 8), 4, 1e-9);
	cr_expect(isinf(ecm_saturated_by(4, 0)));
}

/* The rule of the ceilings, against processors whose ports are known and against random rows. */
#include "report/model/model_mix.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"
#include "tests/unit/splitmix.h"

static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512f"};
static const double lanes[] = {1, 2, 4, 8};
#define N_ISAS 4

static void add_row(struct profile *p, int isa, const char *op, double rate)
{
	sample_roof(p, ROOF_COMPUTE, isas[isa], "double", op, "", 1, rate);
}

static double between(uint64_t *state, double low, double high)
{
	return low + (high - low) * (double)(random_number(state) >> 11) / 0x1p53;
}

/* ---- processors whose ports are known ---- */

/* Instructions a cycle: products, sums, and both together. */
struct ports {
	double products, sums, both;
};

static double cycles(const struct ports *ports, double products, double sums)
{
	return fmax(fmax(products / ports->products, sums / ports->sums),
		    (products + sums) / ports->both);
}

/* 1e9 flop a second at 1 GHz: `flop` of one product. */
static double rate(const struct ports *ports, double flop, double products, double sums)
{
	return (flop * products + sums) / cycles(ports, products, sums);
}

static void add_ports(struct profile *p, int isa, const struct ports *ports)
{
	const struct {
		const char *op;
		double flop, products, sums;
	} rows[] = {
		{"fma", 2, 1, 0},       {"mul", 1, 1, 0},       {"add", 1, 0, 1},
		{"fma1_add1", 2, 1, 1}, {"fma2_add1", 2, 2, 1}, {"fma1_add2", 2, 1, 2},
		{"mul1_add1", 1, 1, 1}, {"mul1_add2", 1, 1, 2},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		add_row(p, isa, rows[i].op,
			lanes[isa] * rate(ports, rows[i].flop, rows[i].products, rows[i].sums));
	add_row(p, isa, "div", lanes[isa] / 5);
	add_row(p, isa, "sqrt", lanes[isa] / 9);
}

static struct model_function in_one_second(void)
{
	return (struct model_function){.concurrency = 1, .precision = PRECISION_DOUBLE};
}

static void add_flop(struct model_function *f, enum flop_kind kind, int width, double gflop)
{
	const uint64_t flop = (uint64_t)llround(gflop * 1e6);
	f->tally.flop_by_kind[kind][PRECISION_DOUBLE][width] += flop;
	f->tally.flop += flop;
}

static double seconds(const struct profile *p, const struct model_function *f)
{
	return (double)f->tally.flop / model_mix_ceiling(p, f);
}

/* Units of their own, shared ones, one that both can use, sums on one port only. */
static const struct ports processors[] = {{2, 2, 4}, {2, 2, 2}, {2, 2, 3}, {2, 1, 2}, {1, 1, 2}};

/* Any mix of one width comes out as the ports say: nothing is lost between the measured ratios. */
Test(model_mix, known_ports_are_exact)
{
	uint64_t state = 16;
	for (size_t i = 0; i < sizeof(processors) / sizeof(*processors); i++)
		for (int n = 0; n < 2000; n++) {
			const int isa = (int)(random_number(&state) % N_ISAS);
			const bool fused = random_number(&state) & 1;
			struct profile *p = profile_create();
			struct model_function f = in_one_second();
			add_ports(p, isa, &processors[i]);
			const double products = between(&state, 0, 100) * (n % 17 > 0),
				     sums = between(&state, 0, 100) + (n % 17 == 0);
			add_flop(&f, fused ? FLOP_FMA : FLOP_MUL, isa, (fused ? 2 : 1) * products);
			add_flop(&f, n & 2 ? FLOP_ADD : FLOP_OTHER, isa, sums);
			const double truth =
				cycles(&processors[i], products, sums) / lanes[isa] * 1e6;
			cr_expect(fabs(seconds(p, &f) - truth) < 1e-4 * truth,
				  "processor %zu %s: %.4g products, %.4g sums: %g, not %g", i,
				  fused ? "fused" : "apart", products, sums, seconds(p, &f), truth);
			profile_destroy(p);
		}
}

/* A loop of divisions is at its roof when it runs at the rate of the widest division, and N-body
 * (divisions, roots and much else) at what its divisions allow. */
Test(model_mix, divisions_stay_divisions)
{
	struct profile *p = profile_create();
	struct model_lack lack;
	struct model_function divisions = in_one_second(), bodies = in_one_second();
	for (int isa = 0; isa < N_ISAS; isa++)
		add_ports(p, isa, &processors[0]);
	add_flop(&divisions, FLOP_DIV, 3, 100);
	expect_near(model_top(p, &divisions, &lack).value, 8 / 5., "of the divider");
	cr_expect_eq(lack.op, ROOF_OP_NONE);
	add_flop(&bodies, FLOP_MUL, 0, 9);
	add_flop(&bodies, FLOP_ADD, 0, 7);
	add_flop(&bodies, FLOP_DIV, 0, 1);
	add_flop(&bodies, FLOP_SQRT, 0, 1);
	expect_near(model_top(p, &bodies, &lack).value, 18 / ((5 + 9) / 8.),
		    "the divider is longest");
	expect_near(model_mix_ceiling(p, &bodies), 18 / (5 + 9.), "of scalar code");
	profile_destroy(p);
}

/* ---- random rows ---- */

/* Plausible, noisy, and some of them missing. */
static struct profile *random_rows(uint64_t *state)
{
	struct profile *p = profile_create();
	static const struct {
		const char *op;
		double low, high;
	} rows[] = {{"fma", 2, 4},       {"mul", 1, 2},       {"add", 0.8, 2},
		    {"fma1_add1", 2, 6}, {"fma2_add1", 2, 5}, {"fma1_add2", 2, 5},
		    {"mul1_add1", 1, 4}, {"mul1_add2", 1, 3}, {"mul16_div1", 0.8, 2},
		    {"div", 0.1, 0.4},   {"sqrt", 0.05, 0.3}};
	add_row(p, 0, "add", 1);
	for (int isa = 0; isa < N_ISAS; isa++)
		for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
			if (random_number(state) % 8)
				add_row(p, isa, rows[i].op,
					lanes[isa] * between(state, rows[i].low, rows[i].high));
	return p;
}

static struct model_function random_work(uint64_t *state)
{
	struct model_function f = in_one_second();
	for (int kind = 0; kind < FLOP_KINDS; kind++)
		for (int width = 0; width < N_ISAS; width++)
			if (random_number(state) % 3 == 0)
				add_flop(&f, (enum flop_kind)kind, width,
					 1 + (double)(random_number(state) % 1000));
	add_flop(&f, FLOP_ADD, 0, 1);
	return f;
}

#define AT_MOST(a, b) ((a) <= (b) * (1 + 1e-9))

Test(model_mix, wider_is_never_below_narrower)
{
	uint64_t state = 5;
	struct model_lack lack;
	for (int n = 0; n < 3000; n++) {
		struct profile *p = random_rows(&state);
		const struct model_function f = random_work(&state);
		double before = 0;
		for (int width = WIDTH_SCALAR; width <= WIDTH_TILE; width++) {
			const double here = model_width_ceiling(p, &f, (enum flop_width)width);
			cr_expect(AT_MOST(before, here), "%d: width %d: %g below %g", n, width,
				  here, before);
			before = here;
		}
		cr_expect(AT_MOST(model_mix_ceiling(p, &f), before), "%d: its own widths", n);
		const double top = model_top(p, &f, &lack).value;
		cr_expect(AT_MOST(before, top), "%d: the roof %g below %g", n, top, before);
		profile_destroy(p);
	}
}

/* Nothing is above the best that was measured, with its divisions beside. */
Test(model_mix, no_roof_is_above_the_best_measured)
{
	uint64_t state = 6;
	struct model_lack lack;
	for (int n = 0; n < 3000; n++) {
		struct profile *p = random_rows(&state);
		const struct model_function f = random_work(&state);
		const double best = model_best(p, ROOF_PRECISION_DOUBLE, 1);
		cr_expect(AT_MOST(model_top(p, &f, &lack).value, best), "%d: %g above %g", n,
			  model_top(p, &f, &lack).value, best);
		profile_destroy(p);
	}
}

/* A mix takes no longer than its parts one after the other, and not less than any of them. */
Test(model_mix, mixes_lie_between_their_parts)
{
	uint64_t state = 7;
	for (int n = 0; n < 3000; n++) {
		struct profile *p = random_rows(&state);
		const struct model_function f = random_work(&state);
		double sum = 0, longest = 0;
		for (int kind = 0; kind < FLOP_KINDS; kind++)
			for (int width = 0; width < N_ISAS; width++) {
				struct model_function part = in_one_second();
				part.tally.flop =
					part.tally.flop_by_kind[kind][PRECISION_DOUBLE][width] =
						f.tally.flop_by_kind[kind][PRECISION_DOUBLE][width];
				const double alone = part.tally.flop ? seconds(p, &part) : 0;
				sum += alone;
				longest = fmax(longest, alone);
			}
		cr_expect(AT_MOST(longest, seconds(p, &f)), "%d: %g, and a part %g", n,
			  seconds(p, &f), longest);
		cr_expect(AT_MOST(seconds(p, &f), sum), "%d: %g, the parts %g", n, seconds(p, &f),
			  sum);
		profile_destroy(p);
	}
}

/* What old profiles lack is said: divisions, and any mix of what is multiplied and added. */
Test(model_mix, what_was_not_measured_is_said)
{
	struct profile *p = profile_create();
	struct model_lack lack;
	struct model_function f = in_one_second();
	add_row(p, 0, "add", 2);
	add_row(p, 0, "mul", 2);
	add_flop(&f, FLOP_MUL, 0, 1);
	add_flop(&f, FLOP_ADD, 0, 1);
	expect_near(model_top(p, &f, &lack).value, 2, "no more than either");
	cr_expect_eq(lack.op, ROOF_OP_MUL1_ADD1);
	add_row(p, 0, "mul1_add1", 3);
	expect_near(model_top(p, &f, &lack).value, 3, "as measured");
	cr_expect_eq(lack.op, ROOF_OP_NONE);
	add_flop(&f, FLOP_DIV, 0, 1);
	model_top(p, &f, &lack);
	cr_expect_eq(lack.op, ROOF_OP_DIV);
	profile_destroy(p);
}

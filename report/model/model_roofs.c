/* Looking up measured roofs, rates along their mixes, and which roofs of compute fit what one
 * function does: its top (by its additions and multiplications), and the ceiling of its own mix.
 *
 * A roof has to be an upper bound, or good code would lie above it, and it has to be close, or poor
 * code would look good.  Where the function's mix lies between two measured ones the rate is
 * interpolated linearly.  While the same unit limits both, time per flop (or byte) is linear
 * between them: the true rate is convex and lies below the chord, never above it. */
#include "report/model/model_roofs.h"

#include <math.h>

static const enum roof_isa isa_of_width[FLOP_WIDTHS] = {
	[WIDTH_SCALAR] = ROOF_ISA_SCALAR, [WIDTH_128] = ROOF_ISA_SSE2, [WIDTH_256] = ROOF_ISA_AVX2,
	[WIDTH_512] = ROOF_ISA_AVX512F,   [WIDTH_TILE] = ROOF_ISA_AMX,
};

/* Precisions whose roof stands in where the own one was not measured. */
static const enum roof_precision stand_in[FLOP_PRECISIONS] = {
	[PRECISION_HALF] = ROOF_PRECISION_SINGLE,
	[PRECISION_BFLOAT16] = ROOF_PRECISION_SINGLE,
	[PRECISION_X87] = ROOF_PRECISION_DOUBLE,
};

enum roof_precision model_roof_precision(enum flop_precision precision)
{
	static const enum roof_precision precisions[FLOP_PRECISIONS] = {
		[PRECISION_HALF] = ROOF_PRECISION_HALF,
		[PRECISION_BFLOAT16] = ROOF_PRECISION_BFLOAT16,
		[PRECISION_SINGLE] = ROOF_PRECISION_SINGLE,
		[PRECISION_DOUBLE] = ROOF_PRECISION_DOUBLE,
		[PRECISION_X87] = ROOF_PRECISION_X87,
	};
	return precisions[precision];
}

struct roof_run model_roof_run(const struct profile *profile, struct roof_key key)
{
	return roof_index_find(profile->roof_index, profile->roofs, profile->n_roofs, key);
}

double model_roof(const struct profile *profile, struct roof_key key, double threads)
{
	const struct roof_run run = model_roof_run(profile, key);
	return machine_roof(run.roofs, run.n, key, threads);
}

static struct roof_key key_of(const struct roof_rows *rows, enum roof_op op)
{
	struct roof_key key = rows->key;
	key.op = op;
	return key;
}

/* Does machine_roof() take this row?  It takes the best of the nearest count on each side. */
static bool is_taken(struct roof_key key, double threads, const struct roof_run *run,
		     const struct roof *row)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct roof *other = &run->roofs[i];
		if (!roof_matches(other, key))
			continue;
		if (other->threads == row->threads  ? other->best > row->best
		    : row->threads < other->threads ? other->threads <= threads
						    : other->threads >= threads)
			return false;
	}
	return true;
}

static const struct roof *noisy_row(const struct roof_rows *rows, enum roof_op op)
{
	const struct roof_key key = key_of(rows, op);
	const struct roof_run run = model_roof_run(rows->profile, key);
	for (size_t i = 0; i < run.n; i++) {
		const struct roof *row = &run.roofs[i];
		if (row->noisy && roof_matches(row, key) && is_taken(key, rows->threads, &run, row))
			return &rows->profile->roofs[run.rows ? run.rows[i] : i];
	}
	return NULL;
}

double model_rate_of(const struct roof_rows *rows, enum roof_op op)
{
	return model_roof(rows->profile, key_of(rows, op), rows->threads);
}

struct model_rate model_take(const struct roof_rows *rows, enum roof_op op)
{
	double value = model_rate_of(rows, op);
	return (struct model_rate){value, value > 0 ? noisy_row(rows, op) : NULL};
}

/* ---- rates of mixes ---- */

struct model_rate model_on_curve(const struct roof_rows *rows, const struct roof_mix *curve,
				 double x)
{
	struct model_rate below = {0}, above = {0};
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < ROOF_CURVE && curve[i].op; i++) {
		if (curve[i].at > x && above.value > 0)
			break;
		struct model_rate rate = model_take(rows, curve[i].op);
		rate.value *= curve[i].factor > 0 ? curve[i].factor : 1;
		if (rate.value > 0 && curve[i].at <= x)
			below = rate, at_below = curve[i].at;
		else if (rate.value > 0)
			above = rate, at_above = curve[i].at;
	}
	if (below.value <= 0 || above.value <= 0 || at_below == x)
		return below.value > 0 ? below : above;
	double share = (x - at_below) / (at_above - at_below);
	return (struct model_rate){below.value + (above.value - below.value) * share,
				   below.noisy ? below.noisy : above.noisy};
}

/* Along the surplus of additions e = (adds - muls) / (adds + muls), an FMA being one of each: m FMA
 * and n add instructions have e = ((m + n) - m) / (2 m + n). */
static const struct roof_mix surplus_curve[ROOF_CURVE] = {
	{0, ROOF_OP_FMA, 1},
	{1.0 / 5, ROOF_OP_FMA2_ADD1, 1},
	{1.0 / 3, ROOF_OP_FMA1_ADD1, 1},
	{1.0 / 2, ROOF_OP_FMA1_ADD2, 1},
	{1, ROOF_OP_ADD, 1},
};

static double surplus(const struct tally *tally)
{
	double add = 0, multiply = 0, fma = 0;
	for (int p = 0; p < FLOP_PRECISIONS; p++)
		for (int w = 0; w < FLOP_WIDTHS; w++) {
			add += (double)tally->flop_by_kind[FLOP_ADD][p][w] +
			       (double)tally->flop_by_kind[FLOP_OTHER][p][w];
			multiply += (double)tally->flop_by_kind[FLOP_MUL][p][w];
			fma += (double)tally->flop_by_kind[FLOP_FMA][p][w];
		}
	double all = add + multiply + fma;
	return all > 0 ? (add - multiply) / all : 0;
}

/* ---- the top ---- */

/* Sums of products: what one kind of instruction reaches alone.  Named one by one, so that no mix,
 * division or integer row is ever taken for a peak. */
static const enum roof_op peak_ops[] = {ROOF_OP_FMA, ROOF_OP_DOT, ROOF_OP_ADD, ROOF_OP_MUL};
#define N_PEAK_OPS (sizeof(peak_ops) / sizeof(*peak_ops))

static struct roof_rows compute_rows(const struct profile *profile, enum roof_isa isa,
				     enum roof_precision precision, double threads)
{
	return (struct roof_rows){profile, roof_compute(isa, precision, ROOF_OP_NONE), threads};
}

static struct model_rate peak(const struct roof_rows *rows)
{
	enum roof_op best = peak_ops[0];
	for (size_t i = 1; i < N_PEAK_OPS; i++)
		if (model_rate_of(rows, peak_ops[i]) > model_rate_of(rows, best))
			best = peak_ops[i];
	return model_take(rows, best);
}

double model_peak(const struct profile *profile, enum roof_precision precision, double threads)
{
	struct roof_rows rows = compute_rows(profile, ROOF_ISA_ANY, precision, threads);
	return peak(&rows).value;
}

const struct roof *model_peak_row(const struct profile *profile, enum roof_precision precision,
				  int threads)
{
	struct roof_rows rows = compute_rows(profile, ROOF_ISA_ANY, precision, threads);
	const struct roof *best = NULL;
	for (size_t i = 0; i < profile->n_roofs; i++)
		for (size_t op = 0; op < N_PEAK_OPS; op++)
			if (profile->roofs[i].threads == threads && profile->roofs[i].best > 0 &&
			    roof_matches(&profile->roofs[i], key_of(&rows, peak_ops[op])) &&
			    (!best || profile->roofs[i].best > best->best))
				best = &profile->roofs[i];
	return best;
}

/* The most that code with a surplus e of additions can reach.  As many products as sums are FMAs at
 * best.  More products than sums take the FMA units and make one flop where an FMA makes two, so
 * the FMA peak bounds e < 0 as well.  Of a sums and m < a products, m pairs are FMAs at best and a
 * - m = e (a + m) sums are left.  Where adders stand beside the FMA units these run meanwhile, and
 * the rate is above the FMA peak; how far, the measured mixes tell. */
static struct model_rate top_of(const struct roof_rows *rows, double e)
{
	struct model_rate top = peak(rows);
	struct model_rate mix = e > 0 ? model_on_curve(rows, surplus_curve, e) : top;
	return mix.value > top.value ? mix : top;
}

/* The rows' precision: its own, or the one that stands in for it. */
static enum roof_precision precision_of_rows(const struct profile *profile, int precision,
					     double threads)
{
	enum roof_precision own = model_roof_precision((enum flop_precision)precision);
	return stand_in[precision] && model_peak(profile, own, threads) <= 0 ? stand_in[precision]
									     : own;
}

double model_flop_of_precision(const struct tally *tally, int precision)
{
	double sum = 0;
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int w = 0; w < FLOP_WIDTHS; w++)
			sum += (double)tally->flop_by_kind[k][precision][w];
	return sum;
}

struct model_rate model_top(const struct profile *profile, const struct model_function *function,
			    const char **borrowed)
{
	double threads = function->concurrency, e = surplus(&function->tally), seconds = 0,
	       flop = 0;
	const enum roof_precision main = precision_of_rows(profile, function->precision, threads);
	struct roof_rows rows = compute_rows(profile, ROOF_ISA_ANY, main, threads);
	struct model_rate top = top_of(&rows, e);
	if (main != model_roof_precision(function->precision))
		*borrowed = roof_precision_name(main);
	for (int p = 0; p < FLOP_PRECISIONS && top.value > 0; p++) {
		double part = model_flop_of_precision(&function->tally, p);
		rows.key.precision = precision_of_rows(profile, p, threads);
		double rate = part > 0 ? top_of(&rows, e).value : 0;
		flop += part;
		seconds += part > 0 ? part / (rate > 0 ? rate : top.value) : 0;
	}
	/* A mix of precisions: one after the other in the same units. */
	if (seconds > 0 && flop / seconds > top.value)
		top.value = flop / seconds;
	return top;
}

double model_scalar_top(const struct profile *profile, const struct model_function *function)
{
	struct roof_rows rows =
		compute_rows(profile, ROOF_ISA_SCALAR, model_roof_precision(function->precision),
			     function->concurrency);
	return top_of(&rows, surplus(&function->tally)).value;
}

/* ---- the ceiling of a mix ---- */

/* Parts that may run at the same time.  x87 has instructions and, in part, units of its own. */
enum { MULTIPLIERS, ADDERS, DIVIDER, UNIT_GROUPS };

static const struct {
	int units;
	enum roof_op ops[4];
} rows_of_kind[FLOP_KINDS] = {
	[FLOP_ADD] = {ADDERS, {ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA}},
	[FLOP_MUL] = {MULTIPLIERS, {ROOF_OP_MUL, ROOF_OP_ADD, ROOF_OP_FMA}},
	[FLOP_FMA] = {MULTIPLIERS, {ROOF_OP_FMA, ROOF_OP_DOT}},
	[FLOP_OTHER] = {ADDERS, {ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA}},
	[FLOP_DIV] = {DIVIDER, {ROOF_OP_DIV, ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA}},
	[FLOP_SQRT] = {DIVIDER, {ROOF_OP_SQRT, ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA}},
};

static struct roof_rows width_rows(const struct profile *profile, int precision, int width,
				   double threads)
{
	const enum roof_precision of = precision_of_rows(profile, precision, threads);
	return compute_rows(profile, of == ROOF_PRECISION_X87 ? ROOF_ISA_X87 : isa_of_width[width],
			    of, threads);
}

/* Rate of one kind at one width, by the first row that was measured; `otherwise` without any. */
static double kind_rate(const struct roof_rows *rows, int kind, double otherwise)
{
	for (size_t i = 0; i < 4 && rows_of_kind[kind].ops[i]; i++) {
		double rate = model_rate_of(rows, rows_of_kind[kind].ops[i]);
		if (rate > 0)
			return rate;
	}
	return otherwise;
}

/* Precision and width of most flop that are no division. */
static void main_width(const struct tally *tally, int *precision, int *width)
{
	double most = 0;
	for (int p = 0; p < PRECISION_X87; p++)
		for (int w = 0; w < FLOP_WIDTHS; w++) {
			double flop = 0;
			for (int k = 0; k < FLOP_KINDS; k++)
				if (rows_of_kind[k].units != DIVIDER)
					flop += (double)tally->flop_by_kind[k][p][w];
			if (flop > most)
				most = flop, *precision = p, *width = w;
		}
}

/* Least time of multiplications that need `multiply` seconds alone and additions that need `add`.
 * With adders of their own it is the longer of both, in shared units the sum.  Which one it is the
 * measured mixes tell: as many FMAs and adds as take so long are `flop` flop, their mix has a rate.
 * Without a measured mix the longer one is the only sound bound. */
static double overlapped(const struct roof_rows *rows, double multiply, double add)
{
	double fma_rate = model_rate_of(rows, ROOF_OP_FMA),
	       add_rate = model_rate_of(rows, ROOF_OP_ADD);
	double longer = fmax(multiply, add), flop = multiply * fma_rate + add * add_rate;
	bool mixes = model_rate_of(rows, ROOF_OP_FMA2_ADD1) > 0 ||
		     model_rate_of(rows, ROOF_OP_FMA1_ADD1) > 0 ||
		     model_rate_of(rows, ROOF_OP_FMA1_ADD2) > 0;
	if (!mixes || fma_rate <= 0 || add_rate <= 0 || flop <= 0)
		return longer;
	double rate = model_on_curve(rows, surplus_curve, add * add_rate / flop).value;
	return fmax(longer, fmin(multiply + add, flop / rate));
}

/* Adds the time that each group of units needs for the flop of one precision and width; returns
 * them. */
static double add_unit_seconds(const struct profile *profile, const struct model_function *function,
			       int precision, int width, double top, double seconds[UNIT_GROUPS])
{
	struct roof_rows rows = {0};
	double flop = 0;
	for (int k = 0; k < FLOP_KINDS; k++) {
		double part = (double)function->tally.flop_by_kind[k][precision][width];
		if (part <= 0)
			continue;
		if (!rows.profile)
			rows = width_rows(profile, precision, width, function->concurrency);
		seconds[rows_of_kind[k].units] += part / kind_rate(&rows, k, top);
		flop += part;
	}
	return flop;
}

double model_mix_ceiling(const struct profile *profile, const struct model_function *function,
			 double top)
{
	const struct tally *tally = &function->tally;
	double vector[UNIT_GROUPS] = {0}, x87[UNIT_GROUPS] = {0}, flop = 0;
	int precision = PRECISION_DOUBLE, width = WIDTH_SCALAR;
	for (int p = 0; p < FLOP_PRECISIONS; p++)
		for (int w = 0; w < FLOP_WIDTHS; w++) {
			double *units = p == PRECISION_X87 ? x87 : vector;
			flop += add_unit_seconds(profile, function, p, w, top, units);
		}
	main_width(tally, &precision, &width);
	struct roof_rows rows = width_rows(profile, precision, width, function->concurrency);
	double seconds = overlapped(&rows, vector[MULTIPLIERS], vector[ADDERS]);
	seconds = fmax(seconds, vector[DIVIDER] + x87[DIVIDER]);
	seconds = fmax(seconds, fmax(x87[MULTIPLIERS], x87[ADDERS]));
	return seconds > 0 ? fmin(top, flop / seconds) : top;
}

/* Which of the measured roofs fit what one function does: its top (by its additions and
 * multiplications), its bandwidths (by its stores), and the ceiling of its own mix.
 *
 * A roof has to be an upper bound, or good code would lie above it, and it has to be close, or poor
 * code would look good.  Where the function's mix lies between two measured ones the rate is
 * interpolated linearly.  While the same unit limits both, time per flop (or byte) is linear
 * between them: the true rate is convex and lies below the chord, never above it. */
#include "report/model/model_roofs.h"
#include "profile/roof_index.h"

#include <math.h>
#include <string.h>

/* Rows that one function may use. */
struct rows {
	const struct profile *profile;
	enum roof_kind kind;
	const char *isa, *precision, *level; /* as for machine_roof() */
	double threads;
};

static const char *const isa_of_width[FLOP_WIDTHS] = {
	[WIDTH_SCALAR] = "scalar", [WIDTH_128] = "sse2", [WIDTH_256] = "avx2",
	[WIDTH_512] = "avx512f",   [WIDTH_TILE] = "amx",
};

/* Precisions whose roof stands in where the own one was not measured. */
static const char *const stand_in[FLOP_PRECISIONS] = {
	[PRECISION_HALF] = "single",
	[PRECISION_BFLOAT16] = "single",
	[PRECISION_X87] = "double",
};

static bool is_row(const struct rows *rows, const char *op, const struct roof *roof)
{
	return roof->kind == rows->kind && !roof->by_node && strcmp(roof->op, op) == 0 &&
	       (!rows->isa || strcmp(roof->isa, rows->isa) == 0) &&
	       strcmp(roof->precision, rows->precision) == 0 &&
	       strcmp(roof->level, rows->level) == 0;
}

static struct roof_run run_of(const struct rows *rows, const char *op)
{
	const struct profile *profile = rows->profile;
	return roof_index_find(profile->roof_index, profile->roofs, profile->n_roofs, rows->kind,
			       rows->precision, rows->level, op);
}

/* Does machine_roof() take this row?  It takes the best of the nearest thread count on each side.
 */
static bool is_taken(const struct rows *rows, const char *op, const struct roof_run *run,
		     const struct roof *row)
{
	for (size_t i = 0; i < run->n; i++) {
		const struct roof *other = &run->roofs[i];
		if (!is_row(rows, op, other))
			continue;
		if (other->threads == row->threads  ? other->best > row->best
		    : row->threads < other->threads ? other->threads <= rows->threads
						    : other->threads >= rows->threads)
			return false;
	}
	return true;
}

static const struct roof *noisy_row(const struct rows *rows, const char *op)
{
	const struct roof_run run = run_of(rows, op);
	for (size_t i = 0; i < run.n; i++) {
		const struct roof *row = &run.roofs[i];
		if (row->noisy && is_row(rows, op, row) && is_taken(rows, op, &run, row))
			return &rows->profile->roofs[run.rows ? run.rows[i] : i];
	}
	return NULL;
}

static double rate_of(const struct rows *rows, const char *op)
{
	const struct roof_run run = run_of(rows, op);
	return machine_roof(run.roofs, run.n, rows->kind, rows->isa, rows->precision, op,
			    rows->level, rows->threads);
}

static struct model_rate take(const struct rows *rows, const char *op)
{
	double value = rate_of(rows, op);
	return (struct model_rate){value, value > 0 ? noisy_row(rows, op) : NULL};
}

/* ---- rates of mixes ---- */

#define MAX_CURVE 5

/* Measured mixes along an axis, ascending; a NULL op ends them.  `factor`: what a rate counts for;
 * 0: 1. */
struct curve_point {
	double at;
	const char *op;
	double factor;
};

/* Linear between the mixes that were measured, constant beyond them; value 0: none was. */
static struct model_rate on_curve(const struct rows *rows, const struct curve_point *curve,
				  double x)
{
	struct model_rate below = {0}, above = {0};
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < MAX_CURVE && curve[i].op; i++) {
		if (curve[i].at > x && above.value > 0)
			break;
		struct model_rate rate = take(rows, curve[i].op);
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
static const struct curve_point surplus_curve[MAX_CURVE] = {
	{0, "fma", 1},
	{1.0 / 5, "fma2_add1", 1},
	{1.0 / 3, "fma1_add1", 1},
	{1.0 / 2, "fma1_add2", 1},
	{1, "add", 1},
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
static const char *const peak_ops[] = {"fma", "dot", "add", "mul"};
#define N_PEAK_OPS (sizeof(peak_ops) / sizeof(*peak_ops))

static struct rows compute_rows(const struct profile *profile, const char *isa,
				const char *precision, double threads)
{
	return (struct rows){profile, ROOF_COMPUTE, isa, precision, "", threads};
}

static struct model_rate peak(const struct rows *rows)
{
	const char *best = peak_ops[0];
	for (size_t i = 1; i < N_PEAK_OPS; i++)
		if (rate_of(rows, peak_ops[i]) > rate_of(rows, best))
			best = peak_ops[i];
	return take(rows, best);
}

double model_peak(const struct profile *profile, const char *precision, double threads)
{
	struct rows rows = compute_rows(profile, NULL, precision, threads);
	return peak(&rows).value;
}

const struct roof *model_peak_row(const struct profile *profile, const char *precision, int threads)
{
	struct rows rows = compute_rows(profile, NULL, precision, threads);
	const struct roof *best = NULL;
	for (size_t i = 0; i < profile->n_roofs; i++)
		for (size_t op = 0; op < N_PEAK_OPS; op++)
			if (profile->roofs[i].threads == threads && profile->roofs[i].best > 0 &&
			    is_row(&rows, peak_ops[op], &profile->roofs[i]) &&
			    (!best || profile->roofs[i].best > best->best))
				best = &profile->roofs[i];
	return best;
}

/* The most that code with a surplus e of additions can reach.  As many products as sums are FMAs at
 * best.  More products than sums take the FMA units and make one flop where an FMA makes two, so
 * the FMA peak bounds e < 0 as well.  Of a sums and m < a products, m pairs are FMAs at best and a
 * - m = e (a + m) sums are left.  Where adders stand beside the FMA units these run meanwhile, and
 * the rate is above the FMA peak; how far, the measured mixes tell. */
static struct model_rate top_of(const struct rows *rows, double e)
{
	struct model_rate top = peak(rows);
	struct model_rate mix = e > 0 ? on_curve(rows, surplus_curve, e) : top;
	return mix.value > top.value ? mix : top;
}

/* The rows' precision: its own, or the one that stands in for it. */
static const char *precision_of_rows(const struct profile *profile, int precision, double threads)
{
	const char *own = model_precision_name((enum flop_precision)precision);
	return stand_in[precision] && model_peak(profile, own, threads) <= 0 ? stand_in[precision]
									     : own;
}

static double flop_of_precision(const struct tally *tally, int precision)
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
	const char *main = precision_of_rows(profile, function->precision, threads);
	struct rows rows = compute_rows(profile, NULL, main, threads);
	struct model_rate top = top_of(&rows, e);
	if (strcmp(main, model_precision_name(function->precision)) != 0)
		*borrowed = main;
	for (int p = 0; p < FLOP_PRECISIONS && top.value > 0; p++) {
		double part = flop_of_precision(&function->tally, p);
		rows.precision = precision_of_rows(profile, p, threads);
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
	struct rows rows =
		compute_rows(profile, "scalar", model_precision_name(function->precision),
			     function->concurrency);
	return top_of(&rows, surplus(&function->tally)).value;
}

/* ---- the ceiling of a mix ---- */

/* Parts that may run at the same time.  x87 has instructions and, in part, units of its own. */
enum { MULTIPLIERS, ADDERS, DIVIDER, UNIT_GROUPS };

static const struct {
	int units;
	const char *ops[4];
} rows_of_kind[FLOP_KINDS] = {
	[FLOP_ADD] = {ADDERS, {"add", "mul", "fma"}},
	[FLOP_MUL] = {MULTIPLIERS, {"mul", "add", "fma"}},
	[FLOP_FMA] = {MULTIPLIERS, {"fma", "dot"}},
	[FLOP_OTHER] = {ADDERS, {"add", "mul", "fma"}},
	[FLOP_DIV] = {DIVIDER, {"div", "add", "mul", "fma"}},
	[FLOP_SQRT] = {DIVIDER, {"sqrt", "add", "mul", "fma"}},
};

static struct rows width_rows(const struct profile *profile, int precision, int width,
			      double threads)
{
	const char *name = precision_of_rows(profile, precision, threads);
	return compute_rows(profile, strcmp(name, "x87") == 0 ? "x87" : isa_of_width[width], name,
			    threads);
}

/* Rate of one kind at one width, by the first row that was measured; `otherwise` without any. */
static double kind_rate(const struct rows *rows, int kind, double otherwise)
{
	for (size_t i = 0; i < 4 && rows_of_kind[kind].ops[i]; i++) {
		double rate = rate_of(rows, rows_of_kind[kind].ops[i]);
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
static double overlapped(const struct rows *rows, double multiply, double add)
{
	double fma_rate = rate_of(rows, "fma"), add_rate = rate_of(rows, "add");
	double longer = fmax(multiply, add), flop = multiply * fma_rate + add * add_rate;
	bool mixes = rate_of(rows, "fma2_add1") > 0 || rate_of(rows, "fma1_add1") > 0 ||
		     rate_of(rows, "fma1_add2") > 0;
	if (!mixes || fma_rate <= 0 || add_rate <= 0 || flop <= 0)
		return longer;
	double rate = on_curve(rows, surplus_curve, add * add_rate / flop).value;
	return fmax(longer, fmin(multiply + add, flop / rate));
}

/* Adds the time that each group of units needs for the flop of one precision and width; returns
 * them. */
static double add_unit_seconds(const struct profile *profile, const struct model_function *function,
			       int precision, int width, double top, double seconds[UNIT_GROUPS])
{
	struct rows rows = {0};
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
	struct rows rows = width_rows(profile, precision, width, function->concurrency);
	double seconds = overlapped(&rows, vector[MULTIPLIERS], vector[ADDERS]);
	seconds = fmax(seconds, vector[DIVIDER] + x87[DIVIDER]);
	seconds = fmax(seconds, fmax(x87[MULTIPLIERS], x87[ADDERS]));
	return seconds > 0 ? fmin(top, flop / seconds) : top;
}

/* ---- bandwidths ---- */

/* Along the share of the bytes that are stored.  LS bytes: what is read to be overwritten whole
 * does not count, although it costs time; that is why it matters where stores go. */
static const struct curve_point apart[MAX_CURVE] = {{0, "read", 1},
						    {1.0 / 3, "triad", 1},
						    {1.0 / 2, "copy", 1},
						    {1, "write", 1}},
				in_place[MAX_CURVE] = {{0, "read", 1},
						       {1.0 / 3, "daxpy", 1},
						       {1.0 / 2, "update", 1},
						       {1, "write", 1}},
				streamed[MAX_CURVE] = {{0, "read", 1},
						       {1.0 / 3, "triad_nt", 1},
						       {1.0 / 2, "copy_nt", 1},
						       {1, "write_nt", 1}},
				string_moves[MAX_CURVE] = {{0, "read", 1},
							   {1.0 / 2, "copy_rep", 1},
							   {1, "write_rep", 1}};

/* The same kernels by what moves between two levels, along the share of it that is written: a store
 * apart from what is loaded reads its line before it writes it.  A processor that does without that
 * read moves less than these factors say, of the function as well as of the kernel: the time that a
 * like function needs at this rate is the kernel's in any case. */
static const struct curve_point apart_moved[MAX_CURVE] = {{0, "read", 1},
							  {1.0 / 4, "triad", 4.0 / 3},
							  {1.0 / 3, "copy", 3.0 / 2},
							  {1.0 / 2, "write", 2}},
				in_place_moved[MAX_CURVE] = {{0, "read", 1},
							     {1.0 / 3, "daxpy", 1},
							     {1.0 / 2, "update", 1}},
				strings_moved[MAX_CURVE] = {{0, "read", 1},
							    {1.0 / 3, "copy_rep", 3.0 / 2},
							    {1.0 / 2, "write_rep", 2}};

static struct rows level_rows(const struct profile *profile, const char *level, double threads)
{
	return (struct rows){profile, ROOF_BANDWIDTH, NULL, "", level, threads};
}

/* Was anything of the curve measured that is its own, neither reading nor plain writing? */
static bool has_curve(const struct rows *rows, const struct curve_point *curve)
{
	for (size_t i = 0; i < MAX_CURVE && curve[i].op; i++)
		if (strcmp(curve[i].op, "read") != 0 && strcmp(curve[i].op, "write") != 0 &&
		    rate_of(rows, curve[i].op) > 0)
			return true;
	return false;
}

static bool level_distinguishable(const struct profile *profile, const char *level)
{
	struct rows rows = level_rows(profile, level, 0);
	const struct roof_run run = run_of(&rows, "read");
	for (size_t i = 0; i < run.n; i++)
		if (is_row(&rows, "read", &run.roofs[i]) && run.roofs[i].distinguishable &&
		    run.roofs[i].best > 0)
			return true;
	return false;
}

size_t model_levels(const struct profile *profile, const char *levels[MODEL_LEVELS])
{
	static const char *const all[MODEL_LEVELS] = {"DRAM", "L3", "L2", "L1"};
	size_t n = 0;
	for (size_t i = 0; i < MODEL_LEVELS; i++)
		if (level_distinguishable(profile, all[i]))
			levels[n++] = all[i];
	return n;
}

/* How a function's bytes are made up; shares of all LS bytes, 0 to 1. */
struct byte_mix {
	double stored, streamed, strings;
};

static struct byte_mix byte_mix(const struct tally *tally)
{
	double bytes = (double)tally->load_bytes + (double)tally->store_bytes;
	struct byte_mix mix = {(double)tally->store_bytes / bytes,
			       (double)tally->nt_store_bytes / bytes,
			       (double)tally->string_bytes / bytes};
	return mix;
}

/* Where most bytes are moved by rep instructions: these at their own rate, the others at `rate`,
 * one after the other, as a repeated instruction lets few others run beside it. */
static struct model_rate with_strings(const struct rows *rows, const struct byte_mix *mix,
				      struct model_rate rate)
{
	struct model_rate strings = on_curve(rows, string_moves, mix->stored);
	double seconds = mix->strings / strings.value + (1 - mix->strings) / rate.value;
	return (struct model_rate){1 / seconds, strings.noisy ? strings.noisy : rate.noisy};
}

static struct model_rate curve_rate(const struct rows *rows, const struct byte_mix *mix,
				    const struct curve_point *curve)
{
	struct model_rate rate = on_curve(rows, curve, mix->stored);
	if (mix->strings > 0.5 && has_curve(rows, string_moves))
		return with_strings(rows, mix, rate);
	return rate;
}

static struct model_rate faster(struct model_rate a, struct model_rate b)
{
	return b.value > a.value ? b : a;
}

/* A faster level is never the worse one: a cache that measured below the next has met noise. */
static size_t ordinary_bandwidths(const struct profile *profile, const struct byte_mix *mix,
				  double threads, struct model_bandwidth *out)
{
	const char *levels[MODEL_LEVELS];
	size_t n = 0, n_levels = model_levels(profile, levels);
	struct model_rate best_apart = {0}, best_in_place = {0};
	for (size_t i = 0; i < n_levels; i++) {
		struct rows rows = level_rows(profile, levels[i], threads);
		best_apart = faster(best_apart, curve_rate(&rows, mix, apart));
		const char *how =
			mix->strings > 0.5 && has_curve(&rows, string_moves) ? "string" : "apart";
		out[n++] = (struct model_bandwidth){levels[i], how, best_apart};
		if (has_curve(&rows, in_place))
			best_in_place = faster(best_in_place, curve_rate(&rows, mix, in_place));
		if (best_in_place.value > best_apart.value)
			out[n++] = (struct model_bandwidth){levels[i], "in place", best_in_place};
	}
	return n;
}

/* Streamed stores go to memory, whatever level the loads come from: first all from memory, then the
 * loads from each cache, until the stores alone are the limit. */
static size_t streamed_bandwidths(const struct rows *memory, const struct byte_mix *mix,
				  const struct model_bandwidth *ordinary, size_t n_ordinary,
				  struct model_bandwidth *out)
{
	size_t n = 0;
	struct model_rate stores = on_curve(memory, streamed, 1);
	stores.value /= mix->streamed;
	out[n++] = (struct model_bandwidth){"DRAM", "non-temporal",
					    on_curve(memory, streamed, mix->stored)};
	for (size_t i = 0; i < n_ordinary; i++) {
		bool limited = stores.value <= ordinary[i].rate.value;
		struct model_bandwidth next = {limited ? "DRAM" : ordinary[i].level, "non-temporal",
					       limited ? stores : ordinary[i].rate};
		if (strcmp(ordinary[i].level, "DRAM") == 0 ||
		    next.rate.value <= out[n - 1].rate.value)
			continue;
		out[n++] = next;
		if (limited)
			break;
	}
	return n;
}

size_t model_bandwidths(const struct profile *profile, const struct tally *tally, double threads,
			struct model_bandwidth out[MODEL_BANDWIDTHS])
{
	if (tally->load_bytes == 0 && tally->store_bytes == 0)
		return 0;
	struct byte_mix mix = byte_mix(tally);
	struct model_bandwidth ordinary[MODEL_BANDWIDTHS];
	struct rows memory = level_rows(profile, "DRAM", threads);
	size_t n = ordinary_bandwidths(profile, &mix, threads, ordinary);
	if (n > 0 && mix.streamed > mix.stored / 2 && has_curve(&memory, streamed))
		return streamed_bandwidths(&memory, &mix, ordinary, n, out);
	memcpy(out, ordinary, n * sizeof(*out));
	return n;
}

/* ---- bandwidths of what moves at a level ---- */

/* The fastest of the kernels that move so large a share of writes. */
static struct model_rate moved_rate(const struct rows *rows, const struct model_moves *moves)
{
	struct model_rate rate = on_curve(rows, in_place_moved, moves->written);
	if (!has_curve(rows, in_place_moved))
		rate.value = 0;
	if (moves->non_temporal > moves->written / 2 && has_curve(rows, streamed))
		return faster(rate, on_curve(rows, streamed, moves->written));
	if (moves->strings > 0.5 && has_curve(rows, strings_moved))
		rate = faster(rate, on_curve(rows, strings_moved, moves->written));
	return faster(rate, on_curve(rows, apart_moved, moves->written));
}

/* Registers ↔ L1: LS bytes. */
static struct model_rate l1_rate(const struct rows *rows, const struct tally *tally)
{
	struct byte_mix mix = byte_mix(tally);
	struct model_rate rate = curve_rate(rows, &mix, apart);
	return has_curve(rows, in_place) ? faster(rate, curve_rate(rows, &mix, in_place)) : rate;
}

/* Only what is read, or only what is written: the fastest kernel of that kind. */
static struct model_rate one_way_rate(const struct rows *rows, enum traffic_direction direction)
{
	static const char *const writes[] = {"write", "write_nt", "write_rep"};
	struct model_rate rate = {0};
	if (direction == DIRECTION_READ)
		return take(rows, "read");
	for (size_t i = 0; i < sizeof(writes) / sizeof(*writes); i++)
		rate = faster(rate, take(rows, writes[i]));
	return rate;
}

struct model_rate model_level_rate(const struct profile *profile, const char *level,
				   const struct tally *tally, double threads,
				   const struct model_moves *moves)
{
	const char *levels[MODEL_LEVELS];
	size_t n = model_levels(profile, levels);
	struct model_rate best = {0};
	if (strcmp(level, "L1") == 0 && tally->load_bytes == 0 && tally->store_bytes == 0)
		return best;
	for (size_t i = 0; i < n; i++) { /* a cache is never slower than the level below it */
		struct rows rows = level_rows(profile, levels[i], threads);
		bool first = strcmp(levels[i], "L1") == 0;
		if (moves->direction != DIRECTION_BOTH)
			best = faster(best, one_way_rate(&rows, moves->direction));
		else if (isnan(moves->written))
			best.value = fmax(best.value, model_level_most(profile, levels[i], threads,
								       DIRECTION_BOTH));
		else /* bytes of L1 there are, else it has returned */
			best = faster(best,
				      first ? l1_rate(&rows, tally) : moved_rate(&rows, moves));
		if (strcmp(levels[i], level) == 0)
			return best;
	}
	return (struct model_rate){0};
}

double model_level_most(const struct profile *profile, const char *level, double threads,
			enum traffic_direction direction)
{
	static const struct curve_point *const curves[] = {apart_moved, in_place_moved,
							   strings_moved, streamed};
	const bool first = strcmp(level, "L1") == 0;
	struct rows rows = level_rows(profile, level, threads);
	double most = direction == DIRECTION_BOTH ? 0 : one_way_rate(&rows, direction).value;
	for (size_t c = 0; c < 4 && direction == DIRECTION_BOTH; c++)
		for (size_t i = 0; i < MAX_CURVE && curves[c][i].op; i++)
			most = fmax(most, rate_of(&rows, curves[c][i].op) *
						  (first ? 1 : curves[c][i].factor));
	return most;
}

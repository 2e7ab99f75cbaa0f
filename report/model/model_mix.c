/* The least time that a function's work needs by the measured rows of compute, and the ceilings
 * that follow from it.
 *
 * Products (multiplications and fused multiply-adds) and sums (additions, minima and the like) may
 * have units of their own or share some.  What they do together, the measured mixes tell: the time
 * of an instruction, along the share of sums among them, is linear between measured shares, as two
 * kernels that run one after the other do the work that lies between them.  Where ports are the
 * limit that is exact, since the ratios at which another port becomes the busiest, 1:2, 1:1 and
 * 2:1, are those that are measured.
 *
 * Divisions and square roots run beside the others, in the divider, but take some places in the
 * units of the products as well: so many as the measured mix of both says. */
#include "report/model/model_mix.h"

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

/* A mix with divisions that takes no longer than this many times the divider alone does not tell
 * what else they take. */
#define DIVIDER_BOUND 1.02

/* Flop of one precision and width, and what they are done by. */
struct part {
	struct roof_rows rows; /* of its precision */
	enum flop_width width;
	bool x87;
	bool old;     /* the rows name widths as the first profiles did: any of them is taken */
	double best;  /* the most that any code of its precision was measured at */
	double slots; /* of products that a division or a square root takes beside the divider */
	double flop[FLOP_KINDS];
};

/* The instructions that the work is done by. */
struct form {
	bool own_widths; /* each flop in the width that it has; else all in `width` */
	enum flop_width width;
	bool fused; /* additions and multiplications as fused multiply-adds, as far as
		     * there is one for the other; else as they are */
};

/* All of them: one a precision and width. */
struct parts {
	struct part parts[FLOP_PRECISIONS * FLOP_WIDTHS];
	size_t n;
};

double model_flop_of_precision(const struct tally *tally, int precision)
{
	double sum = 0;
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int w = 0; w < FLOP_WIDTHS; w++)
			sum += (double)tally->flop_by_kind[k][precision][w];
	return sum;
}

/* The rows' precision: its own, or the one that stands in for it. */
static enum roof_precision precision_of_rows(const struct profile *profile, int precision,
					     double threads)
{
	const enum roof_precision own = model_roof_precision((enum flop_precision)precision);
	return stand_in[precision] && model_best(profile, own, threads) <= 0 ? stand_in[precision]
									     : own;
}

/* Whether code of that width was measured, in the function's main precision. */
static bool has_width(const struct profile *profile, const struct model_function *function,
		      int width)
{
	static const enum roof_op ops[] = {ROOF_OP_FMA, ROOF_OP_DOT, ROOF_OP_ADD, ROOF_OP_MUL};
	const enum roof_precision precision =
		precision_of_rows(profile, function->precision, function->concurrency);
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		if (model_roof(profile, roof_compute(isa_of_width[width], precision, ops[i]),
			       function->concurrency) > 0)
			return true;
	return false;
}

/* What all forms of a function's work stand on. */
struct base {
	const struct profile *profile;
	const struct model_function *function;
	double best; /* of its main precision; 0: nothing of it was measured */
	bool has_width[FLOP_WIDTHS], has_any_width;
	/* of each precision that it has flop of */
	bool has_flop[FLOP_PRECISIONS];
	enum roof_precision of[FLOP_PRECISIONS]; /* the rows' */
	double own[FLOP_PRECISIONS];             /* their best */
};

static struct base base_of(const struct profile *profile, const struct model_function *function)
{
	const double threads = function->concurrency;
	struct base base = {.profile = profile, .function = function};
	if (function->tally.flop == 0)
		return base;
	base.best = model_best(profile, precision_of_rows(profile, function->precision, threads),
			       threads);
	for (int w = WIDTH_SCALAR; w < FLOP_WIDTHS; w++)
		base.has_any_width |= base.has_width[w] = has_width(profile, function, w);
	for (int p = 0; p < FLOP_PRECISIONS && base.best > 0; p++) {
		base.has_flop[p] = model_flop_of_precision(&function->tally, p) > 0;
		if (!base.has_flop[p])
			continue;
		base.of[p] = precision_of_rows(profile, p, threads);
		base.own[p] = model_best(profile, base.of[p], threads);
	}
	return base;
}

/* ---- rates ---- */

static double rate_in(const struct part *part, enum roof_isa isa, enum roof_op op)
{
	struct roof_rows rows = part->rows;
	rows.key.isa = isa;
	return model_rate_of(&rows, op);
}

/* Of an operation in the part's width; where that was not measured in the next wider one, since the
 * rate is not above that; 0: nor was that.  Few operations have tiles: the others then are vectors.
 */
static double rate_of(const struct part *part, enum roof_op op)
{
	double rate = 0;
	if (part->x87 || part->old)
		return model_rate_of(&part->rows, op);
	for (int w = (int)part->width; w < FLOP_WIDTHS && rate <= 0; w++)
		rate = rate_in(part, isa_of_width[w], op);
	return rate > 0 || part->width != WIDTH_TILE ? rate : rate_in(part, ROOF_ISA_AVX512F, op);
}

/* Operations whose row is taken for one kind; where the first was not measured, the next. */
static const enum roof_op rows_of_kind[FLOP_KINDS][5] = {
	[FLOP_ADD] = {ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA},
	[FLOP_MUL] = {ROOF_OP_MUL, ROOF_OP_ADD, ROOF_OP_FMA},
	[FLOP_FMA] = {ROOF_OP_FMA, ROOF_OP_DOT},
	[FLOP_OTHER] = {ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA},
	[FLOP_DIV] = {ROOF_OP_DIV, ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA},
	[FLOP_SQRT] = {ROOF_OP_SQRT, ROOF_OP_DIV, ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA},
};

static double kind_rate(const struct part *part, enum flop_kind kind)
{
	for (size_t i = 0; i < 5 && rows_of_kind[kind][i]; i++) {
		const double rate = rate_of(part, rows_of_kind[kind][i]);
		if (rate > 0)
			return rate;
	}
	return part->best;
}

/* Measured ratios of products to sums: the share of sums among the instructions, the row with fused
 * multiply-adds, the flop of one of its instructions, and the row with multiplications. */
static const struct {
	double sums;
	enum roof_op fused;
	double flop;
	enum roof_op apart;
} ratios[] = {
	{1.0 / 3, ROOF_OP_FMA2_ADD1, 5.0 / 3, ROOF_OP_NONE},
	{1.0 / 2, ROOF_OP_FMA1_ADD1, 3.0 / 2, ROOF_OP_MUL1_ADD1},
	{2.0 / 3, ROOF_OP_FMA1_ADD2, 4.0 / 3, ROOF_OP_MUL1_ADD2},
};
#define N_RATIOS (sizeof(ratios) / sizeof(*ratios))

/* 1e9 instructions a second at a measured ratio; 0: not measured.  A multiplication takes no longer
 * than a fused multiply-add, which stands in for it. */
static double ratio_rate(const struct part *part, size_t i, bool fused)
{
	double apart = 0;
	if (!fused && ratios[i].apart)
		apart = rate_of(part, ratios[i].apart);
	return apart > 0 ? apart : rate_of(part, ratios[i].fused) / ratios[i].flop;
}

/* Time of an instruction where `sums` of them are sums and the others are products: the least that
 * any two measured ratios, one after the other, need.  Without a measured mix nobody knows what
 * runs beside what: then the longer of both. */
static double instruction_time(const struct part *part, bool fused, double sums)
{
	double at[N_RATIOS + 2] = {0}, time[N_RATIOS + 2];
	size_t n = 1;
	time[0] = fused ? 2 / kind_rate(part, FLOP_FMA) : 1 / kind_rate(part, FLOP_MUL);
	for (size_t i = 0; i < N_RATIOS; i++) {
		const double rate = ratio_rate(part, i, fused);
		if (rate > 0)
			at[n] = ratios[i].sums, time[n++] = 1 / rate;
	}
	at[n] = 1, time[n++] = 1 / kind_rate(part, FLOP_ADD);
	if (n == 2)
		return fmax((1 - sums) * time[0], sums * time[1]);
	double least = INFINITY;
	for (size_t i = 0; i + 1 < n; i++)
		for (size_t j = i + 1; j < n; j++)
			if (at[i] <= sums && sums <= at[j])
				least = fmin(least, time[i] + (time[j] - time[i]) * (sums - at[i]) /
								      (at[j] - at[i]));
	return least;
}

/* ---- times ---- */

/* From the time of 16 multiplications and a division, as far as it is not the divider's; no more
 * than fit into that. */
static double slots_of(const struct part *part)
{
	const double rate = rate_of(part, ROOF_OP_MUL16_DIV1), mul = rate_of(part, ROOF_OP_MUL),
		     div = rate_of(part, ROOF_OP_DIV);
	if (rate <= 0 || mul <= 0 || div <= 0 || 17 / rate <= DIVIDER_BOUND / div)
		return 0;
	return fmin(fmax(0, 17 / rate * mul - 16), mul / div);
}

static double sums_of(const struct part *part)
{
	return part->flop[FLOP_ADD] + part->flop[FLOP_OTHER];
}

static double products_of(const struct part *part)
{
	return part->flop[FLOP_MUL] + part->flop[FLOP_FMA] / 2 +
	       part->slots * (part->flop[FLOP_DIV] + part->flop[FLOP_SQRT]);
}

/* The share of sums among the instructions of all parts, x87 or not. */
static double share_of_sums(const struct parts *all, bool x87)
{
	double sums = 0, products = 0;
	for (size_t i = 0; i < all->n; i++)
		if (all->parts[i].x87 == x87) {
			sums += sums_of(&all->parts[i]);
			products += products_of(&all->parts[i]);
		}
	return sums > 0 ? sums / (sums + products) : 0;
}

/* Time of an instruction of the part where `sums` of them are sums: its products are fused
 * multiply-adds and multiplications, each as often as in the part. */
static double mixed_time(const struct part *part, double sums)
{
	const double products = products_of(part),
		     fused = products > 0 ? part->flop[FLOP_FMA] / 2 / products : 0;
	double time = 0;
	if (fused > 0)
		time += fused * instruction_time(part, true, sums);
	if (fused < 1)
		time += (1 - fused) * instruction_time(part, false, sums);
	return time;
}

/* Products and sums; with divisions nothing is faster than the best that was measured either. Parts
 * of several widths or precisions share the units as the mix of all of them does, or run one after
 * the other. */
static double multiply_add_seconds(const struct parts *all, bool x87)
{
	const double share = share_of_sums(all, x87);
	double together = 0, apart = 0, multiply = 0, add = 0, at_best = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct part *part = &all->parts[i];
		const double products = products_of(part), sums = sums_of(part);
		if (part->x87 != x87)
			continue;
		for (int k = 0; k < FLOP_KINDS; k++)
			at_best += part->flop[k] / part->best;
		if (products + sums <= 0)
			continue;
		together += (products + sums) * mixed_time(part, share);
		apart += (products + sums) * mixed_time(part, sums / (products + sums));
		multiply += part->flop[FLOP_FMA] / kind_rate(part, FLOP_FMA) +
			    (products - part->flop[FLOP_FMA] / 2) / kind_rate(part, FLOP_MUL);
		add += sums / kind_rate(part, FLOP_ADD);
	}
	return fmax(fmax(at_best, fmax(multiply, add)), fmin(apart, together));
}

static double least_seconds(const struct parts *all)
{
	double divide = 0;
	for (size_t i = 0; i < all->n; i++) {
		const struct part *part = &all->parts[i];
		divide += part->flop[FLOP_DIV] / kind_rate(part, FLOP_DIV) +
			  part->flop[FLOP_SQRT] / kind_rate(part, FLOP_SQRT);
	}
	return fmax(divide,
		    fmax(multiply_add_seconds(all, false), multiply_add_seconds(all, true)));
}

/* ---- the work in a form ---- */

/* One of each becomes a fused multiply-add. */
static void fuse(struct part *part)
{
	const double pairs = fmin(part->flop[FLOP_ADD], part->flop[FLOP_MUL]);
	if (rate_of(part, ROOF_OP_FMA) <= 0)
		return;
	part->flop[FLOP_ADD] -= pairs;
	part->flop[FLOP_MUL] -= pairs;
	part->flop[FLOP_FMA] += 2 * pairs;
}

/* Adds the flop of a precision that are of one width, or of all where `from` is FLOP_WIDTHS. */
static void add_part(struct parts *all, struct part part, const struct tally *tally, int precision,
		     int from, bool fused)
{
	double flop = 0;
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int w = 0; w < FLOP_WIDTHS; w++)
			if (from == w || from == FLOP_WIDTHS)
				part.flop[k] += (double)tally->flop_by_kind[k][precision][w];
	for (int k = 0; k < FLOP_KINDS; k++)
		flop += part.flop[k];
	if (flop <= 0)
		return;
	if (fused)
		fuse(&part);
	if (part.flop[FLOP_DIV] + part.flop[FLOP_SQRT] > 0)
		part.slots = slots_of(&part);
	all->parts[all->n++] = part;
}

/* The function's work in that form; false where no row of its main precision was measured. */
static bool parts_of(const struct base *base, struct form form, struct parts *all)
{
	const struct tally *tally = &base->function->tally;
	all->n = 0;
	for (int p = 0; p < FLOP_PRECISIONS && base->best > 0; p++) {
		const enum roof_precision of = base->of[p];
		if (!base->has_flop[p])
			continue;
		struct part part = {
			.rows = {base->profile, roof_compute(ROOF_ISA_ANY, of, ROOF_OP_NONE),
				 base->function->concurrency},
			.width = form.width,
			.x87 = of == ROOF_PRECISION_X87,
			.old = !base->has_any_width,
			.best = base->own[p] > 0 ? base->own[p] : base->best,
		};
		if (!form.own_widths)
			add_part(all, part, tally, p, FLOP_WIDTHS, form.fused);
		for (int w = 0; w < FLOP_WIDTHS && form.own_widths; w++) {
			part.width = (enum flop_width)w;
			add_part(all, part, tally, p, w, form.fused);
		}
	}
	return base->best > 0;
}

/* ---- roofs and ceilings ---- */

/* GFLOP/s; 0: nothing of its main precision was measured. */
static double ceiling_of(const struct base *base, struct form form)
{
	const uint64_t flop = base->function->tally.flop;
	struct parts all;
	if (flop == 0 || !parts_of(base, form, &all))
		return 0;
	return (double)flop / least_seconds(&all);
}

/* Of vectors of at most that width: in the width that is fastest, which is mostly that one. */
static double ceiling_up_to(const struct base *base, enum flop_width widest, bool fused)
{
	bool wider = false;
	double best = 0;
	for (int w = FLOP_WIDTHS - 1; w >= WIDTH_SCALAR; w--) {
		const bool measured = base->has_width[w];
		const struct form form = {.width = (enum flop_width)w, .fused = fused};
		wider |= measured;
		if (w <= (int)widest && (measured || (w == (int)widest && wider)))
			best = fmax(best, ceiling_of(base, form));
	}
	return wider ? best : ceiling_of(base, (struct form){.width = widest, .fused = fused});
}

static double mix_ceiling(const struct base *base)
{
	return ceiling_of(base, (struct form){.own_widths = true});
}

static double width_ceiling(const struct base *base, enum flop_width widest)
{
	const double best = ceiling_up_to(base, widest, false);
	return widest == WIDTH_TILE ? fmax(best, mix_ceiling(base)) : best;
}

double model_mix_ceiling(const struct profile *profile, const struct model_function *function)
{
	const struct base base = base_of(profile, function);
	return mix_ceiling(&base);
}

double model_width_ceiling(const struct profile *profile, const struct model_function *function,
			   enum flop_width widest)
{
	const struct base base = base_of(profile, function);
	return width_ceiling(&base, widest);
}

/* The first operation with a part in the time that has no row of its own, in any width. */
static enum roof_op lacking(const struct parts *all)
{
	static const enum flop_kind kinds[] = {FLOP_FMA, FLOP_ADD, FLOP_MUL, FLOP_DIV, FLOP_SQRT};
	for (size_t i = 0; i < all->n; i++) {
		const struct part *part = &all->parts[i];
		bool mixed = products_of(part) <= 0 || sums_of(part) <= 0;
		for (size_t k = 0; k < sizeof(kinds) / sizeof(*kinds); k++) {
			const enum roof_op *ops = rows_of_kind[kinds[k]];
			const bool dot =
				kinds[k] == FLOP_FMA && model_rate_of(&part->rows, ROOF_OP_DOT) > 0;
			if (part->flop[kinds[k]] > 0 && !dot &&
			    model_rate_of(&part->rows, ops[0]) <= 0)
				return ops[0];
		}
		if (part->flop[FLOP_DIV] + part->flop[FLOP_SQRT] > 0 && products_of(part) > 0 &&
		    !part->x87 && model_rate_of(&part->rows, ROOF_OP_MUL16_DIV1) <= 0)
			return ROOF_OP_MUL16_DIV1;
		for (size_t r = 0; r < N_RATIOS && !mixed; r++)
			mixed = model_rate_of(&part->rows, ratios[r].fused) > 0 ||
				(ratios[r].apart &&
				 model_rate_of(&part->rows, ratios[r].apart) > 0);
		if (!mixed)
			return part->flop[FLOP_FMA] > 0 ? ROOF_OP_FMA1_ADD1 : ROOF_OP_MUL1_ADD1;
	}
	return ROOF_OP_NONE;
}

/* A row with a wide spread that the time rests on, or NULL. */
static const struct roof *noisy_row(const struct parts *all)
{
	for (size_t i = 0; i < all->n; i++) {
		const struct part *part = &all->parts[i];
		const bool mixed = products_of(part) > 0 && sums_of(part) > 0;
		const struct roof *noisy = NULL;
		for (int k = 0; k < FLOP_KINDS && !noisy; k++)
			if (part->flop[k] > 0)
				noisy = model_take(&part->rows, rows_of_kind[k][0]).noisy;
		for (size_t r = 0; r < N_RATIOS && !noisy && mixed; r++)
			noisy = model_take(&part->rows, part->flop[FLOP_FMA] > 0 ? ratios[r].fused
										 : ratios[r].apart)
					.noisy;
		if (noisy)
			return noisy;
	}
	return NULL;
}

struct model_rate model_top(const struct profile *profile, const struct model_function *function,
			    struct model_lack *lack)
{
	const struct form best = {.width = WIDTH_TILE, .fused = true};
	const enum roof_precision own = model_roof_precision(function->precision),
				  used = precision_of_rows(profile, function->precision,
							   function->concurrency);
	const struct base base = base_of(profile, function);
	struct parts all;
	*lack = (struct model_lack){0};
	if (function->tally.flop == 0 || !parts_of(&base, best, &all))
		return (struct model_rate){0};
	*lack = (struct model_lack){used != own ? roof_precision_name(used) : NULL, lacking(&all)};
	const double fused = ceiling_up_to(&base, WIDTH_TILE, true),
		     as_is = width_ceiling(&base, WIDTH_TILE);
	return (struct model_rate){fmax(fused, as_is), noisy_row(&all)};
}

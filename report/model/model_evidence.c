/* The figures that say why a function is where it is under the roofs. */
#include "report/model/model_evidence.h"

#include "report/model/model_place.h"
#include "report/model/model_roofs.h"

#include <math.h>
#include <string.h>

#define SHORT_LOOP 16      /* turns an entry, below which its start and end are felt */
#define LOOP_SHARE 0.2     /* of the function's time, below which a loop does not matter */
#define SPARED_TRAFFIC 0.8 /* what moves with a larger cache, of what moves now: less is much */

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

static void add_flop_shares(const struct tally *tally, struct model_evidence *evidence)
{
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++) {
				const double part = percent((double)tally->flop_by_kind[k][p][w],
							    (double)tally->flop);
				evidence->width[w] += part;
				evidence->kind[k] += part;
				evidence->precision[p] += part;
			}
	evidence->slow = evidence->kind[FLOP_DIV] + evidence->kind[FLOP_SQRT];
	evidence->fusible = 2 * fmin(evidence->kind[FLOP_ADD], evidence->kind[FLOP_MUL]);
	evidence->masked = percent((double)tally->flop_unmasked - (double)tally->flop,
				   (double)tally->flop_unmasked);
}

/* Fused multiply-adds of the function's precision, on its threads. */
static double fma_top(const struct profile *profile, const struct model_function *f,
		      enum roof_isa isa)
{
	return model_roof(profile,
			  roof_compute(isa, model_roof_precision(f->precision), ROOF_OP_FMA),
			  f->concurrency);
}

static void add_tops(const struct profile *profile, const struct model_function *f,
		     struct model_evidence *evidence)
{
	static const enum roof_isa isas[] = {[WIDTH_SCALAR] = ROOF_ISA_SCALAR,
					     [WIDTH_128] = ROOF_ISA_SSE2,
					     [WIDTH_256] = ROOF_ISA_AVX2,
					     [WIDTH_512] = ROOF_ISA_AVX512F};
	for (enum flop_width w = WIDTH_SCALAR; w <= WIDTH_512; w++)
		if (evidence->width[w] > evidence->width[evidence->main_width])
			evidence->main_width = w;
	evidence->scalar_top = model_scalar_top(profile, f);
	evidence->own_top = fma_top(profile, f, isas[evidence->main_width]);
	evidence->widest_top = fma_top(profile, f, isas[WIDTH_512]);
}

static void add_instructions(const struct profile *profile, const struct model_function *f,
			     struct model_evidence *evidence)
{
	const uint64_t *classes = f->tally.class_instructions;
	const double all = (double)f->tally.instructions,
		     cycles = (double)f->time_ns * model_clock_ghz(profile);
	evidence->ipc = cycles > 0 ? all / cycles : NAN;
	evidence->issue_width = model_issue_width(profile);
	evidence->transfers = percent((double)classes[INSN_BRANCH] + (double)classes[INSN_CALL] +
					      (double)classes[INSN_RETURN],
				      all);
}

static void add_data(const struct model_function *f, struct model_evidence *evidence)
{
	const struct model_traffic *traffic = f->traffic;
	const struct model_strides *strides = &traffic->strides;
	const double steps = strides->unit + strides->constant + strides->random;
	const struct model_level *level = model_level(traffic, f->place.level);
	if (level && level->bandwidth > 0 && level->rate > 0) {
		evidence->level = level;
		evidence->bandwidth_used = percent(level->rate, level->bandwidth);
	}
	evidence->irregular = percent(strides->random, steps);
	evidence->strided = percent(strides->constant, steps);
	if (strides->fetched > 0)
		evidence->used = percent(strides->used, strides->fetched);
	evidence->evadable = percent(traffic->bytes.events[TRAFFIC_MEM_EVADABLE].bytes,
				     traffic->bytes.mem[DIRECTION_BOTH].bytes);
	evidence->would_fit =
		traffic->fits_in > 0 && traffic->moves_then < SPARED_TRAFFIC * traffic->moves_now;
}

static bool is_innermost(const struct model_function *f, size_t loop)
{
	for (size_t i = loop + 1; i < f->n_loops; i++)
		if (f->loops[i].parent == loop)
			return false;
	return true;
}

static const struct model_loop *find_short_loop(const struct model_function *f)
{
	const struct model_loop *worst = NULL;
	for (size_t i = 0; i < f->n_loops; i++) {
		const struct model_loop *loop = &f->loops[i];
		if (loop->entries > 0 && loop->turns / SHORT_LOOP < loop->entries &&
		    (double)loop->time_ns > LOOP_SHARE * (double)f->time_ns && is_innermost(f, i) &&
		    (!worst || loop->time_ns > worst->time_ns))
			worst = loop;
	}
	return worst;
}

struct model_evidence model_evidence(const struct profile *profile, const struct model_function *f)
{
	struct model_evidence evidence = {.used = NAN};
	add_flop_shares(&f->tally, &evidence);
	add_tops(profile, f, &evidence);
	add_instructions(profile, f, &evidence);
	if (f->traffic)
		add_data(f, &evidence);
	evidence.short_loop = find_short_loop(f);
	return evidence;
}

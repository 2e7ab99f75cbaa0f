/* The figures that say why a function is where it is under the roofs. */
#include "report/reasons/evidence.h"

#include "report/ecm/mispredictions.h"
#include "report/model/model_mix.h"
#include "report/model/model_place.h"
#include "report/model/model_roofs.h"
#include "report/reasons/worth.h"

#include <math.h>
#include <string.h>

/* Of the slots of its cores, what a program has at least when little would be gained alone. */
#define ABOUT_ALL 0.85

bool model_shares_cores(const struct profile *profile)
{
	return profile_number_fact(profile, "left_slots", 1) < ABOUT_ALL;
}

#define MUCH_CONFLICT 0.25 /* of its memory traffic at least, with 95 % certainty */
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
	evidence->masked = percent((double)tally->flop_unmasked - (double)tally->flop,
				   (double)tally->flop_unmasked);
}

static void add_tops(const struct profile *profile, const struct model_function *f,
		     struct model_evidence *evidence)
{
	for (enum flop_width w = WIDTH_SCALAR; w <= WIDTH_512; w++)
		if (evidence->width[w] > evidence->width[evidence->main_width])
			evidence->main_width = w;
	evidence->scalar_top = model_width_ceiling(profile, f, WIDTH_SCALAR);
	evidence->own_top = model_width_ceiling(profile, f, evidence->main_width);
	evidence->widest_top = model_width_ceiling(profile, f, WIDTH_512);
}

static void add_instructions(const struct profile *profile, const struct model_function *f,
			     struct model_evidence *evidence)
{
	const uint64_t *classes = f->tally.class_instructions;
	const double all = (double)f->tally.instructions,
		     cycles = (double)f->time_ns * model_clock_ghz(profile);
	evidence->ipc = cycles > 0 ? all / cycles : NAN;
	evidence->issue_width = model_issue_width(profile);
	evidence->rare_ways = percent((double)f->code.rare_ways, (double)classes[INSN_BRANCH]);
	evidence->mispredicted_s = NAN;
	if (f->function != PROFILE_NONE && mispredictions_known(profile)) {
		evidence->mispredicted_s = mispredictions_in_function(profile, f).seconds;
		(void)mispredictions_worst(profile, f, 1, &evidence->worst);
	}
	evidence->transfers = percent((double)classes[INSN_BRANCH] + (double)classes[INSN_CALL] +
					      (double)classes[INSN_RETURN],
				      all);
}

/* They only matter where its roof stands on memory. */
static double conflicts_of(const struct model_function *f)
{
	const struct model_share *conflicts = &f->traffic->conflicts;
	const bool binds = strcmp(f->place.level, "DRAM") == 0 &&
			   conflicts->share - conflicts->halfwidth >= MUCH_CONFLICT;
	return binds ? 100 * conflicts->share : 0;
}

/* What is farther than L2 moves no more than what is nearer, at most. */
static const struct model_level *unsure_level(const struct model_function *f)
{
	const struct model_traffic *traffic = f->traffic;
	double most = INFINITY;
	for (size_t i = 1; i < traffic->n_levels; i++) {
		const struct model_level *level = &traffic->levels[i];
		const struct model_estimate *moved = &level->moved[DIRECTION_BOTH];
		const double half = 0.5 * f->elapsed_s * level->bandwidth * 1e9; /* bytes */
		most = fmin(most, moved->bytes + moved->halfwidth);
		if (half > 0 && moved->bytes < half && most >= half &&
		    moved->halfwidth > moved->bytes)
			return level;
	}
	return NULL;
}

/* NAN where no instruction is irregular, or none of its lines came from below L1. */
static double irregular_lines(const struct model_traffic *traffic)
{
	double irregular = 0;
	for (int level = 1; level < MODEL_LEVELS; level++)
		irregular += traffic->irregular[level].lines;
	const double all = traffic->n_levels > 1
				   ? traffic->levels[1].moved[DIRECTION_READ].bytes / CACHE_LINE
				   : 0;
	return irregular > 0 && all > 0 ? fmin(100, percent(irregular, all)) : NAN;
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
	evidence->unsure = unsure_level(f);
	evidence->irregular = irregular_lines(traffic);
	evidence->by_steps = isnan(evidence->irregular);
	if (evidence->by_steps)
		evidence->irregular = percent(strides->random, steps);
	evidence->strided = percent(strides->constant, steps);
	const double to_l1 =
		traffic->n_levels > 1 ? traffic->levels[1].moved[DIRECTION_READ].bytes : 0;
	if (to_l1 > 0)
		evidence->touched =
			percent((double)f->tally.load_bytes + (double)f->tally.store_bytes, to_l1);
	evidence->steps_far = evidence->strided > 30 && evidence->touched < 50;
	if (strides->fetched > 0)
		evidence->used = percent(strides->used, strides->fetched);
	evidence->evadable = percent(traffic->bytes.events[TRAFFIC_MEM_EVADABLE].bytes,
				     traffic->bytes.mem[DIRECTION_BOTH].bytes);
	evidence->conflicts = conflicts_of(f);
	evidence->would_fit =
		traffic->fits_in > 0 && traffic->moves_then < SPARED_TRAFFIC * traffic->moves_now;
}

struct model_evidence model_evidence(const struct profile *profile, const struct model_function *f)
{
	struct model_evidence evidence = {.used = NAN, .touched = NAN};
	add_flop_shares(&f->tally, &evidence);
	evidence.fusible = percent((double)f->code.fusible_flop, (double)f->tally.flop);
	add_tops(profile, f, &evidence);
	add_instructions(profile, f, &evidence);
	if (f->traffic)
		add_data(f, &evidence);
	for (enum sharing_kind kind = SHARING_FALSE; kind <= SHARING_TRUE; kind++)
		evidence.sharing[kind] = sharing_of_function(profile, f, kind);
	model_add_worth(profile, f, &evidence);
	return evidence;
}

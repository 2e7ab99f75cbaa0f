/* The account of a function's time: the least time that each thing needs that it does, and from
 * these what it would save without one of the causes that it may be slow for.
 *
 * A processor does all of these at once, so that a function takes at least as long as the one that
 * needs most.  Without a cause some needs are less.  What is saved is then at most the difference,
 * and at most what is above the greatest need that is left: code that memory holds saves nothing by
 * wider vectors. */
#include "report/reasons/worth.h"

#include "insn/dataflow.h"
#include "report/ecm/mispredictions.h"
#include "report/in_core/under_way.h"
#include "report/model/model_irregular.h"
#include "report/model/model_mix.h"
#include "report/model/model_place.h"
#include "report/model/model_roofs.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Cycles that a branch costs whose way was not foreseen: 11 to 20 (Agner Fog, microarchitecture).
 */
#define MISPREDICTION 15
/* Cycles between divisions of integers, of the processors that divide fastest (Agner Fog,
 * instruction tables: Ice Lake, Zen 3); of 64-bit operands, and on earlier ones, it is more. */
#define DIVISION 6
/* Cycles between atomic updates of memory, again of the fastest: each waits for the stores before
 * it.  18 to 20 on most (Agner Fog). */
#define ATOMIC 7
#define LINE 64.0
#define PAGE 4096      /* beyond which nothing is fetched ahead */
#define SIDE_BY_SIDE 4 /* chains or turns that a rewrite easily does at once */

struct account {
	const struct profile *profile;
	const struct model_function *f;
	struct model_evidence *evidence;
	double cycles_per_s; /* of all its threads; NAN: not known */
};

/* ---- needs ---- */

static double or_nothing(double seconds)
{
	return isfinite(seconds) && seconds > 0 ? seconds : 0;
}

/* Of its flop as they are; lanes that are masked off take their time, too. */
static double arithmetic(const struct profile *profile, const struct model_function *f)
{
	return or_nothing((double)f->tally.flop_unmasked * 1e-9 / model_mix_ceiling(profile, f));
}

/* Its place among the needs of levels; MODEL_LEVELS or more: none of theirs. */
static size_t level_index(const char *name)
{
	return (size_t)roof_level_find(name) - ROOF_LEVEL_L1;
}

/* Whether the address of most lines that come from below L1 comes from a load before. */
static bool is_chased(const struct account *account)
{
	const struct model_traffic *traffic = account->f->traffic;
	const double lines = traffic && traffic->n_levels > 1
				     ? traffic->levels[1].moved[DIRECTION_READ].bytes / LINE
				     : 0;
	return (double)account->f->code.chased_loads > lines / 2;
}

static double at_once(const struct account *account, const double lines[MODEL_LEVELS])
{
	const struct tally *tally = &account->f->tally;
	const double instructions = (double)tally->instructions,
		     returns = (double)tally->class_instructions[INSN_RETURN];
	double all = 0;
	for (int level = 1; level < MODEL_LEVELS; level++)
		all += lines[level];
	return ecm_under_way(account->f, ecm_reorder_buffer(account->profile),
			     instructions > 0 ? all / instructions : 0,
			     account->f->traffic->program_lines,
			     returns > 0 ? instructions / returns : instructions);
}

/* Waiting for the lines that come from below L1, if all of them are met without order: one after
 * the other, or as many at once as there can be, or as lie within a reorder buffer. */
static double waiting_for_lines(const struct account *account)
{
	const struct model_traffic *traffic = account->f->traffic;
	double lines[MODEL_LEVELS] = {0};
	for (size_t i = 1; i < traffic->n_levels; i++) {
		const struct model_level *level = &traffic->levels[i];
		const double farther =
			i + 1 < traffic->n_levels ? level[1].moved[DIRECTION_READ].bytes : 0;
		lines[level_index(level->name)] =
			or_nothing(level->moved[DIRECTION_READ].bytes - or_nothing(farther)) / LINE;
	}
	const struct profile *profile = account->profile;
	const double threads = account->f->concurrency,
		     alone = model_wait_for(profile, lines, PATTERN_CHASE, threads, true).seconds;
	return is_chased(account)
		       ? alone
		       : fmax(alone / at_once(account, lines),
			      model_wait_for(profile, lines, PATTERN_RANDOM, threads, true)
				      .seconds);
}

/* Waiting for the lines on the chain of each loop that takes longest, one after the other. */
static double waiting_in_chains(const struct account *account)
{
	double lines[MODEL_LEVELS] = {0};
	for (int level = 1; level < MODEL_LEVELS; level++)
		lines[level] = account->f->traffic->irregular[level].longest;
	return or_nothing(model_wait_for(account->profile, lines, PATTERN_CHASE,
					 account->f->concurrency, true)
				  .seconds);
}

/* What moves at each level; where only its roof says which one it is, at that one, if it holds the
 * function. */
static void add_levels(const struct account *account)
{
	const struct model_function *f = account->f;
	double *needs = &account->evidence->needs[NEED_LEVEL];
	for (size_t i = 0; f->traffic && i < f->traffic->n_levels; i++) {
		const struct model_level *level = &f->traffic->levels[i];
		const size_t at = level_index(level->name);
		if (at < MODEL_LEVELS)
			needs[at] = or_nothing(f->elapsed_s * level->rate / level->bandwidth);
	}
	const size_t inferred = level_index(f->place.level);
	if (inferred < MODEL_LEVELS && !f->place.traced &&
	    (f->place.bound == BOUND_MEMORY || f->place.bound == BOUND_BALANCED))
		needs[inferred] = or_nothing(f->elapsed_s / fmax(1, f->place.distance));
}

static void add_needs(const struct account *account)
{
	const struct model_function *f = account->f;
	double *needs = account->evidence->needs;
	const double irregular = account->evidence->irregular / 100;
	add_levels(account);
	if (f->traffic)
		needs[NEED_DATA] =
			fmax(irregular * waiting_for_lines(account), waiting_in_chains(account));
	needs[NEED_ARITHMETIC] = arithmetic(account->profile, f);
	needs[NEED_ISSUE] = or_nothing((double)f->tally.instructions /
				       (account->evidence->issue_width * account->cycles_per_s));
	needs[NEED_TAKEN] = or_nothing((double)f->code.taken / account->cycles_per_s);
	needs[NEED_CHAIN] = or_nothing((double)f->code.chain_cycles / account->cycles_per_s);
	needs[NEED_DIVIDER] =
		or_nothing((double)f->code.integer_divisions * DIVISION / account->cycles_per_s);
	needs[NEED_ATOMIC] =
		or_nothing((double)f->code.atomic_updates * ATOMIC / account->cycles_per_s);
	for (int i = 0; i < N_MODEL_NEEDS; i++)
		needs[i] = fmin(needs[i], f->elapsed_s);
}

/* ---- what is saved ---- */

static double greatest(const double *needs)
{
	double most = 0;
	for (int i = 0; i < N_MODEL_NEEDS; i++)
		most = fmax(most, needs[i]);
	return most;
}

/* What it takes beyond all that it needs: for what goes on one after the other instead of at once,
 * for what comes on top, or by accident. */
static double rest_of(const struct account *account)
{
	return or_nothing(account->f->elapsed_s - greatest(account->evidence->needs));
}

/* Latencies are the least of all processors', and of lines that no page walk comes before: where
 * these are what needs most, and much of the time, the rest is their own, too.  Where each line
 * waits for the one before nothing else can be. */
static bool owns_rest(const struct account *account, enum model_need need)
{
	const double *needs = account->evidence->needs;
	const double much = need == NEED_DATA && is_chased(account) ? 0 : account->f->elapsed_s / 6;
	return needs[need] > much && needs[need] >= greatest(needs);
}

static bool is_latency(const struct account *account)
{
	return owns_rest(account, NEED_CHAIN) || owns_rest(account, NEED_DATA) ||
	       owns_rest(account, NEED_DIVIDER) || owns_rest(account, NEED_ATOMIC);
}

/* Hardware threads of a core fetch by turns: what instructions and taken branches need may take as
 * long again while others use the cores. */
static double others_took(const struct account *account)
{
	const double *needs = account->evidence->needs;
	return model_shares_cores(account->profile) ? fmax(needs[NEED_ISSUE], needs[NEED_TAKEN])
						    : 0;
}

/* What is saved when the needs become `needs`: what the greatest of them falls by and, as things do
 * not quite go on at once, a share of the rest, unless that belongs to a latency: the largest fall
 * of one need, over the sum of all.  Never more than that fall. */
static void save(const struct account *account, enum model_cause cause, const double *needs)
{
	const double *own = account->evidence->needs;
	double excess = 0, all = 0;
	for (int i = 0; i < N_MODEL_NEEDS; i++) {
		excess = fmax(excess, own[i] - needs[i]);
		all += own[i];
	}
	const double least = greatest(own) - greatest(needs),
		     part = is_latency(account) ? 0 : rest_of(account) * excess / all;
	account->evidence->saved[cause] = or_nothing(fmin(least + part, excess));
}

/* When the need is less, and the others are what they are. */
static void save_of(const struct account *account, enum model_cause cause, int need, double left)
{
	double needs[N_MODEL_NEEDS];
	memcpy(needs, account->evidence->needs, sizeof(needs));
	needs[need] = fmin(left, needs[need]);
	save(account, cause, needs);
}

/* Time that comes on top of all that it needs. */
static void save_on_top(const struct account *account, enum model_cause cause, double seconds)
{
	account->evidence->saved[cause] = or_nothing(fmin(rest_of(account), seconds));
}

static void save_data(const struct account *account)
{
	const struct model_evidence *e = account->evidence;
	const struct model_traffic *traffic = account->f->traffic;
	const int memory = NEED_LEVEL + MODEL_LEVELS - 1;
	const double moves = e->needs[memory];
	const int64_t step = traffic->strides.step;
	if (e->level)
		save_of(account, CAUSE_BANDWIDTH, NEED_LEVEL + (int)level_index(e->level->name), 0);
	save_of(account, CAUSE_IRREGULAR, NEED_DATA, 0);
	if (e->steps_far)
		save_on_top(account, CAUSE_STRIDED,
			    step >= PAGE || step <= -PAGE
				    ? account->f->elapsed_s
				    : e->strided / 100 * waiting_for_lines(account));
	if (!isnan(e->used))
		save_of(account, CAUSE_UNUSED, memory, moves * e->used / 100);
	save_of(account, CAUSE_EVADABLE, memory, moves * (1 - e->evadable / 100));
	save_of(account, CAUSE_CONFLICTS, memory, moves * (1 - e->conflicts / 100));
	if (e->would_fit)
		save_of(account, CAUSE_CAPACITY, memory,
			moves * traffic->moves_then / traffic->moves_now);
}

/* Moves all flop of a width to another one. */
static void widen(struct tally *tally, enum flop_width from, enum flop_width to)
{
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++) {
			const int other = p == PRECISION_X87 ? PRECISION_DOUBLE : p;
			const uint64_t flop = tally->flop_by_kind[k][p][from];
			tally->flop_by_kind[k][p][from] = 0;
			tally->flop_by_kind[k][other][to] += flop;
		}
}

/* The widest vectors whose roofs were measured. */
static enum flop_width widest(const struct account *account)
{
	static const enum roof_isa isas[] = {[WIDTH_128] = ROOF_ISA_SSE2,
					     [WIDTH_256] = ROOF_ISA_AVX2,
					     [WIDTH_512] = ROOF_ISA_AVX512F};
	enum roof_precision precision = model_roof_precision(account->f->precision);
	if (precision == ROOF_PRECISION_X87)
		precision = ROOF_PRECISION_DOUBLE;
	enum flop_width width = WIDTH_512;
	while (width > WIDTH_SCALAR &&
	       model_roof(account->profile, roof_compute(isas[width], precision, ROOF_OP_ADD),
			  account->f->concurrency) <= 0 &&
	       model_roof(account->profile, roof_compute(isas[width], precision, ROOF_OP_FMA),
			  account->f->concurrency) <= 0)
		width--;
	return width;
}

/* To `left` of the instructions, and as much of the turns: a chain of integer operations is that of
 * the loop's counter, which goes with them. */
static void scale_instructions(const struct account *account, double *needs, double left)
{
	needs[NEED_ISSUE] *= left;
	needs[NEED_TAKEN] *= left;
	if (account->f->code.chain_kind == STEP_INTEGER)
		needs[NEED_CHAIN] *= left;
}

/* How many instructions of one width do the work of one of a larger width. */
static double lanes_gained(const struct account *account, enum flop_width from, enum flop_width to)
{
	const bool is_single = account->f->precision == PRECISION_SINGLE;
	assert(to > from);
	return from == WIDTH_SCALAR ? (is_single ? 2 : 1) * (1 << to) : 1 << (to - from);
}

/* Wider vectors take fewer instructions and turns as well. */
static void save_width(const struct account *account, enum model_cause cause, enum flop_width from)
{
	const struct model_evidence *e = account->evidence;
	const enum flop_width to = widest(account);
	struct model_function wide = *account->f;
	double needs[N_MODEL_NEEDS];
	if (to <= from)
		return;
	const double left = 1 - e->width[from] / 100 * (1 - 1 / lanes_gained(account, from, to));
	widen(&wide.tally, from, to);
	wide.precision = wide.precision == PRECISION_X87 ? PRECISION_DOUBLE : wide.precision;
	memcpy(needs, e->needs, sizeof(needs));
	needs[NEED_ARITHMETIC] = fmin(needs[NEED_ARITHMETIC], arithmetic(account->profile, &wide));
	scale_instructions(account, needs, left);
	save(account, cause, needs);
}

static void save_slow(const struct account *account)
{
	struct model_function other = *account->f;
	for (int p = 0; p < FLOP_PRECISIONS; p++)
		for (int w = 0; w < FLOP_WIDTHS; w++) {
			uint64_t *division = &other.tally.flop_by_kind[FLOP_DIV][p][w],
				 *root = &other.tally.flop_by_kind[FLOP_SQRT][p][w];
			other.tally.flop_by_kind[FLOP_MUL][p][w] += *division + *root;
			*division = *root = 0;
		}
	save_of(account, CAUSE_SLOW, NEED_ARITHMETIC, arithmetic(account->profile, &other));
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Only where the processor fuses in that width. */
static void save_unfused(const struct account *account)
{
	struct model_function other = *account->f;
	const enum flop_width width = account->evidence->main_width;
	uint64_t(*kinds)[FLOP_PRECISIONS][FLOP_WIDTHS] = other.tally.flop_by_kind;
	uint64_t *add = &kinds[FLOP_ADD][other.precision][width],
		 *multiply = &kinds[FLOP_MUL][other.precision][width];
	const uint64_t pairs = least(other.code.fusible_flop / 2, least(*add, *multiply));
	if (!(account->evidence->own_top > 0))
		return;
	*add -= pairs;
	*multiply -= pairs;
	kinds[FLOP_FMA][other.precision][width] += 2 * pairs;
	save_of(account, CAUSE_UNFUSED, NEED_ARITHMETIC, arithmetic(account->profile, &other));
}

static void save_arithmetic(const struct account *account)
{
	const struct model_evidence *e = account->evidence;
	if (!account->f->tally.flop)
		return;
	save_slow(account);
	save_unfused(account);
	save_width(account, CAUSE_SCALAR, WIDTH_SCALAR);
	if (e->main_width > WIDTH_SCALAR && e->main_width < WIDTH_512)
		save_width(account, CAUSE_NARROW, e->main_width);
	save_of(account, CAUSE_MASKED, NEED_ARITHMETIC,
		e->needs[NEED_ARITHMETIC] * (1 - e->masked / 100));
}

/* Moves of lines between threads, which wait at them; each thread at its own. */
static void save_sharing(const struct account *account)
{
	const struct sharing_part *sharing = account->evidence->sharing;
	const double concurrency = account->f->concurrency;
	save_on_top(account, CAUSE_FALSE_SHARING, sharing[SHARING_FALSE].cpu_s / concurrency);
	save_on_top(account, CAUSE_TRUE_SHARING, sharing[SHARING_TRUE].cpu_s / concurrency);
}

/* At most what so many branches cost if none was foreseen.  Where the time that nothing else needs
 * is less than half of that, most branches were foreseen, and nothing is saved. */
static void save_branches(const struct account *account, enum model_cause cause, uint64_t branches)
{
	const double seconds = (double)branches * MISPREDICTION / account->cycles_per_s;
	if (rest_of(account) > seconds / 2)
		save_on_top(account, cause, seconds);
}

/* What was mispredicted, shared out to branches within turns and to ends of short loops as these
 * there are. */
static void save_mispredicted(const struct account *account)
{
	const struct profile_sum_code *code = &account->f->code;
	const double rare = (double)code->rare_ways, ends = (double)code->short_entries,
		     short_part = ends > 0 ? ends / (rare + ends) : 0,
		     seconds = account->evidence->mispredicted_s / account->f->concurrency;
	save_on_top(account, CAUSE_BRANCHES, seconds * (1 - short_part));
	save_on_top(account, CAUSE_SHORT_LOOP, seconds * short_part);
}

static void save_instructions(const struct account *account)
{
	const struct profile_sum_code *code = &account->f->code;
	double *saved = account->evidence->saved, fewer[N_MODEL_NEEDS];
	const double *needs = account->evidence->needs;
	memcpy(fewer, needs, sizeof(fewer));
	scale_instructions(account, fewer, 0.5);
	save(account, CAUSE_ISSUE, fewer);
	save_of(account, CAUSE_TAKEN, NEED_TAKEN, needs[NEED_TAKEN] / SIDE_BY_SIDE);
	save_of(account, CAUSE_CHAIN, NEED_CHAIN, needs[NEED_CHAIN] / SIDE_BY_SIDE);
	if (owns_rest(account, NEED_CHAIN))
		saved[CAUSE_CHAIN] += rest_of(account);
	save_of(account, CAUSE_DIVISIONS, NEED_DIVIDER, 0);
	save_of(account, CAUSE_ATOMIC, NEED_ATOMIC, 0);
	if (owns_rest(account, NEED_DATA))
		saved[CAUSE_IRREGULAR] += rest_of(account);
	else if (owns_rest(account, NEED_DIVIDER))
		saved[CAUSE_DIVISIONS] += rest_of(account);
	else if (owns_rest(account, NEED_ATOMIC))
		saved[CAUSE_ATOMIC] += rest_of(account);
	if (isnan(account->evidence->mispredicted_s)) {
		save_branches(account, CAUSE_BRANCHES, code->rare_ways);
		save_branches(account, CAUSE_SHORT_LOOP, code->short_entries);
	} else {
		save_mispredicted(account);
	}
	const double unknown = rest_of(account) - saved[CAUSE_BRANCHES] - saved[CAUSE_SHORT_LOOP] -
			       saved[CAUSE_STRIDED] - saved[CAUSE_FALSE_SHARING] -
			       saved[CAUSE_TRUE_SHARING] - others_took(account);
	if (!is_latency(account) && unknown > account->f->elapsed_s / 2)
		saved[CAUSE_UNKNOWN] = unknown;
}

void model_add_worth(const struct profile *profile, const struct model_function *f,
		     struct model_evidence *evidence)
{
	const struct account account = {profile, f, evidence,
					1e9 * model_clock_ghz(profile) * f->concurrency};
	if (!(f->elapsed_s > 0) || f->waits || !f->tally.instructions)
		return;
	add_needs(&account);
	if (f->traffic)
		save_data(&account);
	save_sharing(&account);
	save_arithmetic(&account);
	save_instructions(&account);
}

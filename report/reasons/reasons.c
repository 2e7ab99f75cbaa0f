#include "report/reasons/reasons.h"

#include "base/array.h"
#include "base/text.h"
#include "report/model/model_roofs.h"
#include "report/rows/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHORT_LOOP 16 /* turns an entry, below which its start and end are felt */
#define NEAR 1.1      /* times below its roof: not worth a reason */

static void add(struct reasons *reasons, const char *try, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
static void add(struct reasons *reasons, const char *try, const char *format, ...)
{
	struct reason reason = {.try = strdup(try)};
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&reason.what, format, arguments) < 0)
		reason.what = NULL;
	va_end(arguments);
	if (reason.what && reason.try &&
	    rf_array_push(reasons->items, reasons->n_items, reasons->cap_items, reason))
		return;
	reasons->failed = true;
	free(reason.what);
	free(reason.try);
}

void reasons_deinit(struct reasons *reasons)
{
	for (size_t i = 0; i < reasons->n_items; i++) {
		free(reasons->items[i].what);
		free(reasons->items[i].try);
	}
	free(reasons->items);
	*reasons = (struct reasons){0};
}

static double percent(double part, double whole)
{
	return whole > 0 ? 100 * part / whole : 0;
}

struct flop_shares report_flop_shares(const struct tally *tally)
{
	struct flop_shares shares = {0};
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++) {
				const double part = percent((double)tally->flop_by_kind[k][p][w],
							    (double)tally->flop);
				shares.width[w] += part;
				shares.kind[k] += part;
				shares.precision[p] += part;
			}
	return shares;
}

double report_ipc(const struct report_view *view, const struct model_function *f)
{
	const double cycles =
		(double)f->time_ns * profile_number_fact(view->profile, "clock_ghz", NAN);
	return cycles > 0 ? (double)f->tally.instructions / cycles : NAN;
}

static const char *next_level(const struct model_traffic *traffic, const char *level)
{
	for (size_t i = 1; traffic && i < traffic->n_levels; i++)
		if (strcmp(traffic->levels[i].name, level) == 0)
			return traffic->levels[i - 1].name;
	return "a nearer cache";
}

/* ---- memory ---- */

static void add_memory(const struct report_view *view, const struct model_function *f,
		       struct reasons *reasons)
{
	const struct model_place *place = &f->place;
	const struct model_level *level = f->traffic ? model_level(f->traffic, place->level) : NULL;
	char rate[TEXT_NUMBER], most[TEXT_NUMBER], flop[TEXT_NUMBER], ridge[TEXT_NUMBER], try[256];
	if (!level || !(level->bandwidth > 0) || !(level->rate > 0))
		return;
	text_number(rate, level->rate);
	text_number(most, level->bandwidth);
	snprintf(try, sizeof(try),
		 "use what is loaded more often before it leaves %s (block loops, join passes over "
		 "the "
		 "same data), or move less (smaller types)",
		 strcmp(place->level, "L1") == 0 ? "the registers"
						 : next_level(f->traffic, place->level));
	if (level->rate < level->bandwidth / 2)
		add(reasons, "the other reasons first: fewer bytes alone will not help",
		    "its data come from %s at %s GB/s of at most %s (%.0f %%): the bandwidth does "
		    "not hold it",
		    place->level, rate, most, percent(level->rate, level->bandwidth));
	else if (place->axis == AXIS_FLOP && place->ridge > 0)
		add(reasons, try,
		    "%s is what its roof stands on: %s GB/s move of at most %s (%.0f %%); it does "
		    "%s flop per "
		    "byte there, and %s would be needed to be bound by arithmetic instead",
		    place->level, rate, most, percent(level->rate, level->bandwidth),
		    text_number(flop, level->intensity), text_number(ridge, place->ridge));
	else
		add(reasons, try,
		    "%s is what its roof stands on: %s GB/s move of at most %s (%.0f %%)",
		    place->level, rate, most, percent(level->rate, level->bandwidth));
}

static void add_layout(const struct model_function *f, struct reasons *reasons)
{
	const struct model_strides *strides = &f->traffic->strides;
	const double steps = strides->unit + strides->constant + strides->random;
	const struct model_bytes *bytes = &f->traffic->bytes;
	if (percent(strides->random, steps) > 30)
		add(reasons,
		    "sort or group the data in the order of use, keep nodes small, fetch several "
		    "chains at once or "
		    "prefetch",
		    "%.0f %% of the steps between its addresses are irregular: hardly any line is "
		    "fetched ahead",
		    percent(strides->random, steps));
	if (percent(strides->constant, steps) > 30)
		add(reasons,
		    "swap the loops or the layout so that the inner loop goes from one element to "
		    "the next",
		    "%.0f %% of the steps between its addresses are strided (%lld bytes or a part "
		    "of that)",
		    percent(strides->constant, steps), (long long)strides->step);
	if (strides->fetched > 0 && percent(strides->used, strides->fetched) < 60)
		add(reasons,
		    "keep together what is used together (arrays of each field instead of an array "
		    "of structures)",
		    "of the bytes that it brings in from memory only %.0f %% are used",
		    percent(strides->used, strides->fetched));
	if (bytes->events[TRAFFIC_MEM_EVADABLE].bytes > 0.2 * bytes->mem[DIRECTION_BOTH].bytes)
		add(reasons, "non-temporal stores, if the result is not used soon",
		    "%.0f %% of what moves to and from memory is lines read only to be overwritten "
		    "whole",
		    percent(bytes->events[TRAFFIC_MEM_EVADABLE].bytes,
			    bytes->mem[DIRECTION_BOTH].bytes));
}

static void add_working_set(const struct model_function *f, struct reasons *reasons)
{
	const struct model_traffic *traffic = f->traffic;
	char fits[64], now[64], then[64];
	if (!(traffic->fits_in > 0) || !(traffic->moves_then < 0.8 * traffic->moves_now))
		return;
	report_put_bytes(fits, traffic->fits_in);
	report_put_bytes(now, traffic->moves_now);
	report_put_bytes(then, traffic->moves_then);
	add(reasons, "blocks small enough for the cache that there is",
	    "what it uses again needs %s of cache: with that %s would move instead of %s", fits,
	    then, now);
}

/* ---- arithmetic ---- */

static double best_of(const struct report_view *view, const struct model_function *f,
		      enum roof_isa isa)
{
	return model_roof(view->profile,
			  roof_compute(isa, model_roof_precision(f->precision), ROOF_OP_FMA),
			  f->concurrency);
}

/* Scalar code, or narrower vectors than the machine has. */
static void add_width(const struct report_view *view, const struct model_function *f,
		      const struct flop_shares *shares, struct reasons *reasons)
{
	static const enum roof_isa isas[] = {[WIDTH_SCALAR] = ROOF_ISA_SCALAR,
					     [WIDTH_128] = ROOF_ISA_SSE2,
					     [WIDTH_256] = ROOF_ISA_AVX2,
					     [WIDTH_512] = ROOF_ISA_AVX512F};
	int main_width = WIDTH_SCALAR;
	char number[TEXT_NUMBER], widest[TEXT_NUMBER];
	const double scalar = model_scalar_top(view->profile, f),
		     wide = best_of(view, f, ROOF_ISA_AVX512F);
	for (int w = 0; w <= WIDTH_512; w++)
		if (shares->width[w] > shares->width[main_width])
			main_width = w;
	if (main_width == WIDTH_SCALAR && shares->width[WIDTH_SCALAR] > 50)
		add(reasons,
		    "let the compiler vectorise: -O3 -march=native, restrict, independent "
		    "iterations, "
		    "-ffast-math for sums where their order may change",
		    "%.0f %% of its flop are scalar, one lane of a vector: at most %s GFLOP/s that "
		    "way",
		    shares->width[WIDTH_SCALAR], text_number(number, scalar > 0 ? scalar : NAN));
	else if (main_width < WIDTH_512 && wide > 1.2 * best_of(view, f, isas[main_width]) &&
		 best_of(view, f, isas[main_width]) > 0)
		add(reasons,
		    "-march=native, and -mprefer-vector-width=512 where the compiler shuns it",
		    "%.0f %% of its flop are in %d-bit vectors: at most %s GFLOP/s that way, %s "
		    "with 512 bits",
		    shares->width[main_width], 64 << main_width,
		    text_number(number, best_of(view, f, isas[main_width])),
		    text_number(widest, wide));
}

static void add_divisions(const struct flop_shares *shares, struct reasons *reasons)
{
	const double slow = shares->kind[FLOP_DIV] + shares->kind[FLOP_SQRT];
	if (slow > 5)
		add(reasons,
		    "multiply by a reciprocal that is computed once, or use approximate ones with "
		    "a Newton step "
		    "(-mrecip)",
		    "%.0f %% of its flop are divisions or square roots: one takes as long as "
		    "dozens of additions, and they "
		    "are hardly pipelined",
		    slow);
}

static void add_kinds(const struct model_function *f, const struct flop_shares *shares,
		      struct reasons *reasons)
{
	const double fusible = 2 * fmin(shares->kind[FLOP_ADD], shares->kind[FLOP_MUL]);
	const double idle = percent((double)f->tally.flop_unmasked - (double)f->tally.flop,
				    (double)f->tally.flop_unmasked);
	if (fusible > 20)
		add(reasons, "-mfma (in -march=native) with -ffp-contract=fast",
		    "%.0f %% of its flop are separate additions and multiplications that could be "
		    "fused, two flop in one "
		    "instruction",
		    fusible);
	if (idle > 1)
		add(reasons, "a remainder loop for the odd lanes, or data without holes",
		    "%.0f %% of its vector lanes are masked off", idle);
}

/* ---- waiting ---- */

static void add_waiting(const struct report_view *view, const struct model_function *f,
			struct reasons *reasons)
{
	const double ipc = report_ipc(view, f), width = model_issue_width(view->profile);
	const uint64_t *classes = f->tally.class_instructions;
	const double all = (double)f->tally.instructions;
	const double jumps = (double)classes[INSN_BRANCH] + (double)classes[INSN_CALL] +
			     (double)classes[INSN_RETURN];
	if (f->place.bound == BOUND_ISSUE)
		add(reasons,
		    "fewer instructions: vectors for the integer work, a better algorithm, -O3 "
		    "-march=native",
		    "%.2f instructions per cycle of at most %.0f: what costs is how many there are",
		    ipc, width);
	else if (ipc < 0.4 * width)
		add(reasons,
		    "more work that does not depend on each other: several sums at once, unrolled "
		    "loops, several "
		    "chains side by side",
		    "%.2f instructions per cycle of at most %.0f: they wait for each other's "
		    "results%s",
		    ipc, width, f->traffic && f->tally.loads ? " or for data" : "");
	if (percent(jumps, all) > 20)
		add(reasons, "inline small functions, unroll, take decisions out of the inner loop",
		    "a branch, call or return every %.1f instructions", all / jumps);
}

static bool is_innermost(const struct model_function *f, size_t loop)
{
	for (size_t i = loop + 1; i < f->n_loops; i++)
		if (f->loops[i].parent == loop)
			return false;
	return true;
}

static void add_short_loops(const struct model_function *f, struct reasons *reasons)
{
	const struct model_loop *worst = NULL;
	for (size_t i = 0; i < f->n_loops; i++) {
		const struct model_loop *loop = &f->loops[i];
		if (loop->entries > 0 && loop->turns / SHORT_LOOP < loop->entries &&
		    (double)loop->time_ns > 0.2 * (double)f->time_ns && is_innermost(f, i) &&
		    (!worst || loop->time_ns > worst->time_ns))
			worst = loop;
	}
	if (worst)
		add(reasons, "swap or join loops so that the inner one is long, or unroll it fully",
		    "a loop with %.0f %% of its time turns only %.1f times each time it is entered",
		    percent((double)worst->time_ns, (double)f->time_ns),
		    (double)worst->turns / (double)worst->entries);
}

static void add_doubts(const struct report_view *view, const struct model_function *f,
		       struct reasons *reasons)
{
	if (f->place.above)
		add(reasons, "rfprof machine --refresh, and a run on a quiet machine",
		    "it is above its roof, which cannot be: the roofs or the times are wrong");
	if (f->n_samples < MODEL_FEW_SAMPLES)
		add(reasons, "a longer run", "%llu samples only: its time is rough (± %.0f %%)",
		    (unsigned long long)f->n_samples,
		    percent(f->halfwidth_s, (double)f->time_ns * 1e-9));
	if (f->place.borrowed)
		add(reasons, "rfprof machine measures more of them",
		    "no roof of its precision was measured, that of %s stands in",
		    f->place.borrowed);
}

static bool waits(const struct model_place *place)
{
	return place->bound == BOUND_LATENCY || place->axis == AXIS_INSTRUCTIONS;
}

void report_reasons(const struct report_view *view, const struct model_function *f,
		    struct reasons *reasons)
{
	const struct model_place *place = &f->place;
	const struct flop_shares shares = report_flop_shares(&f->tally);
	if (place->bound == BOUND_UNCOUNTED || place->bound == BOUND_UNKNOWN) {
		add(reasons, "see the notes under rfprof's table for the cause",
		    "the counted run did not see what it does: only its time is known");
	} else if (place->distance > NEAR || isnan(place->distance)) {
		const bool memory = place->level[0] && f->traffic &&
				    (place->bound == BOUND_MEMORY ||
				     place->bound == BOUND_BALANCED || waits(place));
		const bool full = memory && !waits(place);
		if (full)
			add_memory(view, f, reasons);
		if (memory)
			add_layout(f, reasons);
		if (memory)
			add_working_set(f, reasons);
		if (place->axis == AXIS_FLOP && (place->bound != BOUND_MEMORY)) {
			add_divisions(&shares, reasons);
			add_width(view, f, &shares, reasons);
			add_kinds(f, &shares, reasons);
		}
		if (waits(place))
			add_waiting(view, f, reasons);
		add_short_loops(f, reasons);
		if (memory && !full)
			add_memory(view, f, reasons);
	} else if (place->bound == BOUND_MEMORY) {
		add_memory(view, f, reasons);
	}
	add_doubts(view, f, reasons);
}

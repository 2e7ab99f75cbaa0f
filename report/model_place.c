/* The point and its roof (cache-aware roofline: arithmetic intensity on LS bytes).
 *
 * Which level a function's data come from is not measured yet.  It is inferred: the binding level
 * is the slowest one whose roof is not below the point, from DRAM upward.  A point cannot lie above
 * the roof of the level that its data come from, so no level below the inferred one is possible;
 * a faster one is.  The distance is therefore the least that it can be, and roof_l1 says the most.
 * Reports mark an inferred level with "~".  Code that no cache level holds below its peak is placed
 * under the peak as soon as it is above the slowest level. */
#include "report/model_parts.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const isa_of_width[FLOP_WIDTHS] = {
	[WIDTH_SCALAR] = "scalar", [WIDTH_128] = "sse2", [WIDTH_256] = "avx2", [WIDTH_512] = "avx512f",
};

/* Precisions whose roof stands in where the own one was not measured. */
static const char *const stand_in[FLOP_PRECISIONS] = {
	[PRECISION_HALF] = "single", [PRECISION_BFLOAT16] = "single", [PRECISION_X87] = "double",
};

static double compute_roof(const struct profile *profile, const char *isa, const char *precision,
			   const char *op, double threads)
{
	return machine_roof(profile->roofs, profile->n_roofs, ROOF_COMPUTE, isa, precision, op, "",
			    threads);
}

double model_peak(const struct profile *profile, const char *precision, double threads)
{
	static const char *const ops[] = {"fma", "add", "mul"};
	double best = 0;
	for (size_t i = 0; i < sizeof(ops) / sizeof(*ops); i++)
		best = fmax(best, compute_roof(profile, NULL, precision, ops[i], threads));
	return best;
}

static bool level_distinguishable(const struct profile *profile, const char *level)
{
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const struct roof *roof = &profile->roofs[i];
		if (roof->kind == ROOF_BANDWIDTH && strcmp(roof->level, level) == 0 &&
		    strcmp(roof->op, "read") == 0 && roof->distinguishable && roof->best > 0)
			return true;
	}
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

/* Bandwidth by the function's own share of stores: between pure reading (no store) and the triad
 * (a third of the bytes are stored), linearly; beyond a third the triad's. */
static double bandwidth(const struct profile *profile, const struct tally *tally, const char *level,
			double threads)
{
	double read = machine_roof(profile->roofs, profile->n_roofs, ROOF_BANDWIDTH, NULL, "", "read",
				   level, threads);
	double triad = machine_roof(profile->roofs, profile->n_roofs, ROOF_BANDWIDTH, NULL, "",
				    "triad", level, threads);
	double bytes = (double)tally->load_bytes + (double)tally->store_bytes;
	if (triad <= 0 || bytes <= 0)
		return read;
	double share = fmin(1, 3 * (double)tally->store_bytes / bytes);
	return read + (triad - read) * share;
}

struct scale { /* roofs of one function in 1e9/s: min(top, per_level[l]) */
	double top;	/* INFINITY: none */
	const char *levels[MODEL_LEVELS];
	double per_level[MODEL_LEVELS];
	size_t n_levels;
};

static void scale_init(struct scale *scale, const struct profile *profile,
		       const struct model_function *function, double top, double intensity)
{
	*scale = (struct scale){.top = top};
	scale->n_levels = model_levels(profile, scale->levels);
	for (size_t i = 0; i < scale->n_levels; i++)
		scale->per_level[i] = intensity * bandwidth(profile, &function->tally, scale->levels[i],
							    function->concurrency);
}

/* The slowest level whose roof is not below the point.  A point above the slowest level of all has
 * its data in some cache; when the fastest one would let it reach the top, the work is what binds
 * it, and no level between is named: a blocked matrix product is not "bound by L3". */
static size_t infer_level(const struct scale *scale, double point)
{
	const size_t fastest = scale->n_levels ? scale->n_levels - 1 : 0;
	for (size_t i = 0; i < scale->n_levels; i++)
		if (fmin(scale->top, scale->per_level[i]) * (1 + MODEL_TOLERANCE) >= point)
			return i > 0 && scale->per_level[fastest] >= scale->top ? fastest : i;
	return fastest;
}

static void set_distance(const struct model_function *function, struct model_place *place)
{
	place->distance = place->roof / place->point;
	place->headroom_s = function->elapsed_s * fmax(0, 1 - place->point / place->roof);
	/* A fault only where the spread of the roof and of so few samples cannot explain it. */
	double spread = function->n_samples ? 1.96 / sqrt((double)function->n_samples) : 0;
	place->above = place->point > place->roof * (1 + MODEL_TOLERANCE) * (1 + spread);
}

static double ceiling_of(const struct profile *profile, const char *precision, int width, bool fma,
			 double threads, double peak)
{
	const char *isa = isa_of_width[width];
	if (!isa) /* tiles */
		return peak;
	double own = compute_roof(profile, isa, precision, fma ? "fma" : "add", threads);
	if (own <= 0 && !fma)
		own = compute_roof(profile, isa, precision, "mul", threads);
	if (own <= 0)
		own = compute_roof(profile, isa, precision, "fma", threads);
	return own > 0 ? own : peak;
}

/* Best rate of this mix of widths and FMA: each part at its own peak, one after the other. */
static double mix_ceiling(const struct profile *profile, const struct model_function *function,
			  double peak)
{
	double seconds = 0;
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++) {
				double flop = (double)function->tally.flop_by_kind[k][p][w];
				const char *precision = stand_in[p] ? stand_in[p]
								    : model_precision_name(p);
				if (flop > 0)
					seconds += flop / ceiling_of(profile, precision, w,
								     k == FLOP_FMA,
								     function->concurrency, peak);
			}
	return seconds > 0 ? fmin(peak, (double)function->tally.flop / seconds) : peak;
}

static double own_peak(const struct profile *profile, const struct model_function *function,
		       const char **borrowed)
{
	const char *own = model_precision_name(function->precision);
	double peak = model_peak(profile, own, function->concurrency);
	if (peak > 0 || !stand_in[function->precision])
		return peak;
	*borrowed = stand_in[function->precision];
	return model_peak(profile, *borrowed, function->concurrency);
}

static enum model_bound flop_bound(const struct model_place *place, double intensity, double lowest)
{
	if (place->point < lowest / 2)
		return BOUND_LATENCY;
	if (place->ridge <= 0 || intensity > 1.2 * place->ridge)
		return BOUND_COMPUTE;
	return intensity < 0.8 * place->ridge ? BOUND_MEMORY : BOUND_BALANCED;
}

static void place_by_flop(const struct profile *profile, const struct model_function *function,
			  struct model_place *place)
{
	struct scale scale;
	double peak = own_peak(profile, function, &place->borrowed);
	place->axis = AXIS_FLOP;
	place->point = (double)function->tally.flop * 1e-9 / function->elapsed_s;
	if (peak <= 0)
		return;
	bool has_bytes = isfinite(function->intensity);
	scale_init(&scale, profile, function, peak, has_bytes ? function->intensity : 0);
	size_t level = infer_level(&scale, place->point);
	bool levels = has_bytes && scale.n_levels > 0;
	double slope = levels ? scale.per_level[level] : INFINITY;
	place->roof = fmin(peak, slope);
	place->roof_l1 = levels ? fmin(peak, scale.per_level[scale.n_levels - 1]) : peak;
	place->ceiling = fmin(slope, mix_ceiling(profile, function, peak));
	if (levels)
		place->ridge = peak * function->intensity / slope;
	if (slope < peak)
		snprintf(place->level, sizeof(place->level), "%s", scale.levels[level]);
	set_distance(function, place);
	place->bound = flop_bound(place, function->intensity, place->ceiling);
}

/* Bytes per second under the levels' bandwidths; false when nothing is to be placed so. */
static bool place_by_bytes(const struct profile *profile, const struct model_function *function,
			   struct model_place *place)
{
	struct scale scale;
	double bytes = (double)function->tally.load_bytes + (double)function->tally.store_bytes;
	scale_init(&scale, profile, function, INFINITY, 1);
	if (bytes <= 0 || scale.n_levels == 0)
		return false;
	place->axis = AXIS_BYTES;
	place->point = bytes * 1e-9 / function->elapsed_s;
	size_t level = infer_level(&scale, place->point);
	place->roof = place->ceiling = scale.per_level[level];
	place->roof_l1 = scale.per_level[scale.n_levels - 1];
	snprintf(place->level, sizeof(place->level), "%s", scale.levels[level]);
	set_distance(function, place);
	place->bound = place->distance > 2 ? BOUND_LATENCY : BOUND_MEMORY;
	return true;
}

/* Instructions per second under clock × MODEL_ISSUE_WIDTH × threads. */
static bool place_by_instructions(const struct profile *profile,
				  const struct model_function *function, struct model_place *place)
{
	const char *fact = profile_get_fact(profile, "clock_ghz");
	double clock = fact ? strtod(fact, NULL) : 0;
	place->axis = AXIS_INSTRUCTIONS;
	place->point = (double)function->tally.instructions * 1e-9 / function->elapsed_s;
	if (!(clock > 0 && clock < 100))
		return false;
	place->roof = place->ceiling = place->roof_l1 = clock * MODEL_ISSUE_WIDTH * function->concurrency;
	set_distance(function, place);
	place->bound = place->distance > 2 ? BOUND_LATENCY : BOUND_ISSUE;
	return true;
}

/* A function without flop takes at least as long as its bytes need and as its instructions need:
 * the roof that it is nearer to is the one that holds it. */
static void place_control(const struct profile *profile, const struct model_function *function,
			  struct model_place *place)
{
	struct model_place bytes = *place, instructions = *place;
	bool has_bytes = place_by_bytes(profile, function, &bytes);
	bool has_instructions = place_by_instructions(profile, function, &instructions);
	if (has_bytes && (!has_instructions || bytes.distance <= instructions.distance))
		*place = bytes;
	else
		*place = instructions;
}

/* ---- hints ---- */

static double percent(double part, double whole) { return whole > 0 ? 100 * part / whole : 0; }

static void hint(FILE *why, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void hint(FILE *why, const char *format, ...)
{
	va_list arguments;
	if (ftell(why) > 0)
		fputs("; ", why);
	va_start(arguments, format);
	vfprintf(why, format, arguments);
	va_end(arguments);
}

struct shares { double scalar, fma, slow; };

static struct shares flop_shares(const struct tally *tally)
{
	struct shares shares = {0};
	for (int k = 0; k < FLOP_KINDS; k++)
		for (int p = 0; p < FLOP_PRECISIONS; p++)
			for (int w = 0; w < FLOP_WIDTHS; w++) {
				double part = percent((double)tally->flop_by_kind[k][p][w],
						      (double)tally->flop);
				shares.scalar += w == WIDTH_SCALAR ? part : 0;
				shares.fma += k == FLOP_FMA ? part : 0;
				shares.slow += k == FLOP_DIV || k == FLOP_SQRT ? part : 0;
			}
	return shares;
}

static void flop_hints(const struct profile *profile, const struct model_function *function,
		       FILE *why)
{
	struct shares shares = flop_shares(&function->tally);
	double c = function->concurrency, idle = percent(
		(double)function->tally.flop_unmasked - (double)function->tally.flop,
		(double)function->tally.flop_unmasked);
	const char *precision = model_precision_name(function->precision);
	double scalar = fmax(compute_roof(profile, "scalar", precision, "fma", c),
			     compute_roof(profile, "scalar", precision, "add", c));
	if (shares.scalar > 50 && scalar > 0)
		hint(why, "%.0f %% of the flop are scalar (one lane; at most %.3g GFLOP/s)",
		     shares.scalar, scalar);
	else if (shares.scalar > 50)
		hint(why, "%.0f %% of the flop are scalar (one lane)", shares.scalar);
	if (shares.fma < 5)
		hint(why, "no fused multiply-add (half of the FMA peak at most)");
	if (shares.slow > 5)
		hint(why, "%.0f %% of the flop are divisions or square roots", shares.slow);
	if (idle > 1)
		hint(why, "%.0f %% of the vector lanes are masked off", idle);
}

static void control_hints(const struct model_function *function, FILE *why)
{
	const uint64_t *classes = function->tally.class_instructions;
	double all = (double)function->tally.instructions;
	double jumps = (double)classes[INSN_BRANCH] + (double)classes[INSN_CALL] +
		       (double)classes[INSN_RETURN];
	if (percent(jumps, all) > 15)
		hint(why, "a branch, call or return every %.1f instructions", all / jumps);
	if (function->place.bound == BOUND_LATENCY)
		hint(why, "far below every measured ceiling: waits on dependent instructions, cache "
			  "misses or branches");
}

static bool set_why(const struct profile *profile, struct model_function *function)
{
	size_t size;
	FILE *why = open_memstream(&function->place.why, &size);
	if (!why)
		return false;
	if (function->place.above)
		hint(why, "above its roof: measure the roofs again, and check that both "
			  "runs did the same work");
	if (function->place.bound == BOUND_UNCOUNTED)
		hint(why, "no block of this function was counted");
	if (function->place.axis == AXIS_FLOP && function->place.distance > 1.1)
		flop_hints(profile, function, why);
	if (function->place.axis != AXIS_NONE)
		control_hints(function, why);
	return fclose(why) == 0 && function->place.why;
}

bool model_place(const struct profile *profile, struct model_function *function, bool counted)
{
	const struct tally *tally = &function->tally;
	struct model_place *place = &function->place;
	*place = (struct model_place){.distance = NAN, .headroom_s = NAN};
	if (function->time_ns > 0 && tally->instructions == 0)
		place->bound = counted ? BOUND_UNCOUNTED : BOUND_UNKNOWN;
	else if (function->time_ns > 0 && (double)tally->flop >=
		 MODEL_FLOP_PER_INSTRUCTION * (double)tally->instructions)
		place_by_flop(profile, function, place);
	else if (function->time_ns > 0)
		place_control(profile, function, place);
	return set_why(profile, function);
}

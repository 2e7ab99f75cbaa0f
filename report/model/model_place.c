/* The point and its roof.
 *
 * Where the memory traffic was traced, each level has an intensity and a roof of its own, and the
 * lowest of them binds.
 *
 * Where the PMU tells what moved to and from memory (model_memory.c), DRAM's roof comes from that,
 * and the caches are inferred as below; the lower one binds.  Of what is a lower bound, DRAM's roof
 * is the most that it can be.
 *
 * Where neither is known, the point stands on the cache-aware roofline (arithmetic intensity on LS
 * bytes).  Which level a function's data come from, and whether its stores go to lines that it has
 * loaded, is then not known.  It is inferred: the binding bandwidth is the slowest one whose roof
 * is not below the point, from DRAM upward.  A point cannot lie above the roof of the level that
 * its data come from, so no level below the inferred one is possible; a faster one is.  The
 * distance is therefore the least that it can be, and roof_l1 says the most.  Reports mark an
 * inferred level with "~".  Code that would be compute bound if all its data came from L1 is placed
 * under its peak as soon as it is above the slowest level. */
#include "report/model/model_place.h"

#include "report/model/model_bandwidths.h"
#include "report/model/model_roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Balanced: within 20 % of the ridge. */
#define BALANCED 0.2

/* Roofs of one function on one axis: min(top, factor × bandwidth). */
struct scale {
	double top;    /* INFINITY: none */
	double factor; /* of the axis, per byte */
	struct model_bandwidth bandwidths[MODEL_BANDWIDTHS];
	size_t n;    /* 0: top alone */
	bool caches; /* none of them is memory's */
};

static struct scale scale_of(const struct profile *profile, const struct model_function *function,
			     double top, double factor)
{
	struct scale scale = {.top = top, .factor = factor};
	scale.n = model_bandwidths(profile, &function->tally, function->concurrency,
				   scale.bandwidths);
	return scale;
}

static double slope_of(const struct scale *scale, size_t i)
{
	return scale->factor * scale->bandwidths[i].rate.value;
}

/* The slowest bandwidth whose roof is not below the point.  A point above the slowest level of all
 * has its data in some cache; when it is compute bound under the fastest one, the work is what
 * binds it, and no level between is named: a blocked matrix product is not "bound by L3". */
static const struct model_bandwidth *infer_bandwidth(const struct scale *scale, double point)
{
	const struct model_bandwidth *all = scale->bandwidths, *fastest = &all[scale->n - 1];
	const struct model_bandwidth *slowest = fastest;
	for (size_t i = scale->n; i-- > 0;)
		if (fmin(scale->top, slope_of(scale, i)) * (1 + MODEL_TOLERANCE) >= point &&
		    all[i].rate.value <= slowest->rate.value)
			slowest = &all[i];
	bool memory = !scale->caches && slowest->level == all[0].level;
	return !memory && slope_of(scale, scale->n - 1) > (1 + BALANCED) * scale->top ? fastest
										      : slowest;
}

/* The roof is a bandwidth. */
static void set_level(struct model_place *place, const struct model_bandwidth *bandwidth)
{
	snprintf(place->level, sizeof(place->level), "%s", roof_level_name(bandwidth->level));
	place->stores = bandwidth->stores;
	place->noisy = bandwidth->rate.noisy;
}

/* By how much of `n` samples the mean that they come from may be above them: the upper end of the
 * score interval of a Poisson mean, 95 %, n + z²/2 + z √(n + z²/4). */
static double spread_of(uint64_t n)
{
	const double z = 1.96;
	return n ? (z * z / 2 + z * sqrt((double)n + z * z / 4)) / (double)n : 0;
}

static bool is_traced(const struct model_function *function)
{
	return function->traffic && function->traffic->source == MEMORY_TRACED;
}

/* The level that was asked for, unless the PMU tells nothing of it; or NULL. */
static const char *chosen_level(const struct model_function *function,
				const struct model_choice *choice)
{
	return is_traced(function) ||
			       (choice->level && model_level(function->traffic, choice->level))
		       ? choice->level
		       : NULL;
}

/* Where the PMU has counted what moved to and from memory, LS bytes have no say in that. */
static void drop_memory(struct scale *scale)
{
	size_t kept = 0;
	for (size_t i = 0; i < scale->n; i++)
		if (scale->bandwidths[i].level != ROOF_LEVEL_DRAM)
			scale->bandwidths[kept++] = scale->bandwidths[i];
	scale->n = kept;
	scale->caches = true;
}

/* The level that a function whose traffic is known is held by: the one that was chosen, else the
 * one whose bandwidth needs longest for what moved.  NULL: nothing moved where a bandwidth was
 * measured. */
static const struct model_level *binding_level(const struct model_function *function,
					       const struct model_choice *choice)
{
	const struct model_traffic *traffic = function->traffic;
	const struct model_level *binding = NULL;
	const char *chosen = chosen_level(function, choice);
	double longest = 0;
	for (size_t i = 0; i < traffic->n_levels; i++) {
		const struct model_level *level = &traffic->levels[i];
		if (!(level->bandwidth > 0) || (chosen && strcmp(chosen, level->name) != 0))
			continue;
		double needed = level->rate / level->bandwidth;
		if (needed > 0 && needed >= longest)
			binding = level, longest = needed;
	}
	return binding;
}

/* Relative, 95 %: how far what moved at the level may be below the estimate. */
static double spread_of_level(const struct model_level *level, enum traffic_direction direction)
{
	const struct model_estimate *moved = level ? &level->moved[direction] : NULL;
	return !moved || moved->bytes <= 0 || moved->halfwidth <= 0 ? 0
	       : isnan(moved->halfwidth)                            ? 1
					 : moved->halfwidth / moved->bytes;
}

static void set_distance(const struct model_function *function, struct model_place *place,
			 double spread)
{
	place->distance = place->roof / place->point;
	place->headroom_s = function->elapsed_s * fmax(0, 1 - place->point / place->roof);
	/* A fault only where the spread of the roof and of so few samples cannot explain it. */
	place->above = place->point > place->roof * (1 + MODEL_TOLERANCE) * (1 + spread) *
					      (1 + spread_of(function->n_samples));
}

static enum model_bound flop_bound(const struct model_place *place, double intensity, double lowest)
{
	if (place->point < lowest / 2)
		return BOUND_LATENCY;
	if (place->ridge <= 0 || intensity > (1 + BALANCED) * place->ridge)
		return BOUND_COMPUTE;
	return intensity < (1 - BALANCED) * place->ridge ? BOUND_MEMORY : BOUND_BALANCED;
}

static void set_measured(const struct profile *profile, const struct model_function *function,
			 struct model_place *place)
{
	place->interpolated =
		machine_roof_interpolated(profile->roofs, profile->n_roofs, function->concurrency);
}

static struct model_rate rate_of_level(const struct profile *profile,
				       const struct model_choice *choice,
				       const struct model_function *function,
				       const struct model_level *level)
{
	struct model_moves moves = model_moves_of(function, level, choice->direction);
	return model_level_rate(profile, roof_level_find(level->name), &function->tally,
				function->concurrency, &moves);
}

static void set_traced_level(const struct profile *profile, const struct model_choice *choice,
			     const struct model_function *function, const struct model_level *level,
			     struct model_place *place)
{
	snprintf(place->level, sizeof(place->level), "%s", level->name);
	place->noisy = rate_of_level(profile, choice, function, level).noisy;
}

/* A roof that stands on a lower bound of what moved, or would be lower if more moved. */
static bool is_at_most(const struct model_function *function, const struct model_choice *choice)
{
	const struct model_level *memory = model_level(function->traffic, "DRAM");
	const char *chosen = chosen_level(function, choice);
	return memory && memory->at_least && (!chosen || strcmp(chosen, "DRAM") == 0);
}

static double roof_at(const struct model_function *function, const char *name, double top)
{
	const struct model_level *level = model_level(function->traffic, name);
	return level && level->bandwidth > 0 ? fmin(top, level->bandwidth * level->intensity) : top;
}

/* What a function has changed may be written back later, in the time of others: a point is at fault
 * only when it is above its roof by what it has read alone. */
static void excuse_late_writes(const struct model_function *function,
			       const struct model_level *level, struct model_place *place)
{
	if (!place->above || !level || function->elapsed_s <= 0 || !is_traced(function))
		return;
	const double read = level->moved[DIRECTION_READ].bytes * 1e-9 / function->elapsed_s;
	place->above = read > level->bandwidth * (1 + MODEL_TOLERANCE) *
				      (1 + spread_of_level(level, DIRECTION_READ)) *
				      (1 + spread_of(function->n_samples));
	place->late_writes = !place->above;
}

static void place_by_traced_flop(const struct profile *profile, const struct model_choice *choice,
				 const struct model_function *function,
				 const struct model_rate *top, struct model_place *place)
{
	const struct model_level *level = binding_level(function, choice);
	double slope = level ? level->bandwidth * level->intensity : INFINITY;
	place->traced = true;
	place->at_most = is_at_most(function, choice);
	place->roof = fmin(top->value, slope);
	place->roof_l1 = roof_at(function, "L1", top->value);
	place->ceiling = fmin(slope, model_mix_ceiling(profile, function, top->value));
	place->ridge = level ? top->value / level->bandwidth : 0;
	place->noisy = top->noisy;
	if (slope < top->value)
		set_traced_level(profile, choice, function, level, place);
	set_measured(profile, function, place);
	set_distance(function, place,
		     slope < top->value ? spread_of_level(level, choice->direction) : 0);
	place->bound = flop_bound(place, level ? level->intensity : INFINITY, place->ceiling);
	/* what its instructions can do at most is less than what memory lets them do */
	if ((place->bound == BOUND_MEMORY || place->bound == BOUND_BALANCED) &&
	    place->ceiling < (1 - BALANCED) * slope)
		place->bound = BOUND_COMPUTE;
	excuse_late_writes(function, level, place);
}

/* Whether memory, as the PMU has counted it, is a lower roof than the caches' (at `slope`,
 * GFLOP/s); or a level was asked for that is known. */
static bool is_by_traffic(const struct model_function *function, const struct model_choice *choice,
			  double slope)
{
	const struct model_level *memory =
		function->traffic ? model_level(function->traffic, "DRAM") : NULL;
	if (!memory)
		return false;
	if (chosen_level(function, choice))
		return true;
	return memory->bandwidth > 0 && memory->bandwidth * memory->intensity <= slope;
}

static void place_by_flop(const struct profile *profile, const struct model_choice *choice,
			  const struct model_function *function, struct model_place *place)
{
	struct model_rate top = model_top(profile, function, &place->borrowed);
	place->axis = AXIS_FLOP;
	place->point = (double)function->tally.flop * 1e-9 / function->elapsed_s;
	if (top.value <= 0)
		return;
	if (is_traced(function)) {
		place_by_traced_flop(profile, choice, function, &top, place);
		return;
	}
	struct scale scale = scale_of(profile, function, top.value, function->intensity);
	if (function->traffic)
		drop_memory(&scale);
	const struct model_bandwidth *bandwidth =
		scale.n ? infer_bandwidth(&scale, place->point) : NULL;
	double slope = bandwidth ? scale.factor * bandwidth->rate.value : INFINITY;
	if (is_by_traffic(function, choice, slope)) {
		place_by_traced_flop(profile, choice, function, &top, place);
		return;
	}
	place->roof = fmin(top.value, slope);
	place->roof_l1 = scale.n ? fmin(top.value, slope_of(&scale, scale.n - 1)) : top.value;
	place->ceiling = fmin(slope, model_mix_ceiling(profile, function, top.value));
	place->ridge = bandwidth ? top.value / bandwidth->rate.value : 0;
	place->noisy = top.noisy;
	if (slope < top.value)
		set_level(place, bandwidth);
	set_measured(profile, function, place);
	set_distance(function, place, 0);
	place->bound = flop_bound(place, function->intensity, place->ceiling);
}

static bool place_by_traced_bytes(const struct profile *profile, const struct model_choice *choice,
				  const struct model_function *function, struct model_place *place)
{
	const struct model_level *level = binding_level(function, choice);
	if (!level)
		return false;
	place->axis = AXIS_BYTES;
	place->traced = true;
	place->at_most = is_at_most(function, choice);
	place->point = level->rate;
	place->roof = place->ceiling = place->roof_l1 = level->bandwidth;
	set_traced_level(profile, choice, function, level, place);
	set_measured(profile, function, place);
	set_distance(function, place, spread_of_level(level, choice->direction));
	place->bound = place->distance > 2 ? BOUND_LATENCY : BOUND_MEMORY;
	excuse_late_writes(function, level, place);
	return true;
}

/* Bytes per second under the levels' bandwidths; false when nothing is to be placed so. */
static bool place_by_bytes(const struct profile *profile, const struct model_function *function,
			   struct model_place *place)
{
	double bytes = (double)function->tally.load_bytes + (double)function->tally.store_bytes;
	struct scale scale = scale_of(profile, function, INFINITY, 1);
	if (function->traffic)
		drop_memory(&scale);
	if (scale.n == 0)
		return false;
	place->axis = AXIS_BYTES;
	place->point = bytes * 1e-9 / function->elapsed_s;
	const struct model_bandwidth *bandwidth = infer_bandwidth(&scale, place->point);
	place->roof = place->ceiling = bandwidth->rate.value;
	place->roof_l1 = slope_of(&scale, scale.n - 1);
	set_level(place, bandwidth);
	set_measured(profile, function, place);
	set_distance(function, place, 0);
	place->bound = place->distance > 2 ? BOUND_LATENCY : BOUND_MEMORY;
	return true;
}

double model_issue_width(const struct profile *profile)
{
	const double width = profile_number_fact(profile, "issue_width", 0);
	return width >= 1 && width <= 64 ? width : MODEL_ISSUE_WIDTH;
}

double model_clock_ghz(const struct profile *profile)
{
	const char *fact = profile_get_fact(profile, "clock_ghz");
	const double clock = fact ? strtod(fact, NULL) : 0;
	return clock > 0 && clock < 100 ? clock : NAN;
}

/* Instructions per second under clock × issue width × threads. */
static bool place_by_instructions(const struct profile *profile,
				  const struct model_function *function, struct model_place *place)
{
	const double clock = model_clock_ghz(profile);
	place->axis = AXIS_INSTRUCTIONS;
	place->point = (double)function->tally.instructions * 1e-9 / function->elapsed_s;
	if (isnan(clock))
		return false;
	place->roof = place->ceiling = place->roof_l1 =
		clock * model_issue_width(profile) * function->concurrency;
	set_distance(function, place, 0);
	place->bound = place->distance > 2 ? BOUND_LATENCY : BOUND_ISSUE;
	return true;
}

/* A function without flop takes at least as long as its bytes need and as its instructions need:
 * the roof that it is nearer to is the one that holds it. */
static void place_control(const struct profile *profile, const struct model_choice *choice,
			  const struct model_function *function, struct model_place *place)
{
	struct model_place bytes = *place, instructions = *place, caches = *place;
	const bool all_known =
		is_traced(function) || (function->traffic && chosen_level(function, choice));
	bool has_bytes =
		function->traffic && place_by_traced_bytes(profile, choice, function, &bytes);
	if (!all_known && place_by_bytes(profile, function, &caches) &&
	    !(has_bytes && bytes.distance <= caches.distance)) {
		bytes = caches;
		has_bytes = true;
	}
	bool has_instructions = place_by_instructions(profile, function, &instructions);
	if (has_bytes && (!has_instructions || bytes.distance <= instructions.distance))
		*place = bytes;
	else
		*place = instructions;
}

void model_place(const struct profile *profile, const struct model_choice *choice,
		 struct model_function *function, bool counted)
{
	const struct tally *tally = &function->tally;
	struct model_place *place = &function->place;
	*place = (struct model_place){.distance = NAN, .headroom_s = NAN};
	if (function->time_ns > 0 && tally->instructions == 0 && tally->flop == 0)
		place->bound =
			counted && !model_from_counters(profile) ? BOUND_UNCOUNTED : BOUND_UNKNOWN;
	else if (function->time_ns > 0 &&
		 (double)tally->flop >= MODEL_FLOP_PER_INSTRUCTION * (double)tally->instructions)
		place_by_flop(profile, choice, function, place);
	else if (function->time_ns > 0)
		place_control(profile, choice, function, place);
}

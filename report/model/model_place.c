/* The point and its roof.
 *
 * Where the memory traffic was traced, each level has an intensity and a roof of its own, and the
 * lowest of them binds.
 *
 * Where the PMU tells what moved to and from memory (model_counters.c), DRAM's roof comes from
 * that, and the caches are inferred as below; the lower one binds.  Of what is a lower bound,
 * DRAM's roof is the most that it can be.
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

/* The bandwidth that holds a function. */
struct limit {
	const char *name; /* of its level; NULL: none was measured */
	bool known;       /* by what moved there, as traced or by the PMU; else it is inferred */
	double intensity; /* flop per byte there */
	double bandwidth, slope; /* slope: bandwidth × intensity; INFINITY: none */
	double slope_l1;         /* if all data come from L1 */
	const char *stores;      /* struct model_place; where it is inferred, as `noisy` */
	const struct roof *noisy;
	const struct model_level *level; /* where it is known */
};

/* Where the PMU has counted what moved to and from memory, LS bytes have no say in that. */
static size_t drop_memory(struct model_bandwidth *bandwidths, size_t n)
{
	size_t kept = 0;
	for (size_t i = 0; i < n; i++)
		if (bandwidths[i].level != ROOF_LEVEL_DRAM)
			bandwidths[kept++] = bandwidths[i];
	return kept;
}

/* The slowest bandwidth whose roof, min(top, intensity × bandwidth), is not below the point.  A
 * point above the slowest level of all has its data in some cache; when it is compute bound under
 * the fastest one, the work is what binds it, and no level between is named: a blocked matrix
 * product is not "bound by L3". */
static struct limit inferred_limit(const struct profile *profile,
				   const struct model_function *function, double top,
				   double intensity, double point)
{
	struct model_bandwidth all[MODEL_BANDWIDTHS];
	size_t n = model_bandwidths(profile, &function->tally, function->concurrency, all);
	if (function->traffic)
		n = drop_memory(all, n);
	if (n == 0)
		return (struct limit){.slope = INFINITY, .slope_l1 = INFINITY};
	const struct model_bandwidth *fastest = &all[n - 1], *slowest = fastest;
	const double slope_l1 = intensity * fastest->rate.value;
	for (size_t i = n; i-- > 0;)
		if (fmin(top, intensity * all[i].rate.value) * (1 + MODEL_TOLERANCE) >= point &&
		    all[i].rate.value <= slowest->rate.value)
			slowest = &all[i];
	const bool memory = !function->traffic && slowest->level == all[0].level;
	if (!memory && slope_l1 > (1 + BALANCED) * top)
		slowest = fastest;
	return (struct limit){.name = roof_level_name(slowest->level),
			      .intensity = intensity,
			      .bandwidth = slowest->rate.value,
			      .slope = intensity * slowest->rate.value,
			      .slope_l1 = slope_l1,
			      .stores = slowest->stores,
			      .noisy = slowest->rate.noisy};
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

/* Of a function whose traffic is known. */
static struct limit known_limit(const struct model_function *function,
				const struct model_choice *choice)
{
	const struct model_level *level = binding_level(function, choice),
				 *first = model_level(function->traffic, "L1");
	struct limit limit = {.known = true, .level = level, .slope = INFINITY};
	limit.slope_l1 =
		first && first->bandwidth > 0 ? first->bandwidth * first->intensity : INFINITY;
	if (level) {
		limit.name = level->name;
		limit.intensity = level->intensity;
		limit.bandwidth = level->bandwidth;
		limit.slope = level->bandwidth * level->intensity;
	}
	return limit;
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

static bool is_interpolated(const struct profile *profile, const struct model_function *function)
{
	return machine_roof_interpolated(profile->roofs, profile->n_roofs, function->concurrency);
}

/* The roof is a bandwidth. */
static void set_level(const struct profile *profile, const struct model_choice *choice,
		      const struct model_function *function, const struct limit *limit,
		      struct model_place *place)
{
	snprintf(place->level, sizeof(place->level), "%s", limit->name);
	place->stores = limit->stores;
	place->noisy =
		limit->known
			? model_rate_at(profile, function, limit->level, choice->direction).noisy
			: limit->noisy;
}

/* A roof that stands on a lower bound of what moved, or would be lower if more moved. */
static bool is_at_most(const struct model_function *function, const struct model_choice *choice)
{
	const struct model_level *memory = model_level(function->traffic, "DRAM");
	const char *chosen = chosen_level(function, choice);
	return memory && memory->at_least && (!chosen || strcmp(chosen, "DRAM") == 0);
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

/* Whether memory, as the PMU has counted it, is a lower roof than the caches' (at `slope`,
 * GFLOP/s); or a level was asked for that is known. */
static bool is_by_traffic(const struct model_function *function, const struct model_choice *choice,
			  double slope)
{
	const struct model_level *memory =
		function->traffic ? model_level(function->traffic, "DRAM") : NULL;
	return memory &&
	       (chosen_level(function, choice) ||
		(memory->bandwidth > 0 && memory->bandwidth * memory->intensity <= slope));
}

static void place_by_flop(const struct profile *profile, const struct model_choice *choice,
			  const struct model_function *function, struct model_place *place)
{
	const struct model_rate top = model_top(profile, function, &place->borrowed);
	struct limit limit = {.known = is_traced(function)};
	place->axis = AXIS_FLOP;
	place->point = (double)function->tally.flop * 1e-9 / function->elapsed_s;
	if (top.value <= 0)
		return;
	if (!limit.known) {
		limit = inferred_limit(profile, function, top.value, function->intensity,
				       place->point);
		limit.known = is_by_traffic(function, choice, limit.slope);
	}
	if (limit.known)
		limit = known_limit(function, choice);
	place->traced = limit.known;
	place->at_most = limit.known && is_at_most(function, choice);
	place->roof = fmin(top.value, limit.slope);
	place->roof_l1 = fmin(top.value, limit.slope_l1);
	place->ceiling = fmin(limit.slope, model_mix_ceiling(profile, function, top.value));
	place->ridge = limit.name ? top.value / limit.bandwidth : 0;
	place->noisy = top.noisy;
	place->interpolated = is_interpolated(profile, function);
	if (limit.slope < top.value)
		set_level(profile, choice, function, &limit, place);
	set_distance(function, place,
		     limit.slope < top.value ? spread_of_level(limit.level, choice->direction) : 0);
	place->bound = flop_bound(place, limit.intensity, place->ceiling);
	/* what its instructions can do at most is less than what memory lets them do */
	if (limit.known && (place->bound == BOUND_MEMORY || place->bound == BOUND_BALANCED) &&
	    place->ceiling < (1 - BALANCED) * limit.slope)
		place->bound = BOUND_COMPUTE;
	excuse_late_writes(function, limit.level, place);
}

/* Bytes per second under the levels' bandwidths; false when nothing is to be placed so.  known: by
 * what moved at a level. */
static bool place_by_bytes(const struct profile *profile, const struct model_choice *choice,
			   const struct model_function *function, bool known,
			   struct model_place *place)
{
	const double bytes =
		(double)function->tally.load_bytes + (double)function->tally.store_bytes;
	place->point = bytes * 1e-9 / function->elapsed_s;
	const struct limit limit =
		known ? known_limit(function, choice)
		      : inferred_limit(profile, function, INFINITY, 1, place->point);
	if (!limit.name)
		return false;
	place->axis = AXIS_BYTES;
	place->traced = known;
	place->at_most = known && is_at_most(function, choice);
	place->point = known ? limit.level->rate : place->point;
	place->roof = place->ceiling = limit.bandwidth;
	place->roof_l1 = known ? limit.bandwidth : limit.slope_l1;
	place->interpolated = is_interpolated(profile, function);
	set_level(profile, choice, function, &limit, place);
	set_distance(function, place, spread_of_level(limit.level, choice->direction));
	place->bound = place->distance > 2 ? BOUND_LATENCY : BOUND_MEMORY;
	excuse_late_writes(function, limit.level, place);
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
		function->traffic && place_by_bytes(profile, choice, function, true, &bytes);
	if (!all_known && place_by_bytes(profile, choice, function, false, &caches) &&
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

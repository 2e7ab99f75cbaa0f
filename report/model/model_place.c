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
#include "report/model/model_irregular.h"
#include "report/model/model_mix.h"
#include "report/model/model_roofs.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Balanced: within 20 % of the ridge. */
#define BALANCED 0.2
/* Further below every ceiling that applies than this it waits for something else. */
#define LATENCY_BOUND 2

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
	struct model_wait wait; /* for irregular loads there, where that is what holds it */
	double streamed_s;      /* then: what its bytes need without that wait; 0: none */
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

/* Relative, 95 %, of its time. */
static double spread_of_time(const struct model_function *function)
{
	return function->time_ns ? function->halfwidth_s * 1e9 / (double)function->time_ns : 0;
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

/* Irregular loads hold a function where they need longer than its bytes do: then the level is
 * theirs, and its bandwidth what it moves in that time. */
static void wait_for_lines(const struct profile *profile, const struct model_function *function,
			   const struct model_choice *choice, struct limit *limit)
{
	const struct model_wait wait = model_wait_of(profile, function);
	const double streamed =
		limit->level ? limit->level->rate / limit->level->bandwidth * function->elapsed_s
			     : 0;
	const struct model_level *level =
		wait.seconds > streamed
			? model_level(function->traffic, roof_level_name(wait.level))
			: NULL;
	if (!level || !(level->rate > 0) || choice->direction == DIRECTION_WRITE ||
	    (choice->level && strcmp(choice->level, level->name) != 0))
		return;
	limit->wait = wait;
	limit->streamed_s = streamed;
	limit->level = level;
}

/* Of a function whose traffic is known. */
static struct limit known_limit(const struct profile *profile,
				const struct model_function *function,
				const struct model_choice *choice)
{
	const struct model_level *level = binding_level(function, choice),
				 *first = model_level(function->traffic, "L1");
	struct limit limit = {.known = true, .level = level, .slope = INFINITY};
	wait_for_lines(profile, function, choice, &limit);
	limit.slope_l1 =
		first && first->bandwidth > 0 ? first->bandwidth * first->intensity : INFINITY;
	if (limit.level) {
		limit.name = limit.level->name;
		limit.intensity = limit.level->intensity;
		limit.bandwidth = limit.wait.pattern ? limit.level->rate * function->elapsed_s /
							       limit.wait.seconds
						     : limit.level->bandwidth;
		limit.slope = limit.bandwidth * limit.intensity;
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

/* By how much, relative, its time may be longer than was sampled, 95 %. */
static double most_of_time(const struct model_function *function)
{
	return fmax(spread_of_time(function), spread_of(function->n_samples));
}

/* `highest`: the roof that nothing passes; above `place->roof` where that is inferred.  `spread`:
 * relative, 95 %, of what moved at the level that the roof stands on. */
static void set_distance(const struct model_function *function, struct model_place *place,
			 double highest, double spread)
{
	place->above = place->point > highest * (1 + spread) * (1 + most_of_time(function));
	place->distance = place->roof / place->point;
	if (place->distance < 1 && !place->above)
		place->distance = 1;
	place->spread = hypot(spread_of_time(function), spread);
	place->headroom_s = function->elapsed_s * fmax(0, 1 - place->point / place->roof);
}

/* ---- what binds it ---- */

/* At another point of its interval the function is held by `bound`.  The first that differs is
 * kept; "latency" stands behind the other one. */
static void add_bound(struct model_place *place, enum model_bound bound)
{
	if (bound == place->bound || place->bound_or != BOUND_UNKNOWN)
		return;
	place->bound_or = place->bound == BOUND_LATENCY ? BOUND_LATENCY : bound;
	if (place->bound == BOUND_LATENCY)
		place->bound = bound;
}

/* Of a function without flop, which its roof holds unless it is further below. */
static void decide_by_distance(struct model_place *place, enum model_bound roof)
{
	const double ends[] = {place->distance, place->distance / (1 + place->spread),
			       place->distance * (1 + place->spread)};
	place->bound =
		ends[0] > LATENCY_BOUND || place->pattern == PATTERN_CHASE ? BOUND_LATENCY : roof;
	if (place->pattern == PATTERN_CHASE)
		return;
	for (size_t i = 1; i < sizeof(ends) / sizeof(*ends); i++)
		add_bound(place, ends[i] > LATENCY_BOUND ? BOUND_LATENCY : roof);
}

/* `lowest`: of the ceilings that apply; `slope`: of the level, where it is known, else INFINITY. */
static enum model_bound flop_bound(const struct model_place *place, double point, double intensity,
				   double lowest, double slope)
{
	if (point * LATENCY_BOUND < lowest)
		return BOUND_LATENCY;
	/* what its instructions can do at most is less than what memory lets them do */
	if (isfinite(slope) && place->ceiling < (1 - BALANCED) * slope)
		return BOUND_COMPUTE;
	if (place->ridge <= 0 || intensity > (1 + BALANCED) * place->ridge)
		return BOUND_COMPUTE;
	return intensity < (1 - BALANCED) * place->ridge ? BOUND_MEMORY : BOUND_BALANCED;
}

/* At the ends of the interval of its time, and of that of its bytes; `time` and `bytes`: relative
 * half-widths.  Those of the bytes are in its distance from a ceiling that is a bandwidth. */
static void decide_by_flop(struct model_place *place, const struct limit *limit, double time,
			   double bytes)
{
	const double slope = limit->known ? limit->slope : INFINITY;
	const double more = 1 + (place->ceiling < limit->slope ? time : hypot(time, bytes)),
		     fewer = bytes < 1 ? 1 / (1 - bytes) : INFINITY;
	const struct {
		double point, intensity;
	} ends[] = {{1, 1}, {1 / more, 1}, {more, 1}, {1, 1 / (1 + bytes)}, {1, fewer}};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		const enum model_bound bound =
			flop_bound(place, place->point * ends[i].point,
				   limit->intensity * ends[i].intensity, place->ceiling, slope);
		if (i == 0)
			place->bound = bound;
		else
			add_bound(place, bound);
	}
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
	const enum model_pattern pattern = limit->wait.pattern;
	snprintf(place->level, sizeof(place->level), "%s", limit->name);
	place->stores = limit->stores;
	place->pattern = pattern;
	place->noisy =
		pattern ? limit->wait.noisy
		: limit->known
			? model_rate_at(profile, function, limit->level, choice->direction).noisy
			: limit->noisy;
	if (pattern && limit->streamed_s > 0)
		place->roof_streamed = place->point * function->elapsed_s / limit->streamed_s;
	if (pattern == PATTERN_CHASE) {
		const struct model_irregular *irregular =
			&function->traffic->irregular[limit->wait.level - ROOF_LEVEL_L1];
		place->chains = irregular->chained / irregular->longest;
	}
}

/* A roof that stands on a lower bound of what moved, or would be lower if more moved. */
static bool is_at_most(const struct model_function *function, const struct model_choice *choice)
{
	const struct model_level *memory = model_level(function->traffic, "DRAM");
	const char *chosen = chosen_level(function, choice);
	return memory && memory->at_least && (!chosen || strcmp(chosen, "DRAM") == 0);
}

/* What a function has changed may be written back later, in the time of others, and is counted to
 * it all the same.  That explains a point above its roof where what it has read alone would not be
 * above. */
static void find_late_writes(const struct model_function *function, const struct model_level *level,
			     struct model_place *place)
{
	if (!place->above || !level || function->elapsed_s <= 0 || !is_traced(function))
		return;
	const double read = level->moved[DIRECTION_READ].bytes * 1e-9 / function->elapsed_s;
	place->late_writes = read <= level->bandwidth *
					     (1 + spread_of_level(level, DIRECTION_READ)) *
					     (1 + most_of_time(function));
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
	struct model_lack lack;
	const struct model_rate top = model_top(profile, function, &lack);
	struct limit limit = {.known = is_traced(function)};
	place->axis = AXIS_FLOP;
	place->borrowed = lack.precision;
	place->lacks = lack.op;
	place->point = (double)function->tally.flop * 1e-9 / function->elapsed_s;
	if (top.value <= 0)
		return;
	if (!limit.known) {
		limit = inferred_limit(profile, function, top.value, function->intensity,
				       place->point);
		limit.known = is_by_traffic(function, choice, limit.slope);
	}
	if (limit.known)
		limit = known_limit(profile, function, choice);
	place->traced = limit.known;
	place->at_most = limit.known && is_at_most(function, choice);
	place->roof = fmin(top.value, limit.slope);
	place->roof_l1 = fmin(top.value, limit.slope_l1);
	place->ceiling = fmin(limit.slope, fmin(top.value, model_mix_ceiling(profile, function)));
	place->ridge = limit.name ? top.value / limit.bandwidth : 0;
	place->noisy = top.noisy;
	place->interpolated = is_interpolated(profile, function);
	if (limit.slope < top.value)
		set_level(profile, choice, function, &limit, place);
	set_distance(function, place, place->traced ? place->roof : place->roof_l1,
		     limit.slope < top.value ? spread_of_level(limit.level, choice->direction) : 0);
	if (place->pattern == PATTERN_CHASE)
		place->bound = BOUND_LATENCY;
	else
		decide_by_flop(place, &limit, spread_of_time(function),
			       spread_of_level(limit.level, choice->direction));
	find_late_writes(function, limit.level, place);
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
		known ? known_limit(profile, function, choice)
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
	set_distance(function, place, place->roof_l1,
		     spread_of_level(limit.level, choice->direction));
	decide_by_distance(place, BOUND_MEMORY);
	find_late_writes(function, limit.level, place);
	return true;
}

double model_issue_width(const struct profile *profile)
{
	const double width = profile_number_fact(profile, "issue_width", 0);
	return width >= 1 && width <= 64 ? width : MODEL_ISSUE_WIDTH;
}

static double clock_fact(const struct profile *profile, const char *name)
{
	const char *fact = profile_get_fact(profile, name);
	const double clock = fact ? strtod(fact, NULL) : 0;
	return clock > 0 && clock < 100 ? clock : NAN;
}

double model_clock_ghz(const struct profile *profile)
{
	return clock_fact(profile, "clock_ghz");
}

double model_clock_held_ghz(const struct profile *profile)
{
	const double held = clock_fact(profile, "clock_held_ghz"),
		     highest = model_clock_ghz(profile);
	return isnan(held) || held > highest ? highest : held;
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
	set_distance(function, place, place->roof, 0);
	decide_by_distance(place, BOUND_ISSUE);
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

bool model_is_of_kernel(const struct profile *profile, const struct model_function *function)
{
	return function->function < profile->n_functions &&
	       profile_is_kernel(profile, profile->functions[function->function].module);
}

void model_place(const struct profile *profile, const struct model_choice *choice,
		 struct model_function *function, bool counted)
{
	const struct tally *tally = &function->tally;
	struct model_place *place = &function->place;
	*place = (struct model_place){.distance = NAN, .headroom_s = NAN};
	if (function->waits)
		place->bound = BOUND_WAITING;
	else if (model_is_of_kernel(profile, function))
		place->bound = BOUND_KERNEL;
	else if (function->time_ns > 0 && tally->instructions == 0 && tally->flop == 0)
		place->bound =
			counted && !model_from_counters(profile) ? BOUND_UNCOUNTED : BOUND_UNKNOWN;
	else if (function->time_ns > 0 &&
		 (double)tally->flop >= MODEL_FLOP_PER_INSTRUCTION * (double)tally->instructions)
		place_by_flop(profile, choice, function, place);
	else if (function->time_ns > 0)
		place_control(profile, choice, function, place);
}

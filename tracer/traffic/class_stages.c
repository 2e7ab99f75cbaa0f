/* Chooses the sample of classes that is simulated, and halves it where the program has to wait. */
#include "tracer/traffic/class_stages.h"

#include "base/clock.h"
#include "cache/class_sample.h"

#include <assert.h>

#define LEAST_CLASSES 2
#define LATE_CHUNKS 1024 /* so many in a stage are too many: a million records */
/* With more classes than MANY_CLASSES the checks alone slow the program down.  So many are
 * simulated for PATIENCE_NS divided by their number. */
#define MANY_CLASSES 4
#define PATIENCE_NS 4000000000ull

/* A sample of n classes, and its halves down to LEAST_CLASSES.  False when some of them share sets
 * with classes that are not in the sample. */
static bool choose_halves(struct class_stages *stages, const struct geometry *geometry,
			  bool prefetch, unsigned n)
{
	stages->n_stages = 0;
	for (uint64_t classes = class_sample(n);; classes = class_sample_half(classes, n), n /= 2) {
		if (geometry_classes(geometry, classes, prefetch) != classes)
			return false;
		assert(stages->n_stages < MAX_STAGES);
		stages->classes[stages->n_stages++] = classes;
		if (n <= LEAST_CLASSES)
			return true;
	}
}

void class_stages_init(struct class_stages *stages, const struct geometry *geometry,
		       const struct traffic_options *options)
{
	const unsigned sample = options->cache_sample;
	const unsigned n = !sample                  ? TRAFFIC_FEWEST
			   : sample < CACHE_CLASSES ? CACHE_CLASSES / sample
						    : 1;
	*stages = (struct class_stages){0};
	if (sample || !choose_halves(stages, geometry, options->cache_prefetch, TRAFFIC_MOST)) {
		stages->n_stages = 1;
		stages->classes[0] =
			geometry_classes(geometry, class_sample(n), options->cache_prefetch);
	}
	stages->now = stages->classes[0];
}

/* Whether fewer classes must do. */
static bool is_slow(struct class_stages *stages)
{
	const unsigned n = (unsigned)__builtin_popcountll(class_stages_sample(stages));
	if (!stages->began_ns)
		stages->began_ns = clock_now_ns();
	return stages->n_late > LATE_CHUNKS ||
	       (n > MANY_CLASSES && clock_now_ns() - stages->began_ns > PATIENCE_NS / n);
}

bool class_stages_add(struct class_stages *stages, uint64_t classes)
{
	if (__builtin_popcountll(stages->added | classes) > MOST_ADDED)
		return false;
	stages->added |= classes;
	stages->now |= classes;
	return true;
}

bool class_stages_advance(struct class_stages *stages, bool is_late)
{
	stages->n_late += is_late;
	if (stages->stage + 1 >= stages->n_stages || !is_slow(stages))
		return false;
	assert(!(stages->classes[stages->stage + 1] & ~class_stages_sample(stages)));
	stages->now = stages->classes[++stages->stage] | stages->added;
	stages->n_late = 0;
	return true;
}

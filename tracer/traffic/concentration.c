/* Counts the misses of bursts by instruction and class, and decides from that which classes a
 * sample lacks. */
#include "tracer/traffic/concentration.h"

#include "base/array.h"
#include "base/student.h"
#include "cache/traffic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Fewer bursts, or misses, say nothing of where an instruction goes. */
#define LEAST_BURSTS 3
#define LEAST_MISSES 48
/* An instruction with a smaller share of all misses is not worth a class of its own. */
#define LEAST_SHARE 0.01
/* So many of its classes, or so much of its misses, are enough. */
#define ENOUGH_CLASSES 2
#define ENOUGH_SHARE 0.9
#define MOST_MISSES 0x8000 /* of a class; then all of the instruction's are halved */

struct misses {
	uint16_t by_class[CACHE_CLASSES];
	uint8_t n_operands;
	uint32_t n_bursts;
	uint64_t burst;                        /* the last one */
	uint32_t burst_accesses, burst_misses; /* of that one, which is not in the sums yet */
	double accesses, misses;
	/* Sums over bursts of products of two of these: for the spread of their ratio. */
	double misses_2, accesses_2, both;
};

struct concentration {
	struct misses **misses; /* of each `who`; NULL: none yet */
	size_t n_misses;
	uint32_t *recent; /* who missed in the bursts since it was asked last */
	size_t n_recent, cap_recent;
	double all; /* misses */
};

bool burst_cache_init(struct burst_cache *cache, const struct geometry *geometry)
{
	const struct cache_level *first = &geometry->levels[0];
	*cache = (struct burst_cache){.sets = first->sets, .ways = first->ways};
	cache->lines = calloc(cache->sets * cache->ways, sizeof(*cache->lines));
	return cache->lines;
}

void burst_cache_deinit(struct burst_cache *cache)
{
	free(cache->lines);
	*cache = (struct burst_cache){0};
}

bool burst_cache_misses(struct burst_cache *cache, uint64_t line)
{
	uint64_t *set = &cache->lines[line % cache->sets * cache->ways];
	unsigned way = 0;
	while (way < cache->ways - 1 && set[way] != line + 1)
		way++;
	const bool misses = set[way] != line + 1;
	memmove(&set[1], &set[0], way * sizeof(*set));
	set[0] = line + 1;
	return misses;
}

struct concentration *concentration_create(void)
{
	return calloc(1, sizeof(struct concentration));
}

void concentration_destroy(struct concentration *concentration)
{
	if (!concentration)
		return;
	for (size_t i = 0; i < concentration->n_misses; i++)
		free(concentration->misses[i]);
	free(concentration->misses);
	free(concentration->recent);
	free(concentration);
}

static struct misses *misses_of(struct concentration *concentration, uint32_t who)
{
	if (!rf_array_reach((void **)&concentration->misses, &concentration->n_misses, who,
			    sizeof(*concentration->misses)))
		return NULL;
	if (!concentration->misses[who])
		concentration->misses[who] = calloc(1, sizeof(struct misses));
	return concentration->misses[who];
}

static void end_burst(struct misses *misses)
{
	const double m = misses->burst_misses, n = misses->burst_accesses;
	misses->misses += m;
	misses->accesses += n;
	misses->misses_2 += m * m;
	misses->accesses_2 += n * n;
	misses->both += m * n;
	misses->burst_misses = misses->burst_accesses = 0;
}

static void note_miss(struct concentration *concentration, struct misses *misses,
		      const struct burst_access *access)
{
	if (misses->by_class[access->class] >= MOST_MISSES)
		for (unsigned k = 0; k < CACHE_CLASSES; k++)
			misses->by_class[k] /= 2;
	misses->by_class[access->class]++;
	if (!misses->burst_misses++)
		(void)rf_array_push(concentration->recent, concentration->n_recent,
				    concentration->cap_recent, access->who);
	concentration->all++;
}

void concentration_note(struct concentration *concentration, const struct burst_access *access)
{
	struct misses *misses = misses_of(concentration, access->who);
	if (!misses)
		return;
	if (misses->burst != access->burst || !misses->n_bursts) {
		end_burst(misses);
		misses->burst = access->burst;
		misses->n_bursts++;
	}
	misses->n_operands = access->n_operands;
	misses->burst_accesses++;
	if (access->missed)
		note_miss(concentration, misses, access);
}

static double all_misses(const struct misses *misses)
{
	return misses->misses + misses->burst_misses;
}

/* How many classes it goes to, if it went to each of them alike: 1 to 64. */
static double n_classes(const struct misses *misses)
{
	double squares = 0, all = 0;
	for (unsigned k = 0; k < CACHE_CLASSES; k++) {
		squares += (double)misses->by_class[k] * misses->by_class[k];
		all += misses->by_class[k];
	}
	return squares > 0 ? all * all / squares : CACHE_CLASSES;
}

/* A sample of n classes that is spread over the remainders modulo n meets strides of up to n lines,
 * that is 64 / n classes, as often as any.  With few bursts a walk has not come to all its classes
 * yet: it comes to one more in each. */
static bool is_concentrated(const struct misses *misses, unsigned sampled)
{
	if (misses->n_bursts < LEAST_BURSTS || all_misses(misses) < LEAST_MISSES)
		return false;
	const double met = 0.75 * CACHE_CLASSES / sampled, by_bursts = misses->n_bursts / 2.0;
	return n_classes(misses) < (met < by_bursts ? met : by_bursts);
}

/* The class of most misses that is not simulated; -1 where the simulated ones are enough. */
static int class_lacking(const struct misses *misses, uint64_t simulated)
{
	unsigned n_covered = 0;
	uint64_t covered = 0, all = 0;
	int most = -1;
	for (unsigned k = 0; k < CACHE_CLASSES; k++) {
		all += misses->by_class[k];
		if (simulated >> k & 1) {
			n_covered += misses->by_class[k] > 0;
			covered += misses->by_class[k];
		} else if (misses->by_class[k] &&
			   (most < 0 || misses->by_class[k] > misses->by_class[most])) {
			most = (int)k;
		}
	}
	const bool enough =
		n_covered >= ENOUGH_CLASSES || (double)covered >= ENOUGH_SHARE * (double)all;
	return enough ? -1 : most;
}

int concentration_wants(struct concentration *concentration, uint64_t simulated, unsigned sampled)
{
	int wanted = -1;
	double most = 0;
	for (size_t i = 0; i < concentration->n_recent; i++) {
		const struct misses *misses = concentration->misses[concentration->recent[i]];
		const double all = all_misses(misses);
		if (all < most || all < LEAST_SHARE * concentration->all ||
		    !is_concentrated(misses, sampled))
			continue;
		const int class = class_lacking(misses, simulated);
		if (class < 0)
			continue;
		wanted = class;
		most = all;
	}
	concentration->n_recent = 0;
	return wanted;
}

/* The ratio of two sums over bursts, and its standard error (Cochran, Sampling Techniques, 2.11).
 */
struct miss_rate concentration_rate(const struct concentration *concentration, uint32_t who,
				    unsigned sampled)
{
	const struct misses *found =
		who < concentration->n_misses ? concentration->misses[who] : NULL;
	if (!found || sampled >= CACHE_CLASSES || !(all_misses(found) > 0))
		return (struct miss_rate){0};
	struct misses misses = *found;
	end_burst(&misses);
	const double n = misses.n_bursts, rate = misses.misses / misses.accesses;
	const double squares =
		misses.misses_2 - 2 * rate * misses.both + rate * rate * misses.accesses_2;
	const double variance =
		n > 1 ? fmax(squares, 0) * n / (n - 1) / (misses.accesses * misses.accesses)
		      : INFINITY;
	return (struct miss_rate){
		.concentrated = is_concentrated(found, sampled),
		.of_execution = misses.n_operands ? rate * misses.n_operands : NAN,
		.halfwidth = fmin(rf_student((unsigned)n - 1) * sqrt(variance) / rate, 1),
	};
}

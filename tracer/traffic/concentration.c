/* Counts the misses of bursts by instruction and class, and decides from that which classes a
 * sample lacks. */
#include "tracer/traffic/concentration.h"

#include "base/array.h"
#include "cache/traffic.h"
#include "statistics/student.h"

#include <assert.h>
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
/* Instructions that belong together: so near in the code, and met so close after one another. */
#define NEAR_BYTES 4096
#define NEAR_NUMBERS 512
#define CHANGED (1ull << 63) /* a line of the burst's cache */
/* A class is heavy only with so much of an instruction's misses, and with so many. */
#define HEAVY_SHARE (1.0 / 6)
#define HEAVY_MISSES 16
/* ... and in so many bursts: code that goes on from class to class meets some more often than
 * others by chance. */
#define HEAVY_BURSTS 5
#define HEAVY_PART 0.25 /* of all its bursts */

/* Sums over bursts, each with its weight; and of products, for the spread of a ratio. */
struct sums {
	double misses, misses_2, both; /* both: misses × accesses */
};

/* What an instruction misses in one class. */
struct class_misses {
	struct sums sums;
	double before; /* of these: before the class was simulated */
	uint16_t now;  /* in the last burst, which is not in the sums yet */
	uint16_t n;    /* misses, halved as those of all classes are (MOST_MISSES) */
	uint32_t n_bursts;
};

/* What an instruction misses, which most instructions do not. */
struct missed {
	double all, written; /* lines; of these, such as will be written back */
	double before_burst; /* all, without those of the last burst */
	struct class_misses classes[CACHE_CLASSES];
};

struct misses {
	uint64_t place; /* of the code */
	uint64_t burst; /* the last one */
	double weight;
	double accesses, accesses_2;
	double n_accesses; /* without weights */
	uint32_t n_bursts;
	uint32_t burst_accesses, burst_misses; /* of that one, which is not in the sums yet */
	uint8_t n_operands;
	struct missed *missed; /* NULL before the first miss */
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

bool burst_cache_misses(struct burst_cache *cache, uint64_t line, bool stores, bool *changed)
{
	uint64_t *set = &cache->lines[line % cache->sets * cache->ways];
	unsigned way = 0;
	while (way < cache->ways - 1 && (set[way] & ~CHANGED) != line + 1)
		way++;
	const bool misses = (set[way] & ~CHANGED) != line + 1;
	const uint64_t before = misses ? line + 1 : set[way],
		       after = stores ? before | CHANGED : before;
	memmove(&set[1], &set[0], way * sizeof(*set));
	set[0] = after;
	*changed = after != before;
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
		if (concentration->misses[i]) {
			free(concentration->misses[i]->missed);
			free(concentration->misses[i]);
		}
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

static void add_burst(struct sums *sums, double misses, double accesses)
{
	sums->misses += misses;
	sums->misses_2 += misses * misses;
	sums->both += misses * accesses;
}

static void end_burst(struct misses *misses)
{
	const double n = misses->weight * misses->burst_accesses;
	misses->accesses += n;
	misses->accesses_2 += n * n;
	misses->n_accesses += misses->burst_accesses;
	if (misses->missed)
		misses->missed->before_burst += misses->burst_misses;
	for (unsigned k = 0; misses->burst_misses && k < CACHE_CLASSES; k++) {
		struct class_misses *class = &misses->missed->classes[k];
		if (class->now)
			add_burst(&class->sums, misses->weight * class->now, n);
		class->now = 0;
	}
	misses->burst_misses = misses->burst_accesses = 0;
}

/* What is known of the operand's instruction, in that burst; NULL when memory is short. */
static struct misses *in_burst(struct concentration *concentration,
			       const struct burst_access *access)
{
	struct misses *misses = misses_of(concentration, access->who);
	if (!misses || (misses->burst == access->burst && misses->n_bursts))
		return misses;
	end_burst(misses);
	assert(access->weight > 0);
	misses->burst = access->burst;
	misses->weight = access->weight;
	misses->n_bursts++;
	misses->place = access->place;
	misses->n_operands = access->n_operands;
	return misses;
}

void concentration_note(struct concentration *concentration, const struct burst_access *access)
{
	struct misses *misses = in_burst(concentration, access);
	if (misses)
		misses->burst_accesses++;
}

void concentration_miss(struct concentration *concentration, const struct burst_access *access,
			struct burst_miss miss)
{
	struct misses *misses = in_burst(concentration, access);
	if (misses && !misses->missed)
		misses->missed = calloc(1, sizeof(*misses->missed));
	if (!misses || !misses->missed)
		return;
	struct missed *missed = misses->missed;
	struct class_misses *in_class = &missed->classes[miss.class];
	in_class->before += miss.simulated ? 0 : access->weight;
	in_class->n_bursts += !in_class->now;
	in_class->now += in_class->now < UINT16_MAX;
	if (in_class->n >= MOST_MISSES)
		for (unsigned k = 0; k < CACHE_CLASSES; k++)
			missed->classes[k].n /= 2;
	in_class->n++;
	missed->all += 1;
	missed->written += miss.written;
	if (!misses->burst_misses++)
		(void)rf_array_push(concentration->recent, concentration->n_recent,
				    concentration->cap_recent, access->who);
	concentration->all++;
}

static uint32_t misses_in(const struct misses *misses, unsigned class)
{
	return misses->missed ? misses->missed->classes[class].n : 0;
}

static double all_misses(const struct misses *misses)
{
	return misses->missed ? misses->missed->before_burst + misses->burst_misses : 0;
}

/* How many classes are gone to, if it were to each of them alike: 1 to 64. */
static double n_classes(const uint32_t by_class[CACHE_CLASSES])
{
	double squares = 0, all = 0;
	for (unsigned k = 0; k < CACHE_CLASSES; k++) {
		squares += (double)by_class[k] * by_class[k];
		all += by_class[k];
	}
	return squares > 0 ? all * all / squares : CACHE_CLASSES;
}

static void add_classes(uint32_t by_class[CACHE_CLASSES], const struct misses *misses)
{
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		by_class[k] += misses_in(misses, k);
}

/* What has to be known of where an instruction goes. */
struct bar {
	unsigned least_bursts, least_misses;
	bool by_bursts; /* with few bursts a walk has not come to all its classes yet: it comes to
			 * one more in each */
};
static const struct bar concentrated = {LEAST_BURSTS, LEAST_MISSES, true};
/* For one that would be told as nothing, since no class of it was simulated. */
static const struct bar unseen = {1, 16, false};

/* A sample of n classes that is spread over the remainders modulo n meets strides of up to n lines,
 * that is 64 / n classes, as often as any. */
static double few_classes(const struct misses *misses, const struct bar *bar, unsigned sampled)
{
	const double met = 0.75 * CACHE_CLASSES / sampled, by_bursts = misses->n_bursts / 2.0;
	return bar->by_bursts && by_bursts < met ? by_bursts : met;
}

static bool keeps_to_few(const struct misses *misses, const struct bar *bar, unsigned sampled)
{
	uint32_t by_class[CACHE_CLASSES] = {0};
	if (misses->n_bursts < bar->least_bursts || all_misses(misses) < bar->least_misses)
		return false;
	add_classes(by_class, misses);
	return n_classes(by_class) < few_classes(misses, bar, sampled);
}

/* Whether it belongs to the same loop: as many misses, nearby. */
static bool is_copy(const struct misses *misses, const struct misses *other)
{
	const double own = all_misses(misses), its = all_misses(other);
	return other->place - misses->place + NEAR_BYTES <= 2 * NEAR_BYTES && its >= own / 2 &&
	       its <= 2 * own;
}

/* Where a loop is unrolled each copy of an instruction takes large steps, and keeps to classes of
 * its own; together they go to all of them.  Their sum is told by a sample, and that is what can be
 * told of the loop. */
static void add_copies(const struct concentration *concentration, uint32_t who,
		       bool (*is_meant)(const struct misses *, const struct bar *, unsigned),
		       const struct bar *bar, unsigned sampled, uint32_t by_class[CACHE_CLASSES])
{
	const struct misses *misses = concentration->misses[who];
	const size_t first = who > NEAR_NUMBERS ? who - NEAR_NUMBERS : 0;
	for (size_t i = first; i < concentration->n_misses && i <= (size_t)who + NEAR_NUMBERS;
	     i++) {
		const struct misses *other = concentration->misses[i];
		if (other && is_copy(misses, other) && is_meant(other, bar, sampled))
			add_classes(by_class, other);
	}
}

static bool is_concentrated(const struct concentration *concentration, uint32_t who,
			    const struct bar *bar, unsigned sampled)
{
	const struct misses *misses = concentration->misses[who];
	uint32_t by_class[CACHE_CLASSES] = {0};
	if (!keeps_to_few(misses, bar, sampled))
		return false;
	add_copies(concentration, who, keeps_to_few, bar, sampled, by_class);
	return n_classes(by_class) < few_classes(misses, bar, sampled);
}

/* ---- heavy classes ---- */

/* A sample of n classes has one for each remainder modulo n, which stands for its 64 / n classes.
 * By so much does a class have more than its part: of all (few_classes), or than those with its
 * remainder. */
static bool is_heavy(const uint32_t by_class[CACHE_CLASSES], unsigned class, double all,
		     unsigned sampled)
{
	double of_remainder = 0;
	for (unsigned k = class % sampled; k < CACHE_CLASSES; k += sampled)
		of_remainder += by_class[k];
	return by_class[class] > all * sampled / (0.75 * CACHE_CLASSES) ||
	       (by_class[class] > all * HEAVY_SHARE &&
		by_class[class] > 2 * of_remainder * sampled / CACHE_CLASSES);
}

static uint64_t heavy_classes(const uint32_t by_class[CACHE_CLASSES], unsigned sampled)
{
	uint64_t classes = 0;
	double all = 0;
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		all += by_class[k];
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		if (is_heavy(by_class, k, all, sampled))
			classes |= UINT64_C(1) << k;
	return classes;
}

/* All that it keeps to: those with more than one of 64 parts. */
static uint64_t main_classes(const struct misses *misses)
{
	uint64_t classes = 0, all = 0;
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		all += misses_in(misses, k);
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		if (misses_in(misses, k) * (uint64_t)CACHE_CLASSES > all)
			classes |= UINT64_C(1) << k;
	return classes;
}

static bool has_heavy(const struct misses *misses, const struct bar *bar, unsigned sampled)
{
	uint32_t by_class[CACHE_CLASSES] = {0};
	if (misses->n_bursts < bar->least_bursts || all_misses(misses) < bar->least_misses)
		return false;
	add_classes(by_class, misses);
	return heavy_classes(by_class, sampled);
}

uint64_t concentration_heavy(const struct concentration *concentration, uint32_t who,
			     unsigned sampled, bool unsampled)
{
	uint32_t by_class[CACHE_CLASSES] = {0};
	if (sampled >= CACHE_CLASSES || who >= concentration->n_misses ||
	    !concentration->misses[who])
		return 0;
	const struct misses *misses = concentration->misses[who];
	if (is_concentrated(concentration, who, unsampled ? &unseen : &concentrated, sampled))
		return main_classes(misses);
	if (!has_heavy(misses, &concentrated, sampled))
		return 0;
	add_copies(concentration, who, has_heavy, &concentrated, sampled, by_class);
	uint64_t heavy = heavy_classes(by_class, sampled);
	for (uint64_t rest = heavy; rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctzll(rest);
		const unsigned n_bursts = misses->missed->classes[k].n_bursts;
		if (misses_in(misses, k) < HEAVY_MISSES || n_bursts < HEAVY_BURSTS ||
		    n_bursts < HEAVY_PART * misses->n_bursts)
			heavy &= ~(UINT64_C(1) << k);
	}
	return heavy;
}

/* The class of most misses that is not simulated; -1 where the simulated ones are enough. */
static int class_lacking(const struct misses *misses, uint64_t simulated)
{
	unsigned n_covered = 0;
	uint64_t covered = 0, all = 0;
	int most = -1;
	for (unsigned k = 0; k < CACHE_CLASSES; k++) {
		const uint32_t n = misses_in(misses, k);
		all += n;
		if (simulated >> k & 1) {
			n_covered += n > 0;
			covered += n;
		} else if (n && (most < 0 || n > misses_in(misses, (unsigned)most))) {
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
		const uint32_t who = concentration->recent[i];
		const struct misses *misses = concentration->misses[who];
		const double all = all_misses(misses);
		if (all < most || all < LEAST_SHARE * concentration->all)
			continue;
		if (!is_concentrated(concentration, who, &concentrated, sampled))
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

/* ---- rates ---- */

/* Sums over bursts of squares of what misses differ from the rate (Cochran, Sampling Techniques,
 * 2.11). */
static double squares_of(const struct misses *misses, const struct sums *sums)
{
	const double rate = sums->misses / misses->accesses;
	const double squares =
		sums->misses_2 - 2 * rate * sums->both + rate * rate * misses->accesses_2;
	return fmax(squares, 0);
}

/* Of so many bursts of equal weight the sums are worth. */
static double effective_bursts(const struct misses *misses)
{
	return fmin(misses->n_bursts, misses->accesses * misses->accesses / misses->accesses_2);
}

/* The standard error of a rate, times Student's t for 95 %.  Bursts are asked for by time, but what
 * a program does in a time depends on how fast it can be followed: where the rate changes from
 * burst to burst, half of what it changes by may be that. */
static double error_of(const struct misses *misses, double deviation)
{
	const double n = effective_bursts(misses), changes = deviation / sqrt(misses->accesses_2);
	return n < 2 ? INFINITY
		     : hypot(rf_student((unsigned)n - 1) * changes / sqrt(n - 1), changes / 2);
}

/* What is known of an instruction, with its last burst; false: too little. */
static bool known(const struct concentration *concentration, uint32_t who, struct misses *misses,
		  struct missed *missed)
{
	const struct misses *found =
		who < concentration->n_misses ? concentration->misses[who] : NULL;
	if (!found || !(all_misses(found) > 0))
		return false;
	*misses = *found;
	*missed = *found->missed;
	misses->missed = missed;
	end_burst(misses);
	return misses->accesses > 0; /* not one that is still at its first execution */
}

/* Classes may be heavy in the same bursts: their deviations are added up.  All bursts alike is what
 * is told; by the time that each stands for is another way to weigh them, and what that makes of it
 * is an error, too. */
struct miss_rate concentration_rate(const struct concentration *concentration, uint32_t who,
				    uint64_t wanted)
{
	const struct class_misses *classes;
	struct missed missed;
	struct misses misses;
	double by_time = 0, before = 0, deviation = 0, counted = 0, all = 0;
	if (!known(concentration, who, &misses, &missed))
		return (struct miss_rate){0};
	classes = missed.classes;
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		all += classes[k].n;
	for (uint64_t rest = wanted; rest; rest &= rest - 1) {
		const int k = __builtin_ctzll(rest);
		by_time += classes[k].sums.misses / misses.accesses;
		before += classes[k].before / misses.accesses;
		deviation += sqrt(squares_of(&misses, &classes[k].sums));
		counted += classes[k].n;
	}
	const double alike = counted / all * missed.before_burst / misses.n_accesses;
	const double error = error_of(&misses, deviation) + fabs(by_time - alike);
	return (struct miss_rate){
		.written = missed.written / missed.all,
		.of_execution = alike * misses.n_operands,
		.halfwidth = alike > 0 ? fmin(error / alike, 1) : 1,
		.before = by_time > 0 ? before / by_time : 1,
	};
}

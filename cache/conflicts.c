/* Tells conflicts of sets from other misses, by stack distances. */
#include "cache/conflicts.h"

#include "cache/reuse.h"

#include <assert.h>
#include <stdlib.h>

/* What is known of a line that is followed. */
struct followed {
	double distance; /* at its last use: how many lines were used since the one before */
	double farthest; /* the most of those since it was changed */
	bool first;      /* its last use was the first that is known */
	bool written;    /* to memory, since it was changed, */
	uint32_t writer; /* for whom */
};

struct conflicts {
	double capacity; /* lines */
	uint64_t sample;
	unsigned n_sampled;
	struct reuse *reuse;
	struct followed *lines; /* by slot */
	struct followed *used;  /* the last use's; NULL: that line is not followed */
};

static void dropped(void *context, uint32_t slot)
{
	struct conflicts *conflicts = context;
	conflicts->lines[slot] = (struct followed){0};
}

struct conflicts *conflicts_create(uint64_t capacity, uint64_t sample, size_t max_lines)
{
	struct conflicts *conflicts = calloc(1, sizeof(*conflicts));
	if (!conflicts)
		return NULL;
	conflicts->capacity = (double)capacity;
	conflicts->sample = sample;
	conflicts->n_sampled = (unsigned)__builtin_popcountll(sample);
	conflicts->lines = calloc(max_lines, sizeof(*conflicts->lines));
	conflicts->reuse = reuse_create(max_lines, CACHE_CLASSES, dropped, conflicts);
	if (conflicts->lines && conflicts->reuse)
		return conflicts;
	conflicts_destroy(conflicts);
	return NULL;
}

void conflicts_destroy(struct conflicts *conflicts)
{
	if (!conflicts)
		return;
	reuse_destroy(conflicts->reuse);
	free(conflicts->lines);
	free(conflicts);
}

/* Lines of all classes, from those of a line's own and those of the sample. */
static double distance_of(const struct conflicts *conflicts, unsigned class,
			  const struct reuse_distance *distance)
{
	const bool in_sample = conflicts->sample >> class & 1;
	const unsigned n_others = conflicts->n_sampled - in_sample;
	const double others = (double)(distance->all - (in_sample ? distance->own : 0));
	if (n_others == 0)
		return (double)distance->own * CACHE_CLASSES;
	return (double)distance->own + others * (CACHE_CLASSES - 1) / n_others;
}

/* NULL: the line is not followed. */
static struct followed *use(struct conflicts *conflicts, uint64_t line)
{
	const unsigned class = line % CACHE_CLASSES;
	struct reuse_use use;
	conflicts->used = NULL;
	if (!reuse_access_of(conflicts->reuse, line, class, conflicts->sample >> class & 1, &use))
		return NULL;
	struct followed *followed = &conflicts->lines[use.slot];
	if (use.first)
		*followed = (struct followed){0};
	followed->first = use.first;
	followed->distance = distance_of(conflicts, class, &use.distance);
	if (followed->distance > followed->farthest)
		followed->farthest = followed->distance;
	return conflicts->used = followed;
}

/* The level above writes a line back.  If it has been written to memory since it was changed last,
 * a cache that has not replaced it meanwhile would not have done that. */
static struct conflict change(struct conflicts *conflicts, uint64_t line)
{
	struct followed *followed = use(conflicts, line);
	struct conflict conflict = {0};
	if (!followed)
		return conflict;
	if (followed->written && followed->farthest < conflicts->capacity)
		conflict = (struct conflict){followed->writer, 0, reuse_weight(conflicts->reuse)};
	followed->farthest = 0;
	followed->written = false;
	return conflict;
}

/* The line that was used just before comes from memory. */
static struct conflict fetch(const struct conflicts *conflicts, uint32_t who)
{
	const struct followed *followed = conflicts->used;
	const uint64_t weight = reuse_weight(conflicts->reuse);
	if (!followed)
		return (struct conflict){0};
	const bool needless = !followed->first && followed->distance < conflicts->capacity;
	return (struct conflict){who, weight, needless ? weight : 0};
}

/* Whether it had to is told when the line is changed again. */
static struct conflict write_back(struct conflicts *conflicts, uint32_t who, uint64_t line)
{
	const uint32_t slot = reuse_slot(conflicts->reuse, line);
	if (slot == UINT32_MAX)
		return (struct conflict){0};
	conflicts->lines[slot].written = true;
	conflicts->lines[slot].writer = who;
	return (struct conflict){who, reuse_weight(conflicts->reuse), 0};
}

struct conflict conflicts_event(struct conflicts *conflicts, int n_levels, enum traffic event,
				uint32_t who, uint64_t line)
{
	const enum traffic read = n_levels > 2 ? TRAFFIC_L3_READ : TRAFFIC_L2_READ;
	assert(conflicts_hear(n_levels, event));
	if (event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE)
		return fetch(conflicts, who);
	if (event == TRAFFIC_MEM_WRITE_BACK)
		return write_back(conflicts, who, line);
	if (event == read || event == read + 1) /* write-allocate */
		(void)use(conflicts, line);
	else if (event == read + 2) /* write-back */
		return change(conflicts, line);
	return (struct conflict){who, event == TRAFFIC_MEM_NON_TEMPORAL, 0};
}

uint64_t conflicts_lost(const struct conflicts *conflicts)
{
	return reuse_lost(conflicts->reuse);
}

/* What is known of a line is forgotten at its first use. */
void conflicts_empty(struct conflicts *conflicts)
{
	reuse_forget(conflicts->reuse);
	conflicts->used = NULL;
}

/* Chases and independent loads, in random order, of lines that lie a page apart. */
#include "machine/roofs/page_costs.h"

#include "machine/kernels/random_access.h"
#include "machine/roofs/roofs_bandwidth.h"
#include "machine/roofs/roofs_sites.h"
#include "machine/roofs/team.h"

#include <math.h>
#include <sys/mman.h>
#include <time.h>

#define MEMORY_PART 4
#define PAGE 4096
#define FIRST_WALK 16 /* pages */
/* A page and a line: such lines are spread over all sets of the caches. */
#define SPREAD (PAGE + ROOFS_LINE_BYTES)
#define SEED 1
#define REPEATS 7
#define PASSES 3 /* over all numbers of pages: no spell of other load meets one of them in all */
#define LEAST_LINES 8192 /* of a repeat: some ten µs at least */
/* Fewer would not have as many lines under way as there can be. */
#define FEWEST_CHAINS 8
/* Loads that take so much longer, some three cycles, have missed the nearest TLB: the next one
 * costs seven or more. */
#define FARTHER_NS 0.7
/* Of the longest walk's cost: what is above it misses the farthest TLB too.  Walks get longer as
 * page tables leave the caches, so the first ones that miss are far below the last one. */
#define MISSES 0.25
/* A dependent load that takes less longer than that found its page in a TLB. */
#define LEAST_WALK_NS 2

/* Lines that are linked to a cycle. */
struct lines {
	char *memory;
	size_t n, apart; /* bytes */
};

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* ns of a line: the best of the repeats, behind one that does not count. */
static double time_lines(const struct lines *lines, const struct random_kernel *kernel)
{
	const size_t n = lines->n > LEAST_LINES ? lines->n : LEAST_LINES,
		     steps = n / (size_t)kernel->chains + 1;
	struct random_state state;
	double best = INFINITY;
	random_state_init(&state, lines->memory, lines->n * lines->apart, lines->apart,
			  kernel->chains);
	kernel->run(steps, &state);
	for (int i = 0; i < REPEATS; i++) {
		const double start = now_ns();
		kernel->run(steps, &state);
		best = fmin(best, (now_ns() - start) / (double)(steps * (size_t)kernel->chains));
	}
	return best;
}

/* Links the lines, and times loads that wait for each other and independent ones. */
static void time_both(const struct lines *lines, double ns[2])
{
	random_access_prepare(lines->memory, lines->n * lines->apart, lines->apart, SEED);
	ns[0] = time_lines(lines, &random_kernels[0]);
	ns[1] = INFINITY;
	for (size_t i = 0; i < n_random_kernels; i++)
		if (random_kernels[i].chains >= FEWEST_CHAINS &&
		    (size_t)random_kernels[i].chains <= lines->n)
			ns[1] = fmin(ns[1], time_lines(lines, &random_kernels[i]));
}

static struct page_walk walk_over(char *memory, uint32_t pages)
{
	struct page_walk walk = {.pages = pages};
	double far[2], near[2];
	time_both(&(struct lines){memory, pages, SPREAD}, far);
	time_both(&(struct lines){memory, pages, ROOFS_LINE_BYTES}, near);
	for (int i = 0; i < 2; i++)
		walk.ns[i] = fmax(0, far[i] - near[i]);
	return walk;
}

/* ---- what walks tell ---- */

/* A larger number of pages cannot be faster: other load only makes walks slower. */
static void smooth(const struct page_walk *walks, size_t n, struct page_walk *smoothed)
{
	for (size_t i = n; i-- > 0;) {
		smoothed[i] = walks[i];
		for (int kind = 0; kind < 2 && i + 1 < n; kind++)
			smoothed[i].ns[kind] = fmin(smoothed[i].ns[kind], smoothed[i + 1].ns[kind]);
	}
}

/* The last walk whose dependent loads take less longer, or `n`. */
static size_t last_below(const struct page_walk *walks, size_t n, double ns)
{
	size_t found = n;
	for (size_t i = 0; i < n; i++)
		if (walks[i].ns[0] < ns)
			found = i;
	return found;
}

void page_costs_of_walks(const struct page_walk *walks, size_t n, struct page_costs *costs)
{
	struct page_walk smoothed[PAGE_WALKS];
	costs->first_pages = costs->last_pages = 0;
	for (int kind = 0; kind < 2; kind++)
		costs->second_ns[kind] = costs->walk_ns[kind] = 0;
	if (!n || n > PAGE_WALKS)
		return;
	smooth(walks, n, smoothed);
	const double longest = smoothed[n - 1].ns[0];
	const size_t first = last_below(smoothed, n, FARTHER_NS),
		     last = last_below(smoothed, n, MISSES * longest);
	if (longest < LEAST_WALK_NS || first == n || last == n || last < first)
		return; /* all pages were in reach, or none */
	costs->first_pages = smoothed[first].pages;
	costs->last_pages = smoothed[last].pages;
	for (int kind = 0; kind < 2; kind++) {
		costs->second_ns[kind] = smoothed[(first + last + 1) / 2].ns[kind];
		costs->walk_ns[kind] = smoothed[n - 1].ns[kind];
	}
}

/* ---- memory ---- */

struct measurement {
	const struct roofs_run *run;
	const struct roof_site *site;
	struct page_costs *costs;
};

/* Not where that much might be more than there is beside the roofs' own memory. */
static void measure_walks(const struct topology *topology, struct page_costs *costs)
{
	const size_t bytes = (size_t)FIRST_WALK * SPREAD << (PAGE_WALKS - 1);
	struct page_walk walks[PAGE_WALKS];
	if (bytes > topology->memory_available / MEMORY_PART)
		return;
	char *memory =
		mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (memory == MAP_FAILED)
		return;
	madvise(memory, bytes, MADV_NOHUGEPAGE);
	for (size_t i = 0; i < PASSES * PAGE_WALKS; i++) {
		struct page_walk *walk = &walks[i % PAGE_WALKS];
		const struct page_walk now = walk_over(memory, FIRST_WALK << i % PAGE_WALKS);
		for (int kind = 0; i >= PAGE_WALKS && kind < 2; kind++)
			walk->ns[kind] = fmin(walk->ns[kind], now.ns[kind]);
		if (i < PAGE_WALKS)
			*walk = now;
	}
	munmap(memory, bytes);
	page_costs_of_walks(walks, PAGE_WALKS, costs);
}

/* Of all memory that a level's rows walk through the first line of each page, which are of one set
 * of an L1 whose ways are a page long. */
static void measure_sets(const struct measurement *measurement, const struct arena *arena)
{
	struct level_size levels[SITE_LEVELS];
	const size_t n = roofs_levels(measurement->run, measurement->site, levels);
	for (size_t i = 0; i < n; i++) {
		const struct lines lines = {arena->base, levels[i].bytes / PAGE, PAGE};
		double ns[2];
		if (levels[i].level < ROOF_LEVEL_L2 || lines.n < FEWEST_CHAINS ||
		    levels[i].bytes > arena->bytes)
			continue;
		time_both(&lines, ns);
		measurement->costs->one_set_ns[levels[i].level - ROOF_LEVEL_L2] = ns[1];
	}
}

static void measure_here(void *context, int thread)
{
	const struct measurement *measurement = context;
	struct arena *arena = &measurement->site->arenas[thread];
	const size_t longest = (size_t)FIRST_WALK << (PAGE_WALKS - 1);
	if (thread > 0)
		return;
	arena->linked = 0;
	measure_sets(measurement, arena);
	size_t pages = arena->bytes / SPREAD;
	pages = pages < longest ? pages : longest;
	const struct page_walk walk = walk_over(arena->base, (uint32_t)pages);
	for (int kind = 0; kind < 2; kind++)
		measurement->costs->huge_walk_ns[kind] = walk.ns[kind];
	measure_walks(measurement->run->topology, measurement->costs);
}

void page_costs_measure(const struct roofs_run *run, const struct roof_site *site,
			struct page_costs *costs)
{
	struct measurement measurement = {run, site, costs};
	*costs = (struct page_costs){0};
	team_run(site->team, measure_here, &measurement);
	costs->measured = true;
}

/* Finds knees and the effective size of the last cache in walks by size. */
#include "machine/data/size_curve.h"

#include <math.h>

/* A latency of this part of memory's is memory's.  A cache of C bytes that replaces at
 * random holds C/S of S bytes, so that walks get there between C (least recently used lines go) and
 * about 2 C. */
#define MEMORY_LATENCY 0.75
/* So many times the rate of reads of memory is still that of memory. */
#define MEMORY_READ 1.3
/* Sizes from so many times the reported one on are in memory; there must be some. */
#define BEYOND 2

/* What walks of `i` and all larger sizes reach at best: `median` by their median repeats. */
static double latency_from(const struct size_point *sizes, size_t n, size_t i, bool median)
{
	double lowest = INFINITY;
	for (; i < n; i++)
		lowest = fmin(lowest, median ? sizes[i].latency_median_ns : sizes[i].latency_ns);
	return lowest;
}

double size_latency(const struct size_point *sizes, size_t n, size_t i)
{
	return latency_from(sizes, n, i, false);
}

static double read_from(const struct size_point *sizes, size_t n, size_t i, bool median)
{
	double highest = 0;
	for (; i < n; i++)
		highest = fmax(highest, median ? sizes[i].read_median_gbs : sizes[i].read_gbs);
	return highest;
}

size_t size_knees(const struct size_point *sizes, size_t n, struct size_knee knees[SIZE_KNEES])
{
	size_t n_knees = 0;
	for (size_t i = 0; i + 1 < n && n_knees < SIZE_KNEES;) {
		size_t end = i;
		while (end + 1 < n &&
		       size_latency(sizes, n, end + 1) >= SIZE_RISE * size_latency(sizes, n, end))
			end++;
		if (size_latency(sizes, n, end) >= SIZE_KNEE * size_latency(sizes, n, i))
			knees[n_knees++] = (struct size_knee){i, end};
		i = end > i ? end : i + 1;
	}
	return n_knees;
}

/* The first size at which the chase, and the read, are as in memory, which those of size `beyond`
 * and above are in. */
static size_t chase_end(const struct size_point *sizes, size_t n, size_t beyond, bool median)
{
	const double memory = latency_from(sizes, n, beyond, median);
	size_t i = 0;
	while (latency_from(sizes, n, i, median) < MEMORY_LATENCY * memory)
		i++;
	return i;
}

static size_t read_end(const struct size_point *sizes, size_t n, size_t beyond, bool median)
{
	const double memory = read_from(sizes, n, beyond, median);
	size_t i = 0;
	while (read_from(sizes, n, i, median) > MEMORY_READ * memory)
		i++;
	return i;
}

/* How often the reported size must be halved to come closest to where a walk ends, which is between
 * the size before `end` and `end`. */
static int halvings(const struct size_point *sizes, size_t end, uint64_t reported)
{
	const double first = (double)sizes[end].bytes,
		     last = end ? (double)sizes[end - 1].bytes : first;
	const double k = round(log2((double)reported / sqrt(first * last)));
	return k > 0 ? (int)k : 0;
}

static const struct machine_cache *last_cache(const struct machine *machine)
{
	const struct machine_cache *last = NULL;
	for (size_t i = 0; i < machine->n_caches; i++)
		if (!last || machine->caches[i].level > last->level)
			last = &machine->caches[i];
	return last;
}

/* The size of the largest cache that is nearer than the last; 0: none. */
static uint64_t inner_bytes(const struct machine *machine, const struct machine_cache *last)
{
	uint64_t bytes = 0;
	for (size_t i = 0; i < machine->n_caches; i++)
		if (machine->caches[i].level < last->level && machine->caches[i].size_bytes > bytes)
			bytes = machine->caches[i].size_bytes;
	return bytes;
}

struct size_verdict size_verdict(const struct machine *machine)
{
	const struct size_point *sizes = machine->sizes;
	const size_t n = machine->n_sizes;
	const struct machine_cache *last = last_cache(machine);
	if (!last || !n)
		return (struct size_verdict){0};
	struct size_verdict verdict = {.reported = last->size_bytes, .effective = last->size_bytes};
	size_t beyond = 0;
	while (beyond < n && sizes[beyond].bytes < BEYOND * last->size_bytes)
		beyond++;
	if (beyond == n)
		return verdict;
	const size_t chase = chase_end(sizes, n, beyond, false),
		     read = read_end(sizes, n, beyond, false);
	const int k[] = {
		halvings(sizes, chase, last->size_bytes),
		halvings(sizes, chase_end(sizes, n, beyond, true), last->size_bytes),
		halvings(sizes, read, last->size_bytes),
		halvings(sizes, read_end(sizes, n, beyond, true), last->size_bytes),
	};
	verdict.chase_end = sizes[chase].bytes;
	verdict.read_end = sizes[read].bytes;
	/* All four have to doubt the reported size, or none; the least doubt counts. */
	int least = k[0], most = k[0];
	for (size_t i = 1; i < sizeof(k) / sizeof(*k); i++) {
		least = k[i] < least ? k[i] : least;
		most = k[i] > most ? k[i] : most;
	}
	verdict.clear = most == 0 || (least > 0 && most - least <= 1);
	while (verdict.clear && least-- > 0 && verdict.effective / 2 > inner_bytes(machine, last))
		verdict.effective /= 2;
	return verdict;
}

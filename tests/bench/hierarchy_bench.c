/* Time of one access of cache/hierarchy.h, by pattern; called by tests/bench/hierarchy.
 *
 * As in a traced run there are only accesses to lines of the simulated classes.  They are made
 * beforehand. */
#include "cache/hierarchy.h"

#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define ACCESSES (1u << 17)
#define ROUNDS 60

struct access {
	uint64_t line;
	uint32_t who;
	uint8_t core, kind, first, n;
};

static uint64_t events[N_TRAFFIC];

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	events[event]++;
}

static uint64_t next_random(void)
{
	static uint64_t state = 88172645463325252;
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state;
}

/* The i-th line of the classes. */
static uint64_t line_of(uint64_t i, uint64_t classes)
{
	unsigned n = __builtin_popcountll(classes), k = i % n;
	uint64_t left = classes;
	while (k--)
		left &= left - 1;
	return (UINT64_C(1) << 40) + i / n * CACHE_CLASSES + __builtin_ctzll(left);
}

/* Random accesses to `bytes` of memory, a third of them stores; or a stream when 0. */
struct pattern {
	const char *name;
	uint64_t bytes;
	enum { RANDOM, LOADS, TRIAD, COPY, PARTS } kind;
	unsigned cores;
};

static void make(const struct pattern *pattern, uint64_t classes, struct access *accesses)
{
	uint64_t lines =
		pattern->bytes / CACHE_LINE * __builtin_popcountll(classes) / CACHE_CLASSES;
	for (uint64_t i = 0; i < ACCESSES; i++) {
		struct access *a = &accesses[i];
		*a = (struct access){.who = i % 64, .n = 64, .core = i / 64 % pattern->cores};
		switch (pattern->kind) {
		case RANDOM:
			a->line = line_of(next_random() % lines, classes);
			a->kind = next_random() % 3 ? CACHE_LOAD : CACHE_STORE;
			a->n = 8;
			break;
		case LOADS:
			a->line = line_of(i, classes);
			break;
		case PARTS: /* every line eight times */
			a->line = line_of(i / 8, classes);
			a->n = 8;
			a->first = i % 8 * 8;
			break;
		case TRIAD:
			a->line = line_of(i / 3, classes) + i % 3 * (UINT64_C(1) << 24);
			a->kind = i % 3 == 2 ? CACHE_STORE : CACHE_LOAD;
			break;
		case COPY:
			a->line = line_of(i / 2, classes) + i % 2 * (UINT64_C(1) << 24);
			a->kind = i % 2 ? CACHE_NON_TEMPORAL : CACHE_LOAD;
			break;
		}
	}
}

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec * 1e9 + time.tv_nsec;
}

/* Streams go on where the last round ended: `shift` lines further. */
static double round_ns(struct hierarchy *h, const struct access *accesses, uint64_t shift)
{
	double begin = now();
	for (uint64_t i = 0; i < ACCESSES; i++) {
		const struct access *a = &accesses[i];
		hierarchy_access(h, a->core, a->line + shift, a->kind, a->first, a->n, a->who);
	}
	return (now() - begin) / ACCESSES;
}

static void run(const char *text, uint64_t classes, const struct pattern *pattern,
		struct access *accesses)
{
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	struct hierarchy *h =
		error ? NULL
		      : hierarchy_create(&geometry, pattern->cores, classes, false, count, NULL);
	if (!h)
		exit(2);
	make(pattern, classes, accesses);
	double best = 1e9, sum = 0;
	for (int i = 0; i < ROUNDS + 1; i++) {
		double ns = round_ns(h, accesses, pattern->bytes ? 0 : (uint64_t)i << 27);
		if (i > 0) {
			best = ns < best ? ns : best;
			sum += ns;
		}
	}
	const struct mallinfo2 memory = mallinfo2();
	printf("%-46s %2d classes  %-34s %6.1f %6.1f ns  %6.1f MB\n", text,
	       __builtin_popcountll(classes), pattern->name, best, sum / ROUNDS,
	       (memory.uordblks + memory.hblkhd) / 1e6);
	fflush(stdout);
	hierarchy_destroy(h);
}

int main(void)
{
	static const char *const geometries[] = {
		"L1=48K:12,L2=2M:16,L3=105M:15:victim",
		"L1=48K:12,L2=2M:16,L3=480M:16:victim",
		"L1=32K:8:plru,L2=256K:8:plru,L3=35M:20:inclusive",
		"L1=32K:8,L2=512K:8:inclusive,L3=32M:16:victim",
	};
	static const uint64_t classes[] = {UINT64_C(0x0100200040000800), UINT64_MAX};
	static const struct pattern patterns[] = {
		{"eight on a line, then the next", 0, PARTS, 1},
		{"random in 32 KB", 32 << 10, RANDOM, 1},
		{"random in 192 KB", 192 << 10, RANDOM, 1},
		{"random in 8 MB", 8 << 20, RANDOM, 1},
		{"random in 4 GB", UINT64_C(4) << 30, RANDOM, 1},
		{"stream of loads", 0, LOADS, 1},
		{"triad", 0, TRIAD, 1},
		{"copy, non-temporal", 0, COPY, 1},
		{"triad, 2 cores", 0, TRIAD, 2},
		{"random in 32 KB, 2 cores", 32 << 10, RANDOM, 2},
		{"triad, 16 cores", 0, TRIAD, 16},
	};
	struct access *accesses = calloc(ACCESSES, sizeof(*accesses));
	if (!accesses)
		return 2;
	printf("%-46s %10s  %-34s %6s %6s\n", "", "", "", "best", "mean");
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++)
		for (size_t j = 0; j < sizeof(classes) / sizeof(classes[0]); j++)
			for (size_t k = 0; k < sizeof(patterns) / sizeof(patterns[0]); k++)
				if (j == 0 || i == 0)
					run(geometries[i], classes[j], &patterns[k], accesses);
	free(accesses);
	return 0;
}

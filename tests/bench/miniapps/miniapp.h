/* What the mini-apps share.  Each has one kernel or more, prints a sum that depends on all its
 *results, and, of each kernel, how many floating-point operations its source asks for: truth
 *kernel='NAME' flop=N They are compiled without -ffast-math and with -ffp-contract=off, so that no
 *compiler may ask for others; with or without OpenMP. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define KERNEL_FUNCTION __attribute__((noipa)) static

static inline void truth(const char *kernel, uint64_t flop)
{
	printf("truth kernel='%s' flop=%llu\n", kernel, (unsigned long long)flop);
}

/* n elements of `size` bytes, all 0. */
static inline void *array_of(size_t n, size_t size)
{
	void *array = calloc(n, size);
	if (!array) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	return array;
}

/* Argument number i, or what is usual. */
static inline int argument(int n, char **words, int i, int usual)
{
	return i < n ? atoi(words[i]) : usual;
}

/* Knuth's generator (MMIX): the state is its own. */
static inline uint32_t next_random(uint64_t *state)
{
	*state = *state * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(*state >> 33);
}

/* What loops of account_loops.c and account_unseen.c work on: arrays in L1, and a working set. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define KERNEL(name) __attribute__((noinline, noclone)) static void name(size_t turns)
/* A value that the compiler knows nothing of, and a place that it takes to be used. */
#define UNKNOWN(x) __asm__ volatile("" : "+r"(x))
#define UNKNOWN_FP(x) __asm__ volatile("" : "+x"(x))
#define USED __asm__ volatile("" ::: "memory")

/* A loop that makes each element of an array from that of another one, which it calls x. */
#define MAP(name, type, to, from, expression)                        \
	KERNEL(name)                                                 \
	{                                                            \
		for (size_t turn = 0; turn < turns; turn += SMALL) { \
			for (size_t i = 0; i < SMALL; i++) {         \
				type x = from[i];                    \
				to[i] = expression;                  \
			}                                            \
			__asm__ volatile("" : : "r"(to) : "memory"); \
		}                                                    \
	}

#define SMALL 1024 /* elements that fit into L1 */
#define LINE 64

static double numbers[SMALL], results[SMALL];
static float floats[SMALL], float_results[SMALL];
static uint64_t words[SMALL], word_results[SMALL];
static uint32_t half_words[SMALL], half_results[SMALL];
static unsigned char text[SMALL];
#define KEYS (1 << 16)
static uint32_t random_keys[KEYS], keys[KEYS], merged[KEYS];
static volatile double sink;
static volatile uint64_t word_sink;

static char *memory; /* of the working set */
static size_t bytes;

static uint64_t random_state = 88172645463325252;
static uint64_t next_random(void)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return random_state;
}

/* Others for each pass: some predictors learn by heart what comes again. */
__attribute__((noinline, noclone)) static void renew_keys(void)
{
	for (size_t i = 0; i < KEYS; i++)
		random_keys[i] = (uint32_t)(next_random() >> 16);
}

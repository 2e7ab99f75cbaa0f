/* Draws the random sample of classes that a run simulates. */
#include "cache/class_sample.h"

#include "cache/traffic.h"

#include <stdbool.h>
#include <sys/random.h>
#include <time.h>

static unsigned random_below(unsigned n)
{
	uint32_t random;
	if (getrandom(&random, sizeof(random), 0) != sizeof(random))
		random = (uint32_t)clock() * 2654435761u;
	return random % n;
}

uint64_t class_sample(unsigned n)
{
	const unsigned parts = CACHE_CLASSES / n;
	uint64_t classes = 0;
	uint8_t order[CACHE_CLASSES];
	for (unsigned i = 0; i < CACHE_CLASSES; i++)
		order[i] = (uint8_t)i;
	const bool spread = (n & (n - 1)) == 0;
	const unsigned from = spread ? n : CACHE_CLASSES;
	for (unsigned i = 0; i < n; i++) {
		const unsigned k = i + random_below(from - i);
		const uint8_t chosen = order[k];
		order[k] = order[i];
		order[i] = chosen;
		classes |= 1ull << (spread ? (chosen * parts + random_below(parts)) / n * n + i
					   : chosen);
	}
	return classes;
}

uint64_t class_sample_half(uint64_t classes, unsigned n)
{
	uint64_t half = 0;
	for (unsigned i = 0; i < n / 2; i++) {
		const unsigned remainder = i + (random_below(2) ? n / 2 : 0);
		for (unsigned k = remainder; k < CACHE_CLASSES; k += n)
			half |= classes & 1ull << k;
	}
	return half;
}

/* Functions whose traffic is of different kinds, one behind the other again and again, for so many
 * rounds: so long that code is checked in windows of time. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BIG (4 << 20)   /* doubles: 32 MB, more than any cache that is simulated here */
#define MIDDLE (48 << 10) /* 384 KB: in the last one */
#define SMALL (6 << 10) /* 48 KB: in the second one */

static double *big, *middle, *small;
static uint32_t *links;

__attribute__((noinline)) static void window_stream(void)
{
	for (int i = 0; i < BIG; i++)
		big[i] = 0.5 * big[i] + 1;
}

__attribute__((noinline)) static void window_last_level(void)
{
	for (int k = 0; k < 100; k++)
		for (int i = 0; i < MIDDLE; i++)
			middle[i] = 0.5 * middle[i] + 1;
}

__attribute__((noinline)) static void window_second_level(void)
{
	for (int k = 0; k < 800; k++)
		for (int i = 0; i < SMALL; i++)
			small[i] = 0.5 * small[i] + 1;
}

__attribute__((noinline)) static uint32_t window_random(uint32_t at)
{
	for (int i = 0; i < 500000; i++)
		at = links[(at * 2654435761u + i) % BIG];
	return at;
}

/* Each time other memory: what is written is read back out of the caches. */
__attribute__((noinline)) static double window_fresh(int round)
{
	double sum = 0;
	for (int k = 0; k < 40; k++) {
		double *part = big + (size_t)(round * 40 + k) % 80 * (BIG / 80);
		memset(part, round, BIG / 80 * sizeof(double));
		for (int i = 0; i < BIG / 80; i++)
			sum += part[i];
	}
	return sum;
}

int main(int argc, char **argv)
{
	const int rounds = argc > 1 ? atoi(argv[1]) : 1;
	double sum = 0;
	uint32_t at = 1;
	big = calloc(BIG, sizeof(double));
	middle = calloc(MIDDLE, sizeof(double));
	small = calloc(SMALL, sizeof(double));
	links = malloc(BIG * sizeof(*links));
	for (uint32_t i = 0; i < BIG; i++)
		links[i] = i * 7919u;
	for (int round = 0; round < rounds; round++) {
		window_stream();
		window_last_level();
		window_second_level();
		at = window_random(at);
		sum += window_fresh(round);
	}
	printf("%g %u %g\n", sum, at, middle[5] + small[5]);
	return 0;
}

/* More accesses than can be simulated as fast: one array, read again and again. */
#include <stdio.h>

enum { N = 8192, PASSES = 120000 }; /* 64 KiB */

static double array[N] __attribute__((aligned(4096)));
static volatile double sum;

__attribute__((noinline)) static void read_all(void)
{
	double all[8] = {0};
	__asm__ volatile("" : : "r"(array) : "memory"); /* they may be anything */
	for (int i = 0; i < N; i += 8)
		for (int k = 0; k < 8; k++)
			all[k] += array[i + k];
	for (int k = 0; k < 8; k++)
		sum += all[k];
}

int main(void)
{
	for (int pass = 0; pass < PASSES; pass++)
		read_all();
	printf("read_all %.0f 0\n", 8.0 * N * PASSES);
	return 0;
}

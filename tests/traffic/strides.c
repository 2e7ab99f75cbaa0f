/* Functions that walk through memory in one way each: prints FUNCTION CLASS STEP USED, the bytes that are used
 * of each line that comes from memory. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define N (1 << 20)	/* doubles */

static double *data, sum;

__attribute__((noinline)) static void unit(void)
{
	for (long i = 0; i < N; i++)
		sum += ((volatile double *)data)[i];
}

__attribute__((noinline)) static void descending(void)
{
	for (long i = N - 1; i >= 0; i--)
		sum += ((volatile double *)data)[i];
}

__attribute__((noinline)) static void fields(void)
{
	for (long i = 0; i + 3 < N; i += 3)
		sum += ((volatile double *)data)[i];
}

__attribute__((noinline)) static void columns(void)
{
	for (long k = 0; k < 200; k++)
		for (long i = k; i < N; i += 500)
			sum += ((volatile double *)data)[i];
}

__attribute__((noinline)) static void anywhere(void)
{
	uint64_t state = 1;
	for (long i = 0; i < N; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		sum += ((volatile double *)data)[state >> 44];
	}
}

/* Two words of every second, fourth and sixteenth line. */
#define LINES(name, step) \
	__attribute__((noinline)) static void name(void) \
	{ \
		for (long k = 0; k < 4; k++) \
			for (long i = 0; i < N; i += (step) / 8) \
				__asm__ volatile("movups (%0), %%xmm0" : : "r"(data + i) : "xmm0", "memory"); \
	}
LINES(lines_128, 128)
LINES(lines_256, 256)
LINES(lines_1024, 1024)

int main(void)
{
	data = calloc(N, sizeof(*data));
	unit();
	descending();
	fields();
	columns();
	anywhere();
	lines_128();
	lines_256();
	lines_1024();
	puts("unit unit 8 64\ndescending unit -8 64\nfields constant 24 0\ncolumns constant 4000 8\n"
	     "anywhere random 0 0\nlines_128 constant 128 16\nlines_256 constant 256 16\n"
	     "lines_1024 constant 1024 16");
	return sum == 1234567;
}

/* wide_code MILLISECONDS: runs 4096 functions in rounds, each with one double addition a round, for so long, and
 * prints how many rounds there were, and how many KiB of the process the kernel has in huge pages of shared memory. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define F(n)                                                                                                           \
	__attribute__((noinline)) static double f##n(double x, unsigned k)                                             \
	{                                                                                                              \
		if (k % 3 == n % 3)                                                                                    \
			k += n;                                                                                        \
		if (k & 16)                                                                                            \
			k ^= n;                                                                                        \
		hash = hash * 31 + k;                                                                                  \
		return x + (double)n;                                                                                  \
	}
#define F8(n) F(n##0) F(n##1) F(n##2) F(n##3) F(n##4) F(n##5) F(n##6) F(n##7)
#define F64(n) F8(n##0) F8(n##1) F8(n##2) F8(n##3) F8(n##4) F8(n##5) F8(n##6) F8(n##7)
#define F512(n) F64(n##0) F64(n##1) F64(n##2) F64(n##3) F64(n##4) F64(n##5) F64(n##6) F64(n##7)
#define N(n) f##n,
#define N8(n) N(n##0) N(n##1) N(n##2) N(n##3) N(n##4) N(n##5) N(n##6) N(n##7)
#define N64(n) N8(n##0) N8(n##1) N8(n##2) N8(n##3) N8(n##4) N8(n##5) N8(n##6) N8(n##7)
#define N512(n) N64(n##0) N64(n##1) N64(n##2) N64(n##3) N64(n##4) N64(n##5) N64(n##6) N64(n##7)

static unsigned hash;
F512(01) F512(02) F512(03) F512(04) F512(05) F512(06) F512(07) F512(010)

static double (*const functions[])(double, unsigned) = {N512(01) N512(02) N512(03) N512(04) N512(05) N512(06)
								N512(07) N512(010)};
#define N_FUNCTIONS (sizeof(functions) / sizeof(*functions))

static double now(void)
{
	struct timespec time;
	clock_gettime(CLOCK_MONOTONIC, &time);
	return (double)time.tv_sec * 1e3 + (double)(time.tv_nsec / 1000000);
}

static long huge_kib(void)
{
	char line[256];
	long all = 0;
	FILE *file = fopen("/proc/self/smaps", "r");
	while (file && fgets(line, sizeof(line), file))
		if (strncmp(line, "ShmemPmdMapped:", 15) == 0)
			all += strtol(line + 15, NULL, 10);
	if (file)
		fclose(file);
	return all;
}

int main(int argc, char **argv)
{
	const double end = now() + (argc > 1 ? atof(argv[1]) : 100);
	double x = 0;
	long rounds = 0;
	do {
		for (unsigned i = 0; i < N_FUNCTIONS; i++)
			x = functions[i * 1021 % N_FUNCTIONS](x, i);
		rounds++;
	} while (now() < end);
	printf("%ld %ld\n", rounds, huge_kib());
	return x == 0;
}

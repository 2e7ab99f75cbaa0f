/* Kernels whose loops lie in the same 64 bytes of code as their entry, their return, and neither.
 * Usage: near_loops CALLS TURNS: each is called so often, of as many turns.
 *
 * Writes to standard error "NAME cpu S sum S", in s, of each: the thread's processor time in its calls, and their time
 * by the clock. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define KERNEL __attribute__((noinline, noclone, aligned(64)))
#define APART __asm__ volatile(".skip 128, 0x90")

static inline double loop(int turns)
{
	double x = 1;
	for (int i = 0; i < turns; i++) {
		x = x * 0.999999 + 1e-6;
		__asm__ volatile("" : "+x"(x));
	}
	return x;
}

KERNEL double kernel_entry(int turns)
{
	const double x = loop(turns);
	APART;
	return x;
}

KERNEL double kernel_return(int turns)
{
	APART;
	return loop(turns);
}

KERNEL double kernel_apart(int turns)
{
	APART;
	const double x = loop(turns);
	APART;
	return x;
}

static double now(clockid_t clock)
{
	struct timespec time;
	clock_gettime(clock, &time);
	return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

struct sums {
	double cpu, wall;
};

static void begin(struct sums *sums)
{
	sums->wall -= now(CLOCK_MONOTONIC);
	sums->cpu -= now(CLOCK_THREAD_CPUTIME_ID);
}

static void end(struct sums *sums)
{
	sums->cpu += now(CLOCK_THREAD_CPUTIME_ID);
	sums->wall += now(CLOCK_MONOTONIC);
}

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	const int calls = atoi(argv[1]), turns = atoi(argv[2]);
	struct sums sums[3] = {{0}};
	for (int i = 0; i < calls; i++) {
		begin(&sums[0]);
		(void)kernel_entry(turns);
		end(&sums[0]);
		begin(&sums[1]);
		(void)kernel_return(turns);
		end(&sums[1]);
		begin(&sums[2]);
		(void)kernel_apart(turns);
		end(&sums[2]);
	}
	fprintf(stderr, "kernel_entry cpu %.9f sum %.9f\nkernel_return cpu %.9f sum %.9f\nkernel_apart cpu %.9f sum %.9f\n", sums[0].cpu,
		sums[0].wall, sums[1].cpu, sums[1].wall, sums[2].cpu, sums[2].wall);
	return 0;
}

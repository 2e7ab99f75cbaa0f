/* Counts in two functions, jumps to code in writable memory, which returns, and goes on in one of the two and in a
 * third one.
 * goes_native ROUNDS TIMES: `before` takes so many times so many rounds, `both` one before and all of them behind, as `after`. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

static double __attribute__((noinline)) before(double x, long rounds)
{
	for (long i = 0; i < rounds * 1000; i++)
		x = x * 0.999 + 1e-3;
	return x;
}

static double __attribute__((noinline)) both(double x, long rounds)
{
	for (long i = 0; i < rounds * 1000; i++)
		x = x * 0.998 + 2e-3;
	return x;
}

static double __attribute__((noinline)) after(double x, long rounds)
{
	for (long i = 0; i < rounds * 1000; i++)
		x = x * 0.997 + 3e-3;
	return x;
}

int main(int argc, char **argv)
{
	const long rounds = argc > 1 ? atol(argv[1]) : 1;
	unsigned char *code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double x = before(1, argc > 2 ? rounds * atol(argv[2]) : rounds);
	x = both(x, 1);
	if (code == MAP_FAILED)
		return 1;
	code[0] = 0xc3; /* ret */
	((void (*)(void))code)();
	x = both(x, rounds);
	x = after(x, rounds);
	return !(printf("%d\n", x > 0) > 0);
}

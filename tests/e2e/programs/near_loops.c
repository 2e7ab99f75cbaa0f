/* Kernels whose loops lie in the same 64 bytes of code as their entry, their return, and neither.
 * Usage: near_loops CALLS TURNS: each is called so often, of about as many turns. */
#include <stdlib.h>

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

int main(int argc, char **argv)
{
	if (argc != 3)
		return 2;
	for (int i = 0; i < atoi(argv[1]); i++) {
		(void)kernel_entry(atoi(argv[2]));
		(void)kernel_return(atoi(argv[2]));
		(void)kernel_apart(atoi(argv[2]));
	}
	return 0;
}

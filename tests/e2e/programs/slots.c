/* Instructions that do nothing but take slots, none of which waits for another, and then a chain, in as many turns of
 * about 3 ms as the argument says. */
#include <stdlib.h>

__attribute__((noinline)) static void slots(void)
{
	for (long n = 100000; n; n--)
		__asm__ volatile(".rept 60\n\tnop\n\t.endr");
}

__attribute__((noinline)) static void chain(void)
{
	long x = 1;
	for (long n = 100000; n; n--)
		__asm__ volatile(".rept 20\n\timul %0, %0\n\t.endr" : "+r"(x));
}

int main(int argc, char **argv)
{
	for (long turns = argc > 1 ? atol(argv[1]) : 200; turns > 0; turns--) {
		slots();
		chain();
	}
	return 0;
}

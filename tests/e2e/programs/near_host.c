/* Calls the kernel of near_library.c.  Usage: near_host HOW CALLS TURNS.  HOW: direct: by its name.  pointer: by its
 * address.  places: from two places in turn. */
#include <stdlib.h>
#include <string.h>

double kernel_near(int turns);

int main(int argc, char **argv)
{
	if (argc != 4)
		return 2;
	double (*volatile pointer)(int) = kernel_near;
	const int turns = atoi(argv[3]);
	for (int i = 0; i < atoi(argv[2]); i++)
		if (!strcmp(argv[1], "pointer"))
			(void)pointer(turns);
		else if (!strcmp(argv[1], "direct") || i % 2)
			__asm__ volatile("# 0" ::"x"(kernel_near(turns)));
		else
			__asm__ volatile("# 1" ::"x"(kernel_near(turns)));
	return 0;
}

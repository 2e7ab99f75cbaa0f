/* Replaces itself by itself, and then by itself with another argument, and ends with status 5. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	char *second[] = { argv[0], "second", NULL }, *third[] = { argv[0], "third", NULL };
	volatile double x = 1;

	for (int i = 0; i < 1000; i++)
		x = x * 1.5 - 0.25;
	printf("%s %d\n", argc > 1 ? argv[1] : "none", x > 0);
	fflush(stdout);
	if (argc > 1 && !strcmp(argv[1], "first"))
		execv("/proc/self/exe", second);
	if (argc > 1 && !strcmp(argv[1], "second"))
		execv("/proc/self/exe", third);
	return 5;
}

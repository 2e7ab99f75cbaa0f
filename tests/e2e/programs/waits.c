/* Works until a signal ends it. */
#include <stdio.h>
#include <time.h>

int main(void)
{
	volatile double x = 1;
	time_t start = time(NULL);

	printf("ready\n");
	fflush(stdout);
	while (time(NULL) - start < 50)
		for (int i = 0; i < 100000; i++)
			x = x * 1.0000001 + 1e-9;
	return 1;
}

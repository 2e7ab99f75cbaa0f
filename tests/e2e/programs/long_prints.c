/* Two functions whose calls of the C library run long before the writes that they make:
 *
 *     long_prints ROUNDS
 *
 * prints how many bytes each has written. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>

#define LONG "%.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f %.60f\n"
#define WITH(x) x, x, x, x, x, x, x, x, x, x, x, x, x, x, x, x
#define OWN __attribute__((noinline)) static

OWN long print_one(int to)
{
	return dprintf(to, LONG, WITH(1.0 / 3));
}

OWN long print_other(int to)
{
	return dprintf(to, LONG, WITH(1e9 / 7));
}

int main(int argc, char **argv)
{
	long rounds = argc > 1 ? atol(argv[1]) : 1, one = 0, other = 0;
	int to = open("/dev/null", O_WRONLY);

	for (long i = 0; i < rounds; i++) {
		one += print_one(to);
		other += print_other(to);
	}
	printf("%ld %ld\n", one, other);
	return 0;
}

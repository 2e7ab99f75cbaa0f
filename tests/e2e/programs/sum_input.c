/* Adds its standard input's bytes up as doubles: one flop per byte. */
#include <stdio.h>
#include <unistd.h>

__attribute__((noinline, noclone, optimize("no-tree-vectorize")))
static double add_bytes(double total, const unsigned char *bytes, long n)
{
	for (long i = 0; i < n; i++)
		total += bytes[i];
	return total;
}

int main(void)
{
	static unsigned char buffer[4096];
	double total = 0;
	long n;

	while ((n = read(0, buffer, sizeof(buffer))) > 0)
		total = add_bytes(total, buffer, n);
	printf("%g\n", total);
	return 0;
}

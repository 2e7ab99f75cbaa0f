/* Two functions of the same code; one runs three times as long as the other. */
#include <stdio.h>

#define SPIN(name)                                                                                 \
	__attribute__((noinline, noclone)) static double name(long n)                              \
	{                                                                                          \
		double x = 1, y = 0.5;                                                             \
		__asm__ volatile("/* " #name ": keeps the compiler from merging the two */");      \
		for (long i = 0; i < n; i++) {                                                     \
			x = x * 0.999 + 0.001;                                                     \
			y = y * 0.998 + 0.002;                                                     \
		}                                                                                  \
		return x + y;                                                                      \
	}

SPIN(three_times)
SPIN(one_time)

int main(void)
{
	double total = 0;

	for (int round = 0; round < 200; round++)
		total += three_times(1500000) + one_time(500000);
	printf("%.6f\n", total);
	return 0;
}

/* Rounding modes, exception flags and denormals are the program's own, whatever runs around it. */
#include <fenv.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <xmmintrin.h>

static volatile double one = 1, three = 3, tiny = DBL_MIN;

static void rounding(int mode, const char *name)
{
	fesetround(mode);
	volatile double third = one / three;
	volatile long double long_third = (long double)one / three;

	printf("%s %a %La %d\n", name, third, long_third, fegetround() == mode);
	fesetround(FE_TONEAREST);
}

static void flags(void)
{
	feclearexcept(FE_ALL_EXCEPT);
	for (volatile int i = 0; i < 1000; i++)
		one = one * 1;
	printf("flags %d", fetestexcept(FE_ALL_EXCEPT));
	volatile double x = one / 0.0;
	printf(" %d", fetestexcept(FE_DIVBYZERO) != 0);
	x = tiny / three;
	printf(" %d %d\n", fetestexcept(FE_UNDERFLOW) != 0, x > 0);
}

static void flush_to_zero(void)
{
	unsigned mxcsr = _mm_getcsr();

	_mm_setcsr(mxcsr | 0x8040);
	volatile double x = tiny / three;

	for (volatile int i = 0; i < 1000; i++)
		x = x * one;
	printf("flushed %d mxcsr %x\n", x == 0, _mm_getcsr() & ~0x3fu);
	_mm_setcsr(mxcsr);
}

int main(void)
{
	rounding(FE_TONEAREST, "nearest");
	rounding(FE_UPWARD, "up");
	rounding(FE_DOWNWARD, "down");
	rounding(FE_TOWARDZERO, "zero");
	flags();
	flush_to_zero();
	printf("%.17g %.17g %.17g\n", sin(three), exp(one), pow(three, 0.3));
	return 0;
}

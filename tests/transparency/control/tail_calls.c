/* Tail calls: mutual recursion without stack, through pointers, into another function's middle frame. */
#include "../own.h"

typedef long step(long n, long sum);

static step even, odd, other;
static step *volatile next[3] = { even, odd, other };

NOINLINE static long even(long n, long sum)
{
	return n == 0 ? sum : odd(n - 1, sum + 1);
}

NOINLINE static long odd(long n, long sum)
{
	return n == 0 ? -sum : next[n % 3](n - 1, sum + 2);
}

NOINLINE static long other(long n, long sum)
{
	return n == 0 ? sum : next[(n + 1) % 3](n - 1, sum ^ n);
}

int main(void)
{
	printf("%ld %ld\n", even(1000000, 0), other(1000001, 5));
	return done();
}

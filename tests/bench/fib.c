/* The Fibonacci numbers by recursion: nothing but calls and returns. */
#include <stdio.h>

__attribute__((noinline)) static long fib(long n)
{
	return n < 2 ? n : fib(n - 1) + fib(n - 2);
}

int main(void)
{
	printf("%ld\n", fib(45));
	return 0;
}

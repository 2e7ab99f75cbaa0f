/* Rounds over n pages, so many times each: one access to each page (rounds), to two pages at once
 * (across), to a line of each in an order that no prefetcher knows (wander; n is a power of two), and
 * to n lines side by side (in_lines). */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define PAGE 4096
#define LINE 64

__attribute__((noinline)) static long rounds(const volatile char *pages, long n, long times)
{
	long sum = 0;
	for (long k = 0; k < times; k++)
		for (long i = 0; i < n; i++)
			sum += pages[i * PAGE + k % (PAGE / LINE) * LINE];
	return sum;
}

__attribute__((noinline)) static long in_lines(const volatile char *pages, long n, long times)
{
	long sum = 0;
	for (long k = 0; k < times; k++)
		for (long i = 0; i < n; i++)
			sum += pages[i * LINE];
	return sum;
}

/* Each access lies in two pages. */
__attribute__((noinline)) static long across(const char *pages, long n, long times)
{
	long sum = 0;
	for (long k = 0; k < times; k++)
		for (long i = 0; i < n; i++)
			sum += *(const volatile long *)(pages + (i + 1) * PAGE - 4);
	return sum;
}

/* Lines of pages lie in all sets of the caches, also of those with 32,768. */
__attribute__((noinline)) static long wander(const volatile char *pages, unsigned long n, long times)
{
	long sum = 0;
	unsigned long at = 1;
	for (long k = 0; k < times; k++)
		for (unsigned long i = 0; i < n; i++) {
			at = (at * 2862933555777941757 + 3037000493) & (n - 1);
			sum += pages[at * PAGE + at / 512 % (PAGE / LINE) * LINE];
		}
	return sum;
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 100, times = argc > 2 ? atol(argv[2]) : 10;
	const size_t bytes = (size_t)(n + 2) * PAGE;
	char *pages = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pages == MAP_FAILED)
		return 1;
	madvise(pages, bytes, MADV_NOHUGEPAGE);
	for (long i = 0; i < n + 2; i++)
		pages[i * PAGE] = 1;
	long sum = rounds(pages, n, times);
	sum += across(pages, n, times);
	sum += in_lines(pages, n, times);
	if ((n & (n - 1)) == 0)
		sum += wander(pages, (unsigned long)n, times);
	printf("%ld\n", sum);
	return 0;
}

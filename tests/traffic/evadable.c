/* Stores to an array far beyond the caches: whole lines, half of each, and whole lines that are read first. */
#include <stdlib.h>

enum { N = 1 << 20 }; /* words: 8 MiB */

__attribute__((noinline)) static void write_whole(long *a) { for (long i = 0; i < N; i++) { a[i] = i; __asm__ volatile("" ::: "memory"); } }
__attribute__((noinline)) static void write_half(long *a) { for (long i = 0; i < N; i += 2) { a[i] = i; __asm__ volatile("" ::: "memory"); } }
__attribute__((noinline)) static void change(long *a) { for (long i = 0; i < N; i++) { a[i] += i; __asm__ volatile("" ::: "memory"); } }

int main(void)
{
	long *a = malloc(N * sizeof(*a));
	for (int round = 0; a && round < 4; round++) {
		write_whole(a);
		write_half(a);
		change(a);
	}
	free(a);
	return 0;
}

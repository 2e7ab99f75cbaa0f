/* Stores to an array far beyond the caches: whole lines, one, two or four of them in each turn of a loop, half of each
 * line, and whole lines that are read first. */
#include <stdlib.h>

enum { N = 1 << 20 }; /* words: 8 MiB */

__attribute__((noinline)) static void write_whole(long *a) { for (long i = 0; i < N; i++) { a[i] = i; __asm__ volatile("" ::: "memory"); } }
__attribute__((noinline)) static void write_half(long *a) { for (long i = 0; i < N; i += 2) { a[i] = i; __asm__ volatile("" ::: "memory"); } }
__attribute__((noinline)) static void change(long *a) { for (long i = 0; i < N; i++) { a[i] += i; __asm__ volatile("" ::: "memory"); } }

#define LINE(a, i) __asm__ volatile("movups %%xmm0, (%0)\n\tmovups %%xmm0, 16(%0)\n\t" \
				     "movups %%xmm0, 32(%0)\n\tmovups %%xmm0, 48(%0)" : : "r"((a) + (i)) : "memory")
__attribute__((noinline)) static void write_two(long *a) { for (long i = 0; i < N; i += 16) { LINE(a, i); LINE(a, i + 8); } }
__attribute__((noinline)) static void write_four(long *a) { for (long i = 0; i < N; i += 32) { LINE(a, i); LINE(a, i + 8); LINE(a, i + 16); LINE(a, i + 24); } }

int main(void)
{
	long *a = aligned_alloc(64, N * sizeof(*a));
	for (int round = 0; a && round < 4; round++) {
		write_whole(a);
		write_two(a);
		write_four(a);
		write_half(a);
		change(a);
	}
	free(a);
	return 0;
}

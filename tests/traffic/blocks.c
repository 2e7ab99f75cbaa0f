/* Allocates so many large blocks, one behind the other, and writes to each: the allocator maps and unmaps
 * them, so that much of the time goes by between the call of an allocator and its return. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

__attribute__((noinline)) static void *make_block(size_t bytes)
{
	return calloc(1, bytes);
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 10;
	long sum = 0;
	mallopt(M_MMAP_THRESHOLD, 1 << 30);
	mallopt(M_TRIM_THRESHOLD, 1 << 30);
	for (int i = 0; i < n; i++) {
		char *block = make_block(256 << 10);
		block[i % 1000] = 1;
		sum += block[i % 1000];
		free(block);
	}
	printf("%ld\n", sum);
	return 0;
}

/* Two functions that touch pages of fresh memory, three times as many in one as in the other; prints how many. */
#include <stdio.h>
#include <sys/mman.h>

enum { PAGE = 4096, ROUNDS = 20, MANY = 3000, FEW = 1000 };

__attribute__((noinline)) static void touch_many(volatile char *pages)
{
	for (long i = 0; i < MANY; i++)
		pages[i * PAGE] = 1;
}

__attribute__((noinline)) static void touch_few(volatile char *pages)
{
	for (long i = 0; i < FEW; i++)
		pages[i * PAGE] = 1;
}

int main(void)
{
	for (int round = 0; round < ROUNDS; round++) {
		char *pages = mmap(NULL, (MANY + FEW) * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (pages == MAP_FAILED || madvise(pages, (MANY + FEW) * PAGE, MADV_NOHUGEPAGE) != 0)
			return 1;
		touch_many(pages);
		touch_few(pages + (long)MANY * PAGE);
		munmap(pages, (MANY + FEW) * PAGE);
	}
	printf("%d %d\n", ROUNDS * MANY, ROUNDS * FEW);
	return 0;
}

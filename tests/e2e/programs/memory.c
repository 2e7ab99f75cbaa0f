/* Maps, moves and frees memory in all ways; every result is checked. */
#include <malloc.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { PAGE = 4096 };

static void *fresh(size_t size)
{
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (memory == MAP_FAILED)
		exit(1);
	return memory;
}

static void moves(void)
{
	char *small = fresh(PAGE), *large;

	strcpy(small, "moved along");
	large = mremap(small, PAGE, 64 * PAGE, MREMAP_MAYMOVE);
	printf("mremap: %s\n", large == MAP_FAILED ? "failed" : large);
	large[63 * PAGE] = 'x';
	mmap(large + PAGE, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	printf("fixed: %d %c\n", large[PAGE], large[63 * PAGE]);
	madvise(large, PAGE, MADV_DONTNEED);
	printf("dropped: %d\n", large[0]);
	munmap(large, 64 * PAGE);
}

static void breaks(void)
{
	char *before = sbrk(0);

	if (sbrk(10 * PAGE) != before)
		printf("sbrk elsewhere\n");
	memset(before, 1, 10 * PAGE);
	printf("sbrk: %d\n", (char *)sbrk(0) == before + 10 * PAGE);
}

static void allocations(void)
{
	void *blocks[200] = { NULL };
	uint64_t random = 1, hash = 0;

	for (int i = 0; i < 20000; i++) {
		random = random * UINT64_C(6364136223846793005) + 1;

		int k = (int)(random >> 40) % 200;
		size_t size = (random >> 33) % (k == 7 ? 300000 : 3000) + 1;

		blocks[k] = realloc(blocks[k], size);
		memset(blocks[k], k, size);
		hash = hash * 31 + ((unsigned char *)blocks[k])[size / 2];
	}
	for (int k = 0; k < 200; k++)
		free(blocks[k]);
	printf("malloc: %016llx\n", (unsigned long long)hash);
}

/* Memory at a low and at a fixed high address is the program's, not a profiler's. */
static void fixed_addresses(void)
{
	uintptr_t wanted[] = { 0x10000000, 0x200000000, 0x700000000000 };

	for (int i = 0; i < 3; i++) {
		void *memory = mmap((void *)wanted[i], PAGE, PROT_READ | PROT_WRITE,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);

		printf("at %llx: %d\n", (unsigned long long)wanted[i], memory == (void *)wanted[i]);
	}
}

static void file_maps(void)
{
	char name[] = "mapped-XXXXXX";
	int fd = mkstemp(name);

	if (fd < 0 || ftruncate(fd, 2 * PAGE))
		exit(1);
	char *map = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), back[6] = "";

	strcpy(map + PAGE, "hello");
	printf("shared map: %ld %s\n", (long)pread(fd, back, 6, PAGE), back);
	unlink(name);
}

int main(void)
{
	moves();
	breaks();
	allocations();
	fixed_addresses();
	file_maps();
	return 0;
}

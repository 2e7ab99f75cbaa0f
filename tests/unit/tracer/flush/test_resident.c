/* The pages that a process has in memory: those that it has touched. */
#include "tracer/flush/resident.h"

#include <criterion/criterion.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define PAGES 64

static bool has(const struct resident *resident, const char *address)
{
	for (size_t i = 0; i < resident->n_ranges; i++)
		if ((uint64_t)address >= resident->ranges[i].start &&
		    (uint64_t)address < resident->ranges[i].end)
			return true;
	return false;
}

static char *map(int rights)
{
	char *memory = mmap(NULL, PAGES * PAGE, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	cr_assert_neq(memory, MAP_FAILED);
	madvise(memory, PAGES * PAGE, MADV_NOHUGEPAGE);
	return memory;
}

Test(resident, pages_that_were_touched)
{
	struct resident resident = {0};
	char *data = map(PROT_READ | PROT_WRITE), *none = map(PROT_READ | PROT_WRITE),
	     *code = map(PROT_READ | PROT_WRITE);
	uint64_t bytes = 0;
	for (unsigned i = 0; i < PAGES; i += i % 5 + 1)
		data[i * PAGE] = none[i * PAGE] = code[i * PAGE] = 1;
	cr_assert_eq(mprotect(none, PAGES * PAGE, PROT_NONE), 0);
	cr_assert_eq(mprotect(code, PAGES * PAGE, PROT_READ | PROT_EXEC), 0);
	cr_assert(resident_read(getpid(), &resident));
	for (unsigned i = 0; i < PAGES; i++) {
		unsigned char is_there;
		cr_assert_eq(mincore(data + i * PAGE, PAGE, &is_there), 0);
		cr_assert_eq(has(&resident, data + i * PAGE), is_there & 1, "page %u", i);
		cr_assert(!has(&resident, none + i * PAGE) && !has(&resident, code + i * PAGE));
	}
	for (size_t i = 0; i < resident.n_ranges; i++) {
		bytes += resident.ranges[i].end - resident.ranges[i].start;
		cr_assert(!i || resident.ranges[i - 1].end <= resident.ranges[i].start);
	}
	cr_assert_eq(resident.bytes, bytes);
	cr_assert(has(&resident, (const char *)&bytes), "the stack");
	cr_assert_not(resident_read(-1, &resident));
	resident_deinit(&resident);
}

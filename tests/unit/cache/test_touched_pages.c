#include "cache/touched_pages.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static bool is_any_touched(struct touched_pages *pages, const void *bytes, size_t size)
{
	return touched_pages_gap(pages, bytes, size) < size;
}

enum { PAGES = 3000 };

static char *map(size_t page)
{
	char *bytes = mmap(NULL, PAGES * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
			   -1, 0);
	cr_assert_neq(bytes, MAP_FAILED);
	/* or one write would touch many */
	madvise(bytes, PAGES * page, MADV_NOHUGEPAGE);
	return bytes;
}

Test(touched_pages, those_that_were_written_to_are_known)
{
	static bool written[PAGES + 1];
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *bytes = map(page);
	uint64_t state = 1;
	size_t n_wrong = 0;
	for (int round = 0; round < 20; round++) {
		struct touched_pages pages;
		for (int i = 0; i < 20; i++) {
			const size_t at = random_number(&state) % PAGES;
			bytes[at * page + random_number(&state) % page] = 1;
			written[at] = true;
		}
		for (int i = 0; i < 5; i++) { /* given back, they are as if never written to */
			const size_t at = random_number(&state) % PAGES;
			madvise(bytes + at * page, page, MADV_DONTNEED);
			written[at] = false;
		}
		touched_pages_init(&pages);
		for (size_t i = 0; i < PAGES; i++) {
			const size_t at =
				random_number(&state) % 4 ? i : random_number(&state) % PAGES;
			const bool touched = is_any_touched(&pages, bytes + at * page, page);
			cr_assert(touched || !written[at], "page %zu", at);
			n_wrong += touched && !written[at];
			cr_assert(is_any_touched(&pages, bytes + at * page + page / 2, page) ||
				  !(written[at] || (at + 1 < PAGES && written[at + 1])));
		}
		touched_pages_deinit(&pages);
	}
	cr_expect_eq(n_wrong, 0);
	munmap(bytes, PAGES * page);
}

/* A gap ends where the first page begins that has been touched. */
Test(touched_pages, gaps_end_where_something_was_touched)
{
	const size_t page = (size_t)sysconf(_SC_PAGESIZE), all = PAGES * page;
	char *bytes = map(page);
	uint64_t state = 1;
	struct touched_pages pages;
	for (size_t i = 0; i < PAGES; i += 1 + random_number(&state) % 100)
		bytes[i * page + random_number(&state) % page] = 1;
	touched_pages_init(&pages);
	for (int round = 0; round < 5000; round++) {
		const size_t at = random_number(&state) % all;
		const size_t size = 1 + random_number(&state) % (all - at);
		size_t gap = 0;
		while (gap < size && !is_any_touched(&pages, bytes + at + gap, 1))
			gap += page - (at + gap) % page;
		cr_assert_eq(touched_pages_gap(&pages, bytes + at, size), gap < size ? gap : size);
	}
	touched_pages_deinit(&pages);
	munmap(bytes, all);
}

Test(touched_pages, all_are_where_nothing_tells)
{
	struct touched_pages pages;
	const size_t page = (size_t)sysconf(_SC_PAGESIZE);
	char *bytes = map(page);
	touched_pages_init(&pages);
	touched_pages_deinit(&pages);
	for (size_t i = 0; i < PAGES; i++)
		cr_assert(is_any_touched(&pages, bytes + i * page, 8));
	munmap(bytes, PAGES * page);
}

/* What samples are kept in until they are played, and the mappings that they are played with. */
#include "tracer/process/mappings.h"
#include "tracer/timed/sample_store.h"

#include <criterion/criterion.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

Test(sample_store, gives_back_what_it_got)
{
	static uint8_t stack[65528], back[65536];
	struct sample_store *store = sample_store_create();
	enum { N = 300 };
	for (uint32_t n = 0; n < N; n++) {
		struct raw_sample sample = {.regs = {.ip = n, .sp = 0x7ffe00000000 + 8 * n},
					    .weight_ns = n * 3,
					    .stack_size = (uint16_t)(n * 7919 % 65528)};
		for (size_t i = 0; i < sizeof(stack); i++)
			stack[i] = (uint8_t)(i * (n % 3) >> 4);
		cr_assert_eq(sample_store_add(store, &sample, stack), n);
	}
	for (uint32_t n = 0; n < N; n++) {
		struct raw_sample sample;
		sample_store_get(store, n, &sample, back);
		cr_assert(sample.regs.ip == n && sample.weight_ns == n * 3);
		cr_assert_eq(sample.stack_size, n * 7919 % 65528);
		for (size_t i = 0; i < sample.stack_size; i++)
			cr_assert_eq(back[i], (uint8_t)(i * (n % 3) >> 4));
	}
	sample_store_destroy(store);
}

/* Equal stacks cost next to nothing. */
Test(sample_store, equal_stacks_are_stored_once)
{
	static uint8_t stack[4096];
	struct sample_store *store = sample_store_create();
	struct raw_sample sample = {.regs.sp = 0x7ffe00000128, .stack_size = sizeof(stack)};
	for (size_t i = 0; i < sizeof(stack); i++)
		stack[i] = (uint8_t)(i * 31);
	for (int n = 0; n < 10000; n++)
		sample_store_add(store, &sample, stack);
	cr_assert(sample_store_size(store) < 10000 * sizeof(stack) / 10);
	sample_store_destroy(store);
}

/* Mappings against a slow and obvious table: one entry for each page. */
enum { PAGES = 64, PAGE = 4096 };

struct page {
	int file; /* -1: nothing mapped */
	uint64_t file_offset;
};

static void check_pages(struct mappings *mappings, uint32_t pid, const struct page *pages,
			struct module_file *files)
{
	for (uint64_t i = 0; i < PAGES; i++) {
		const struct mapping *found = mappings_find(mappings, pid, i * PAGE + 17);
		if (pages[i].file < 0) {
			cr_assert_null(found);
			continue;
		}
		cr_assert_not_null(found);
		cr_assert_eq(found->file, &files[pages[i].file]);
		cr_assert_eq(found->file_offset + (i * PAGE - found->start), pages[i].file_offset);
	}
}

Test(mappings, overlaps_are_as_in_a_table_of_pages)
{
	static struct module_file files[5];
	struct page pages[PAGES], forked[PAGES];
	struct mappings *mappings = mappings_create();
	memset(pages, 0xff, sizeof(pages));
	srand(1);
	for (int round = 0; round < 3000; round++) {
		int file = rand() % 5;
		uint64_t first = (uint64_t)rand() % PAGES;
		uint64_t n = 1 + (uint64_t)rand() % (PAGES - first);
		uint64_t offset = (uint64_t)(rand() % 100) * PAGE;
		struct mapping mapping = {first * PAGE, (first + n) * PAGE, offset, &files[file]};
		cr_assert_null(mappings_add(mappings, 7, &mapping));
		for (uint64_t i = 0; i < n; i++)
			pages[first + i] = (struct page){file, offset + i * PAGE};
		check_pages(mappings, 7, pages, files);
		if (round % 500 != 0)
			continue;
		cr_assert_null(mappings_fork(mappings, 7, 5));
		memcpy(forked, pages, sizeof(pages));
	}
	check_pages(mappings, 5, forked, files); /* a fork keeps what was at its time */
	mappings_exec(mappings, 5);
	cr_assert_null(mappings_find(mappings, 5, 17));
	check_pages(mappings, 7, pages, files);
	mappings_destroy(mappings);
}

/* The table of the loops in the file that LOOPS names, and what runs them.  Called as:
 * PROGRAM BYTES PERCENT LOOP...; BYTES: of the data of those that have a working set,
 * PERCENT: of the turns in the table.  It does the same in each run. */
#pragma once

#include "account_data.h"

#define MOST_PAGES (32768 * (4096 + 64)) /* bytes, of loops named pages_… */

static const struct {
	const char *name;
	void (*run)(size_t turns);
	size_t millions;
} loops[] = {
#define BRANCHY(name, turns, right) {#name, run_##name, turns},
#define LOOP(name, turns, right) {#name, name, turns},
#define SIZED(name, turns, in_l1, in_l2, in_l3, in_memory) {#name, name, turns},
#include LOOPS
};

static void fill_arrays(void)
{
	for (size_t i = 0; i < SMALL; i++) {
		numbers[i] = 1 + (double)(next_random() % 1000) / 1e9;
		floats[i] = (float)numbers[i];
		words[i] = next_random();
		half_words[i] = (uint32_t)next_random();
		text[i] = (unsigned char)next_random();
	}
	renew_keys();
}

/* One cycle through all lines of the working set, by chance (Sattolo). */
static void make_cycle(void)
{
	const size_t n = bytes / LINE;
	uint32_t *order = malloc(n * sizeof(*order));
	if (!order)
		exit(1);
	for (size_t i = 0; i < n; i++)
		order[i] = (uint32_t)i;
	for (size_t i = n - 1; i > 0; i--) {
		const size_t j = next_random() % i;
		const uint32_t t = order[i];
		order[i] = order[j];
		order[j] = t;
	}
	for (size_t i = 0; i < n; i++)
		*(void **)(memory + i * LINE) = memory + (size_t)order[i] * LINE;
	free(order);
}

static void make_sorted(void)
{
	for (size_t i = 0; i < bytes / sizeof(uint64_t); i++)
		((uint64_t *)memory)[i] = i * 16;
}

int main(int argc, char **argv)
{
	if (argc < 4)
		return 2;
	bytes = strtoull(argv[1], NULL, 10) / LINE * LINE;
	const size_t percent = strtoull(argv[2], NULL, 10), page = 2 << 20,
		     least = bytes > MOST_PAGES ? bytes : MOST_PAGES,
		     room = (least + page) / page * page;
	memory = aligned_alloc(page, room);
	if (!memory)
		return 1;
	fill_arrays();
	for (int i = 3; i < argc; i++)
		for (size_t k = 0; k < sizeof(loops) / sizeof(*loops); k++) {
			if (strcmp(loops[k].name, argv[i]) != 0)
				continue;
			const int small_pages = strncmp(argv[i], "pages", 5) == 0;
			madvise(memory, room, small_pages ? MADV_NOHUGEPAGE : MADV_HUGEPAGE);
			if (small_pages)
				memset(memory, 1, MOST_PAGES);
			else if (strstr(argv[i], "search"))
				make_sorted();
			else
				make_cycle();
			loops[k].run(loops[k].millions * 10000 * percent);
			printf("%s\n", argv[i]);
		}
	free(memory);
	return 0;
}

/* Memory that is kept for those who ask next is nobody else's. */
#include "base/large_memory.h"

#include <criterion/criterion.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#define THREADS 4
#define BLOCKS 12
#define ROUNDS 400

struct block {
	uint64_t *words;
	size_t n;
	uint64_t value;
};

static uint64_t next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

/* Its ends are looked at, and one word of each page between: all that two blocks could share. */
static void fill(struct block *block, uint64_t value)
{
	block->value = value;
	for (size_t i = 0; i < block->n; i += 512)
		block->words[i] = value + i;
	block->words[block->n - 1] = value;
}

static bool holds(const struct block *block)
{
	bool same = block->words[block->n - 1] == block->value;
	for (size_t i = 0; same && i < block->n - 1; i += 512)
		same = block->words[i] == block->value + i;
	return same;
}

static void *use(void *argument)
{
	uint64_t state = (uintptr_t)argument * 0x9e3779b97f4a7c15u;
	struct block blocks[BLOCKS] = {0};
	bool ok = true;
	for (int round = 0; round < ROUNDS && ok; round++) {
		struct block *block = &blocks[next(&state) % BLOCKS];
		ok = !block->words || holds(block);
		if (block->words && next(&state) % 4 == 0) {
			block->n *= 2;
			block->words = realloc(block->words, block->n * 8);
		} else {
			if (next(&state) % 3)
				large_free(block->words);
			else
				free(block->words);
			block->n = (next(&state) % (1 << (10 + next(&state) % 10))) + 1;
			block->words = large_malloc(block->n * 8);
		}
		ok = ok && block->words;
		if (ok)
			fill(block, next(&state));
		if (next(&state) % 100 == 0)
			large_release();
	}
	for (int i = 0; i < BLOCKS; i++) {
		ok = ok && (!blocks[i].words || holds(&blocks[i]));
		large_free(blocks[i].words);
	}
	return ok ? argument : NULL;
}

Test(large_memory, blocks_are_apart)
{
	pthread_t threads[THREADS];
	for (uintptr_t i = 0; i < THREADS; i++)
		cr_assert_eq(pthread_create(&threads[i], NULL, use, (void *)(i + 1)), 0);
	for (int i = 0; i < THREADS; i++) {
		void *result;
		cr_assert_eq(pthread_join(threads[i], &result), 0);
		cr_assert(result, "a block was written by another thread, or memory is short");
	}
	large_free(NULL);
	large_release();
}

/* A few blocks of large memory that was freed, for whoever asks next. */
#include "base/large_memory.h"

#include <malloc.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)
#define MIN_KEPT (1 << 20)
#define MAX_BLOCKS 64
#define MOST_TOGETHER (8 << 20)
#ifdef __SANITIZE_ADDRESS__
#define KEEPS false /* the sanitizer is to see what is used after it was freed */
#else
#define KEEPS true
#endif

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *kept[MAX_BLOCKS]; /* under the lock, as all of these */
static size_t n_kept;
static size_t n_bytes;

static void *take_out(size_t i)
{
	void *memory = kept[i];
	kept[i] = kept[--n_kept];
	n_bytes -= malloc_usable_size(memory);
	return memory;
}

/* The smallest one that is large enough, but not twice as large; NULL: there is none. */
static void *take_kept(size_t size)
{
	size_t best = MAX_BLOCKS, best_size = 2 * size;
	pthread_mutex_lock(&lock);
	for (size_t i = 0; i < n_kept; i++) {
		const size_t there = malloc_usable_size(kept[i]);
		if (there >= size && there < best_size) {
			best = i;
			best_size = there;
		}
	}
	void *memory = best < MAX_BLOCKS ? take_out(best) : NULL;
	pthread_mutex_unlock(&lock);
	return memory;
}

void *large_malloc(size_t size)
{
	void *memory = size >= MIN_KEPT ? take_kept(size) : NULL;
	if (memory)
		return memory;
	memory = malloc(size);
	const uintptr_t start = ((uintptr_t)memory + LARGE_PAGE - 1) & -LARGE_PAGE;
	const uintptr_t end = ((uintptr_t)memory + size) & -LARGE_PAGE;
	if (memory && start < end)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
	return memory;
}

static bool can_keep(size_t size)
{
	return KEEPS && size >= MIN_KEPT && n_kept < MAX_BLOCKS && n_bytes + size <= LARGE_KEPT;
}

void large_free(void *memory)
{
	const size_t size = memory ? malloc_usable_size(memory) : 0;
	pthread_mutex_lock(&lock);
	if (can_keep(size)) {
		kept[n_kept++] = memory;
		n_bytes += size;
		memory = NULL;
	}
	pthread_mutex_unlock(&lock);
	free(memory);
}

/* The C library moves its own threshold up with each large block that is freed, and large lists
 * then lie between small blocks: where they grow they leave holes that nothing else fits into. */
void large_apart(bool apart)
{
	mallopt(M_MMAP_THRESHOLD, apart ? MIN_KEPT : MOST_TOGETHER);
	mallopt(M_TRIM_THRESHOLD, apart ? MIN_KEPT : 2 * MOST_TOGETHER);
}

void large_release(void)
{
	pthread_mutex_lock(&lock);
	while (n_kept)
		free(take_out(n_kept - 1));
	pthread_mutex_unlock(&lock);
	malloc_trim(0);
}

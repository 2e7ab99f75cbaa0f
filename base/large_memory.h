/* Memory by the megabyte that is written at once: in large pages where the kernel has some, as each
 * small one takes a fault of its own, which is longer than filling it. */
#pragma once

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>

#define LARGE_PAGE ((uintptr_t)2 << 20)

/* As malloc; to be freed, or made larger, in the same way. */
static inline void *large_malloc(size_t size)
{
	void *memory = malloc(size);
	const uintptr_t start = ((uintptr_t)memory + LARGE_PAGE - 1) & -LARGE_PAGE;
	const uintptr_t end = ((uintptr_t)memory + size) & -LARGE_PAGE;
	if (memory && start < end)
		(void)madvise((void *)start, end - start, MADV_HUGEPAGE);
	return memory;
}

/* Memory by the megabyte that is written at once: in large pages where the kernel has some, as each
 * small one takes a fault of its own, which is longer than filling it.  What is freed is kept for
 * those who ask next, since the kernel clears each page that it gives, which takes longer than
 * copying something there. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#define LARGE_KEPT ((size_t)128 << 20) /* bytes that are kept at most */

/* As malloc; what is in the memory is anything.  May be made larger by realloc, and freed by free
 * or large_free.  Any thread may call all of these. */
void *large_malloc(size_t size);
/* Frees memory of malloc, calloc, realloc or large_malloc.  NULL is allowed. */
void large_free(void *memory);
/* Whether blocks by the megabyte are apart from others, so that lists that grow, and stay for long,
 * leave no holes; each one that is freed is cleared by the kernel for the next one, then. */
void large_apart(bool apart);
/* Gives back all that is kept, and what lies free between smaller blocks that are in use. */
void large_release(void);

/* In builds with a sanitizer of gcc's: its allocator has locks that, unlike glibc's own, are not
 * free in a child that is forked while another thread holds them; the child then waits for ever.
 * So no thread is within the allocator while one forks: within malloc, calloc, realloc,
 * reallocarray, memalign, aligned_alloc, posix_memalign, strdup, strndup and free, which stand here
 * before the sanitizer's own. */
#pragma once

/* Has that lock in all forks from now on; in other builds there is none. */
void fork_lock_init(void);

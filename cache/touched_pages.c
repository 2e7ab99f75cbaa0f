/* Reads /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst): 64 bits for each page. */
#include "cache/touched_pages.h"

#include <fcntl.h>
#include <unistd.h>

/* In memory, or swapped out. */
#define IS_THERE (UINT64_C(1) << 63 | UINT64_C(1) << 62)

void touched_pages_init(struct touched_pages *pages)
{
	pages->fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	pages->page_bytes = (uintptr_t)sysconf(_SC_PAGESIZE);
	pages->first = pages->n = 0;
}

void touched_pages_deinit(struct touched_pages *pages)
{
	if (pages->fd >= 0)
		close(pages->fd);
	pages->fd = -1;
}

static bool is_touched(struct touched_pages *pages, uintptr_t page)
{
	const size_t size = sizeof(*pages->entries);
	if (page - pages->first >= pages->n) {
		const ssize_t n = pages->fd < 0
					  ? -1
					  : pread(pages->fd, pages->entries, sizeof(pages->entries),
						  (off_t)(page * size));
		pages->first = page;
		pages->n = n > 0 ? (size_t)n / size : 0;
	}
	return !pages->n || pages->entries[page - pages->first] & IS_THERE;
}

size_t touched_pages_gap(struct touched_pages *pages, const void *bytes, size_t size)
{
	const uintptr_t at = (uintptr_t)bytes;
	uintptr_t page = at / pages->page_bytes;
	while (page * pages->page_bytes < at + size && !is_touched(pages, page))
		page++;
	const uintptr_t end = page * pages->page_bytes;
	if (end <= at)
		return 0;
	return end - at < size ? end - at : size;
}

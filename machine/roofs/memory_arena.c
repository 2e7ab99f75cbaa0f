/* Maps, binds and touches the memory that bandwidth is measured in. */
#include "machine/roofs/memory_arena.h"

#include "base/clock.h"
#include "machine/roofs/measure.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

/* mbind(2) takes a bit mask of nodes. */
#define MOST_NODES 1024
#define BITS (8 * sizeof(unsigned long))

static int bind_to_node(void *memory, size_t bytes, int node)
{
	unsigned long mask[MOST_NODES / BITS] = {0};
	if (node < 0 || node >= MOST_NODES) {
		errno = EINVAL;
		return -1;
	}
	mask[node / BITS] = 1ul << node % BITS;
	return (int)syscall(SYS_mbind, memory, bytes, MPOL_BIND, mask, (unsigned long)MOST_NODES,
			    0);
}

struct rf_error *arena_map(struct arena *arena, size_t bytes, int node)
{
	size_t mapped =
		(bytes + ARENA_HUGE_PAGE - 1) / ARENA_HUGE_PAGE * ARENA_HUGE_PAGE + ARENA_HUGE_PAGE;
	char *mapping =
		mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return rf_error_create(RF_EACCESS, "raise the limit on memory (ulimit -v)",
				       "cannot allocate %zu bytes to measure bandwidth", bytes);
	madvise(mapping, mapped, MADV_HUGEPAGE); /* refused: small pages */
	uintptr_t start =
		((uintptr_t)mapping + ARENA_HUGE_PAGE - 1) & ~(uintptr_t)(ARENA_HUGE_PAGE - 1);
	*arena = (struct arena){.base = (char *)start, .mapping = mapping, .mapped = mapped};
	if (node == ARENA_ANY_NODE || bind_to_node(mapping, mapped, node) == 0)
		return NULL;
	int cause = errno;
	arena_unmap(arena);
	return rf_error_errno(RF_EUNAVAILABLE, cause, NULL, "cannot take memory of NUMA node %d",
			      node);
}

void arena_unmap(struct arena *arena)
{
	if (arena->mapping)
		munmap(arena->mapping, arena->mapped);
	*arena = (struct arena){0};
}

/* Sets every element to 1: normal numbers, for the sake of arithmetic. */
static void fill(char *from, size_t bytes)
{
	double *values = (double *)from;
	for (size_t i = 0; i < bytes / sizeof(*values); i++)
		values[i] = 1;
}

struct touch {
	struct arena *arenas;
	uint64_t deadline;
};

static void touch_arena(void *context, int thread)
{
	struct touch *touch = context;
	struct arena *arena = &touch->arenas[thread];
	size_t usable = arena->mapping + arena->mapped - arena->base;
	usable = usable / ARENA_HUGE_PAGE * ARENA_HUGE_PAGE;
	while (arena->bytes < usable && (!arena->bytes || clock_now_ns() < touch->deadline)) {
		fill(arena->base + arena->bytes, ARENA_HUGE_PAGE);
		arena->bytes += ARENA_HUGE_PAGE;
	}
}

void arenas_touch(struct team *team, struct arena *arenas, uint64_t limit_ns)
{
	struct touch touch = {arenas, clock_now_ns() + limit_ns};
	team_run(team, touch_arena, &touch);
}

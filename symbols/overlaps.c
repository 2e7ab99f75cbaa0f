/* A sweep over the ranges in the order of their starts, with a heap of those that hold the present
 * place. */
#include "symbols/overlaps.h"

#include "base/search.h"

#include <assert.h>
#include <stdlib.h>

/* The highest rank is on top; some may have ended already. */
struct heap {
	const struct ranked_range **items;
	size_t n;
};

static int compare_ranges(const void *left, const void *right)
{
	const struct ranked_range *a = left, *b = right;
	return rf_compare(a->start, b->start) ?: rf_compare(a->rank, b->rank);
}

static void push(struct heap *heap, const struct ranked_range *range)
{
	size_t at = heap->n++;
	for (size_t up; at && heap->items[up = (at - 1) / 2]->rank < range->rank; at = up)
		heap->items[at] = heap->items[up];
	heap->items[at] = range;
}

static void pop(struct heap *heap)
{
	const struct ranked_range *last = heap->items[--heap->n];
	size_t at = 0;
	for (size_t down; (down = 2 * at + 1) < heap->n; at = down) {
		down += down + 1 < heap->n && heap->items[down + 1]->rank > heap->items[down]->rank;
		if (heap->items[down]->rank <= last->rank)
			break;
		heap->items[at] = heap->items[down];
	}
	heap->items[at] = last;
}

struct rf_error *overlaps_flatten(struct ranked_range *ranges, size_t n, overlaps_piece *piece,
				  void *context)
{
	struct heap heap = {.items = malloc((n + 1) * sizeof(*heap.items))};
	struct rf_error *error = heap.items ? NULL : rf_error_no_memory();
	size_t next = 0;
	if (!error && n)
		qsort(ranges, n, sizeof(*ranges), compare_ranges);
	for (uint64_t at = 0; !error && (heap.n || next < n);) {
		if (!heap.n)
			at = ranges[next].start;
		for (; next < n && ranges[next].start <= at; next++) {
			assert(ranges[next].start < ranges[next].end);
			push(&heap, &ranges[next]);
		}
		while (heap.n && heap.items[0]->end <= at)
			pop(&heap);
		if (!heap.n)
			continue;
		uint64_t end = heap.items[0]->end;
		if (next < n && ranges[next].start < end)
			end = ranges[next].start;
		error = piece(context, at, end, heap.items[0]);
		at = end;
	}
	free(heap.items);
	return error;
}

/* An index of the counts of blocks by thread and place. */
#include "tracer/traffic/executions.h"

#include "base/search.h"
#include "base/sort_by.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
	const struct counted_code *x = a, *y = b;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->module != y->module)
		return x->module < y->module ? -1 : 1;
	return (x->start > y->start) - (x->start < y->start);
}

static uint64_t thread_of(const void *item)
{
	return ((const struct counted_code *)item)->thread;
}

static uint64_t module_of(const void *item)
{
	return ((const struct counted_code *)item)->module;
}

static uint64_t start_of(const void *item)
{
	return ((const struct counted_code *)item)->start;
}

/* As `compare` has it. */
static bool sort(struct executions *executions)
{
	struct counted_code *items = executions->items;
	const size_t n = executions->n_items;
	return rf_sort_by(items, n, sizeof(*items), start_of) &&
	       rf_sort_by(items, n, sizeof(*items), module_of) &&
	       rf_sort_by(items, n, sizeof(*items), thread_of);
}

/* Adds up what ran in the same block and is told of the same thread; these are neighbours. */
static void join(struct executions *executions)
{
	struct counted_code *items = executions->items;
	size_t n = 0;
	for (size_t i = 0; i < executions->n_items; i++) {
		struct counted_code *last = n ? &items[n - 1] : NULL;
		if (last && compare(last, &items[i]) == 0 && last->size == items[i].size) {
			last->n += items[i].n;
			last->checked += items[i].checked;
		} else {
			items[n++] = items[i];
		}
	}
	executions->n_items = n;
}

struct rf_error *executions_init(struct executions *executions, const struct profile *profile,
				 const struct told_threads *told)
{
	*executions = (struct executions){.n_items = profile->n_counts};
	executions->items = calloc(profile->n_counts + 1, sizeof(*executions->items));
	if (!executions->items)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		const struct profile_block *block = &profile->blocks[count->block];
		executions->items[i] = (struct counted_code){told_threads_of(told, count->thread),
							     block->module,
							     block->size,
							     block->start,
							     count->n,
							     count->checked};
		executions->in_windows |= count->n != count->checked;
		executions->is_part |= !count->n && count->checked;
		if (block->size > executions->longest)
			executions->longest = block->size;
	}
	if (!sort(executions)) {
		executions_deinit(executions);
		return rf_error_no_memory();
	}
	join(executions);
	return NULL;
}

void executions_deinit(struct executions *executions)
{
	free(executions->items);
	*executions = (struct executions){0};
}

/* Of all blocks that the instruction is in. */
static struct counted_code sum_of(const struct executions *executions, uint32_t thread,
				  uint32_t module, uint64_t offset)
{
	const struct counted_code *items = executions->items;
	const uint64_t from = offset > executions->longest ? offset - executions->longest : 0;
	const struct counted_code first = {.thread = thread, .module = module, .start = from};
	struct counted_code sum = {0};
	for (size_t i = rf_search(executions->n_items, k, compare(&items[k], &first) < 0);
	     i < executions->n_items && items[i].thread == thread && items[i].module == module &&
	     items[i].start <= offset;
	     i++)
		if (offset - items[i].start < items[i].size) {
			sum.n += items[i].n;
			sum.checked += items[i].checked;
		}
	return sum;
}

double executions_of(const struct executions *executions, uint32_t thread, uint32_t module,
		     uint64_t offset)
{
	return (double)sum_of(executions, thread, module, offset).n;
}

double executions_checked(const struct executions *executions, uint32_t thread, uint32_t module,
			  uint64_t offset)
{
	return (double)sum_of(executions, thread, module, offset).checked;
}

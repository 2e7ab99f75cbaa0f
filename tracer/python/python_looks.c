/* What looks at threads have seen. */
#include "tracer/python/python_looks.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/u64_map.h"

#include <string.h>

/* 64 MB of stacks with their index, 96 MB of looks: those of ten threads that see another stack
 * each time for an hour. */
enum { MAX_NODES = 1 << 21, MAX_RUNS = 1 << 22, MAX_THREADS = 1 << 14 };
/* Looks that are farther apart are not of one row: between them nothing is known. */
#define SAME_NS UINT64_C(30000000)
#define NO_NODE UINT32_MAX

/* A frame with its callers. */
struct node {
	uint32_t caller; /* a node, or NO_NODE */
	uint32_t function, line;
	uint32_t is_entry;
};

/* Looks from `first` to `last` have seen the same. */
struct run {
	uint64_t first, last;
	uint32_t leaf; /* a node, or NO_NODE: no frames */
	bool holds_gil, is_sure;
};

struct thread {
	struct run *runs;
	size_t n_runs, cap_runs;
};

struct python_looks {
	struct node *nodes;
	size_t n_nodes, cap_nodes;
	struct u64_map by_node;
	struct thread *threads;
	size_t n_threads, cap_threads;
	struct u64_map by_thread;
	size_t n_runs; /* of all threads */
};

struct python_looks *python_looks_create(void)
{
	return calloc(1, sizeof(struct python_looks));
}

void python_looks_destroy(struct python_looks *looks)
{
	if (!looks)
		return;
	for (size_t i = 0; i < looks->n_threads; i++)
		free(looks->threads[i].runs);
	free(looks->threads);
	free(looks->nodes);
	u64_map_deinit(&looks->by_node);
	u64_map_deinit(&looks->by_thread);
	free(looks);
}

static uint64_t thread_key(uint32_t pid, uint32_t tid)
{
	return (uint64_t)pid << 32 | tid | UINT64_C(1) << 63;
}

static struct thread *find_thread(const struct python_looks *looks, uint32_t pid, uint32_t tid)
{
	const uint32_t *found = u64_map_find(&looks->by_thread, thread_key(pid, tid));
	return found ? &looks->threads[*found] : NULL;
}

static struct thread *get_thread(struct python_looks *looks, uint32_t pid, uint32_t tid)
{
	struct thread *known = find_thread(looks, pid, tid);
	const struct thread fresh = {0};
	if (known)
		return known;
	if (looks->n_threads == MAX_THREADS ||
	    !rf_array_push(looks->threads, looks->n_threads, looks->cap_threads, fresh))
		return NULL;
	if (u64_map_set(&looks->by_thread, thread_key(pid, tid), (uint32_t)looks->n_threads - 1))
		return &looks->threads[looks->n_threads - 1];
	looks->n_threads--;
	return NULL;
}

/* The number of a node, find-or-add; false when there are too many. */
static bool intern(struct python_looks *looks, const struct node *node, uint32_t *number)
{
	const uint32_t *found;
	uint64_t hash = rf_hash(node, sizeof(*node));
	for (; (found = u64_map_find(&looks->by_node, hash)); hash = hash + 1 ? hash + 1 : 1)
		if (memcmp(&looks->nodes[*found], node, sizeof(*node)) == 0) {
			*number = *found;
			return true;
		}
	if (looks->n_nodes == MAX_NODES ||
	    !rf_array_push(looks->nodes, looks->n_nodes, looks->cap_nodes, *node))
		return false;
	*number = (uint32_t)looks->n_nodes - 1;
	if (u64_map_set(&looks->by_node, hash, *number))
		return true;
	looks->n_nodes--;
	return false;
}

void python_looks_add(struct python_looks *looks, uint32_t pid, uint32_t tid, uint64_t time,
		      const struct python_frame *frames, size_t n, bool holds_gil)
{
	struct thread *thread = get_thread(looks, pid, tid);
	uint32_t leaf = NO_NODE;
	if (!thread)
		return;
	for (size_t i = n; i-- > 0;) {
		const struct node node = {leaf, frames[i].function, frames[i].line,
					  frames[i].is_entry};
		if (!intern(looks, &node, &leaf))
			return;
	}
	struct run *last = thread->n_runs ? &thread->runs[thread->n_runs - 1] : NULL;
	if (last && last->leaf == leaf && last->holds_gil == holds_gil &&
	    time - last->last <= SAME_NS) {
		last->last = time;
		return;
	}
	const struct run fresh = {
		.first = time, .last = time, .leaf = leaf, .holds_gil = holds_gil};
	if (looks->n_runs < MAX_RUNS &&
	    rf_array_push(thread->runs, thread->n_runs, thread->cap_runs, fresh))
		looks->n_runs++;
}

void python_looks_ran(struct python_looks *looks, uint32_t pid, uint32_t tid, uint64_t from,
		      uint64_t to)
{
	const struct thread *thread = find_thread(looks, pid, tid);
	if (!thread)
		return;
	for (size_t n = rf_search(thread->n_runs, i, thread->runs[i].last < from);
	     n < thread->n_runs && thread->runs[n].first <= to; n++)
		/* between its first and its last look nobody knows when there was one */
		thread->runs[n].is_sure |=
			thread->runs[n].first >= from || thread->runs[n].last <= to;
}

void python_looks_forget(struct python_looks *looks, uint64_t time)
{
	for (size_t i = 0; i < looks->n_threads; i++) {
		struct thread *thread = &looks->threads[i];
		size_t n = rf_search(thread->n_runs, r, thread->runs[r].last < time);
		n = n < thread->n_runs || !n ? n : n - 1;
		if (!n)
			continue;
		thread->n_runs -= n;
		looks->n_runs -= n;
		memmove(thread->runs, thread->runs + n, thread->n_runs * sizeof(*thread->runs));
	}
}

static uint64_t distance(const struct run *run, uint64_t time)
{
	return time < run->first ? run->first - time : time > run->last ? time - run->last : 0;
}

/* Of two rows, or NULL, the better one for a time: sure before nearer. */
static const struct run *better(const struct run *best, const struct run *run, uint64_t time,
				uint64_t within_ns)
{
	if (distance(run, time) > (run->is_sure ? within_ns : within_ns / PYTHON_SURE_FACTOR))
		return best;
	if (!best || run->is_sure != best->is_sure)
		return !best || run->is_sure ? run : best;
	return distance(run, time) < distance(best, time) ? run : best;
}

static const struct run *nearest(const struct thread *thread, uint64_t time, uint64_t within_ns)
{
	const struct run *best = NULL, *runs = thread->runs;
	const size_t n = rf_search(thread->n_runs, i, runs[i].last < time);
	for (size_t i = n; i < thread->n_runs && distance(&runs[i], time) <= within_ns; i++)
		best = better(best, &runs[i], time, within_ns);
	for (size_t i = n; i-- > 0 && distance(&runs[i], time) <= within_ns;)
		best = better(best, &runs[i], time, within_ns);
	return best;
}

size_t python_looks_find(const struct python_looks *looks, uint32_t pid, uint32_t tid,
			 uint64_t time, uint64_t within_ns,
			 struct python_frame frames[PYTHON_MAX_FRAMES], bool *holds_gil)
{
	const struct thread *thread = find_thread(looks, pid, tid);
	size_t count = 0;
	const struct run *run =
		thread ? nearest(thread, time, within_ns * PYTHON_SURE_FACTOR) : NULL;
	if (!run)
		return 0;
	for (uint32_t at = run->leaf; at != NO_NODE && count < PYTHON_MAX_FRAMES;
	     at = looks->nodes[at].caller)
		frames[count++] =
			(struct python_frame){looks->nodes[at].function, looks->nodes[at].line,
					      looks->nodes[at].is_entry};
	*holds_gil = run->holds_gil;
	return count;
}

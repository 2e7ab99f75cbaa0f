/* Threads that count in lines which they share, or do not.  The first argument says which case, the
 * second how often each thread counts, the third how many threads there are.
 *
 * false        each thread has a counter of its own in one block of the heap, in one line
 * false_static the same, two counters that are variables
 * false_fixed  the same, by instructions with constant addresses
 * false_stack  the same, on the stack of main
 * true         one counter, by atomic additions
 * padded       as `false`, but each counter has lines of its own
 * ring         a ring: one thread puts and moves the head, one takes and moves the tail, which lie in
 *              one line; each reads what the other one writes
 *
 * Prints the accesses that threads make to lines that they share: at least so many, for what happens
 * once (initialising, adding up) comes on top. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST 64

static long n;
static struct {
	_Alignas(64) uint64_t left;
	uint64_t right;
	char rest[112];
} apart;
static _Atomic uint64_t common __attribute__((aligned(64)));

/* Each turn loads and stores once. */
static __attribute__((noinline, noclone)) void count_here(volatile uint64_t *counter)
{
	for (long i = 0; i < n; i++)
		*counter = *counter + 1;
}

static __attribute__((noinline, noclone)) void count_left(void)
{
	for (long i = 0; i < n; i++)
		*(volatile uint64_t *)&apart.left += 1;
}

static __attribute__((noinline, noclone)) void count_right(void)
{
	for (long i = 0; i < n; i++)
		*(volatile uint64_t *)&apart.right += 1;
}

/* The assembler sees the variables' names, so that their addresses are in the instructions. */
static __attribute__((noinline, noclone)) void count_fixed(int right)
{
	for (long i = 0; right && i < n; i++)
		__asm__ volatile("addq $1, %0" : "+m"(apart.right));
	for (long i = 0; !right && i < n; i++)
		__asm__ volatile("addq $1, %0" : "+m"(apart.left));
}

static __attribute__((noinline, noclone)) void count_common(_Atomic uint64_t *counter)
{
	for (long i = 0; i < n; i++)
		atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

struct ring {
	_Atomic uint64_t head, tail; /* in one line */
	char rest[48];
	uint64_t items[64];
};

static __attribute__((noinline, noclone)) void put(struct ring *ring)
{
	for (uint64_t i = 0; i < (uint64_t)n; i++) {
		while (i - atomic_load_explicit(&ring->tail, memory_order_acquire) >= 64)
			__builtin_ia32_pause();
		ring->items[i % 64] = i;
		atomic_store_explicit(&ring->head, i + 1, memory_order_release);
	}
}

static __attribute__((noinline, noclone)) uint64_t take(struct ring *ring)
{
	uint64_t sum = 0;
	for (uint64_t i = 0; i < (uint64_t)n; i++) {
		while (atomic_load_explicit(&ring->head, memory_order_acquire) <= i)
			__builtin_ia32_pause();
		sum += ring->items[i % 64];
		atomic_store_explicit(&ring->tail, i + 1, memory_order_release);
	}
	return sum;
}

struct task {
	pthread_barrier_t *barrier;
	const char *name;
	int number;
	void *data;
};

static void *work(void *argument)
{
	struct task *task = argument;
	const char *name = task->name;
	pthread_barrier_wait(task->barrier);
	if (strcmp(name, "false_static") == 0)
		task->number % 2 ? count_right() : count_left();
	else if (strcmp(name, "false_fixed") == 0)
		count_fixed(task->number % 2);
	else if (strcmp(name, "true") == 0)
		count_common(&common);
	else if (strcmp(name, "ring") == 0)
		task->number % 2 ? (void)take(task->data) : put(task->data);
	else
		count_here(task->data);
	return NULL;
}

int main(int argc, char **argv)
{
	const char *name = argc > 1 ? argv[1] : "false";
	const int n_threads = argc > 3 ? atoi(argv[3]) : 2;
	n = argc > 2 ? atol(argv[2]) : 1000000;
	if (n_threads < 1 || n_threads > MOST)
		return 2;
	const int apart_by = strcmp(name, "padded") == 0 ? 16 : 1;
	_Alignas(64) uint64_t on_stack[8] = {0};
	uint64_t *heap = aligned_alloc(64, 16384);
	struct ring *ring = aligned_alloc(64, sizeof(struct ring));
	memset(heap, 0, 16384);
	memset(ring, 0, sizeof(*ring));
	pthread_t threads[MOST];
	struct task tasks[MOST];
	pthread_barrier_t barrier;
	pthread_barrier_init(&barrier, NULL, (unsigned)n_threads);
	for (int i = 0; i < n_threads; i++) {
		tasks[i] = (struct task){&barrier, name, i, &heap[i * apart_by]};
		if (strcmp(name, "false_stack") == 0)
			tasks[i].data = &on_stack[i % 8];
		if (strcmp(name, "ring") == 0)
			tasks[i].data = ring;
		pthread_create(&threads[i], NULL, work, &tasks[i]);
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	const int once = strcmp(name, "true") == 0 || strcmp(name, "false_fixed") == 0;
	const int per_turn = strcmp(name, "padded") == 0 ? 0 : once ? 1 : 2;
	printf("%s %ld %d\n", name, per_turn * n * n_threads, n_threads);
	return heap[0] + on_stack[0] + apart.left + apart.right + ring->head == 0 && common == 0;
}

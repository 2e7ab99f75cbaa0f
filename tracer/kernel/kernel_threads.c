/* Follows threads into kernels and out of them. */
#include "tracer/kernel/kernel_threads.h"

#include "base/array.h"
#include "profile/profile_kernels.h"
#include "tracer/gate/protocol.h"

#include <assert.h>
#include <string.h>

#define NEVER UINT64_MAX /* a limit that no stack pointer reaches */
#define FIRST(range) ((range) ? FIRST_PLAIN_COUNTER : 0)

/* Kernels are told by their rows, plus 1; 0 is none. */
struct kernel_thread {
	bool is_there;
	uint32_t thread, row;
	int starter;
	uint32_t own;       /* the kernel that it has called itself, and not left */
	uint64_t sp;        /* its stack pointer there, where the return address lies */
	uint32_t works_for; /* own, or that of its starter; as counted now */
	uint64_t stack_start, stack_end; /* of the memory that sp is in */
	struct kernel_bank *banks;
	size_t n_banks, cap_banks;
};

struct kernel_threads {
	struct profile *profile; /* not owned */
	uint8_t *slots;          /* not owned */
	kernel_stack *stack;
	void *context;
	struct kernel_thread of[MAX_SLOTS];
	int n; /* one more than the highest slot ever used */
	bool memory_short;
};

struct kernel_threads *kernel_threads_create(struct profile *profile, uint8_t *slots,
					     kernel_stack *stack, void *context)
{
	struct kernel_threads *threads = calloc(1, sizeof(*threads));
	if (!threads)
		return NULL;
	threads->profile = profile;
	threads->slots = slots;
	threads->stack = stack;
	threads->context = context;
	return threads;
}

static void free_banks(struct kernel_thread *thread)
{
	for (size_t i = 0; i < thread->n_banks; i++)
		for (int range = 0; range < 2; range++)
			free(thread->banks[i].counters[range]);
	free(thread->banks);
	*thread = (struct kernel_thread){0};
}

void kernel_threads_destroy(struct kernel_threads *threads)
{
	for (int slot = 0; threads && slot < threads->n; slot++)
		free_banks(&threads->of[slot]);
	free(threads);
}

bool kernel_threads_incomplete(const struct kernel_threads *threads)
{
	return threads->memory_short;
}

/* ---- what translated code looks at ---- */

static uint8_t *block_of(const struct kernel_threads *threads, int slot)
{
	assert(slot > 0 && slot < MAX_SLOTS);
	return threads->slots + (uint64_t)slot * SLOT_STRIDE;
}

/* The thread asks where its stack pointer is at `limit` or above. */
static void set_limit(const struct kernel_threads *threads, int slot, uint64_t limit)
{
	uint8_t *block = block_of(threads, slot);
	__atomic_store_n((uint64_t *)(block + G_KERNEL_ARMED), limit != NEVER, __ATOMIC_RELAXED);
	__atomic_store_n((uint64_t *)(block + G_KERNEL_LIMIT), limit, __ATOMIC_SEQ_CST);
}

static void tell(const struct kernel_threads *threads, int slot)
{
	const struct kernel_thread *thread = &threads->of[slot];
	*(uint32_t *)(block_of(threads, slot) + G_KERNEL_WORKS) = thread->works_for;
	set_limit(threads, slot, thread->own ? thread->sp : NEVER);
}

/* ---- banks ---- */

static struct kernel_bank *bank_of(struct kernel_thread *thread, uint32_t kernel, uint32_t row)
{
	const struct kernel_bank new = {.kernel = kernel, .row = row};
	for (size_t i = 0; i < thread->n_banks; i++)
		if (thread->banks[i].kernel == kernel)
			return &thread->banks[i];
	return rf_array_push(thread->banks, thread->n_banks, thread->cap_banks, new)
		       ? &thread->banks[thread->n_banks - 1]
		       : NULL;
}

static bool make_room(struct kernel_bank *bank, const struct kernel_counters *counters)
{
	for (int range = 0; range < 2; range++) {
		const uint32_t end = counters->end[range], first = FIRST(range);
		const uint32_t n = end > first ? end - first : 0;
		uint64_t **items = &bank->counters[range];
		if (n <= bank->n[range])
			continue;
		uint64_t *grown = realloc(*items, (size_t)n * sizeof(**items));
		if (!grown)
			return false;
		memset(grown + bank->n[range], 0, (n - bank->n[range]) * sizeof(**items));
		*items = grown;
		bank->n[range] = n;
	}
	return true;
}

/* Counters that come only now were 0 when the bank was opened. */
static void turn_bank(const struct kernel_threads *threads, int slot, struct kernel_bank *bank)
{
	const uint64_t *now = (const uint64_t *)(block_of(threads, slot) + SLOT_COUNTERS);
	bank->is_open = !bank->is_open;
	for (int range = 0; range < 2; range++) {
		uint64_t *items = bank->counters[range];
		const uint64_t *from = now + FIRST(range);
		if (bank->is_open)
			for (uint32_t i = 0; i < bank->n[range]; i++)
				items[i] -= from[i];
		else
			for (uint32_t i = 0; i < bank->n[range]; i++)
				items[i] += from[i];
	}
}

/* What the slot's thread counts from now on is for that kernel, or none. */
static void work_for(struct kernel_threads *threads, int slot, uint32_t kernel,
		     const struct kernel_counters *counters)
{
	struct kernel_thread *thread = &threads->of[slot];
	struct kernel_bank *bank;
	if (thread->works_for == kernel)
		return;
	if (thread->works_for) {
		bank = bank_of(thread, thread->works_for - 1, 0); /* it is there */
		if (!make_room(bank, counters))
			threads->memory_short = true;
		turn_bank(threads, slot, bank);
	}
	thread->works_for = 0;
	thread->row = thread->thread;
	if (!kernel)
		return;
	const uint32_t row = profile_kernel_share(threads->profile, thread->thread, kernel - 1);
	bank = row == thread->thread ? NULL : bank_of(thread, kernel - 1, row);
	if (!bank || !make_room(bank, counters)) {
		threads->memory_short = true;
		return;
	}
	turn_bank(threads, slot, bank);
	thread->works_for = kernel;
	thread->row = row;
}

/* ---- who works for whom ---- */

static uint32_t wanted(const struct kernel_threads *threads, int slot)
{
	for (int steps = 0; slot && steps < MAX_SLOTS; steps++) {
		const struct kernel_thread *thread = &threads->of[slot];
		if (!thread->is_there || thread->own)
			return thread->own;
		slot = thread->starter;
	}
	return 0;
}

/* Threads that are to work for another kernel ask soon, since their limit is 0.  They see it
 * before they see what the caller does behind this. */
static void tell_others(const struct kernel_threads *threads, int but)
{
	for (int slot = 1; slot < threads->n; slot++) {
		const struct kernel_thread *thread = &threads->of[slot];
		if (!thread->is_there || slot == but || thread->own)
			continue;
		set_limit(threads, slot, wanted(threads, slot) == thread->works_for ? NEVER : 0);
	}
}

void kernel_threads_begin(struct kernel_threads *threads, int slot, int starter, uint32_t thread,
			  struct kernel_counters counters)
{
	struct kernel_thread *new = &threads->of[slot];
	assert(!new->is_there);
	*new = (struct kernel_thread){
		.is_there = true, .thread = thread, .row = thread, .starter = starter};
	if (slot >= threads->n)
		threads->n = slot + 1;
	work_for(threads, slot, wanted(threads, slot), &counters);
	tell(threads, slot);
}

/* Signal handlers may have a stack of their own, and coroutines have: what lies in other memory
 * than the stack on which the kernel was called says nothing of its return. */
static bool has_left(const struct kernel_thread *thread, uint64_t sp, bool returns)
{
	return thread->own && sp < thread->stack_end &&
	       (returns ? sp >= thread->sp : sp > thread->sp);
}

static void leave(struct kernel_threads *threads, int slot)
{
	threads->of[slot].own = 0;
	tell_others(threads, slot);
}

void kernel_threads_look(struct kernel_threads *threads, int slot, uint64_t sp, bool returns,
			 struct kernel_counters counters)
{
	struct kernel_thread *thread = &threads->of[slot];
	if (!thread->is_there)
		return;
	if (has_left(thread, sp, returns))
		leave(threads, slot);
	work_for(threads, slot, wanted(threads, slot), &counters);
	tell(threads, slot);
}

static void find_stack(const struct kernel_threads *threads, struct kernel_thread *thread,
		       uint64_t sp)
{
	if (sp >= thread->stack_start && sp < thread->stack_end)
		return;
	if (!threads->stack(threads->context, sp, &thread->stack_start, &thread->stack_end)) {
		thread->stack_start = sp;
		thread->stack_end = UINT64_MAX;
	}
}

bool kernel_threads_enter(struct kernel_threads *threads, int slot, uint32_t kernel, uint64_t sp,
			  struct kernel_counters counters)
{
	struct kernel_thread *thread = &threads->of[slot];
	kernel_threads_look(threads, slot, sp, false, counters);
	if (!thread->is_there || thread->works_for || kernel >= threads->profile->n_kernels)
		return false;
	find_stack(threads, thread, sp);
	thread->own = kernel + 1;
	thread->sp = sp;
	profile_kernel_call(threads->profile, kernel, thread->thread);
	work_for(threads, slot, thread->own, &counters);
	tell(threads, slot);
	tell_others(threads, slot);
	return true;
}

bool kernel_threads_calls(const struct kernel_threads *threads, int slot)
{
	return threads->of[slot].own;
}

uint32_t kernel_threads_row(const struct kernel_threads *threads, int slot)
{
	return threads->of[slot].row;
}

const struct kernel_bank *kernel_threads_banks(const struct kernel_threads *threads, int slot,
					       size_t *n)
{
	*n = threads->of[slot].n_banks;
	return threads->of[slot].banks;
}

void kernel_threads_end(struct kernel_threads *threads, int slot)
{
	const int starter = threads->of[slot].starter;
	free_banks(&threads->of[slot]);
	for (int other = 1; other < threads->n; other++)
		if (threads->of[other].is_there && threads->of[other].starter == slot)
			threads->of[other].starter = starter;
	tell_others(threads, 0);
}

/* The two copies of the code of a process: who is to change, and what a change takes along.
 */
#include "tracer/target/copies.h"

#include "base/clock.h"
#include "base/large_memory.h"
#include "tracer/stock/stock.h"
#include "tracer/target/entry_table.h"
#include "tracer/target/shared_memory.h"
#include "tracer/target/slots.h"
#include "tracer/target/windows.h"
#include "tracer/translate/derive.h"
#include "tracer/translate/inherit.h"

#include <stdlib.h>

/* So many times the time that it takes passes between two countings of what has run. */
#define COUNT_SHARE 50
/* Whether what is hot still is, is looked at when the second copy has been there for so long, in a
 * process that is only counted for the longer time, and then each time when it has been there so
 * many times as long. */
#define WARM_NS 100000000ull
#define LATER_NS 500000000ull
#define LATER 5
/* So many times what a change took passes before the next in a run that is only counted. */
#define CHANGE_SHARE 10
#define LONGEST_CHANGE_NS 1000000000ull
/* What a block takes to be made when it is about to run: mostly the way to the server and back. */
#define BLOCK_NS 50000
/* A process pays for a second copy when it has lived so many times as long as it would take to make
 * what ran lately once more: the longer it has lived, the longer it will, and what it comes to
 * later is made as well. */
#define PAYS 4

/* ---- what other processes and runs have translated ---- */

/* Whether the copy's code may be that of other runs, and be theirs.  Of the plain copy of a traced
 * run only where there is no time for windows for each piece of new code: code that is there
 * already asks for none when control first comes to it. */
static bool is_for_files(const struct target *target, enum copy copy)
{
	const double making_ns =
		PAYS * (double)BLOCK_NS * (double)target->copies[COPY_FIRST].cache.n_blocks;
	return copy == COPY_FIRST ||
	       (target->windows && windows_native_ns(target->windows) < making_ns);
}

/* Nobody else knows a new target, and copying takes time: then the lock is not held.  Into the
 * second copy the server may look at any time. */
void copies_inherit(struct target *target, enum copy copy)
{
	if (!target->stock || !target->program || (copy == COPY_PLAIN && !target->drain))
		return;
	pthread_mutex_lock(target->lock);
	struct kept_code *kept = stock_find(target->stock, target->program, &target->copies[copy],
					    is_for_files(target, copy));
	if (copy == COPY_FIRST) {
		stock_add_image(target->stock);
		pthread_mutex_unlock(target->lock);
	}
	if (kept)
		inherit_all(&target->copies[copy], kept);
	if (copy != COPY_FIRST)
		pthread_mutex_unlock(target->lock);
	kept_code_release(kept);
}

void copies_keep(struct target *target, bool is_last)
{
	if (!target->stock || !target->program || target->native || target->overwritten)
		return;
	if (target->has_plain && target->drain)
		stock_keep(target->stock, target->program, &target->copies[COPY_PLAIN],
			   is_for_files(target, COPY_PLAIN), is_last);
	if (is_last && stock_has_one_image(target->stock)) {
		shared_memory_unmap_copy(target, COPY_PLAIN);
		code_cache_deinit(&target->copies[COPY_PLAIN].cache);
		large_release(); /* nobody else needs it */
	}
	stock_keep(target->stock, target->program, &target->copies[COPY_FIRST], true, is_last);
}

/* ---- what is hot ---- */

/* How often each block of the copy has run, in all threads that are there; NULL: memory is short.
 */
static double *executions_so_far(struct target *target, enum copy copy)
{
	const struct code_cache *cache = &target->copies[copy].cache;
	int64_t *of_thread = malloc(cache->n_blocks * sizeof(*of_thread) + 1);
	double *executions = calloc(cache->n_blocks + 1, sizeof(*executions));
	for (int slot = 1; slot < target->n_slots && of_thread && executions; slot++) {
		const uint64_t *counters = slot_u64(slot_at(target, slot), SLOT_COUNTERS);
		if (!target->slot_of[slot].tid || !derive_executions(cache, counters, of_thread))
			continue;
		for (size_t i = 0; i < cache->n_blocks; i++)
			executions[i] += of_thread[i] > 0 ? (double)of_thread[i] : 0;
	}
	free(of_thread);
	return executions;
}

/* Blocks that have run since the look before. */
static size_t n_running(const struct running *before, const double *executions, size_t n)
{
	size_t running = 0;
	for (size_t i = 0; i < n; i++)
		running += executions[i] > (i < before->n ? before->executions[i] : 0);
	return running;
}

bool copies_pay(struct target *target, uint64_t now)
{
	struct running *before = &target->running;
	if (target->windows || target->plain_failed || target->plain_pays)
		return true;
	pthread_mutex_lock(target->lock);
	double *executions = executions_so_far(target, COPY_FIRST);
	const size_t n = target->copies[COPY_FIRST].cache.n_blocks;
	pthread_mutex_unlock(target->lock);
	if (executions && !before->executions) {
		*before = (struct running){executions, n};
		target->plain_from_ns = now + COPIES_LOOK_NS;
		return false;
	}
	const uint64_t lived = now - target->begun_ns;
	target->plain_pays =
		!executions || lived >= PAYS * BLOCK_NS * n_running(before, executions, n);
	target->plain_from_ns = target->plain_pays ? now : now + lived;
	free(before->executions);
	free(executions);
	*before = (struct running){0};
	return target->plain_pays;
}

void copies_find_hot(struct target *target)
{
	struct translator *plain = &target->copies[COPY_PLAIN];
	pthread_mutex_lock(target->lock);
	double *executions = executions_so_far(target, COPY_FIRST);
	if (executions &&
	    hot_code_init(&plain->hot, &target->copies[COPY_FIRST].cache, executions)) {
		translate_hot(plain);
		entry_table_show_new(target, COPY_PLAIN);
	}
	free(executions);
	target->heat_from_ns = clock_now_ns();
	target->next_heat_ns = target->heat_from_ns + (target->windows ? WARM_NS : LATER_NS);
	pthread_mutex_unlock(target->lock);
}

static void lay_out_anew(struct target *target, const double *executions)
{
	struct translator *plain = &target->copies[COPY_PLAIN];
	struct hot_code hot;
	if (!hot_code_init(&hot, &plain->cache, executions)) {
		hot_code_deinit(&hot);
		return;
	}
	hot_code_deinit(&plain->hot);
	plain->hot = hot;
	translate_hot_anew(plain);
	entry_table_show_new(target, COPY_PLAIN);
}

void copies_follow_heat(struct target *target, uint64_t now)
{
	if (!target->has_plain || target->native || now < target->next_heat_ns)
		return;
	pthread_mutex_lock(target->lock);
	double *executions = executions_so_far(target, COPY_PLAIN);
	const struct translator *plain = &target->copies[COPY_PLAIN];
	if (executions && !hot_code_still_is(&plain->hot, &plain->cache, executions))
		lay_out_anew(target, executions);
	free(executions);
	target->next_heat_ns = now + (LATER - 1) * (now - target->heat_from_ns);
	pthread_mutex_unlock(target->lock);
}

/* ---- changes ---- */

enum copy copies_wanted(const struct target *target, uint64_t now)
{
	if (target->windows)
		return windows_wanted(target->windows, now);
	return target->pace && now >= target->plain_from_ns ? COPY_PLAIN : COPY_FIRST;
}

uint64_t copies_patience(const struct target *target, uint64_t now)
{
	if (target->windows)
		return windows_patience(target->windows);
	return target->pace && now < target->plain_from_ns ? target->plain_from_ns - now
							   : UINT64_MAX;
}

static void end_change(struct copies_pace *pace, uint64_t now)
{
	pace->next_ns = now + CHANGE_SHARE * (now - pace->begun_ns);
	pace->begun_ns = 0;
}

/* Whether a thread may be asked now; one that has not answered for a second is gone. */
static bool keeps_pace(struct copies_pace *pace, uint64_t now)
{
	if (pace->begun_ns && now - pace->begun_ns > LONGEST_CHANGE_NS)
		end_change(pace, now);
	return !pace->is_over && !pace->begun_ns && now >= pace->next_ns;
}

void copies_answered(struct target *target, int slot)
{
	struct copies_pace *pace = target->pace;
	const uint64_t now = clock_now_ns();
	if (target->slot_of[slot].changes && pace && pace->begun_ns)
		end_change(pace, now);
	target->slot_of[slot].changes = false; /* it may be asked again */
}

void copies_ask(struct target *target, int slot)
{
	uint8_t *block = slot_at(target, slot);
	const uint64_t now = clock_now_ns();
	if (target->pace && !keeps_pace(target->pace, now))
		return;
	__atomic_store_n(slot_u32(block, G_SWITCH), 1, __ATOMIC_SEQ_CST);
	if (target->slot_of[slot].changes ||
	    __atomic_load_n(slot_u32(block, G_CALLING), __ATOMIC_SEQ_CST))
		return;
	target->slot_of[slot].changes = true;
	if (target->pace)
		target->pace->begun_ns = now;
	if (!target->stop_at[slot])
		__atomic_store_n(&target->stop_at[slot], now, __ATOMIC_RELEASE);
}

/* Calls of allocators whose return is awaited are noticed in the tables of the other copy, too. */
static void await_allocations(struct target *target, int slot)
{
	uint8_t *block = slot_at(target, slot);
	const uint64_t n = *slot_u64(block, G_ALLOCATION_N) / 8;
	for (uint64_t i = 0; i < n && i < ALLOCATION_DEPTH; i++) {
		uint64_t pc;
		const uint64_t at = *slot_u64(block, G_ALLOCATION_STACK + 8 * i);
		if (target_read(target, at, &pc, sizeof(pc)))
			entry_table_remember(target, slot, pc | RETURN_KEY,
					     target_gate(target, gate_allocated));
	}
}

/* How often each instruction has run with its accesses checked, by those counters of the first copy
 * and the numbers of the register; NULL when memory is short.  What has run is met from now on. */
static double *checked_executions(struct target *target, const uint64_t *counters)
{
	struct translator *first = &target->copies[COPY_FIRST];
	const struct trace_config *config = first->trace;
	int64_t *of_block = malloc(first->cache.n_blocks * sizeof(*of_block) + 1);
	double *executions = calloc(config->n_numbers + 1, sizeof(*executions));
	if (!of_block || !executions || !derive_executions(&first->cache, counters, of_block)) {
		free(of_block);
		free(executions);
		return NULL;
	}
	for (uint32_t i = 0; i < config->n_groups; i++) {
		const struct trace_group *group = trace_config_group(config, i);
		for (uint16_t k = 0; k < group->n && group->form != TRACE_TRANSFER; k++)
			if (group->operands[k].block <
			    first->cache.n_blocks) /* else short memory */
				executions[group->operands[k].number] =
					(double)of_block[group->operands[k].block];
	}
	for (size_t i = 0; i < first->cache.n_blocks; i++)
		first->cache.blocks[i].is_met |= of_block[i] > 0;
	free(of_block);
	return executions;
}

/* The same for each row that the slot's thread has counted for: its own, less the shares, and
 * these.  `rows` has room for all of them.  Returns how many there are; 0 when memory is short. */
static size_t executions_by_row(struct target *target, int slot, struct drain_executions *rows)
{
	const uint64_t *now = slot_u64(slot_at(target, slot), SLOT_COUNTERS);
	const uint32_t end = target->copies[COPY_FIRST].cache.n_counters;
	size_t n_banks = 0, n = 0;
	const struct kernel_bank *banks =
		target->kernels ? kernel_threads_banks(target->kernels, slot, &n_banks) : NULL;
	uint64_t *rest = malloc((end + 1) * sizeof(*rest)),
		 *share = malloc((end + 1) * sizeof(*share));
	bool ok = rest && share;
	for (uint32_t i = 0; ok && i < end; i++)
		rest[i] = now[i];
	for (size_t b = 0; ok && b <= n_banks; b++) {
		for (uint32_t i = 0; b < n_banks && i < end; i++)
			rest[i] -= share[i] = kernel_bank_count(&banks[b], 0, i, now[i]);
		rows[n].row = b < n_banks ? banks[b].row : target->slot_of[slot].thread;
		rows[n].items = checked_executions(target, b < n_banks ? share : rest);
		ok = rows[n].items != NULL;
		n += ok;
	}
	for (; !ok && n; n--)
		free((void *)rows[n - 1].items);
	free(rest);
	free(share);
	return n;
}

/* Counting what has run takes time in a large program: then several windows are one for it. */
static void end_window(struct target *target, int slot)
{
	struct drain_executions rows[MOST_KERNELS + 1];
	const uint64_t start = clock_now_ns();
	const size_t n = start >= target->next_count_ns ? executions_by_row(target, slot, rows) : 0;
	if (n)
		target->next_count_ns = start + COUNT_SHARE * (clock_now_ns() - start);
	drain_end_window(target->drain, target->sources[slot], rows, n,
			 target->copies[COPY_FIRST].trace->n_numbers);
	for (size_t i = 0; i < n; i++)
		free((void *)rows[i].items);
}

void copies_change(struct target *target, int slot, enum copy copy)
{
	slots_set_copy(target, slot, copy);
	await_allocations(target, slot);
	*slot_u32(slot_at(target, slot), G_SWITCH) = 0;
	if (!target->windows)
		return;
	bool by_chance;
	const uint32_t number = windows_number(target->windows, &by_chance);
	if (copy == COPY_FIRST) {
		drain_begin_window(target->drain, target->sources[slot], number, by_chance);
		return;
	}
	const uint64_t start = clock_now_ns();
	end_window(target, slot);
	windows_pay(target->windows, number, clock_now_ns() - start);
}

bool copies_is_new(struct target *target, int slot, uint64_t pc)
{
	const struct code_block *checked = code_cache_block(&target->copies[COPY_FIRST].cache, pc);
	return target->slot_of[slot].copy == COPY_PLAIN && (!checked || !checked->is_met) &&
	       !code_cache_block(&target->copies[COPY_PLAIN].cache, pc);
}

void copies_enter_first(struct target *target, int slot)
{
	if (target->slot_of[slot].copy == COPY_PLAIN)
		copies_change(target, slot, COPY_FIRST);
}

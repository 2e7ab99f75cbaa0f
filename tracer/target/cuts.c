/* Who begins a slice, and who is cut at its beginning. */
#include "tracer/target/cuts.h"

#include "base/clock.h"
#include "tracer/span/span.h"
#include "tracer/target/counts.h"
#include "tracer/target/entry_table.h"

/* A store of a thread that it has made by now is seen by all after that: far longer than a
 * processor keeps one to itself. */
#define SEEN_NS 5000
/* How often it is looked how many calls the program has made. */
#define CALLS_NS 1000000

static bool by_function(const struct target *target)
{
	return target->span && span_is_by_function(target->span);
}

/* Code that is translated only when control comes there: an event, once. */
static bool is_held(void *context, uint64_t pc)
{
	struct target *target = context;
	const uint32_t slice = span_slice(target->span);
	const int mark = slice < SLICE_AFTER ? program_memory_mark(&target->memory, pc) : -1;
	return (mark == MARK_START && slice == SLICE_BEFORE) || mark == MARK_STOP;
}

void cuts_init(struct target *target, struct span *span)
{
	target->span = span;
	if (!by_function(target))
		return;
	target->memory.marks = &span->marks;
	for (int copy = 0; copy < N_COPIES; copy++) {
		target->copies[copy].is_held = is_held;
		target->copies[copy].held_context = target;
	}
}

/* ---- cutting ---- */

bool cuts_is_due(const struct target *target, int slot)
{
	return target->span && target->slot_of[slot].tid &&
	       target->slot_of[slot].slice != span_slice(target->span);
}

void cuts_here(struct target *target, int slot)
{
	if (!cuts_is_due(target, slot))
		return;
	counts_collect(target, slot);
	target->slot_of[slot].slice = span_slice(target->span);
}

static bool is_in_call(uint8_t *block)
{
	return __atomic_load_n(slot_u32(block, G_CALLING), __ATOMIC_SEQ_CST);
}

/* Whether the thread is in a call, and comes to the gate behind it before it counts anything: it
 * was told so (G_SWITCH) before it is looked at, and looked at twice, for its own store may be seen
 * late. */
static bool waits_in_call(uint8_t *block)
{
	if (!is_in_call(block))
		return false;
	for (const uint64_t start = clock_now_ns(); clock_now_ns() - start < SEEN_NS;)
		;
	return is_in_call(block);
}

static void ask(struct target *target, int slot)
{
	uint8_t *block = slot_at(target, slot);
	if (target->slot_of[slot].cut_in_call && is_in_call(block)) {
		target->slot_of[slot].slice = span_slice(target->span); /* it has counted nothing */
		return;
	}
	__atomic_store_n(slot_u32(block, G_SWITCH), 1, __ATOMIC_SEQ_CST);
	if (waits_in_call(block)) {
		cuts_here(target, slot);
		target->slot_of[slot].cut_in_call = true;
		return;
	}
	if (target->slot_of[slot].changes || is_in_call(block))
		return;
	target->slot_of[slot].changes = true;
	if (!target->stop_at[slot])
		__atomic_store_n(&target->stop_at[slot], clock_now_ns(), __ATOMIC_RELEASE);
}

/* The end of the span is an event only from its beginning on. */
static void hold_stop(struct target *target)
{
	const uint64_t pc = program_memory_find_mark(&target->memory, MARK_STOP);
	target->holds_stop = true;
	for (int copy = 0; copy < N_COPIES && pc; copy++) {
		uint64_t lowest = pc;
		if (translate_invalidate(&target->copies[copy], &lowest, pc + 1))
			entry_table_forget(target, copy, lowest, pc + 1);
	}
}

static bool is_any_due(const struct target *target)
{
	bool any = false;
	for (int slot = 1; slot < target->n_slots; slot++)
		any |= cuts_is_due(target, slot);
	return any;
}

/* Where the timed run was interrupted all threads are cut, and the program is ended. */
static void follow_calls(struct target *target)
{
	struct span *span = target->span;
	const uint64_t now = clock_now_ns();
	pthread_mutex_lock(target->lock);
	if (span_slice(span) == SLICE_IN && !span_is_on_its_way(span, now))
		span_counted_enters(span, SLICE_AFTER, now);
	if (span_slice(span) == SLICE_AFTER && !is_any_due(target))
		span_end_process(span, now);
	pthread_mutex_unlock(target->lock);
}

void cuts_ask(struct target *target)
{
	struct span *span = target->span;
	if (!span || target->native)
		return;
	if (span_patience(span, clock_now_ns()) <= 1) {
		pthread_mutex_lock(target->lock);
		span_advance(span, clock_now_ns());
		pthread_mutex_unlock(target->lock);
	}
	if (span->calls && target->pid == span->calls_of)
		follow_calls(target);
	if (by_function(target) && span_slice(span) == SLICE_IN && !target->holds_stop) {
		pthread_mutex_lock(target->lock);
		hold_stop(target);
		pthread_mutex_unlock(target->lock);
	}
	for (int slot = 1; slot < target->n_slots; slot++) {
		if (!cuts_is_due(target, slot))
			continue;
		pthread_mutex_lock(target->lock);
		if (cuts_is_due(target, slot) && target->leaving[slot].how == STAYS)
			ask(target, slot);
		pthread_mutex_unlock(target->lock);
	}
}

uint64_t cuts_patience(const struct target *target, uint64_t now)
{
	if (!target->span || target->native)
		return UINT64_MAX;
	return target->span->calls ? CALLS_NS : span_patience(target->span, now);
}

/* ---- events of the program ---- */

/* The program's stack pointer of a thread that has come from a call, whose translation has pushed
 * one word more. */
static uint64_t stack_of(struct target *target, int slot)
{
	const uint64_t sp = *slot_u64(slot_at(target, slot), SAVE_RSP);
	uint64_t word;
	const bool more =
		target_read(target, sp, &word, sizeof(word)) && target_copy_at(target, word);
	return more ? sp + 8 : sp;
}

/* From now on the return of this call is an event. */
static void hold_return(struct target *target, int slot)
{
	target->back.tid = target->slot_of[slot].tid;
	target->back.stack = stack_of(target, slot);
	if (!target_read(target, target->back.stack, &target->back.pc, sizeof(target->back.pc)))
		target->back.pc = 0;
	for (int copy = 0; copy < N_COPIES && target->back.pc; copy++)
		entry_table_forget(target, copy, target->back.pc, target->back.pc + 1);
}

static void enter(struct target *target, int slot, uint32_t slice)
{
	span_counted_enters(target->span, slice, clock_now_ns());
	cuts_here(target, slot);
}

static bool is_return(struct target *target, int slot, uint64_t pc)
{
	return target->back.pc == pc && target->back.tid == target->slot_of[slot].tid &&
	       *slot_u64(slot_at(target, slot), SAVE_RSP) == target->back.stack + 8;
}

void cuts_on_transfer(struct target *target, int slot, uint32_t type, uint64_t pc)
{
	const uint32_t slice = by_function(target) ? span_slice(target->span) : SLICE_AFTER;
	if (slice == SLICE_AFTER)
		return;
	const int mark = type == REQ_RETURN ? -1 : program_memory_mark(&target->memory, pc);
	if (slice == SLICE_BEFORE && mark == MARK_START) {
		enter(target, slot, SLICE_IN);
		if (target->span->options.stop_at)
			hold_stop(target);
		else
			hold_return(target, slot);
	} else if (slice == SLICE_IN &&
		   (mark == MARK_STOP || (type == REQ_RETURN && is_return(target, slot, pc)))) {
		enter(target, slot, SLICE_AFTER);
	}
}

bool cuts_holds(const struct target *target, uint64_t key)
{
	return by_function(target) && target->back.pc && key == (target->back.pc | RETURN_KEY) &&
	       span_slice(target->span) == SLICE_IN;
}

/* Looks for what a program has written over in the shared memory. */
#include "tracer/target/watchdog.h"

#include "tracer/target/entry_table.h"
#include "tracer/target/slots.h"
#include "tracer/target/watched_calls.h"

#include <signal.h>

static bool is_process_area_whole(const struct target *target)
{
	return entry_table_is_whole(target) && watched_calls_are_whole(target);
}

bool watchdog_is_overwritten(const struct target *target)
{
	bool whole = is_process_area_whole(target);
	for (int index = 1; whole && index < target->n_slots; index++)
		whole = slots_is_whole(target, index);
	return !whole;
}

bool watchdog_explains_fault(const struct target *target, pid_t tid, uint64_t pc)
{
	const int index = target_slot_index(target, tid);
	if (watchdog_is_overwritten(target))
		return true;
	if (target_copy_at(target, pc))
		return false;
	const size_t tables = target->slot_of[index].copy == COPY_PLAIN ? SLOT_PLAIN : 0;
	for (size_t i = 0; index && i < SLOT_TABLE_CELLS; i++) {
		uint8_t *slot = slot_at(target, index);
		const size_t at = tables + 8 * i;
		if (!target_copy_at(target, *slot_u64(slot, SLOT_JUMPS + at)) ||
		    !target_copy_at(target, *slot_u64(slot, SLOT_RETURNS + at)))
			return true;
	}
	return false;
}

void watchdog_end(struct target *target)
{
	if (target->overwritten)
		return;
	target->overwritten = true;
	target_give_up(target,
		       "the program wrote over memory that rfprof had mapped, and could not go "
		       "on: it was ended");
	kill(target->pid, SIGKILL);
}

/* What the gate asks for, and how it is answered: code is translated, indirect transfers get their
 * entries, watched system calls are let through, and threads that must go on natively leave. */
#include "tracer/target/requests.h"

#include "base/clock.h"
#include "tracer/target/entry_table.h"
#include "tracer/target/watched_calls.h"

#include <assert.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where the kernel saves the program counter of an interrupted thread, above the stack pointer at
 * rt_sigreturn: struct ucontext in <asm/sigcontext.h>. */
#define SIGFRAME_RIP 0xa8

void requests_init(struct target *target)
{
	watched_calls_init(target);
	for (uint64_t i = 0; i < (uint64_t)MAX_SLOTS * SLOT_STRIDE >> 24; i++)
		target->slots[P_CODE_UNITS + (((target->slots_address >> 24) + i) & 0xffff)] = 1;
	entry_table_init(target);
}

/* Aims the frame at the cache.  False: the program goes on natively where it was interrupted. */
static bool resume_where_interrupted(struct target *target, int slot, uint64_t frame)
{
	uint64_t pc;
	const char *why = NULL;
	target->resumed_at[slot] = clock_now_ns();
	if (!program_memory_read(&target->memory, frame + SIGFRAME_RIP, &pc, sizeof(pc)))
		return true; /* the kernel will say so */
	if (code_cache_arena_at(&target->translator.cache, pc))
		return true; /* done, but a signal came before the call */
	uint64_t body = target->native ? 0 : translate_body(&target->translator, pc, &why);
	if (body)
		program_memory_write(&target->memory, frame + SIGFRAME_RIP, &body, sizeof(body));
	else if (why)
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
	return body;
}

/* Leave the cache: the thread goes on natively at pc.  Returns 0. */
static uint64_t leave(struct target *target, int index, uint64_t pc)
{
	struct leaving *leaving = &target->leaving[index];
	assert(leaving->how != ATTENDED);
	leaving->pc = pc;
	*slot_u32(slot_at(target, index), G_CHANGING) = 0;
	if (leaving->how == STAYS)
		leaving->how = LEAVES;
	target->actions_unseen = true;
	return 0;
}

/* Decides how a watched system call goes on.  Returns the cache address to go on at, or 0. */
static uint64_t answer_syscall(struct target *target, int index, uint8_t *slot)
{
	const uint64_t number = *slot_u64(slot, SAVE_RAX), sysret = *slot_u64(slot, G_SYSRET);
	bool native = false;
	if (number == SYS_rt_sigreturn)
		native = !resume_where_interrupted(target, index, *slot_u64(slot, SAVE_RSP));
	else if (watched_calls_look(target, index, number))
		return sysret;
	if (target->native || native)
		return leave(target, index, target_behind_syscall(target, sysret) - 2);
	return target_gate(target, target->changing[index].end ? gate_do_change : gate_do_syscall);
}

/* The thread, still in the gate behind its system call, gets the signals that are held for it. */
static uint64_t let_attend(struct target *target, int index, uint8_t *slot)
{
	struct leaving *leaving = &target->leaving[index];
	assert(leaving->how == STAYS);
	leaving->pc = *slot_u64(slot, G_SYSRET);
	leaving->how = ATTENDED;
	return leaving->pc;
}

/* ---- transfers ---- */

static bool is_stub(const struct target *target, uint32_t type, uint64_t argument)
{
	return type == REQ_MISS && argument < target->translator.cache.n_stubs;
}

/* What is no stub's request is taken as one for the address that it holds: nobody but a program
 * that writes into its slot asks so. */
static uint64_t wanted_pc(const struct target *target, uint32_t type, uint64_t argument)
{
	return is_stub(target, type, argument) ? target->translator.cache.stubs[argument].pc
					       : argument;
}

/* Returns the cache address to go on at, or 0 when the thread leaves the cache. */
static uint64_t answer_transfer(struct target *target, int slot, uint32_t type, uint64_t argument)
{
	const uint64_t pc = wanted_pc(target, type, argument);
	const char *why = NULL;
	uint64_t ignored, body = 0, entry = 0;
	if (target->native)
		return leave(target, slot, pc);
	if (is_stub(target, type, argument))
		body = translate_stub(&target->translator, argument, &ignored, &why);
	else if (type == REQ_RETURN)
		entry = translate_landing(&target->translator, pc, &why);
	else
		entry = translate_entry(&target->translator, pc, &why);
	if (entry)
		body = translate_body(&target->translator, pc, &why);
	if (!body) {
		uint32_t module;
		uint64_t offset;
		program_memory_locate(&target->memory, pc, &module, &offset);
		profile_add_uncounted(target->profile, module, why);
		profile_native_thread(target->profile, target->slot_of[slot].thread, why);
		if (why != why_not_executable)
			profile_set_fact(target->profile, "counts_incomplete", "%s", why);
		return leave(target, slot, pc);
	}
	entry_table_show_new(target);
	if (entry)
		entry_table_remember(target, slot, type == REQ_RETURN ? pc | RETURN_KEY : pc,
				     entry);
	return body;
}

/* ---- all requests ---- */

bool requests_decide(struct target *target, int index)
{
	uint8_t *slot = slot_at(target, index);
	const uint32_t seen = __atomic_load_n(target_state(target, index), __ATOMIC_ACQUIRE);
	if ((seen != STATE_REQUESTED && seen != STATE_SLEEPING) ||
	    target->leaving[index].how != STAYS)
		return seen == STATE_DONE || target->leaving[index].how != STAYS;
	watched_calls_note_changes(target);
	const uint32_t type = (uint32_t)*slot_u64(slot, G_REQ_TYPE);
	const uint64_t argument = *slot_u64(slot, G_REQ_ARG);
	if (type == REQ_ATTEND) {
		*slot_u64(slot, G_JUMP) = let_attend(target, index, slot);
		return true;
	}
	if (type != REQ_SYSCALL &&
	    watched_calls_is_changing(target, wanted_pc(target, type, argument)))
		return false;
	*slot_u64(slot, G_JUMP) = type == REQ_SYSCALL
					  ? answer_syscall(target, index, slot)
					  : answer_transfer(target, index, type, argument);
	return true;
}

void requests_answer(struct target *target, int index)
{
	uint32_t *state = target_state(target, index);
	uint32_t seen = __atomic_load_n(state, __ATOMIC_ACQUIRE);
	struct leaving *leaving = &target->leaving[index];
	if ((seen != STATE_REQUESTED && seen != STATE_SLEEPING) || leaving->how != STAYS ||
	    !requests_decide(target, index))
		return;
	if (leaving->how != STAYS) {
		if (target_stop_thread(target, index))
			return;
		/* it takes itself out, with a segment base that is not the program's */
		*slot_u64(slot_at(target, index), G_JUMP) = leaving->pc;
		leaving->how = STAYS;
	}
	if (__atomic_exchange_n(state, STATE_DONE, __ATOMIC_SEQ_CST) == STATE_SLEEPING)
		syscall(SYS_futex, state, FUTEX_WAKE, 1, NULL, NULL, 0);
}

/* What every part of the counted run asks of a target: where a thread's slot is, what an address in
 * the code cache stands for, how a thread is stopped, and that counting ends. */
#include "tracer/target/target.h"

#include "base/clock.h"
#include "base/small_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define STOP_AGAIN_NS 50000000ull /* a SIGCONT takes pending stops away */

static const char stop_mark; /* its address marks SIGSTOPs of ours */

int target_slot_index(const struct target *target, pid_t tid)
{
	for (int i = 1; i < target->n_slots; i++)
		if (target->slot_of[i].tid == tid)
			return i;
	return 0;
}

uint8_t *target_slot(const struct target *target, pid_t tid)
{
	const int index = target_slot_index(target, tid);
	return index ? slot_at(target, index) : NULL;
}

bool target_in_gate(const struct target *target, uint64_t pc)
{
	return pc >= target->gate_address && pc < target_gate(target, gate_end);
}

static bool had_thread(const struct target *target, pid_t tid)
{
	for (size_t i = 0; i < target->n_tids; i++)
		if (target->tids[i] == tid)
			return true;
	return false;
}

struct translator *target_copy_of(struct target *target, int slot)
{
	return &target->copies[slot ? target->slot_of[slot].copy : COPY_FIRST];
}

struct translator *target_copy_at(const struct target *target, uint64_t address)
{
	for (int i = 0; i < N_COPIES; i++)
		if (code_cache_arena_at(&target->copies[i].cache, address))
			return (struct translator *)&target->copies[i];
	return NULL;
}

bool target_piece(const struct target *target, uint64_t address, struct translator **copy,
		  struct piece *piece)
{
	*copy = target_copy_at(target, address);
	return *copy && code_cache_piece(&(*copy)->cache, address, piece);
}

static bool is_behind_call(const struct target *target, uint64_t pc)
{
	return pc == target_gate(target, gate_after_syscall) ||
	       pc == target_gate(target, gate_after_again);
}

/* Records of waits are read some milliseconds late: by then the thread may be elsewhere.  Waits of
 * the gate's own, for an answer, are not the program's. */
static bool waits_still(const struct target *target, pid_t tid, uint64_t wait_sp)
{
	char directory[32], line[256];
	uint64_t sp, pc;
	snprintf(directory, sizeof(directory), "/proc/%d", tid);
	return small_file_line(directory, "syscall", line, sizeof(line)) &&
	       sscanf(line, "%*s %*s %*s %*s %*s %*s %*s 0x%" SCNx64 " 0x%" SCNx64, &sp, &pc) ==
		       2 &&
	       sp == wait_sp && is_behind_call(target, pc);
}

uint64_t target_map(struct target *target, pid_t tid, uint64_t address, uint64_t wait_sp,
		    bool *ours)
{
	struct translator *copy;
	uint64_t pc = 0;
	struct piece piece;
	const bool found = target_piece(target, address, &copy, &piece);
	*ours = copy && had_thread(target, tid);
	if (*ours && found && piece.block != NO_BLOCK && !target_in_gate(target, address))
		pc = copy->cache.blocks[piece.block].pc + piece.orig;
	uint8_t *slot = *ours && wait_sp && is_behind_call(target, address)
				? target_slot(target, tid)
				: NULL;
	if (slot && waits_still(target, tid, wait_sp))
		pc = target_behind_syscall(target, *slot_u64(slot, G_SYSRET));
	return pc;
}

uint64_t target_body(struct target *target, int slot, uint64_t pc)
{
	const char *why = NULL;
	const uint64_t body =
		target->native ? 0 : translate_body(target_copy_of(target, slot), pc, &why);
	if (why)
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
	return body;
}

uint64_t target_behind_syscall(struct target *target, uint64_t sysret)
{
	struct translator *copy;
	struct piece piece;
	if (!target_piece(target, sysret, &copy, &piece) || piece.block == NO_BLOCK)
		return 0;
	return copy->cache.blocks[piece.block].pc + piece.orig + 2;
}

bool target_stop_thread(struct target *target, int slot)
{
	siginfo_t info = {.si_signo = SIGSTOP, .si_code = SI_QUEUE};
	info.si_value.sival_ptr = (void *)(uintptr_t)&stop_mark;
	const pid_t tid = target->slot_of[slot].tid;
	if (syscall(SYS_rt_tgsigqueueinfo, target->pid, tid, SIGSTOP, &info) < 0)
		return false;
	__atomic_store_n(&target->stop_at[slot], clock_now_ns() + STOP_AGAIN_NS, __ATOMIC_RELEASE);
	return true;
}

bool target_sent_stop(const siginfo_t *info)
{
	/* without room in its queue of signals the kernel drops what comes with one */
	const bool bare = info->si_code == SI_USER && !info->si_pid && !info->si_uid;
	return info->si_signo == SIGSTOP &&
	       (bare || (info->si_code == SI_QUEUE && info->si_value.sival_ptr == &stop_mark));
}

void target_set_state(struct target *target, int index, uint32_t state)
{
	assert(state <= STATE_DONE);
	__atomic_store_n(target_state(target, index), state, __ATOMIC_RELEASE);
}

bool target_read(const struct target *target, uint64_t address, void *buffer, size_t size)
{
	const struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
	return process_vm_readv(target->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

void target_give_up(struct target *target, const char *why)
{
	if (target->native)
		return;
	profile_add_uncounted(target->profile, PROFILE_NONE, why);
	profile_native_process(target->profile, target->pid, why);
	profile_set_fact(target->profile, "counts_incomplete", "%s", why);
	target->native = true;
}

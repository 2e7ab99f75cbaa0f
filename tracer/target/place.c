/* Where a thread in the code cache stands, seen as a place in the program: its registers are put
 * back to what the program's own would be there, and what is counted again later is taken back.
 * Where that cannot be, the thread is stepped on to the next point where it can. */
#include "tracer/target/place.h"

#include "base/clock.h"
#include "insn/decode.h"
#include "tracer/process/stops.h"
#include "tracer/target/counts.h"
#include "tracer/target/inject.h"
#include "tracer/target/requests.h"
#include "tracer/translate/derive.h"

#include <assert.h>
#include <errno.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

/* What the kernel has in the place of a result while it is about to run a call again:
 * ERESTARTSYS to ERESTART_RESTARTBLOCK in <linux/errno.h>. */
#define FIRST_RESTART (-516ll)
#define LAST_RESTART (-512ll)
#define MAX_STEPS 40000 /* far more than any sequence of ours is long */
/* What a step of ours can raise, in a mask of signals. */
#define STEP_FAULTS (1ull << (SIGSEGV - 1) | 1ull << (SIGBUS - 1))
#define STATUS_BITS 0x8d5ull /* OF, SF, ZF, AF, PF, CF in rflags */

bool place_at_call(const struct target *target, uint64_t pc, bool *done)
{
	*done = pc == target_gate(target, gate_after_syscall) ||
		pc == target_gate(target, gate_after_again) ||
		pc == target_gate(target, gate_after_action) ||
		pc == target_gate(target, gate_after_timer) ||
		pc == target_gate(target, gate_after_change);
	return *done || pc == target_gate(target, gate_do_syscall) ||
	       pc == target_gate(target, gate_do_again) ||
	       pc == target_gate(target, gate_do_action) ||
	       pc == target_gate(target, gate_do_timer) ||
	       pc == target_gate(target, gate_do_change);
}

/* ---- calls that a stop has ended ---- */

/* The time that a call may take which ends with EINTR at a stop, and its result when that has
 * passed.  False: it has no limit. */
static bool time_limit(const struct target *target, const struct user_regs_struct *regs,
		       uint64_t *limit_ns, long long *result)
{
	uint64_t at = regs->r10;
	struct timespec time;
	*result = 0;
	switch (regs->orig_rax) {
	case SYS_epoll_wait:
	case SYS_epoll_pwait:
		*limit_ns = (uint64_t)(int)regs->r10 * 1000000;
		return (int)regs->r10 >= 0;
	case SYS_epoll_pwait2:
		break;
	case SYS_semtimedop:
		*result = -EAGAIN;
		break;
	case SYS_rt_sigtimedwait:
		at = regs->rdx;
		*result = -EAGAIN;
		break;
	case SYS_io_getevents:
	case SYS_io_pgetevents:
		at = regs->r8;
		break;
	default:
		return false;
	}
	if (!at || !target_read(target, at, &time, sizeof(time)))
		return false;
	*limit_ns = (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
	return true;
}

static bool has_restart(const struct user_regs_struct *regs)
{
	const long long result = (long long)regs->rax;
	return result >= FIRST_RESTART && result <= LAST_RESTART;
}

/* Whether it stands behind a call that a stop has ended; *regs are its registers. */
static bool was_ended(const struct tracee *tracee, struct user_regs_struct *regs)
{
	return ptrace(PTRACE_GETREGS, tracee->tid, 0, regs) == 0 &&
	       (regs->rip == target_gate(tracee->target, gate_after_syscall) ||
		regs->rip == target_gate(tracee->target, gate_after_again)) &&
	       (long long)regs->orig_rax >= 0 &&
	       (has_restart(regs) || (long long)regs->rax == -EINTR);
}

bool place_run_again(struct tracee *tracee)
{
	const struct target *target = tracee->target;
	struct user_regs_struct regs;
	uint64_t limit_ns;
	long long result;
	if (!was_ended(tracee, &regs) || (!has_restart(&regs) && tracee->n_held))
		return false;
	if (has_restart(&regs))
		return true;
	const bool again = regs.rip == target_gate(target, gate_after_again);
	const uint64_t now = clock_now_ns();
	if (!again)
		tracee->again_ns = now;
	if (again && time_limit(target, &regs, &limit_ns, &result) &&
	    now - tracee->again_ns >= limit_ns) {
		regs.rax = (unsigned long long)result;
		regs.rip = target_gate(target, gate_after_syscall);
	} else {
		regs.rax = regs.orig_rax;
		regs.rip = target_gate(target, gate_do_again);
	}
	regs.orig_rax = (unsigned long long)-1;
	ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	return true;
}

void place_end_call(struct tracee *tracee)
{
	struct user_regs_struct regs;
	if (!tracee->target || !was_ended(tracee, &regs) || has_restart(&regs))
		return;
	regs.orig_rax = (unsigned long long)-1; /* nobody takes it for one that a stop has ended */
	ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
}

/* ---- places ---- */

/* Whether the execution that is at `cache_pc` counts for its block. */
static bool is_counted(const struct code_cache *cache, const struct piece *piece, uint64_t cache_pc)
{
	const struct code_block *block = &cache->blocks[piece->block];
	if (block->counter == NO_COUNTER)
		return piece->orig;
	return cache_pc >= arena_address(&cache->arenas[block->arena], block->counted_at);
}

/* The tail of an interrupted block is counted again when it resumes there.  `head_counted`: the
 * execution counts for the block already. */
static void note_interruption(struct target *target, uint8_t *slot, struct translator *copy,
			      const struct piece *piece, bool head_counted)
{
	struct code_cache *cache = &copy->cache;
	const uint32_t thread = target_row(target, slot_number(target, slot));
	const struct code_block *block = &cache->blocks[piece->block];
	assert(piece->block < cache->n_blocks && piece->orig < block->size);
	struct interruption cut = {
		.block = piece->block,
		.thread = thread,
		.copy = (enum copy)(copy - target->copies),
		.orig = piece->orig,
		.head_counted = head_counted,
	};
	derive_leave(cache, block, cut.head_counted, slot_u64(slot, SLOT_COUNTERS));
	if (cut.orig || cut.head_counted)
		counts_note_interruption(target, &cut);
}

/* A system call that has not run yet will, in code that begins with it; its block, which ends with
 * it, has been counted. */
static void note_call_interruption(struct target *target, uint8_t *slot)
{
	struct translator *copy;
	struct piece piece;
	if (target_piece(target, *slot_u64(slot, G_SYSRET), &copy, &piece) &&
	    piece.block != NO_BLOCK)
		note_interruption(target, slot, copy, &piece, true);
}

static enum place place_in_gate(struct target *target, uint8_t *slot, struct user_regs_struct *regs)
{
	const uint64_t pc = regs->rip;
	bool done;
	if (place_at_call(target, pc, &done)) {
		uint64_t behind = target_behind_syscall(target, *slot_u64(slot, G_SYSRET));
		*slot_u32(slot, G_ACTIONS) += *slot_u32(slot, G_ACTING); /* as the gate would */
		*slot_u32(slot, G_ACTING) = *slot_u32(slot, G_CHANGING) =
			*slot_u32(slot, G_CALLING) = 0;
		if (done)
			counts_note_result(slot, regs->rax);
		else
			note_call_interruption(target, slot);
		regs->rip = done ? behind : behind - 2;
		regs->rcx = behind;
		return PLACE_CLEAN;
	}
	if (pc >= target_gate(target, gate_wait_begin) && pc < target_gate(target, gate_wait_end))
		return PLACE_WAIT;
	return PLACE_STEP;
}

/* What will be counted again, or never comes: the rest of rcx of a rep instruction that stops
 * half-way, and all lanes of one that has not run.  One with a far operand need not have any. */
static void take_back_units(const struct code_cache *cache, uint8_t *slot,
			    const struct piece *piece, uint64_t rcx)
{
	if (piece->kind != PIECE_REP && piece->kind != PIECE_UNITS && piece->kind != PIECE_FAR)
		return;
	const uint64_t rest = piece->kind == PIECE_REP ? rcx : *slot_u32(slot, G_UNITS);
	const uint64_t offset = cache->blocks[piece->block].module_offset + piece->orig;
	for (size_t i = 0; i < cache->n_units; i++) {
		const struct unit_counter *unit = &cache->units[i];
		if (unit->kind != UNIT_WORK || unit->block != piece->block ||
		    unit->module_offset != offset)
			continue;
		*slot_u64(slot, SLOT_COUNTERS + 8ull * unit->counter) -= rest;
		return;
	}
}

/* The part of a string instruction that has been done; the rest is recorded when it resumes. */
static void record_string(struct target *target, uint8_t *slot, const struct translator *copy,
			  const struct piece *piece, const struct user_regs_struct *regs)
{
	const struct code_block *block = &copy->cache.blocks[piece->block];
	const struct {
		uint8_t base;
		uint64_t begin, end;
	} ways[2] = {{6 /* rsi */, *slot_u64(slot, G_TRACE_RSI), regs->rsi},
		     {7 /* rdi */, *slot_u64(slot, G_TRACE_RDI), regs->rdi}};
	struct drain_source *source = target->sources[slot_number(target, slot)];
	for (int i = 0; i < 2 && source && copy->trace; i++) {
		const uint32_t group =
			trace_config_string(copy->trace, block->module,
					    block->module_offset + piece->orig, ways[i].base);
		const uint32_t word = group | 1u << TRACE_SPAN_SHIFT;
		const struct trace_record records[2] = {{ways[i].begin, word, 0},
							{ways[i].end, word, 1}};
		if (group != UINT32_MAX && ways[i].begin != ways[i].end)
			drain_add_records(target->drain, source, records, 2);
	}
}

static void borrowed_back(const struct code_cache *cache, uint8_t *slot, const struct piece *piece,
			  struct user_regs_struct *regs)
{
	unsigned long long *const by_number[16] = {&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx,
						   &regs->rsp, &regs->rbp, &regs->rsi, &regs->rdi,
						   &regs->r8,  &regs->r9,  &regs->r10, &regs->r11,
						   &regs->r12, &regs->r13, &regs->r14, &regs->r15};
	unsigned long long *borrowed = by_number[piece->reg & 15];
	if (piece->kind == PIECE_RESTART) {
		regs->rcx = *slot_u64(slot, G_SPILL_RCX);
		regs->rax = *slot_u64(slot, G_SPILL_RAX);
	} else if (piece->kind == PIECE_RETURN) {
		regs->rdi = *slot_u64(slot, G_SPILL_RDI);
	} else if (piece->kind == PIECE_FAR) {
		*borrowed = *slot_u64(slot, G_SPILL_FAR);
	} else if (piece->kind == PIECE_LOOP || piece->in_loop) {
		const struct code_block *block = &cache->blocks[piece->block];
		assert(block->counter != NO_COUNTER);
		*slot_u64(slot, SLOT_COUNTERS + 8ull * block->counter) = *borrowed;
		*borrowed = *slot_u64(slot, G_SPILL_LOOP);
	}
	if (piece->spilled)
		*by_number[piece->spilled - 1] = *slot_u64(slot, G_SPILL_TRACE);
}

/* One that ends while the gate makes a record of an access is taken for behind it. */
static void leave_record(const struct target *target, uint8_t *slot, struct user_regs_struct *regs)
{
	if (regs->rip < target_gate(target, gate_record) || !target_in_gate(target, regs->rip))
		return;
	regs->rax = *slot_u64(slot, KEPT_RAX);
	regs->rcx = *slot_u64(slot, KEPT_RCX);
	regs->rdx = *slot_u64(slot, KEPT_RDX);
	if (regs->rip >= target_gate(target, gate_record_more)) {
		regs->rsi = *slot_u64(slot, KEPT_RSI);
		regs->rdi = *slot_u64(slot, KEPT_RDI);
		regs->r8 = *slot_u64(slot, KEPT_R8);
		regs->r9 = *slot_u64(slot, KEPT_R9);
		regs->r10 = *slot_u64(slot, KEPT_R10);
		regs->r11 = *slot_u64(slot, KEPT_R11);
	}
	const uint64_t stops = *slot_u64(slot, G_TRACE_STOPS);
	regs->rip = stops ? stops : *slot_u64(slot, G_TRACE_BACK);
}

void place_flush(struct target *target, pid_t tid)
{
	struct user_regs_struct regs;
	if (!target || ptrace(PTRACE_GETREGS, tid, 0, &regs) < 0)
		return;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tid);
	if (slot)
		leave_record(target, slot, &regs);
	struct translator *copy;
	struct piece found;
	const struct piece *piece = target_piece(target, regs.rip, &copy, &found) ? &found : NULL;
	if (slot && piece && piece->block != NO_BLOCK) {
		struct code_cache *cache = &copy->cache;
		borrowed_back(cache, slot, piece, &regs);
		take_back_units(cache, slot, piece, regs.rcx);
		derive_leave(cache, &cache->blocks[piece->block],
			     is_counted(cache, piece, regs.rip), slot_u64(slot, SLOT_COUNTERS));
	}
	pthread_mutex_unlock(target->lock);
}

/* Translates the registers of a stopped thread back to the program's where that is possible at this
 * point; what will be counted again is taken back then.  `fault`: the instruction at pc itself
 * raised the signal, so stepping on is no way out.  The lock is held by the caller. */
static enum place place_of(struct target *target, uint8_t *slot, struct user_regs_struct *regs,
			   bool fault)
{
	if (target_in_gate(target, regs->rip))
		return place_in_gate(target, slot, regs);
	struct translator *copy;
	struct piece found;
	const struct piece *piece = target_piece(target, regs->rip, &copy, &found) ? &found : NULL;
	if (!copy)
		return PLACE_NATIVE;
	if (!piece || piece->block == NO_BLOCK || piece->kind == PIECE_STEP ||
	    piece->kind == PIECE_DATA || piece->kind == PIECE_CALL ||
	    piece->kind == PIECE_CALL_INDIRECT ||
	    ((piece->kind == PIECE_UNITS || piece->kind == PIECE_COUNT) && !fault))
		return PLACE_STEP;
	borrowed_back(&copy->cache, slot, piece, regs);
	take_back_units(&copy->cache, slot, piece, regs->rcx);
	if (piece->kind == PIECE_REP)
		record_string(target, slot, copy, piece, regs);
	note_interruption(target, slot, copy, piece, is_counted(&copy->cache, piece, regs->rip));
	regs->rip = copy->cache.blocks[piece->block].pc + piece->orig;
	return PLACE_CLEAN;
}

/* ---- faults of ours ---- */

/* Where the transfer would go whose last part faulted, with the program's registers behind it.
 * False: it is none, or the program's own would fault as well. */
static bool behind_transfer(const struct target *target, uint8_t *slot,
			    const struct translator *copy, const struct piece *piece,
			    struct user_regs_struct *regs)
{
	const struct code_block *block = &copy->cache.blocks[piece->block];
	struct decoded insn;
	uint64_t pc;
	switch ((enum piece_kind)piece->kind) {
	case PIECE_RETURN:
		if (!target_read(target, regs->rsp, &pc, sizeof(pc)))
			return false;
		regs->rdi = *slot_u64(slot, G_SPILL_RDI);
		regs->rsp += 8;
		break;
	case PIECE_CALL:
		decode_instruction(block->bytes + piece->orig, block->size - piece->orig,
				   block->pc + piece->orig, &insn);
		pc = insn.target;
		break;
	case PIECE_CALL_INDIRECT:
		pc = regs->rcx;
		regs->rcx = *slot_u64(slot, G_SPILL_RCX);
		regs->rax = *slot_u64(slot, G_SPILL_RAX);
		break;
	default:
		return false;
	}
	regs->rip = pc;
	return true;
}

bool place_behind_transfer(struct tracee *tracee, int number, struct user_regs_struct *regs)
{
	struct target *target = tracee->target;
	if ((number != SIGSEGV && number != SIGBUS) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, regs) < 0)
		return false;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	struct translator *copy;
	struct piece found;
	const struct piece *piece = target_piece(target, regs->rip, &copy, &found) ? &found : NULL;
	const bool ours = slot && piece && piece->block != NO_BLOCK &&
			  !target_in_gate(target, regs->rip) &&
			  behind_transfer(target, slot, copy, piece, regs);
	pthread_mutex_unlock(target->lock);
	return ours;
}

/* ---- stepping ---- */

bool step_mend_peek(struct tracee *tracee, int number)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if (!target || (number != SIGSEGV && number != SIGBUS) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0 ||
	    (regs.rip != target_gate(target, gate_peek_clone) &&
	     regs.rip != target_gate(target, gate_peek_path)))
		return false;
	regs.rip = target_gate(target, gate_do_syscall);
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs) == 0;
}

/* `delivered`: the signal that the step delivers, or 0. */
static void on_signal_amid_step(struct tracee *tracee, int number, int delivered)
{
	siginfo_t info;
	if (step_mend_peek(tracee, number) ||
	    ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0 || target_sent_stop(&info))
		return;
	tracee->forced = delivered && number == SIGSEGV && info.si_code == SI_KERNEL;
	if (tracee->forced)
		return;
	if (number == SIGSTOP)
		kill(tracee->tid, SIGSTOP);
	else if (signal_is_fault(number, &info)) /* it will come again */
		tracee->faulted = number;
	else
		tracee_hold(tracee, number, &info, false);
}

/* Resumes as `request` says, with signal `number` if not 0, up to the next stop. */
static bool resume_to_stop(struct tracee *tracee, enum __ptrace_request request, int number)
{
	int status;
	assert(!tracee->exits);
	if (ptrace(request, tracee->tid, 0, number) < 0)
		return false;
	const enum awaited awaited = stops_await(tracee->tid, STEP_LIMIT_NS, &status);
	tracee->late = awaited == AWAITED_LATE;
	tracee->exits = awaited == AWAITED_STOP && status >> 16 == PTRACE_EVENT_EXIT;
	if (awaited != AWAITED_STOP || tracee->exits)
		return false;
	tracee->notified = tracee->forced = false;
	if (WSTOPSIG(status) != SIGTRAP && !(status >> 16))
		on_signal_amid_step(tracee, WSTOPSIG(status), number);
	return true;
}

bool step_once(struct tracee *tracee, int number)
{
	return resume_to_stop(tracee, PTRACE_SINGLESTEP, number);
}

/* A record may take thousands of instructions, and wait: the thread runs through it, to a trap in
 * the place of its end. */
static void set_record_trap(struct target *target, uint8_t *slot)
{
	const uint64_t trap = target_gate(target, gate_stop);
	if (*slot_u64(slot, G_TRACE_BACK) != trap)
		*slot_u64(slot, G_TRACE_STOPS) = *slot_u64(slot, G_TRACE_BACK);
	*slot_u64(slot, G_TRACE_BACK) = trap;
}

bool place_leave_trap(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if (!target || ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	const uint64_t back = slot ? *slot_u64(slot, G_TRACE_STOPS) : 0;
	if (back) {
		*slot_u64(slot, G_TRACE_BACK) = back;
		*slot_u64(slot, G_TRACE_STOPS) = 0;
	}
	pthread_mutex_unlock(target->lock);
	if (!back || regs.rip != target_gate(target, gate_stopped))
		return false;
	regs.rip = back;
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs) == 0;
}

/* One step, or through the record that the thread at pc makes. */
static bool step_further(struct tracee *tracee, uint64_t pc)
{
	struct target *target = tracee->target;
	if (pc < target_gate(target, gate_record) || !target_in_gate(target, pc))
		return step_once(tracee, 0);
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	if (slot)
		set_record_trap(target, slot);
	pthread_mutex_unlock(target->lock);
	if (!slot)
		return step_once(tracee, 0);
	const bool stopped = resume_to_stop(tracee, PTRACE_CONT, 0);
	if (stopped)
		place_leave_trap(tracee);
	return stopped;
}

/* Answers the request that the thread waits for and gives it the registers with which the gate
 * would have gone on.  False when there is no answer yet. */
static bool finish_request(struct tracee *tracee, uint8_t *slot, struct user_regs_struct *regs)
{
	struct target *target = tracee->target;
	const int index = slot_number(target, slot);
	struct leaving *leaving = &target->leaving[index];
	unsigned long long *const kept[] = {/* SAVE_RAX to SAVE_RSP */
					    &regs->rax, &regs->rcx, &regs->rdx, &regs->rsi,
					    &regs->rdi, &regs->r8,  &regs->r9,  &regs->r10,
					    &regs->r11, &regs->rsp};
	if (!requests_decide(target, index))
		return false;
	target_set_state(target, index, STATE_IDLE);
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		*kept[i] = *slot_u64(slot, SAVE_RAX + 8 * i);
	const uint64_t saved = *slot_u64(slot, SAVE_FLAGS);
	regs->eflags = (regs->eflags & ~STATUS_BITS) | (saved >> 8 & 0xd5) | (saved & 1) << 11;
	regs->rip = *slot_u64(slot, G_JUMP);
	regs->orig_rax = (unsigned long long)-1;
	if (leaving->how == STAYS)
		return true;
	regs->rip = leaving->pc; /* it stands at the program's own address, or behind its call */
	if (leaving->how != ATTENDED)
		regs->gs_base = 0;
	if (leaving->how != LEAVES && leaving->how != ATTENDED)
		tracee->left = *leaving;
	*leaving = (struct leaving){.how = STAYS};
	return true;
}

static enum place place_now(struct tracee *tracee, struct user_regs_struct *regs, bool fault)
{
	struct target *target = tracee->target;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	enum place place = slot ? place_of(tracee->target, slot, regs, fault) : PLACE_NATIVE;
	if (place == PLACE_WAIT && !finish_request(tracee, slot, regs))
		place = PLACE_STEP;
	pthread_mutex_unlock(target->lock);
	return place;
}

/* Signals that come meanwhile stay in the kernel, where they are as they would be natively.  In
 * code of ours the thread is in no system call that has put another mask in place. */
enum place step_to_program(struct tracee *tracee, struct user_regs_struct *regs, bool fault,
			   bool *moved)
{
	enum place place = PLACE_STEP;
	uint64_t mask;
	bool masked = false, alive = true;
	*moved = false;
	tracee->faulted = 0;
	for (int steps = 0; alive && !tracee->faulted && steps < MAX_STEPS; steps++) {
		if (ptrace(PTRACE_GETREGS, tracee->tid, 0, regs) < 0)
			return PLACE_STEP;
		place = place_now(tracee, regs, fault);
		if (place == PLACE_WAIT) {
			ptrace(PTRACE_SETREGS, tracee->tid, 0, regs);
		} else if (place != PLACE_STEP) {
			break;
		} else {
			masked = masked || inject_block_signals(tracee->tid, STEP_FAULTS, &mask);
			*moved = true;
			alive = step_further(tracee, regs->rip);
			if (alive && place_behind_transfer(tracee, tracee->faulted, regs))
				place = PLACE_CLEAN;
		}
		fault = false;
	}
	if (masked && alive)
		inject_set_signals(tracee->tid, mask);
	tracee->masked = masked && tracee->late;
	tracee->mask = tracee->masked ? mask : 0;
	return alive && place == PLACE_STEP ? PLACE_NATIVE : place;
}

#include "tracer/interrupt.h"

#include "base/array.h"
#include "tracer/code_cache.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#define MAX_STEPS 4000	/* far more than any sequence of ours is long */
#define STATUS_BITS 0x8d5ull /* OF, SF, ZF, AF, PF, CF in rflags */

/* ---- where a stopped thread is ---- */

enum place {
	PLACE_NATIVE,	/* in the program's own code */
	PLACE_CLEAN,	/* registers are the program's, the pc has been translated back */
	PLACE_STEP,	/* between: step on */
	PLACE_WAIT,	/* in the gate, waiting for an answer */
};

static bool in_gate(const struct target *target, uint64_t pc)
{
	return pc >= target->gate_address && pc < target_gate(target, gate_end);
}

static enum place place_in_gate(struct target *target, uint8_t *slot, struct user_regs_struct *regs)
{
	const uint64_t pc = regs->rip;
	if (pc == target_gate(target, gate_do_syscall) ||
	    pc == target_gate(target, gate_after_syscall)) {
		uint64_t behind = target_behind_syscall(target, *slot_u64(slot, G_SYSRET));
		bool done = pc == target_gate(target, gate_after_syscall);
		regs->rip = done ? behind : behind - 2;
		regs->rcx = behind;
		return PLACE_CLEAN;
	}
	if (pc >= target_gate(target, gate_wait_begin) && pc < target_gate(target, gate_wait_end))
		return PLACE_WAIT;
	return PLACE_STEP;
}

/* The tail of an interrupted block is counted again when it resumes there. */
static void note_interruption(struct target *target, uint32_t thread, const struct piece *piece,
			      uint64_t cache_pc)
{
	const struct code_cache *cache = &target->translator.cache;
	const struct code_block *block = &cache->blocks[piece->block];
	struct interruption cut = {
		.block = piece->block,
		.thread = thread,
		.orig = piece->orig,
		.head_counted = cache_pc >= cache->arenas[block->arena].base + block->counted_at,
	};
	if (!cut.orig && !cut.head_counted)
		return;
	(void)rf_array_push(target->interruptions, target->n_interruptions,
			    target->cap_interruptions, cut);
}

/* A rep instruction that stops half-way: the rest of rcx will be counted again. */
static void take_back_units(struct target *target, uint8_t *slot, const struct piece *piece,
			    uint64_t rest)
{
	const struct code_cache *cache = &target->translator.cache;
	const struct code_block *block = &cache->blocks[piece->block];
	for (size_t i = 0; i < cache->n_units; i++)
		if (cache->units[i].module == block->module &&
		    cache->units[i].module_offset == block->module_offset + piece->orig) {
			*slot_u64(slot, SLOT_COUNTERS + 8ull * cache->units[i].counter) -= rest;
			return;
		}
}

static void borrowed_back(struct target *target, uint8_t *slot, const struct piece *piece,
			  struct user_regs_struct *regs)
{
	unsigned long long *const by_number[16] = {
		&regs->rax, &regs->rcx, &regs->rdx, &regs->rbx, &regs->rsp, &regs->rbp,
		&regs->rsi, &regs->rdi, &regs->r8,  &regs->r9,	&regs->r10, &regs->r11,
		&regs->r12, &regs->r13, &regs->r14, &regs->r15};
	unsigned long long *borrowed = by_number[piece->reg & 15];
	if (piece->kind == PIECE_RESTART) {
		regs->rcx = *slot_u64(slot, G_SPILL_RCX);
		regs->rax = *slot_u64(slot, G_SPILL_RAX);
	} else if (piece->kind == PIECE_RETURN) {
		regs->rdi = *slot_u64(slot, G_SPILL_RDI);
	} else if (piece->kind == PIECE_FAR) {
		*borrowed = *slot_u64(slot, G_SPILL_FAR);
	} else if (piece->kind == PIECE_LOOP) {
		const struct code_block *block = &target->translator.cache.blocks[piece->block];
		*slot_u64(slot, SLOT_COUNTERS + 8ull * block->counter) = *borrowed;
		*borrowed = *slot_u64(slot, G_SPILL_LOOP);
	}
}

void interrupt_flush(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if (!target || ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	const struct piece *piece = code_cache_piece(&target->translator.cache, regs.rip);
	if (slot && piece && piece->kind == PIECE_LOOP)
		borrowed_back(target, slot, piece, &regs);
	pthread_mutex_unlock(target->lock);
}

/* Translates the registers back to the program's where that is possible at this point.  `fault`:
 * the instruction at pc itself raised the signal, so stepping on is no way out. */
static enum place place_of(struct tracee *tracee, uint8_t *slot, struct user_regs_struct *regs,
			   bool fault)
{
	struct target *target = tracee->target;
	if (in_gate(target, regs->rip))
		return place_in_gate(target, slot, regs);
	if (!code_cache_arena_at(&target->translator.cache, regs->rip))
		return PLACE_NATIVE;
	const struct piece *piece = code_cache_piece(&target->translator.cache, regs->rip);
	if (!piece || piece->block == NO_BLOCK || piece->kind == PIECE_STEP ||
	    piece->kind == PIECE_DATA || piece->kind == PIECE_CALL ||
	    piece->kind == PIECE_CALL_INDIRECT ||
	    ((piece->kind == PIECE_UNITS || piece->kind == PIECE_COUNT) && !fault))
		return PLACE_STEP;
	borrowed_back(target, slot, piece, regs);
	if (piece->kind == PIECE_REP)
		take_back_units(target, slot, piece, regs->rcx);
	const uint32_t index = (uint32_t)((slot - target->slots) / SLOT_STRIDE);
	note_interruption(target, target->slot_of[index].thread, piece, regs->rip);
	regs->rip = target->translator.cache.blocks[piece->block].pc + piece->orig;
	return PLACE_CLEAN;
}

/* ---- steps ---- */

static void hold(struct tracee *tracee, int number)
{
	if (tracee->n_held == (int)(sizeof(tracee->held) / sizeof(tracee->held[0])))
		return;
	struct held_signal *held = &tracee->held[tracee->n_held++];
	held->number = number;
	ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &held->info);
}

/* Resumes for one step, with `number` if not 0; other signals that come are held back.  Returns
 * false when the tracee is gone. */
static bool step(struct tracee *tracee, int number)
{
	int status;
	if (ptrace(PTRACE_SINGLESTEP, tracee->tid, 0, number) < 0)
		return false;
	if (waitpid(tracee->tid, &status, __WALL) != tracee->tid)
		return false;
	if (!WIFSTOPPED(status)) {
		tracee->gone = true;
		tracee->gone_status = status;
		return false;
	}
	if (status >> 16 == PTRACE_EVENT_EXIT)
		interrupt_flush(tracee);
	if (WSTOPSIG(status) != SIGTRAP && !(status >> 16))
		hold(tracee, WSTOPSIG(status));
	return true;
}

/* Answers the request that the thread waits for and gives it the registers with which the gate
 * would have gone on. */
static void finish_request(struct target *target, uint8_t *slot, struct user_regs_struct *regs)
{
	const int index = (int)((slot - target->slots) / SLOT_STRIDE);
	uint32_t *state = (uint32_t *)(target->slots + P_STATES) + index;
	target_answer(target, index);
	__atomic_store_n(state, STATE_IDLE, __ATOMIC_RELEASE);
	regs->rax = *slot_u64(slot, SAVE_RAX);
	regs->rcx = *slot_u64(slot, SAVE_RCX);
	regs->rdx = *slot_u64(slot, SAVE_RDX);
	regs->rsi = *slot_u64(slot, SAVE_RSI);
	regs->rdi = *slot_u64(slot, SAVE_RDI);
	regs->r8 = *slot_u64(slot, SAVE_R8);
	regs->r9 = *slot_u64(slot, SAVE_R9);
	regs->r10 = *slot_u64(slot, SAVE_R10);
	regs->r11 = *slot_u64(slot, SAVE_R11);
	regs->rsp = *slot_u64(slot, SAVE_RSP);
	const uint64_t saved = *slot_u64(slot, SAVE_FLAGS);
	regs->eflags = (regs->eflags & ~STATUS_BITS) | (saved >> 8 & 0xd5) | (saved & 1) << 11;
	regs->rip = *slot_u64(slot, G_JUMP);
	regs->orig_rax = (unsigned long long)-1;
}

/* Brings a stopped thread to a point where its registers are the program's own.  Returns the place
 * reached (PLACE_CLEAN or PLACE_NATIVE), or PLACE_STEP when the thread is gone. */
static enum place settle(struct tracee *tracee, struct user_regs_struct *regs, bool fault)
{
	struct target *target = tracee->target;
	for (int steps = 0; steps < MAX_STEPS; steps++) {
		if (ptrace(PTRACE_GETREGS, tracee->tid, 0, regs) < 0)
			return PLACE_STEP;
		pthread_mutex_lock(target->lock);
		uint8_t *slot = target_slot(target, tracee->tid);
		enum place place = slot ? place_of(tracee, slot, regs, fault) : PLACE_NATIVE;
		if (place == PLACE_WAIT)
			finish_request(target, slot, regs);
		pthread_mutex_unlock(target->lock);
		if (place == PLACE_WAIT)
			ptrace(PTRACE_SETREGS, tracee->tid, 0, regs);
		else if (place != PLACE_STEP)
			return place;
		else if (!step(tracee, 0))
			return PLACE_STEP;
		fault = false;
	}
	return PLACE_NATIVE;
}

/* ---- delivery ---- */

static bool has_handler(pid_t tid, int number)
{
	char path[64], line[256];
	unsigned long long caught = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	FILE *status = fopen(path, "re");
	if (!status)
		return false;
	while (fgets(line, sizeof(line), status))
		if (sscanf(line, "SigCgt: %llx", &caught) == 1)
			break;
	fclose(status);
	return caught >> (number - 1) & 1;
}

static bool is_fault(int number)
{
	return number == SIGSEGV || number == SIGBUS || number == SIGFPE || number == SIGILL ||
	       number == SIGTRAP;
}

/* A fault's si_addr is the instruction's address for SIGILL, SIGFPE and SIGTRAP. */
static void correct_address(siginfo_t *info, uint64_t cache_pc, uint64_t pc)
{
	if (info->si_code > 0 && is_fault(info->si_signo) &&
	    (uint64_t)(uintptr_t)info->si_addr == cache_pc)
		info->si_addr = (void *)(uintptr_t)pc;
}

/* After a delivery: the thread stands at its handler's first instruction, or, when the kernel put
 * the signal off, one instruction further in its own code; both go on translated. */
static bool go_on_translated(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	const char *why = NULL;
	if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	pthread_mutex_lock(target->lock);
	uint64_t body = target->native ? 0 : translate_body(&target->translator, regs.rip, &why);
	if (why)
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
	pthread_mutex_unlock(target->lock);
	if (!body)
		return true;
	regs.rip = body;
	regs.orig_rax = (unsigned long long)-1;
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs) == 0;
}

static bool deliver_one(struct tracee *tracee, int number, siginfo_t *info)
{
	struct user_regs_struct before, regs;
	const bool fault = is_fault(number) && info->si_code > 0;
	if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &before) < 0)
		return false;
	enum place place = settle(tracee, &regs, fault);
	if (place == PLACE_STEP)
		return false;
	if (place == PLACE_CLEAN) {
		correct_address(info, before.rip, regs.rip);
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	ptrace(PTRACE_SETSIGINFO, tracee->tid, 0, info);
	if (!step(tracee, number))
		return false;
	return place == PLACE_NATIVE || go_on_translated(tracee);
}

bool interrupt_deliver(struct tracee *tracee, int number)
{
	siginfo_t info;
	if (!tracee->target || !has_handler(tracee->tid, number) ||
	    ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0)
		return ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
	bool alive = deliver_one(tracee, number, &info);
	while (alive && tracee->n_held) {
		struct held_signal next = tracee->held[0];
		memmove(tracee->held, tracee->held + 1,
			(size_t)--tracee->n_held * sizeof(tracee->held[0]));
		if (has_handler(tracee->tid, next.number))
			alive = deliver_one(tracee, next.number, &next.info);
		else
			alive = step(tracee, next.number);
	}
	return alive && ptrace(PTRACE_CONT, tracee->tid, 0, 0) == 0;
}

void interrupt_release(struct tracee *tracee)
{
	struct user_regs_struct regs;
	int status;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) < 0 ||
	    waitpid(tracee->tid, &status, __WALL) != tracee->tid || !WIFSTOPPED(status))
		return;
	if (tracee->target && settle(tracee, &regs, false) == PLACE_CLEAN) {
		regs.gs_base = 0;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	const int number = status >> 16 ? 0 : WSTOPSIG(status);
	ptrace(PTRACE_DETACH, tracee->tid, 0, number);
}

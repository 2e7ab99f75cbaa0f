#include "tracer/target/interrupt.h"

#include "base/array.h"
#include "base/clock.h"
#include "insn/decode.h"
#include "tracer/target/server.h"
#include "tracer/translate/assemble.h"
#include "tracer/translate/code_cache.h"
#include "tracer/translate/derive.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define MAX_STEPS 40000      /* far more than any sequence of ours is long */
#define STATUS_BITS 0x8d5ull /* OF, SF, ZF, AF, PF, CF in rflags */

/* ---- where a stopped thread is ---- */

enum place {
	PLACE_NATIVE, /* in the program's own code */
	PLACE_CLEAN,  /* registers are the program's, the pc has been translated back */
	PLACE_STEP,   /* between: step on */
	PLACE_WAIT,   /* in the gate, waiting for an answer */
};

static int slot_number(const struct target *target, const uint8_t *slot)
{
	return (int)((slot - target->slots) / SLOT_STRIDE);
}

static bool in_gate(const struct target *target, uint64_t pc)
{
	return pc >= target->gate_address && pc < target_gate(target, gate_end);
}

/* The number of its calls of rt_sigaction that have ended, and whether it is amid one. */
static uint32_t *actions(uint8_t *slot)
{
	return slot_u32(slot, G_ACTIONS);
}

static uint32_t *acting(uint8_t *slot)
{
	return slot_u32(slot, G_ACTING);
}

/* At a system call of the program: whether it has run yet. */
static bool at_call(const struct target *target, uint64_t pc, bool *done)
{
	*done = pc == target_gate(target, gate_after_syscall) ||
		pc == target_gate(target, gate_after_action) ||
		pc == target_gate(target, gate_after_timer) ||
		pc == target_gate(target, gate_after_change);
	return *done || pc == target_gate(target, gate_do_syscall) ||
	       pc == target_gate(target, gate_do_action) ||
	       pc == target_gate(target, gate_do_timer) ||
	       pc == target_gate(target, gate_do_change);
}

static enum place place_in_gate(struct target *target, uint8_t *slot, struct user_regs_struct *regs)
{
	const uint64_t pc = regs->rip;
	bool done;
	if (at_call(target, pc, &done)) {
		uint64_t behind = target_behind_syscall(target, *slot_u64(slot, G_SYSRET));
		*actions(slot) += *acting(slot); /* what the gate would have done */
		*acting(slot) = *slot_u32(slot, G_CHANGING) = 0;
		regs->rip = done ? behind : behind - 2;
		regs->rcx = behind;
		return PLACE_CLEAN;
	}
	if (pc >= target_gate(target, gate_wait_begin) && pc < target_gate(target, gate_wait_end))
		return PLACE_WAIT;
	return PLACE_STEP;
}

/* Whether the execution that is at `cache_pc` counts for its block. */
static bool is_counted(const struct code_cache *cache, const struct piece *piece, uint64_t cache_pc)
{
	const struct code_block *block = &cache->blocks[piece->block];
	if (block->counter == NO_COUNTER)
		return piece->orig;
	return cache_pc >= arena_address(&cache->arenas[block->arena], block->counted_at);
}

/* The tail of an interrupted block is counted again when it resumes there. */
static void note_interruption(struct target *target, uint8_t *slot, const struct piece *piece,
			      uint64_t cache_pc)
{
	const struct code_cache *cache = &target->translator.cache;
	const uint32_t thread = target->slot_of[slot_number(target, slot)].thread;
	const struct code_block *block = &cache->blocks[piece->block];
	struct interruption cut = {
		.block = piece->block,
		.thread = thread,
		.orig = piece->orig,
		.head_counted = is_counted(cache, piece, cache_pc),
	};
	derive_leave(&target->translator.cache, block, cut.head_counted,
		     slot_u64(slot, SLOT_COUNTERS));
	if (cut.orig || cut.head_counted)
		target_note_interruption(target, &cut);
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

/* The part of a string instruction that has been done; the rest is recorded when it resumes. */
static void record_string(struct target *target, uint8_t *slot, const struct piece *piece,
			  const struct user_regs_struct *regs)
{
	const struct code_block *block = &target->translator.cache.blocks[piece->block];
	const struct {
		uint8_t base;
		uint64_t begin, end;
	} ways[2] = {{RSI, *slot_u64(slot, G_TRACE_RSI), regs->rsi},
		     {RDI, *slot_u64(slot, G_TRACE_RDI), regs->rdi}};
	struct drain_source *source = target->sources[slot_number(target, slot)];
	for (int i = 0; i < 2 && source; i++) {
		const uint32_t group =
			trace_config_string(target->translator.trace, block->module,
					    block->module_offset + piece->orig, ways[i].base);
		const uint32_t word = group | 1u << TRACE_SPAN_SHIFT;
		const struct trace_record records[2] = {{ways[i].begin, word, 0},
							{ways[i].end, word, 1}};
		if (group != UINT32_MAX && ways[i].begin != ways[i].end)
			drain_add_records(target->drain, source, records, 2);
	}
}

static void borrowed_back(struct target *target, uint8_t *slot, const struct piece *piece,
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
		const struct code_block *block = &target->translator.cache.blocks[piece->block];
		*slot_u64(slot, SLOT_COUNTERS + 8ull * block->counter) = *borrowed;
		*borrowed = *slot_u64(slot, G_SPILL_LOOP);
	}
	if (piece->spilled)
		*by_number[piece->spilled - 1] = *slot_u64(slot, G_SPILL_TRACE);
}

/* One that ends while the gate makes a record of an access is taken for behind it. */
static void leave_record(const struct target *target, uint8_t *slot, struct user_regs_struct *regs)
{
	if (regs->rip < target_gate(target, gate_record) || !in_gate(target, regs->rip))
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
	regs->rip = *slot_u64(slot, G_TRACE_BACK);
}

void interrupt_flush(struct tracee *tracee)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if (!target || ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	if (slot)
		leave_record(target, slot, &regs);
	const struct piece *piece = code_cache_piece(&target->translator.cache, regs.rip);
	if (slot && piece && piece->block != NO_BLOCK) {
		struct code_cache *cache = &target->translator.cache;
		borrowed_back(target, slot, piece, &regs);
		derive_leave(cache, &cache->blocks[piece->block],
			     is_counted(cache, piece, regs.rip), slot_u64(slot, SLOT_COUNTERS));
	}
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
	if (piece->kind == PIECE_REP) {
		take_back_units(target, slot, piece, regs->rcx);
		record_string(target, slot, piece, regs);
	}
	note_interruption(target, slot, piece, regs->rip);
	regs->rip = target->translator.cache.blocks[piece->block].pc + piece->orig;
	return PLACE_CLEAN;
}

/* ---- steps ---- */

/* One that another process has sent must be there before whatever that process does next is seen.
 */
static bool is_sent(const siginfo_t *info)
{
	return info->si_code == SI_USER || info->si_code == SI_QUEUE;
}

/* Tells the gate what is held, so that it does not go on behind a system call. */
static void show_held(const struct tracee *tracee)
{
	uint8_t *slot = tracee->target ? target_slot(tracee->target, tracee->tid) : NULL;
	bool sent = false;
	if (!slot)
		return;
	for (int i = 0; i < tracee->n_held; i++)
		sent |= is_sent(&tracee->held[i].info);
	*slot_u32(slot, G_HELD) = tracee->n_held > 0;
	*slot_u32(slot, G_HELD_SENT) = sent;
}

/* A standard signal that is waiting already does not wait twice.  False when there is no room. */
static bool hold(struct tracee *tracee, int number, const siginfo_t *info, bool caught)
{
	for (int i = 0; i < tracee->n_held; i++)
		if (tracee->held[i].number == number && number < SIGRTMIN)
			return true;
	if (tracee->n_held == MAX_HELD)
		return false;
	tracee->held[tracee->n_held++] = (struct held_signal){number, *info, caught};
	show_held(tracee);
	return true;
}

static struct held_signal take_held(struct tracee *tracee)
{
	const struct held_signal first = tracee->held[0];
	memmove(tracee->held, tracee->held + 1, (size_t)--tracee->n_held * sizeof(tracee->held[0]));
	show_held(tracee);
	return first;
}

/* The gate looks at arguments of the program that may lie nowhere: then the kernel will say so. */
static bool mend_peek(struct tracee *tracee, int number)
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

static bool is_fault(int number, const siginfo_t *info)
{
	return info->si_code > 0 && (number == SIGSEGV || number == SIGBUS || number == SIGFPE ||
				     number == SIGILL || number == SIGTRAP);
}

static void on_signal_amid_step(struct tracee *tracee, int number)
{
	siginfo_t info;
	if (mend_peek(tracee, number) || ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0 ||
	    target_sent_stop(&info))
		return;
	if (number == SIGSTOP)
		kill(tracee->tid, SIGSTOP);
	else if (is_fault(number, &info)) /* it will come again */
		tracee->faulted = true;
	else
		hold(tracee, number, &info, false);
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
	tracee->notified = false;
	if (WSTOPSIG(status) != SIGTRAP && !(status >> 16))
		on_signal_amid_step(tracee, WSTOPSIG(status));
	return true;
}

/* Answers the request that the thread waits for and gives it the registers with which the gate
 * would have gone on.  False when there is no answer yet. */
static bool finish_request(struct tracee *tracee, uint8_t *slot, struct user_regs_struct *regs)
{
	struct target *target = tracee->target;
	const int index = slot_number(target, slot);
	struct leaving *leaving = &target->leaving[index];
	if (!target_decide(target, index))
		return false;
	target_set_state(target, index, STATE_IDLE);
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
	if (leaving->how == STAYS)
		return true;
	regs->rip = leaving->pc;
	if (leaving->how != ATTENDED)
		regs->gs_base = 0;
	if (leaving->how != LEAVES && leaving->how != ATTENDED)
		tracee->left = *leaving;
	*leaving = (struct leaving){.how = STAYS};
	return true;
}

/* Signals that come while a thread is stepped stay in the kernel, where they are as they would be
 * natively.  SIGTRAP must not be blocked: the kernel would take its handler away at the next step.
 * In code of ours the thread is in no system call that has put another mask in place. */
static bool block_signals(const struct tracee *tracee, uint64_t *mask)
{
	const uint64_t all = ~(1ull << (SIGTRAP - 1));
	return ptrace(PTRACE_GETSIGMASK, tracee->tid, sizeof(*mask), mask) == 0 &&
	       ptrace(PTRACE_SETSIGMASK, tracee->tid, sizeof(all), &all) == 0;
}

static enum place place_now(struct tracee *tracee, struct user_regs_struct *regs, bool fault)
{
	struct target *target = tracee->target;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	enum place place = slot ? place_of(tracee, slot, regs, fault) : PLACE_NATIVE;
	if (place == PLACE_WAIT && !finish_request(tracee, slot, regs))
		place = PLACE_STEP;
	pthread_mutex_unlock(target->lock);
	return place;
}

/* Brings a stopped thread to a point where its registers are the program's own.  Returns the place
 * reached (PLACE_CLEAN or PLACE_NATIVE), or PLACE_STEP when the thread is gone.  *moved: it is not
 * where it was stopped any more. */
static enum place settle(struct tracee *tracee, struct user_regs_struct *regs, bool fault,
			 bool *moved)
{
	enum place place = PLACE_STEP;
	uint64_t mask;
	bool masked = false, alive = true;
	*moved = tracee->faulted = false;
	for (int steps = 0; alive && !tracee->faulted && steps < MAX_STEPS; steps++) {
		if (ptrace(PTRACE_GETREGS, tracee->tid, 0, regs) < 0)
			return PLACE_STEP;
		place = place_now(tracee, regs, fault);
		if (place == PLACE_WAIT) {
			ptrace(PTRACE_SETREGS, tracee->tid, 0, regs);
		} else if (place != PLACE_STEP) {
			break;
		} else {
			masked = masked || block_signals(tracee, &mask);
			*moved = true;
			alive = step(tracee, 0);
		}
		fault = false;
	}
	if (masked && alive)
		ptrace(PTRACE_SETSIGMASK, tracee->tid, sizeof(mask), &mask);
	return alive && place == PLACE_STEP ? PLACE_NATIVE : place;
}

/* ---- which signals have a handler ----
 *
 * What is read of the kernel's sets of signals is what holds now: ptrace would show the mask that a
 * sigsuspend is to restore. */

/* A set of signals from /proc/PID/status; bit n - 1: signal n. */
static uint64_t read_set(pid_t tid, const char *name)
{
	char path[64], line[256];
	unsigned long long set = 0;
	snprintf(path, sizeof(path), "/proc/%d/status", (int)tid);
	FILE *status = fopen(path, "re");
	if (!status)
		return 0;
	while (fgets(line, sizeof(line), status))
		if (!strncmp(line, name, strlen(name)) &&
		    sscanf(strchr(line, ':'), ": %llx", &set) == 1)
			break;
	fclose(status);
	return set;
}

static bool in_set(pid_t tid, const char *name, int number)
{
	return read_set(tid, name) >> (number - 1) & 1;
}

/* How many calls of rt_sigaction there were.  False when one runs just now, or may run unseen. */
static bool count_actions(const struct target *target, uint64_t *n)
{
	*n = 0;
	for (int i = 1; i < target->n_slots; i++) {
		uint8_t *slot = target->slots + (uint64_t)i * SLOT_STRIDE;
		if (target->slot_of[i].tid && __atomic_load_n(acting(slot), __ATOMIC_SEQ_CST))
			return false;
		*n += __atomic_load_n(actions(slot), __ATOMIC_SEQ_CST);
	}
	return !target->actions_unseen;
}

/* Reading costs more than delivering does, so it is done again only after another rt_sigaction, and
 * after the first delivery of each signal, which can have taken its handler away (SA_RESETHAND). */
static bool has_handler(struct tracee *tracee, int number)
{
	struct caught_signals *known = &tracee->target->caught;
	const uint64_t bit = 1ull << (number - 1);
	uint64_t n;
	if (!count_actions(tracee->target, &n)) {
		known->known = false;
		return in_set(tracee->tid, "SigCgt:", number);
	}
	if (!known->known || known->actions != n)
		*known = (struct caught_signals){true, n, read_set(tracee->tid, "SigCgt:"), 0, 0};
	if (known->delivered & bit && !(known->kept & bit)) {
		known->caught = read_set(tracee->tid, "SigCgt:");
		known->kept |= known->caught & bit;
	}
	known->delivered |= known->caught & bit;
	return known->caught & bit;
}

/* ---- delivery ---- */

/* A fault's si_addr is the instruction's address for SIGILL, SIGFPE and SIGTRAP. */
static bool correct_address(siginfo_t *info, uint64_t cache_pc, uint64_t pc)
{
	if (!is_fault(info->si_signo, info) || (uint64_t)(uintptr_t)info->si_addr != cache_pc)
		return false;
	info->si_addr = (void *)(uintptr_t)pc;
	return true;
}

/* The cache address of the program's code at pc; 0 when it must run natively. */
static uint64_t body_of(struct target *target, uint64_t pc)
{
	const char *why = NULL;
	pthread_mutex_lock(target->lock);
	uint64_t body = target->native ? 0 : translate_body(&target->translator, pc, &why);
	if (why)
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
	pthread_mutex_unlock(target->lock);
	return body;
}

/* A thread with the program's registers goes on translated, or natively if need be. */
static bool go_on_at(struct tracee *tracee, struct user_regs_struct *regs)
{
	const uint64_t body = body_of(tracee->target, regs->rip);
	if (body)
		regs->rip = body;
	else
		regs->gs_base = 0;
	tracee->target->actions_unseen |= !body;
	regs->orig_rax = (unsigned long long)-1;
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, regs) == 0;
}

/* After a delivery: the thread stands at its handler's first instruction, or, when the kernel put
 * the signal off, one instruction further in its own code; both go on translated. */
static bool go_on_translated(struct tracee *tracee)
{
	struct user_regs_struct regs;
	if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	/* that instruction can be an rt_sigreturn, whose frame has been aimed at the cache */
	return code_cache_arena_at(&tracee->target->translator.cache, regs.rip) ||
	       go_on_at(tracee, &regs);
}

/* One that has left the cache for more than running natively is resumed by the follower. */
static bool resume(const struct tracee *tracee, int number)
{
	return tracee->left.how != STAYS || ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
}

/* `here`: the thread is stopped by this very signal. */
static bool deliver_one(struct tracee *tracee, int number, siginfo_t *info, bool here)
{
	struct user_regs_struct before, regs;
	const bool fault = is_fault(number, info);
	bool moved;
	if (fault && ptrace(PTRACE_GETREGS, tracee->tid, 0, &before) < 0)
		return false;
	const enum place place = settle(tracee, &regs, fault, &moved);
	if (place == PLACE_STEP)
		return false;
	if (place == PLACE_CLEAN) {
		here = !(fault && correct_address(info, before.rip, regs.rip)) && here;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	if (!here || moved)
		ptrace(PTRACE_SETSIGINFO, tracee->tid, 0, info);
	if (!step(tracee, number))
		return false;
	tracee->notified = true;
	return place == PLACE_NATIVE || go_on_translated(tracee);
}

/* ---- keeping the program going ----
 *
 * A delivery takes longer here than natively, perhaps longer than the period of a timer.  So that
 * the program gets on, a thread runs as long as the last delivery took before it has the next
 * signal that is none of its own faults. */

#define MAX_QUIET_NS 50000000ull
#define MAX_OWED 4096 /* signals pending at once; a bound for a loop */

static uint64_t quiet_until(struct tracee *tracee)
{
	struct target *target = tracee->target;
	const uint8_t *slot = target_slot(target, tracee->tid);
	uint64_t from = tracee->delivered_at;
	if (slot && target->resumed_at[slot_number(target, slot)] > from)
		from = target->resumed_at[slot_number(target, slot)];
	return from + (tracee->delivery_ns < MAX_QUIET_NS ? tracee->delivery_ns : MAX_QUIET_NS);
}

static void stop_later(struct tracee *tracee)
{
	struct target *target = tracee->target;
	const uint8_t *slot = target_slot(target, tracee->tid);
	if (!slot)
		return;
	__atomic_store_n(&target->stop_at[slot_number(target, slot)], quiet_until(tracee),
			 __ATOMIC_RELEASE);
	server_wake(target);
}

/* A signal that a thread sends to its own process has been delivered when the call returns. */
static bool may_wait(const struct tracee *tracee, const siginfo_t *info)
{
	return info->si_code == SI_KERNEL || info->si_code == SI_TIMER ||
	       (is_sent(info) && info->si_pid && info->si_pid != tracee->tgid);
}

/* Natively all that is pending at the end of a system call comes before the program goes on.  Here
 * some comes only when the handler of another returns; it is not held back then. */
static void note_owed(struct tracee *tracee)
{
	siginfo_t infos[32];
	memset(tracee->owed, 0, sizeof(tracee->owed));
	for (uint32_t flags = 0; flags <= PTRACE_PEEKSIGINFO_SHARED; flags++) {
		struct __ptrace_peeksiginfo_args wanted = {0, flags, 32};
		long n = 32;
		while (n == 32 && wanted.off < MAX_OWED) {
			n = ptrace(PTRACE_PEEKSIGINFO, tracee->tid, &wanted, infos);
			for (long i = 0; i < n; i++)
				tracee->owed[infos[i].si_signo & 63]++;
			wanted.off += 32;
		}
	}
}

/* Whether the thread may be about to leave a system call. */
static bool is_in_gate(const struct tracee *tracee)
{
	struct user_regs_struct regs;
	return ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) == 0 &&
	       in_gate(tracee->target, regs.rip);
}

/* Whether a signal is held back.  One whose system call says so to the program is not. */
static bool waits(struct tracee *tracee, int number, const siginfo_t *info)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	bool done;
	if (tracee->owed[number & 63]) {
		tracee->owed[number & 63]--;
		return false;
	}
	if (is_fault(number, info) || !may_wait(tracee, info) || !tracee->delivery_ns ||
	    clock_now_ns() >= quiet_until(tracee) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0 ||
	    !code_cache_arena_at(&target->translator.cache, regs.rip) ||
	    (at_call(target, regs.rip, &done) && done && (long long)regs.rax == -EINTR) ||
	    !hold(tracee, number, info, true))
		return false;
	stop_later(tracee);
	return true;
}

static bool deliver_timed(struct tracee *tracee, int number, siginfo_t *info, bool here)
{
	const uint64_t start = clock_now_ns();
	const bool alive = deliver_one(tracee, number, info, here);
	tracee->delivered_at = clock_now_ns();
	tracee->delivery_ns = tracee->delivered_at - start;
	if (alive && tracee->n_held)
		stop_later(tracee);
	return alive;
}

/* Delivers the signal that has been held longest, or leaves it to the kernel: *number.  False when
 * the thread is gone. */
static bool deliver_held(struct tracee *tracee, int *number)
{
	struct held_signal next = take_held(tracee);
	const bool handled = has_handler(tracee, next.number);
	if (!handled && next.caught) /* natively it would have met its handler */
		return true;
	/* one that is blocked by now the kernel makes pending, wherever the thread is */
	if (handled && !in_set(tracee->tid, "SigBlk:", next.number))
		return deliver_timed(tracee, next.number, &next.info, false);
	*number = next.number;
	tracee->owed[next.number & 63]++;
	ptrace(PTRACE_SETSIGINFO, tracee->tid, 0, &next.info);
	return true;
}

/* The thread goes on with what is held: the oldest, or all, one behind the other as far as they let
 * each other. */
static bool deliver_and_resume(struct tracee *tracee, int most)
{
	int number = 0;
	for (int n = 0; n < most && tracee->n_held && !number; n++)
		if ((tracee->notified && !step(tracee, 0)) || !deliver_held(tracee, &number))
			return false;
	tracee->catches_up = most > 1 && tracee->n_held;
	if (tracee->n_held)
		stop_later(tracee);
	return resume(tracee, number);
}

/* How the thread wants to leave; one that wants to stay is let out of the gate. */
static enum leaving_how wish_of(struct tracee *tracee)
{
	struct target *target = tracee->target;
	enum leaving_how how = STAYS;
	pthread_mutex_lock(target->lock);
	const uint8_t *slot = target_slot(target, tracee->tid);
	if (slot) {
		const int index = slot_number(target, slot);
		__atomic_store_n(&target->stop_at[index], 0, __ATOMIC_RELEASE);
		how = target->leaving[index].how;
		if (how == ATTENDED) {
			target->leaving[index].how = STAYS;
			target_set_state(target, index, STATE_DONE);
		}
	}
	pthread_mutex_unlock(target->lock);
	return how;
}

/* The stop that stop_later, a request that ends counting or the gate behind a system call asked
 * for. */
static bool attend(struct tracee *tracee)
{
	struct user_regs_struct regs;
	bool moved;
	const bool gate = is_in_gate(tracee);
	const enum leaving_how how = wish_of(tracee);
	if (gate)
		note_owed(tracee);
	if (how != STAYS && how != ATTENDED && settle(tracee, &regs, false, &moved) == PLACE_STEP)
		return false;
	return deliver_and_resume(tracee, gate || tracee->catches_up ? MAX_HELD : 1);
}

/* ---- faults of ours ---- */

/* Whether the program itself could read there. */
static bool read_word(const struct target *target, uint64_t address, uint64_t *word)
{
	const struct iovec here = {word, sizeof(*word)};
	const struct iovec there = {(void *)(uintptr_t)address, sizeof(*word)};
	return process_vm_readv(target->pid, &here, 1, &there, 1, 0) == sizeof(*word);
}

/* Where the transfer would go whose last part faulted, with the program's registers behind it.
 * False: it is none, or the program's own would fault as well. */
static bool behind_transfer(const struct target *target, uint8_t *slot, const struct piece *piece,
			    struct user_regs_struct *regs)
{
	const struct code_block *block = &target->translator.cache.blocks[piece->block];
	struct decoded insn;
	uint64_t pc;
	switch ((enum piece_kind)piece->kind) {
	case PIECE_RETURN:
		if (!read_word(target, regs->rsp, &pc))
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

/* Translated calls and returns need a word below the stack pointer, which the program's own do not.
 */
static bool mend_transfer(struct tracee *tracee, int number)
{
	struct target *target = tracee->target;
	struct user_regs_struct regs;
	if ((number != SIGSEGV && number != SIGBUS) ||
	    ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
		return false;
	pthread_mutex_lock(target->lock);
	uint8_t *slot = target_slot(target, tracee->tid);
	const struct piece *piece = code_cache_piece(&target->translator.cache, regs.rip);
	const bool ours = slot && piece && piece->block != NO_BLOCK && !in_gate(target, regs.rip) &&
			  behind_transfer(target, slot, piece, &regs);
	pthread_mutex_unlock(target->lock);
	return ours && go_on_at(tracee, &regs);
}

/* The program traps itself step by step, and would be trapped in code of ours. */
static void note_trap_flag(struct tracee *tracee, const siginfo_t *info)
{
	struct target *target = tracee->target;
	if (info->si_signo != SIGTRAP || info->si_code != TRAP_TRACE)
		return;
	pthread_mutex_lock(target->lock);
	target_give_up(target, "the program sets its trap flag");
	pthread_mutex_unlock(target->lock);
}

bool interrupt_deliver(struct tracee *tracee, int number)
{
	siginfo_t info;
	tracee->notified = false;
	if (!tracee->target || ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) < 0)
		return ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
	if (target_sent_stop(&info))
		return attend(tracee);
	if (is_fault(number, &info) && (mend_peek(tracee, number) || mend_transfer(tracee, number)))
		return resume(tracee, 0);
	if (!has_handler(tracee, number))
		return ptrace(PTRACE_CONT, tracee->tid, 0, number) == 0;
	if (waits(tracee, number, &info))
		return resume(tracee, 0);
	note_trap_flag(tracee, &info);
	const bool gate = is_in_gate(tracee);
	if (gate)
		note_owed(tracee);
	return deliver_timed(tracee, number, &info, true) &&
	       deliver_and_resume(tracee, gate || tracee->catches_up ? MAX_HELD : 0);
}

void interrupt_give_back(struct tracee *tracee)
{
	for (int i = 0; i < tracee->n_held; i++)
		if (tracee->held[i].info.si_code != SI_TKILL)
			kill(tracee->tgid, tracee->held[i].number);
	tracee->n_held = 0;
	show_held(tracee);
}

/* ---- letting go ---- */

/* A stop of ours that is still on its way would stop the thread for good when nobody waits for it.
 */
static void await_stop(struct tracee *tracee)
{
	int status;
	siginfo_t info;
	while (in_set(tracee->tid, "SigPnd:", SIGSTOP) &&
	       ptrace(PTRACE_CONT, tracee->tid, 0, 0) == 0 &&
	       waitpid(tracee->tid, &status, __WALL) == tracee->tid && WIFSTOPPED(status))
		if (!(status >> 16) && ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
		    !target_sent_stop(&info))
			hold(tracee, WSTOPSIG(status), &info, false);
}

void interrupt_detach(struct tracee *tracee, int number)
{
	await_stop(tracee);
	interrupt_give_back(tracee);
	ptrace(PTRACE_DETACH, tracee->tid, 0, number);
}

void interrupt_release(struct tracee *tracee)
{
	struct user_regs_struct regs;
	siginfo_t info;
	bool moved;
	int status;
	if (ptrace(PTRACE_INTERRUPT, tracee->tid, 0, 0) < 0 ||
	    waitpid(tracee->tid, &status, __WALL) != tracee->tid || !WIFSTOPPED(status))
		return;
	int number = status >> 16 ? 0 : WSTOPSIG(status);
	if (number && ptrace(PTRACE_GETSIGINFO, tracee->tid, 0, &info) == 0 &&
	    target_sent_stop(&info))
		number = 0;
	if (tracee->target && settle(tracee, &regs, false, &moved) == PLACE_CLEAN) {
		regs.gs_base = 0;
		ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs);
	}
	interrupt_detach(tracee, number);
}

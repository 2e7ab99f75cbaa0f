/* What the gate asks for, and how it is answered: code is translated, indirect transfers get their
 * entries, watched system calls are let through, and threads that must go on natively leave.  A
 * thread of the tracer's, the server, does so for each target; it also stops the target's threads
 * when the follower wants them. */
#include "tracer/target/requests.h"

#include "base/clock.h"
#include "base/thread.h"
#include "tracer/schedule/kernel_sums.h"
#include "tracer/target/copies.h"
#include "tracer/target/cuts.h"
#include "tracer/target/entry_table.h"
#include "tracer/target/shared_memory.h"
#include "tracer/target/watchdog.h"
#include "tracer/target/watched_calls.h"
#include "tracer/target/windows.h"

#include <assert.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* Where the kernel saves the program counter of an interrupted thread, above the stack pointer at
 * rt_sigreturn: struct ucontext in <asm/sigcontext.h>. */
#define SIGFRAME_RIP 0xa8

void requests_init(struct target *target)
{
	watched_calls_init(target);
	for (uint64_t i = 0; i < SLOTS_SIZE >> 24; i++)
		target->slots[P_CODE_UNITS + (((target->slots_address >> 24) + i) & 0xffff)] = 1;
	entry_table_init(target, COPY_FIRST);
}

/* Aims the frame at the cache.  False: the program goes on natively where it was interrupted. */
static bool resume_where_interrupted(struct target *target, int slot, uint64_t frame)
{
	uint64_t pc;
	target->resumed_at[slot] = clock_now_ns();
	if (!program_memory_read(&target->memory, frame + SIGFRAME_RIP, &pc, sizeof(pc)))
		return true; /* the kernel will say so */
	if (code_cache_arena_at(&target_copy_of(target, slot)->cache, pc))
		return true;            /* done, but a signal came before the call */
	if (target_copy_at(target, pc)) /* the same, and the thread has changed copies since */
		pc = code_cache_pc_of_body(&target_copy_at(target, pc)->cache, pc);
	const uint64_t body = target_body(target, slot, pc);
	if (body)
		program_memory_write(&target->memory, frame + SIGFRAME_RIP, &body, sizeof(body));
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
		leaving->how = target->watched ? LEAVES_WATCHED : LEAVES;
	target->actions_unseen = true;
	struct kernel_sums sums;
	if (kernel_sums_of_thread((uint32_t)target->pid, (uint32_t)target->slot_of[index].tid,
				  &sums))
		target->slot_of[index].left_ns = sums.ran_ns + 1;
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

/* ---- transfers ---- */

/* The stub that asks, with its translator; or NULL. */
static const struct stub *stub_of(struct target *target, uint32_t type, uint64_t argument,
				  struct translator **copy)
{
	for (int i = 0; i < N_COPIES && type == REQ_MISS; i++) {
		*copy = &target->copies[i];
		const struct stub *stub = translate_stub_of(*copy, argument);
		if (stub)
			return stub;
	}
	return NULL;
}

/* What is no stub's request is taken as one for the address that it holds: nobody but a program
 * that writes into its slot asks so. */
static uint64_t wanted_pc(struct target *target, uint32_t type, uint64_t argument)
{
	struct translator *copy;
	const struct stub *stub = stub_of(target, type, argument, &copy);
	return stub ? stub->pc : argument;
}

/* Returns the cache address to go on at, or 0 when the thread leaves the cache. */
static uint64_t answer_transfer(struct target *target, int slot, uint32_t type, uint64_t argument)
{
	const uint64_t pc = wanted_pc(target, type, argument);
	struct translator *copy = target_copy_of(target, slot), *asking;
	const char *why = NULL;
	uint64_t ignored, body = 0, entry = 0;
	if (target->native)
		return leave(target, slot, pc);
	cuts_on_transfer(target, slot, type, pc);
	if (target->windows && copies_is_new(target, slot, pc) &&
	    windows_begin_for_new_code(target->windows, clock_now_ns())) {
		copies_enter_first(target, slot);
		copy = target_copy_of(target, slot);
	}
	if (stub_of(target, type, argument, &asking) && asking == copy)
		body = translate_stub(copy, argument, &ignored, &why);
	else if (type == REQ_RETURN)
		entry = translate_landing(copy, pc, &why);
	else
		entry = translate_entry(copy, pc, &why);
	if (entry)
		body = translate_body(copy, pc, &why);
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
	entry_table_show_new(target, target->slot_of[slot].copy);
	const uint64_t key = type == REQ_RETURN ? pc | RETURN_KEY : pc;
	if (entry && !cuts_holds(target, key))
		entry_table_remember(target, slot, key, entry);
	return body;
}

/* ---- kernels ---- */

/* Accesses that the thread records from now on are those of a share, or its own again. */
static void answer_kernel(struct target *target, int index, uint32_t type, uint64_t argument)
{
	const uint64_t sp = *slot_u64(slot_at(target, index), SAVE_RSP);
	const struct kernel_counters counters = target_counters(target);
	if (!target->kernels)
		return;
	struct drain_source *source = target->sources[index];
	const uint32_t before = kernel_threads_row(target->kernels, index);
	const bool called = kernel_threads_calls(target->kernels, index);
	bool enters = false;
	if (type == REQ_KERNEL_ENTER)
		enters = kernel_threads_enter(target->kernels, index, (uint32_t)argument, sp,
					      counters);
	else
		kernel_threads_look(target->kernels, index, sp, type == REQ_KERNEL_RETURN,
				    counters);
	const uint32_t now = kernel_threads_row(target->kernels, index);
	if (called && (enters || !kernel_threads_calls(target->kernels, index)))
		drain_leave_kernel(target->drain, source, now);
	if (enters)
		drain_enter_kernel(target->drain, source, now);
	else if (now != before && !called)
		drain_set_share(target->drain, source, now);
}

/* ---- all requests ---- */

/* Whether a slot has a request that is not decided yet. */
static bool asks(const struct target *target, int index)
{
	const uint32_t state = __atomic_load_n(target_state(target, index), __ATOMIC_ACQUIRE);
	return (state == STATE_REQUESTED || state == STATE_SLEEPING) &&
	       __atomic_load_n(&target->leaving[index].how, __ATOMIC_ACQUIRE) == STAYS;
}

static bool is_request(uint64_t type)
{
	return (uint32_t)type >= REQ_MISS && (uint32_t)type <= REQ_KERNEL_JUMP;
}

bool requests_decide(struct target *target, int index)
{
	uint8_t *slot = slot_at(target, index);
	if (!asks(target, index))
		return target->leaving[index].how != STAYS ||
		       __atomic_load_n(target_state(target, index), __ATOMIC_ACQUIRE) == STATE_DONE;
	watched_calls_note_changes(target);
	const uint32_t type = (uint32_t)*slot_u64(slot, G_REQ_TYPE);
	const uint64_t argument = *slot_u64(slot, G_REQ_ARG);
	if (!is_request(type))
		return false;     /* the watchdog says so */
	if (type == REQ_ATTEND) { /* still in the gate, it gets the signals that are held for it */
		target->leaving[index].how = ATTENDED;
		target->leaving[index].pc = *slot_u64(slot, G_JUMP) = *slot_u64(slot, G_SYSRET);
		return true;
	}
	if (type >= REQ_KERNEL_ENTER) {
		answer_kernel(target, index, type, argument);
		*slot_u64(slot, G_JUMP) = *slot_u64(slot, G_KERNEL_BACK);
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

static void wake_asker(struct target *target, int index)
{
	syscall(SYS_futex, target_state(target, index), FUTEX_WAKE, 1, NULL, NULL, 0);
}

void requests_answer(struct target *target, int index)
{
	uint32_t *state = target_state(target, index);
	struct leaving *leaving = &target->leaving[index];
	if (!asks(target, index) || !requests_decide(target, index))
		return;
	if (leaving->how != STAYS) {
		if (target_stop_thread(target, index))
			return;
		/* it takes itself out, with a segment base that is not the program's */
		*slot_u64(slot_at(target, index), G_JUMP) = leaving->pc;
		leaving->how = STAYS;
	}
	if (__atomic_exchange_n(state, STATE_DONE, __ATOMIC_SEQ_CST) == STATE_SLEEPING)
		wake_asker(target, index);
	shared_memory_let_go(target);
}

/* ---- the server ---- */

#define SPIN_NS 60000 /* a program that asks once tends to ask again at once */
/* A yield this long gave the processor to others for their time slices; then the server sleeps
 * instead for some time: who is woken comes first. */
#define LONG_YIELD_NS 300000
#define CROWDED_NS 100000000
/* How often the shared memory is looked at. */
#define LOOK_NS 40000000
/* Programs that live for less do not get back what huge pages cost. */
#define HUGE_AFTER_NS 400000000

static uint32_t *doorbell(struct target *target)
{
	return (uint32_t *)(target->slots + P_DOORBELL);
}

/* Whether the follower wants that slot's thread to be stopped by now. */
static bool stop_is_due(struct target *target, int slot)
{
	const uint64_t at = __atomic_load_n(&target->stop_at[slot], __ATOMIC_ACQUIRE);
	return at && clock_now_ns() >= at;
}

/* Answers all that is asked; returns whether there was anything. */
static bool answer_all(struct target *target)
{
	bool any = false;
	for (int slot = 1; slot < __atomic_load_n(&target->n_slots, __ATOMIC_ACQUIRE); slot++) {
		const bool due = stop_is_due(target, slot);
		if (!due && !asks(target, slot))
			continue;
		pthread_mutex_lock(target->lock);
		if (due && target->stop_at[slot] && !target_stop_thread(target, slot))
			target->stop_at[slot] = 0;
		requests_answer(target, slot);
		pthread_mutex_unlock(target->lock);
		any = true;
	}
	return any;
}

/* Asks the threads that run another copy of the code than they should to change. */
static void ask_to_change(struct target *target)
{
	if (target->native)
		return;
	const uint64_t now = clock_now_ns();
	const enum copy wanted = copies_wanted(target, now);
	if (wanted == COPY_PLAIN && !target->has_plain &&
	    (now < target->plain_from_ns || !copies_pay(target, now)))
		return;
	for (int slot = 1; slot < target->n_slots; slot++) {
		if (!target->slot_of[slot].tid || target->slot_of[slot].copy == wanted ||
		    target->slot_of[slot].changes || (wanted == COPY_PLAIN && target->plain_failed))
			continue;
		pthread_mutex_lock(target->lock);
		if (target->slot_of[slot].tid && target->leaving[slot].how == STAYS)
			copies_ask(target, slot);
		pthread_mutex_unlock(target->lock);
	}
}

/* How long nothing will be due, at most 50 ms. */
static struct timespec patience(struct target *target)
{
	uint64_t ns = 50000000;
	const uint64_t now = clock_now_ns(), change = copies_patience(target, now);
	const uint64_t cut = cuts_patience(target, now);
	if (change < ns)
		ns = change;
	if (cut < ns)
		ns = cut;
	for (int slot = 1; slot < target->n_slots; slot++) {
		const uint64_t at = __atomic_load_n(&target->stop_at[slot], __ATOMIC_ACQUIRE);
		if (at && at < now + ns)
			ns = at > now ? at - now : 1;
	}
	return (struct timespec){.tv_nsec = (long)ns};
}

static void sleep_until_rung(struct target *target, uint32_t seen)
{
	uint32_t *sleeping = (uint32_t *)(target->slots + P_SLEEPING);
	const struct timespec limit = patience(target);
	__atomic_store_n(sleeping, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, doorbell(target), FUTEX_WAIT, seen, &limit, NULL, 0);
	__atomic_store_n(sleeping, 0, __ATOMIC_SEQ_CST);
}

/* The asker may want this very processor.  Returns when to yield again at the earliest. */
static uint64_t yield(struct target *target)
{
	const uint64_t before = clock_now_ns();
	sched_yield();
	const uint64_t after = clock_now_ns();
	const bool crowded = after - before > LONG_YIELD_NS;
	__atomic_store_n((uint32_t *)(target->slots + P_CROWDED), crowded, __ATOMIC_RELAXED);
	return crowded ? after + CROWDED_NS : 0;
}

/* A thread that waits without a request that could be answered would wait for ever.  So would one
 * that sleeps on a state that the program has written over since: nobody sees that it asks.  Woken,
 * it sees for itself, and asks again; a thread that does not sleep does not notice. */
static void look_after(struct target *target, bool is_old)
{
	pthread_mutex_lock(target->lock);
	bool whole = !watchdog_is_overwritten(target);
	for (int slot = 1; whole && slot < target->n_slots; slot++) {
		if (asks(target, slot))
			whole = is_request(*slot_u64(slot_at(target, slot), G_REQ_TYPE));
		else if (target->slot_of[slot].tid)
			wake_asker(target, slot);
	}
	if (!whole)
		watchdog_end(target);
	else if (is_old)
		shared_memory_use_huge_pages(target);
	pthread_mutex_unlock(target->lock);
}

static void *serve(void *argument)
{
	struct target *target = argument;
	const uint64_t begun = clock_now_ns();
	uint64_t last_answer = 0, yield_from = 0, last_look = 0;
	while (!__atomic_load_n(&target->stop, __ATOMIC_ACQUIRE)) {
		if (clock_now_ns() - last_look > LOOK_NS) {
			look_after(target, clock_now_ns() - begun > HUGE_AFTER_NS);
			last_look = clock_now_ns();
		}
		uint32_t seen = __atomic_load_n(doorbell(target), __ATOMIC_SEQ_CST);
		ask_to_change(target);
		copies_follow_heat(target, clock_now_ns());
		cuts_ask(target);
		if (answer_all(target))
			last_answer = clock_now_ns();
		else if (clock_now_ns() - last_answer < SPIN_NS && clock_now_ns() >= yield_from)
			yield_from = yield(target);
		else
			sleep_until_rung(target, seen);
	}
	return NULL;
}

struct rf_error *server_start(struct target *target)
{
	const int errnum = thread_start(&target->server, serve, target);
	target->server_runs = errnum == 0;
	return errnum ? rf_error_errno(RF_EINTERNAL, errnum, NULL, "cannot start a thread") : NULL;
}

void server_wake(struct target *target)
{
	__atomic_add_fetch(doorbell(target), 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, doorbell(target), FUTEX_WAKE, 1, NULL, NULL, 0);
}

void server_stop(struct target *target)
{
	if (!target->server_runs)
		return;
	__atomic_store_n(&target->stop, true, __ATOMIC_RELEASE);
	server_wake(target);
	pthread_join(target->server, NULL);
	target->server_runs = false;
}

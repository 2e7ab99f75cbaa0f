#include "tracer/target/requests.h"

#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define ARCH_SET_GS 0x1001
#define ARCH_GET_GS 0x1004
#define ARCH_SHSTK_ENABLE 0x5001
#define FIRST_TABLE_CELLS (1u << 14)
#define BATCH_REACH (1u << 16)

/* As the gate reads it (gate_look_up). */
struct code_table {
	uint64_t mask, unused;
	struct {
		uint64_t key, entry;
	} cells[];
};

static uint8_t *slot_at(const struct target *target, int slot)
{
	return target->slots + (uint64_t)slot * SLOT_STRIDE;
}

/* ---- the table of entries for indirect transfers ----
 *
 * The program can write the slots and the process area: what is read back from there is never
 * trusted.  So the mask that counts here is the target's own. */

static uint64_t cell_hash(uint64_t key)
{
	return (key * 0x2545f491u) >> 9;
}

static struct code_table *new_table(struct target *target, uint64_t n_cells)
{
	struct code_table *table = (struct code_table *)(target->slots + target->tables_end);
	uint64_t size = sizeof(*table) + n_cells * sizeof(table->cells[0]);
	if (target->tables_end + size > SLOT_STRIDE)
		return NULL;
	target->tables_end += (size + 4095) & ~4095ull;
	target->table_used = 0;
	target->table_mask = n_cells - 1;
	table->mask = target->table_mask;
	return table;
}

static void table_place(struct target *target, struct code_table *table, uint64_t key,
			uint64_t entry)
{
	const uint64_t mask = target->table_mask, first = cell_hash(key);
	for (uint64_t n = 0; n <= mask; n++) {
		const uint64_t i = (first + n) & mask;
		const uint64_t there = __atomic_load_n(&table->cells[i].key, __ATOMIC_RELAXED);
		if (there && there != key)
			continue;
		target->table_used += !there;
		__atomic_store_n(&table->cells[i].entry, entry, __ATOMIC_RELEASE);
		__atomic_store_n(&table->cells[i].key, key, __ATOMIC_RELEASE);
		return;
	}
}

static void show_table(struct target *target, struct code_table *table)
{
	uint64_t address = target->slots_address + (uint64_t)((uint8_t *)table - target->slots);
	target->table = table;
	__atomic_store_n((uint64_t *)(target->slots + P_TABLE), address, __ATOMIC_RELEASE);
}

static void table_set(struct target *target, uint64_t key, uint64_t entry)
{
	struct code_table *old = target->table;
	const uint64_t old_mask = target->table_mask;
	if (target->table_used * 2 > old_mask) {
		struct code_table *bigger = new_table(target, (old_mask + 1) * 4);
		if (!bigger) { /* this target asks each time */
			target->table_full = true;
			return;
		}
		for (uint64_t i = 0; i <= old_mask; i++)
			if (old->cells[i].entry)
				table_place(target, bigger, old->cells[i].key, old->cells[i].entry);
		table_place(target, bigger, key, entry);
		show_table(target, bigger);
		return;
	}
	table_place(target, old, key, entry);
}

/* The cell of a thread's own table for that key, and what it holds when it holds no entry. */
static uint64_t *thread_cell(struct target *target, int slot, uint64_t key)
{
	const size_t table = key & RETURN_KEY ? SLOT_RETURNS : SLOT_JUMPS;
	return slot_u64(slot_at(target, slot), table + 8 * (key & 0xffff));
}

static uint64_t no_entry(const struct target *target, uint64_t key)
{
	return target_gate(target, key & RETURN_KEY ? gate_return : gate_indirect);
}

static void clear_cells(struct target *target, uint64_t key)
{
	for (int slot = 1; slot < target->n_slots; slot++)
		__atomic_store_n(thread_cell(target, slot, key), no_entry(target, key),
				 __ATOMIC_RELEASE);
}

/* Returns, above all, then find their way without asking. */
static void show_new_entries(struct target *target)
{
	struct translator *translator = &target->translator;
	for (size_t i = 0; i < translator->n_new_entries; i++) {
		const struct new_entry *new = &translator->new_entries[i];
		table_set(target, new->key, new->entry);
		if (new->replaces)
			clear_cells(target, new->key);
	}
	translator->n_new_entries = 0;
}

/* Makes all entries of [start, end) unreachable.  Threads have no other entries in their own
 * tables, unless the common one is full. */
static void forget_entries(struct target *target, uint64_t start, uint64_t end)
{
	for (uint64_t i = 0; i <= target->table_mask; i++) {
		const uint64_t key = target->table->cells[i].key, pc = key & ~RETURN_KEY;
		if (pc < start || pc >= end)
			continue;
		__atomic_store_n(&target->table->cells[i].entry, 0, __ATOMIC_RELEASE);
		clear_cells(target, key);
	}
	for (uint64_t low = 0; low < 65536 && target->table_full; low++) {
		clear_cells(target, low);
		clear_cells(target, low | RETURN_KEY);
	}
}

/* ---- system calls that need a look before they run ---- */

/* Where the kernel saves the program counter of an interrupted thread, above the stack pointer at
 * rt_sigreturn: struct ucontext in <asm/sigcontext.h>. */
#define SIGFRAME_RIP 0xa8

static const struct {
	uint16_t number;
	uint8_t call;
} watched[] = {
	{SYS_mmap, CALL_MAP},
	{SYS_munmap, CALL_RANGE},
	{SYS_mprotect, CALL_RANGE},
	{SYS_pkey_mprotect, CALL_RANGE},
	{SYS_madvise, CALL_RANGE},
	{SYS_mremap, CALL_REMAP},
	{SYS_remap_file_pages, CALL_ASK},
	{SYS_shmat, CALL_ASK},
	{SYS_rt_sigaction, CALL_ACTION},
	{SYS_rt_sigreturn, CALL_ASK},
	{SYS_clone, CALL_CLONE},
	{SYS_clone3, CALL_CLONE3},
	{SYS_open, CALL_OPEN},
	{SYS_creat, CALL_OPEN},
	{SYS_openat, CALL_OPENAT},
	{SYS_openat2, CALL_OPENAT},
	{SYS_rseq, CALL_ASK},
	{SYS_arch_prctl, CALL_ASK},
	{SYS_seccomp, CALL_ASK},
	{SYS_prctl, CALL_ASK},
	{SYS_ptrace, CALL_ASK},
	{SYS_setrlimit, CALL_ASK},
	{SYS_prlimit64, CALL_ASK},
	{SYS_mlockall, CALL_ASK},
	{SYS_alarm, CALL_TIMER},
	{SYS_setitimer, CALL_TIMER},
	{SYS_timer_settime, CALL_TIMER},
	{SYS_timer_delete, CALL_TIMER},
};

void requests_init(struct target *target)
{
	uint8_t *systab = target->slots + P_SYSTAB;
	memset(systab, CALL_IN_PLACE, 1024);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		systab[watched[i].number] = watched[i].call;
	for (uint64_t i = 0; i < (uint64_t)MAX_SLOTS * SLOT_STRIDE >> 24; i++)
		target->slots[P_CODE_UNITS + (((target->slots_address >> 24) + i) & 0xffff)] = 1;
	target->tables_end = P_TABLES;
	show_table(target, new_table(target, FIRST_TABLE_CELLS));
}

/* The code in the pages of [start, end) may be something else from now on. */
static void code_changes(struct target *target, uint64_t start, uint64_t end)
{
	program_memory_changes(&target->memory, start, end);
	if (program_memory_forget(&target->memory, start, end) &&
	    translate_invalidate(&target->translator, &start, end))
		forget_entries(target, start, end);
}

/* The same for [start, start + size) from this call on, which has not run yet: until it has, no
 * other thread may bring the old code back. */
static void code_may_change(struct target *target, int slot, uint64_t start, uint64_t size)
{
	const uint64_t first = start & ~4095ull, end = (start + size + 4095) & ~4095ull;
	struct changing *changing = &target->changing[slot];
	code_changes(target, first, end);
	if (changing->end) { /* mremap has two ranges */
		changing->start = changing->start < first ? changing->start : first;
		changing->end = changing->end > end ? changing->end : end;
		return;
	}
	*changing = (struct changing){first, end};
	target->n_changing++;
	__atomic_store_n(slot_u32(slot_at(target, slot), G_CHANGING), 1, __ATOMIC_SEQ_CST);
}

/* What calls that have run since have changed is looked at anew. */
static void note_changes(struct target *target)
{
	for (int slot = 1; slot < target->n_slots && target->n_changing; slot++) {
		struct changing *changing = &target->changing[slot];
		if (!changing->end ||
		    __atomic_load_n(slot_u32(slot_at(target, slot), G_CHANGING), __ATOMIC_SEQ_CST))
			continue;
		code_changes(target, changing->start, changing->end);
		changing->end = 0;
		target->n_changing--;
	}
}

/* Whether code near pc is about to change; a batch reaches so far. */
static bool is_changing(const struct target *target, uint64_t pc)
{
	for (int slot = 1; slot < target->n_slots && target->n_changing; slot++) {
		const struct changing *changing = &target->changing[slot];
		if (changing->end && pc < changing->end + BATCH_REACH &&
		    changing->start < pc + BATCH_REACH)
			return true;
	}
	return false;
}

/* Aims the frame at the cache.  False when the program goes on natively where it was interrupted.
 */
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

void target_give_up(struct target *target, const char *why)
{
	if (target->native)
		return;
	profile_add_uncounted(target->profile, PROFILE_NONE, why);
	profile_native_process(target->profile, target->pid, why);
	profile_set_fact(target->profile, "counts_incomplete", "%s", why);
	target->native = true;
}

static uint64_t saved(uint8_t *slot, size_t offset)
{
	return *slot_u64(slot, offset);
}

/* Plain access as the program itself has it: memory that it cannot read or write is refused. */
static bool read_as_program(const struct target *target, uint64_t address, void *buffer,
			    size_t size)
{
	const struct iovec here = {buffer, size}, there = {(void *)(uintptr_t)address, size};
	return process_vm_readv(target->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

static bool write_as_program(const struct target *target, uint64_t address, const void *buffer,
			     size_t size)
{
	const struct iovec here = {(void *)(uintptr_t)buffer, size};
	const struct iovec there = {(void *)(uintptr_t)address, size};
	return process_vm_writev(target->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* ---- what a watched system call means; true: it has its result and does not run ---- */

/* Whether [start, start + size) has memory of ours in it, as a program sees that looks into its
 * maps and unmaps all that it does not know. */
static bool is_ours(const struct target *target, uint64_t start, uint64_t size)
{
	const struct code_cache *cache = &target->translator.cache;
	const uint64_t end = start + size, slots = target->slots_address;
	for (int i = 0; i < cache->n_arenas; i++)
		if (start < cache->arenas[i].base + cache->arenas[i].size &&
		    cache->arenas[i].base < end)
			return true;
	return start < slots + (uint64_t)MAX_SLOTS * SLOT_STRIDE && slots < end;
}

/* Nothing of ours may stay where the program wants to have something else. */
static void make_way(struct target *target, int index)
{
	target_give_up(target, "the program changes memory that rfprof had mapped");
	if (target->n_threads == 1)
		target->leaving[index].how = LEAVES_UNMAPPED;
}

static void look_at_memory_call(struct target *target, int index, uint8_t *slot, uint64_t number)
{
	const uint64_t a = saved(slot, SAVE_RDI), b = saved(slot, SAVE_RSI);
	if (number == SYS_mmap && !(saved(slot, SAVE_R10) & MAP_FIXED))
		return;
	if (number == SYS_shmat && !(saved(slot, SAVE_RDX) & SHM_REMAP))
		return;
	if (is_ours(target, a, b))
		make_way(target, index);
	if (number == SYS_mremap && saved(slot, SAVE_R10) & MREMAP_FIXED)
		code_may_change(target, index, saved(slot, SAVE_R8), saved(slot, SAVE_RDX));
	/* how much shmat will map only the kernel knows */
	if (number == SYS_shmat)
		code_may_change(target, index, b, 1ull << 40);
	else
		code_may_change(target, index, a, b);
}

static bool look_at_arch_prctl(struct target *target, uint8_t *slot)
{
	const uint64_t code = saved(slot, SAVE_RDI), base = 0;
	if (code == ARCH_SET_GS)
		target_give_up(target, "the program uses the GS segment");
	if (code == ARCH_GET_GS) /* the program's own is 0 as long as it is counted */
		*slot_u64(slot, SAVE_RAX) =
			write_as_program(target, saved(slot, SAVE_RSI), &base, sizeof(base))
				? 0
				: (uint64_t)-EFAULT;
	else if (code == ARCH_SHSTK_ENABLE) /* the calls of translated code are not the program's */
		*slot_u64(slot, SAVE_RAX) = (uint64_t)-EOPNOTSUPP;
	else
		return false;
	return true;
}

/* Whether the last part of a path is "mem": the memory of some process, perhaps this one's. */
static bool is_process_memory(const struct target *target, uint64_t path)
{
	char text[PATH_MAX + 1];
	const size_t to_page = 4096 - (path & 4095); /* it may end where the memory ends */
	const struct iovec here = {text, PATH_MAX},
			   there[2] = {
				   {(void *)(uintptr_t)path, to_page},
				   {(void *)(uintptr_t)(path + to_page), PATH_MAX - to_page},
			   };
	const ssize_t n = process_vm_readv(target->pid, &here, 1, there, 2, 0);
	if (n <= 0)
		return false;
	text[n] = '\0';
	const char *last = strrchr(text, '/');
	return !strcmp(last ? last + 1 : text, "mem");
}

static void look_at_open(struct target *target, uint8_t *slot, uint64_t number)
{
	const bool at = number == SYS_openat || number == SYS_openat2;
	uint64_t flags = saved(slot, at ? SAVE_RDX : SAVE_RSI);
	if (number == SYS_creat)
		flags = O_WRONLY;
	if (number == SYS_openat2 &&
	    !read_as_program(target, saved(slot, SAVE_RDX), &flags, sizeof(flags)))
		return;
	if ((flags & O_ACCMODE) != O_RDONLY &&
	    is_process_memory(target, saved(slot, at ? SAVE_RSI : SAVE_RDI)))
		target_give_up(target, "the program writes into the memory of a process");
}

/* CLONE_UNTRACED would leave the child in a cache that it does not have. */
static void look_at_clone(struct target *target, uint8_t *slot, uint64_t number)
{
	const uint64_t there = saved(slot, SAVE_RDI);
	uint64_t flags;
	if (number == SYS_clone) {
		*slot_u64(slot, SAVE_RDI) = there & ~(uint64_t)CLONE_UNTRACED;
	} else if (read_as_program(target, there, &flags, sizeof(flags)) &&
		   flags & CLONE_UNTRACED) {
		flags &= ~(uint64_t)CLONE_UNTRACED;
		write_as_program(target, there, &flags, sizeof(flags));
	}
}

/* The maps of ours count as the program's own: they must go before there is a limit. */
static void look_at_limit(struct target *target, int index, uint8_t *slot, uint64_t number)
{
	const bool both = number == SYS_prlimit64;
	const uint64_t pid = both ? saved(slot, SAVE_RDI) : 0;
	const uint64_t limit = saved(slot, both ? SAVE_RDX : SAVE_RSI);
	struct rlimit new;
	if (saved(slot, both ? SAVE_RSI : SAVE_RDI) != RLIMIT_AS ||
	    (pid && pid != (uint64_t)target->pid) || !limit ||
	    !read_as_program(target, limit, &new, sizeof(new)) || new.rlim_cur == RLIM_INFINITY)
		return;
	target_give_up(target, "the program limits its address space");
	if (target->n_threads == 1)
		target->leaving[index].how = LEAVES_UNMAPPED;
}

/* Our maps are large and nearly empty: with them the program would exceed a limit that it keeps,
 * and all of their pages would be made, unless pages are locked only when they are there. */
static void look_at_lock(struct target *target, int index, uint8_t *slot)
{
	struct rlimit limit;
	if (!(saved(slot, SAVE_RDI) & MCL_CURRENT))
		return;
	if (prlimit(target->pid, RLIMIT_MEMLOCK, NULL, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY && target->n_threads == 1) {
		target_give_up(target, "the program locks its memory, and has a limit for that");
		target->leaving[index].how = LEAVES_UNMAPPED;
	} else {
		*slot_u64(slot, SAVE_RDI) |= MCL_ONFAULT;
	}
}

/* One that traces itself lets its parent do so; it cannot have two tracers. */
static void look_at_ptrace(struct target *target, int index, uint8_t *slot)
{
	const uint64_t request = saved(slot, SAVE_RDI);
	target_give_up(target, "the program traces, or is traced by another");
	target->leaving[index].how = request == PTRACE_TRACEME ? LEAVES_UNTRACED : LEAVES_TO_TRACE;
	if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
		target->leaving[index].argument = (pid_t)saved(slot, SAVE_RSI);
}

static bool look_at_call(struct target *target, int index, uint8_t *slot, uint64_t number)
{
	switch (number) {
	case SYS_mmap:
	case SYS_mremap:
	case SYS_munmap:
	case SYS_mprotect:
	case SYS_pkey_mprotect:
	case SYS_madvise:
	case SYS_remap_file_pages:
	case SYS_shmat:
		look_at_memory_call(target, index, slot, number);
		return false;
	case SYS_rseq: /* copied code is not restartable; glibc does without */
		*slot_u64(slot, SAVE_RAX) = (uint64_t)-ENOSYS;
		return true;
	case SYS_arch_prctl:
		return look_at_arch_prctl(target, slot);
	case SYS_clone:
	case SYS_clone3:
		look_at_clone(target, slot, number);
		return false;
	case SYS_open:
	case SYS_creat:
	case SYS_openat:
	case SYS_openat2:
		look_at_open(target, slot, number);
		return false;
	case SYS_seccomp:
		target_give_up(target, "the program sets up a seccomp sandbox");
		return false;
	case SYS_prctl:
		if (saved(slot, SAVE_RDI) == PR_SET_SECCOMP)
			target_give_up(target, "the program sets up a seccomp sandbox");
		if (saved(slot, SAVE_RDI) == PR_SET_SYSCALL_USER_DISPATCH)
			target_give_up(target, "the program redirects its system calls");
		return false;
	case SYS_setrlimit:
	case SYS_prlimit64:
		look_at_limit(target, index, slot, number);
		return false;
	case SYS_mlockall:
		look_at_lock(target, index, slot);
		return false;
	case SYS_ptrace:
		look_at_ptrace(target, index, slot);
		return false;
	default:
		return false;
	}
}

/* Leave the cache: the thread goes on natively at pc.  Returns 0. */
static uint64_t leave(struct target *target, int index, uint64_t pc)
{
	struct leaving *leaving = &target->leaving[index];
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
	const uint64_t number = saved(slot, SAVE_RAX), sysret = saved(slot, G_SYSRET);
	bool native = false;
	if (number == SYS_rt_sigreturn)
		native = !resume_where_interrupted(target, index, saved(slot, SAVE_RSP));
	else if (look_at_call(target, index, slot, number))
		return sysret;
	if (target->native || native)
		return leave(target, index, target_behind_syscall(target, sysret) - 2);
	return target_gate(target, target->changing[index].end ? gate_do_change : gate_do_syscall);
}

/* Behind a system call, with the thread still in the gate: the follower delivers what is held for
 * it. */
static uint64_t let_attend(struct target *target, int index, uint8_t *slot)
{
	struct leaving *leaving = &target->leaving[index];
	leaving->pc = saved(slot, G_SYSRET);
	leaving->how = ATTENDED;
	return leaving->pc;
}

/* ---- requests ---- */

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
	show_new_entries(target);
	if (entry)
		*thread_cell(target, slot, type == REQ_RETURN ? pc | RETURN_KEY : pc) = entry;
	return body;
}

static uint32_t *state_of(struct target *target, int index)
{
	return (uint32_t *)(target->slots + P_STATES) + index;
}

void target_set_state(struct target *target, int index, uint32_t state)
{
	__atomic_store_n(state_of(target, index), state, __ATOMIC_RELEASE);
}

bool target_decide(struct target *target, int index)
{
	uint8_t *slot = slot_at(target, index);
	const uint32_t seen = __atomic_load_n(state_of(target, index), __ATOMIC_ACQUIRE);
	if ((seen != STATE_REQUESTED && seen != STATE_SLEEPING) ||
	    target->leaving[index].how != STAYS)
		return seen == STATE_DONE || target->leaving[index].how != STAYS;
	note_changes(target);
	const uint32_t type = (uint32_t)saved(slot, G_REQ_TYPE);
	const uint64_t argument = saved(slot, G_REQ_ARG);
	if (type == REQ_ATTEND) {
		*slot_u64(slot, G_JUMP) = let_attend(target, index, slot);
		return true;
	}
	if (type != REQ_SYSCALL && is_changing(target, wanted_pc(target, type, argument)))
		return false;
	*slot_u64(slot, G_JUMP) = type == REQ_SYSCALL
					  ? answer_syscall(target, index, slot)
					  : answer_transfer(target, index, type, argument);
	return true;
}

void target_answer(struct target *target, int index)
{
	uint32_t *state = state_of(target, index);
	uint32_t seen = __atomic_load_n(state, __ATOMIC_ACQUIRE);
	struct leaving *leaving = &target->leaving[index];
	if ((seen != STATE_REQUESTED && seen != STATE_SLEEPING) || leaving->how != STAYS ||
	    !target_decide(target, index))
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

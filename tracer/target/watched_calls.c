/* System calls of the program that are looked at before they run: those that change code, start
 * children, open the memory of a process, or ask for what does not go together with being counted.
 * Some get another argument or their result here, after some the program goes on natively. */
#include "tracer/target/watched_calls.h"

#include "tracer/target/entry_table.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define ARCH_SET_GS 0x1001
#define ARCH_GET_GS 0x1004
#define ARCH_SHSTK_ENABLE 0x5001
/* Bytes of code that a batch may reach beyond the address that it is wanted for */
#define BATCH_REACH (1u << 16)

/* ---- code that changes ---- */

/* The code in the pages of [start, end) may be something else from now on. */
static void code_changes(struct target *target, uint64_t start, uint64_t end)
{
	program_memory_changes(&target->memory, start, end);
	if (!program_memory_forget(&target->memory, start, end))
		return;
	for (int copy = 0; copy < N_COPIES; copy++) {
		uint64_t lowest = start;
		if (translate_invalidate(&target->copies[copy], &lowest, end))
			entry_table_forget(target, copy, lowest, end);
	}
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

void watched_calls_note_changes(struct target *target)
{
	for (int slot = 1; slot < target->n_slots && target->n_changing; slot++) {
		struct changing *changing = &target->changing[slot];
		if (!changing->end ||
		    __atomic_load_n(slot_u32(slot_at(target, slot), G_CHANGING), __ATOMIC_SEQ_CST))
			continue;
		assert(target->n_changing > 0);
		code_changes(target, changing->start, changing->end);
		changing->end = 0;
		target->n_changing--;
	}
}

bool watched_calls_is_changing(const struct target *target, uint64_t pc)
{
	for (int slot = 1; slot < target->n_slots && target->n_changing; slot++) {
		const struct changing *changing = &target->changing[slot];
		if (changing->end && pc < changing->end + BATCH_REACH &&
		    changing->start < pc + BATCH_REACH)
			return true;
	}
	return false;
}

/* ---- what each call means ---- */

/* A call that the gate asks about, with its arguments where the gate has saved them. */
struct call {
	struct target *target;
	int index;
	uint8_t *slot;
	uint64_t number;
	bool has_result; /* and does not run */
};

static uint64_t saved(const struct call *call, size_t offset)
{
	return *slot_u64(call->slot, offset);
}

static void set_result(struct call *call, int64_t result)
{
	*slot_u64(call->slot, SAVE_RAX) = (uint64_t)result;
	call->has_result = true;
}

/* As the program itself could; false where it cannot. */
static bool write_as_program(const struct target *target, uint64_t address, const void *buffer,
			     size_t size)
{
	const struct iovec here = {(void *)(uintptr_t)buffer, size};
	const struct iovec there = {(void *)(uintptr_t)address, size};
	return process_vm_writev(target->pid, &here, 1, &there, 1, 0) == (ssize_t)size;
}

/* Whether [start, start + size) has memory of ours in it, as a program sees that looks into its
 * maps and unmaps all that it does not know. */
static bool is_ours(const struct target *target, uint64_t start, uint64_t size)
{
	const uint64_t end = start + size, slots = target->slots_address;
	for (int copy = 0; copy < N_COPIES; copy++) {
		const struct code_cache *cache = &target->copies[copy].cache;
		for (int i = 0; i < cache->n_arenas; i++)
			if (start < cache->arenas[i].base + cache->arenas[i].size &&
			    cache->arenas[i].base < end)
				return true;
	}
	return start < slots + SLOTS_SIZE && slots < end;
}

/* The program goes on natively, and nothing of ours stays in it where that can be had. */
static void make_way(const struct call *call, const char *why)
{
	target_give_up(call->target, why);
	if (call->target->n_threads == 1)
		call->target->leaving[call->index].how = LEAVES_UNMAPPED;
}

static void look_at_memory(struct call *call)
{
	struct target *target = call->target;
	const uint64_t a = saved(call, SAVE_RDI), b = saved(call, SAVE_RSI);
	if (call->number == SYS_mmap && !(saved(call, SAVE_R10) & MAP_FIXED))
		return;
	if (call->number == SYS_shmat && !(saved(call, SAVE_RDX) & SHM_REMAP))
		return;
	if (is_ours(target, a, b))
		make_way(call, "the program changes memory that rfprof had mapped");
	if (call->number == SYS_mremap && saved(call, SAVE_R10) & MREMAP_FIXED)
		code_may_change(target, call->index, saved(call, SAVE_R8), saved(call, SAVE_RDX));
	/* how much shmat will map only the kernel knows */
	if (call->number == SYS_shmat)
		code_may_change(target, call->index, b, 1ull << 40);
	else
		code_may_change(target, call->index, a, b);
}

/* Copied code is not restartable; glibc does without. */
static void look_at_rseq(struct call *call)
{
	set_result(call, -ENOSYS);
}

static void look_at_arch_prctl(struct call *call)
{
	const uint64_t code = saved(call, SAVE_RDI), to = saved(call, SAVE_RSI), base = 0;
	if (code == ARCH_SET_GS)
		target_give_up(call->target, "the program uses the GS segment");
	if (code == ARCH_GET_GS) /* the program's own is 0 as long as it is counted */
		set_result(call,
			   write_as_program(call->target, to, &base, sizeof(base)) ? 0 : -EFAULT);
	else if (code == ARCH_SHSTK_ENABLE) /* the calls of translated code are not the program's */
		set_result(call, -EOPNOTSUPP);
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

static void look_at_open(struct call *call)
{
	const bool at = call->number == SYS_openat || call->number == SYS_openat2;
	uint64_t flags = saved(call, at ? SAVE_RDX : SAVE_RSI);
	if (call->number == SYS_creat)
		flags = O_WRONLY;
	if (call->number == SYS_openat2 &&
	    !target_read(call->target, saved(call, SAVE_RDX), &flags, sizeof(flags)))
		return;
	if ((flags & O_ACCMODE) == O_RDONLY ||
	    !is_process_memory(call->target, saved(call, at ? SAVE_RSI : SAVE_RDI)))
		return;
	target_give_up(call->target, "the program writes into the memory of a process");
	call->target->watched = true; /* most programs that do so are debuggers */
}

/* CLONE_UNTRACED would leave the child in a cache that it does not have.  A process that shares the
 * memory of its parent and is hidden from tracers will trace the parent itself (LeakSanitizer's):
 * it finds nobody else there. */
static void look_at_clone(struct call *call)
{
	const uint64_t there = saved(call, SAVE_RDI);
	const bool is_clone = call->number == SYS_clone;
	uint64_t flags = there;
	if ((!is_clone && !target_read(call->target, there, &flags, sizeof(flags))) ||
	    !(flags & CLONE_UNTRACED))
		return;
	if ((flags & (CLONE_VM | CLONE_THREAD)) == CLONE_VM) {
		target_give_up(call->target, "the program starts a process that traces it");
		call->target->leaving[call->index].how = LEAVES_WHOLLY;
		return;
	}
	flags &= ~(uint64_t)CLONE_UNTRACED;
	if (is_clone)
		*slot_u64(call->slot, SAVE_RDI) = flags;
	else
		write_as_program(call->target, there, &flags, sizeof(flags));
}

/* The maps of ours count as the program's own: they must go before there is a limit. */
static void look_at_limit(struct call *call)
{
	const bool both = call->number == SYS_prlimit64;
	const uint64_t pid = both ? saved(call, SAVE_RDI) : 0;
	const uint64_t limit = saved(call, both ? SAVE_RDX : SAVE_RSI);
	struct rlimit new;
	if (saved(call, both ? SAVE_RSI : SAVE_RDI) == RLIMIT_AS &&
	    (!pid || pid == (uint64_t)call->target->pid) && limit &&
	    target_read(call->target, limit, &new, sizeof(new)) && new.rlim_cur != RLIM_INFINITY)
		make_way(call, "the program limits its address space");
}

/* Our maps are large and nearly empty: with them the program would exceed a limit that it keeps,
 * and all of their pages would be made, unless pages are locked only when they are there. */
static void look_at_lock(struct call *call)
{
	struct rlimit limit;
	if (!(saved(call, SAVE_RDI) & MCL_CURRENT))
		return;
	if (prlimit(call->target->pid, RLIMIT_MEMLOCK, NULL, &limit) == 0 &&
	    limit.rlim_cur != RLIM_INFINITY && call->target->n_threads == 1)
		make_way(call, "the program locks its memory, and has a limit for that");
	else
		*slot_u64(call->slot, SAVE_RDI) |= MCL_ONFAULT;
}

static void look_at_seccomp(struct call *call)
{
	target_give_up(call->target, "the program sets up a seccomp sandbox");
}

static void look_at_prctl(struct call *call)
{
	if (saved(call, SAVE_RDI) == PR_SET_SECCOMP)
		look_at_seccomp(call);
	if (saved(call, SAVE_RDI) == PR_SET_SYSCALL_USER_DISPATCH)
		target_give_up(call->target, "the program redirects its system calls");
}

/* One that traces itself lets its parent do so; it cannot have two tracers. */
static void look_at_ptrace(struct call *call)
{
	const uint64_t request = saved(call, SAVE_RDI);
	struct leaving *leaving = &call->target->leaving[call->index];
	target_give_up(call->target, "the program traces, or is traced by another");
	leaving->how = request == PTRACE_TRACEME ? LEAVES_UNTRACED : LEAVES_TO_TRACE;
	call->target->watched = request != PTRACE_TRACEME; /* its other threads may, too */
	if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
		leaving->argument = (pid_t)saved(call, SAVE_RSI);
}

/* What the gate does about each, and who looks at it when the gate asks; all others run in place.
 */
static const struct {
	uint16_t number;
	uint8_t call;
	void (*look)(struct call *call);
} watched[] = {
	{SYS_mmap, CALL_MAP, look_at_memory},
	{SYS_munmap, CALL_RANGE, look_at_memory},
	{SYS_mprotect, CALL_RANGE, look_at_memory},
	{SYS_pkey_mprotect, CALL_RANGE, look_at_memory},
	{SYS_madvise, CALL_RANGE, look_at_memory},
	{SYS_mremap, CALL_REMAP, look_at_memory},
	{SYS_remap_file_pages, CALL_ASK, look_at_memory},
	{SYS_shmat, CALL_ASK, look_at_memory},
	{SYS_rt_sigaction, CALL_ACTION, NULL},
	{SYS_rt_sigreturn, CALL_ASK, NULL}, /* requests.c */
	{SYS_clone, CALL_CLONE, look_at_clone},
	{SYS_clone3, CALL_CLONE3, look_at_clone},
	{SYS_open, CALL_OPEN, look_at_open},
	{SYS_creat, CALL_OPEN, look_at_open},
	{SYS_openat, CALL_OPENAT, look_at_open},
	{SYS_openat2, CALL_OPENAT, look_at_open},
	{SYS_rseq, CALL_ASK, look_at_rseq},
	{SYS_arch_prctl, CALL_ASK, look_at_arch_prctl},
	{SYS_seccomp, CALL_ASK, look_at_seccomp},
	{SYS_prctl, CALL_ASK, look_at_prctl},
	{SYS_ptrace, CALL_ASK, look_at_ptrace},
	{SYS_setrlimit, CALL_ASK, look_at_limit},
	{SYS_prlimit64, CALL_ASK, look_at_limit},
	{SYS_mlockall, CALL_ASK, look_at_lock},
	{SYS_alarm, CALL_TIMER, NULL},
	{SYS_setitimer, CALL_TIMER, NULL},
	{SYS_timer_settime, CALL_TIMER, NULL},
	{SYS_timer_delete, CALL_TIMER, NULL},
};
#define N_WATCHED (sizeof(watched) / sizeof(watched[0]))

#define SYSTAB_USED 1024 /* more than there are system calls; others are asked about */

static void fill_systab(uint8_t systab[static SYSTAB_USED])
{
	memset(systab, CALL_IN_PLACE, SYSTAB_USED);
	for (size_t i = 0; i < N_WATCHED; i++)
		systab[watched[i].number] = watched[i].call;
}

void watched_calls_init(struct target *target)
{
	fill_systab(target->slots + P_SYSTAB);
}

bool watched_calls_are_whole(const struct target *target)
{
	const uint8_t *systab = target->slots + P_SYSTAB;
	uint8_t expected[SYSTAB_USED];
	fill_systab(expected);
	return memcmp(systab, expected, sizeof(expected)) == 0;
}

bool watched_calls_look(struct target *target, int index, uint64_t number)
{
	struct call call = {target, index, slot_at(target, index), number, false};
	for (size_t i = 0; i < N_WATCHED; i++)
		if (watched[i].number == number && watched[i].look)
			watched[i].look(&call);
	return call.has_result;
}

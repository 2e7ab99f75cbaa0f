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

/* What the gate does about each; all others run in place. */
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

void watched_calls_init(struct target *target)
{
	uint8_t *systab = target->slots + P_SYSTAB;
	memset(systab, CALL_IN_PLACE, 1024);
	for (size_t i = 0; i < sizeof(watched) / sizeof(watched[0]); i++)
		systab[watched[i].number] = watched[i].call;
}

/* ---- code that changes ---- */

/* The code in the pages of [start, end) may be something else from now on. */
static void code_changes(struct target *target, uint64_t start, uint64_t end)
{
	program_memory_changes(&target->memory, start, end);
	if (program_memory_forget(&target->memory, start, end) &&
	    translate_invalidate(&target->translator, &start, end))
		entry_table_forget(target, start, end);
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

/* ---- what each call means; those that return true have their result and do not run ---- */

static uint64_t saved(uint8_t *slot, size_t offset)
{
	return *slot_u64(slot, offset);
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
	const uint64_t a = *slot_u64(slot, SAVE_RDI), b = *slot_u64(slot, SAVE_RSI);
	if (number == SYS_mmap && !(*slot_u64(slot, SAVE_R10) & MAP_FIXED))
		return;
	if (number == SYS_shmat && !(*slot_u64(slot, SAVE_RDX) & SHM_REMAP))
		return;
	if (is_ours(target, a, b))
		make_way(target, index);
	if (number == SYS_mremap && *slot_u64(slot, SAVE_R10) & MREMAP_FIXED)
		code_may_change(target, index, *slot_u64(slot, SAVE_R8), *slot_u64(slot, SAVE_RDX));
	/* how much shmat will map only the kernel knows */
	if (number == SYS_shmat)
		code_may_change(target, index, b, 1ull << 40);
	else
		code_may_change(target, index, a, b);
}

static bool look_at_arch_prctl(struct target *target, uint8_t *slot)
{
	const uint64_t code = *slot_u64(slot, SAVE_RDI), base = 0;
	if (code == ARCH_SET_GS)
		target_give_up(target, "the program uses the GS segment");
	if (code == ARCH_GET_GS) /* the program's own is 0 as long as it is counted */
		*slot_u64(slot, SAVE_RAX) =
			write_as_program(target, *slot_u64(slot, SAVE_RSI), &base, sizeof(base))
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
	    !target_read(target, *slot_u64(slot, SAVE_RDX), &flags, sizeof(flags)))
		return;
	if ((flags & O_ACCMODE) != O_RDONLY &&
	    is_process_memory(target, saved(slot, at ? SAVE_RSI : SAVE_RDI)))
		target_give_up(target, "the program writes into the memory of a process");
}

/* CLONE_UNTRACED would leave the child in a cache that it does not have. */
static void look_at_clone(struct target *target, uint8_t *slot, uint64_t number)
{
	const uint64_t there = *slot_u64(slot, SAVE_RDI);
	uint64_t flags;
	if (number == SYS_clone) {
		*slot_u64(slot, SAVE_RDI) = there & ~(uint64_t)CLONE_UNTRACED;
	} else if (target_read(target, there, &flags, sizeof(flags)) && flags & CLONE_UNTRACED) {
		flags &= ~(uint64_t)CLONE_UNTRACED;
		write_as_program(target, there, &flags, sizeof(flags));
	}
}

/* The maps of ours count as the program's own: they must go before there is a limit. */
static void look_at_limit(struct target *target, int index, uint8_t *slot, uint64_t number)
{
	const bool both = number == SYS_prlimit64;
	const uint64_t pid = both ? *slot_u64(slot, SAVE_RDI) : 0;
	const uint64_t limit = saved(slot, both ? SAVE_RDX : SAVE_RSI);
	struct rlimit new;
	if (saved(slot, both ? SAVE_RSI : SAVE_RDI) != RLIMIT_AS ||
	    (pid && pid != (uint64_t)target->pid) || !limit ||
	    !target_read(target, limit, &new, sizeof(new)) || new.rlim_cur == RLIM_INFINITY)
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
	if (!(*slot_u64(slot, SAVE_RDI) & MCL_CURRENT))
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
	const uint64_t request = *slot_u64(slot, SAVE_RDI);
	target_give_up(target, "the program traces, or is traced by another");
	target->leaving[index].how = request == PTRACE_TRACEME ? LEAVES_UNTRACED : LEAVES_TO_TRACE;
	if (request == PTRACE_ATTACH || request == PTRACE_SEIZE)
		target->leaving[index].argument = (pid_t)*slot_u64(slot, SAVE_RSI);
}

bool watched_calls_look(struct target *target, int index, uint8_t *slot, uint64_t number)
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
		if (*slot_u64(slot, SAVE_RDI) == PR_SET_SECCOMP)
			target_give_up(target, "the program sets up a seccomp sandbox");
		if (*slot_u64(slot, SAVE_RDI) == PR_SET_SYSCALL_USER_DISPATCH)
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

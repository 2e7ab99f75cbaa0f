/* The memory that tracer and target share: the threads' slots, which both write, and the arenas of
 * the code cache, which the target only executes.  The target is made to map them by system calls
 * that are injected into it. */
#include "tracer/target/shared_memory.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ARENA_SIZE (128ull << 20)
#define LET_GO_AFTER (1u << 20) /* bytes of new code */

#define HUGE_PAGE (2ull << 20)
#define HUGE_AT_ONCE 4 /* a millisecond each */
/* So many small pages must be there: else a huge one would be memory for nothing. */
#define HUGE_FROM_CODE 128
#define HUGE_FROM_SLOT 64
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
static_assert(ARENA_SIZE / HUGE_PAGE == 64 && SLOT_STRIDE / HUGE_PAGE == 8, "bits of huge_…");

/* A memfd made by the target (so that no descriptor of ours is inherited), mapped here. */
struct shared {
	int remote_fd;
	uint8_t *host;
	uint64_t size;
};

/* At the beginning of a huge page, here as in the target. */
static void *map_here(int fd, uint64_t size)
{
	uint8_t *room = mmap(NULL, size + HUGE_PAGE, PROT_NONE,
			     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room == MAP_FAILED)
		return room;
	const size_t before = -(uintptr_t)room & (HUGE_PAGE - 1);
	if (before)
		munmap(room, before);
	munmap(room + before + size, HUGE_PAGE - before);
	return mmap(room + before, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_NORESERVE | MAP_FIXED, fd, 0);
}

static struct rf_error *share(struct injection *injection, struct target *target, uint64_t size,
			      struct shared *out)
{
	static const char name[] = "rfprof";
	/* the name lies below the stack and its red zone for a moment */
	uint64_t name_at = (injection->regs.rsp - 256) & ~15ull;
	char path[64], before[sizeof(name)];
	if (!program_memory_read(&target->memory, name_at, before, sizeof(before)) ||
	    !program_memory_write(&target->memory, name_at, name, sizeof(name)))
		return rf_error_create(RF_EACCESS, NULL, "no room on the program's stack");
	int64_t fd = injection_call(injection, SYS_memfd_create, name_at, MFD_CLOEXEC);
	program_memory_write(&target->memory, name_at, before, sizeof(before));
	if (fd < 0)
		return rf_error_errno(RF_EACCESS, (int)-fd, NULL, "memfd_create in the program");
	snprintf(path, sizeof(path), "/proc/%d/fd/%d", (int)target->pid, (int)fd);
	int local = open(path, O_RDWR | O_CLOEXEC);
	if (local < 0)
		return rf_error_errno(RF_EACCESS, errno, NULL, "cannot open %s", path);
	struct rf_error *error = NULL;
	if (ftruncate(local, (off_t)size) < 0)
		error = rf_error_errno(RF_EACCESS, errno, NULL, "cannot size shared memory");
	else
		out->host = map_here(local, size);
	if (!error && out->host == MAP_FAILED)
		error = rf_error_errno(RF_EACCESS, errno, NULL, "cannot map shared memory");
	close(local);
	if (error) {
		out->host = NULL;
		injection_call(injection, SYS_close, (uint64_t)fd);
	}
	out->remote_fd = (int)fd;
	out->size = size;
	return error;
}

/* Maps `shared` in the target at the first of those places (0: none) where there is room, or where
 * the kernel will, and hides it from fork and core dumps.  The target's descriptor is closed. */
static struct rf_error *map_remote(struct injection *injection, const struct shared *shared,
				   const uint64_t *places, size_t n, int prot, uint64_t *address)
{
	const uint64_t fd = (uint64_t)shared->remote_fd;
	int64_t at = -1;
	for (size_t i = 0; at < 0 && i <= n; i++)
		if (i == n || places[i])
			at = injection_call(injection, SYS_mmap, i < n ? places[i] : 0,
					    shared->size, (uint64_t)prot,
					    MAP_SHARED | MAP_NORESERVE |
						    (i < n ? MAP_FIXED_NOREPLACE : 0),
					    fd);
	injection_call(injection, SYS_close, fd);
	if (at < 0)
		return rf_error_errno(RF_EACCESS, (int)-at, NULL,
				      "cannot map memory in the program");
	*address = (uint64_t)at;
	injection_call(injection, SYS_madvise, *address, shared->size, MADV_DONTFORK);
	injection_call(injection, SYS_madvise, *address, shared->size, MADV_DONTDUMP);
	return NULL;
}

/* An arena near `pc`: below the module where there is room, else above it, within 2 GiB of both
 * its ends; the kernel's choice when nothing fits (then operands are addressed absolutely). */
static struct rf_error *make_arena(struct injection *injection, struct target *target,
				   enum copy copy, uint64_t pc)
{
	const uint64_t near = pc & -HUGE_PAGE, gap = 16 << 20;
	const uint64_t places[] = {pc > ARENA_SIZE + 2 * gap ? near - ARENA_SIZE - gap : 0,
				   near + 0x60000000, near + 0x40000000};
	struct shared shared = {0};
	uint64_t address;
	struct rf_error *error = share(injection, target, ARENA_SIZE, &shared)
					 ?: map_remote(injection, &shared, places, 3,
						       PROT_READ | PROT_EXEC, &address);
	struct code_cache *cache = &target->copies[copy].cache;
	if (!error) {
		code_cache_add_arena(cache, address, shared.host, shared.size);
		cache->arenas[cache->n_arenas - 1].is_shared = true;
	}
	return error;
}

/* The slots: far from where libraries will be mapped, so that they stay close together, and where
 * a program's own memory may be for the sanitizers of addresses, threads and memory, which refuse
 * to run when they find any elsewhere: below ELF_ET_DYN_BASE, 2/3 of the address space, at which
 * the kernel begins to place executables. */
static struct rf_error *make_slots(struct injection *injection, struct target *target)
{
	const uint64_t place = 0x550000000000;
	struct shared shared = {0};
	struct rf_error *error = share(injection, target, SLOTS_SIZE, &shared);
	target->slots = shared.host;
	return error
		       ?: map_remote(injection, &shared, &place, 1, PROT_READ | PROT_WRITE,
				     &target->slots_address);
}

/* Where the main executable's entry point lies: AT_ENTRY from the auxiliary vector. */
static uint64_t entry_point(pid_t pid)
{
	char path[64];
	uint64_t pair[2], entry = 0;
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	while (fd >= 0 && read(fd, pair, sizeof(pair)) == sizeof(pair) && pair[0])
		if (pair[0] == AT_ENTRY)
			entry = pair[1];
	if (fd >= 0)
		close(fd);
	return entry;
}

static void place_gate(struct target *target)
{
	struct arena *arena = &target->copies[COPY_FIRST].cache.arenas[0];
	target->gate_address = arena_address(arena, (uint32_t)arena->used);
	memcpy(arena->host + arena->used, gate_begin, (size_t)(gate_end - gate_begin));
	arena->used += (size_t)(gate_end - gate_begin);
}

struct rf_error *shared_memory_map(struct target *target, struct injection *injection)
{
	const uint64_t entry = entry_point(target->pid), pc = injection->regs.rip;
	struct rf_error *error =
		make_slots(injection, target) ?: make_arena(injection, target, COPY_FIRST, pc);
	if (!error && (entry > pc ? entry - pc : pc - entry) > 1u << 30)
		error = make_arena(injection, target, COPY_FIRST, entry);
	if (!error)
		place_gate(target);
	return error;
}

/* Each next to one of the first copy, whose modules are near it. */
struct rf_error *shared_memory_map_plain(struct target *target, struct injection *injection)
{
	const struct code_cache *first = &target->copies[COPY_FIRST].cache;
	struct rf_error *error = NULL;
	for (int i = 0; i < first->n_arenas && !error; i++)
		error = make_arena(injection, target, COPY_PLAIN, first->arenas[i].base);
	return error;
}

void shared_memory_unmap_remote(struct target *target, struct injection *injection)
{
	for (int copy = 0; copy < N_COPIES; copy++) {
		const struct code_cache *cache = &target->copies[copy].cache;
		for (int i = 0; i < cache->n_arenas; i++)
			injection_call(injection, SYS_munmap, cache->arenas[i].base,
				       cache->arenas[i].size);
	}
	if (target->slots_address)
		injection_call(injection, SYS_munmap, target->slots_address, SLOTS_SIZE);
}

/* What changes in old code later, links above all, brings single pages back. */
void shared_memory_let_go(struct target *target)
{
	bool any = false;
	for (int copy = 0; copy < N_COPIES; copy++)
		for (int i = 0; i < target->copies[copy].cache.n_arenas; i++) {
			struct arena *arena = &target->copies[copy].cache.arenas[i];
			size_t *before = &target->let_go[copy][i];
			if (arena->used - *before < LET_GO_AFTER)
				continue;
			*before = arena->used & -(size_t)LET_GO_AFTER;
			arena_let_go(arena, 0, *before);
			any |= arena->is_shared;
		}
	if (any)
		(void)madvise(target->slots, SLOTS_SIZE, MADV_DONTNEED);
}

/* Has the kernel put 2 MiB into one page, if that is worth it.  True: it was tried. */
static bool use_huge_page(uint8_t *at, int from)
{
	unsigned char there[HUGE_PAGE / 4096];
	int n = 0;
	if (mincore(at, HUGE_PAGE, there) != 0)
		return true;
	for (size_t i = 0; i < sizeof(there); i++)
		n += there[i] & 1;
	if (n < from)
		return false;
	(void)madvise(at, HUGE_PAGE, MADV_COLLAPSE);
	return true;
}

void shared_memory_use_huge_pages(struct target *target)
{
	int left = HUGE_AT_ONCE;
	for (int slot = 1; slot < target->n_slots; slot++)
		for (int i = 0; i < 8 && left && target->slot_of[slot].tid; i++)
			if (!(target->huge_slots[slot] & 1 << i) &&
			    use_huge_page(slot_at(target, slot) + (uint64_t)i * HUGE_PAGE,
					  HUGE_FROM_SLOT)) {
				target->huge_slots[slot] |= (uint8_t)(1 << i);
				left--;
			}
	for (int copy = 0; copy < N_COPIES; copy++)
		for (int k = 0; k < target->copies[copy].cache.n_arenas; k++) {
			const struct arena *arena = &target->copies[copy].cache.arenas[k];
			uint64_t *huge = &target->huge_code[copy][k];
			for (size_t i = 0; i * HUGE_PAGE < arena->used && left; i++)
				if (arena->is_shared && arena->host && !(*huge & 1ull << i) &&
				    use_huge_page(arena->host + i * HUGE_PAGE, HUGE_FROM_CODE)) {
					*huge |= 1ull << i;
					left--;
				}
		}
}

void shared_memory_unmap_copy(struct target *target, enum copy copy)
{
	struct code_cache *cache = &target->copies[copy].cache;
	for (int i = 0; i < cache->n_arenas; i++) {
		if (cache->arenas[i].host)
			munmap(cache->arenas[i].host, cache->arenas[i].size);
		cache->arenas[i].host = NULL;
	}
}

void shared_memory_unmap(struct target *target)
{
	for (int copy = 0; copy < N_COPIES; copy++)
		shared_memory_unmap_copy(target, (enum copy)copy);
	if (target->slots)
		munmap(target->slots, SLOTS_SIZE);
	target->slots = NULL;
}

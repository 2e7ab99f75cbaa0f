#include "tracer/target/target.h"

#include "base/array.h"
#include "base/clock.h"
#include "tracer/target/inject.h"
#include "tracer/target/requests.h"
#include "tracer/target/server.h"
#include "tracer/translate/derive.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define SLOTS_SIZE ((uint64_t)MAX_SLOTS * SLOT_STRIDE)
#define ARENA_SIZE (128ull << 20)
#define BATCH_INSNS \
	400 /* more would translate more that never runs; fewer would ask and count more often */

/* ---- memory shared with the target ---- */

/* A memfd made by the target (so that no descriptor of ours is inherited), mapped here. */
struct shared {
	int remote_fd;
	uint8_t *host;
	uint64_t size;
};

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
	int64_t fd = injection_call(injection, SYS_memfd_create, name_at, MFD_CLOEXEC, 0, 0, 0, 0);
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
		out->host = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE,
				 local, 0);
	if (!error && out->host == MAP_FAILED)
		error = rf_error_errno(RF_EACCESS, errno, NULL, "cannot map shared memory");
	close(local);
	if (error) {
		out->host = NULL;
		injection_call(injection, SYS_close, (uint64_t)fd, 0, 0, 0, 0, 0);
	}
	out->remote_fd = (int)fd;
	out->size = size;
	return error;
}

/* Maps `shared` in the target near `hint` (no fixed address) and hides it from fork and core
 * dumps. */
static struct rf_error *map_remote(struct injection *injection, const struct shared *shared,
				   uint64_t hint, int extra_flags, int prot, uint64_t *address)
{
	int64_t at = injection_call(injection, SYS_mmap, hint, shared->size, (uint64_t)prot,
				    (uint64_t)(MAP_SHARED | MAP_NORESERVE | extra_flags),
				    (uint64_t)shared->remote_fd, 0);
	if (at < 0 && at > -4096)
		return rf_error_errno(RF_EACCESS, (int)-at, NULL,
				      "cannot map memory in the program");
	*address = (uint64_t)at;
	injection_call(injection, SYS_madvise, *address, shared->size, MADV_DONTFORK, 0, 0, 0);
	injection_call(injection, SYS_madvise, *address, shared->size, MADV_DONTDUMP, 0, 0, 0);
	return NULL;
}

static void add_arena(struct target *target, const struct shared *shared, uint64_t address)
{
	code_cache_add_arena(&target->translator.cache, address, shared->host, shared->size);
}

/* An arena near `pc`: below the module where there is room, else above it, within 2 GiB of both
 * its ends; the kernel's choice when nothing fits (then operands are addressed absolutely). */
static struct rf_error *make_arena(struct injection *injection, struct target *target, uint64_t pc)
{
	struct shared shared = {0};
	struct rf_error *error = share(injection, target, ARENA_SIZE, &shared);
	uint64_t address = 0;
	if (error)
		return error;
	const uint64_t below = (pc & ~0xffffull) - ARENA_SIZE - (16 << 20);
	const uint64_t hints[] = {pc > ARENA_SIZE + (32 << 20) ? below : 0, pc + 0x60000000,
				  pc + 0x40000000, 0};
	for (size_t i = 0; i < sizeof(hints) / sizeof(hints[0]) && !address; i++) {
		bool fixed = hints[i] != 0;
		if (!fixed && i + 1 < sizeof(hints) / sizeof(hints[0]))
			continue;
		rf_error_destroy(error);
		error = map_remote(injection, &shared, hints[i] & ~0xffffull,
				   fixed ? MAP_FIXED_NOREPLACE : 0, PROT_READ | PROT_EXEC,
				   &address);
	}
	injection_call(injection, SYS_close, (uint64_t)shared.remote_fd, 0, 0, 0, 0, 0);
	if (!error)
		add_arena(target, &shared, address);
	return error;
}

static struct rf_error *make_slots(struct injection *injection, struct target *target)
{
	struct shared shared = {0};
	struct rf_error *error = share(injection, target, SLOTS_SIZE, &shared);
	if (!error) /* far from where libraries will be mapped, so that they stay close together */
		error = map_remote(injection, &shared, 0x100000000000ull, 0, PROT_READ | PROT_WRITE,
				   &target->slots_address);
	if (shared.host)
		injection_call(injection, SYS_close, (uint64_t)shared.remote_fd, 0, 0, 0, 0, 0);
	target->slots = shared.host;
	return error;
}

static void place_gate(struct target *target)
{
	struct arena *arena = &target->translator.cache.arenas[0];
	target->gate_address = arena_address(arena, (uint32_t)arena->used);
	memcpy(arena->host + arena->used, gate_begin, (size_t)(gate_end - gate_begin));
	arena->used += (size_t)(gate_end - gate_begin);
}

void target_unmap(struct target *target, struct injection *injection)
{
	const struct code_cache *cache = &target->translator.cache;
	for (int i = 0; i < cache->n_arenas; i++)
		injection_call(injection, SYS_munmap, cache->arenas[i].base, cache->arenas[i].size,
			       0, 0, 0, 0);
	injection_call(injection, SYS_munmap, target->slots_address, SLOTS_SIZE, 0, 0, 0, 0);
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

static struct rf_error *map_everything(struct target *target, struct injection *injection)
{
	const uint64_t entry = entry_point(target->pid), pc = injection->regs.rip;
	struct rf_error *error = make_slots(injection, target);
	if (!error)
		error = make_arena(injection, target, pc);
	if (!error && (entry > pc ? entry - pc : pc - entry) > 1u << 30)
		error = make_arena(injection, target, entry);
	return error;
}

/* ---- slots ---- */

static void init_slot(struct target *target, int index)
{
	uint8_t *slot = target->slots + (uint64_t)index * SLOT_STRIDE;
	const uint64_t address = target->slots_address + (uint64_t)index * SLOT_STRIDE;
	*slot_u64(slot, G_SELF) = address;
	*slot_u64(slot, G_PROCESS) = target->slots_address;
	*slot_u64(slot, G_SYSTAB) = target->slots_address + P_SYSTAB;
	*slot_u64(slot, G_STATE) = target->slots_address + P_STATES + 4u * (unsigned)index;
	*slot_u64(slot, G_AT_MISS) = target_gate(target, gate_miss);
	*slot_u64(slot, G_AT_INDIRECT) = target_gate(target, gate_indirect);
	*slot_u64(slot, G_AT_COLLIDE) = target_gate(target, gate_collide);
	*slot_u64(slot, G_AT_RETURN) = target_gate(target, gate_return);
	*slot_u64(slot, G_AT_SYSCALL) = target_gate(target, gate_syscall);
	*slot_u64(slot, G_AT_RECORD) = target_gate(target, gate_record);
	*slot_u64(slot, G_AT_ALLOCATION) = target_gate(target, gate_allocation);
	*slot_u64(slot, G_AT_ALLOCATED) = target_gate(target, gate_allocated);
	for (size_t i = 0; i < 65536; i++) {
		*slot_u64(slot, SLOT_JUMPS + 8 * i) = target_gate(target, gate_indirect);
		*slot_u64(slot, SLOT_RETURNS + 8 * i) = target_gate(target, gate_return);
	}
}

uint64_t target_add_thread(struct target *target, pid_t tid, const char *name)
{
	int slot = 1;
	while (slot < MAX_SLOTS && target->slot_of[slot].tid)
		slot++;
	if (slot == MAX_SLOTS)
		return 0;
	if (slot >= target->n_slots) {
		init_slot(target, slot);
		target->n_slots = slot + 1;
	}
	const uint32_t thread =
		profile_thread(target->profile, RUN_COUNTED, target->pid, tid, name);
	const uint64_t address = target->slots_address + (uint64_t)slot * SLOT_STRIDE;
	if (target->drain) {
		target->sources[slot] =
			drain_add_thread(target->drain, target->translator.trace,
					 target->slots + (uint64_t)slot * SLOT_STRIDE, address,
					 thread, target->space);
		if (!target->sources[slot])
			return 0;
	}
	target->leaving[slot] = (struct leaving){.how = STAYS};
	target->stop_at[slot] = target->resumed_at[slot] = 0;
	uint8_t *block = target->slots + (uint64_t)slot * SLOT_STRIDE;
	*slot_u32(block, G_HELD) = *slot_u32(block, G_HELD_SENT) = 0;
	target->slot_of[slot].tid = tid;
	target->slot_of[slot].thread = thread;
	(void)rf_array_push(target->tids, target->n_tids, target->cap_tids, tid);
	target->n_threads++;
	target->translator.quiet = target->n_threads == 1;
	return address;
}

static int slot_index(const struct target *target, pid_t tid)
{
	for (int i = 1; i < target->n_slots; i++)
		if (target->slot_of[i].tid == tid)
			return i;
	return 0;
}

void target_set_stack(struct target *target, pid_t tid, uint64_t stack_pointer)
{
	const int index = slot_index(target, tid);
	if (index)
		drain_set_stack(target->sources[index], stack_pointer);
}

uint8_t *target_slot(const struct target *target, pid_t tid)
{
	int index = slot_index(target, tid);
	return index ? target->slots + (uint64_t)index * SLOT_STRIDE : NULL;
}

/* ---- stopping a thread for the follower ---- */

#define STOP_AGAIN_NS 50000000ull /* a SIGCONT takes pending stops away */

static const char stop_mark; /* its address marks SIGSTOPs of ours */

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

/* A thread that was killed may have been between two blocks: what is derived can be one too few
 * then. */
static void collect_blocks(struct target *target, const uint64_t *counters, uint32_t thread)
{
	const struct code_cache *cache = &target->translator.cache;
	int64_t *executions = malloc(cache->n_blocks * sizeof(*executions) + 1);
	if (!executions || !derive_executions(cache, counters, executions))
		target_give_up(target, "rfprof is out of memory");
	else
		for (size_t i = 0; i < cache->n_blocks; i++) {
			const struct profile_count count = {(uint32_t)i, thread, executions[i]};
			if (executions[i] > 0)
				target->untraced +=
					(double)executions[i] * cache->blocks[i].n_untraced;
			if (executions[i] > 0)
				(void)rf_array_push(target->counts, target->n_counts,
						    target->cap_counts, count);
		}
	free(executions);
}

static void collect_slot(struct target *target, int index)
{
	uint8_t *slot = target->slots + (uint64_t)index * SLOT_STRIDE;
	const struct code_cache *cache = &target->translator.cache;
	const uint32_t thread = target->slot_of[index].thread;
	collect_blocks(target, slot_u64(slot, SLOT_COUNTERS), thread);
	drain_remove_thread(target->drain, target->sources[index]);
	target->sources[index] = NULL;
	for (size_t i = 0; i < cache->n_units; i++) {
		uint64_t *n = slot_u64(slot, SLOT_COUNTERS + 8ull * cache->units[i].counter);
		struct profile_units units = {.module = (uint32_t)i, .thread = thread, .n = *n};
		if (*n)
			(void)rf_array_push(target->units, target->n_units, target->cap_units,
					    units);
	}
	memset(slot + SLOT_COUNTERS, 0, 8ull * cache->n_counters);
	*slot_u32(slot, G_CHANGING) = 0;
	target->slot_of[index].tid = 0;
	target->n_threads--;
	target->translator.quiet = target->n_threads <= 1;
}

void target_remove_thread(struct target *target, pid_t tid)
{
	pthread_mutex_lock(target->lock);
	int index = slot_index(target, tid);
	if (index)
		collect_slot(target, index);
	pthread_mutex_unlock(target->lock);
}

/* ---- the profile ---- */

static uint32_t add_block(struct profile *profile, const struct code_block *block, uint16_t orig)
{
	struct profile_block row = {
		.module = block->module,
		.start = block->module_offset + orig,
		.size = block->size - orig,
	};
	row.bytes = malloc(row.size);
	if (!row.bytes)
		return PROFILE_NONE;
	memcpy(row.bytes, block->bytes + orig, row.size);
	if (rf_array_push(profile->blocks, profile->n_blocks, profile->cap_blocks, row))
		return (uint32_t)(profile->n_blocks - 1);
	free(row.bytes);
	return PROFILE_NONE;
}

static void add_count(struct profile *profile, uint32_t block, uint32_t thread, int64_t n)
{
	struct profile_count row = {block, thread, n};
	if (block != PROFILE_NONE)
		(void)rf_array_push(profile->counts, profile->n_counts, profile->cap_counts, row);
}

/* Place, thread and kind of an interruption in one word, 20 bits for the thread's row. */
static uint64_t interruption_key(const struct interruption *cut)
{
	return (uint64_t)cut->block << 37 | (uint64_t)cut->orig << 21 | (uint64_t)cut->thread << 1 |
	       cut->head_counted;
}

void target_note_interruption(struct target *target, const struct interruption *cut)
{
	struct interruption first = *cut;
	const uint64_t key = interruption_key(cut);
	const bool has_key = cut->thread < 1u << 20 && cut->block < 1u << 27;
	const uint32_t *index = has_key ? u64_map_find(&target->interruption_of_place, key) : NULL;
	if (index) {
		target->interruptions[*index].n++;
		return;
	}
	first.n = 1;
	if (rf_array_push(target->interruptions, target->n_interruptions, target->cap_interruptions,
			  first) &&
	    has_key)
		(void)u64_map_set(&target->interruption_of_place, key,
				  (uint32_t)target->n_interruptions - 1);
}

/* Moves counts, units and interruptions into the profile; only blocks that ran get a row. */
static void fill_profile(struct target *target)
{
	struct profile *profile = target->profile;
	struct code_cache *cache = &target->translator.cache;
	uint32_t *row_of = malloc(cache->n_blocks * sizeof(*row_of) + 1);
	if (!row_of)
		return;
	memset(row_of, 0xff, cache->n_blocks * sizeof(*row_of));
	for (size_t i = 0; i < target->n_counts; i++) {
		const struct profile_count *count = &target->counts[i];
		if (row_of[count->block] == PROFILE_NONE)
			row_of[count->block] = add_block(profile, &cache->blocks[count->block], 0);
		add_count(profile, row_of[count->block], count->thread, count->n);
	}
	for (size_t i = 0; i < target->n_interruptions; i++) {
		const struct interruption *cut = &target->interruptions[i];
		if (row_of[cut->block] == PROFILE_NONE)
			row_of[cut->block] = add_block(profile, &cache->blocks[cut->block], 0);
		if (!cut->head_counted)
			add_count(profile, row_of[cut->block], cut->thread, cut->n);
		add_count(profile, add_block(profile, &cache->blocks[cut->block], cut->orig),
			  cut->thread, -cut->n);
	}
	for (size_t i = 0; i < target->n_units; i++) {
		const struct unit_counter *unit = &cache->units[target->units[i].module];
		struct profile_units row = {unit->module, unit->module_offset,
					    target->units[i].thread, target->units[i].n};
		(void)rf_array_push(profile->units, profile->n_units, profile->cap_units, row);
	}
	free(row_of);
}

/* ---- life ---- */

static void unmap(struct target *target)
{
	struct code_cache *cache = &target->translator.cache;
	for (int i = 0; i < cache->n_arenas; i++)
		if (cache->arenas[i].host)
			munmap(cache->arenas[i].host, cache->arenas[i].size);
	if (target->slots)
		munmap(target->slots, SLOTS_SIZE);
	for (int i = 0; i < cache->n_arenas; i++)
		cache->arenas[i].host = NULL;
	target->slots = NULL;
	program_memory_deinit(&target->memory);
}

void target_destroy(struct target *target)
{
	if (!target)
		return;
	unmap(target);
	code_cache_deinit(&target->translator.cache);
	trace_config_destroy(target->translator.trace);
	free(target->translator.new_entries);
	free(target->counts);
	free(target->units);
	free(target->interruptions);
	u64_map_deinit(&target->interruption_of_place);
	free(target->tids);
	free(target);
}

static void enter(struct target *target, pid_t tid)
{
	struct user_regs_struct regs;
	const char *why = NULL;
	char name[32] = "";
	ptrace(PTRACE_GETREGS, tid, 0, &regs);
	uint64_t gs = target_add_thread(target, tid, name);
	uint64_t body = translate_body(&target->translator, regs.rip, &why);
	if (!body) {
		profile_add_uncounted(target->profile, PROFILE_NONE, why);
		return;
	}
	regs.rip = body;
	regs.gs_base = gs;
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
}

struct rf_error *target_create(pid_t tid, struct module_files *files, struct profile *profile,
			       struct drain *drain, pthread_mutex_t *lock, struct target **out)
{
	struct target *target = calloc(1, sizeof(*target));
	if (!target)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	target->pid = tid;
	target->profile = profile;
	target->n_slots = 1;
	target->lock = lock;
	target->translator = (struct translator){
		.source = {&target->memory, program_memory_code, program_memory_locate,
			   program_memory_value, program_memory_allocator},
		.batch_insns = BATCH_INSNS,
		.trace = drain ? trace_config_create(drain_classes(drain)) : NULL,
	};
	target->drain = target->translator.trace ? drain : NULL;
	target->world = target->drain ? object_world_create(tid) : NULL;
	target->space = drain ? drain_new_space(drain, target->world) : 0;
	struct injection injection;
	struct rf_error *error = program_memory_init(&target->memory, tid, files, profile);
	if (!error)
		error = injection_begin(&injection, tid, &target->memory);
	if (!error) {
		error = map_everything(target, &injection);
		injection_end(&injection);
	}
	if (error) {
		target_destroy(target);
		return error;
	}
	target->memory.code_units = target->slots + P_CODE_UNITS;
	target->memory.allocators = target->drain ? drain_allocators(drain) : NULL;
	program_memory_refresh(&target->memory);
	place_gate(target);
	requests_init(target);
	pthread_mutex_lock(lock);
	enter(target, tid);
	pthread_mutex_unlock(lock);
	server_start(target);
	*out = target;
	return NULL;
}

/* Adds to a fact that is a sum over all processes. */
static void add_to_fact(struct profile *profile, const char *key, const char *format, double n)
{
	profile_set_fact(profile, key, format, n + profile_number_fact(profile, key, 0));
}

static void note_translation(struct target *target)
{
	const struct code_cache *cache = &target->translator.cache;
	uint64_t insns = 0;
	for (size_t i = 0; i < cache->n_blocks; i++)
		insns += cache->blocks[i].n_insns;
	add_to_fact(target->profile, "translated_blocks", "%.0f", (double)cache->n_blocks);
	add_to_fact(target->profile, "translated_instructions", "%.0f", (double)insns);
	if (target->untraced > 0)
		add_to_fact(target->profile, "untraced_accesses", "%.0f", target->untraced);
	add_to_fact(target->profile, "translation_s", "%.6f",
		    (double)target->translator.spent_ns * 1e-9);
}

void target_finish(struct target *target)
{
	server_stop(target);
	pthread_mutex_lock(target->lock);
	for (int i = 1; i < target->n_slots; i++)
		if (target->slot_of[i].tid)
			collect_slot(target, i);
	fill_profile(target);
	note_translation(target);
	unmap(target);
	pthread_mutex_unlock(target->lock);
}

static bool had_thread(const struct target *target, pid_t tid)
{
	for (size_t i = 0; i < target->n_tids; i++)
		if (target->tids[i] == tid)
			return true;
	return false;
}

uint64_t target_map(struct target *target, pid_t tid, uint64_t address, bool *ours)
{
	const struct code_cache *cache = &target->translator.cache;
	uint64_t pc = 0;
	*ours = code_cache_arena_at(cache, address) && had_thread(target, tid);
	const struct piece *piece = *ours ? code_cache_piece(cache, address) : NULL;
	const bool in_gate = address - target->gate_address < (uint64_t)(gate_end - gate_begin);
	if (piece && piece->block != NO_BLOCK && !in_gate)
		pc = cache->blocks[piece->block].pc + piece->orig;
	return pc;
}

uint64_t target_behind_syscall(struct target *target, uint64_t sysret)
{
	const struct piece *piece = code_cache_piece(&target->translator.cache, sysret);
	if (!piece || piece->block == NO_BLOCK)
		return 0;
	return target->translator.cache.blocks[piece->block].pc + piece->orig + 2;
}

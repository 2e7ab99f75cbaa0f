/* Fuzz target: a program that writes anything into its slots, and the memory that a request points
 * at (signal frames), against the server's answers.  The input is a layout, code, and operations:
 * requests of each kind with any argument, stores into the slots and the process area, stores into
 * the program's memory, threads that come and go.  Whatever they are: each request is answered,
 * nothing is written beyond slots and arenas (pages without access lie on both sides), the program
 * goes on in whole translated code, in the gate or at an address of its own, and the counts become
 * a profile. */
#include "tracer/target/requests.h"
#include "tracer/target/target_create.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CODE 0x100000ull       /* addresses in the program: its code, */
#define DATA 0x110000ull       /* what it can write, */
#define FAR_CODE 0x60000000ull /* and the same code in a module with another arena */
#define REGION 0x2000ull
#define MAX_CODE 512
#define SLOTS_ADDRESS 0x100000000000ull
#define GUARD 4096ul
#define THREADS 2
#define MAX_OPERATIONS 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct input {
	const uint8_t *data;
	size_t size, at;
};

static void require(bool condition)
{
	if (!condition)
		abort();
}

static uint64_t take(struct input *input, int bytes)
{
	uint64_t value = 0;
	for (int i = 0; i < bytes; i++)
		value = value << 8 | (input->at < input->size ? input->data[input->at++] : 0);
	return value;
}

/* ---- the program ---- */

static void *map_guarded(uint64_t size)
{
	uint8_t *whole = mmap(NULL, size + 2 * GUARD, PROT_NONE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	require(whole != MAP_FAILED && !mprotect(whole + GUARD, size, PROT_READ | PROT_WRITE));
	return whole + GUARD;
}

/* Behind target_finish, which unmaps what lies between. */
static void unmap_guards(void *memory, uint64_t size)
{
	munmap((uint8_t *)memory - GUARD, GUARD);
	munmap((uint8_t *)memory + size, GUARD);
}

static void add_region(struct program_memory *memory, uint64_t start, bool executable)
{
	memory->regions[memory->n_regions++] = (struct memory_region){
		.start = start,
		.end = start + REGION,
		.executable = executable,
		.writable = !executable,
		.path = strdup(""),
		.module = PROFILE_NONE,
	};
}

static void write_code(int file, uint64_t address, const uint8_t *code, size_t n)
{
	static const uint8_t zeros[REGION];
	require(pwrite(file, zeros, REGION, (off_t)address) == (ssize_t)REGION &&
		pwrite(file, code, n, (off_t)address) == (ssize_t)n);
}

/* A file takes the place of /proc/PID/mem; no process has the number 0, so its maps are never read.
 */
static void open_memory(struct program_memory *memory, const uint8_t *code, size_t n)
{
	static int file = -1;
	if (file < 0)
		file = memfd_create("program", MFD_CLOEXEC);
	write_code(file, CODE, code, n);
	write_code(file, DATA, code, n);
	write_code(file, FAR_CODE, code, n);
	memory->mem_fd = dup(file);
	memory->regions = calloc(3, sizeof(*memory->regions));
	memory->cap_regions = 3;
	require(memory->mem_fd >= 0 && memory->regions);
	add_region(memory, CODE, true);
	add_region(memory, DATA, false);
	add_region(memory, FAR_CODE, true);
}

static void open_arenas(struct target *target, int n, uint64_t size)
{
	static const uint64_t bases[] = {0x10000000, 0x61000000};
	struct code_cache *cache = &target->copies[COPY_FIRST].cache;
	for (cache->n_arenas = 0; cache->n_arenas < n; cache->n_arenas++)
		cache->arenas[cache->n_arenas] = (struct arena){.base = bases[cache->n_arenas],
								.host = map_guarded(size),
								.size = size,
								.used = 64};
	struct arena *first = &cache->arenas[0];
	target->gate_address = arena_address(first, (uint32_t)first->used);
	memcpy(first->host + first->used, gate_begin, (size_t)(gate_end - gate_begin));
	first->used += (size_t)(gate_end - gate_begin);
}

/* ---- operations ---- */

/* Addresses and numbers that mean something, and any others. */
static uint64_t take_value(struct target *target, struct input *input)
{
	const uint64_t kind = take(input, 1);
	switch (kind & 15) {
	case 0:
		return take(input, 8);
	case 1:
		return -take(input, 1);
	case 2:
		return take(input, 1) << 12;
	case 3:
	case 4:
		return CODE + take(input, 2);
	case 5:
	case 6:
		return FAR_CODE + take(input, 2);
	case 7:
		return DATA + take(input, 2);
	case 8:
		return target->copies[COPY_FIRST].cache.arenas[0].base + take(input, 2);
	case 9:
		return target->slots_address + take(input, 4);
	default:
		return take(input, 1);
	}
}

/* The program goes on in whole code: where a piece begins, or in the gate, or where rfprof has no
 * say. */
static void check_answer(const struct target *target, uint64_t address)
{
	const struct code_cache *cache = &target->copies[COPY_FIRST].cache;
	const struct arena *arena = code_cache_arena_at(cache, address);
	if (!arena || target_in_gate(target, address))
		return;
	require(address - arena->base < arena->used);
	struct piece piece;
	require(code_cache_piece(cache, address, &piece) && piece.kind != PIECE_DATA);
}

static void check_books(const struct target *target)
{
	const struct code_cache *cache = &target->copies[COPY_FIRST].cache;
	const uint64_t table =
		(uint64_t)((const uint8_t *)target->entries[COPY_FIRST].table - target->slots);
	require(table >= P_TABLES &&
		table + 16 + 16 * (target->entries[COPY_FIRST].mask + 1) <= target->tables_end);
	require(target->tables_end <= SLOT_STRIDE);
	for (int i = 0; i < cache->n_arenas; i++)
		require(cache->arenas[i].used <= cache->arenas[i].size);
}

static void ask(struct target *target, int index, uint32_t state)
{
	uint32_t *shown = target_state(target, index);
	uint8_t *slot = slot_at(target, index);
	const uint64_t sysret = *slot_u64(slot, G_SYSRET), argument = *slot_u64(slot, G_REQ_ARG);
	*shown = state;
	for (int other = 1; other < target->n_slots; other++) /* their calls have run */
		*slot_u32(slot_at(target, other), G_CHANGING) = 0;
	requests_answer(target, index);
	check_books(target);
	if (state != STATE_REQUESTED && state != STATE_SLEEPING)
		return;
	const uint32_t type = (uint32_t)*slot_u64(slot, G_REQ_TYPE);
	if (type < REQ_MISS || type > REQ_ATTEND) { /* the watchdog ends it */
		require(*shown == state);
		return;
	}
	require(*shown == STATE_DONE);
	const uint64_t jump = *slot_u64(slot, G_JUMP);
	if (jump != sysret && jump != argument) /* those are the program's own */
		check_answer(target, jump);
}

static void ask_system_call(struct target *target, struct input *input, int index)
{
	static const uint16_t numbers[] = {
		SYS_mmap,         SYS_munmap,     SYS_mremap,       SYS_mprotect, SYS_pkey_mprotect,
		SYS_rt_sigreturn, SYS_rseq,       SYS_rt_sigreturn, SYS_mprotect, SYS_munmap,
		SYS_mmap,         SYS_arch_prctl, SYS_seccomp,      SYS_prctl,
	};
	static const uint16_t arguments[] = {SAVE_RDI, SAVE_RSI, SAVE_RDX, SAVE_R10,
					     SAVE_R8,  SAVE_RSP, G_SYSRET};
	uint8_t *slot = slot_at(target, index);
	const uint64_t choice = take(input, 1);
	const size_t n = sizeof(numbers) / sizeof(numbers[0]);
	*slot_u64(slot, SAVE_RAX) =
		choice % 16 < n ? numbers[choice % 16] : take_value(target, input);
	for (size_t i = 0; i < sizeof(arguments) / sizeof(arguments[0]); i++)
		*slot_u64(slot, arguments[i]) = take_value(target, input);
	*slot_u64(slot, G_REQ_TYPE) = REQ_SYSCALL;
	ask(target, index, STATE_REQUESTED);
}

static void ask_transfer(struct target *target, struct input *input, int index, uint64_t type)
{
	uint8_t *slot = slot_at(target, index);
	*slot_u64(slot, G_REQ_TYPE) = type;
	*slot_u64(slot, G_REQ_ARG) = take_value(target, input);
	ask(target, index, STATE_REQUESTED);
}

/* Into the table of entries, the thread block, or anywhere. */
static void store(struct target *target, struct input *input, int index)
{
	const uint64_t kind = take(input, 1), offset = take(input, 4);
	uint8_t *base = kind & 1   ? (uint8_t *)target->entries[COPY_FIRST].table
			: kind & 2 ? slot_at(target, index)
				   : target->slots;
	const uint64_t limit = kind & 1   ? 16 + 16 * (target->entries[COPY_FIRST].mask + 1)
			       : kind & 2 ? 0x200
					  : (uint64_t)target->n_slots * SLOT_STRIDE;
	*slot_u64(base, offset % (limit / 8) * 8) = take_value(target, input);
}

static void store_in_program(const struct target *target, struct input *input)
{
	const uint64_t address = DATA + take(input, 2) % REGION;
	const uint64_t value = take_value((struct target *)target, input);
	program_memory_write(&target->memory, address, &value, sizeof(value));
}

static void restart_thread(struct target *target, int index)
{
	if (target->slot_of[index].tid)
		target_remove_thread(target, index);
	target_add_thread(target, index, "again", 0, 0);
}

static void operate(struct target *target, struct input *input)
{
	const uint64_t operation = take(input, 1);
	const int index = 1 + (int)(operation >> 4) % THREADS;
	bool ours;
	switch (operation & 15) {
	case 0:
	case 1:
	case 2:
		ask_transfer(target, input, index, REQ_INDIRECT);
		break;
	case 3:
	case 4:
		ask_transfer(target, input, index, REQ_MISS);
		break;
	case 5:
		ask_transfer(target, input, index, take(input, 8));
		break;
	case 6:
		for (uint64_t i = take(input, 1); i > 0; i--) /* the same once more */
			ask(target, index, STATE_SLEEPING);
		break;
	case 7:
	case 8:
		store(target, input, index);
		break;
	case 9:
	case 10:
		store_in_program(target, input);
		break;
	case 11:
		restart_thread(target, index);
		break;
	case 12:
		ask(target, index, (uint32_t)take(input, 4));
		target_map(target, index, take_value(target, input), 0, &ours);
		break;
	default:
		ask_system_call(target, input, index);
		break;
	}
}

/* ---- a run ---- */

static struct target *open_target(const uint8_t *code, size_t n, int n_arenas, uint64_t arena_size,
				  struct module_files *files, pthread_mutex_t *lock)
{
	struct target *target = calloc(1, sizeof(*target));
	require(target);
	target->profile = profile_create();
	target->told = calloc(1, sizeof(*target->told));
	require(target->profile && target->told);
	target->lock = lock;
	target->n_slots = 1;
	target->slots = map_guarded(SLOTS_SIZE);
	target->slots_address = SLOTS_ADDRESS;
	target->memory = (struct program_memory){.files = files, .profile = target->profile};
	target->copies[COPY_FIRST] = (struct translator){
		.source = {&target->memory, program_memory_code, program_memory_locate},
		.batch_insns = 200,
	};
	open_memory(&target->memory, code, n);
	open_arenas(target, n_arenas, arena_size);
	requests_init(target);
	for (int i = 1; i <= THREADS; i++)
		target_add_thread(target, i, "thread", 0, 0);
	return target;
}

static void check_profile(const struct profile *profile)
{
	for (size_t i = 0; i < profile->n_counts; i++)
		require(profile->counts[i].block < profile->n_blocks &&
			profile->counts[i].thread < profile->n_threads);
	for (size_t i = 0; i < profile->n_blocks; i++)
		require(profile->blocks[i].size && profile->blocks[i].bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct module_files *files;
	static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
	struct input input = {data, size, 0};
	const uint64_t layout = take(&input, 1), n = take(&input, 1) * 2;
	const uint64_t arena_size =
		layout & 2 ? 1u << 20 : 272u << 10; /* little more than the reserve */
	const size_t n_code = n < size - input.at ? n : size - input.at;
	if (!files)
		files = module_files_create();
	if (size < 4)
		return 0;
	struct target *target = open_target(data + input.at, n_code < MAX_CODE ? n_code : MAX_CODE,
					    1 + (int)(layout & 1), arena_size, files, &lock);
	input.at += n_code;
	for (int i = 0; i < MAX_OPERATIONS && input.at < size; i++)
		operate(target, &input);

	const struct code_cache *cache = &target->copies[COPY_FIRST].cache;
	uint8_t *slots = target->slots, *arenas[] = {cache->arenas[0].host, cache->arenas[1].host};
	struct profile *profile = target->profile;
	struct told_threads *told = target->told;
	target_finish(target, true);
	check_profile(profile);
	unmap_guards(slots, SLOTS_SIZE);
	for (int i = 0; i < 1 + (int)(layout & 1); i++)
		unmap_guards(arenas[i], arena_size);
	target_destroy(target);
	told_threads_deinit(told);
	free(told);
	profile_destroy(profile);
	return 0;
}

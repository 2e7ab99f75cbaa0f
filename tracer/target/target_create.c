/* The life of a target: a stopped process gets its code cache, its slots and its server, and is
 * aimed at the cache; at its end what was counted goes into the profile. */
#include "tracer/target/target_create.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/small_file.h"
#include "tracer/schedule/kernel_sums.h"
#include "tracer/span/span.h"
#include "tracer/stock/stock.h"
#include "tracer/target/copies.h"
#include "tracer/target/counts.h"
#include "tracer/target/cuts.h"
#include "tracer/target/requests.h"
#include "tracer/target/shared_memory.h"
#include "tracer/target/slots.h"
#include "tracer/translate/inherit.h"

#include <stdlib.h>
#include <sys/ptrace.h>

/* More would translate more that never runs: 400 took python3 a third more time to start, and made
 * nothing faster that runs for long.  Fewer would ask more often. */
#define BATCH_INSNS 100
/* A second copy of the code of a process that lives no longer would be made in vain. */
#define SHORT_LIFE_NS 20000000ull
/* The same where the second copy is made because hot code is faster in it: sooner python3 would
 * show nothing but its start. */
#define WARM_LIFE_NS 250000000ull
/* Where no process of that name lived longer in the timed run, as in a tree of compilers, nearly
 * all of the second copy would be code that runs a few times: it is made much later, if at all.
 * Where there was no timed run, those that are gone tell: most were gone by then, or not. */
#define SHORT_NATIVE_LIFE_NS 200000000ull
#define LATE 10

/* ---- threads ----
 *
 * Each has a slot, in which its counters and what it shares with the server lie, and whose counts
 * are collected when it is gone. */

/* The lowest slot that is free, made ready for use; 0 when all are taken. */
static int free_slot(struct target *target)
{
	int slot = 1;
	while (slot < MAX_SLOTS && target->slot_of[slot].tid)
		slot++;
	if (slot == MAX_SLOTS)
		return 0;
	if (slot >= target->n_slots) {
		slots_init(target, slot);
		__atomic_store_n(&target->n_slots, slot + 1, __ATOMIC_RELEASE);
	}
	return slot;
}

static void set_quiet(struct target *target)
{
	for (int copy = 0; copy < N_COPIES; copy++)
		target->copies[copy].quiet = target->n_threads <= 1;
}

/* Rows of counts from which on there are enough: 40 MB */
#define MANY_COUNTS 1000000

/* The thread that a new one is told of. */
static uint32_t begin_told(struct target *target, uint32_t thread)
{
	const uint64_t program = target->program ? target->program : (uint64_t)target->pid << 32;
	const bool many = target->profile->n_counts >= MANY_COUNTS ||
			  (target->drain && drain_has_many(target->drain));
	return told_threads_begin(target->told, thread, program, many);
}

uint64_t target_add_thread(struct target *target, pid_t tid, const char *name,
			   uint64_t stack_pointer, int starter)
{
	const int slot = free_slot(target);
	if (!slot)
		return 0;
	const uint32_t thread =
		profile_thread(target->profile, RUN_COUNTED, target->pid, tid, name);
	const uint32_t told = begin_told(target, thread);
	uint8_t *block = slot_at(target, slot);
	const uint64_t address = target->slots_address + (uint64_t)slot * SLOT_STRIDE;
	if (target->drain) {
		target->sources[slot] =
			drain_add_thread(target->drain, target->copies[COPY_FIRST].trace, block,
					 address, thread, told, target->space);
		if (!target->sources[slot])
			return 0;
		if (stack_pointer)
			drain_set_stack(target->sources[slot], stack_pointer);
	}
	target->leaving[slot] = (struct leaving){.how = STAYS};
	target->stop_at[slot] = target->resumed_at[slot] = 0;
	*slot_u32(block, G_HELD) = *slot_u32(block, G_HELD_SENT) = 0;
	*slot_u32(block, G_SWITCH) = *slot_u32(block, G_CALLING) = 0;
	target->slot_of[slot].tid = tid;
	target->slot_of[slot].thread = thread;
	target->slot_of[slot].changes = target->slot_of[slot].cut_in_call = false;
	target->slot_of[slot].left_ns = 0;
	target->slot_of[slot].slice = target->span ? span_slice(target->span) : 0;
	slots_set_copy(target, slot, COPY_FIRST);
	if (target->kernels) {
		kernel_threads_begin(target->kernels, slot, starter, thread,
				     target_counters(target));
		if (target_row(target, slot) != thread)
			drain_set_share(target->drain, target->sources[slot],
					target_row(target, slot));
	}
	(void)rf_array_push(target->tids, target->n_tids, target->cap_tids, tid);
	target->n_threads++;
	set_quiet(target);
	return address;
}

static void collect_slot(struct target *target, int index)
{
	assert(target->slot_of[index].tid && target->n_threads > 0);
	counts_collect(target, index);
	if (target->kernels)
		kernel_threads_end(target->kernels, index);
	drain_remove_thread(target->drain, target->sources[index]);
	target->sources[index] = NULL;
	*slot_u32(slot_at(target, index), G_CHANGING) = 0;
	target->slot_of[index].tid = 0;
	target->n_threads--;
	set_quiet(target);
}

void target_note_end(struct target *target, pid_t tid)
{
	struct kernel_sums sums;
	pthread_mutex_lock(target->lock);
	const int index = target_slot_index(target, tid);
	const uint64_t left_ns = index ? target->slot_of[index].left_ns : 0;
	if (left_ns && kernel_sums_of_thread((uint32_t)target->pid, (uint32_t)tid, &sums) &&
	    sums.ran_ns >= left_ns)
		profile_native_thread_ran(target->profile, target->slot_of[index].thread,
					  sums.ran_ns - left_ns + 1);
	pthread_mutex_unlock(target->lock);
}

void target_remove_thread(struct target *target, pid_t tid)
{
	pthread_mutex_lock(target->lock);
	int index = target_slot_index(target, tid);
	if (index)
		collect_slot(target, index);
	pthread_mutex_unlock(target->lock);
}

static void collect_threads(struct target *target)
{
	for (int i = 1; i < target->n_slots; i++)
		if (target->slot_of[i].tid)
			collect_slot(target, i);
}

/* ---- the target ---- */

/* What only a running target needs. */
static void release_memory(struct target *target)
{
	shared_memory_unmap(target);
	program_memory_deinit(&target->memory);
}

void target_destroy(struct target *target)
{
	if (!target)
		return;
	release_memory(target);
	for (int copy = 0; copy < N_COPIES; copy++) {
		code_cache_deinit(&target->copies[copy].cache);
		trace_config_destroy(target->copies[copy].trace);
		inherit_end(&target->copies[copy]);
		hot_code_deinit(&target->copies[copy].hot);
		free(target->copies[copy].new_entries);
	}
	kernel_threads_destroy(target->kernels);
	free(target->running.executions);
	free(target->interruptions);
	u64_map_deinit(&target->interruption_of_place);
	free(target->tids);
	free(target);
}

static void enter(struct target *target, pid_t tid)
{
	struct user_regs_struct regs;
	ptrace(PTRACE_GETREGS, tid, 0, &regs);
	uint64_t gs = target_add_thread(target, tid, "", 0, 0);
	uint64_t body = target_body(target, target_slot_index(target, tid), regs.rip);
	if (!body)
		return;
	regs.rip = body;
	regs.gs_base = gs;
	ptrace(PTRACE_SETREGS, tid, 0, &regs);
}

/* Memory of ours, and the server that answers; when something fails nothing of it is left there. */
static struct rf_error *prepare(struct target *target, struct injection *injection)
{
	struct rf_error *error = shared_memory_map(target, injection);
	if (!error) {
		requests_init(target);
		error = server_start(target);
	}
	if (error)
		shared_memory_unmap_remote(target, injection);
	return error;
}

/* When a process that starts now may get its second copy. */
static uint64_t second_copy_from(const struct profile *profile, pid_t pid, bool is_traced)
{
	char directory[64], name[32];
	const uint64_t now = clock_now_ns();
	if (is_traced)
		return now + SHORT_LIFE_NS;
	snprintf(directory, sizeof(directory), "/proc/%d", (int)pid);
	small_file_line(directory, "comm", name, sizeof(name));
	const uint64_t native = profile_longest_life(profile, RUN_TIMED, name);
	const uint64_t counted = native ? 0 : profile_mean_life(profile, RUN_COUNTED, name);
	const bool is_short = (native && native < SHORT_NATIVE_LIFE_NS) ||
			      (counted && counted < LATE * WARM_LIFE_NS);
	return now + WARM_LIFE_NS * (is_short ? LATE : 1) - COPIES_LOOK_NS;
}

static struct target *new_target(pid_t tid, struct profile *profile, struct drain *drain,
				 pthread_mutex_t *lock)
{
	struct target *target = calloc(1, sizeof(*target));
	if (!target)
		return NULL;
	target->pid = tid;
	target->profile = profile;
	target->n_slots = 1;
	target->lock = lock;
	target->begun_ns = clock_now_ns();
	target->plain_from_ns = second_copy_from(profile, tid, drain);
	for (int copy = 0; copy < N_COPIES; copy++)
		target->copies[copy] = (struct translator){
			.source = {.context = &target->memory,
				   .read = program_memory_code,
				   .locate = program_memory_locate,
				   .value = program_memory_value,
				   .is_own = program_memory_is_own,
				   .allocator = program_memory_allocator},
			.batch_insns = BATCH_INSNS,
			.loop_is_slow = __builtin_cpu_is("intel"),
		};
	translator_make_plain(&target->copies[COPY_PLAIN], &target->copies[COPY_FIRST]);
	struct translator *first = &target->copies[COPY_FIRST];
	first->trace = drain ? trace_config_create(drain_classes(drain)) : NULL;
	target->drain = first->trace ? drain : NULL;
	target->world = target->drain ? object_world_create(tid) : NULL;
	target->space = drain ? drain_new_space(drain, target->world) : 0;
	return target;
}

/* Looks out for kernels; false: memory is short. */
static bool follow_kernels(struct target *target, struct kernel_files *kernels)
{
	target->memory.kernels = kernels;
	target->kernels = kernel_threads_create(target->profile, target->slots,
						program_memory_mapping, &target->memory);
	for (int copy = 0; copy < N_COPIES; copy++)
		target->copies[copy].source.kernel = kernel_files_at;
	return target->kernels;
}

struct rf_error *target_create(pid_t tid, struct module_files *files, struct profile *profile,
			       struct told_threads *told, struct drain *drain,
			       struct kernel_files *kernels, struct stock *stock, struct span *span,
			       pthread_mutex_t *lock, struct target **out)
{
	struct injection injection;
	struct target *target = new_target(tid, profile, drain, lock);
	if (!target)
		return rf_error_no_memory();
	struct rf_error *error = program_memory_init(&target->memory, tid, files, profile)
					 ?: injection_begin(&injection, tid, &target->memory, true);
	if (!error) {
		error = prepare(target, &injection);
		if (!error && kernels && !follow_kernels(target, kernels))
			error = rf_error_no_memory();
		injection_end(&injection);
	}
	if (error) {
		target_destroy(target);
		return error;
	}
	cuts_init(target, span);
	target->memory.code_units = target->slots + P_CODE_UNITS;
	target->memory.allocators = target->drain ? drain_allocators(target->drain) : NULL;
	program_memory_refresh(&target->memory);
	target->stock = stock;
	target->told = told;
	pthread_mutex_lock(lock);
	target->program = stock ? stock_program(stock, tid) : 0;
	pthread_mutex_unlock(lock);
	copies_inherit(target, COPY_FIRST);
	pthread_mutex_lock(lock);
	enter(target, tid);
	pthread_mutex_unlock(lock);
	*out = target;
	return NULL;
}

void target_finish(struct target *target, bool is_last)
{
	server_stop(target);
	pthread_mutex_lock(target->lock);
	collect_threads(target);
	counts_save(target);
	copies_keep(target, is_last);
	release_memory(target);
	target->finished = true;
	pthread_mutex_unlock(target->lock);
}

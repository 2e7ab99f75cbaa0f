/* The life of a target: a stopped process gets its code cache, its slots and its server, and is
 * aimed at the cache; at its end what was counted goes into the profile. */
#include "tracer/target/target_create.h"

#include "tracer/target/counts.h"
#include "tracer/target/inject.h"
#include "tracer/target/requests.h"
#include "tracer/target/server.h"
#include "tracer/target/shared_memory.h"
#include "tracer/target/threads.h"

#include <stdlib.h>
#include <sys/ptrace.h>

/* More would translate more that never runs; fewer would ask and count more often. */
#define BATCH_INSNS 400

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
	target->translator = (struct translator){
		.source = {&target->memory, program_memory_code, program_memory_locate,
			   program_memory_value, program_memory_allocator},
		.batch_insns = BATCH_INSNS,
		.trace = drain ? trace_config_create(drain_classes(drain)) : NULL,
	};
	target->drain = target->translator.trace ? drain : NULL;
	target->world = target->drain ? object_world_create(tid) : NULL;
	target->space = drain ? drain_new_space(drain, target->world) : 0;
	return target;
}

struct rf_error *target_create(pid_t tid, struct module_files *files, struct profile *profile,
			       struct drain *drain, pthread_mutex_t *lock, struct target **out)
{
	struct injection injection;
	struct target *target = new_target(tid, profile, drain, lock);
	if (!target)
		return rf_error_no_memory();
	struct rf_error *error = program_memory_init(&target->memory, tid, files, profile);
	if (!error)
		error = injection_begin(&injection, tid, &target->memory);
	if (!error) {
		error = prepare(target, &injection);
		injection_end(&injection);
	}
	if (error) {
		target_destroy(target);
		return error;
	}
	target->memory.code_units = target->slots + P_CODE_UNITS;
	target->memory.allocators = target->drain ? drain_allocators(target->drain) : NULL;
	program_memory_refresh(&target->memory);
	pthread_mutex_lock(lock);
	enter(target, tid);
	pthread_mutex_unlock(lock);
	*out = target;
	return NULL;
}

void target_finish(struct target *target)
{
	server_stop(target);
	pthread_mutex_lock(target->lock);
	target_collect_threads(target);
	counts_save(target);
	release_memory(target);
	pthread_mutex_unlock(target->lock);
}

/* Empties the rings of all traced threads, chunk by chunk, and hands their records to the
 * simulation.
 *
 * The thread that does so holds the lock while it takes a chunk; threads of the run that add or
 * remove a program's thread hold it meanwhile. */
#include "tracer/traffic/drain.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/thread.h"
#include "cache/geometry_machine.h"
#include "tracer/branches/branch_watch.h"
#include "tracer/kernel/held_calls.h"
#include "tracer/process/allocators.h"
#include "tracer/traffic/executions.h"
#include "tracer/traffic/records.h"
#include "tracer/traffic/traffic_save.h"

#include <assert.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
#include <x86intrin.h>

/* Between looks when there is nothing to do: at first, and after a while. */
#define IDLE_NS 100000
#define IDLE_MOST_NS 500000
#define MAX_CORES 1024
/* They take some 2 KB each. */
#define MANY_ACCOUNTS 200000

/* Of the memory of the machine, what may hold the records of calls that have not ended, and at
 * most.
 */
#define HELD_PART 8
#define HELD_MOST (2ull << 30)

/* A thread that has been without a burst for so long is asked for one: soon after it has come to
 * new code, and then in times that double, up to a part of the time that it has run: so what takes
 * more than that part of a thread's time meets bursts, however short it is. */
#define BURST_NS 250000
#define BURST_MOST_NS 16000000
#define BURST_PART 16

/* Chunks that may wait to be taken, of all threads together and of each at least.  Whatever waits
 * when a window ends holds its threads up. */
#define MOST_WAITING 128
#define LEAST_DEPTH 4

struct drain_source {
	struct trace_ring ring;
	uint32_t core;
	uint64_t start_ns; /* when it was added */
	uint64_t burst_ns; /* when it had, or was asked for, a burst last */
	uint64_t wait_ns;  /* until the next one */
	bool is_unchecked; /* its thread runs without checks */
	bool by_chance;    /* all windows since executions were counted last have begun so */
	bool calls;        /* its thread is in a call of a kernel */
	struct record_reader reader;
	struct watched_thread branches;
};

struct drain {
	struct profile *profile;
	struct named_functions *allocators;
	pthread_mutex_t lock; /* of all that follows */
	struct simulation simulation;
	struct branch_watch branches;
	enum caches_at_calls at_calls;
	struct held_calls held; /* with CACHES_WARM */
	struct drain_source **sources;
	size_t n_sources, cap_sources;
	uint8_t core_used[MAX_CORES];
	struct traffic_account account;
	pthread_t thread;
	bool runs, stop;
};

/* ---- calls of kernels that are held until they have ended ---- */

/* What a source has left when its thread runs no more. */
static void end_source(struct drain *drain, struct drain_source *source, uint64_t stamp)
{
	drain->account.n_records += source->reader.n_records;
	drain->account.n_unknown += source->reader.n_unknown;
	record_reader_deinit(&source->reader);
	sharing_thread_ends(drain->simulation.sharing, source->reader.thread, stamp);
	free(source);
}

/* The caches get what all threads use for kernels from the beginning of a call, that event, until
 * it ends. */
static void warm_up(struct drain *drain, size_t enter)
{
	const struct held_event *events = drain->held.events;
	const size_t end = held_calls_end(&drain->held, enter);
	simulation_look_ahead(&drain->simulation);
	for (size_t i = enter; i < end; i++)
		if (events[i].kind == HELD_RECORDS)
			record_reader_look_ahead(&((struct drain_source *)events[i].thread)->reader,
						 events[i].records, events[i].n);
	simulation_look_back(&drain->simulation);
	for (size_t i = enter; i < end; i++)
		if (events[i].kind == HELD_RECORDS)
			record_reader_look_back(&((struct drain_source *)events[i].thread)->reader);
}

/* Simulates what was held.  Calls that have not ended are warm as far as they are known. */
static void take_held(struct drain *drain)
{
	for (size_t i = 0; i < drain->held.n_events; i++) {
		const struct held_event *event = &drain->held.events[i];
		struct drain_source *source = event->thread;
		if (event->kind == HELD_ENTER)
			warm_up(drain, i);
		else if (event->kind == HELD_RECORDS)
			record_reader_take(&source->reader, event->records, event->n,
					   event->is_burst, event->stamp);
		else if (event->kind == HELD_END)
			end_source(drain, source, event->stamp);
	}
	held_calls_clear(&drain->held);
	for (size_t i = 0; i < drain->n_sources; i++)
		drain->sources[i]->calls = false;
}

/* What cannot be held is not: false. */
static bool hold(struct drain *drain, const struct held_event *event)
{
	if (event->kind != HELD_ENTER && !drain->held.n_open)
		return false;
	if (held_calls_add(&drain->held, event, sizeof(struct trace_record)))
		return true;
	take_held(drain);
	return event->kind == HELD_ENTER &&
	       held_calls_add(&drain->held, event, sizeof(struct trace_record));
}

/* Records of a source, in the order of time. */
static void take(struct drain *drain, struct drain_source *source,
		 const struct trace_record *records, size_t n, bool is_burst, uint64_t stamp)
{
	/* nobody writes through this pointer */
	const struct held_event event = {HELD_RECORDS, source, (void *)(uintptr_t)records, n,
					 is_burst,     stamp};
	if (n && !hold(drain, &event))
		record_reader_take(&source->reader, records, n, is_burst, stamp);
}

/* ---- chunks ---- */

/* Of the sources with a chunk that waits the one whose chunk was handed over first; or NULL. */
static struct drain_source *earliest(struct drain *drain, uint64_t *first)
{
	struct drain_source *found = NULL;
	uint64_t stamp;
	*first = UINT64_MAX;
	for (size_t i = 0; i < drain->n_sources; i++)
		if (trace_ring_pending(&drain->sources[i]->ring, &stamp) &&
		    (!found || stamp < *first)) {
			found = drain->sources[i];
			*first = stamp;
		}
	return found;
}

static void set_classes(struct drain *drain)
{
	for (size_t i = 0; i < drain->n_sources; i++)
		trace_ring_set_classes(&drain->sources[i]->ring,
				       class_stages_now(&drain->simulation.stages));
}

/* Takes the first chunk that waits, if it was handed over before a time; false: there is none. */
static bool take_chunk(struct drain *drain, uint64_t before)
{
	uint64_t stamp;
	struct drain_source *source = earliest(drain, &stamp);
	size_t n;
	if (!source || stamp >= before)
		return false;
	if (!drain->held.n_open &&
	    class_stages_advance(&drain->simulation.stages, trace_ring_is_full(&source->ring)))
		set_classes(drain);
	const struct trace_record *records = trace_ring_chunk(&source->ring, &n);
	const bool is_burst = trace_ring_is_burst(&source->ring);
	take(drain, source, records, n, is_burst, stamp);
	trace_ring_release(&source->ring);
	if (is_burst) {
		source->burst_ns = clock_now_ns();
		if (source->reader.new_code)
			source->wait_ns = BURST_NS;
		source->reader.new_code = false;
		if (!drain->held.n_open && simulation_add_classes(&drain->simulation))
			set_classes(drain);
	}
	return true;
}

/* Threads whose accesses all lie in classes that are not simulated fill no chunks, and so come to
 * no burst by themselves. */
static void ask_bursts(struct drain *drain)
{
	const uint64_t now = clock_now_ns();
	for (size_t i = 0; i < drain->n_sources; i++) {
		struct drain_source *source = drain->sources[i];
		if (source->is_unchecked || now - source->burst_ns < source->wait_ns)
			continue;
		const uint64_t part = (now - source->start_ns) / BURST_PART,
			       most = part < BURST_MOST_NS ? part : BURST_MOST_NS;
		source->burst_ns = now;
		source->wait_ns = 2 * source->wait_ns < most ? 2 * source->wait_ns
				  : most > BURST_NS          ? most
							     : BURST_NS;
		trace_ring_ask_burst(&source->ring);
	}
}

static void look_at_branches(struct drain *drain)
{
	for (size_t i = 0; i < drain->n_sources; i++)
		branch_watch_look(&drain->branches, &drain->sources[i]->branches);
}

/* Takes all that a source has recorded; its thread does not run. */
static void take_rest(struct drain *drain, struct drain_source *source)
{
	uint64_t stamp;
	size_t n;
	while (trace_ring_pending(&source->ring, &stamp))
		take_chunk(drain, UINT64_MAX);
	const struct trace_record *records = trace_ring_rest(&source->ring, &n);
	take(drain, source, records, n, trace_ring_is_burst(&source->ring), __rdtsc());
}

static void *run(void *argument)
{
	struct drain *drain = argument;
	long idle = IDLE_NS;
	pthread_mutex_lock(&drain->lock);
	while (!drain->stop) {
		const bool any = take_chunk(drain, UINT64_MAX);
		ask_bursts(drain);
		look_at_branches(drain);
		pthread_mutex_unlock(&drain->lock);
		if (!any)
			nanosleep(&(struct timespec){.tv_nsec = idle}, NULL);
		idle = any ? IDLE_NS : idle * 2 < IDLE_MOST_NS ? idle * 2 : IDLE_MOST_NS;
		pthread_mutex_lock(&drain->lock);
	}
	pthread_mutex_unlock(&drain->lock);
	drain->account.spent_s = (double)clock_thread_ns() * 1e-9;
	return NULL;
}

/* ---- processes and threads ---- */

uint32_t drain_new_space(struct drain *drain, struct object_world *world)
{
	uint32_t number = UINT32_MAX >> (SPACE_SHIFT - 32);
	pthread_mutex_lock(&drain->lock);
	struct rf_error *error = simulation_add_space(&drain->simulation, world, &number);
	drain->account.memory_short |= error != NULL;
	pthread_mutex_unlock(&drain->lock);
	rf_error_destroy(error);
	return number;
}

struct named_functions *drain_allocators(struct drain *drain)
{
	return drain->allocators;
}

void drain_set_stack(struct drain_source *source, uint64_t stack_pointer)
{
	if (source)
		source->reader.stack_pointer = stack_pointer;
}

/* The first core that is free: threads that run one after another have one core, as a scheduler
 * does that keeps caches warm. */
static uint32_t take_core(struct drain *drain)
{
	for (uint32_t core = 0; core < MAX_CORES; core++)
		if (!drain->core_used[core]) {
			drain->core_used[core] = 1;
			return core;
		}
	return MAX_CORES - 1;
}

bool drain_has_many(struct drain *drain)
{
	pthread_mutex_lock(&drain->lock);
	const bool many = accounts_n(drain->simulation.accounts) >= MANY_ACCOUNTS;
	pthread_mutex_unlock(&drain->lock);
	return many;
}

static void share_depth(struct drain *drain)
{
	const size_t part = drain->n_sources ? MOST_WAITING / drain->n_sources : TRACE_CHUNKS;
	const size_t depth = part < LEAST_DEPTH ? LEAST_DEPTH : part;
	for (size_t i = 0; i < drain->n_sources; i++)
		trace_ring_set_depth(&drain->sources[i]->ring,
				     (uint32_t)(depth < TRACE_CHUNKS ? depth : TRACE_CHUNKS));
}

/* Lines of a class whose repeated accesses the gate may leave out: none where another machine's
 * caches, of other lines, or a TLB are simulated too. */
static unsigned recorded_windows(const struct simulation *simulation)
{
	return simulation->other || simulation->tlb_pages[0]
		       ? 0
		       : access_filter_lines(&simulation->geometry, !simulation->by_line);
}

struct drain_source *drain_add_thread(struct drain *drain, struct trace_config *config,
				      uint8_t *slot, uint64_t slot_address, uint32_t thread,
				      uint32_t told, uint32_t space)
{
	struct drain_source *source = calloc(1, sizeof(*source));
	struct simulation *simulation = &drain->simulation;
	if (!source)
		return NULL;
	pthread_mutex_lock(&drain->lock);
	if (!rf_array_push(drain->sources, drain->n_sources, drain->cap_sources, source)) {
		pthread_mutex_unlock(&drain->lock);
		free(source);
		return NULL;
	}
	trace_ring_init(&source->ring, slot, slot_address, class_stages_now(&simulation->stages),
			&simulation->full, recorded_windows(simulation),
			access_filter_set_bits(&simulation->geometry));
	share_depth(drain);
	source->core = take_core(drain);
	source->start_ns = source->burst_ns = clock_now_ns();
	source->wait_ns = BURST_NS;
	const struct reader_thread rows = {thread, told};
	record_reader_init(&source->reader, simulation, config, &rows, space, source->core);
	source->reader.chunk.to = __rdtsc();
	sharing_thread_begins(simulation->sharing, space, thread, source->reader.chunk.to);
	branch_watch_begin(&drain->branches, &source->branches, config, slot);
	if (!drain->runs)
		drain->runs = thread_start(&drain->thread, run, drain) == 0;
	pthread_mutex_unlock(&drain->lock);
	return source;
}

static void add_record(struct drain *drain, struct drain_source *source,
		       const struct trace_record *record)
{
	if (trace_ring_add(&source->ring, record))
		return;
	take_rest(drain, source);
	trace_ring_rewind(&source->ring);
	(void)trace_ring_add(&source->ring, record);
}

void drain_add_records(struct drain *drain, struct drain_source *source,
		       const struct trace_record *records, size_t n)
{
	pthread_mutex_lock(&drain->lock);
	for (size_t i = 0; i < n; i++)
		add_record(drain, source, &records[i]);
	pthread_mutex_unlock(&drain->lock);
}

static void set_share(struct drain *drain, struct drain_source *source, uint32_t row)
{
	add_record(drain, source,
		   &(struct trace_record){row, ALLOCATION_RECORD(ALLOCATION_SHARE), 0});
}

void drain_set_share(struct drain *drain, struct drain_source *source, uint32_t row)
{
	if (!source)
		return;
	pthread_mutex_lock(&drain->lock);
	set_share(drain, source, row);
	pthread_mutex_unlock(&drain->lock);
}

/* Takes all that threads have recorded until now; that of one of them waits. */
static void take_until_now(struct drain *drain)
{
	const uint64_t now = __rdtsc();
	while (take_chunk(drain, now))
		;
	for (size_t i = 0; i < drain->n_sources; i++) {
		struct drain_source *source = drain->sources[i];
		size_t n;
		const struct trace_record *records = trace_ring_latest(&source->ring, &n);
		if (n)
			take(drain, source, records, n, trace_ring_is_burst(&source->ring),
			     __rdtsc());
	}
}

void drain_enter_kernel(struct drain *drain, struct drain_source *source, uint32_t row)
{
	if (!source)
		return;
	const struct held_event enter = {.kind = HELD_ENTER, .thread = source, .stamp = __rdtsc()};
	pthread_mutex_lock(&drain->lock);
	if (drain->at_calls != CACHES_AS_IS)
		take_until_now(drain);
	if (drain->at_calls == CACHES_COLD)
		simulation_empty(&drain->simulation);
	if (drain->at_calls == CACHES_WARM)
		source->calls = hold(drain, &enter);
	set_share(drain, source, row);
	pthread_mutex_unlock(&drain->lock);
}

static void end_call(struct drain *drain, struct drain_source *source)
{
	const struct held_event leave = {.kind = HELD_LEAVE, .thread = source, .stamp = __rdtsc()};
	if (source->calls && hold(drain, &leave) && !drain->held.n_open)
		take_held(drain);
	source->calls = false;
}

void drain_leave_kernel(struct drain *drain, struct drain_source *source, uint32_t row)
{
	if (!source)
		return;
	pthread_mutex_lock(&drain->lock);
	if (drain->at_calls != CACHES_AS_IS)
		take_until_now(drain); /* before what others do behind it */
	end_call(drain, source);
	set_share(drain, source, row);
	pthread_mutex_unlock(&drain->lock);
}

void drain_end_window(struct drain *drain, struct drain_source *source,
		      const struct drain_executions *executions, size_t n, uint32_t n_numbers)
{
	if (!source)
		return;
	pthread_mutex_lock(&drain->lock);
	take_rest(drain, source);
	take_held(drain); /* what counts of windows is of what has been taken */
	trace_ring_rewind(&source->ring);
	branch_watch_pause(&drain->branches, &source->branches);
	for (size_t i = 0; i < n; i++) {
		struct thread_accounts *of =
			record_reader_accounts(&source->reader, executions[i].row);
		if (of)
			accounts_end_window(drain->simulation.accounts, of, executions[i].items,
					    n_numbers, source->by_chance);
	}
	source->by_chance |= n > 0;
	source->is_unchecked = true;
	pthread_mutex_unlock(&drain->lock);
}

void drain_begin_window(struct drain *drain, struct drain_source *source, uint32_t number,
			bool by_chance)
{
	const struct trace_record gap = {number, ALLOCATION_RECORD(ALLOCATION_GAP), 0};
	if (!source)
		return;
	drain_add_records(drain, source, &gap, 1);
	pthread_mutex_lock(&drain->lock);
	source->is_unchecked = false;
	source->by_chance &= by_chance;
	branch_watch_resume(&drain->branches, &source->branches);
	source->burst_ns = clock_now_ns();   /* it had no time for one */
	source->reader.chunk.to = __rdtsc(); /* nothing is recorded of the time before */
	pthread_mutex_unlock(&drain->lock);
}

void drain_remove_thread(struct drain *drain, struct drain_source *source)
{
	if (!source)
		return;
	pthread_mutex_lock(&drain->lock);
	take_rest(drain, source);
	end_call(drain, source);
	branch_watch_end(&drain->branches, &source->branches);
	drain->core_used[source->core] = 0;
	bool is_last = true; /* of those that run the same code, of which nobody knows soon */
	for (size_t i = 0; i < drain->n_sources; i++) {
		if (drain->sources[i] == source)
			drain->sources[i--] = drain->sources[--drain->n_sources];
		else
			is_last &= drain->sources[i]->reader.config != source->reader.config;
	}
	share_depth(drain);
	const struct held_event end = {.kind = HELD_END, .thread = source, .stamp = __rdtsc()};
	if (is_last)
		take_held(drain);
	if (!hold(drain, &end))
		end_source(drain, source, end.stamp);
	pthread_mutex_unlock(&drain->lock);
}

/* ---- the whole ---- */

static uint64_t held_most(void)
{
	const long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
	const uint64_t part = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page / HELD_PART
						    : HELD_MOST / HELD_PART;
	return part < HELD_MOST ? part : HELD_MOST;
}

struct rf_error *drain_create(const struct traffic_options *options, struct profile *profile,
			      struct drain **out)
{
	const char *why = trace_config_objection();
	const struct geometry_known known = {options->caches, options->n_caches,
					     options->last_cache_bytes};
	struct geometry geometry;
	*out = NULL;
	struct rf_error *error = geometry_wanted(options->cache, &known, &geometry);
	if (error)
		return error;
	if (why) {
		traffic_save_untraced(profile, why);
		return NULL;
	}
	struct drain *drain = calloc(1, sizeof(*drain));
	if (!drain)
		return rf_error_no_memory();
	drain->profile = profile;
	drain->at_calls = options->caches_at_calls;
	held_calls_init(&drain->held, held_most());
	pthread_mutex_init(&drain->lock, NULL);
	error = simulation_init(&drain->simulation, &geometry, options);
	drain->allocators = error ? NULL : allocators_in_files(options->kept);
	if (!error && !drain->allocators)
		error = rf_error_no_memory();
	if (error) {
		drain_destroy(drain);
		return error;
	}
	traffic_save_geometry(profile, &geometry);
	if (options->other)
		traffic_save_other_geometry(profile, options->other);
	if (drain->at_calls != CACHES_AS_IS)
		profile_set_fact(profile, "traffic_caches", "%s",
				 rf_word_of(caches_at_calls_words, drain->at_calls));
	*out = drain;
	return NULL;
}

uint64_t drain_classes(const struct drain *drain)
{
	return class_stages_now(&drain->simulation.stages);
}

void drain_finish(struct drain *drain, const struct told_threads *told)
{
	if (!drain)
		return;
	pthread_mutex_lock(&drain->lock);
	drain->stop = true;
	pthread_mutex_unlock(&drain->lock);
	if (drain->runs)
		pthread_join(drain->thread, NULL);
	assert(!drain->n_sources && !drain->held.n_events);
	hierarchy_finish(drain->simulation.hierarchy);
	if (drain->simulation.other)
		other_caches_finish(drain->simulation.other);
	named_functions_note_unread(drain->allocators, drain->profile);
	traffic_save(&drain->simulation, &drain->account, told, drain->profile);
	if (drain->held.n_cut)
		profile_set_fact(drain->profile, "traffic_warm_cut", "%llu",
				 (unsigned long long)drain->held.n_cut);
	rf_error_destroy(branch_watch_save(&drain->branches, drain->profile));
}

void drain_destroy(struct drain *drain)
{
	if (!drain)
		return;
	simulation_deinit(&drain->simulation);
	branch_watch_deinit(&drain->branches);
	held_calls_deinit(&drain->held);
	pthread_mutex_destroy(&drain->lock);
	named_functions_destroy(drain->allocators);
	free(drain->sources);
	free(drain);
}

#include "base/array.h"
#include "machine/bandwidth_kernels.h"
#include "machine/cpu_features.h"
#include "machine/roofs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define HUGE_PAGE ((size_t)2 << 20)
#define DRAM_MIN_BYTES ((uint64_t)64 << 20)
#define UNKNOWN_LAST_LEVEL ((uint64_t)64 << 20) /* taken when no cache is reported */
/* First touch is stopped after this time, so that a huge last-level cache or slow page faults
 * (a guest whose memory the host has yet to provide) do not hold up the user. */
#define TOUCH_LIMIT_NS UINT64_C(1000000000)
/* Arrays start this much off a multiple of 4 KiB from each other, so that a load is not held up by
 * an earlier store to another array with the same low 12 address bits ("4K aliasing"). */
#define ARRAY_SKEW 1344
/* DRAM is walked through a window of each array at a time.  Windows follow each other cyclically,
 * so that one is only met again after all the others, and a repeat can be short however large the
 * arrays are. */
#define WINDOW HUGE_PAGE
#define MAX_KERNELS 16 /* of one operation */

/* Memory of one thread, first touched by it. */
struct arena { char *mapping, *base; size_t mapped, bytes; };

struct level {
	const char *name;
	size_t bytes;		/* per thread, all arrays together */
	bool is_dram;
};

/* What an operation counts as bytes moved. */
struct operation { const char *op, *convention; bool dram_only; };

static const struct operation operations[] = {
	{ "read", "8 B/element loaded", false },
	{ "write", "8 B/element stored, write-allocate not counted", false },
	{ "copy", "16 B/element: load, store; write-allocate not counted", false },
	{ "triad", "24 B/element: 2 loads, store; write-allocate not counted", false },
	{ "write_nt", "8 B/element stored, non-temporal", true },
	{ "copy_nt", "16 B/element: load, non-temporal store", true },
	{ "triad_nt", "24 B/element: 2 loads, non-temporal store", true },
};
#define N_OPERATIONS (sizeof(operations) / sizeof(operations[0]))

/* One thread's place in a measurement. */
struct part {
	_Alignas(64) struct bandwidth_state state;
	char *arrays[3];
	size_t window;		/* bytes of each array in one call */
	size_t n_windows, cursor;
};

/* A kernel at a level, on all threads of a team. */
struct level_run { const struct bandwidth_kernel *kernel; struct part *parts; };

uint64_t roofs_level_bytes(const struct topology *topology, int level, int n_threads)
{
	uint64_t share = topology_share_bytes(topology, level, n_threads);
	if (level < 3 || !share)
		return share / 2;
	uint64_t inner = topology_share_bytes(topology, level - 1, n_threads);
	/* Where there is little more L3 than L2 to a thread, L3 takes what L2 casts out. */
	if (share / 2 < 2 * inner)
		return inner + share / 2;
	uint64_t between = sqrt((double)inner * share);
	if (between < 4 * inner)
		between = 4 * inner;
	return between < share / 2 ? between : share / 2;
}

uint64_t roofs_dram_bytes(const struct topology *topology, int n_threads)
{
	int level;
	uint64_t last = topology_last_level_bytes(topology, n_threads, &level);
	uint64_t bytes = 4 * (level ? last : UNKNOWN_LAST_LEVEL);
	return (bytes < DRAM_MIN_BYTES ? DRAM_MIN_BYTES : bytes) / n_threads;
}

static void run_kernel(void *context, int thread, uint64_t count)
{
	struct level_run *run = context;
	struct part *part = &run->parts[thread];
	if (part->n_windows == 1) {
		run->kernel->run(part->arrays[0], part->arrays[1], part->arrays[2], part->window, count,
				 &part->state);
		return;
	}
	for (uint64_t i = 0; i < count; i++) {
		size_t at = part->cursor * part->window;
		run->kernel->run(part->arrays[0] + at, part->arrays[1] + at, part->arrays[2] + at,
				 part->window, 1, &part->state);
		part->cursor = (part->cursor + 1) % part->n_windows;
	}
}

/* Divides a thread's arena into the arrays of an operation. */
static void place_arrays(struct part *part, const struct arena *arena, const struct level *level,
			 int n_arrays)
{
	size_t whole = (level->bytes / n_arrays - (n_arrays > 1 ? ARRAY_SKEW : 0)) / BANDWIDTH_GRAIN *
		       BANDWIDTH_GRAIN; /* not 0: see plan_levels() and prepare_arenas() */
	memset(part, 0, sizeof(*part));
	bandwidth_state_init(&part->state);
	part->window = whole;
	part->n_windows = 1;
	if (level->is_dram && whole >= 2 * WINDOW) {
		part->window = WINDOW;
		part->n_windows = whole / WINDOW;
	}
	for (int i = 0; i < 3; i++)
		part->arrays[i] = arena->base + (i < n_arrays ? i : 0) * (whole + ARRAY_SKEW);
}

struct touch { struct arena *arenas; uint64_t deadline; };

/* First touch: memory comes from the node of the thread that touches it.  The values are normal
 * numbers, for triad's sake. */
static void touch_arena(void *context, int thread)
{
	struct touch *touch = context;
	struct arena *arena = &touch->arenas[thread];
	size_t usable = arena->mapping + arena->mapped - arena->base;
	while (arena->bytes < usable && measure_now_ns() < touch->deadline) {
		size_t step = usable - arena->bytes < HUGE_PAGE ? usable - arena->bytes : HUGE_PAGE;
		double *values = (double *)(arena->base + arena->bytes);
		for (size_t i = 0; i < step / sizeof(*values); i++)
			values[i] = 1;
		arena->bytes += step;
	}
}

static void unmap_arena(struct arena *arena)
{
	if (arena->mapping)
		munmap(arena->mapping, arena->mapped);
	*arena = (struct arena){ 0 };
}

/* Maps at least `bytes` for an arena, huge pages preferred; keeps a larger one that is there. */
static bool map_arena(struct arena *arena, size_t bytes)
{
	if (arena->bytes >= bytes)
		return true;
	unmap_arena(arena);
	size_t mapped = (bytes + HUGE_PAGE - 1) / HUGE_PAGE * HUGE_PAGE + HUGE_PAGE;
	char *mapping = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return false;
	madvise(mapping, mapped, MADV_HUGEPAGE); /* refused: small pages */
	*arena = (struct arena){ .mapping = mapping, .mapped = mapped };
	uintptr_t start = ((uintptr_t)mapping + HUGE_PAGE - 1) & ~(uintptr_t)(HUGE_PAGE - 1);
	arena->base = (char *)start;
	return true;
}

/* Bytes of each arena that memory allows: half of what is available, less what further arenas
 * hold. */
static size_t affordable(const struct roofs_run *run, int n_threads)
{
	uint64_t budget = run->topology->memory_available / 2, held = 0;
	for (int i = n_threads; i < run->topology->usable_threads; i++)
		held += run->arenas[i].mapped;
	return (budget > held ? budget - held : 0) / n_threads / HUGE_PAGE * HUGE_PAGE;
}

/* Gives each thread of the team `wanted` bytes, or as many as can be had; *got is the least that a
 * thread has. */
static struct rf_error *prepare_arenas(struct roofs_run *run, struct team *team, size_t wanted,
				       size_t *got)
{
	int n_threads = team_size(team);
	if (!run->arenas)
		run->arenas = calloc(run->topology->usable_threads, sizeof(*run->arenas));
	if (!run->arenas)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	size_t can = affordable(run, n_threads);
	size_t bytes = wanted < can ? wanted : can;
	if (bytes < HUGE_PAGE)
		bytes = HUGE_PAGE;
	for (int i = 0; i < n_threads; i++)
		if (!map_arena(&run->arenas[i], bytes))
			return rf_error_create(RF_EACCESS, "raise the limit on memory (ulimit -v)",
					       "cannot allocate %zu bytes to measure bandwidth", bytes);
	struct touch touch = { run->arenas, measure_now_ns() + TOUCH_LIMIT_NS };
	team_run(team, touch_arena, &touch);
	*got = bytes;
	for (int i = 0; i < n_threads; i++)
		*got = run->arenas[i].bytes < *got ? run->arenas[i].bytes : *got;
	return NULL;
}

/* The levels to measure with a team, innermost first; returns how many. */
static size_t plan_levels(const struct topology *topology, int n_threads, struct level *levels)
{
	static const char *const names[] = { "L1", "L2", "L3" };
	size_t n = 0;
	for (int level = 1; level <= TOPOLOGY_LEVELS; level++) {
		uint64_t bytes = roofs_level_bytes(topology, level, n_threads);
		if (bytes >= 3 * (BANDWIDTH_GRAIN + ARRAY_SKEW))
			levels[n++] = (struct level){ names[level - 1], bytes, false };
	}
	levels[n++] = (struct level){ "DRAM", roofs_dram_bytes(topology, n_threads), true };
	return n;
}

int roofs_bandwidth_steps(const struct topology *topology)
{
	struct level levels[TOPOLOGY_LEVELS + 1];
	size_t n_levels = plan_levels(topology, 1, levels);
	int steps = 0;
	for (size_t i = 0; i < n_levels; i++)
		for (size_t op = 0; op < N_OPERATIONS; op++)
			steps += levels[i].is_dram || !operations[op].dram_only;
	return steps;
}

/* DRAM repeats are longer, so that the start of a window does not count. */
static struct measure_effort effort_at(const struct roofs_run *run, const struct level *level)
{
	struct measure_effort effort = roofs_effort(run);
	if (level->is_dram)
		effort.repeat_ns *= 4;
	return effort;
}

static size_t find_kernels(const char *op, const struct bandwidth_kernel **kernels)
{
	size_t n = 0;
	for (size_t i = 0; i < n_bandwidth_kernels && n < MAX_KERNELS; i++)
		if (!strcmp(bandwidth_kernels[i].op, op) && cpu_has(bandwidth_kernels[i].needs))
			kernels[n++] = &bandwidth_kernels[i];
	return n;
}

static struct rf_error *add_row(struct roofs_run *run, const struct bandwidth_kernel *kernel,
				const struct operation *operation, const struct level *level,
				int n_threads, const struct measure_rate *rate)
{
	struct roof roof = {
		.kind = ROOF_BANDWIDTH, .threads = n_threads, .best = rate->best,
		.median = rate->median, .q1 = rate->q1, .q3 = rate->q3,
		.unit = "GB/s", .distinguishable = true,
	};
	snprintf(roof.isa, sizeof(roof.isa), "%s", kernel->isa);
	snprintf(roof.op, sizeof(roof.op), "%s", operation->op);
	snprintf(roof.level, sizeof(roof.level), "%s", level->name);
	snprintf(roof.bytes_convention, sizeof(roof.bytes_convention), "%s", operation->convention);
	return roofs_add(run, &roof);
}

struct warm_up { struct level_run *run; uint64_t count; };

static void warm_up_thread(void *context, int thread)
{
	struct warm_up *warm_up = context;
	run_kernel(warm_up->run, thread, warm_up->count);
}

/* Fills the last-level cache with lines as the operation leaves them (written ones for a write):
 * otherwise its first repeats would cast out the clean lines of the operation before and be too
 * fast. */
static void warm_up_dram(struct team *team, struct level_run *run)
{
	struct warm_up warm_up = { run, run->parts[0].n_windows / 3 + 1 };
	team_run(team, warm_up_thread, &warm_up);
}

static struct rf_error *measure_row(struct roofs_run *run, struct team *team, struct part *parts,
				    const struct operation *operation, const struct level *level)
{
	int n_threads = team_size(team);
	const struct bandwidth_kernel *kernels[MAX_KERNELS];
	struct level_run runs[MAX_KERNELS];
	struct measure_task tasks[MAX_KERNELS];
	size_t n = find_kernels(operation->op, kernels), best;
	for (int i = 0; i < n_threads; i++)
		place_arrays(&parts[i], &run->arenas[i], level, kernels[0]->arrays);
	for (size_t i = 0; i < n; i++) {
		runs[i] = (struct level_run){ kernels[i], parts };
		tasks[i] = (struct measure_task){ run_kernel, &runs[i],
						  (double)parts[0].window * kernels[i]->arrays };
	}
	if (level->is_dram)
		warm_up_dram(team, &runs[0]);
	struct measure_effort effort = effort_at(run, level);
	struct measure_rate rate;
	struct rf_error *error = measure_fastest(team, tasks, n, &effort, &rate, &best);
	return error ? error : add_row(run, kernels[best], operation, level, n_threads, &rate);
}

static struct rf_error *measure_level(struct roofs_run *run, struct team *team, struct part *parts,
				      const struct level *level)
{
	struct rf_error *error = NULL;
	int n_threads = team_size(team);
	for (size_t i = 0; i < N_OPERATIONS && !error; i++) {
		if (operations[i].dram_only && !level->is_dram)
			continue;
		roofs_progress(run, "%s %s, %d thread%s", level->name, operations[i].op, n_threads,
			       n_threads == 1 ? "" : "s");
		error = measure_row(run, team, parts, &operations[i], level);
	}
	return error;
}

/* Says so when DRAM had to be measured in less memory than it should. */
static struct rf_error *note_small_dram(struct roofs_run *run, int n_threads, size_t wanted,
					size_t got)
{
	if (got >= wanted)
		return NULL;
	return roofs_note(run, "DRAM was measured in %zu MiB with %d thread%s, not in the %zu MiB of 4 "
			  "times the last-level cache: it may include cache hits",
			  got * n_threads >> 20, n_threads, n_threads == 1 ? "" : "s",
			  wanted * n_threads >> 20);
}

struct rf_error *roofs_bandwidth(struct roofs_run *run, struct team *team)
{
	int n_threads = team_size(team);
	struct level levels[TOPOLOGY_LEVELS + 1];
	size_t n_levels = plan_levels(run->topology, n_threads, levels), got = 0;
	size_t wanted = levels[n_levels - 1].bytes;
	struct part *parts = aligned_alloc(_Alignof(struct part), n_threads * sizeof(*parts));
	if (!parts)
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	struct rf_error *error = prepare_arenas(run, team, wanted, &got);
	if (!error)
		error = note_small_dram(run, n_threads, wanted, got);
	for (size_t i = 0; i < n_levels && !error; i++) {
		if (levels[i].bytes > got || levels[i].is_dram)
			levels[i].bytes = got;
		error = measure_level(run, team, parts, &levels[i]);
	}
	free(parts);
	return error;
}

void roofs_bandwidth_deinit(struct roofs_run *run)
{
	for (int i = 0; run->arenas && i < run->topology->usable_threads; i++)
		unmap_arena(&run->arenas[i]);
	free(run->arenas);
	run->arenas = NULL;
}

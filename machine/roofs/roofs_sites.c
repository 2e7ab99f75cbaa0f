/* Where rows are measured: teams of threads, and the memory that bandwidth is measured in: mapped,
 * bound and touched. */
#include "machine/roofs/roofs_sites.h"

#include "base/array.h"
#include "base/clock.h"

#include <errno.h>
#include <linux/mempolicy.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#define DRAM_MIN_BYTES ((uint64_t)64 << 20)
#define SIZES_MOST_BYTES ((uint64_t)512 << 20)
#define UNKNOWN_LAST_LEVEL ((uint64_t)64 << 20) /* taken when no cache is reported */
/* First touch is stopped after this time, so that a huge last-level cache or slow page faults
 * (a guest whose memory the host has yet to provide) do not hold up the user. */
#define TOUCH_LIMIT_NS UINT64_C(1000000000)
/* It goes on for so long as long as the last-level caches may hold what was touched: what is walked
 * through in turns leaves a cache when it is larger than that, and a half more is taken as
 * replacement is not perfect. */
#define TOUCH_MOST_NS UINT64_C(4000000000)
#define BEYOND_CACHES (1.5 / 4) /* of roofs_dram_bytes() */
/* A level is not measured in less than three arrays of this size: bandwidth.c's grain and skew. */
#define LEVEL_MIN_BYTES 12288

/* ---- memory of a thread ---- */

#define ARENA_ANY_NODE (-1)
/* mbind(2) takes a bit mask of nodes. */
#define MOST_NODES 1024
#define BITS (8 * sizeof(unsigned long))

static int bind_to_node(void *memory, size_t bytes, int node)
{
	unsigned long mask[MOST_NODES / BITS] = {0};
	if (node < 0 || node >= MOST_NODES) {
		errno = EINVAL;
		return -1;
	}
	mask[node / BITS] = 1ul << node % BITS;
	return (int)syscall(SYS_mbind, memory, bytes, MPOL_BIND, mask, (unsigned long)MOST_NODES,
			    0);
}

static void arena_unmap(struct arena *arena)
{
	if (arena->mapping)
		munmap(arena->mapping, arena->mapped);
	*arena = (struct arena){0};
}

/* Maps at least `bytes` for an empty arena; on the NUMA node with the operating system's number
 * `node`, or ARENA_ANY_NODE: where it is touched first.  RF_EACCESS: a limit on memory;
 * RF_EUNAVAILABLE: the node is refused. */
static struct rf_error *arena_map(struct arena *arena, size_t bytes, int node)
{
	size_t mapped =
		(bytes + ARENA_HUGE_PAGE - 1) / ARENA_HUGE_PAGE * ARENA_HUGE_PAGE + ARENA_HUGE_PAGE;
	char *mapping =
		mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (mapping == MAP_FAILED)
		return rf_error_create(RF_EACCESS, "raise the limit on memory (ulimit -v)",
				       "cannot allocate %zu bytes to measure bandwidth", bytes);
	madvise(mapping, mapped, MADV_HUGEPAGE); /* refused: small pages */
	uintptr_t start =
		((uintptr_t)mapping + ARENA_HUGE_PAGE - 1) & ~(uintptr_t)(ARENA_HUGE_PAGE - 1);
	*arena = (struct arena){.base = (char *)start, .mapping = mapping, .mapped = mapped};
	if (node == ARENA_ANY_NODE || bind_to_node(mapping, mapped, node) == 0)
		return NULL;
	int cause = errno;
	arena_unmap(arena);
	return rf_error_errno(RF_EUNAVAILABLE, cause, NULL, "cannot take memory of NUMA node %d",
			      node);
}

/* Sets every element to a number from 1 to 2: normal, for the sake of arithmetic, and with 52 bits
 * of noise (Knuth's MMIX generator), so that nothing on the way can pack a line into less. */
static void fill(char *from, size_t bytes)
{
	uint64_t *words = (uint64_t *)from, state = (uintptr_t)from;
	for (size_t i = 0; i < bytes / sizeof(*words); i++) {
		state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
		words[i] = UINT64_C(0x3ff) << 52 | state >> 12;
	}
}

struct touch {
	struct arena *arenas;
	const size_t *least; /* bytes by thread, until `latest`; NULL: none */
	uint64_t deadline, latest;
};

static bool is_late(const struct touch *touch, int thread, size_t bytes)
{
	const bool is_less = touch->least && bytes < touch->least[thread];
	return bytes && clock_now_ns() >= (is_less ? touch->latest : touch->deadline);
}

static void touch_arena(void *context, int thread)
{
	struct touch *touch = context;
	struct arena *arena = &touch->arenas[thread];
	size_t usable = arena->mapping + arena->mapped - arena->base;
	usable = usable / ARENA_HUGE_PAGE * ARENA_HUGE_PAGE;
	while (arena->bytes < usable && !is_late(touch, thread, arena->bytes)) {
		fill(arena->base + arena->bytes, ARENA_HUGE_PAGE);
		arena->bytes += ARENA_HUGE_PAGE;
	}
}

/* Each thread of the team fills its arena with numbers, until all is filled or `limit_ns`
 * have passed; TOUCH_MOST_NS, as long as it has fewer than `least` bytes. */
static void arenas_touch(struct team *team, struct arena *arenas, const size_t *least,
			 uint64_t limit_ns)
{
	const uint64_t now = clock_now_ns();
	struct touch touch = {arenas, least, now + limit_ns, now + TOUCH_MOST_NS};
	team_run(team, touch_arena, &touch);
}

/* ---- sizes ---- */

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
	uint64_t last = topology_last_level_bytes(topology, n_threads);
	uint64_t bytes = 4 * (last ? last : UNKNOWN_LAST_LEVEL);
	return (bytes < DRAM_MIN_BYTES ? DRAM_MIN_BYTES : bytes) / n_threads;
}

size_t roofs_row_bytes(const struct topology *topology, const struct roof *row)
{
	if (row->kind == ROOF_COMPUTE)
		return 0;
	return row->level == ROOF_LEVEL_DRAM
		       ? roofs_dram_bytes(topology, row->threads)
		       : roofs_level_bytes(topology, (int)row->level - ROOF_LEVEL_L1 + 1,
					   row->threads);
}

size_t roofs_arena_bytes(const struct roof_site *site)
{
	size_t least = SIZE_MAX;
	for (int i = 0; i < site->n_threads; i++)
		least = site->arenas[i].bytes < least ? site->arenas[i].bytes : least;
	return least;
}

size_t roofs_levels(const struct roofs_run *run, const struct roof_site *site,
		    struct level_size levels[SITE_LEVELS])
{
	size_t n = 0, has = roofs_arena_bytes(site),
	       wanted = roofs_dram_bytes(run->topology, site->n_threads);
	for (int level = 1; level <= TOPOLOGY_LEVELS && !site->by_node; level++) {
		uint64_t bytes = roofs_level_bytes(run->topology, level, site->n_threads);
		if (bytes < LEVEL_MIN_BYTES)
			continue;
		levels[n++] = (struct level_size){.level = ROOF_LEVEL_L1 + level - 1,
						  .bytes = bytes < has ? bytes : has};
	}
	levels[n++] = (struct level_size){ROOF_LEVEL_DRAM, wanted < has ? wanted : has};
	return n;
}

size_t roofs_sizes(const struct roofs_run *run, const struct roof_site *site,
		   struct level_size sizes[SITE_SIZES])
{
	const uint64_t grain = 4096, has = roofs_arena_bytes(site);
	uint64_t first = topology_share_bytes(run->topology, 1, 1) / 4;
	uint64_t last = topology_last_level_bytes(run->topology, 1);
	last = last ? last : UNKNOWN_LAST_LEVEL;
	last = 4 * last > SIZES_MOST_BYTES ? 2 * last : 4 * last;
	last = last < has ? last : has;
	first = first > grain ? first : grain;
	if (last < 64 * first)
		return 0;
	size_t n = 0;
	for (int i = 0; i < SITE_SIZES; i++) {
		double bytes = first * pow((double)last / first, i / (SITE_SIZES - 1.0));
		size_t whole = (size_t)(bytes / grain + 0.5) * grain;
		if (n == 0 || whole > sizes[n - 1].bytes) /* small ones may round to the same */
			sizes[n++] = (struct level_size){ROOF_LEVEL_NONE, whole};
	}
	return n;
}

/* ---- sites ---- */

/* Bytes of thread `i`: the most that any thread count needs of it. */
static size_t wanted_bytes(const struct roofs_run *run, int i)
{
	size_t most = 0;
	for (size_t c = 0; c < run->wish->n_counts; c++) {
		size_t bytes = roofs_dram_bytes(run->topology, run->wish->counts[c]);
		if (run->wish->counts[c] > i && bytes > most)
			most = bytes;
	}
	const size_t limit = run->wish->wants ? run->wish->most_bytes : SIZE_MAX;
	return limit < most ? limit : most;
}

/* The part of the wanted memory that may be taken: half of what is available. */
static double affordable_share(const struct roofs_run *run, int n_threads)
{
	double sum = 0, budget = run->topology->memory_available / 2.0;
	for (int i = 0; i < n_threads; i++)
		sum += wanted_bytes(run, i);
	return sum > budget ? budget / sum : 1;
}

/* Maps that part of the wanted memory for all threads, or for none. */
static struct rf_error *map_share(struct roofs_run *run, int n_threads, double share)
{
	struct rf_error *error = NULL;
	for (int i = 0; i < n_threads && !error; i++)
		error = arena_map(&run->arenas[i], wanted_bytes(run, i) * share, ARENA_ANY_NODE);
	for (int i = 0; i < n_threads && error; i++)
		arena_unmap(&run->arenas[i]);
	return error;
}

/* Less and less where a limit (ulimit -v) refuses what is free. */
static struct rf_error *map_arenas(struct roofs_run *run, int n_threads)
{
	double share = affordable_share(run, n_threads);
	run->arenas = calloc((unsigned)n_threads, sizeof(*run->arenas));
	if (!run->arenas)
		return rf_error_no_memory();
	struct rf_error *error = map_share(run, n_threads, share);
	while (error && wanted_bytes(run, 0) * share > ARENA_HUGE_PAGE) {
		rf_error_destroy(error);
		share /= 2;
		error = map_share(run, n_threads, share);
	}
	return error;
}

/* Says so when DRAM has to be measured in less memory than it should. */
static struct rf_error *note_small_dram(struct roofs_run *run, const struct roof_site *site)
{
	const size_t enough = (size_t)(BEYOND_CACHES *
				       (double)roofs_dram_bytes(run->topology, site->n_threads)),
		     got = roofs_arena_bytes(site);
	if (got >= enough)
		return NULL;
	return roofs_note(
		run,
		"DRAM was measured in %zu MiB with %d thread%s, not in the %zu MiB of 1.5 "
		"times the last-level cache: it may include cache hits",
		got * site->n_threads >> 20, site->n_threads, site->n_threads == 1 ? "" : "s",
		enough * site->n_threads >> 20);
}

/* What is refused is noted and left out; takes `error`. */
static struct rf_error *note_refusal(struct roofs_run *run, struct rf_error *error,
				     const char *what)
{
	struct rf_error *full = roofs_note(run, "%s: no roofs %s", error->message, what);
	rf_error_destroy(error);
	return full;
}

/* Starts a team on the first `n` of the listed hardware threads. */
static struct rf_error *start_team(struct roofs_run *run, const int *cpus, struct roof_site *site)
{
	struct rf_error *error = team_create(cpus, site->n_threads, &site->team);
	/* A limit on threads: what fits is still worth having. */
	if (error && error->code == RF_EUNAVAILABLE && run->n_sites > 0)
		return note_refusal(run, error, "at that count");
	if (!error && !team_is_pinned(site->team))
		error = roofs_note(run, "threads could not be pinned: roofs may be too low");
	return error;
}

static struct rf_error *add_site(struct roofs_run *run, struct roof_site *site)
{
	if (rf_array_push(run->sites, run->n_sites, run->cap_sites, *site))
		return NULL;
	team_destroy(site->team);
	return rf_error_no_memory();
}

/* By the largest site. */
static struct rf_error *touch_all(struct roofs_run *run)
{
	const struct roof_site *last = &run->sites[run->n_sites - 1];
	size_t *least = calloc((unsigned)last->n_threads, sizeof(*least));
	if (!least)
		return rf_error_no_memory();
	for (int i = 0; i < last->n_threads; i++)
		least[i] = (size_t)(BEYOND_CACHES * (double)wanted_bytes(run, i));
	if (run->wish->touch_ns)
		arenas_touch(last->team, run->arenas, NULL, run->wish->touch_ns);
	else
		arenas_touch(last->team, run->arenas, least, TOUCH_LIMIT_NS);
	free(least);
	return NULL;
}

static struct rf_error *make_count_sites(struct roofs_run *run, const int *cpus)
{
	struct rf_error *error = NULL;
	for (size_t c = 0; c < run->wish->n_counts && !error; c++) {
		struct roof_site site = {.n_threads = run->wish->counts[c], .arenas = run->arenas};
		site.n_cores = topology_cores(run->topology, site.n_threads);
		error = start_team(run, cpus, &site);
		if (!error && site.team)
			error = add_site(run, &site);
	}
	if (error)
		return error;
	error = touch_all(run);
	for (size_t i = 0; i < run->n_sites && !error; i++)
		error = note_small_dram(run, &run->sites[i]);
	return error;
}

/* The usable hardware threads on a node; returns how many. */
static int cpus_of_node(const struct roofs_run *run, int node, int *cpus)
{
	int n = 0;
	for (int i = 0; i < run->topology->usable_threads; i++)
		if (run->topology->cpus[i].numa_node == node)
			cpus[n++] = run->topology->cpus[i].os_index;
	return n;
}

/* Takes memory of the node for each thread; no site, but a note, where it is refused. */
static struct rf_error *bind_arenas(struct roofs_run *run, struct roof_site *site)
{
	size_t bytes = roofs_dram_bytes(run->topology, site->n_threads);
	double budget = run->topology->memory_available / 4.0 / site->n_threads;
	struct rf_error *error = NULL;
	site->arenas = calloc(site->n_threads, sizeof(*site->arenas));
	if (!site->arenas)
		return rf_error_no_memory();
	for (int i = 0; i < site->n_threads && !error; i++)
		error = arena_map(&site->arenas[i], bytes < budget ? bytes : budget,
				  run->topology->nodes[site->memory_node]);
	if (!error)
		arenas_touch(site->team, site->arenas, NULL, TOUCH_LIMIT_NS / 4);
	return error;
}

static void free_node_site(struct roof_site *site)
{
	for (int i = 0; site->arenas && i < site->n_threads; i++)
		arena_unmap(&site->arenas[i]);
	free(site->arenas);
	team_destroy(site->team);
}

static struct rf_error *make_node_site(struct roofs_run *run, int cpu_node, int memory_node,
				       int *cpus)
{
	struct roof_site site = {.by_node = true, .cpu_node = cpu_node, .memory_node = memory_node};
	site.n_threads = site.n_cores = cpus_of_node(run, cpu_node, cpus);
	if (site.n_threads == 0)
		return NULL;
	struct rf_error *error = start_team(run, cpus, &site);
	if (error || !site.team)
		return error;
	error = bind_arenas(run, &site);
	if (!error)
		return add_site(run, &site);
	free_node_site(&site);
	return error->code == RF_EUNAVAILABLE ? note_refusal(run, error, "of it") : error;
}

static struct rf_error *make_node_sites(struct roofs_run *run, int *cpus)
{
	const struct topology *topology = run->topology;
	struct rf_error *error = NULL;
	for (int from = 0; from < topology->n_nodes && !error; from++)
		for (int memory = 0; memory < topology->n_nodes && !error; memory++)
			error = make_node_site(run, from, memory, cpus);
	return error;
}

struct rf_error *roofs_make_sites(struct roofs_run *run)
{
	const struct topology *topology = run->topology;
	int most = run->wish->counts[run->wish->n_counts - 1];
	int *cpus = calloc(topology->n_cpus, sizeof(*cpus));
	if (!cpus)
		return rf_error_no_memory();
	for (int i = 0; i < topology->n_cpus; i++)
		cpus[i] = topology->cpus[i].os_index;
	struct rf_error *error = map_arenas(run, most);
	if (!error)
		error = make_count_sites(run, cpus);
	if (!error && !run->wish->quick && !run->wish->wants && topology->n_nodes > 1 &&
	    most == topology->usable_threads)
		error = make_node_sites(run, cpus);
	free(cpus);
	return error;
}

void roofs_free_sites(struct roofs_run *run)
{
	for (size_t i = 0; i < run->n_sites; i++) {
		if (run->sites[i].by_node)
			free_node_site(&run->sites[i]);
		else
			team_destroy(run->sites[i].team);
	}
	int most = run->wish->counts[run->wish->n_counts - 1];
	for (int i = 0; run->arenas && i < most; i++)
		arena_unmap(&run->arenas[i]);
	free(run->arenas);
	free(run->sites);
}

#include "base/kept_store.h"
#include "machine/data/machine.h"
#include "machine/data/machine_print.h"
#include "machine/data/roof_history.h"
#include "machine/kernels/compute_kernels.h"
#include "machine/roofs/roofs_sites.h"
#include "machine/store/machine_get.h"
#include "machine/topology/cpu_features.h"

#include "tests/unit/machine/store/roofs_directory.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

TestSuite(machine, .init = roofs_directory_make, .fini = directory_remove);

/* Restricts the process to one of its CPUs, which also halves the time of measuring. */
static void use_one_cpu(void)
{
	cpu_set_t set, one;
	int cpu = 0;
	cr_assert_eq(sched_getaffinity(0, sizeof(set), &set), 0);
	while (!CPU_ISSET(cpu, &set))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	cr_assert_eq(sched_setaffinity(0, sizeof(one), &one), 0);
}

/* Finds the one file of roofs; returns how many files there are besides the lock. */
static int cache_files(char *path, size_t size)
{
	char cache[96];
	snprintf(cache, sizeof(cache), "%s/rfprof", directory);
	DIR *dir = opendir(cache);
	int n = 0;
	for (struct dirent *entry; dir && (entry = readdir(dir));) {
		if (entry->d_name[0] == '.' || !strcmp(entry->d_name, "lock"))
			continue;
		snprintf(path, size, "%s/%.200s", cache, entry->d_name);
		n++;
	}
	if (dir)
		closedir(dir);
	return n;
}

static struct roof roof_row(enum roof_kind kind, const char *isa, const char *precision,
			    const char *op, const char *level, int threads, double best)
{
	struct roof roof = {
		.kind = kind, .threads = threads, .best = best, .distinguishable = true};
	roof.isa = roof_isa_find(isa);
	roof.precision = roof_precision_find(precision);
	roof.op = roof_op_find(op);
	roof.level = roof_level_find(level);
	return roof;
}

Test(machine, roofs_are_looked_up_and_interpolated)
{
	struct roof roofs[] = {
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 4, 40),
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 1, 10),
		roof_row(ROOF_COMPUTE, "avx2", "double", "fma", "", 1, 12),
		roof_row(ROOF_COMPUTE, "avx2", "double", "fma", "", 4, 30),
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 16, 100),
		roof_row(ROOF_COMPUTE, "avx512f", "single", "fma", "", 1, 1000),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "L1", 1, 200),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "DRAM", 1, 20),
	};
	const size_t n = sizeof(roofs) / sizeof(roofs[0]);
	const struct {
		enum roof_kind kind;
		const char *isa, *precision, *op, *level;
		double threads, expected;
	} cases[] = {
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 1, 10},
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 4, 40},
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 2.5, 25},
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 10, 70},
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 16, 100},
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 64, 100},
		{ROOF_COMPUTE, "avx512f", "double", "fma", "", 0.5, 10},
		{ROOF_COMPUTE, "avx2", "double", "fma", "", 2, 18},
		{ROOF_COMPUTE, NULL, "double", "fma", "", 1, 12}, /* the fastest of all */
		{ROOF_COMPUTE, NULL, "double", "fma", "", 4, 40},
		{ROOF_COMPUTE, NULL, "double", "fma", "", 2.5, 26},
		{ROOF_COMPUTE, NULL, "single", "fma", "", 1, 1000},
		{ROOF_COMPUTE, NULL, "double", "div", "", 1, 0},
		{ROOF_COMPUTE, "sse2", "double", "fma", "", 1, 0},
		{ROOF_BANDWIDTH, NULL, "", "read", "DRAM", 1, 20},
		{ROOF_BANDWIDTH, NULL, "", "read", "L1", 2, 200},
		{ROOF_BANDWIDTH, NULL, "", "read", "L2", 1, 0},
		{ROOF_BANDWIDTH, NULL, "", "fma", "", 1, 0},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_float_eq(
			machine_roof(roofs, n,
				     (struct roof_key){cases[i].kind,
						       cases[i].isa ? roof_isa_find(cases[i].isa)
								    : ROOF_ISA_ANY,
						       roof_precision_find(cases[i].precision),
						       roof_op_find(cases[i].op),
						       roof_level_find(cases[i].level)},
				     cases[i].threads),
			cases[i].expected, 1e-12, "case %zu", i);
	cr_assert_eq(machine_roof(NULL, 0,
				  roof_compute(ROOF_ISA_ANY, ROOF_PRECISION_DOUBLE, ROOF_OP_FMA),
				  1),
		     0);
}

Test(machine, levels_within_15_percent_are_not_told_apart)
{
	struct roof roofs[] = {
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "L1", 1, 100),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "L2", 1, 50),
		roof_row(ROOF_BANDWIDTH, "sse2", "", "read", "L3", 1, 22),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "DRAM", 1, 20),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "DRAM", 2, 1),    /* other threads */
		roof_row(ROOF_BANDWIDTH, "avx2", "", "write", "DRAM", 1, 300), /* other operation */
		roof_row(ROOF_BANDWIDTH, "avx2", "", "copy", "L2", 1, 23.1),   /* no L3 row */
		roof_row(ROOF_BANDWIDTH, "avx2", "", "copy", "DRAM", 1, 20),
		roof_row(ROOF_COMPUTE, "avx2", "double", "fma", "", 1, 1),
	};
	const bool expected[] = {true, true, false, true, true, true, true, true, true};
	const size_t n = sizeof(roofs) / sizeof(roofs[0]);
	roofs_mark_levels(roofs, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(roofs[i].distinguishable, expected[i], "row %zu", i);
}

static size_t rows_like(const struct machine *machine, struct roof_key key, int threads)
{
	size_t n = 0;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		struct roof roof = machine->roofs[i];
		roof.by_node = false; /* these count, too */
		n += roof_matches(&roof, key) && roof.threads == threads;
	}
	return n;
}

static struct machine measure_tiny(struct topology *topology, const int *counts, size_t n_counts,
				   bool quick)
{
	const struct roofs_wish wish = {
		.counts = counts,
		.n_counts = n_counts,
		.quick = quick,
		.effort = {.repeat_ns = 2000,
			   .search_rounds = 1,
			   .repeats = 2,
			   .stretch = 1,
			   .budget_ns = 1},
	};
	struct machine machine = {.cpu_model = strdup("x")};
	assert_ok(roofs_measure(topology, &wish, &machine));
	return machine;
}

static void assert_rates(const struct roof *roof)
{
	cr_assert_gt(roof->q1, 0);
	cr_assert(roof->q1 <= roof->median && roof->median <= roof->q3 && roof->q3 <= roof->best);
	cr_assert_eq(roof->noisy, roof->q3 - roof->q1 >= 0.05 * roof->median);
	if (roof->kind != ROOF_COMPUTE)
		cr_assert_str_eq(roof->unit, "GB/s");
	else if (!strncmp(roof_precision_name(roof->precision), "int", 3))
		cr_assert_str_eq(roof->unit, "GOP/s");
	else
		cr_assert_str_eq(roof->unit, "GFLOP/s");
	cr_assert_eq(roof->bytes_convention[0] == '\0', roof->kind == ROOF_COMPUTE);
	cr_assert(roof->isa != ROOF_ISA_NONE && roof->isa != ROOF_ISA_UNKNOWN);
	cr_assert_geq(roof->theory, 0);
	cr_assert(roof->n_measured == 1 && roof->n_history == 1);
	cr_assert(roof->history[0].best == roof->best && roof->history[0].when_s > 0);
}

/* Rows of zeros stand beside rows of other data, of which they tell whether these are slower. */
static void assert_zeros(const struct machine *machine)
{
	size_t n = 0;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *row = &machine->roofs[i];
		if (row->kind != ROOF_ZEROS)
			continue;
		n++;
		const struct roof_key zeros = {ROOF_ZEROS, ROOF_ISA_ANY, ROOF_PRECISION_NONE,
					       row->op, row->level};
		const double other =
			machine_roof(machine->roofs, machine->n_roofs,
				     roof_bandwidth(row->op, row->level), row->threads);
		cr_assert_gt(other, 0);
		cr_assert_eq(row->distinguishable, row->best >= 1.15 * other);
		cr_assert_eq(machine_roof(machine->roofs, machine->n_roofs, zeros, row->threads),
			     row->best);
	}
	cr_assert_gt(n, 0);
}

/* With one thread among the counts, and all rows: ascending, and from a cache to the memory. */
static void assert_sizes(const struct machine *machine, bool quick)
{
	cr_assert_eq(machine->n_sizes > 0, !quick);
	for (size_t i = 0; i < machine->n_sizes; i++) {
		const struct size_point *at = &machine->sizes[i];
		cr_assert(i == 0 || at->bytes > at[-1].bytes);
		cr_assert(at->latency_ns > 0 && at->latency_ns <= at->latency_median_ns);
		cr_assert(at->read_median_gbs > 0 && at->read_median_gbs <= at->read_gbs);
	}
}

/* Caches so small that equal steps of the logarithm are less than what a size is rounded to. */
Test(machine, sizes_ascend_for_small_caches_too)
{
	const int one = 1;
	struct topology topology;
	assert_ok(topology_read(&topology));
	for (int i = 0; i < topology.n_cpus; i++)
		for (int level = 0; level < TOPOLOGY_LEVELS; level++)
			topology.cpus[i].caches[level].bytes = 16384 << level;
	struct machine machine = measure_tiny(&topology, &one, 1, false);
	assert_sizes(&machine, false);
	cr_assert_lt(machine.n_sizes, 32);
	machine_deinit(&machine);
	topology_deinit(&topology);
}

/* One row of each compute kernel that this CPU runs. */
static void assert_compute_rows(const struct machine *machine, int threads, bool quick)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		bool runs = false;
		for (size_t k = 0; k < n_compute_kernels; k++)
			runs |= compute_kernels[k].isa == kernel->isa &&
				compute_kernels[k].precision == kernel->precision &&
				compute_kernels[k].op == kernel->op &&
				cpu_has(compute_kernels[k].needs);
		cr_assert_eq(rows_like(machine,
				       roof_compute(kernel->isa, kernel->precision, kernel->op),
				       threads),
			     runs && (kernel->quick || !quick) ? 1 : 0, "%s %s %s",
			     roof_isa_name(kernel->isa), roof_precision_name(kernel->precision),
			     roof_op_name(kernel->op));
	}
}

/* Bytes: threads of one core may have less of its first level to each, which is then not measured.
 */
#define LEVEL_LEAST 12288

static void assert_bandwidth_rows(const struct machine *machine, const struct topology *topology,
				  int threads)
{
	for (enum roof_level level = ROOF_LEVEL_L1; level <= ROOF_LEVEL_DRAM; level++) {
		const uint64_t bytes =
			level == ROOF_LEVEL_DRAM
				? LEVEL_LEAST
				: roofs_level_bytes(topology, level - ROOF_LEVEL_L1 + 1, threads);
		const bool there = bytes >= LEVEL_LEAST;
		for (enum roof_op op = ROOF_OP_READ; op <= ROOF_OP_CHASE; op++) {
			cr_assert_eq(rows_like(machine, roof_bandwidth(op, level), threads), there,
				     "%s %s", roof_level_name(level), roof_op_name(op));
		}
	}
}

Test(machine, there_is_one_row_for_each_roof_and_thread_count)
{
	struct topology topology;
	assert_ok(topology_read(&topology));
	int counts[] = {1, topology.usable_threads};
	size_t n_counts = counts[1] > 1 ? 2 : 1;
	for (int quick = 0; quick < 2; quick++) {
		struct machine machine = measure_tiny(&topology, counts, n_counts, quick);
		cr_assert_eq(machine.n_counts, n_counts);
		for (size_t c = 0; c < n_counts; c++) {
			assert_compute_rows(&machine, counts[c], quick);
			assert_bandwidth_rows(&machine, &topology, counts[c]);
			cr_assert_eq(machine.counts[c].threads, counts[c]);
			cr_assert_eq(machine.counts[c].complete, !quick);
		}
		for (size_t i = 0; i < machine.n_roofs; i++)
			assert_rates(&machine.roofs[i]);
		assert_zeros(&machine);
		assert_sizes(&machine, quick);
		machine_deinit(&machine);
	}
	topology_deinit(&topology);
}

static size_t node_rows(const struct machine *machine, int cpu_node, int memory_node)
{
	size_t n = 0;
	for (size_t i = 0; i < machine->n_roofs; i++)
		n += machine->roofs[i].by_node && machine->roofs[i].cpu_node == cpu_node &&
		     machine->roofs[i].memory_node == memory_node;
	return n;
}

static bool has_note(const struct machine *machine, const char *text);

/* A machine of two NUMA nodes, of which this one is the first and the second does not exist: local
 * rows are measured, the other's are noted as refused. */
Test(machine, each_pair_of_nodes_has_rows)
{
	struct topology topology;
	assert_ok(topology_read(&topology));
	if (topology.n_nodes != 1 || topology.cpus[0].numa_node != 0)
		cr_skip_test("not a machine of one NUMA node");
	int nodes[] = {topology.nodes[0], 1000}, count = topology.usable_threads;
	int *real_nodes = topology.nodes;
	topology.nodes = nodes;
	topology.n_nodes = 2;
	struct machine machine = measure_tiny(&topology, &count, 1, false);
	cr_assert_eq(node_rows(&machine, 0, 0), 11 + 2); /* bandwidth at DRAM, random access */
	cr_assert_eq(node_rows(&machine, 0, 1), 0);
	cr_assert_eq(node_rows(&machine, 1, 0), 0); /* no CPU is there */
	cr_assert(has_note(&machine, "cannot take memory of NUMA node 1000"));
	cr_assert_eq(rows_like(&machine, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM), count), 2);
	machine_deinit(&machine);
	topology.nodes = real_nodes;
	topology_deinit(&topology);
}

static bool has_note(const struct machine *machine, const char *text)
{
	for (size_t i = 0; i < machine->n_notes; i++)
		if (strstr(machine->notes[i], text))
			return true;
	return false;
}

Test(machine, limits_are_kept_and_noted)
{
	struct topology topology;
	use_one_cpu();
	assert_ok(topology_read(&topology));
	topology.limits.cpus = 0.5;
	topology.memory_available = UINT64_C(32) << 20; /* half of it is less than any DRAM size */
	int one = 1;
	struct machine machine = measure_tiny(&topology, &one, 1, true);
	cr_assert(has_note(&machine, "quota of the control group is 0.50 CPUs"));
	cr_assert(has_note(&machine, "DRAM was measured in "));
	cr_assert_eq(rows_like(&machine, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM), 1), 1);
	machine_deinit(&machine);
	topology_deinit(&topology);
}

Test(machine, missing_caches_are_noted)
{
	struct topology topology;
	use_one_cpu();
	assert_ok(topology_read(&topology));
	memset(topology.cpus[0].caches, 0, sizeof(topology.cpus[0].caches));
	int one = 1;
	struct machine machine = measure_tiny(&topology, &one, 1, true);
	cr_assert(has_note(&machine, "no L1 cache"));
	cr_assert(has_note(&machine, "no L3 cache"));
	cr_assert_eq(rows_like(&machine, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_L1), 1), 0);
	cr_assert_eq(rows_like(&machine, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM), 1), 1);
	machine_deinit(&machine);
	topology_deinit(&topology);
}

struct steps {
	int last, n_steps, wrong;
};

static void note_step(void *context, const char *what, int step, int n_steps)
{
	struct steps *steps = context;
	steps->wrong += step != steps->last + 1 || !what[0] ||
			(steps->n_steps && steps->n_steps != n_steps);
	steps->last = step;
	steps->n_steps = n_steps;
}

/* machine_get() that must succeed; returns whether there was a warning. */
static bool get(bool refresh, struct machine *machine, struct steps *steps)
{
	struct machine_options options = {.refresh = refresh,
					  .quick = true,
					  .progress = note_step,
					  .progress_context = steps};
	struct rf_error *warning = NULL;
	*steps = (struct steps){0};
	assert_ok(machine_get(&options, machine, &warning));
	bool warned = warning != NULL;
	rf_error_destroy(warning);
	return warned;
}

static void assert_measured(struct machine *machine, const struct steps *steps)
{
	cr_assert_not(machine->from_cache);
	cr_assert_eq(steps->wrong, 0);
	cr_assert_gt(steps->n_steps, 0);
	cr_assert_eq(steps->last, steps->n_steps);
	cr_assert_gt(machine->n_roofs, 0);
	machine_deinit(machine);
}

static void assert_from_cache(struct machine *machine, const struct steps *steps)
{
	cr_assert(machine->from_cache);
	cr_assert_eq(steps->n_steps, 0);
	cr_assert_gt(machine->n_roofs, 0);
	machine_deinit(machine);
}

static void put(const char *path, const char *content)
{
	FILE *file = fopen(path, "we");
	cr_assert_not_null(file);
	fputs(content, file);
	fclose(file);
}

Test(machine, is_measured_once_and_then_read)
{
	struct machine machine;
	struct steps steps;
	char path[320];
	use_one_cpu();
	cr_assert_not(get(false, &machine, &steps));
	cr_assert_eq(machine.usable_threads, 1);
	cr_assert(machine.clock_ghz > 0.1 && machine.clock_ghz < 10);
	for (size_t i = 0; i < machine.n_roofs; i++)
		cr_assert_eq(machine.roofs[i].threads, 1);
	assert_measured(&machine, &steps);
	cr_assert_eq(cache_files(path, sizeof(path)), 1);
	cr_assert_not(get(false, &machine, &steps));
	assert_from_cache(&machine, &steps);
	cr_assert_not(get(true, &machine, &steps));
	assert_measured(&machine, &steps);
}

Test(machine, what_is_kept_is_taken_without_measuring)
{
	struct kept_store *store = kept_store_create();
	const struct machine_options options = {.quick = true, .kept = store};
	char path[512];
	struct machine kept = {0}, machine;
	use_one_cpu();
	cr_expect_not(machine_kept(&options, &kept));
	cr_expect_eq(cache_files(path, sizeof(path)), 0, "nothing was measured");
	cr_assert_null(machine_get(&options, &machine, NULL));
	usleep(2100000); /* from here on what was read is kept in another form, too */
	for (int round = 0; round < 3; round++) {
		cr_assert(machine_kept(&options, &kept));
		cr_assert(kept.from_cache);
		cr_assert_eq(kept.n_roofs, machine.n_roofs);
		for (size_t i = 0; i < kept.n_roofs; i++)
			cr_expect_eq(kept.roofs[i].best, machine.roofs[i].best);
		machine_deinit(&kept);
	}
	cr_expect_not(machine_kept(&(struct machine_options){0}, &kept), "rows are missing");
	char roofs[400];
	snprintf(roofs, sizeof(roofs), "truncate -s 1000 %s/rfprof/*.json", directory);
	cr_assert_eq(system(roofs), 0);
	cr_expect_not(machine_kept(&options, &kept), "a broken file");
	kept_store_destroy(store);
	machine_deinit(&machine);
}

Test(machine, corrupt_or_stale_file_is_measured_again)
{
	struct machine machine;
	struct steps steps;
	char path[320];
	use_one_cpu();
	cr_assert_not(get(false, &machine, &steps));
	assert_measured(&machine, &steps);
	cr_assert_eq(cache_files(path, sizeof(path)), 1);
	put(path, "{\"key\": {\"version\"");
	cr_assert(get(false, &machine, &steps)); /* with a warning */
	assert_measured(&machine, &steps);
	put(path, "{\"key\": {\"version\": 0}, \"machine\": {}}");
	cr_assert_not(get(false, &machine, &steps)); /* without */
	assert_measured(&machine, &steps);
	cr_assert_not(get(false, &machine, &steps));
	assert_from_cache(&machine, &steps);
	cr_assert_eq(cache_files(path, sizeof(path)), 1);
}

Test(machine, works_without_a_place_for_the_cache)
{
	struct machine machine;
	struct steps steps;
	use_one_cpu();
	unsetenv("HOME");
	unsetenv("XDG_CACHE_HOME");
	cr_assert(get(false, &machine, &steps));
	assert_measured(&machine, &steps);
	setenv("XDG_CACHE_HOME", "/proc/self/status", 1);
	struct machine_options options = {.quick = true};
	assert_ok(machine_get(&options, &machine, NULL)); /* no progress, no warning wanted */
	machine_deinit(&machine);
}

/* In a child: exit status 10 when the roofs were measured, 11 when they were read. */
static pid_t start_getting(void)
{
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child)
		return child;
	struct machine_options options = {.quick = true};
	struct machine machine;
	struct rf_error *warning = NULL;
	if (machine_get(&options, &machine, &warning) || warning)
		_exit(12);
	_exit(machine.from_cache ? 11 : 10);
}

Test(machine, of_two_processes_at_once_one_measures)
{
	int statuses[2], sum = 0;
	char path[320];
	use_one_cpu();
	pid_t children[] = {start_getting(), start_getting()};
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(waitpid(children[i], &statuses[i], 0), children[i]);
		cr_assert(WIFEXITED(statuses[i]));
		sum += WEXITSTATUS(statuses[i]);
	}
	cr_assert_eq(sum, 10 + 11);
	cr_assert_eq(cache_files(path, sizeof(path)), 1);
}

static void interrupt(void *context, const char *what, int step, int n_steps)
{
	if (step == n_steps / 2)
		raise(SIGINT);
}

Test(machine, interrupt_leaves_no_file)
{
	char path[320];
	int status;
	use_one_cpu();
	pid_t child = fork();
	cr_assert_geq(child, 0);
	if (!child) {
		struct machine_options options = {.quick = true, .progress = interrupt};
		struct machine machine;
		signal(SIGINT, SIG_DFL);
		rf_error_destroy(machine_get(&options, &machine, NULL));
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	cr_assert_eq(cache_files(path, sizeof(path)), 0);
}

static char *table_of(const struct machine *machine, const int *threads, size_t n_threads)
{
	char *text;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	assert_ok(machine_print(machine, threads, n_threads, stream));
	fclose(stream);
	return text;
}

static int lines_with(const char *text, const char *wanted)
{
	int n = 0;
	for (const char *at = text; (at = strstr(at, wanted)); at++)
		n++;
	return n;
}

Test(machine, table_shows_every_roof)
{
	struct roof roofs[] = {
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 1, 117.85),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "L3", 1, 14.6),
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 4, 467.25),
		roof_row(ROOF_BANDWIDTH, "sse2", "", "read", "L3", 4, 33.5),
		roof_row(ROOF_BANDWIDTH, "sse2", "", "read", "DRAM", 4, 9.25),
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 8, 900.5),
	};
	char *notes[] = {"something to note"};
	struct machine_count counts[] = {{1, true}, {4, true}, {8, false}};
	struct machine machine = {.cpu_model = "Example CPU",
				  .microarchitecture = "Example Lake",
				  .usable_threads = 8,
				  .clock_ghz = 3.77,
				  .clock_fp_ghz = 3.5,
				  .caches = {{2, 1 << 20, 64, 16, 1}},
				  .n_caches = 1,
				  .counts = counts,
				  .n_counts = 3,
				  .roofs = roofs,
				  .n_roofs = 6,
				  .notes = notes,
				  .n_notes = 1};
	roofs[1].distinguishable = false;
	roofs[3].noisy = true;
	roofs[4].by_node = true;
	roofs[4].memory_node = 1;
	roofs[0].theory = 120;
	strcpy(roofs[1].bytes_convention, "8 B/element loaded");
	const int four[] = {1, 4};
	char *text = table_of(&machine, four, 2);
	cr_assert_not_null(strstr(text,
				  "Example CPU (Example Lake), 8 usable hardware threads, 3.77 GHz "
				  "(3.50 GHz under vector code)\n"));
	cr_assert_not_null(strstr(text, "L2 1024 KiB, lines of 64 B, shared by 1\n"));
	cr_assert_not_null(strstr(text, "117.85"));
	cr_assert_not_null(strstr(text, "98.2 %"));
	cr_assert_not_null(strstr(text, "467.25"));
	cr_assert_null(strstr(text, "900.50"));
	cr_assert_not_null(strstr(text, "=14.60"));
	cr_assert_not_null(strstr(text, "~33.50"));
	cr_assert_not_null(strstr(text, "0 → 1 remote"));
	cr_assert_not_null(strstr(text, "8 B/element loaded\n"));
	cr_assert_not_null(strstr(text, "shown by --threads: 8\n"));
	cr_assert_not_null(strstr(text, "note: something to note\n"));
	cr_assert_eq(lines_with(text, "avx512f"), 1, "one line for all thread counts");
	free(text);
	text = table_of(&machine, NULL, 0); /* the lowest and the highest count */
	cr_assert_not_null(strstr(text, "900.50"));
	cr_assert_null(strstr(text, "467.25"));
	free(text);
}

/* ---- merging ---- */

static struct machine machine_at(int threads, bool complete, double best)
{
	struct machine machine = {.n_counts = 1, .n_roofs = 2, .n_notes = 1};
	machine.counts = calloc(1, sizeof(*machine.counts));
	machine.counts[0] = (struct machine_count){threads, complete};
	machine.roofs = calloc(2, sizeof(*machine.roofs));
	machine.roofs[0] = roof_row(ROOF_COMPUTE, "avx2", "double", "fma", "", threads, best);
	machine.roofs[1] = roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "L1", threads, best);
	machine.notes = calloc(1, sizeof(*machine.notes));
	machine.notes[0] = strdup("the same note");
	return machine;
}

Test(machine, other_thread_counts_are_kept)
{
	struct machine newer = machine_at(2, true, 20), older = machine_at(1, false, 10);
	assert_ok(machine_merge(&newer, &older));
	machine_deinit(&older);
	cr_assert_eq(newer.n_counts, 2);
	cr_assert(newer.counts[0].threads == 1 && newer.counts[1].threads == 2);
	cr_assert(machine_has_count(&newer, 1, true) && !machine_has_count(&newer, 1, false));
	cr_assert(machine_has_count(&newer, 2, false) && !machine_has_count(&newer, 4, true));
	cr_assert_eq(newer.n_roofs, 4);
	const double best[] = {10, 10, 20, 20};
	for (int i = 0; i < 4; i++) {
		cr_assert_eq(newer.roofs[i].best, best[i]);
		cr_assert_eq(newer.roofs[i].kind, i % 2 ? ROOF_BANDWIDTH : ROOF_COMPUTE,
			     "order kept");
	}
	cr_assert_eq(newer.n_notes, 1);
	older = machine_at(2, true, 5); /* the same count: the newer rows stay */
	assert_ok(machine_merge(&newer, &older));
	machine_deinit(&older);
	cr_assert_eq(newer.n_roofs, 4);
	cr_assert_eq(newer.roofs[2].best, 20);
	machine_deinit(&newer);
}

/* A row that was measured before keeps its best; one without a history (older files, or a history
 * that the user has had forgotten) does not count. */
Test(machine, histories_go_on)
{
	struct machine newer = machine_at(2, true, 10), older = machine_at(2, false, 20);
	roof_history_add(&newer.roofs[0], 2000, 10);
	roof_history_add(&newer.roofs[1], 2000, 10);
	roof_history_add(&older.roofs[0], 1000, 20);
	assert_ok(machine_merge(&newer, &older));
	machine_deinit(&older);
	const struct roof *row = &newer.roofs[0];
	cr_assert(row->best == 20 && row->n_measured == 2 && row->n_history == 2);
	cr_assert(row->history[0].when_s == 1000 && row->history[1].best == 10);
	cr_assert(newer.roofs[1].best == 10 && newer.roofs[1].n_measured == 1);
	cr_assert_eq(newer.n_roofs, 2);
	machine_deinit(&newer);
}

/* A quick measurement is enough for a quick request and is completed for a full one. */
Test(machine, thread_counts_that_are_missing_are_measured)
{
	struct topology topology;
	assert_ok(topology_read(&topology));
	int all = topology.usable_threads;
	topology_deinit(&topology);
	if (all < 2)
		cr_skip_test("one hardware thread");
	const int one = 1, two = 2, too_many = all + 1;
	struct machine_options options = {.quick = true, .threads = &one, .n_threads = 1};
	struct machine machine;
	assert_ok(machine_get(&options, &machine, NULL));
	cr_assert_eq(machine.n_counts, 1);
	machine_deinit(&machine);
	options.threads = &two;
	assert_ok(machine_get(&options, &machine, NULL));
	cr_assert_not(machine.from_cache);
	cr_assert_eq(machine.n_counts, 2);
	cr_assert_eq(rows_like(&machine, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM), 1), 1);
	cr_assert_eq(rows_like(&machine, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM), 2), 1);
	machine_deinit(&machine);
	options.threads = &one;
	assert_ok(machine_get(&options, &machine, NULL));
	cr_assert(machine.from_cache);
	machine_deinit(&machine);
	options.threads = &too_many;
	struct rf_error *error = machine_get(&options, &machine, NULL);
	cr_assert_not_null(error);
	cr_assert_eq(error->code, RF_EINPUT);
	rf_error_destroy(error);
}

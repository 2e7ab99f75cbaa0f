#include "machine/compute_kernels.h"
#include "machine/cpu_features.h"
#include "machine/machine.h"
#include "machine/machine_print.h"
#include "machine/roofs.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char directory[64];

static void make_directory(void)
{
	strcpy(directory, "/tmp/rfprof-machine-XXXXXX");
	cr_assert_not_null(mkdtemp(directory));
	setenv("XDG_CACHE_HOME", directory, 1);
}

static void remove_directory(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", directory);
	cr_assert_eq(system(command), 0);
}

TestSuite(machine, .init = make_directory, .fini = remove_directory);

static void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}

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
	struct roof roof = { .kind = kind, .threads = threads, .best = best, .distinguishable = true };
	strcpy(roof.isa, isa);
	strcpy(roof.precision, precision);
	strcpy(roof.op, op);
	strcpy(roof.level, level);
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
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 1, 10 },
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 4, 40 },
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 2.5, 25 },
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 10, 70 },
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 16, 100 },
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 64, 100 },
		{ ROOF_COMPUTE, "avx512f", "double", "fma", "", 0.5, 10 },
		{ ROOF_COMPUTE, "avx2", "double", "fma", NULL, 2, 18 },
		{ ROOF_COMPUTE, NULL, "double", "fma", "", 1, 12 }, /* the fastest of all */
		{ ROOF_COMPUTE, NULL, "double", "fma", "", 4, 40 },
		{ ROOF_COMPUTE, NULL, "double", "fma", "", 2.5, 26 },
		{ ROOF_COMPUTE, NULL, "single", "fma", "", 1, 1000 },
		{ ROOF_COMPUTE, NULL, "double", "div", "", 1, 0 },
		{ ROOF_COMPUTE, "sse2", "double", "fma", "", 1, 0 },
		{ ROOF_BANDWIDTH, NULL, "", "read", "DRAM", 1, 20 },
		{ ROOF_BANDWIDTH, NULL, "", "read", "L1", 2, 200 },
		{ ROOF_BANDWIDTH, NULL, "", "read", "L2", 1, 0 },
		{ ROOF_BANDWIDTH, NULL, "", "fma", "", 1, 0 },
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		cr_assert_float_eq(machine_roof(roofs, n, cases[i].kind, cases[i].isa,
						cases[i].precision, cases[i].op, cases[i].level,
						cases[i].threads),
				   cases[i].expected, 1e-12, "case %zu", i);
	cr_assert_eq(machine_roof(NULL, 0, ROOF_COMPUTE, NULL, "double", "fma", "", 1), 0);
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
	const bool expected[] = { true, true, false, true, true, true, true, true, true };
	const size_t n = sizeof(roofs) / sizeof(roofs[0]);
	roofs_mark_levels(roofs, n);
	for (size_t i = 0; i < n; i++)
		cr_assert_eq(roofs[i].distinguishable, expected[i], "row %zu", i);
}

static size_t rows_like(const struct machine *machine, const char *isa, const char *precision,
			const char *op, const char *level, int threads)
{
	size_t n = 0;
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *roof = &machine->roofs[i];
		n += (!isa || !strcmp(roof->isa, isa)) && !strcmp(roof->precision, precision) &&
		     !strcmp(roof->op, op) && !strcmp(roof->level, level) && roof->threads == threads;
	}
	return n;
}

/* True when this CPU runs one of the kernels of a row: they may need different things. */
static bool has_kernel_like(const struct compute_kernel *row)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!strcmp(kernel->isa, row->isa) && !strcmp(kernel->precision, row->precision) &&
		    !strcmp(kernel->op, row->op) && cpu_has(kernel->needs))
			return true;
	}
	return false;
}

static const struct measure_effort tiny = { .repeat_ns = 2000, .search_repeats = 1, .repeats = 2,
					    .max_batches = 1 };

static struct machine measure_tiny(struct topology *topology)
{
	struct machine_options options = { 0 };
	struct machine machine = { .cpu_model = strdup("x") };
	assert_ok(roofs_measure(topology, &tiny, &options, &machine));
	return machine;
}

Test(machine, there_is_one_row_for_each_roof_and_thread_count)
{
	static const char *const ops[] = { "read", "write", "copy", "triad" };
	static const char *const nt_ops[] = { "write_nt", "copy_nt", "triad_nt" };
	struct topology topology;
	assert_ok(topology_read(&topology));
	struct machine machine = measure_tiny(&topology);
	int counts[] = { 1, topology.usable_threads };
	for (int c = 0; c < 2; c++) {
		for (size_t i = 0; i < n_compute_kernels; i++) {
			const struct compute_kernel *kernel = &compute_kernels[i];
			cr_assert_eq(rows_like(&machine, kernel->isa, kernel->precision, kernel->op, "",
					       counts[c]),
				     has_kernel_like(kernel) ? 1 : 0);
		}
		for (int op = 0; op < 4; op++) {
			cr_assert_eq(rows_like(&machine, NULL, "", ops[op], "DRAM", counts[c]), 1);
			for (int level = 1; level <= 3; level++) {
				char name[] = { 'L', '0' + level, '\0' };
				cr_assert_eq(rows_like(&machine, NULL, "", ops[op], name, counts[c]),
					     topology_share_bytes(&topology, level, 1) ? 1 : 0);
			}
		}
		for (int op = 0; op < 3; op++)
			cr_assert_eq(rows_like(&machine, NULL, "", nt_ops[op], "DRAM", counts[c]), 1);
	}
	for (size_t i = 0; i < machine.n_roofs; i++) {
		const struct roof *roof = &machine.roofs[i];
		cr_assert_gt(roof->q1, 0);
		cr_assert(roof->q1 <= roof->median && roof->median <= roof->q3 &&
			  roof->q3 <= roof->best);
		cr_assert_str_eq(roof->unit, roof->kind != ROOF_COMPUTE ? "GB/s" :
				 !strncmp(roof->precision, "int", 3) ? "GOP/s" : "GFLOP/s");
		cr_assert_eq(roof->bytes_convention[0] == '\0', roof->kind == ROOF_COMPUTE);
	}
	machine_deinit(&machine);
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
	struct machine machine = measure_tiny(&topology);
	cr_assert(has_note(&machine, "quota of the control group is 0.50 CPUs"));
	cr_assert(has_note(&machine, "DRAM was measured in "));
	cr_assert_eq(rows_like(&machine, NULL, "", "read", "DRAM", 1), 1);
	machine_deinit(&machine);
	topology_deinit(&topology);
}

Test(machine, missing_caches_are_noted)
{
	struct topology topology;
	use_one_cpu();
	assert_ok(topology_read(&topology));
	memset(topology.cpus[0].caches, 0, sizeof(topology.cpus[0].caches));
	struct machine machine = measure_tiny(&topology);
	cr_assert(has_note(&machine, "no L1 cache"));
	cr_assert(has_note(&machine, "no L3 cache"));
	cr_assert_eq(rows_like(&machine, NULL, "", "read", "L1", 1), 0);
	cr_assert_eq(rows_like(&machine, NULL, "", "read", "DRAM", 1), 1);
	machine_deinit(&machine);
	topology_deinit(&topology);
}

struct steps { int last, n_steps, wrong; };

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
	struct machine_options options = { .refresh = refresh, .progress = note_step,
					   .progress_context = steps };
	struct rf_error *warning = NULL;
	*steps = (struct steps){ 0 };
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
	struct machine_options options = { 0 };
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
	struct machine_options options = { 0 };
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
	pid_t children[] = { start_getting(), start_getting() };
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
		struct machine_options options = { .progress = interrupt };
		struct machine machine;
		signal(SIGINT, SIG_DFL);
		rf_error_destroy(machine_get(&options, &machine, NULL));
		_exit(0);
	}
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
	cr_assert_eq(cache_files(path, sizeof(path)), 0);
}

Test(machine, table_shows_every_roof)
{
	struct roof roofs[] = {
		roof_row(ROOF_COMPUTE, "avx512f", "double", "fma", "", 1, 117.85),
		roof_row(ROOF_BANDWIDTH, "avx2", "", "read", "L3", 2, 14.6),
	};
	char *notes[] = { "something to note" };
	struct machine machine = { .cpu_model = "Example CPU", .usable_threads = 2, .clock_ghz = 3.77,
				   .caches = { { 2, 1 << 20, 64, 16, 1 } }, .n_caches = 1,
				   .roofs = roofs, .n_roofs = 2, .notes = notes, .n_notes = 1 };
	char *text;
	size_t size;
	roofs[1].distinguishable = false;
	FILE *stream = open_memstream(&text, &size);
	assert_ok(machine_print(&machine, stream));
	fclose(stream);
	cr_assert_not_null(strstr(text, "Example CPU, 2 usable hardware threads, 3.77 GHz\n"));
	cr_assert_not_null(strstr(text, "L2 1024 KiB, lines of 64 B, shared by 1\n"));
	cr_assert_not_null(strstr(text, "117.85"));
	cr_assert_not_null(strstr(text, "14.60"));
	cr_assert_not_null(strstr(text, "not above the next level"));
	cr_assert_not_null(strstr(text, "note: something to note\n"));
	int lines = 0;
	for (const char *at = text; *at; at++)
		lines += *at == '\n';
	cr_assert_eq(lines, 1 + 1 + 1 + 2 + 1); /* CPU, cache, heading, roofs, note */
	free(text);
}

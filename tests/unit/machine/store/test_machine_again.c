#include "machine/data/roof_history.h"
#include "machine/store/machine_again.h"
#include "machine/store/machine_get.h"
#include "machine/store/roof_cache.h"

#include "tests/unit/machine/store/roofs_directory.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BUDGET_NS \
	UINT64_C(2000000000) /* for all rows of a quick measurement, on a busy machine too */

TestSuite(machine_again, .init = roofs_directory_make, .fini = directory_remove);

/* A row of this machine, measured a day ago: `best` is no roof of any machine. */
static struct roof old_row(enum roof_op op, enum roof_level level, double best)
{
	struct roof row = {.kind = ROOF_BANDWIDTH,
			   .isa = ROOF_ISA_SSE2,
			   .op = op,
			   .level = level,
			   .threads = 1,
			   .best = best,
			   .median = best,
			   .q1 = best,
			   .q3 = best,
			   .unit = "GB/s",
			   .distinguishable = true};
	roof_history_add(&row, time(NULL) - 86400, best);
	return row;
}

/* The file of this machine with these rows; returns its path and key. */
static char *keep(struct roof *roofs, size_t n, json_t **key)
{
	struct topology topology;
	struct machine_count count = {1, false};
	assert_ok(topology_read(&topology));
	struct machine machine = {.cpu_model = topology.cpu_model,
				  .usable_threads = topology.usable_threads,
				  .clock_ghz = 1,
				  .clock_fp_ghz = 1,
				  .counts = &count,
				  .n_counts = 1,
				  .roofs = roofs,
				  .n_roofs = n};
	char *cache, *path;
	*key = roof_cache_key(&topology);
	assert_ok(keep_place_directory(&roof_cache_place, &cache));
	assert_ok(keep_place_prepare(&roof_cache_place, cache));
	path = roof_cache_path(cache, *key);
	assert_ok(roof_cache_save(path, *key, &machine));
	topology_deinit(&topology);
	free(cache);
	return path;
}

/* Measures again until the machine was idle enough for it, at most a few seconds. */
static void measure(struct machine *machine)
{
	for (int i = 0; i < 200; i++) {
		assert_ok(machine_measure_again(BUDGET_NS, machine));
		if (machine->roofs[0].now > 0)
			return;
		usleep(20000);
	}
	cr_skip_test("something else keeps all processors busy");
}

Test(machine_again, a_slower_machine_is_seen_and_a_better_roof_kept)
{
	struct roof roofs[] = {old_row(ROOF_OP_READ, ROOF_LEVEL_L1, 1e6),
			       old_row(ROOF_OP_WRITE, ROOF_LEVEL_L1, 1e-3)};
	json_t *key;
	char *path = keep(roofs, 2, &key);
	struct machine machine = {.roofs = roofs, .n_roofs = 2}, kept;
	measure(&machine);
	cr_assert(roofs[0].now > 1 && roofs[0].now < 1e5);
	cr_assert(roofs[0].best == 1e6 && roofs[0].median == 1e6 && roofs[0].n_measured == 2);
	cr_assert_eq(roof_history_slow(&roofs[0]), 1);
	cr_assert(roofs[1].best == roofs[1].now && roofs[1].best > 1);
	cr_assert(roofs[1].median > 0.1 && roofs[1].median <= roofs[1].best,
		  "statistics of the slower mode");
	assert_ok(roof_cache_load(path, key, &kept));
	cr_assert(kept.roofs[0].n_measured == 2 && kept.roofs[1].best == roofs[1].best);
	cr_assert_eq(kept.roofs[0].now, 0, "never kept");
	machine_deinit(&kept);
	/* what is so new is not measured again, and counts as now */
	roofs[0].now = 0;
	measure(&machine);
	cr_assert(roofs[0].n_measured == 2 && roofs[0].now == roofs[0].history[1].best,
		  "%g now, %g in history, %u times", roofs[0].now, roofs[0].history[1].best,
		  roofs[0].n_measured);
	json_decref(key);
	free(path);
}

/* A file of before there were histories, or another kind of row than this version knows. */
Test(machine_again, rows_without_a_history_begin_one)
{
	struct roof roofs[] = {old_row(ROOF_OP_READ, ROOF_LEVEL_L1, 1e-3),
			       old_row(ROOF_OP_UNKNOWN, ROOF_LEVEL_UNKNOWN, 7)};
	json_t *key;
	roofs[0].n_measured = roofs[0].n_history = 0;
	char *path = keep(roofs, 2, &key);
	struct machine machine = {.roofs = roofs, .n_roofs = 2};
	measure(&machine);
	cr_assert(roofs[0].n_measured == 1 && roofs[0].best > 1);
	cr_assert(roofs[1].n_measured == 1 && roofs[1].best == 7);
	json_decref(key);
	free(path);
}

Test(machine_again, nothing_is_measured_beside_another_process)
{
	struct roof roofs[] = {old_row(ROOF_OP_READ, ROOF_LEVEL_L1, 1)};
	json_t *key;
	char *path = keep(roofs, 1, &key), cache[96];
	struct machine machine = {.roofs = roofs, .n_roofs = 1};
	snprintf(cache, sizeof(cache), "%s/rfprof", directory);
	const int lock = keep_file_lock(cache, 0);
	assert_ok(machine_measure_again(BUDGET_NS, &machine));
	cr_assert(roofs[0].n_measured == 1 && roofs[0].now == 0);
	close(lock);
	json_decref(key);
	free(path);
}

Test(machine_again, nothing_is_measured_without_a_file)
{
	struct roof roofs[] = {old_row(ROOF_OP_READ, ROOF_LEVEL_L1, 1)};
	struct machine machine = {.roofs = roofs, .n_roofs = 1};
	assert_ok(machine_measure_again(BUDGET_NS, &machine));
	cr_assert(roofs[0].n_measured == 1 && roofs[0].now == 0);
}

Test(machine_again, no_time_no_measurement)
{
	struct roof roofs[] = {old_row(ROOF_OP_READ, ROOF_LEVEL_L1, 1)};
	json_t *key;
	char *path = keep(roofs, 1, &key);
	struct machine machine = {.roofs = roofs, .n_roofs = 1};
	assert_ok(machine_measure_again(1000, &machine));
	cr_assert(roofs[0].n_measured == 1 && roofs[0].now == 0);
	json_decref(key);
	free(path);
}

Test(machine_again, load_is_read_from_the_kernel)
{
	cr_expect_eq(machine_idle_threads("0.20 0.18 0.12 1/80 11206", 8), 8);
	cr_expect_eq(machine_idle_threads("9.00 8.00 7.00 4/80 11206", 8), 5);
	cr_expect_eq(machine_idle_threads("9.00 8.00 7.00 40/80 11206", 8), 0);
	cr_expect_eq(machine_idle_threads("", 8), 8);
	cr_expect_eq(machine_idle_threads("nonsense", 8), 8);
}

#include "machine/data/machine_json.h"
#include "machine/store/kept_machine.h"
#include "machine/store/roof_cache.h"

#include "tests/unit/machine/store/roofs_directory.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

TestSuite(roof_cache, .init = roofs_directory_make, .fini = directory_remove);

static void assert_error(struct rf_error *error, enum rf_error_code code)
{
	cr_assert_not_null(error);
	cr_assert_eq(error->code, code, "%s", error->message);
	rf_error_destroy(error);
}

static struct roof example_roofs[] = {
	{.kind = ROOF_COMPUTE,
	 .isa = ROOF_ISA_AVX512F,
	 .precision = ROOF_PRECISION_DOUBLE,
	 .op = ROOF_OP_FMA,
	 .threads = 2,
	 .best = 232.80000000000001,
	 .median = 227.5,
	 .q1 = 226.25,
	 .q3 = 230.125,
	 .theory = 235.1,
	 .unit = "GFLOP/s",
	 .n_measured = 9,
	 .n_history = 2,
	 .history = {{1763769600, 232.80000000000001}, {1763856000, 120.5}},
	 .distinguishable = true},
	{.kind = ROOF_BANDWIDTH,
	 .isa = ROOF_ISA_SSE2,
	 .op = ROOF_OP_TRIAD,
	 .level = ROOF_LEVEL_DRAM,
	 .threads = 1,
	 .by_node = true,
	 .cpu_node = 0,
	 .memory_node = 1,
	 .best = 1.0 / 3,
	 .median = 0.25,
	 .q1 = 0.2,
	 .q3 = 0.3,
	 .unit = "GB/s",
	 .noisy = true,
	 .bytes_convention = "24 B/element: 2 loads, store; write-allocate not counted"},
};

static struct machine_count example_counts[] = {{1, true}, {2, false}};

static struct size_point example_sizes[] = {{8192, 1.25, 1.5, 240.5, 230},
					    {UINT64_C(1) << 27, 110.5, 120, 33, 30.25}};

static char *example_notes[] = {"a note with \"quotes\" and µ"};

static struct machine example_machine(void)
{
	return (struct machine){
		.cpu_model = "Example CPU @ 2.00GHz",
		.usable_threads = 2,
		.clock_ghz = 3.7165973534971646,
		.microarchitecture = "Example Lake",
		.clock_fp_ghz = 3.5,
		.counts = example_counts,
		.n_counts = 2,
		.caches = {{1, 49152, 64, 12, 1}, {3, UINT64_C(480) << 20, 64, -1, 2}},
		.n_caches = 2,
		.roofs = example_roofs,
		.n_roofs = 2,
		.sizes = example_sizes,
		.n_sizes = 2,
		.sizes_in_small_pages = true,
		.transfers = {{LINE_WITHIN_CORE, 8.5, 9, 8.75, 10.25},
			      {LINE_BEYOND, 100, 120.5, 110, 130}},
		.n_transfers = 2,
		.pages = {true, {1.5, 4.25, 0}, 64, 4096, {1.75, 0.25}, {16, 2.5}, {0, 0}},
		.notes = example_notes,
		.n_notes = 1,
	};
}

static void assert_same_machine(const struct machine *a, const struct machine *b)
{
	cr_assert_str_eq(a->cpu_model, b->cpu_model);
	cr_assert_eq(a->usable_threads, b->usable_threads);
	cr_assert_eq(a->clock_ghz, b->clock_ghz);
	cr_assert_str_eq(a->microarchitecture, b->microarchitecture);
	cr_assert_eq(a->clock_fp_ghz, b->clock_fp_ghz);
	cr_assert_eq(a->n_counts, b->n_counts);
	for (size_t i = 0; i < a->n_counts; i++)
		cr_assert(a->counts[i].threads == b->counts[i].threads &&
			  a->counts[i].complete == b->counts[i].complete);
	cr_assert_eq(a->n_caches, b->n_caches);
	for (size_t i = 0; i < a->n_caches; i++) {
		const struct machine_cache *x = &a->caches[i], *y = &b->caches[i];
		cr_assert(x->level == y->level && x->size_bytes == y->size_bytes &&
			  x->line_bytes == y->line_bytes && x->ways == y->ways &&
			  x->shared_by == y->shared_by);
	}
	cr_assert_eq(a->n_roofs, b->n_roofs);
	for (size_t i = 0; i < a->n_roofs; i++) {
		const struct roof *x = &a->roofs[i], *y = &b->roofs[i];
		cr_assert_eq(x->kind, y->kind);
		cr_assert_eq(x->isa, y->isa);
		cr_assert_eq(x->precision, y->precision);
		cr_assert_eq(x->op, y->op);
		cr_assert_eq(x->level, y->level);
		cr_assert_str_eq(x->unit, y->unit);
		cr_assert_str_eq(x->bytes_convention, y->bytes_convention);
		cr_assert_eq(x->threads, y->threads);
		cr_assert(x->best == y->best && x->median == y->median && x->q1 == y->q1 &&
			  x->q3 == y->q3);
		cr_assert(x->distinguishable == y->distinguishable && x->noisy == y->noisy &&
			  x->theory == y->theory && x->by_node == y->by_node &&
			  x->cpu_node == y->cpu_node && x->memory_node == y->memory_node);
		cr_assert(x->n_measured == y->n_measured && x->n_history == y->n_history);
		for (int k = 0; k < x->n_history; k++)
			cr_assert(x->history[k].when_s == y->history[k].when_s &&
				  x->history[k].best == y->history[k].best);
	}
	cr_assert(a->n_sizes == b->n_sizes && a->sizes_in_small_pages == b->sizes_in_small_pages);
	for (size_t i = 0; i < a->n_sizes; i++)
		cr_assert_eq(memcmp(&a->sizes[i], &b->sizes[i], sizeof(*a->sizes)), 0);
	cr_assert_eq(a->n_transfers, b->n_transfers);
	for (size_t i = 0; i < a->n_transfers; i++) {
		const struct line_transfer *x = &a->transfers[i], *y = &b->transfers[i];
		cr_assert(x->way == y->way && x->best_ns == y->best_ns &&
			  x->median_ns == y->median_ns && x->q1_ns == y->q1_ns &&
			  x->q3_ns == y->q3_ns);
	}
	cr_assert_eq(memcmp(&a->pages, &b->pages, sizeof(a->pages)), 0);
	cr_assert_eq(a->n_notes, b->n_notes);
	for (size_t i = 0; i < a->n_notes; i++)
		cr_assert_str_eq(a->notes[i], b->notes[i]);
}

/* A key and the path of its file in the test's directory. */
static char *example_path(json_t **key)
{
	char *cache, *path;
	*key = json_pack("{s:s, s:i}", "cpu_model", "Example CPU", "version", 1);
	assert_ok(keep_place_directory(&roof_cache_place, &cache));
	assert_ok(keep_place_prepare(&roof_cache_place, cache));
	path = roof_cache_path(cache, *key);
	free(cache);
	cr_assert_not_null(path);
	return path;
}

static void put(const char *path, const char *content)
{
	FILE *file = fopen(path, "we");
	cr_assert_not_null(file);
	fputs(content, file);
	fclose(file);
}

static int files_in(const char *path)
{
	DIR *dir = opendir(path);
	int n = 0;
	cr_assert_not_null(dir);
	while (readdir(dir))
		n++;
	closedir(dir);
	return n - 2; /* . and .. */
}

Test(roof_cache, comes_back_as_it_was_saved)
{
	struct machine saved = example_machine(), loaded = {0};
	json_t *key;
	char *path = example_path(&key);
	assert_ok(roof_cache_save(path, key, &saved));
	assert_ok(roof_cache_load(path, key, &loaded));
	assert_same_machine(&saved, &loaded);
	char cache[96];
	snprintf(cache, sizeof(cache), "%s/rfprof", directory);
	cr_assert_eq(files_in(cache), 1); /* no temporary file is left */
	machine_deinit(&loaded);
	json_decref(key);
	free(path);
}

/* The one file that is kept of what was read. */
static void kept_path(char *path, size_t size)
{
	char names[96];
	snprintf(names, sizeof(names), "%s/rfprof/names", directory);
	DIR *dir = opendir(names);
	cr_assert_not_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));)
		if (entry->d_name[0] != '.')
			snprintf(path, size, "%s/%s", names, entry->d_name);
	closedir(dir);
}

Test(roof_cache, what_was_read_is_kept_for_that_very_file)
{
	struct machine saved = example_machine(), loaded = {.usable_threads = 77};
	struct kept_store *store = kept_store_create();
	json_t *key;
	char *path = example_path(&key), kept[512];
	assert_ok(roof_cache_save(path, key, &saved));
	struct file_stamp stamp = file_stamp_of_path(path);
	kept_machine_save(store, path, &stamp, "key", &saved);
	cr_expect_not(kept_machine_load(store, path, "key", &loaded), "it is too new");
	usleep(2100000);
	kept_machine_save(store, path, &stamp, "key", &saved);
	cr_expect_not(kept_machine_load(store, path, "another", &loaded));
	cr_expect_eq(loaded.usable_threads, 77);
	kept_path(kept, sizeof(kept));
	struct stat status;
	cr_assert_eq(stat(kept, &status), 0);
	for (off_t at = 0; at < status.st_size; at += 1 + at % 7) { /* a damaged one is not used */
		FILE *file = fopen(kept, "r+e");
		cr_assert_not_null(file);
		fseek(file, at, SEEK_SET);
		const int byte = fgetc(file);
		fseek(file, at, SEEK_SET);
		fputc(byte ^ 4, file);
		fflush(file);
		cr_expect_not(kept_machine_load(store, path, "key", &loaded));
		fseek(file, at, SEEK_SET);
		fputc(byte, file);
		fclose(file);
	}
	rf_error_destroy(kept_store_warning(store));
	cr_assert(kept_machine_load(store, path, "key", &loaded));
	assert_same_machine(&saved, &loaded);
	machine_deinit(&loaded);
	saved.microarchitecture = NULL;
	saved.n_roofs = saved.n_sizes = saved.n_notes = 0;
	assert_ok(roof_cache_save(path, key, &saved));
	cr_expect_not(kept_machine_load(store, path, "key", &loaded), "another file");
	kept_store_destroy(store);
	json_decref(key);
	free(path);
}

Test(roof_cache, absent_file_is_unavailable)
{
	struct machine machine = {0};
	json_t *key;
	char *path = example_path(&key);
	assert_error(roof_cache_load(path, key, &machine), RF_EUNAVAILABLE);
	json_decref(key);
	free(path);
}

Test(roof_cache, file_of_another_key_is_stale)
{
	struct machine saved = example_machine(), loaded = {.usable_threads = 77};
	json_t *key;
	char *path = example_path(&key);
	assert_ok(roof_cache_save(path, key, &saved));
	json_object_set_new(key, "version", json_integer(2));
	assert_error(roof_cache_load(path, key, &loaded), RF_EUNAVAILABLE);
	cr_assert_eq(loaded.usable_threads, 77);
	json_decref(key);
	free(path);
}

Test(roof_cache, every_truncation_is_corrupt)
{
	struct machine saved = example_machine(), loaded = {0};
	json_t *key;
	char *path = example_path(&key);
	assert_ok(roof_cache_save(path, key, &saved));
	struct stat status;
	cr_assert_eq(stat(path, &status), 0);
	/* the last byte is a line end */
	for (off_t size = status.st_size - 2; size >= 0; size--) {
		cr_assert_eq(truncate(path, size), 0);
		assert_error(roof_cache_load(path, key, &loaded), RF_EFORMAT);
	}
	json_decref(key);
	free(path);
}

Test(roof_cache, foreign_content_is_corrupt)
{
	static const char *const contents[] = {
		"[]",
		"{}",
		"null",
		"{\"key\": 1}",
		"\177ELF",
		"{\"key\":{\"cpu_model\":\"Example CPU\",\"version\":1}}",
		"{\"key\":{\"cpu_model\":\"Example CPU\",\"version\":1},\"machine\":[]}",
	};
	struct machine machine = {0};
	json_t *key;
	char *path = example_path(&key);
	for (size_t i = 0; i < sizeof(contents) / sizeof(contents[0]); i++) {
		put(path, contents[i]);
		assert_error(roof_cache_load(path, key, &machine), RF_EFORMAT);
	}
	json_decref(key);
	free(path);
}

/* The example with one member of its first roof replaced (NULL: taken away) is refused. */
static void assert_bad_roof(const char *member, json_t *value)
{
	struct machine machine = example_machine(), read = {.usable_threads = 77};
	json_t *json;
	assert_ok(machine_to_json(&machine, &json));
	json_t *roof = json_array_get(json_object_get(json, "roofs"), 0);
	if (value)
		json_object_set_new(roof, member, value);
	else
		json_object_del(roof, member);
	assert_error(machine_from_json(json, &read), RF_EFORMAT);
	cr_assert_eq(read.usable_threads, 77);
	json_decref(json);
}

Test(roof_cache, wrong_members_are_refused)
{
	static const char *const members[] = {
		"kind",           "isa",    "precision", "op", "level", "threads",
		"best",           "median", "q1",        "q3", "unit",  "bytes_convention",
		"distinguishable"};
	for (size_t i = 0; i < sizeof(members) / sizeof(members[0]); i++) {
		assert_bad_roof(members[i], NULL);
		assert_bad_roof(members[i], json_array());
	}
	assert_bad_roof("best", json_real(-1));
	assert_bad_roof("median", json_real(0));
	assert_bad_roof("threads", json_integer(0));
	assert_bad_roof("kind", json_string("latency"));
	assert_bad_roof("isa", json_string("a name that is longer than the member"));
	assert_bad_roof("measured", json_integer(1));
	assert_bad_roof("history", json_pack("[{s:i, s:f}]", "when", 1, "best", -1.0));
	assert_bad_roof("history", json_pack("[{s:i, s:f}]", "when", -1, "best", 1.0));
	assert_bad_roof("history", json_pack("[i]", 3));
}

/* What older versions wrote, and `rfprof machine --json` of them: neither histories nor walks. */
Test(roof_cache, files_of_before_histories_are_read)
{
	struct machine machine = example_machine(), read;
	json_t *json;
	assert_ok(machine_to_json(&machine, &json));
	for (size_t i = 0; i < machine.n_roofs; i++) {
		json_t *roof = json_array_get(json_object_get(json, "roofs"), i);
		json_object_del(roof, "history");
		json_object_del(roof, "measured");
	}
	json_object_del(json, "sizes");
	json_object_del(json, "sizes_in_small_pages");
	assert_ok(machine_from_json(json, &read));
	cr_assert(read.roofs[0].n_measured == 0 && read.roofs[0].n_history == 0);
	cr_assert_eq(read.n_sizes, 0);
	machine_deinit(&read);
	json_decref(json);
}

Test(roof_cache, wrong_sizes_are_refused)
{
	static const char *const members[] = {"bytes", "latency_ns", "read_gbs"};
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++) {
		struct machine machine = example_machine(), read;
		json_t *json;
		assert_ok(machine_to_json(&machine, &json));
		json_object_set_new(json_array_get(json_object_get(json, "sizes"), 1), members[i],
				    json_integer(0));
		assert_error(machine_from_json(json, &read), RF_EFORMAT);
		json_object_set_new(json_array_get(json_object_get(json, "sizes"), 1), members[i],
				    json_string("x"));
		assert_error(machine_from_json(json, &read), RF_EFORMAT);
		json_decref(json);
	}
}

/* A newer version may measure more than this one knows. */
Test(roof_cache, unknown_words_are_kept_as_unknown)
{
	struct machine machine = example_machine(), read;
	json_t *json;
	assert_ok(machine_to_json(&machine, &json));
	json_object_set_new(json_array_get(json_object_get(json, "roofs"), 0), "op",
			    json_string("fma4"));
	assert_ok(machine_from_json(json, &read));
	cr_expect_eq(read.roofs[0].op, ROOF_OP_UNKNOWN);
	cr_expect_eq(read.roofs[0].isa, machine.roofs[0].isa);
	machine_deinit(&read);
	json_decref(json);
}

Test(roof_cache, failed_save_leaves_nothing)
{
	struct machine machine = example_machine();
	json_t *key;
	char *path = example_path(&key), cache[96];
	cr_assert_eq(mkdir(path, 0777), 0); /* rename onto a directory fails, for root too */
	assert_error(roof_cache_save(path, key, &machine), RF_EINPUT);
	snprintf(cache, sizeof(cache), "%s/rfprof", directory);
	cr_assert_eq(files_in(cache), 1);
	json_decref(key);
	free(path);
}

Test(roof_cache, directory_is_made_with_its_parents)
{
	char *cache, base[96], expected[128];
	snprintf(base, sizeof(base), "%s/a/b", directory);
	snprintf(expected, sizeof(expected), "%s/rfprof", base);
	setenv("XDG_CACHE_HOME", base, 1);
	assert_ok(keep_place_directory(&roof_cache_place, &cache));
	cr_assert_str_eq(cache, expected);
	assert_ok(keep_place_prepare(&roof_cache_place, cache));
	cr_assert_eq(access(cache, W_OK), 0);
	assert_ok(keep_place_prepare(&roof_cache_place, cache)); /* it is there already */
	free(cache);
}

Test(roof_cache, directory_follows_the_xdg_rules)
{
	char *cache, expected[128];
	snprintf(expected, sizeof(expected), "%s/.cache/rfprof", directory);
	setenv("HOME", directory, 1);
	setenv("XDG_CACHE_HOME", "relative/is/ignored", 1);
	assert_ok(keep_place_directory(&roof_cache_place, &cache));
	cr_assert_str_eq(cache, expected);
	free(cache);
	unsetenv("XDG_CACHE_HOME");
	unsetenv("HOME");
	assert_error(keep_place_directory(&roof_cache_place, &cache), RF_EACCESS);
	/* Below a file nobody can make one, root neither. */
	assert_error(keep_place_prepare(&roof_cache_place, "/proc/self/status/rfprof"), RF_EACCESS);
}

Test(roof_cache, key_holds_what_the_roofs_depend_on)
{
	struct topology_cpu cpus[2] = {{.os_index = 0}, {.os_index = 1}};
	struct topology topology = {.cpu_model = "a",
				    .microcode = "b",
				    .kernel = "c",
				    .cpus = cpus,
				    .n_cpus = 2,
				    .limits = {.memory_limit = UINT64_MAX}};
	json_t *key = roof_cache_key(&topology);
	cr_assert_not_null(key);
	json_t *same = roof_cache_key(&topology);
	cr_assert(json_equal(key, same));
	json_decref(same);
	struct topology others[7];
	for (int i = 0; i < 7; i++)
		others[i] = topology;
	struct topology_cpu other_cache[2] = {{.os_index = 0, .caches = {{1, 0}}}, {.os_index = 1}};
	others[0].cpu_model = "x";
	others[1].microcode = "x";
	others[2].kernel = "x";
	others[3].n_cpus = 1;
	others[4].limits.cpus = 0.5;
	others[5].limits.memory_limit = 1 << 28;
	others[6].cpus = other_cache;
	for (int i = 0; i < 7; i++) {
		json_t *other = roof_cache_key(&others[i]);
		char *path = roof_cache_path("", key), *other_path = roof_cache_path("", other);
		cr_assert_not(json_equal(key, other), "case %d", i);
		cr_assert_str_neq(path, other_path);
		free(path);
		free(other_path);
		json_decref(other);
	}
	json_decref(key);
}

Test(roof_cache, lock_is_held_by_one)
{
	int first = keep_file_lock(directory, 0);
	cr_assert_geq(first, 0);
	cr_assert_eq(keep_file_lock(directory, 0), -1);
	close(first);
	int second = keep_file_lock(directory, 0);
	cr_assert_geq(second, 0);
	close(second);
	cr_assert_eq(keep_file_lock("/nonexistent", 0), -1);
}

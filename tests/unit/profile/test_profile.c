/* The profile: find-or-add in memory, the file, and every way in which a file can be wrong. */
#include "base/array.h"
#include "profile/profile.h"
#include "profile/profile_schema.h"

#include "tests/unit/directory.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* What version 12 has more than 11, 11 in the tables of 10, and 10 in those of earlier ones. */
#define WITHOUT_VERSION_13                                        \
	"DROP TABLE store_loads; "                                \
	"ALTER TABLE kernel_times DROP COLUMN cost_spread_s; "    \
	"ALTER TABLE kernel_times DROP COLUMN unseen_least_s; "   \
	"ALTER TABLE kernel_times DROP COLUMN unseen_s; "         \
	"ALTER TABLE kernel_times DROP COLUMN one_place; "        \
	"ALTER TABLE kernel_times DROP COLUMN ready_s; "          \
	"ALTER TABLE kernel_times DROP COLUMN rest_halfwidth_s; " \
	"ALTER TABLE thread_times DROP COLUMN preempted_ns; "     \
	"ALTER TABLE page_walks DROP COLUMN kernel; "             \
	"ALTER TABLE sum_code DROP COLUMN atomic_updates; "       \
	"ALTER TABLE sum_code DROP COLUMN integer_divisions; "    \
	"ALTER TABLE native_threads DROP COLUMN native_ns; "      \
	"ALTER TABLE sum_times DROP COLUMN native_ns; "           \
	"ALTER TABLE other_traffic DROP COLUMN kernel; "
#define WITHOUT_VERSION_12                                                                      \
	WITHOUT_VERSION_13                                                                      \
	"DROP TABLE other_traffic; DROP TABLE page_walks; ALTER TABLE kernel_sums DROP COLUMN " \
	"by_call; "
#define WITHOUT_VERSION_11 \
	WITHOUT_VERSION_12 "ALTER TABLE traffic DROP COLUMN mem_conflict_unknown_lines; "
#define WITHOUT_VERSION_10 WITHOUT_VERSION_11 WITHOUT_KERNELS
#define WITHOUT_KERNELS                            \
	"ALTER TABLE counts DROP COLUMN kernel; "  \
	"ALTER TABLE units DROP COLUMN kernel; "   \
	"ALTER TABLE traffic DROP COLUMN kernel; " \
	"ALTER TABLE processes DROP COLUMN rank_plus_1; "

static char file[64];

static void make_directory(void)
{
	directory_make();
	snprintf(file, sizeof(file), "%s/a.rfp", directory);
}

TestSuite(profile, .init = make_directory, .fini = directory_remove);

static void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s (%s)", error ? error->message : "",
		       error && error->hint ? error->hint : "");
}

/* The error has the code, its message holds `text`, and it names a next step. */
static void assert_error(struct rf_error *error, enum rf_error_code code, const char *text)
{
	cr_assert_not_null(error);
	cr_expect_eq(error->code, code, "%s", error->message);
	cr_expect(strstr(error->message, text), "\"%s\" does not say \"%s\"", error->message, text);
	cr_expect_not_null(error->hint);
	cr_expect(!strchr(error->message, '\n'));
	rf_error_destroy(error);
}

static void add_roof(struct profile *p, struct roof roof)
{
	cr_assert(rf_array_push(p->roofs, p->n_roofs, p->cap_roofs, roof));
}

static struct profile *sample_profile(void)
{
	struct profile *p = profile_create();
	uint32_t app = profile_module(p, "/opt/a dir/app", "0123abcd");
	uint32_t vdso = profile_module(p, "[vdso]", "");
	uint32_t t0 = profile_thread(p, RUN_TIMED, 10, 10, "app");
	uint32_t t1 = profile_thread(p, RUN_COUNTED, 20, 21, "wörk'er\"");
	struct profile_function function = {app,           0x1000, 0x1040, strdup("f(int)"),
					    strdup("a.c"), 7};
	cr_assert(rf_array_push(p->functions, p->n_functions, p->cap_functions, function));
	struct profile_block block = {app, 0x1000, 3, memcpy(malloc(3), "\x90\x00\xc3", 3)};
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, block));
	struct profile_block empty = {vdso, 0xffffffffff600000u, 0, NULL};
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, empty));
	struct profile_count count = {0, t1, -(INT64_C(1) << 60)};
	cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, count));
	struct profile_units units = {app, 0x1001, t1, UINT64_C(1) << 60};
	cr_assert(rf_array_push(p->units, p->n_units, p->cap_units, units));
	uint32_t root = profile_frame(p, PROFILE_NONE, app, 0x1001);
	uint32_t leaf = profile_frame(p, root, vdso, 0xffffffffff600000u);
	struct profile_sample sample = {t0, 123456789, 1000000, leaf};
	cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	profile_add_uncounted(p, PROFILE_NONE, "because");
	profile_add_uncounted(p, app, "it's 100 %");
	uint32_t first = profile_process(p, RUN_TIMED, 10, PROFILE_NONE);
	uint32_t child = profile_process(p, RUN_TIMED, 11, first);
	uint32_t counted = profile_process(p, RUN_COUNTED, 20, PROFILE_NONE);
	p->processes[first].birth = BIRTH_FIRST;
	p->processes[child].birth = BIRTH_SPAWN;
	p->processes[child].module = app;
	p->processes[child].exit_status = 139;
	p->processes[child].end_ns = UINT64_C(1) << 60;
	p->processes[counted].twin = first;
	profile_process_command(p, child, "wörk'er\"");
	profile_native_process(p, 20, "a sandbox");
	profile_native_thread(p, t1, "GS");
	profile_set_fact(p, "command", "./app 'in put'");
	add_roof(p, (struct roof){.kind = ROOF_COMPUTE,
				  .isa = ROOF_ISA_AVX2,
				  .precision = ROOF_PRECISION_DOUBLE,
				  .op = ROOF_OP_FMA,
				  .threads = 1,
				  .best = 50.5,
				  .median = 50,
				  .q1 = 49,
				  .q3 = 50.25,
				  .theory = 51.2,
				  .unit = "GFLOP/s",
				  .distinguishable = true});
	add_roof(p, (struct roof){.kind = ROOF_BANDWIDTH,
				  .isa = ROOF_ISA_AVX2,
				  .op = ROOF_OP_READ,
				  .level = ROOF_LEVEL_DRAM,
				  .threads = 2,
				  .by_node = true,
				  .memory_node = 1,
				  .best = 14.6,
				  .median = 14.5,
				  .q1 = 14,
				  .q3 = 14.5,
				  .unit = "GB/s",
				  .bytes_convention = "loads",
				  .noisy = true});
	struct custom_roof custom = {
		.name = "vendor's peak", .value = 64, .unit = "GFLOP/s", .source = "data sheet"};
	cr_assert(rf_array_push(p->custom_roofs, p->n_custom_roofs, p->cap_custom_roofs, custom));
	return p;
}

static bool same_text(const char *a, const char *b)
{
	return strcmp(a ? a : "", b ? b : "") == 0;
}

static bool same_field(const struct column *column, const char *a, const char *b)
{
	const char *x = a + column->offset, *y = b + column->offset;
	switch (column->type) {
	case COLUMN_TEXT:
	case COLUMN_KEY:
		return same_text(*(char *const *)x, *(char *const *)y);
	case COLUMN_CHARS:
		return same_text(x, y);
	case COLUMN_BLOB:
		return memcmp(*(char *const *)x ? *(char *const *)x : "",
			      *(char *const *)y ? *(char *const *)y : "",
			      *(const uint32_t *)(a + column->length)) == 0;
	case COLUMN_BOOL:
		return *x == *y;
	case COLUMN_U64:
	case COLUMN_I64:
	case COLUMN_STEP:
	case COLUMN_WHOLE:
	case COLUMN_AMOUNT:
	case COLUMN_RATE:
	case COLUMN_SQUARE:
	case COLUMN_DOUBLE:
		return memcmp(x, y, 8) == 0;
	default:
		return memcmp(x, y, 4) == 0;
	}
}

static struct profile_traffic traffic_row(const struct profile *profile, size_t i)
{
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	return *(const struct profile_traffic *)packed_reader_at(&reader, i);
}

static void assert_same(const struct profile *a, const struct profile *b)
{
	for (int t = 0; t < N_TABLES; t++) {
		const struct table *table = &profile_tables[t];
		size_t n = *profile_table_count(a, table);
		cr_assert_eq(n, *profile_table_count(b, table), "%s", table->name);
		struct row_reader of_a = row_reader_of(a, table), of_b = row_reader_of(b, table);
		const char *x, *y;
		for (size_t i = 0; (x = row_reader_next(&of_a)) && (y = row_reader_next(&of_b));
		     i++)
			for (size_t c = 0; c < table->n_columns; c++)
				cr_assert(same_field(&table->columns[c], x, y), "%s[%zu].%s",
					  table->name, i, table->columns[c].name);
	}
}

Test(profile, find_or_add_gives_one_row_for_one_thing)
{
	struct profile *p = profile_create();
	uint32_t a = profile_module(p, "/lib/a.so", "");
	cr_expect_eq(profile_module(p, "/lib/a.so", "ab12"), a, "an unknown build id is filled in");
	cr_expect_str_eq(p->modules[a].build_id, "ab12");
	cr_expect_eq(profile_module(p, "/lib/a.so", NULL), a);
	cr_expect_neq(profile_module(p, "/lib/a.so", "cd34"), a,
		      "a replaced file is another module");
	cr_expect_str_eq(p->modules[a].name, "a.so");
	cr_expect_str_eq(p->modules[profile_module(p, "[anon]", "")].name, "[anon]");

	uint32_t t = profile_thread(p, RUN_TIMED, 1, 2, "");
	cr_expect_eq(profile_thread(p, RUN_TIMED, 1, 2, "late"), t);
	cr_expect_str_eq(p->threads[t].name, "late");
	cr_expect_eq(profile_thread(p, RUN_TIMED, 1, 2, NULL), t);
	cr_expect_str_eq(p->threads[t].name, "late");
	cr_expect_neq(profile_thread(p, RUN_COUNTED, 1, 2, "late"), t);

	profile_set_fact(p, "wall_s", "%.2f", 1.5);
	profile_set_fact(p, "wall_s", "%.2f", 2.5);
	cr_expect_str_eq(profile_get_fact(p, "wall_s"), "2.50");
	cr_expect_null(profile_get_fact(p, "other"));
	cr_expect_eq(p->n_facts, 1);

	profile_add_uncounted(p, a, "x");
	profile_add_uncounted(p, a, "x");
	profile_add_uncounted(p, PROFILE_NONE, "x");
	cr_expect_eq(p->n_uncounted, 2);
	profile_destroy(p);
	profile_destroy(NULL);
}

Test(profile, frames_are_found_among_many_and_beside_rows_pushed_by_hand)
{
	struct profile *p = profile_create();
	uint32_t m = profile_module(p, "/bin/x", "");
	for (uint32_t i = 0; i < 20000; i++)
		cr_assert_eq(profile_frame(p, i ? i / 2 : PROFILE_NONE, m, i), i);
	struct profile_frame by_hand = {3, m, 999999};
	cr_assert(rf_array_push(p->frames, p->n_frames, p->cap_frames, by_hand));
	cr_expect_eq(profile_frame(p, 3, m, 999999), 20000);
	for (uint32_t i = 0; i < 20000; i++)
		cr_assert_eq(profile_frame(p, i ? i / 2 : PROFILE_NONE, m, i), i);
	cr_expect_eq(p->n_frames, 20001);
	profile_destroy(p);
}

Test(profile, what_is_saved_is_what_is_loaded)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	assert_same(saved, loaded);
	profile_destroy(loaded);
	assert_ok(profile_save(saved, file)); /* over an older one */
	assert_ok(profile_load(file, &loaded));
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Sums and facts of a profile that is already on its way into a file. */
static void add_sums(struct profile *p)
{
	for (uint32_t i = 0; i < 40; i++) {
		struct profile_sum *sum = profile_append_row(p, &profile_tables[SUMS]);
		cr_assert_not_null(sum);
		sum->function = 0;
		sum->module = 0;
		sum->thread = PROFILE_NONE;
		sum->instructions = i;
		profile_set_fact(p, "unreadable_blocks", "%u", i);
	}
	profile_set_fact(p, PROFILE_SUMS_FACT, PROFILE_SUMS_VERSION);
}

Test(profile, what_comes_while_it_is_saved_is_saved)
{
	for (int round = 0; round < 20; round++) {
		struct profile *saved = sample_profile(), *loaded = NULL;
		struct profile_saving *saving;
		assert_ok(profile_saving_start(saved, file, PROFILE_NAME_OWN, &saving));
		usleep((useconds_t)(rand() % 3000));
		add_sums(saved);
		profile_saving_has_sums(saving);
		usleep((useconds_t)(rand() % 3000));
		assert_ok(profile_saving_end(saving, NULL));
		assert_ok(profile_load_parts(file, PROFILE_SUMS, &loaded));
		cr_expect_eq(loaded->n_sums, 40);
		cr_expect_eq(loaded->sums[39].instructions, 39);
		cr_expect_str_eq(profile_get_fact(loaded, "unreadable_blocks"), "39");
		profile_destroy(loaded);
		assert_ok(profile_load(file, &loaded));
		cr_expect_eq(loaded->n_blocks, saved->n_blocks);
		profile_destroy(loaded);
		profile_destroy(saved);
	}
}

Test(profile, a_save_that_is_given_up_leaves_the_old_file)
{
	struct profile *before = sample_profile(), *p = profile_create(), *loaded = NULL;
	struct profile_saving *saving;
	assert_ok(profile_save(before, file));
	assert_ok(profile_saving_start(p, file, PROFILE_NAME_GIVEN, &saving));
	struct rf_error *error =
		profile_saving_end(saving, rf_error_create(RF_EINTERNAL, "try again", "no sums"));
	assert_error(error, RF_EINTERNAL, "no sums");
	assert_ok(profile_load(file, &loaded));
	assert_same(before, loaded);
	profile_destroy(loaded);
	profile_destroy(p);
	profile_destroy(before);
}

Test(profile, an_empty_profile_is_a_profile)
{
	struct profile *saved = profile_create(), *loaded = NULL;
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	assert_same(saved, loaded);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Rows are written some at a time; bytes and NULLs of one are not those of another. */
Test(profile, any_number_of_rows_comes_back)
{
	for (uint32_t n = 1; n < 70; n += n < 40 ? 1 : 7) {
		struct profile *saved = profile_create(), *loaded = NULL;
		const uint32_t m = profile_module(saved, "/bin/x", "");
		const uint32_t t = profile_thread(saved, RUN_TIMED, 1, 1, "x");
		for (uint32_t i = 0; i < n; i++) {
			struct profile_block block = {m, i, i % 5, i % 5 ? calloc(1, 5) : NULL};
			const uint32_t before = i % 3 ? saved->n_frames - 1 : PROFILE_NONE;
			const uint32_t frame = profile_frame(saved, before, m, i);
			struct profile_sample sample = {t, i, 1, frame};
			if (block.size)
				memset(block.bytes, (int)i, block.size);
			cr_assert(rf_array_push(saved->blocks, saved->n_blocks, saved->cap_blocks,
						block));
			cr_assert(rf_array_push(saved->samples, saved->n_samples,
						saved->cap_samples, sample));
		}
		assert_ok(profile_save(saved, file));
		assert_ok(profile_load(file, &loaded));
		assert_same(saved, loaded);
		profile_destroy(loaded);
		profile_destroy(saved);
	}
}

static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void fill_large(struct profile *p)
{
	uint32_t m = profile_module(p, "/bin/x", ""), t = profile_thread(p, RUN_TIMED, 1, 1, "x");
	for (uint32_t i = 0; i < 200000; i++) {
		struct profile_block block = {m, i * 16u, 16, calloc(1, 16)};
		struct profile_count count = {i, t, i};
		cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, block));
		cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, count));
	}
	for (uint32_t i = 0; i < 1000000; i++) {
		uint32_t frame = profile_frame(p, PROFILE_NONE, m, i % 50000);
		struct profile_sample sample = {t, i * 1000000ull, 1000000, frame};
		cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	}
}

/* Alone on a core each takes under a second; with one transaction a row it would be hours. */
Test(profile, large_profiles_come_back)
{
	struct profile *p = profile_create(), *loaded = NULL;
	fill_large(p);
	double start = now();
	assert_ok(profile_save(p, file));
	double saved = now();
	assert_ok(profile_load(file, &loaded));
	double done = now();
	fprintf(stderr, "200,000 blocks and 1,000,000 samples: saved in %.2f s, loaded in %.2f s\n",
		saved - start, done - saved);
	assert_same(p, loaded);
	profile_destroy(loaded);
	profile_destroy(p);
}

static size_t entries(void)
{
	char command[128];
	snprintf(command, sizeof(command), "ls -A %s | wc -l", directory);
	FILE *pipe = popen(command, "r");
	size_t n = 999;
	cr_assert_eq(fscanf(pipe, "%zu", &n), 1);
	pclose(pipe);
	return n;
}

Test(profile, an_unwritable_directory_is_said)
{
	struct profile *p = sample_profile();
	assert_error(profile_save(p, "/proc/a.rfp"), RF_EACCESS, "/proc/a.rfp");
	snprintf(file, sizeof(file), "%s/none/a.rfp", directory);
	assert_error(profile_save(p, file), RF_EACCESS, "No such file");
	assert_error(profile_save(p, "/dev/null"), RF_EINPUT, "not a regular file");
	assert_error(profile_save(p, directory), RF_EINPUT, "not a regular file");
	profile_destroy(p);
}

Test(profile, a_file_size_limit_leaves_the_old_file)
{
	struct profile *p = sample_profile(), *big = profile_create(), *loaded = NULL;
	fill_large(big);
	assert_ok(profile_save(p, file));
	signal(SIGXFSZ, SIG_IGN);
	struct rlimit limit = {100000, 100000};
	setrlimit(RLIMIT_FSIZE, &limit);
	assert_error(profile_save(big, file), RF_EACCESS, "cannot save");
	cr_expect_eq(entries(), 1, "no temporary file is left");
	assert_ok(profile_load(file, &loaded));
	assert_same(p, loaded);
	profile_destroy(loaded);
	profile_destroy(big);
	profile_destroy(p);
}

Test(profile, a_full_disk_is_said)
{
	uid_t user = geteuid();
	if (unshare((user ? CLONE_NEWUSER : 0) | CLONE_NEWNS) != 0 ||
	    mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) != 0 ||
	    mount("none", directory, "tmpfs", 0, "size=100k") != 0)
		cr_skip_test("no right to mount a small file system here");
	struct profile *big = profile_create();
	fill_large(big);
	assert_error(profile_save(big, file), RF_EACCESS, "No space left");
	cr_expect_eq(entries(), 0, "no temporary file is left");
	profile_destroy(big);
	umount(directory);
}

Test(profile, a_link_stays_a_link)
{
	char link[64];
	struct stat info;
	struct profile *p = sample_profile();
	assert_ok(profile_save(p, file));
	snprintf(link, sizeof(link), "%s/link", directory);
	cr_assert_eq(symlink(file, link), 0);
	assert_ok(profile_save(p, link));
	cr_assert_eq(lstat(link, &info), 0);
	cr_expect(S_ISLNK(info.st_mode));
	profile_destroy(p);
}

/* ---- files that are not as they should be ---- */

static void write_bytes(const char *bytes, size_t n)
{
	FILE *stream = fopen(file, "w");
	cr_assert_not_null(stream);
	cr_assert_eq(fwrite(bytes, 1, n, stream), n);
	fclose(stream);
}

static struct rf_error *load_error(void)
{
	struct profile *out = (struct profile *)&out;
	struct rf_error *error = profile_load(file, &out);
	cr_expect(error == NULL || out == (struct profile *)&out, "*out is untouched");
	if (!error)
		profile_destroy(out);
	return error;
}

static void save_sample(void)
{
	struct profile *p = sample_profile();
	assert_ok(profile_save(p, file));
	profile_destroy(p);
}

/* What version 10 has added to tables that were there. */
static void run_sql(const char *sql)
{
	sqlite3 *db = NULL;
	char *message = NULL;
	cr_assert_eq(sqlite3_open(file, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_exec(db, sql, NULL, NULL, &message), SQLITE_OK, "%s: %s", sql,
		     message);
	sqlite3_close(db);
}

Test(profile, missing_and_foreign_files_are_said)
{
	assert_error(load_error(), RF_EINPUT, "No such file");
	struct profile *out;
	assert_error(profile_load("/dev/zero", &out), RF_EINPUT, "not a regular file");
	assert_error(profile_load(directory, &out), RF_EINPUT, "not a regular file");
	write_bytes("", 0);
	assert_error(load_error(), RF_EFORMAT, "it is empty");
	write_bytes(
		"PK\3\4 something else, which is long enough to be a header of SQLite, or so it "
		"seems to somebody who counts the bytes",
		115);
	assert_error(load_error(), RF_EFORMAT, "another kind of file");
	write_bytes("SQLi", 4);
	assert_error(load_error(), RF_EFORMAT, "truncated");
	unlink(file);
	run_sql("CREATE TABLE modules (id INTEGER)");
	assert_error(load_error(), RF_EFORMAT, "another program");
}

Test(profile, a_newer_schema_says_which_and_what_to_do)
{
	save_sample();
	run_sql("PRAGMA user_version = 14");
	struct rf_error *error = load_error();
	cr_assert_not_null(error);
	cr_expect_str_eq(error->hint, "update rfprof");
	assert_error(error, RF_EFORMAT,
		     "schema version 14, newer than the 13 that this rfprof reads");
	run_sql("PRAGMA user_version = 1");
	assert_error(load_error(), RF_EFORMAT,
		     "schema version 1, older than the 2 that this rfprof reads");
	run_sql("PRAGMA user_version = 0");
	assert_error(load_error(), RF_EFORMAT, "no schema version");
}

/* Version 2 had neither processes nor native threads. */
Test(profile, an_older_schema_is_read_without_what_came_later)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	save_sample();
	run_sql(WITHOUT_VERSION_10
		"DROP TABLE processes; DROP TABLE native_threads; PRAGMA user_version = 2");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_processes, 0);
	cr_expect_eq(loaded->n_native_threads, 0);
	cr_expect_eq(loaded->n_samples, saved->n_samples);
	cr_expect_eq(loaded->n_custom_roofs, saved->n_custom_roofs);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 3 had no traffic. */
Test(profile, a_schema_without_traffic_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	save_sample();
	run_sql(WITHOUT_VERSION_10
		"DROP TABLE working_sets; DROP TABLE strides; DROP TABLE object_traffic; DROP "
		"TABLE objects; "
		"DROP TABLE traffic; PRAGMA user_version = 3");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->traffic.n + loaded->n_objects + loaded->n_object_traffic, 0);
	cr_expect_eq(loaded->n_strides + loaded->n_working_sets, 0);
	cr_expect_eq(loaded->n_processes, saved->n_processes);
	cr_expect_eq(loaded->n_samples, saved->n_samples);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 6 did not know conflicts, nor what is open. */
#define WITHOUT(column) "ALTER TABLE traffic DROP COLUMN " column "_lines; "
#define WITHOUT_CONFLICTS        \
	WITHOUT("mem_conflict")  \
	WITHOUT("l2_read_open")  \
	WITHOUT("l2_write_open") \
	WITHOUT("l3_read_open")  \
	WITHOUT("l3_write_open") \
	WITHOUT("mem_read_open") \
	WITHOUT("mem_write_open")
Test(profile, a_table_without_a_later_column_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	struct profile_traffic row = {.lines = {[TRAFFIC_MEM_LEFT] = 3,
						[TRAFFIC_MEM_CONFLICT] = 4,
						[TRAFFIC_MEM_CONFLICT_UNKNOWN] = 5}};
	cr_assert(packed_rows_add(&saved->traffic, &row, sizeof(row)));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->traffic.n, saved->traffic.n);
	cr_expect_eq(traffic_row(loaded, 0).lines[TRAFFIC_MEM_CONFLICT],
		     traffic_row(saved, 0).lines[TRAFFIC_MEM_CONFLICT]);
	cr_expect_eq(traffic_row(loaded, 0).lines[TRAFFIC_MEM_CONFLICT_UNKNOWN], 5);
	profile_destroy(loaded);
	run_sql(WITHOUT_VERSION_11 "PRAGMA user_version = 10");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(traffic_row(loaded, 0).lines[TRAFFIC_MEM_CONFLICT_UNKNOWN], 0);
	profile_destroy(loaded);
	run_sql(WITHOUT_KERNELS "PRAGMA user_version = 6");
	assert_error(load_error(), RF_EFORMAT, "\"traffic\" is missing or changed");
	run_sql(WITHOUT_CONFLICTS);
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->traffic.n, saved->traffic.n);
	cr_expect_eq(traffic_row(loaded, 0).lines[TRAFFIC_MEM_CONFLICT], 0);
	cr_expect_eq(traffic_row(loaded, 0).lines[TRAFFIC_MEM_LEFT],
		     traffic_row(saved, 0).lines[TRAFFIC_MEM_LEFT]);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 11 had no other machine's caches. */
Test(profile, a_schema_without_other_traffic_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	struct profile_other_traffic row = {.offset = 0x1234, .write_through = 24};
	for (int event = 0; event <= TRAFFIC_MEM_LEFT; event++)
		row.bytes[event] = 256 * (uint64_t)(event + 1);
	cr_assert(rf_array_push(saved->other_traffic, saved->n_other_traffic,
				saved->cap_other_traffic, row));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->n_other_traffic, 1);
	cr_expect_eq(loaded->other_traffic[0].offset, 0x1234);
	cr_expect_eq(loaded->other_traffic[0].write_through, 24);
	for (int event = 0; event <= TRAFFIC_MEM_LEFT; event++)
		cr_expect_eq(loaded->other_traffic[0].bytes[event], row.bytes[event]);
	profile_destroy(loaded);
	run_sql(WITHOUT_VERSION_12 "PRAGMA user_version = 11");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_other_traffic, 0);
	cr_expect_eq(loaded->traffic.n, saved->traffic.n);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 12 had no loads behind stores. */
Test(profile, a_schema_without_store_loads_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	const struct profile_store_load row = {0, 0x10, 0, 0x20, 1000, 1, 2, 3, 4, 5};
	cr_assert(rf_array_push(saved->store_loads, saved->n_store_loads, saved->cap_store_loads,
				row));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->n_store_loads, 1);
	const struct profile_store_load *read = loaded->store_loads;
	cr_expect(read->offset == 0x10 && read->store_offset == 0x20 && read->looked == 1000);
	cr_expect(read->forwarded == 1 && read->shifted == 2 && read->blocked == 3 &&
		  read->aliased == 4 && read->since == 5);
	profile_destroy(loaded);
	run_sql(WITHOUT_VERSION_13 "PRAGMA user_version = 12");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_store_loads, 0);
	cr_expect_eq(loaded->traffic.n, saved->traffic.n);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 4 had no source lines. */
Test(profile, a_schema_without_lines_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	struct profile_line line = {0, 0x10, 0x20, strdup("a b.c"), 7};
	cr_assert(rf_array_push(saved->lines, saved->n_lines, saved->cap_lines, line));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->n_lines, 1);
	cr_expect_str_eq(loaded->lines[0].file, "a b.c");
	cr_expect_eq(loaded->lines[0].end, 0x20);
	cr_expect_eq(loaded->lines[0].line, 7);
	profile_destroy(loaded);
	run_sql("UPDATE lines SET end_offset = 1");
	assert_error(load_error(), RF_EFORMAT, "a source line ends before it starts");
	run_sql(WITHOUT_VERSION_10 WITHOUT_CONFLICTS "DROP TABLE lines; PRAGMA user_version = 4");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_lines, 0);
	cr_expect_eq(loaded->traffic.n, saved->traffic.n);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 6 had no timed runs. */
Test(profile, a_schema_without_timed_runs_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	const struct profile_timed_run runs[] = {{.wall_s = 1, .samples = 3, .time_ns = 7},
						 {.shown = true, .system_s = 0.5}};
	const struct profile_run_time times[] = {{0, 0, 0x10, 3, 7}, {1, PROFILE_NONE, 0x20, 1, 2}};
	for (size_t i = 0; i < 2; i++) {
		cr_assert(rf_array_push(saved->timed_runs, saved->n_timed_runs,
					saved->cap_timed_runs, runs[i]));
		cr_assert(rf_array_push(saved->run_times, saved->n_run_times, saved->cap_run_times,
					times[i]));
	}
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert(loaded->n_timed_runs == 2 && loaded->n_run_times == 2);
	cr_expect(loaded->timed_runs[1].shown && loaded->timed_runs[1].system_s == 0.5);
	cr_expect(loaded->timed_runs[0].samples == 3 && loaded->timed_runs[0].time_ns == 7);
	cr_expect(loaded->run_times[0].offset == 0x10 &&
		  loaded->run_times[1].module == PROFILE_NONE);
	profile_destroy(loaded);
	run_sql("UPDATE run_times SET timed_run_id = 2 WHERE id = 1");
	assert_error(load_error(), RF_EFORMAT, "timed_run_id that is not there");
	run_sql(WITHOUT_VERSION_10 WITHOUT_CONFLICTS
		"DROP TABLE run_times; DROP TABLE timed_runs; "
		"DROP TABLE sum_run_times; PRAGMA user_version = 6");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_timed_runs + loaded->n_run_times, 0);
	cr_expect_eq(loaded->n_samples, saved->n_samples);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 6 did not know what code shows. */
Test(profile, a_schema_without_what_code_shows_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	save_sample();
	run_sql(WITHOUT_VERSION_10 WITHOUT_CONFLICTS
		"DROP TABLE sum_code; PRAGMA user_version = 6");
	assert_ok(profile_load_parts(file, PROFILE_SUMS, &loaded));
	cr_expect_eq(loaded->n_sum_code, 0);
	cr_expect_eq(loaded->n_samples, saved->n_samples);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 7 had no Python. */
Test(profile, a_schema_without_python_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	const uint32_t sort = profile_python_function(saved, "A.sort", "a b.py", 7);
	cr_expect_eq(profile_python_function(saved, "A.sort", "a b.py", 7), sort);
	cr_expect_neq(profile_python_function(saved, "A.sort", "a b.py", 8), sort);
	const uint32_t outer = profile_python_frame(saved, PROFILE_NONE, sort, 9, true);
	const uint32_t inner = profile_python_frame(saved, outer, sort, 9, false);
	cr_expect_eq(profile_python_frame(saved, outer, sort, 9, false), inner);
	cr_expect_neq(profile_python_frame(saved, outer, sort, 9, true), inner);
	const struct profile_sample again = saved->samples[0];
	cr_assert(rf_array_push(saved->samples, saved->n_samples, saved->cap_samples, again));
	for (uint32_t i = 0; i < 2; i++) {
		const struct profile_python_sample row = {i, i ? inner : outer};
		cr_assert(rf_array_push(saved->python_samples, saved->n_python_samples,
					saved->cap_python_samples, row));
	}
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	assert_same(saved, loaded);
	profile_destroy(loaded);
	run_sql("UPDATE python_samples SET sample_id = 1");
	assert_error(load_error(), RF_EFORMAT, "Python of samples is out of order");
	run_sql("UPDATE python_samples SET sample_id = id; UPDATE python_frames SET parent_id = 1 "
		"WHERE id = 1");
	assert_error(load_error(), RF_EFORMAT, "parent_id that is not there");
	run_sql(WITHOUT_VERSION_10
		"DROP TABLE python_samples; DROP TABLE python_frames; DROP TABLE python_functions; "
		"PRAGMA user_version = 7");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(
		loaded->n_python_functions + loaded->n_python_frames + loaded->n_python_samples, 0);
	cr_expect_eq(loaded->n_samples, saved->n_samples);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Of moved rows those that are looked up are found. */
Test(profile, rows_move_to_a_profile_that_has_none_of_them)
{
	struct profile *from = profile_create(), *to = profile_create();
	profile_set_fact(to, "command", "kept");
	profile_set_fact(to, "program", "replaced");
	profile_set_fact(from, "program", "new");
	const uint32_t module = profile_module(from, "/bin/a", "");
	const uint32_t frame = profile_frame(from, PROFILE_NONE, module, 0x10);
	profile_move_rows(from, to);
	profile_destroy(from);
	cr_expect_eq(profile_module(to, "/bin/a", ""), module);
	cr_expect_eq(profile_frame(to, PROFILE_NONE, module, 0x10), frame);
	cr_expect_eq(profile_module(to, "/bin/b", ""), module + 1);
	cr_expect(profile_fact_is(to, "command", "kept") && profile_fact_is(to, "program", "new"));
	profile_destroy(to);
}

/* Version 5 had no inlined functions. */
Test(profile, a_schema_without_inlined_functions_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	const uint32_t dot = profile_inlined_function(saved, 0, "dot(int)", "a b.h", 7);
	cr_expect_eq(profile_inlined_function(saved, 0, "dot(int)", "a b.h", 8), dot,
		     "a declaration elsewhere");
	cr_expect_neq(profile_inlined_function(saved, 0, "dot(int)", "c.h", 7), dot);
	const uint32_t outer = profile_inlined_call(saved, PROFILE_NONE, dot, "m.c", 9);
	const uint32_t inner = profile_inlined_call(saved, outer, dot, "a b.h", 8);
	cr_expect_eq(profile_inlined_call(saved, outer, dot, "a b.h", 8), inner);
	cr_expect_neq(profile_inlined_call(saved, PROFILE_NONE, dot, "a b.h", 8), inner);
	const struct profile_inlined_code code[] = {{0, 0x10, 0x20, outer}, {0, 0x20, 0x30, inner}};
	for (size_t i = 0; i < 2; i++)
		cr_assert(rf_array_push(saved->inlined_code, saved->n_inlined_code,
					saved->cap_inlined_code, code[i]));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->n_inlined_functions, 2);
	cr_assert_eq(loaded->n_inlined_calls, 3);
	cr_assert_eq(loaded->n_inlined_code, 2);
	cr_expect_str_eq(loaded->inlined_functions[dot].name, "dot(int)");
	cr_expect_str_eq(loaded->inlined_functions[dot].file, "a b.h");
	cr_expect_eq(loaded->inlined_functions[dot].line, 7);
	cr_expect_eq(loaded->inlined_calls[inner].parent, outer);
	cr_expect_str_eq(loaded->inlined_calls[outer].file, "m.c");
	cr_expect_eq(loaded->inlined_code[1].call, inner);
	profile_destroy(loaded);
	run_sql("UPDATE inlined_code SET end_offset = 0x21 WHERE id = 0");
	assert_error(load_error(), RF_EFORMAT, "overlaps or is out of order");
	run_sql("UPDATE inlined_code SET end_offset = 0x20 WHERE id = 0; UPDATE inlined_calls SET "
		"parent_id = 1 WHERE id = 1");
	assert_error(load_error(), RF_EFORMAT, "parent_id that is not there");
	run_sql(WITHOUT_VERSION_10 WITHOUT_CONFLICTS
		"DROP TABLE inlined_code; DROP TABLE inlined_calls; DROP TABLE inlined_functions; "
		"PRAGMA user_version = 5");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_inlined_functions + loaded->n_inlined_calls + loaded->n_inlined_code,
		     0);
	cr_expect_eq(loaded->n_functions, saved->n_functions);
	profile_destroy(loaded);
	profile_destroy(saved);
}

static uint32_t add_process(struct profile *p, enum profile_run run, int pid, uint32_t parent,
			    const char *command)
{
	uint32_t row = profile_process(p, run, pid, parent);
	cr_assert_neq(row, PROFILE_NONE);
	profile_process_command(p, row, command);
	return row;
}

/* make with two cc and an ld, whose order differs; one cc of the second run has a child that the
 * first run's has not. */
Test(profile, processes_of_two_runs_are_matched)
{
	struct profile *p = profile_create();
	uint32_t make = add_process(p, RUN_TIMED, 1, PROFILE_NONE, "make");
	uint32_t cc1 = add_process(p, RUN_TIMED, 2, make, "cc");
	uint32_t ld = add_process(p, RUN_TIMED, 3, make, "ld");
	uint32_t cc2 = add_process(p, RUN_TIMED, 4, make, "cc");
	uint32_t as = add_process(p, RUN_TIMED, 5, cc2, "as");
	uint32_t lost = add_process(p, RUN_TIMED, 6, make, "cc");
	uint32_t make_ = add_process(p, RUN_COUNTED, 1, PROFILE_NONE, "make");
	uint32_t ld_ = add_process(p, RUN_COUNTED, 30, make_, "ld");
	uint32_t cc1_ = add_process(p, RUN_COUNTED, 20, make_, "cc");
	uint32_t more = add_process(p, RUN_COUNTED, 60, cc1_, "as");
	uint32_t cc2_ = add_process(p, RUN_COUNTED, 40, make_, "cc");
	uint32_t as_ = add_process(p, RUN_COUNTED, 50, cc2_, "as");
	p->processes[ld_].birth = BIRTH_VFORK;
	cr_assert_null(profile_match_processes(p));
	cr_expect_eq(p->processes[make_].twin, make);
	cr_expect_eq(p->processes[cc1_].twin, cc1);
	cr_expect_eq(p->processes[cc2_].twin, cc2);
	cr_expect_eq(p->processes[ld_].twin, ld);
	cr_expect_eq(p->processes[as_].twin, as);
	cr_expect_eq(p->processes[more].twin, PROFILE_NONE);
	cr_expect_eq(p->processes[lost].twin, PROFILE_NONE);
	cr_expect_eq(p->processes[ld].birth, BIRTH_VFORK,
		     "a sampler learns it from the counted run");
	profile_destroy(p);
}

Test(profile, lives_are_those_of_a_name_in_one_run)
{
	struct profile *p = profile_create();
	const struct {
		enum profile_run run;
		const char *command;
		uint64_t start_ns, end_ns;
	} lives[] = {{RUN_TIMED, "cc", 5, 25},
		     {RUN_TIMED, "cc", 10, 12},
		     {RUN_TIMED, "as", 0, 70},
		     {RUN_COUNTED, "cc", 0, 90},
		     {RUN_TIMED, "ld", 30, 0}};
	for (int i = 0; i < 5; i++) {
		const uint32_t row =
			add_process(p, lives[i].run, i, PROFILE_NONE, lives[i].command);
		p->processes[row].start_ns = lives[i].start_ns;
		p->processes[row].end_ns = lives[i].end_ns;
	}
	cr_expect_eq(profile_longest_life(p, RUN_TIMED, "cc"), 20u);
	cr_expect_eq(profile_longest_life(p, RUN_COUNTED, "cc"), 90u);
	cr_expect_eq(profile_longest_life(p, RUN_TIMED, "ld"), 0u, "no end was seen");
	cr_expect_eq(profile_longest_life(p, RUN_TIMED, "make"), 0u);
	cr_expect_eq(profile_mean_life(p, RUN_TIMED, "cc"), 11u);
	cr_expect_eq(profile_mean_life(p, RUN_COUNTED, "cc"), 90u);
	cr_expect_eq(profile_mean_life(p, RUN_TIMED, "ld"), 0u, "no end was seen");
	profile_destroy(p);
}

Test(profile, functions_made_at_run_time_have_a_place_by_their_name)
{
	struct profile *p = sample_profile();
	uint32_t module, other;
	uint64_t a = profile_jit_function(p, "a", &module),
		 b = profile_jit_function(p, "b", &other);
	cr_expect_eq(module, other);
	cr_expect(a >= b + PROFILE_JIT_STRIDE || b >= a + PROFILE_JIT_STRIDE);
	struct profile_function by_hand = {0, 5, 6, strdup("a"), strdup(""), 0};
	cr_assert(rf_array_push(p->functions, p->n_functions, p->cap_functions, by_hand));
	cr_expect_eq(profile_jit_function(p, "a", &other), a);
	cr_expect_str_eq(p->modules[module].name, "[jit]");
	cr_expect_str_eq(p->functions[a / PROFILE_JIT_STRIDE - 1].name, "a");
	profile_destroy(p);
}

Test(profile, every_truncation_is_noticed)
{
	save_sample();
	struct stat info;
	cr_assert_eq(stat(file, &info), 0);
	for (off_t size = info.st_size - 1; size > 16; size -= 509) {
		cr_assert_eq(truncate(file, size), 0);
		assert_error(load_error(), RF_EFORMAT, "truncated");
	}
}

struct hostile {
	const char *sql, *says;
};
static const struct hostile hostile[] = {
	{"UPDATE functions SET module_id = 2", "module_id that is not there"},
	{"UPDATE functions SET module_id = -1", "makes no sense"},
	{"UPDATE functions SET module_id = 4294967295", "makes no sense"},
	{"UPDATE functions SET module_id = 4294967296", "makes no sense"},
	{"UPDATE functions SET end_offset = 5", "ends before"},
	{"UPDATE blocks SET module_id = 9", "not there"},
	{"UPDATE blocks SET size_bytes = 4", "makes no sense"},
	{"UPDATE blocks SET size_bytes = -1", "makes no sense"},
	{"UPDATE counts SET block_id = 2", "not there"},
	{"UPDATE counts SET thread_id = 2", "not there"},
	{"UPDATE units SET thread_id = 77", "not there"},
	{"UPDATE units SET module_id = 77", "not there"},
	{"UPDATE units SET units = -2048", "row 0 of table \"units\" makes no sense: units -2048"},
	{"UPDATE frames SET parent_id = 1 WHERE id = 0", "not there"},
	{"UPDATE frames SET parent_id = 1 WHERE id = 1", "not there"},
	{"UPDATE frames SET module_id = 5", "not there"},
	{"UPDATE samples SET frame_id = 2", "not there"},
	{"UPDATE samples SET thread_id = 2", "not there"},
	{"UPDATE uncounted SET module_id = 2", "not there"},
	{"UPDATE threads SET run = 3", "makes no sense"},
	{"UPDATE processes SET parent_id = 1 WHERE id = 1", "not there"},
	{"UPDATE processes SET twin_id = 2 WHERE id = 0", "not there"},
	{"UPDATE processes SET module_id = 2", "not there"},
	{"UPDATE processes SET birth = 5", "makes no sense"},
	{"UPDATE processes SET execs = -1", "makes no sense"},
	{"UPDATE native_threads SET thread_id = 2", "not there"},
	{"DROP TABLE processes", "\"processes\" is missing or changed"},
	{"UPDATE threads SET pid = 1 << 40", "makes no sense"},
	{"UPDATE roofs SET isa = 'sixteen chars and'", "makes no sense"},
	{"UPDATE roofs SET best = -1.0", "makes no sense: best -1"},
	{"UPDATE roofs SET best = 9e999", "makes no sense"},
	{"UPDATE roofs SET best = 1.7e308", "makes no sense"},
	{"UPDATE roofs SET best = 1e-300", "makes no sense"},
	{"UPDATE roofs SET threads = -1", "makes no sense"},
	{"UPDATE counts SET executions = 1 << 62", "makes no sense"},
	{"UPDATE counts SET executions = -(1 << 62)", "makes no sense"},
	{"UPDATE samples SET weight_ns = -1", "makes no sense"},
	{"UPDATE samples SET weight_ns = 1 << 62", "makes no sense"},
	{"INSERT INTO samples SELECT id + 1, thread_id, time_ns, weight_ns, frame_id FROM samples; "
	 "INSERT INTO samples SELECT id + 2, thread_id, time_ns, weight_ns, frame_id FROM samples; "
	 "INSERT INTO samples SELECT id + 4, thread_id, time_ns, weight_ns, frame_id FROM samples; "
	 "UPDATE samples SET weight_ns = 1 << 60",
	 "more than can be"},
	{"UPDATE roofs SET distinguishable = 2", "makes no sense"},
	{"UPDATE roofs SET kind = 4", "makes no sense"},
	{"UPDATE modules SET name = 'a' || char(0) || 'b'", "makes no sense: name"},
	{"UPDATE samples SET id = 5", "makes no sense: its number"},
	{"DELETE FROM modules WHERE id = 0", "makes no sense"},
	{"DROP TABLE roofs", "\"roofs\" is missing or changed"},
	{"ALTER TABLE counts ADD COLUMN more INTEGER", "\"counts\" is missing or changed"},
	{"DROP TABLE facts; CREATE VIEW facts AS WITH RECURSIVE c(i) AS (SELECT 0 UNION ALL SELECT "
	 "i + 1 FROM c) SELECT i AS id, 'k' AS key, 'v' AS value FROM c",
	 "\"facts\" is missing"},
	{"PRAGMA writable_schema = ON; UPDATE sqlite_schema SET rootpage = 1 WHERE name = 'counts'",
	 ""},
};

/* Criterion hands parameters to another process, where pointers mean nothing: the row's number. */
ParameterizedTestParameters(profile, hostile_rows_are_refused)
{
	static size_t rows[sizeof(hostile) / sizeof(*hostile)];
	for (size_t i = 0; i < sizeof(hostile) / sizeof(*hostile); i++)
		rows[i] = i;
	return cr_make_param_array(size_t, rows, sizeof(hostile) / sizeof(*hostile));
}

ParameterizedTest(size_t *row, profile, hostile_rows_are_refused)
{
	save_sample();
	run_sql(hostile[*row].sql);
	assert_error(load_error(), RF_EFORMAT, hostile[*row].says);
}

/* A newer version may measure roofs that this one does not know. */
Test(profile, roofs_of_unknown_words_are_kept)
{
	struct profile *loaded;
	save_sample();
	run_sql("UPDATE roofs SET op = 'fma4' WHERE id = 0");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->roofs[0].op, ROOF_OP_UNKNOWN);
	cr_expect_eq(loaded->roofs[0].isa, ROOF_ISA_AVX2);
	cr_expect_eq(loaded->roofs[1].level, ROOF_LEVEL_DRAM);
	profile_destroy(loaded);
}

Test(profile, flipped_bits_never_break_the_reader)
{
	save_sample();
	FILE *stream = fopen(file, "r");
	static char whole[1 << 19], changed[1 << 19];
	size_t n = fread(whole, 1, sizeof(whole), stream);
	fclose(stream);
	cr_assert(n > 4096 && n < sizeof(whole));
	unsigned seed = 1, refused = 0;
	for (int round = 0; round < 1500; round++) {
		memcpy(changed, whole, n);
		for (int flips = rand_r(&seed) % 8 + 1; flips; flips--)
			changed[(size_t)rand_r(&seed) % n] ^= (char)(1 << rand_r(&seed) % 8);
		write_bytes(changed, n);
		struct rf_error *error = load_error();
		refused += error != NULL;
		rf_error_destroy(error);
	}
	cr_expect_gt(refused, 0u);
}

Test(profile, the_users_own_sql_finds_its_way)
{
	struct profile *p = sample_profile();
	uint32_t leaf = profile_frame(p, 0, 0, 0x1001);
	struct profile_sample sample = {0, 1, 2000000, leaf};
	cr_assert(rf_array_push(p->samples, p->n_samples, p->cap_samples, sample));
	assert_ok(profile_save(p, file));
	profile_destroy(p);
	sqlite3 *db = NULL;
	sqlite3_stmt *statement = NULL;
	cr_assert_eq(sqlite3_open(file, &db), SQLITE_OK);
	cr_assert_eq(sqlite3_prepare_v2(db, "SELECT name, module, time_s FROM function_times", -1,
					&statement, NULL),
		     SQLITE_OK, "%s", sqlite3_errmsg(db));
	cr_assert_eq(sqlite3_step(statement), SQLITE_ROW);
	cr_expect_str_eq((const char *)sqlite3_column_text(statement, 0), "f(int)");
	cr_expect_str_eq((const char *)sqlite3_column_text(statement, 1), "app");
	cr_expect_float_eq(sqlite3_column_double(statement, 2), 0.002, 1e-12);
	sqlite3_finalize(statement);
	cr_assert_eq(sqlite3_prepare_v2(db, "SELECT * FROM pragma_foreign_key_check", -1,
					&statement, NULL),
		     SQLITE_OK);
	cr_expect_eq(sqlite3_step(statement), SQLITE_DONE, "every foreign key has its row");
	sqlite3_finalize(statement);
	sqlite3_close(db);
}

/* Version 7 did not know shared lines. */
Test(profile, a_schema_without_shared_lines_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	const struct profile_shared_line shared = {.kind = SHARING_FALSE,
						   .accesses = 10,
						   .halfwidth = 0.5,
						   .transfers_at_most = 7,
						   .true_at_most = 1,
						   .transfers_seen = 3};
	const struct profile_shared_place place = {.offset = 0x10,
						   .object = PROFILE_NONE,
						   .loaded = UINT64_MAX,
						   .stored = 0xff00,
						   .accesses = 10,
						   .stores = 4,
						   .file = strdup("")};
	cr_assert(rf_array_push(saved->shared_lines, saved->n_shared_lines, saved->cap_shared_lines,
				shared));
	cr_assert(rf_array_push(saved->shared_places, saved->n_shared_places,
				saved->cap_shared_places, place));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert(loaded->n_shared_lines == 1 && loaded->n_shared_places == 1);
	cr_expect(loaded->shared_lines[0].kind == shared.kind &&
		  loaded->shared_lines[0].accesses == shared.accesses &&
		  loaded->shared_lines[0].halfwidth == shared.halfwidth &&
		  loaded->shared_lines[0].transfers_at_most == shared.transfers_at_most &&
		  loaded->shared_lines[0].true_at_most == shared.true_at_most &&
		  loaded->shared_lines[0].transfers_seen == shared.transfers_seen);
	cr_expect_eq(loaded->shared_places[0].loaded, UINT64_MAX);
	cr_expect_eq(loaded->shared_places[0].object, PROFILE_NONE);
	profile_destroy(loaded);
	run_sql("UPDATE shared_places SET shared_line_id = 1");
	assert_error(load_error(), RF_EFORMAT, "shared_line_id that is not there");
	run_sql(WITHOUT_VERSION_10
		"DROP TABLE shared_places; DROP TABLE shared_lines; PRAGMA user_version = 7");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_shared_lines + loaded->n_shared_places, 0);
	cr_expect_eq(loaded->n_samples, saved->n_samples);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Version 9 did not know branches. */
Test(profile, a_schema_without_branches_is_read)
{
	struct profile *saved = sample_profile(), *loaded = NULL;
	const struct profile_branch branch = {.offset = 0x10,
					      .kind = PROFILE_BRANCH_CALL,
					      .outcomes = 100,
					      .taken = 90,
					      .wrong = 20,
					      .plain_wrong = 30,
					      .share = 0.2,
					      .halfwidth = 0.05,
					      .plain_share = 0.3,
					      .file = strdup("/a.c"),
					      .source_line = 4};
	cr_assert(rf_array_push(saved->branches, saved->n_branches, saved->cap_branches, branch));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->n_branches, 1);
	const struct profile_branch *read = &loaded->branches[0];
	cr_expect(read->offset == 0x10 && read->kind == PROFILE_BRANCH_CALL &&
		  read->outcomes == 100 && read->taken == 90 && read->wrong == 20 &&
		  read->plain_wrong == 30 && read->share == 0.2 && read->halfwidth == 0.05 &&
		  read->plain_share == 0.3 && read->source_line == 4);
	cr_expect_str_eq(read->file, "/a.c");
	profile_destroy(loaded);
	run_sql("UPDATE branches SET kind = 4");
	assert_error(load_error(), RF_EFORMAT, "branches");
	run_sql(WITHOUT_VERSION_10 "DROP TABLE branches; PRAGMA user_version = 9");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_branches, 0);
	profile_destroy(loaded);
	profile_destroy(saved);
}

Test(profile, page_walks_are_kept_in_order)
{
	struct profile *saved = profile_create(), *loaded;
	const struct profile_page_walk rows[] = {{0, 0x10, 100, 20, 5}, {0, 0x18, 7, 0, 0}};
	profile_module(saved, "/x", "");
	for (size_t i = 0; i < 2; i++)
		cr_assert(rf_array_push(saved->page_walks, saved->n_page_walks,
					saved->cap_page_walks, rows[i]));
	assert_ok(profile_save(saved, file));
	assert_ok(profile_load(file, &loaded));
	cr_assert_eq(loaded->n_page_walks, 2);
	const struct profile_page_walk *read = &loaded->page_walks[0];
	cr_expect(read->offset == 0x10 && read->accesses == 100 && read->near_misses == 20 &&
		  read->walks == 5 && loaded->page_walks[1].offset == 0x18);
	profile_destroy(loaded);
	run_sql("UPDATE page_walks SET walks = 21 WHERE code_offset = 16");
	assert_error(load_error(), RF_EFORMAT, "page walks");
	run_sql("UPDATE page_walks SET walks = 5, code_offset = 24");
	assert_error(load_error(), RF_EFORMAT, "page walks");
	run_sql(WITHOUT_VERSION_12 "PRAGMA user_version = 11");
	assert_ok(profile_load(file, &loaded));
	cr_expect_eq(loaded->n_page_walks, 0);
	profile_destroy(loaded);
	profile_destroy(saved);
}

/* Custom roofs: what is kept, what is taken from another machine, and every way to be wrong. */
#include "machine/data/machine_json.h"
#include "machine/store/custom_roofs.h"

#include "tests/unit/assert_ok.h"
#include "tests/unit/directory.h"
#include "tests/unit/machine/roof_row.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static char kept[128], file[96];

static void make_directory(void)
{
	directory_make();
	setenv("XDG_CONFIG_HOME", directory, 1);
	setenv("HOME", "/nonexistent", 1);
	snprintf(kept, sizeof(kept), "%s/rfprof/roofs.json", directory);
	snprintf(file, sizeof(file), "%s/given.json", directory);
}

TestSuite(custom_roofs, .init = make_directory, .fini = directory_remove);

/* One line with these words, and a next step. */
static void assert_error(struct rf_error *error, enum rf_error_code code, const char *words)
{
	cr_assert_not_null(error, "no error about \"%s\"", words);
	cr_expect_eq(error->code, code, "%d: %s", error->code, error->message);
	cr_expect(strstr(error->message, words), "\"%s\" does not say \"%s\"", error->message,
		  words);
	cr_expect_not_null(error->hint);
	cr_expect_null(strchr(error->message, '\n'));
	cr_expect_lt(strlen(error->message), 500);
	rf_error_destroy(error);
}

static void write_text(const char *path, const char *text)
{
	FILE *stream = fopen(path, "w");
	cr_assert_not_null(stream);
	fputs(text, stream);
	fclose(stream);
}

static char *read_text(const char *path)
{
	char *text = NULL;
	size_t size = 0;
	FILE *stream = fopen(path, "r");
	cr_assert_not_null(stream, "%s", path);
	cr_assert_gt(getdelim(&text, &size, '\0', stream), 0);
	fclose(stream);
	return text;
}

static struct custom_roof_set set;

static struct rf_error *import(const char *text)
{
	write_text(file, text);
	return custom_roofs_import(file, &set);
}

#define ENTRY(name, value, unit, source)                                   \
	"{\"name\": \"" name "\", \"value\": " value ", \"unit\": \"" unit \
	"\", \"source\": \"" source "\"}"
#define FILE_OF(entries) "{\"roofs\": [" entries "]}"

Test(custom_roofs, import_keeps_and_load_finds)
{
	assert_ok(import(FILE_OF(ENTRY("pi", "3.1415926535897931", "GFLOP/s", "a book") "," ENTRY(
		"DDR5 \\\"wörk\\\"", "38", "GB/s", "JEDEC"))));
	cr_assert_eq(set.n, 2);
	memset(&set, 0xff, sizeof(set));
	assert_ok(custom_roofs_load(&set));
	cr_assert_eq(set.n, 2);
	cr_expect_str_eq(set.roofs[0].name, "pi");
	cr_expect(set.roofs[0].value == 3.1415926535897931, "not bit for bit");
	cr_expect_str_eq(set.roofs[0].unit, "GFLOP/s");
	cr_expect_str_eq(set.roofs[0].source, "a book");
	cr_expect_str_eq(set.roofs[1].name, "DDR5 \"wörk\"");
	cr_expect(set.roofs[1].value == 38);
	cr_expect_str_eq(set.roofs[1].unit, "GB/s");
}

Test(custom_roofs, the_same_name_replaces_in_its_place)
{
	assert_ok(import(FILE_OF(ENTRY("a", "1", "GB/s", "x") "," ENTRY("b", "2", "GB/s", "x"))));
	assert_ok(
		import(FILE_OF(ENTRY("c", "3", "GB/s", "x") "," ENTRY("a", "4", "GFLOP/s", "y"))));
	assert_ok(custom_roofs_load(&set));
	cr_assert_eq(set.n, 3);
	cr_expect_str_eq(set.roofs[0].name, "a");
	cr_expect(set.roofs[0].value == 4);
	cr_expect_str_eq(set.roofs[0].source, "y");
	cr_expect_str_eq(set.roofs[2].name, "c");
}

Test(custom_roofs, forget_removes_one_or_all)
{
	size_t removed = 99;
	assert_ok(import(FILE_OF(ENTRY("a", "1", "GB/s", "x") "," ENTRY(
		"b", "2", "GB/s", "x") "," ENTRY("c", "2", "GB/s", "x"))));
	assert_ok(custom_roofs_forget("b", &removed));
	cr_expect_eq(removed, 1);
	assert_error(custom_roofs_forget("b", &removed), RF_EINPUT, "b");
	assert_ok(custom_roofs_load(&set));
	cr_assert_eq(set.n, 2);
	cr_expect_str_eq(set.roofs[1].name, "c");
	assert_ok(custom_roofs_forget("all", &removed));
	cr_expect_eq(removed, 2);
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, 0);
	assert_ok(custom_roofs_forget("all", &removed));
	cr_expect_eq(removed, 0);
}

Test(custom_roofs, nothing_kept_is_no_error)
{
	set.n = 5;
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, 0);
	cr_expect_eq(access(kept, F_OK), -1, "loading made a file");
	unsetenv("XDG_CONFIG_HOME");
	unsetenv("HOME");
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, 0);
	assert_error(import(FILE_OF(ENTRY("a", "1", "GB/s", "x"))), RF_EACCESS, "home directory");
}

Test(custom_roofs, home_stands_in_for_xdg)
{
	char *path = NULL;
	unsetenv("XDG_CONFIG_HOME");
	setenv("HOME", directory, 1);
	assert_ok(import(FILE_OF(ENTRY("a", "1", "GB/s", "x"))));
	assert_ok(custom_roofs_path(&path));
	snprintf(kept, sizeof(kept), "%s/.config/rfprof/roofs.json", directory);
	cr_expect_str_eq(path, kept);
	cr_expect_eq(access(kept, R_OK), 0);
	free(path);
	setenv("XDG_CONFIG_HOME", "relative", 1); /* to be ignored, says the specification */
	assert_ok(custom_roofs_path(&path));
	cr_expect_str_eq(path, kept);
	free(path);
}

static const struct {
	const char *text, *words;
} bad[] = {
	{"", "not JSON"},
	{"roofs", "not JSON"},
	{"[]", "no array \"roofs\""},
	{"3", "not JSON"},
	{"{\"roofs\": 3}", "no array \"roofs\""},
	{"{\"roofs\": {}}", "no array \"roofs\""},
	{"{\"roofs\": [], \"roofs\": []}", "duplicate"},
	{"\xff{", "not JSON"},
	{FILE_OF("3"), "roof 1: it is not an object"},
	{FILE_OF(ENTRY("a", "1", "GB/s", "x") ", {}"), "roof 2: it has no \"name\""},
	{FILE_OF(ENTRY("", "1", "GB/s", "x")), "roof 1: its \"name\" is empty"},
	{FILE_OF(ENTRY("a", "1", "GB/s", "")), "roof 1 (a): its \"source\" is empty"},
	{FILE_OF("{\"name\": 5}"), "its \"name\" is not a text"},
	{FILE_OF("{\"name\": \"a\", \"unit\": \"GB/s\"}"), "roof 1 (a): it has no \"value\""},
	{FILE_OF("{\"name\": \"a\", \"unit\": \"GB/s\", \"value\": 1}"), "it has no \"source\""},
	{FILE_OF(ENTRY("a", "\"1\"", "GB/s", "x")), "\"value\" is not a number"},
	{FILE_OF(ENTRY("a", "0", "GB/s", "x")), "\"value\" is not above 0"},
	{FILE_OF(ENTRY("a", "-1", "GB/s", "x")), "\"value\" is not above 0"},
	{FILE_OF(ENTRY("a", "1e400", "GB/s", "x")), "not JSON"},
	{FILE_OF(ENTRY("a", "99999999999999999999", "GB/s", "x")), "not JSON"},
	{FILE_OF(ENTRY("a", "NaN", "GB/s", "x")), "not JSON"},
	{FILE_OF(ENTRY("a", "1", "GiB/s", "x")), "roof 1 (a): its \"unit\" is neither"},
	{FILE_OF(ENTRY("a", "1", "GB/s with a tail", "x")), "its \"unit\" is neither"},
	{FILE_OF(ENTRY("a", "1", "", "x")), "its \"unit\" is neither"},
	{FILE_OF(ENTRY("a\\u001b[2J", "1", "GB/s", "x")), "its \"name\" holds a control character"},
	{FILE_OF(ENTRY("a", "1", "GB/s", "x\\n")), "its \"source\" holds a control character"},
	{FILE_OF(ENTRY("a\\u009b", "1", "GB/s", "x")), "its \"name\" holds a control character"},
	{FILE_OF(ENTRY("a\\u0000b", "1", "GB/s", "x")), "not JSON"},
	{FILE_OF(ENTRY("a", "1", "GB/s", "x") "," ENTRY("a", "2", "GB/s", "x")),
	 "roof 2 (a): its name stands there twice"},
};

Test(custom_roofs, bad_files_are_refused_precisely_and_change_nothing)
{
	assert_ok(import(FILE_OF(ENTRY("kept", "1", "GB/s", "x"))));
	char *before = read_text(kept);
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++)
		assert_error(import(bad[i].text), RF_EFORMAT, bad[i].words);
	char *after = read_text(kept);
	cr_expect_str_eq(before, after);
	free(before);
	free(after);
}

Test(custom_roofs, texts_fit_to_the_last_byte)
{
	struct custom_roof *roof = set.roofs;
	char text[1024], name[sizeof(roof->name) + 1], source[sizeof(roof->source) + 1];
	for (int over = 0; over < 2; over++) {
		memset(name, 'n', sizeof(name));
		memset(source, 's', sizeof(source));
		name[sizeof(roof->name) - 1 + over] = '\0';
		source[sizeof(roof->source) - 1] = '\0';
		snprintf(text, sizeof(text), FILE_OF(ENTRY("%s", "1", "GB/s", "%s")), name, source);
		if (over)
			assert_error(import(text), RF_EFORMAT,
				     "its \"name\" is longer than 95 bytes");
		else
			assert_ok(import(text));
	}
	cr_expect_str_eq((assert_ok(custom_roofs_load(&set)), set.roofs[0].source), source);
}

Test(custom_roofs, a_huge_name_is_not_repeated)
{
	char *text = malloc(2100000);
	strcpy(text, "{\"roofs\": [{\"name\": \"");
	size_t n = strlen(text);
	memset(text + n, 'x', 2000000);
	strcpy(text + n + 2000000, "\"}]}");
	assert_error(import(text), RF_EFORMAT, "longer than 95 bytes");
	free(text);
}

static void many(char *text, size_t size, int from, int n)
{
	int at = snprintf(text, size, "{\"roofs\": [");
	for (int i = from; i < from + n; i++)
		at += snprintf(text + at, size - (size_t)at,
			       "%s" ENTRY("roof %d", "1", "GB/s", "x"), i > from ? "," : "", i);
	snprintf(text + at, size - (size_t)at, "]}");
}

Test(custom_roofs, there_are_at_most_64)
{
	static char text[16384];
	many(text, sizeof(text), 0, CUSTOM_ROOFS_MAX + 1);
	assert_error(import(text), RF_EFORMAT, "65 roofs, more than 64");
	many(text, sizeof(text), 0, CUSTOM_ROOFS_MAX);
	assert_ok(import(text));
	assert_error(import(FILE_OF(ENTRY("one more", "1", "GB/s", "x"))), RF_EINPUT,
		     "more than 64");
	assert_ok(import(FILE_OF(ENTRY("roof 63", "9", "GB/s", "x"))));
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, CUSTOM_ROOFS_MAX);
	cr_expect(set.roofs[63].value == 9);
}

Test(custom_roofs, a_corrupt_kept_file_is_named_and_left_alone)
{
	char folder[96];
	size_t removed;
	snprintf(folder, sizeof(folder), "%s/rfprof", directory);
	cr_assert_eq(mkdir(folder, 0777), 0);
	write_text(kept, "{\"roofs\": [{\"name\": ");
	assert_error(custom_roofs_load(&set), RF_EFORMAT, kept);
	cr_expect_eq(set.n, 0);
	assert_error(import(FILE_OF(ENTRY("a", "1", "GB/s", "x"))), RF_EFORMAT, kept);
	assert_error(custom_roofs_forget("all", &removed), RF_EFORMAT, kept);
	char *text = read_text(kept);
	cr_expect_str_eq(text, "{\"roofs\": [{\"name\": ");
	free(text);
}

Test(custom_roofs, files_that_cannot_be_read)
{
	assert_error(custom_roofs_import("/nonexistent/roofs", &set), RF_EACCESS,
		     "/nonexistent/roofs");
	assert_error(custom_roofs_import(directory, &set), RF_EACCESS, directory);
}

Test(custom_roofs, a_place_that_cannot_be_written)
{
	setenv("XDG_CONFIG_HOME", "/proc/self", 1);
	assert_error(import(FILE_OF(ENTRY("a", "1", "GB/s", "x"))), RF_EACCESS,
		     "/proc/self/rfprof");
	snprintf(kept, sizeof(kept), "%s/file", directory);
	write_text(kept, "");
	setenv("XDG_CONFIG_HOME", kept, 1);
	assert_error(import(FILE_OF(ENTRY("a", "1", "GB/s", "x"))), RF_EACCESS, kept);
}

Test(custom_roofs, no_temporary_file_stays_and_a_link_is_followed)
{
	char target[96], folder[96];
	struct stat status;
	snprintf(folder, sizeof(folder), "%s/rfprof", directory);
	snprintf(target, sizeof(target), "%s/dotfile", directory);
	write_text(target, FILE_OF(ENTRY("a", "1", "GB/s", "x")));
	cr_assert_eq(mkdir(folder, 0777), 0);
	cr_assert_eq(symlink(target, kept), 0);
	assert_ok(import(FILE_OF(ENTRY("b", "1", "GB/s", "x"))));
	cr_assert_eq(lstat(kept, &status), 0);
	cr_expect(S_ISLNK(status.st_mode), "the link was replaced");
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, 2);
	DIR *open = opendir(folder);
	int n = 0;
	for (struct dirent *entry; (entry = readdir(open));)
		n += entry->d_name[0] != '.';
	closedir(open);
	cr_expect_eq(n, 1, "%d files", n);
}

/* Several processes that import at the same time lose nothing of each other. */
Test(custom_roofs, writers_at_the_same_time)
{
	static char text[512];
	for (int i = 0; i < 8; i++)
		if (fork() == 0) {
			snprintf(file, sizeof(file), "%s/%d.json", directory, i);
			snprintf(text, sizeof(text), FILE_OF(ENTRY("roof %d", "1", "GB/s", "x")),
				 i);
			struct rf_error *error = import(text);
			_exit(error ? 1 : 0);
		}
	for (int status, i = 0; i < 8; i++)
		cr_assert(wait(&status) > 0 && status == 0);
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, 8, "%zu of 8", set.n);
}

/* ---- another machine's roofs ---- */

static struct roof rows[32];
static size_t n_rows;

static void add(enum roof_kind kind, const char *what, const char *op, int threads, double best)
{
	rows[n_rows++] = roof_row(kind, what, op, threads, best);
}

static struct rf_error *import_machine(const char *model)
{
	struct machine machine = {.cpu_model = (char *)model,
				  .usable_threads = 96,
				  .clock_ghz = 2.4,
				  .clock_fp_ghz = 2.2,
				  .roofs = rows,
				  .n_roofs = n_rows};
	json_t *json = NULL;
	assert_ok(machine_to_json(&machine, &json));
	cr_assert_eq(json_dump_file(json, file, 0), 0);
	json_decref(json);
	return custom_roofs_import(file, &set);
}

static const struct custom_roof *named(const char *name)
{
	for (size_t i = 0; i < set.n; i++)
		if (strcmp(set.roofs[i].name, name) == 0)
			return &set.roofs[i];
	cr_assert_fail("no \"%s\"", name);
	return NULL;
}

Test(custom_roofs, of_another_machine_the_drawable_ones_are_taken)
{
	for (int threads = 1; threads <= 96; threads += 95) {
		add(ROOF_COMPUTE, "double", "add", threads, 20 * threads);
		add(ROOF_COMPUTE, "double", "fma", threads, 40 * threads);
		add(ROOF_COMPUTE, "single", "fma", threads, 80 * threads);
		add(ROOF_COMPUTE, "int32", "add", threads, 1000 * threads);
		add(ROOF_BANDWIDTH, "L1", "read", threads, 100 * threads);
		add(ROOF_BANDWIDTH, "L1", "triad", threads, 150 * threads);
		add(ROOF_BANDWIDTH, "L3", "read", threads, 12 * threads);
		rows[n_rows - 1].distinguishable = false;
		add(ROOF_BANDWIDTH, "DRAM", "read", threads, 10 + threads);
		add(ROOF_BANDWIDTH, "DRAM", "read", threads, 500);
		rows[n_rows - 1].by_node = true;
	}
	add(ROOF_COMPUTE, "double", "fma", 2, 77);
	assert_ok(import_machine("AMD EPYC 9654 96-Core Processor"));
	cr_expect_eq(set.n, 8, "%zu", set.n);
	cr_expect(named("EPYC 9654: DP peak, 1 thread")->value == 40);
	cr_expect(named("EPYC 9654: DP peak, 96 threads")->value == 40 * 96);
	cr_expect(named("EPYC 9654: SP peak, 96 threads")->value == 80 * 96);
	cr_expect(named("EPYC 9654: L1 read, 96 threads")->value == 100 * 96);
	cr_expect(named("EPYC 9654: DRAM read, 1 thread")->value == 11);
	cr_expect(named("EPYC 9654: DRAM read, 96 threads")->value == 106);
	cr_expect_str_eq(named("EPYC 9654: DRAM read, 1 thread")->unit, "GB/s");
	cr_expect_str_eq(named("EPYC 9654: SP peak, 1 thread")->unit, "GFLOP/s");
	cr_expect_str_eq(set.roofs[0].source, "rfprof machine, AMD EPYC 9654 96-Core Processor");
	assert_ok(custom_roofs_load(&set));
	cr_expect_eq(set.n, 8);
}

Test(custom_roofs, models_are_shortened)
{
	static const struct {
		const char *model, *name;
	} cases[] = {
		{"Intel(R) Xeon(R) Gold 6130 CPU @ 2.10GHz", "Xeon Gold 6130: DP peak, 1 thread"},
		{"Intel(R) Core(TM) i7-8550U CPU @ 1.80GHz", "Core i7-8550U: DP peak, 1 thread"},
		{"AMD Ryzen 7 5800X 8-Core Processor", "Ryzen 7 5800X: DP peak, 1 thread"},
		{"QEMU Virtual CPU version 2.5+", "QEMU Virtual version 2.5+: DP peak, 1 thread"},
		{"@", "another machine: DP peak, 1 thread"},
		/* 46 letters, then a character of two bytes, which 48 bytes with their end do not
		   hold */
		{"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé",
		 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: DP peak, 1 thread"},
	};
	add(ROOF_COMPUTE, "double", "fma", 1, 40);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		assert_ok(import_machine(cases[i].model));
		cr_assert_eq(set.n, 1);
		cr_expect_str_eq(set.roofs[0].name, cases[i].name);
	}
}

Test(custom_roofs, an_endless_model_is_cut_between_characters)
{
	char model[1001] = "";
	for (int shift = 0; shift < 2; shift++) {
		memset(model, 'a', (size_t)shift);
		model[shift] = '\0';
		for (int i = 0; i < 400; i++)
			strcat(model, "é");
		n_rows = 0;
		add(ROOF_COMPUTE, "double", "fma", 1, 40);
		assert_ok(import_machine(model));
		assert_ok(custom_roofs_load(&set)); /* jansson refuses half characters */
		cr_expect_eq(strlen(set.roofs[shift].source), 158 + shift); /* of at most 159 */
	}
}

Test(custom_roofs, bad_machines_are_refused)
{
	assert_error(import("{\"cpu_model\": \"x\", \"roofs\": []}"), RF_EFORMAT, file);
	assert_error(import("{\"cpu_model\": 3, \"roofs\": [{}]}"), RF_EFORMAT, file);
	add(ROOF_COMPUTE, "double", "fma", 1, 40);
	assert_error(import_machine("a\033[2Jb"), RF_EFORMAT, "control character");
	assert_error(import_machine(""), RF_EFORMAT, "empty");
	n_rows = 0;
	add(ROOF_COMPUTE, "int8", "add", 1, 40);
	assert_error(import_machine("x"), RF_EFORMAT, "no roof that can be drawn");
	cr_expect_eq(access(kept, F_OK), -1);
}

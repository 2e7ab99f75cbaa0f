/* What is kept of variables, their declarations and call sites is what reading anew gives: of this
 * program's own DWARF, and of libc. */
#include "base/array.h"
#include "symbols/call_sites.h"
#include "symbols/data_symbols.h"
#include "symbols/elf_file.h"

#include "tests/unit/directory.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static void make_place(void)
{
	directory_make();
	setenv("XDG_CACHE_HOME", directory, 1);
}

TestSuite(kept_answers, .init = make_place, .fini = directory_remove);

static char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";

/* Of which the tests ask where they are declared. */
int kept_answers_number = 3;
static const char *const kept_answers_words[] = {"a", "b", "c"};

/* ---- questions ---- */

/* A text with all that is said of a module's data, to be freed: everywhere in steps, and where
 * some of the variables are declared. */
static char *describe_data(const char *path, struct kept_store *store, uint64_t seed)
{
	struct data_symbols *symbols = NULL;
	struct data_symbol symbol;
	uint64_t *starts = NULL, last = 0;
	size_t n = 0, cap = 0, size;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);
	cr_assert_null(data_symbols_open(path, store, &symbols));
	for (uint64_t at = 0; at < 1 << 23; at += 8)
		if (data_symbols_find(symbols, at, &symbol) && symbol.start > last) {
			last = symbol.start;
			fprintf(stream, "%lx %lx %s %d\n", symbol.start, symbol.end, symbol.name,
				symbol.is_section);
			if (!symbol.is_section && random_number(&seed) % 3 == 0)
				cr_assert(rf_array_push(starts, n, cap, symbol.start));
		}
	data_symbols_declare(symbols, starts, n);
	for (size_t i = 0; i < n; i++)
		if (data_symbols_find(symbols, starts[i], &symbol))
			fprintf(stream, "%s %s:%u\n", symbol.name, symbol.file, symbol.line);
	cr_expect_null(data_symbols_trouble(symbols));
	data_symbols_close(symbols);
	free(starts);
	fclose(stream);
	return text;
}

static int compare_sites(const void *left, const void *right)
{
	const struct call_site *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

enum { N_SITES = 200 };

/* The same for places in its code; some are asked for twice. */
static char *describe_sites(const char *path, struct kept_store *store, uint64_t seed)
{
	struct call_site sites[N_SITES] = {0};
	struct profile *profile = profile_create();
	const uint32_t module = profile_module(profile, path, "");
	size_t size;
	char *text = NULL;
	FILE *stream = open_memstream(&text, &size);
	for (size_t i = 0; i < N_SITES; i++)
		sites[i].address = i % 50 == 49 ? sites[i - 1].address
						: 0x20000 + random_number(&seed) % 0x40000;
	qsort(sites, N_SITES, sizeof(*sites), compare_sites);
	call_sites_name(profile, module, store, sites, N_SITES);
	cr_expect_eq(profile->n_facts, 0, "nothing was unreadable");
	for (size_t i = 0; i < N_SITES; i++) {
		fprintf(stream, "%lx %s %s:%u\n", sites[i].address,
			sites[i].name ? sites[i].name : "-", sites[i].file ? sites[i].file : "-",
			sites[i].line);
		free(sites[i].name);
		free(sites[i].file);
	}
	fclose(stream);
	profile_destroy(profile);
	return text;
}

typedef char *describe(const char *path, struct kept_store *store, uint64_t seed);

/* As a run of its own would; returns whether it warns of a file that it does not use. */
static bool expect_as_fresh(describe *of, const char *path, uint64_t seed)
{
	struct kept_store *store = kept_store_create();
	cr_assert_not_null(store);
	char *fresh = of(path, NULL, seed), *by_kept = of(path, store, seed);
	cr_expect_str_eq(by_kept, fresh, "%s", path);
	struct rf_error *warning = kept_store_warning(store);
	const bool warned = warning != NULL;
	rf_error_destroy(warning);
	kept_store_destroy(store);
	free(fresh);
	free(by_kept);
	return warned;
}

/* ---- what is kept ---- */

/* Calls `visit` for each of the files that are kept; returns how many there are. */
static int each_kept(void (*visit)(const char *path))
{
	char names[64], path[400];
	int n = 0;
	snprintf(names, sizeof(names), "%s/rfprof/names", directory);
	DIR *opened = opendir(names);
	for (struct dirent *entry; opened && (entry = readdir(opened));)
		if (entry->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", names, entry->d_name);
			n++;
			if (visit)
				visit(path);
		}
	if (opened)
		closedir(opened);
	return n;
}

/* A reader that was started has been waited for, and has touched memory. */
static void expect_no_child(describe *of, const char *path, uint64_t seed)
{
	struct kept_store *store = kept_store_create();
	struct rusage before, after;
	getrusage(RUSAGE_CHILDREN, &before);
	free(of(path, store, seed));
	getrusage(RUSAGE_CHILDREN, &after);
	cr_expect_eq(after.ru_minflt, before.ru_minflt, "%s", path);
	kept_store_destroy(store);
}

static void flip_a_byte(const char *path)
{
	static uint64_t seed = 11;
	struct stat status;
	uint8_t byte;
	const int fd = open(path, O_RDWR);
	cr_assert(fd >= 0 && fstat(fd, &status) == 0);
	const off_t at = (off_t)(random_number(&seed) % (uint64_t)status.st_size);
	cr_assert_eq(pread(fd, &byte, 1, at), 1);
	byte ^= 1 << random_number(&seed) % 8;
	cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
	close(fd);
}

/* ---- tests ---- */

static describe *const describes[] = {describe_data, describe_sites};

Test(kept_answers, are_those_of_the_files)
{
	char self[PATH_MAX];
	cr_assert_not_null(realpath("/proc/self/exe", self));
	cr_assert(kept_answers_words[kept_answers_number % 3]);
	const char *const paths[] = {self, libc};
	usleep(2100000); /* what was built a moment ago is not kept */
	for (int k = 0; k < 2; k++)
		for (int i = 0; i < 2; i++)
			for (uint64_t seed = 1; seed <= 4; seed++)
				cr_expect_not(expect_as_fresh(describes[k], paths[i], seed / 2));
	cr_expect_eq(each_kept(NULL), 6, "of each file: variables, declarations, call sites");
	char *text = describe_data(self, NULL, 1);
	cr_expect(strstr(text, "kept_answers_number"), "the test asks for what there is");
	cr_expect(strstr(text, "test_kept_answers.c:"));
	free(text);
}

Test(kept_answers, are_not_read_again)
{
	for (int k = 0; k < 2; k++) {
		cr_expect_not(expect_as_fresh(describes[k], libc, 5));
		expect_no_child(describes[k], libc, 5);
	}
}

Test(kept_answers, damaged_ones_are_not_used)
{
	for (int round = 0; round < 12; round++) {
		for (int k = 0; k < 2; k++)
			expect_as_fresh(describes[k], libc, 5);
		each_kept(flip_a_byte);
	}
	for (int k = 0; k < 2; k++)
		cr_expect(expect_as_fresh(describes[k], libc, 5), "it is told");
}

static void run(const char *format, const char *a, const char *b)
{
	char command[2 * PATH_MAX + 128];
	snprintf(command, sizeof(command), format, a, b);
	cr_assert_eq(system(command), 0, "%s", command);
}

/* A debug file that comes and goes beside a file without symbols. */
Test(kept_answers, depend_on_the_debug_file)
{
	char self[PATH_MAX], file[64], debug[64], away[64];
	cr_assert_not_null(realpath("/proc/self/exe", self));
	snprintf(file, sizeof(file), "%s/program", directory);
	snprintf(debug, sizeof(debug), "%s/program.debug", directory);
	snprintf(away, sizeof(away), "%s/away", directory);
	run("objcopy --only-keep-debug '%s' '%s'", self, debug);
	run("objcopy --strip-all '%s' '%s'", self, file);
	run("cd $(dirname '%s') && objcopy --add-gnu-debuglink='%s' program", debug, debug);
	usleep(2100000); /* what is newer is not kept */
	for (int round = 0; round < 3; round++) {
		for (int k = 0; k < 2; k++)
			cr_expect_not(expect_as_fresh(describes[k], file, 9));
		if (round == 0)
			cr_expect_eq(each_kept(NULL), 3);
		cr_assert_eq(rename(round == 1 ? away : debug, round == 1 ? debug : away), 0);
	}
}

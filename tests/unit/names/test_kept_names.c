/* What is kept must give what reading anew gives: this program's own DWARF, and libc's. */
#include "base/array.h"
#include "names/resolve.h"
#include "symbols/elf_file.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static char root[64], directory[128];

static void make_root(void)
{
	strcpy(root, "/tmp/rfprof-names-XXXXXX");
	cr_assert_not_null(mkdtemp(root));
	setenv("XDG_CACHE_HOME", root, 1);
	snprintf(directory, sizeof(directory), "%s/rfprof/names", root);
}

static void remove_root(void)
{
	char command[128];
	snprintf(command, sizeof(command), "rm -rf %s", root);
	cr_assert_eq(system(command), 0);
}

TestSuite(kept_names, .init = make_root, .fini = remove_root);

/* ---- questions ---- */

static uint64_t state = 88172645463325252;

static uint64_t random_below(uint64_t n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return state % n;
}

/* Where a file has code. */
struct text {
	const char *path;
	uint64_t start, end;
};

static struct text text_of(const char *path)
{
	struct text text = {path};
	struct elf_file file;
	cr_assert_null(elf_file_open(path, &file));
	for (size_t i = 0; i < file.n_segments; i++)
		if (file.segments[i].executable) {
			text.start = file.segments[i].vaddr;
			text.end = text.start + file.segments[i].memory_size;
		}
	elf_file_close(&file);
	cr_assert_lt(text.start, text.end);
	return text;
}

/* Some blocks and frames near each other, and some before and behind the code; the same for the
 * same `seed`. */
static struct profile *questions(const struct text *text, uint64_t seed)
{
	struct profile *profile = profile_create();
	const uint32_t module = profile_module(profile, text->path, "");
	state = seed * 2654435761u + 1;
	const uint64_t base = text->start + random_below(text->end - text->start);
	const uint64_t range = 1 + random_below(1 << (4 + random_below(14)));
	for (size_t i = random_below(60); i < 100; i++) {
		const uint64_t at = random_below(20) ? base + random_below(range)
						     : random_below(text->end + 9999);
		const struct profile_block block = {module, at, (uint32_t)random_below(200) + 1};
		if (random_below(2))
			cr_assert(rf_array_push(profile->blocks, profile->n_blocks,
						profile->cap_blocks, block));
		else
			profile_frame(profile, PROFILE_NONE, module, at);
	}
	return profile;
}

static struct profile *answer(const struct text *text, uint64_t seed, struct kept_store *kept)
{
	struct profile *profile = questions(text, seed);
	cr_assert_null(names_resolve(profile, &(struct resolve_options){.kept = kept}));
	return profile;
}

/* ---- answers ---- */

static void expect_same_code(const struct profile *a, const struct profile *b)
{
	cr_assert_eq(a->n_functions, b->n_functions);
	cr_assert_eq(a->n_lines, b->n_lines);
	for (size_t i = 0; i < a->n_functions; i++) {
		const struct profile_function *x = &a->functions[i], *y = &b->functions[i];
		cr_assert(x->start == y->start && x->end == y->end && x->line == y->line);
		cr_assert_str_eq(x->name, y->name);
		cr_assert_str_eq(x->file, y->file);
	}
	for (size_t i = 0; i < a->n_lines; i++) {
		const struct profile_line *x = &a->lines[i], *y = &b->lines[i];
		cr_assert(x->start == y->start && x->end == y->end && x->line == y->line);
		cr_assert_str_eq(x->file, y->file);
	}
}

static void expect_same_inlined(const struct profile *a, const struct profile *b)
{
	cr_assert_eq(a->n_inlined_functions, b->n_inlined_functions);
	cr_assert_eq(a->n_inlined_calls, b->n_inlined_calls);
	cr_assert_eq(a->n_inlined_code, b->n_inlined_code);
	for (size_t i = 0; i < a->n_inlined_functions; i++) {
		cr_assert_str_eq(a->inlined_functions[i].name, b->inlined_functions[i].name);
		cr_assert_str_eq(a->inlined_functions[i].file, b->inlined_functions[i].file);
		cr_assert_eq(a->inlined_functions[i].line, b->inlined_functions[i].line);
	}
	for (size_t i = 0; i < a->n_inlined_calls; i++) {
		const struct profile_inlined_call *x = &a->inlined_calls[i],
						  *y = &b->inlined_calls[i];
		cr_assert(x->parent == y->parent && x->function == y->function &&
			  x->line == y->line);
		cr_assert_str_eq(x->file, y->file);
	}
	for (size_t i = 0; i < a->n_inlined_code; i++) {
		const struct profile_inlined_code *x = &a->inlined_code[i],
						  *y = &b->inlined_code[i];
		cr_assert(x->start == y->start && x->end == y->end && x->call == y->call);
	}
}

/* Answers as a run of its own would; returns whether it warns of a file that it does not use. */
static bool expect_as_fresh(const struct text *text, uint64_t seed)
{
	struct kept_store *kept = kept_store_create();
	cr_assert_not_null(kept);
	struct profile *by_kept = answer(text, seed, kept), *fresh = answer(text, seed, NULL);
	expect_same_code(fresh, by_kept);
	expect_same_inlined(fresh, by_kept);
	struct rf_error *warning = kept_store_warning(kept);
	const bool warned = warning != NULL;
	rf_error_destroy(warning);
	profile_destroy(by_kept);
	profile_destroy(fresh);
	kept_store_destroy(kept);
	return warned;
}

/* The one file that is kept; false: there is none. */
static bool find_kept(char *path, size_t size, struct stat *status)
{
	DIR *opened = opendir(directory);
	bool found = false;
	for (struct dirent *entry; opened && (entry = readdir(opened));)
		if (entry->d_name[0] != '.') {
			snprintf(path, size, "%s/%s", directory, entry->d_name);
			found = stat(path, status) == 0;
		}
	if (opened)
		closedir(opened);
	return found;
}

static void copy(const char *from, const char *to)
{
	char command[PATH_MAX + 128];
	snprintf(command, sizeof(command), "cp -f --dereference '%s' '%s'", from, to);
	cr_assert_eq(system(command), 0);
}

/* ---- tests ---- */

Test(kept_names, give_what_reading_anew_gives)
{
	char self[PATH_MAX], path[512];
	struct stat first, second;
	size_t n_inlined = 0;
	cr_assert_not_null(realpath("/proc/self/exe", self));
	const struct text texts[] = {text_of(self), text_of("/lib/x86_64-linux-gnu/libc.so.6")};
	for (uint64_t seed = 1; seed <= 60; seed++) {
		const struct text *text = &texts[seed % 2];
		cr_expect_not(expect_as_fresh(text, seed));
		cr_expect_not(expect_as_fresh(text, 1 + seed / 2), "partly known before");
	}
	for (uint64_t seed = 2; seed <= 60; seed += 2) {
		struct profile *fresh = answer(&texts[0], seed, NULL);
		n_inlined += fresh->n_inlined_code;
		profile_destroy(fresh);
	}
	cr_expect_gt(n_inlined, 0, "the test asks for some");
	cr_assert(find_kept(path, sizeof(path), &first));
	cr_expect_eq(first.st_mode & 0777, 0600);
	for (uint64_t seed = 1; seed <= 60; seed++)
		cr_expect_not(expect_as_fresh(&texts[seed % 2], seed));
	cr_assert(find_kept(path, sizeof(path), &second));
	cr_expect_eq(first.st_ino, second.st_ino, "nothing was read again");
}

/* Line tables in which several lines begin at one address, asked byte by byte. */
Test(kept_names, lines_are_those_of_the_line_table)
{
	char self[PATH_MAX];
	cr_assert_not_null(realpath("/proc/self/exe", self));
	const struct text text = text_of(self);
	struct symbol_module *symbols = NULL;
	struct kept_store *kept = kept_store_create();
	int fd;
	cr_assert_null(elf_file_descriptor(self, &fd));
	cr_assert_null(symbol_module_read(self, fd, NULL, &symbols));
	const uint64_t from = random_below(text.end - text.start - 3000);
	for (uint64_t at = text.start + from, n = 0; n < 3000; at++, n++) {
		struct profile *profile = profile_create();
		const uint32_t module = profile_module(profile, self, "");
		const char *file;
		uint32_t line;
		profile_frame(profile, PROFILE_NONE, module, at);
		if (n % 100 == 0) /* all of the next questions are known then */
			for (uint64_t i = 1; i < 100; i++)
				profile_frame(profile, PROFILE_NONE, module, at + i);
		cr_assert_null(names_resolve(profile, &(struct resolve_options){.kept = kept}));
		const bool known = symbol_line(symbols, at, &file, &line);
		if (known) {
			cr_assert_geq(profile->n_lines, 1);
			cr_assert_eq(profile->lines[0].start, at);
			cr_assert_eq(profile->lines[0].line, line);
			const char *below = symbol_directory(symbols, at);
			char whole[2 * PATH_MAX];
			snprintf(whole, sizeof(whole), "%s/%s", below, file);
			cr_assert_str_eq(profile->lines[0].file, file[0] == '/' ? file : whole);
		} else {
			cr_assert(profile->n_lines == 0 || profile->lines[0].start > at);
		}
		profile_destroy(profile);
	}
	kept_store_destroy(kept);
	symbol_module_close(symbols);
}

static bool take_bytes(void *context, void *to, size_t size)
{
	return fread(to, 1, size, context) == size;
}

/* A module without any of it; a sanitizer sees what is written of rows that are not there. */
Test(kept_names, nothing_is_written_as_well)
{
	char bytes[256];
	struct name_facts facts = {.is_lasting = true}, again = {0};
	FILE *stream = fmemopen(bytes, sizeof(bytes), "w+");
	name_facts_write(&facts, stream);
	rewind(stream);
	const struct fact_source source = {take_bytes, stream};
	cr_expect(name_facts_read(&source, &again));
	cr_expect(again.is_lasting);
	cr_expect_eq(again.n_functions + again.n_lines + again.n_calls + again.n_texts, 0);
	name_facts_deinit(&again);
	fclose(stream);
}

Test(kept_names, a_file_that_changes_is_read_again)
{
	char file[128], path[512];
	struct stat status;
	snprintf(file, sizeof(file), "%s/library.so", root);
	copy("/lib/x86_64-linux-gnu/libm.so.6", file);
	const struct text text = text_of(file);
	expect_as_fresh(&text, 7);
	cr_expect_not(find_kept(path, sizeof(path), &status), "it is too new");
	usleep(2100000);
	expect_as_fresh(&text, 7);
	cr_expect(find_kept(path, sizeof(path), &status));
	copy("/lib/x86_64-linux-gnu/libc.so.6", file);
	for (uint64_t seed = 7; seed < 12; seed++)
		cr_expect_not(expect_as_fresh(&text, seed));
	cr_assert_eq(unlink(file), 0);
	cr_expect_not(expect_as_fresh(&text, 7));
}

/* Its lines are in another file, which comes and goes. */
Test(kept_names, a_debug_file_that_changes_is_read_again)
{
	char file[128], away[128], path[512], command[1024];
	struct stat first, second;
	snprintf(file, sizeof(file), "%s/.debug/program.debug", root);
	snprintf(away, sizeof(away), "%s/away", root);
	snprintf(command, sizeof(command),
		 "cd %s && mkdir .debug && cp /proc/%d/exe program && "
		 "objcopy --only-keep-debug program %s && objcopy -g "
		 "--add-gnu-debuglink=%s program 2>&1",
		 root, (int)getpid(), file, file);
	if (system(command) != 0)
		cr_skip_test("objcopy does not do that here");
	snprintf(path, sizeof(path), "%s/program", root);
	char *program = strdup(path);
	const struct text text = text_of(program);
	usleep(2100000);
	uint64_t seed = 5; /* that asks for code with lines */
	size_t n_lines = 0;
	for (; !n_lines && seed < 50; seed += !n_lines) {
		struct profile *fresh = answer(&text, seed, NULL);
		n_lines = fresh->n_lines;
		profile_destroy(fresh);
	}
	cr_assert_gt(n_lines, 0);
	cr_expect_not(expect_as_fresh(&text, seed));
	cr_assert(find_kept(path, sizeof(path), &first));
	cr_expect_not(expect_as_fresh(&text, seed));
	cr_assert(find_kept(path, sizeof(path), &second));
	cr_expect_eq(first.st_ino, second.st_ino);
	cr_assert_eq(rename(file, away), 0);
	cr_expect_not(expect_as_fresh(&text, seed), "without lines");
	cr_expect_not(expect_as_fresh(&text, seed + 1));
	cr_assert_eq(rename(away, file), 0);
	cr_expect_not(expect_as_fresh(&text, seed), "with lines again");
	free(program);
}

Test(kept_names, a_broken_file_is_not_used)
{
	char path[512];
	struct stat status;
	const struct text text = text_of("/lib/x86_64-linux-gnu/libc.so.6");
	for (int round = 0; round < 40; round++) {
		expect_as_fresh(&text, 3);
		cr_assert(find_kept(path, sizeof(path), &status));
		const int fd = open(path, O_RDWR);
		char byte;
		state += (uint64_t)round * 77;
		const off_t at = (off_t)random_below((uint64_t)status.st_size);
		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= (char)(1 << random_below(8));
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		if (round % 4 == 0)
			cr_assert_eq(ftruncate(fd, at), 0);
		close(fd);
		const bool warned = expect_as_fresh(&text, 3);
		cr_expect(warned || at < 8, "%ld", (long)at); /* an older version's says nothing */
	}
}

Test(kept_names, another_users_file_is_not_used)
{
	char path[512];
	struct stat status;
	const struct text text = text_of("/lib/x86_64-linux-gnu/libc.so.6");
	expect_as_fresh(&text, 3);
	cr_assert(find_kept(path, sizeof(path), &status));
	cr_assert_eq(chmod(path, 0666), 0);
	cr_expect(expect_as_fresh(&text, 3));
}

Test(kept_names, all_together_are_bounded)
{
	char path[512];
	const struct text text = text_of("/lib/x86_64-linux-gnu/libc.so.6");
	const struct timespec old[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};
	expect_as_fresh(&text, 3);
	for (int i = 0; i < 5; i++) {
		snprintf(path, sizeof(path), "%s/%016x", directory, i);
		const int fd = open(path, O_RDWR | O_CREAT, 0600);
		cr_assert_eq(ftruncate(fd, KEPT_MOST_FILE), 0);
		if (i == 2)
			cr_assert_eq(futimens(fd, old), 0);
		close(fd);
	}
	expect_as_fresh(&text, 4);
	cr_expect_eq(access(path, F_OK), 0, "the newest stays");
	snprintf(path, sizeof(path), "%s/%016x", directory, 2);
	cr_expect_neq(access(path, F_OK), 0, "the oldest goes");
}

/* What is kept of a file's allocators is what reading it again gives. */
#include "tracer/process/allocators.h"

#include "tests/unit/directory.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

static void make_place(void)
{
	directory_make();
	setenv("XDG_CACHE_HOME", directory, 1);
}

TestSuite(allocators, .init = make_place, .fini = directory_remove);

/* More bytes than the code of any file here. */
#define CODE_BYTES (3 << 20)

static struct module_file file_of(char *path)
{
	return (struct module_file){
		.path = path, .open_path = path, .build_id = "", .has_file = true};
}

static void find_all(struct kept_store *kept, char *path, int8_t *numbers)
{
	const struct module_file file = file_of(path);
	struct named_functions *files = allocators_in_files(kept);
	cr_assert_not_null(files);
	for (uint64_t vaddr = 0; vaddr < CODE_BYTES; vaddr++)
		numbers[vaddr] = (int8_t)named_functions_at(files, &file, vaddr);
	named_functions_destroy(files);
}

/* As a run of its own would; returns whether it warns of a file that it does not use. */
static bool expect_as_fresh(char *path)
{
	static int8_t fresh[CODE_BYTES], by_kept[CODE_BYTES];
	struct kept_store *kept = kept_store_create();
	cr_assert_not_null(kept);
	find_all(NULL, path, fresh);
	find_all(kept, path, by_kept);
	cr_expect_arr_eq(fresh, by_kept, sizeof(fresh), "%s", path);
	struct rf_error *warning = kept_store_warning(kept);
	const bool warned = warning != NULL;
	rf_error_destroy(warning);
	kept_store_destroy(kept);
	return warned;
}

/* The files that are kept, and the path of the last one. */
static int count_kept(char *path, size_t size)
{
	char names[64];
	int n = 0;
	snprintf(names, sizeof(names), "%s/rfprof/names", directory);
	DIR *opened = opendir(names);
	for (struct dirent *entry; opened && (entry = readdir(opened));)
		if (entry->d_name[0] != '.') {
			snprintf(path, size, "%s/%s", names, entry->d_name);
			n++;
		}
	if (opened)
		closedir(opened);
	return n;
}

static char libc[] = "/lib/x86_64-linux-gnu/libc.so.6";

Test(allocators, kept_ones_are_those_of_the_file)
{
	static char *const paths[] = {libc, "/lib64/ld-linux-x86-64.so.2",
				      "/lib/x86_64-linux-gnu/libm.so.6"};
	char path[512];
	for (int i = 0; i < 3; i++) {
		cr_expect_not(expect_as_fresh(paths[i]));
		cr_expect_eq(count_kept(path, sizeof(path)), i + 1);
		cr_expect_not(expect_as_fresh(paths[i]));
	}
}

Test(allocators, libc_has_malloc)
{
	const struct module_file file = file_of(libc);
	struct named_functions *files = allocators_in_files(NULL);
	bool found = false;
	for (uint64_t vaddr = 0; vaddr < CODE_BYTES && !found; vaddr++) {
		const int number = named_functions_at(files, &file, vaddr);
		found = number >= 0 && strcmp(allocators[number].name, "malloc") == 0;
	}
	cr_expect(found);
	named_functions_destroy(files);
}

Test(allocators, a_broken_file_is_not_used)
{
	char path[512], byte;
	uint64_t state = 1;
	for (int round = 0; round < 20; round++) {
		expect_as_fresh(libc);
		cr_assert_eq(count_kept(path, sizeof(path)), 1);
		const int fd = open(path, O_RDWR);
		const off_t size = lseek(fd, 0, SEEK_END),
			    at = (off_t)(random_number(&state) % (uint64_t)size);
		cr_assert_eq(pread(fd, &byte, 1, at), 1);
		byte ^= (char)(1 << random_number(&state) % 8);
		cr_assert_eq(pwrite(fd, &byte, 1, at), 1);
		if (round % 4 == 0)
			cr_assert_eq(ftruncate(fd, at), 0);
		close(fd);
		const bool warned = expect_as_fresh(libc);
		cr_expect(warned || at < 8, "%ld", (long)at); /* an older version's says nothing */
	}
}

Test(allocators, a_file_of_a_process_is_not_kept)
{
	char path[64], kept[512];
	const int fd = open(libc, O_RDONLY);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	cr_expect_not(expect_as_fresh(path));
	cr_expect_eq(count_kept(kept, sizeof(kept)), 0);
	close(fd);
}

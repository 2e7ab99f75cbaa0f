#include "base/whole_file.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

static char directory[] = "/tmp/rfprof-whole-XXXXXX";

static void setup(void)
{
	cr_assert(mkdtemp(directory) && chdir(directory) == 0);
}

static void teardown(void)
{
	(void)!unlink("file");
	cr_assert(chdir("/") == 0);
	cr_expect_eq(rmdir(directory), 0, "a file is left");
}

/* NULL: it is in place. */
static struct rf_error *write_file(const char *path, const void *data, size_t size)
{
	const struct whole_file_wish wish = {path, "cannot write", NULL, 0};
	struct whole_file file;
	struct rf_error *error = whole_file_open(&wish, &file);
	if (error)
		return error;
	ssize_t n = 0;
	for (size_t done = 0; n >= 0 && done < size; done += (size_t)n)
		n = write(file.fd, (const char *)data + done, size - done);
	if (n < 0)
		error = rf_error_errno(RF_EACCESS, errno, NULL, "cannot write %s", path);
	return whole_file_close(&file, error);
}

static void assert_fails(const char *path, size_t size, int errnum)
{
	static const char much[1 << 16];
	struct rf_error *error = write_file(path, much, size);
	cr_assert(error);
	cr_assert(strstr(error->message, strerror(errnum)), "%s", error->message);
	rf_error_destroy(error);
}

static void assert_holds(const char *text)
{
	char bytes[64] = "";
	FILE *file = fopen("file", "re");
	cr_assert(file);
	cr_assert_eq(fread(bytes, 1, sizeof(bytes) - 1, file), strlen(text));
	fclose(file);
	cr_assert_str_eq(bytes, text);
}

Test(whole_file, is_new_or_takes_the_place_of_another, .init = setup, .fini = teardown)
{
	char path[PATH_MAX];
	cr_assert_null(write_file("file", "first", 5));
	assert_holds("first");
	cr_assert_null(write_file("file", "2", 1));
	assert_holds("2");
	snprintf(path, sizeof(path), "%s/file", directory);
	cr_assert_null(write_file(path, "", 0));
	assert_holds("");
}

Test(whole_file, leaves_what_was_there_when_it_fails, .init = setup, .fini = teardown)
{
	cr_assert_null(write_file("file", "old", 3));
	signal(SIGXFSZ, SIG_IGN);
	cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4096, RLIM_INFINITY}), 0);
	assert_fails("file", 1 << 13, EFBIG);
	assert_holds("old");
}

Test(whole_file, says_why, .init = setup, .fini = teardown)
{
	char path[PATH_MAX + 10];
	assert_fails("missing/file", 1, ENOENT);
	memset(path, 'x', sizeof(path) - 1);
	path[sizeof(path) - 1] = 0;
	assert_fails(path, 1, ENAMETOOLONG);
}

/* Directories for one run each.  A lock (flock) ends with its process, so that what is not locked
 * is nobody's. */
#include "sweep/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PREFIX "rfprof-point-"
#define PROFILE "point.rfp"
#define MOST_TRIES 100

/* Files alone: nobody makes directories in there. */
static void remove_all(int parent, const char *name, int fd)
{
	const int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *directory = again < 0 ? NULL : fdopendir(again);
	for (struct dirent *entry; directory && (entry = readdir(directory));)
		if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
			unlinkat(fd, entry->d_name, 0);
	if (directory)
		closedir(directory);
	else if (again >= 0)
		close(again);
	unlinkat(parent, name, AT_REMOVEDIR);
}

/* Opens and locks a directory of ours that is still there; -1: it is in use, or another's. */
static int lock(int parent, const char *name)
{
	struct stat opened, there;
	const int fd = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0)
		return -1;
	if (fstat(fd, &opened) == 0 && opened.st_uid == geteuid() &&
	    flock(fd, LOCK_EX | LOCK_NB) == 0 &&
	    fstatat(parent, name, &there, AT_SYMLINK_NOFOLLOW) == 0 &&
	    there.st_ino == opened.st_ino && there.st_dev == opened.st_dev)
		return fd;
	close(fd);
	return -1;
}

static void remove_left_ones(const char *temporary)
{
	DIR *directory = opendir(temporary);
	for (struct dirent *entry; directory && (entry = readdir(directory));) {
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) != 0)
			continue;
		const int fd = lock(dirfd(directory), entry->d_name);
		if (fd < 0)
			continue;
		remove_all(dirfd(directory), entry->d_name, fd);
		close(fd);
	}
	if (directory)
		closedir(directory);
}

/* Another sweep may take it for one that was left, until it is locked: then once more. */
static struct rf_error *make(struct scratch *scratch, const char *temporary)
{
	for (int n = 0; n < MOST_TRIES && scratch->fd < 0; n++) {
		free(scratch->path);
		if (asprintf(&scratch->path, "%s/" PREFIX "XXXXXX", temporary) < 0) {
			scratch->path = NULL;
			return rf_error_no_memory();
		}
		if (!mkdtemp(scratch->path)) {
			struct rf_error *error = rf_error_errno(RF_EACCESS, errno, "set TMPDIR",
								"cannot make %s", scratch->path);
			free(scratch->path);
			scratch->path = NULL;
			return error;
		}
		scratch->fd = lock(AT_FDCWD, scratch->path);
	}
	return scratch->fd >= 0
		       ? NULL
		       : rf_error_create(RF_EACCESS, "set TMPDIR", "cannot lock %s", scratch->path);
}

struct rf_error *scratch_init(struct scratch *scratch)
{
	const char *temporary = getenv("TMPDIR") ?: "/tmp";
	*scratch = (struct scratch){.fd = -1};
	remove_left_ones(temporary);
	struct rf_error *error = make(scratch, temporary);
	if (!error && asprintf(&scratch->file, "%s/" PROFILE, scratch->path) < 0) {
		scratch->file = NULL;
		error = rf_error_no_memory();
	}
	if (error)
		scratch_deinit(scratch);
	return error;
}

void scratch_deinit(struct scratch *scratch)
{
	if (scratch->fd >= 0) {
		remove_all(AT_FDCWD, scratch->path, scratch->fd);
		close(scratch->fd);
	} else if (scratch->path) {
		rmdir(scratch->path);
	}
	free(scratch->path);
	free(scratch->file);
	*scratch = (struct scratch){.fd = -1};
}

/* Writing files whole or not at all. */
#include "base/whole_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static struct rf_error *failed(const struct whole_file_wish *wish, const char *refusal, int errnum)
{
	if (refusal)
		return rf_error_create(RF_EACCESS, wish->hint, "%s %s: %s", wish->failure,
				       wish->path, refusal);
	return rf_error_errno(RF_EACCESS, errnum, wish->hint, "%s %s", wish->failure, wish->path);
}

/* ---- where ---- */

static bool can(const struct file_place *place, const char *name, int what)
{
	return faccessat(place->directory, name, what, AT_EACCESS) == 0;
}

/* Whether it is written as it is, or its place taken by a new file. */
static struct rf_error *choose(const struct whole_file_wish *wish, const struct file_place *place,
			       bool *direct)
{
	const bool there = place->kind != PLACE_FREE, regular = wish->flags & WHOLE_FILE_REGULAR,
		   replaceable = !place->is_mount && can(place, ".", W_OK | X_OK);
	int errnum = errno;
	*direct = place->kind == PLACE_SPECIAL || (wish->flags & WHOLE_FILE_AT_ONCE) ||
		  (there && !replaceable);
	if (place->kind == PLACE_SPECIAL && regular)
		return rf_error_create(RF_EINPUT, "give the name of a file",
				       "%s %s: not a regular file", wish->failure, wish->path);
	if (*direct && place->kind == PLACE_REGULAR && place->foreign &&
	    file_place_is_public(place))
		return failed(wish,
			      "it belongs to another user, in a directory that all can "
			      "write to",
			      0);
	if (!there && !replaceable)
		return failed(wish, NULL, errnum);
	if (!*direct)
		return NULL;
	if (regular)
		return failed(wish, NULL, place->is_mount ? EBUSY : errnum);
	return !there || can(place, place->name, W_OK) ? NULL : failed(wish, NULL, errno);
}

static struct rf_error *find(const struct whole_file_wish *wish, struct file_place *place,
			     bool *direct)
{
	struct stat status;
	int errnum = file_place_find(wish->path, place);
	if (!errnum && fstat(place->directory, &status) == 0 && !status.st_nlink)
		errnum = ENOENT; /* the directory has been deleted */
	if (errnum == EISDIR)
		return rf_error_create(RF_EINPUT, "give the name of a file",
				       "%s %s: not a regular file", wish->failure, wish->path);
	return errnum ? failed(wish, place->refusal, errnum) : choose(wish, place, direct);
}

struct rf_error *whole_file_check(const struct whole_file_wish *wish)
{
	struct file_place place;
	bool direct;
	struct rf_error *error = find(wish, &place, &direct);
	file_place_deinit(&place);
	return error;
}

/* ---- opening ---- */

static int open_direct(const struct file_place *place)
{
	/* a link of /proc is the descriptor that it stands for */
	const int links = place->in_proc ? 0 : O_NOFOLLOW,
		  create = place->kind == PLACE_FREE ? O_CREAT | O_EXCL : O_TRUNC;
	return openat(place->directory, place->name,
		      O_WRONLY | O_CLOEXEC | O_NOCTTY | create | links, 0666);
}

/* A file without a name, which nothing can leave behind; it gets its name by way of /proc. */
static int open_unnamed(const struct file_place *place, mode_t mode)
{
	if (access("/proc/self/fd", X_OK) != 0)
		return -1;
	return openat(place->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, mode);
}

static void choose_name(struct whole_file *file, unsigned attempt)
{
	snprintf(file->temporary, sizeof(file->temporary), ".rfprof-%d-%u.tmp", (int)getpid(),
		 attempt);
}

enum { ATTEMPTS = 100 }; /* to find a name that is free */

static void hold_signals(struct whole_file *file)
{
	sigset_t all;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &file->before);
}

static void release_signals(const struct whole_file *file)
{
	pthread_sigmask(SIG_SETMASK, &file->before, NULL);
}

/* Signals that end the process wait as long as the name is there. */
static int open_named(struct whole_file *file, mode_t mode)
{
	int fd = -1;
	hold_signals(file);
	for (unsigned attempt = 0; attempt < ATTEMPTS && fd < 0; attempt++) {
		choose_name(file, attempt);
		fd = openat(file->place.directory, file->temporary,
			    O_CREAT | O_EXCL | O_RDWR | O_NOFOLLOW | O_CLOEXEC, mode);
		if (fd < 0 && errno != EEXIST)
			break;
	}
	if (fd < 0) {
		file->temporary[0] = '\0';
		release_signals(file);
	}
	return fd;
}

/* A file that is replaced had its mode for a reason; one of another user gives nobody more. */
static int take_mode(const struct whole_file *file)
{
	struct stat status;
	const mode_t before = file->place.mode & 0777;
	if (file->place.kind == PLACE_FREE || file->wish.flags & WHOLE_FILE_PRIVATE)
		return 0;
	if (fstat(file->fd, &status) != 0)
		return -1;
	return fchmod(file->fd, file->place.foreign ? before & status.st_mode : before);
}

static void drop(struct whole_file *file)
{
	if (file->temporary[0]) {
		unlinkat(file->place.directory, file->temporary, 0);
		release_signals(file);
	}
	file_place_deinit(&file->place);
}

struct rf_error *whole_file_open(const struct whole_file_wish *wish, struct whole_file *file)
{
	const mode_t mode = wish->flags & WHOLE_FILE_PRIVATE ? 0600 : 0666;
	*file = (struct whole_file){.wish = *wish, .fd = -1};
	struct rf_error *error = find(wish, &file->place, &file->direct);
	if (!error && file->direct)
		file->fd = open_direct(&file->place);
	else if (!error && (file->fd = open_unnamed(&file->place, mode)) < 0)
		file->fd = open_named(file, mode);
	if (!error && (file->fd < 0 || (!file->direct && take_mode(file) != 0)))
		error = failed(wish, NULL, errno);
	if (error) {
		if (file->fd >= 0)
			close(file->fd);
		drop(file);
	}
	return error;
}

struct rf_error *whole_file_stream(const struct whole_file_wish *wish, struct whole_file *file)
{
	struct rf_error *error = whole_file_open(wish, file);
	if (error)
		return error;
	file->stream = fdopen(file->fd, "w");
	return file->stream ? NULL : whole_file_close(file, rf_error_no_memory());
}

/* ---- putting it in place ---- */

/* 0 or an errno; that a file system has nothing to sync is none. */
static int sync_file(int fd)
{
	return fsync(fd) == 0 || errno == EINVAL || errno == EROFS ? 0 : errno;
}

static int sync_directory(const struct file_place *place)
{
	/* one that can be written to but not read cannot be synced */
	int fd = openat(place->directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	const int errnum = sync_file(fd);
	close(fd);
	return errnum;
}

/* Gives the file without a name a temporary one. */
static int name_it(struct whole_file *file)
{
	char descriptor[32];
	int errnum = EEXIST;
	snprintf(descriptor, sizeof(descriptor), "/proc/self/fd/%d", file->fd);
	hold_signals(file);
	for (unsigned attempt = 0; attempt < ATTEMPTS && errnum == EEXIST; attempt++) {
		choose_name(file, attempt);
		errnum = linkat(AT_FDCWD, descriptor, file->place.directory, file->temporary,
				AT_SYMLINK_FOLLOW) == 0
				 ? 0
				 : errno;
	}
	if (errnum) {
		file->temporary[0] = '\0';
		release_signals(file);
	}
	return errnum;
}

static int keep_old(const struct file_place *place, char *old, size_t size)
{
	if ((size_t)snprintf(old, size, "%s.old", place->name) >= size)
		return ENAMETOOLONG;
	return renameat(place->directory, place->name, place->directory, old) == 0 ? 0 : errno;
}

static int replace(struct whole_file *file)
{
	const struct file_place *place = &file->place;
	char old[NAME_MAX + 1] = "";
	int errnum = file->temporary[0] ? 0 : name_it(file);
	if (!errnum && file->wish.flags & WHOLE_FILE_KEEP_OLD && place->kind == PLACE_REGULAR)
		errnum = keep_old(place, old, sizeof(old));
	if (errnum)
		return errnum;
	if (renameat(place->directory, file->temporary, place->directory, place->name) != 0) {
		errnum = errno;
		if (old[0])
			(void)renameat(place->directory, old, place->directory, place->name);
		return errnum;
	}
	file->temporary[0] = '\0';
	release_signals(file);
	return file->wish.flags & WHOLE_FILE_UNSYNCED ? 0 : sync_directory(place);
}

/* Why writing has failed, when the stream only knows that it has: the file is dropped, one more
 * byte in it is nothing. */
static int cause_of_failure(int fd)
{
	return write(fd, "", 1) < 0 ? errno : EIO;
}

static int flush(struct whole_file *file)
{
	const bool failed_before = file->stream && ferror(file->stream);
	if (file->stream && fflush(file->stream) != 0)
		return errno;
	if (failed_before)
		return file->direct ? EIO : cause_of_failure(file->fd);
	return file->direct || file->wish.flags & WHOLE_FILE_UNSYNCED ? 0 : sync_file(file->fd);
}

struct rf_error *whole_file_close(struct whole_file *file, struct rf_error *error)
{
	int errnum = flush(file);
	if (!error && !errnum && !file->direct)
		errnum = replace(file);
	const int status = file->stream ? fclose(file->stream) : close(file->fd);
	if (!errnum && status != 0)
		errnum = errno;
	drop(file);
	return error || !errnum ? error : failed(&file->wish, NULL, errnum);
}

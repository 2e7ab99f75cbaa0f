/* Following a path to its file, link by link. */
#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { MOST_LINKS = 40 }; /* as the kernel follows (path_resolution(7)) */

bool file_owner_is_trusted(uid_t owner)
{
	return owner == 0 || owner == geteuid();
}

void file_place_deinit(struct file_place *place)
{
	if (place->directory >= 0)
		close(place->directory);
	place->directory = -1;
}

bool file_place_is_public(const struct file_place *place)
{
	struct stat status;
	return fstat(place->directory, &status) != 0 || (status.st_mode & S_IWOTH);
}

/* Opens the directory of `path`, which begins at the one that is open; the rest is the name. */
static int enter(struct file_place *place, char *path)
{
	char *slash = strrchr(path, '/');
	const char *name = slash ? slash + 1 : path;
	if (!*path)
		return ENOENT;
	if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return EISDIR;
	if (strlen(name) > NAME_MAX)
		return ENAMETOOLONG;
	strcpy(place->name, name);
	if (!slash && place->directory >= 0)
		return 0;
	if (slash)
		slash[slash == path] = '\0'; /* the root directory keeps its slash */
	const int before = place->directory;
	place->directory = openat(before < 0 ? AT_FDCWD : before, slash ? path : ".",
				  O_PATH | O_DIRECTORY | O_CLOEXEC);
	const int errnum = place->directory < 0 ? errno : 0;
	if (before >= 0)
		close(before);
	return errnum;
}

static bool is_proc(int directory)
{
	struct statfs status;
	return fstatfs(directory, &status) == 0 && status.f_type == PROC_SUPER_MAGIC;
}

static int refuse(struct file_place *place, const char *why)
{
	place->refusal = why;
	return EACCES;
}

/* Sets all about the name in the open directory.  *link: it is one to be followed. */
static int look(struct file_place *place, bool *link)
{
	struct statx status;
	*link = false;
	place->kind = PLACE_FREE;
	if (statx(place->directory, place->name, AT_SYMLINK_NOFOLLOW, STATX_BASIC_STATS, &status))
		return errno == ENOENT ? 0 : errno;
	place->mode = status.stx_mode & 07777;
	place->foreign = !file_owner_is_trusted(status.stx_uid);
	place->is_mount = status.stx_attributes & STATX_ATTR_MOUNT_ROOT;
	place->kind = S_ISREG(status.stx_mode) ? PLACE_REGULAR : PLACE_SPECIAL;
	if (S_ISDIR(status.stx_mode))
		return EISDIR;
	if (S_ISLNK(status.stx_mode)) {
		place->in_proc = is_proc(place->directory);
		*link = !place->in_proc;
		return *link && place->foreign
			       ? refuse(place, "it is a symbolic link of another user")
			       : 0;
	}
	if (place->kind == PLACE_SPECIAL && place->foreign && file_place_is_public(place))
		return refuse(place, "it is a special file of another user, in a directory that "
				     "all can write to");
	return 0;
}

int file_place_find(const char *path, struct file_place *place)
{
	char link[PATH_MAX];
	*place = (struct file_place){.directory = -1};
	if (snprintf(link, sizeof(link), "%s", path) >= (int)sizeof(link))
		return ENAMETOOLONG;
	for (int hop = 0; hop < MOST_LINKS; hop++) {
		bool goes_on;
		int errnum = enter(place, link) ?: look(place, &goes_on);
		if (errnum || !goes_on)
			return errnum;
		const ssize_t n = readlinkat(place->directory, place->name, link, sizeof(link));
		if (n < 0 || n == (ssize_t)sizeof(link))
			return n < 0 ? errno : ENAMETOOLONG;
		link[n] = '\0';
	}
	return ELOOP;
}

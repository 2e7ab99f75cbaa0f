/* Whose files are read that nobody has named. */
#include "base/trusted_file.h"

#include "base/file_place.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

const char *trusted_file_refusal(int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return "is not a regular file";
	if (!file_owner_is_trusted(status.st_uid))
		return "belongs to another user";
	/* a group of one's own is what many systems give each user */
	const mode_t others = status.st_gid == getegid() ? S_IWOTH : S_IWOTH | S_IWGRP;
	return status.st_mode & others ? "can be written by other users" : NULL;
}

int trusted_file_open(const char *path, const char **refusal)
{
	struct file_place place;
	int fd = -1, errnum = file_place_find(path, &place);
	*refusal = place.refusal ? "is a symbolic link or special file of another user" : NULL;
	if (!errnum && place.kind == PLACE_FREE)
		errnum = ENOENT;
	if (!errnum) {
		fd = openat(place.directory, place.name,
			    O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
		errnum = errno;
	}
	file_place_deinit(&place);
	if (fd >= 0 && (*refusal = trusted_file_refusal(fd))) {
		close(fd);
		fd = -1;
	}
	errno = errnum;
	return fd;
}

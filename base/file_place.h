/* Where a path leads to, over links that can be trusted: before a file is written, and before one
 * is read that nobody asked for by its name. */
#pragma once

#include <limits.h>
#include <stdbool.h>
#include <sys/types.h>

enum place_kind {
	PLACE_FREE,    /* there is no file of that name */
	PLACE_REGULAR, /* a regular file */
	PLACE_SPECIAL, /* a pipe, a device, or what stands in /proc for an open descriptor */
};

struct file_place {
	int directory; /* O_PATH, or -1: there is no such directory */
	char name[NAME_MAX + 1];
	enum place_kind kind;
	mode_t mode;   /* of the file, if there is one */
	bool foreign;  /* it belongs neither to this user nor to root */
	bool is_mount; /* another file is mounted over it: it cannot be replaced */
	bool in_proc;  /* its name is a link of /proc that only the kernel can follow */
	/* Why it is refused, beside the errno EACCES, or NULL. */
	const char *refusal;
};

/* Follows the links that the last name of `path` is: those of this user and of root, in any
 * directory.  Links of others are refused whatever the kernel's fs.protected_symlinks says, and so
 * are special files of others in directories that all can write to.  Returns 0 or an errno; *place
 * is to be given to file_place_deinit in either case. */
int file_place_find(const char *path, struct file_place *place);
void file_place_deinit(struct file_place *place);

/* Whether all can write to the directory. */
bool file_place_is_public(const struct file_place *place);

/* Whether files of that owner can be trusted: this user's and root's. */
bool file_owner_is_trusted(uid_t owner);

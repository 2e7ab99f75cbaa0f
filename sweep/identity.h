/* What the results of a point depend on: as far as it is known before the program runs, one text;
 * the files that it has used, as they were. */
#pragma once

#include "profile/profile.h"
#include "sweep/store.h"

/* The command, the working directory, variables of the environment (`names`, with commas between
 * them, or NULL, beside those that number threads and find libraries), this machine, `options`
 * (NULL at the end), and this rfprof with the versions of its files; to be freed.  NULL: no memory.
 */
char *identity_of(char *const *command, const char *names, const char *const *options);

/* The state of a file now: its build id, else its size and time; "" where it cannot be read; to be
 * freed.  NULL: no memory. */
char *identity_file_state(const char *path);

struct used_files {
	struct used_file *items;
	size_t n, cap;
};

/* Files that words of a command name, or what stands behind a word's first "=", as they are now;
 * with the state "" where there is none, of those whose name has a dot or a slash.  To be freed by
 * identity_free_files, after an error, too.  Fails only when memory is short. */
struct rf_error *identity_named_files(char *const *command, struct used_files *files);
/* What a run has used: modules that its profile has, and of `before`, the files that its command
 * named before it ran, those that have not changed since: the others are its output.  The same. */
struct rf_error *identity_files(const struct profile *profile, const struct used_files *before,
				struct used_files *files);
void identity_free_files(struct used_files *files);

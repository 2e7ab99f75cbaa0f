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

/* Modules that a profile has, and files that words of the command name.  *files is to be freed by
 * identity_free_files.  Fails only when memory is short. */
struct rf_error *identity_files(const struct profile *profile, char *const *command,
				struct used_file **files, size_t *n);
void identity_free_files(struct used_file *files, size_t n);

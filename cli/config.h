/* The configuration files: what options are when the command line does not say.
 *
 * A line is `KEY = VALUE`, `KEY` alone for a flag, `[COMMAND]` before lines that hold for that
 * command only, or a comment behind #.  Keys are long names of options. */
#pragma once

#include "base/error.h"
#include "cli/options.h"

/* Of lines before the first [COMMAND]. */
#define CONFIG_ALL_COMMANDS ((1u << N_COMMANDS) - 1)

struct config_entry {
	char *key, *value; /* value NULL: the key stands alone */
	unsigned commands; /* for which it holds, as in struct option */
	const char *path;  /* borrowed from its file */
	unsigned line;
};

struct config_file {
	char *path; /* NULL: there is no home directory that it could be in */
	int errnum; /* why it could not be opened; 0: it was read */
};

enum { CONFIG_SYSTEM, CONFIG_USER, N_CONFIG_FILES };

struct config {
	struct config_entry *entries; /* in the order in which they were read */
	size_t n_entries, cap_entries;
	struct config_file files[N_CONFIG_FILES];
};

/* Reads /etc/rfprof/config and $XDG_CONFIG_HOME/rfprof/config.  A file that is not there, or may
 * not be opened, says nothing.  RF_EINPUT, with file and line: a key that is no option, or no line
 * as above; RF_EACCESS: a file that others can write.  To be freed by config_deinit, after an
 * error, too. */
struct rf_error *config_load(struct config *config);
void config_deinit(struct config *config);

/* Adds what another file says of an option of a command; `path` lives as long as `config`.
 * RF_EINPUT: it has no such option. */
struct rf_error *config_put(struct config *config, enum command_id command, const char *path,
			    unsigned line, const char *key, const char *value);

/* Whether an entry is of a command's option. */
bool config_is_of(const struct config_entry *entry, enum command_id command,
		  const struct option *option);
/* The entry that holds for an option of a command, which is the last one; NULL: there is none.  Of
 * an option that may be repeated those of the same file hold with it. */
const struct config_entry *config_find(const struct config *config, enum command_id command,
				       const struct option *option);
/* RF_EINPUT that says where an entry stands; takes `cause`, what is wrong with it. */
struct rf_error *config_error(const struct config_entry *entry, struct rf_error *cause);

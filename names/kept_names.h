/* Facts about modules, kept between runs: a file for each module in $XDG_CACHE_HOME/rfprof/names.
 * What is kept holds as long as the module's file, the places where its debug files are looked for,
 * and rfprof itself are the same; it is then what reading the files again would give. */
#pragma once

#include "base/error.h"
#include "names/name_facts.h"

#include <sys/stat.h>

/* More is not kept: of one module, and of all together (then those go that were not used for the
 * longest time). */
#define KEPT_MOST_FILE ((size_t)16 << 20)
#define KEPT_MOST_ALL ((size_t)64 << 20)

struct kept_names;
/* Keeps nothing where the user has no home directory.  NULL: no memory. */
struct kept_names *kept_names_create(void);
void kept_names_destroy(struct kept_names *kept);
/* Why a file is not used, the first one of these errors, for the caller to free; NULL: all are. */
struct rf_error *kept_names_warning(struct kept_names *kept);

/* Which file: all zero where there is none. */
struct file_stamp {
	uint64_t device, inode, size;
	int64_t changed_ns, modified_ns;
};
struct file_stamp file_stamp_of(const struct stat *status);
/* The same for what has no file, by its bytes. */
struct file_stamp file_stamp_of_image(const void *image, size_t size);

struct kept_key {
	const char *path, *build_id; /* of the module */
	struct file_stamp stamp;     /* of its file, before it is read */
};

/* False: nothing is kept that holds, and *facts (empty before) is empty. */
bool kept_names_load(struct kept_names *kept, const struct kept_key *key, struct name_facts *facts);
/* Keeps facts that are lasting.  Those of files that changed a moment ago are not: a change that
 * follows at once could not be told from it.  What cannot be written is not kept. */
void kept_names_save(struct kept_names *kept, const struct kept_key *key,
		     const struct name_facts *facts);

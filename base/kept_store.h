/* What was read of modules' files, or made of them, kept between runs: a file for each module and
 * kind in $XDG_CACHE_HOME/rfprof/names, or …/code.  What is kept holds as long as the module's file
 * and rfprof itself are the same; it is then what reading the file again would give. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* More is not kept: of one module, and of all together (then those go that were not used for the
 * longest time); and the same of translated code. */
#define KEPT_MOST_FILE ((size_t)16 << 20)
#define KEPT_MOST_ALL ((size_t)64 << 20)
#define KEPT_MOST_CODE_FILE ((size_t)128 << 20)
#define KEPT_MOST_CODE_ALL ((size_t)512 << 20)

struct kept_store;
/* Keeps nothing where the user has no home directory.  NULL: no memory.  Threads may share one. */
struct kept_store *kept_store_create(void);
void kept_store_destroy(struct kept_store *store);
/* Why a file is not used, the first one of these errors, for the caller to free; NULL: all are. */
struct rf_error *kept_store_warning(struct kept_store *store);

/* Which file: all zero where there is none. */
struct file_stamp {
	uint64_t device, inode, size;
	int64_t changed_ns, modified_ns;
};
struct file_stamp file_stamp_of(const struct stat *status);
struct file_stamp file_stamp_of_path(const char *path);
/* The same for what has no file, by its bytes. */
struct file_stamp file_stamp_of_image(const void *image, size_t size);
/* False: it changed a moment ago, so that a change which follows at once could have the same stamp.
 */
bool file_stamp_is_settled(const struct file_stamp *stamp);

enum kept_kind {
	KEPT_NAMES,
	KEPT_ALLOCATORS,
	KEPT_VARIABLES,
	KEPT_DECLARATIONS,
	KEPT_CALL_SITES,
	KEPT_ROOFS,  /* of no module, but of the file of roofs */
	KEPT_KERNEL, /* of the kernel, by its start */
	/* what was translated of a program and its libraries (tracer/stock): */
	KEPT_CODE,            /* counted */
	KEPT_CODE_TRACED,     /* with accesses checked, of some classes */
	KEPT_CODE_TRACED_ALL, /* of all */
	KEPT_CODE_PLAIN,      /* the second copy of a traced program's */
};

struct kept_key {
	const char *path, *build_id; /* of the module */
	struct file_stamp stamp;     /* of its file, before it is read */
	enum kept_kind kind;
};

/* What is kept under a key: `size` bytes at `bytes`, which are aligned to 16, may be written to,
 * and live until kept_bytes_release().  Files are only ever replaced, never changed, so that what
 * is mapped of them stays as it was read. */
struct kept_bytes {
	char *file;    /* the whole file: */
	size_t mapped; /* a private mapping of so many bytes; 0: heap */
	const char *bytes;
	size_t size;
	bool is_unsummed; /* kept_bytes_are_whole() was not asked */
};
void kept_bytes_release(struct kept_bytes *bytes);

/* False: nothing is kept that holds. */
bool kept_store_load(struct kept_store *store, const struct kept_key *key, struct kept_bytes *out);
/* The same for what is large, but for the sum of its bytes: that is looked at by
 * kept_bytes_are_whole(), in any thread, before any of them is written to or made use of. */
bool kept_store_open(struct kept_store *store, const struct kept_key *key, struct kept_bytes *out);
bool kept_bytes_are_whole(const struct kept_bytes *bytes);
/* What was loaded makes no sense. */
void kept_store_is_broken(struct kept_store *store, const struct kept_key *key);
/* Keeps bytes, unless the module's file changed a moment ago.  What cannot be written is not kept.
 */
void kept_store_save(struct kept_store *store, const struct kept_key *key, const void *bytes,
		     size_t size);
/* The same of bytes that lie in several places: they are kept one behind the other. */
struct kept_piece {
	const void *bytes;
	size_t size;
};
void kept_store_save_pieces(struct kept_store *store, const struct kept_key *key,
			    const struct kept_piece *pieces, size_t n_pieces);

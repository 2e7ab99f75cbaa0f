/* The caches that are simulated: sizes, ways, who shares them, and what passes between them.
 *
 * As text a geometry is a list of levels, the nearest first:
 *
 *	L1=48K:12,L2=2M:16,L3=480M:16
 *	line=128,L1=32K:8:write-through:no-write-allocate,L2=512K:8:inclusive
 *
 * `line=BYTES` in front of the levels is the size of a line in all of them: a power of two from 32
 * to 512; 64 without it.  A level is L1, L2 or L3, a size (bytes, or with K, M or G: powers of
 * 1024), its ways, and any of these attributes, each after a colon:
 *
 *     private        each core has one
 *     shared         all cores have one together
 *     non-inclusive  a line that comes in stays here too; it leaves without regard to the
 *                    levels above
 *     inclusive      what leaves here leaves the levels above too
 *     victim         takes what the level above evicts, and gives it back (exclusive)
 *     lru, plru      replacement: least recently used, or a binary tree of bits (ways: a power
 *                    of two)
 *     write-back     L1: a store changes the line here; it goes on when the line is replaced
 *     write-through  L1: the bytes of each store go on to L2, which must be inclusive; no line is
 *                    changed here
 *     write-allocate, no-write-allocate
 *                    L1: whether a store that misses brings the line in.  The second one needs
 *                    write-through
 *
 * `policy=NAME` in the list takes what is not said from that row of policies.def.  Without both,
 * the last of several levels is shared, the others are private, all are non-inclusive and LRU, and
 * L1 writes back and allocates.
 *
 * A file has the same items, one or more a line; # begins a comment. */
#pragma once

#include "base/error.h"
#include "cache/traffic.h"

#include <stdbool.h>
#include <stdint.h>

#define CACHE_LEVELS 3
#define CACHE_WAYS 64                   /* at most */
#define CACHE_BYTES (UINT64_C(8) << 30) /* at most, of one level */
#define CACHE_LINE_LEAST 32
#define CACHE_LINE_MOST 512 /* bytes */

enum cache_inclusion { CACHE_NON_INCLUSIVE, CACHE_INCLUSIVE, CACHE_VICTIM };
enum cache_replacement { CACHE_LRU, CACHE_TREE_PLRU };

struct cache_level {
	uint64_t bytes; /* ways × sets × line */
	unsigned ways, sets;
	bool shared;                    /* one for all cores; else one each */
	enum cache_inclusion inclusion; /* of the levels above; without meaning for L1 */
	enum cache_replacement replacement;
};

/* Where the sizes come from; and how a profile names it.  EFFECTIVE: the machine's, but for the
 * last level, of which a thread was seen to have less than is reported. */
enum geometry_source {
	GEOMETRY_MACHINE,
	GEOMETRY_GIVEN,
	GEOMETRY_FILE,
	GEOMETRY_ASSUMED,
	GEOMETRY_EFFECTIVE
};

struct geometry {
	int n_levels; /* 1 to CACHE_LEVELS */
	struct cache_level levels[CACHE_LEVELS];
	unsigned line; /* bytes; of this machine's caches CACHE_LINE */
	/* Of L1. */
	bool write_through, no_write_allocate;
	enum geometry_source source;
	char policy[128]; /* which row of policies.def, and whether it is assumed */
	/* This processor may do without the reads of TRAFFIC_MEM_EVADABLE. */
	bool evades_write_allocate;
};

/* Reads a geometry from text.  Errors (RF_EINPUT) name the item and what is wrong with it. */
struct rf_error *geometry_parse(const char *text, struct geometry *geometry);

/* What the user gave: text when there is a '=' in it and no file of that name, else a file's name.
 * Errors of a file: RF_EACCESS, or as above with its name. */
struct rf_error *geometry_given(const char *text_or_path, struct geometry *geometry);

/* The caches of another machine: a name of machines.def (case does not matter), or as above.
 * ->policy is then the machine's title and what is assumed of it. */
struct rf_error *geometry_other(const char *name_text_or_path, struct geometry *geometry);

/* The text of a geometry, which geometry_parse reads back to the same levels: attributes are there
 * where they are not what a bare level has.  To be freed; NULL when memory is short. */
char *geometry_print(const struct geometry *geometry);

/* "machine", "given", "file", "assumed" or "effective". */
const char *geometry_source_name(enum geometry_source source);

/* `classes` (bit k: class k) with those classes added without which some set would miss lines: a
 * cache of fewer than CACHE_CLASSES sets, or of a number that these do not divide, has sets that
 * several classes share; and next-line prefetch joins the two classes of a pair of lines.  The
 * accesses of all of them must be simulated, and counts scaled by their number. */
uint64_t geometry_classes(const struct geometry *geometry, uint64_t classes,
			  bool next_line_prefetch);

/* The classes of lines do not share a set when they differ modulo this: 1 to CACHE_CLASSES, a power
 * of two. */
unsigned geometry_class_groups(const struct geometry *geometry);

/* What the operands of one record do to each line, all at once.
 *
 * A record of many operands, as unrolled loops make, touches few lines, and no two of them in one
 * class of sets, for it reaches over TRACE_SPAN_MAX words at most.  So, unless a line that misses
 * brings in the next one, only the order of accesses to the same line matters: the first of them
 * may miss, the others cannot (access_filter.h) and are told together.  What there is to tell
 * depends on nothing but the group and the place of the record's address in its line, and is kept.
 */
#pragma once

#include "tracer/traffic/access_filter.h"
#include "tracer/translate/trace_config.h"

/* One line.  Instructions by their numbers (struct trace_operand). */
struct line_part {
	uint32_t who;                 /* of the first access */
	uint8_t kind, first, n;       /* of the first access: enum cache_access, bytes */
	bool loads, stores;           /* later accesses there are */
	uint32_t load_who, store_who; /* of the last of them */
	uint64_t loaded, stored;      /* bytes by later accesses; loaded before they are stored */
	uint64_t touched;             /* bytes, by all */
};

/* Lines at most; a group with more, or with accesses of other kinds, has no parts. */
#define PARTS 18
#define FARTHEST_LINE 31 /* from that of the record's address */

struct group_lines {
	const struct trace_config *config; /* NULL: nothing is kept here */
	uint32_t group;
	uint8_t place, n; /* place of the address in its line; lines, 0: no parts */
	/* Bit k: the line that is k behind that of the record's address, modulo 64, has a part; its
	 * number is part[k]. */
	uint64_t lines;
	uint8_t part[CACHE_CLASSES];
	struct line_part parts[PARTS];
};

/* Fills `lines` for records of a group, whose number in `config` is `number`, at addresses that are
 * `place` modulo CACHE_LINE. */
void group_lines_make(struct group_lines *lines, const struct trace_config *config, uint32_t number,
		      const struct trace_group *group, unsigned place);

/* Those that were made last. */
#define GROUP_LINES_KEPT 128
struct group_lines_cache {
	struct group_lines kept[GROUP_LINES_KEPT];
};

/* The lines of a record's group; made if need be.  Valid until the next call. */
static inline const struct group_lines *group_lines_get(struct group_lines_cache *cache,
							const struct trace_config *config,
							uint32_t number,
							const struct trace_group *group,
							uint64_t address)
{
	const unsigned place = address % CACHE_LINE;
	struct group_lines *lines =
		&cache->kept[((number * CACHE_LINE + place) * 0x9e3779b1u >> 16) %
			     GROUP_LINES_KEPT];
	if (lines->config != config || lines->group != number || lines->place != place)
		group_lines_make(lines, config, number, group, place);
	return lines;
}

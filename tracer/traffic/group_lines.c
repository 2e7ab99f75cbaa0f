/* Sums up what a group of operands does to each line that it touches. */
#include "tracer/traffic/group_lines.h"

#include <string.h>

/* The part of a line; a new one has no bytes touched.  NULL: there are too many. */
static struct line_part *part_of(struct group_lines *lines, int32_t line)
{
	const unsigned k = (unsigned)line % CACHE_CLASSES;
	if (line < -FARTHEST_LINE || line > FARTHEST_LINE)
		return NULL;
	if (lines->lines >> k & 1)
		return &lines->parts[lines->part[k]];
	if (lines->n == PARTS)
		return NULL;
	lines->lines |= 1ull << k;
	lines->part[k] = lines->n;
	lines->parts[lines->n] = (struct line_part){0};
	return &lines->parts[lines->n++];
}

static void add_access(struct line_part *part, enum cache_access kind, unsigned first, unsigned n,
		       uint32_t who)
{
	const uint64_t bytes = line_bytes(first, n);
	if (!part->touched) {
		part->kind = (uint8_t)kind;
		part->first = (uint8_t)first;
		part->n = (uint8_t)n;
		part->who = who;
	} else if (kind == CACHE_LOAD) {
		part->loads = true;
		part->load_who = who;
		part->loaded |= bytes & ~part->stored;
	} else {
		part->stores = true;
		part->store_who = who;
		part->stored |= bytes;
	}
	part->touched |= bytes;
}

static bool add_operand(struct group_lines *lines, const struct trace_operand *operand)
{
	const int32_t begin = (int32_t)lines->place + operand->at, end = begin + operand->bytes;
	for (int32_t at = begin; at < end;) {
		const int32_t line = at >> 6; /* rounds down */
		const unsigned first = (unsigned)at % CACHE_LINE;
		const unsigned rest = (unsigned)(end - at),
			       n = rest < CACHE_LINE - first ? rest : CACHE_LINE - first;
		struct line_part *part = part_of(lines, line);
		if (!part)
			return false;
		if (operand->access & OPERAND_LOAD)
			add_access(part, CACHE_LOAD, first, n, operand->number);
		if (operand->access & OPERAND_STORE)
			add_access(part, CACHE_STORE, first, n, operand->number);
		at += (int32_t)n;
	}
	return true;
}

static bool is_plain(const struct trace_group *group)
{
	for (unsigned i = 0; i < group->n; i++)
		if (!group->operands[i].access ||
		    group->operands[i].access & ~(OPERAND_LOAD | OPERAND_STORE))
			return false;
	return group->form == OPERAND_PLAIN;
}

void group_lines_make(struct group_lines *lines, const struct trace_config *config, uint32_t number,
		      const struct trace_group *group, unsigned place)
{
	bool fits = is_plain(group);
	lines->config = config;
	lines->group = number;
	lines->place = (uint8_t)place;
	lines->lines = 0;
	lines->n = 0;
	for (unsigned i = 0; fits && i < group->n; i++)
		fits = add_operand(lines, &group->operands[i]);
	lines->n = fits ? lines->n : 0;
}

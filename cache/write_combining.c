/* Writes lines past the caches, for non-temporal stores, flushes and clzero. */
#include "cache/write_combining.h"
#include "cache/lines.h"

#include <stdlib.h>
#include <string.h>

/* Line fill buffers of a core, Nehalem to Broadwell; 12 or more since. */
#define CACHE_COMBINING 10

struct combining {
	unsigned n;
	struct combining_line {
		uint32_t line, who;
		struct written written;
	} lines[CACHE_COMBINING]; /* oldest first */
};

/* The buffer of a line, or NULL. */
static struct combining_line *combining_find(struct combining *buffers, uint32_t line)
{
	for (unsigned i = 0; i < buffers->n; i++)
		if (buffers->lines[i].line == line)
			return &buffers->lines[i];
	return NULL;
}

void combining_flush_line(struct hierarchy *h, uint32_t line, bool remove)
{
	struct moving found;
	int from = lines_withdraw_all(h, h->n_levels, line, remove, &found);
	if (from >= 0)
		lines_go_down(h, &found, from, h->n_levels);
}

/* Empties a buffer. */
static void combining_end(struct hierarchy *h, struct combining *buffers,
			  const struct combining_line *buffer)
{
	const struct combining_line line = *buffer;
	const size_t at = buffer - buffers->lines;
	memmove(&buffers->lines[at], &buffers->lines[at + 1],
		(--buffers->n - at) * sizeof(*buffer));
	h->n_combining--;
	lines_note(h, TRAFFIC_MEM_NON_TEMPORAL, line.who, line.line);
}

void combining_write_out(struct hierarchy *h, const struct core *but, uint32_t line)
{
	for (size_t i = 0; i < h->n_cores; i++) {
		struct core *core = h->cores[i];
		if (!core || core == but || !core->combining)
			continue;
		struct combining_line *buffer = combining_find(&core->combining[h->slot], line);
		if (buffer)
			combining_end(h, &core->combining[h->slot], buffer);
	}
}

void combining_store(struct hierarchy *h, struct core *core, uint32_t line)
{
	if (!core->combining)
		core->combining = calloc(h->n_slots, sizeof(*core->combining));
	if (!core->combining) {
		h->n_lost++;
		return;
	}
	struct combining *buffers = &core->combining[h->slot];
	struct combining_line *buffer = combining_find(buffers, line);
	if (h->n_combining)
		combining_write_out(h, core, line);
	if (!buffer) {
		combining_flush_line(h, line, true);
		if (buffers->n == CACHE_COMBINING)
			combining_end(h, buffers, buffers->lines);
		buffer = &buffers->lines[buffers->n++];
		*buffer = (struct combining_line){.line = line};
		h->n_combining++;
	}
	buffer->who = h->who;
	written_add(&buffer->written, h->first, h->n);
	if (written_has(&buffer->written, 0, h->line_bytes))
		combining_end(h, buffers, buffer);
}

void combining_finish(struct hierarchy *h)
{
	for (size_t i = 0; i < h->n_cores; i++) {
		struct combining *buffers = h->cores[i] ? h->cores[i]->combining : NULL;
		while (buffers && buffers[h->slot].n)
			combining_end(h, &buffers[h->slot], buffers[h->slot].lines);
	}
}

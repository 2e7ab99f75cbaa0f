/* The buffers in which a core combines non-temporal stores to whole lines.
 *
 * Each class of lines has as many buffers as a core has in all (CACHE_COMBINING): what a class sees
 * must not depend on which others are simulated.  So a program that fills more lines than that at a
 * time, from one core, writes fewer partial lines here than on the machine. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define CACHE_COMBINING                                                           \
	10 /* line fill buffers of a core, Nehalem to Broadwell; 12 or more since \
	    */

struct combining {
	unsigned n;
	struct combining_line {
		uint32_t line, who;
		uint64_t written;
	} lines[CACHE_COMBINING]; /* oldest first */
};

/* The buffer of a line, or NULL. */
static inline struct combining_line *combining_find(struct combining *buffers, uint32_t line)
{
	for (unsigned i = 0; i < buffers->n; i++)
		if (buffers->lines[i].line == line)
			return &buffers->lines[i];
	return NULL;
}

/* Takes a buffer out. */
static inline struct combining_line combining_take(struct combining *buffers,
						   struct combining_line *buffer)
{
	struct combining_line taken = *buffer;
	buffers->n--;
	for (; buffer < buffers->lines + buffers->n; buffer++)
		*buffer = buffer[1];
	return taken;
}

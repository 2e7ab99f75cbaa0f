/* Past the caches: flushes, and the buffers in which a core combines non-temporal stores to whole
 * lines.
 *
 * Each class of lines has as many buffers as a core has in all (CACHE_COMBINING): what a class sees
 * must not depend on which others are simulated.  So a program that fills more lines than that at a
 * time, from one core, writes fewer partial lines here than on the machine. */
#pragma once

#include "cache/levels.h"

/* What is changed of a line is written to memory; the caches lose it, or keep it unchanged. */
void combining_flush_line(struct hierarchy *h, uint32_t line, bool remove);
/* A non-temporal store to the bytes of the access at hand. */
void combining_store(struct hierarchy *h, struct core *core, uint32_t line);
/* Writes out what cores, other than `but`, have combined of a line. */
void combining_write_out(struct hierarchy *h, const struct core *but, uint32_t line);
/* Writes out all that is combined of lines of the group at hand. */
void combining_finish(struct hierarchy *h);

/* The word that somebody may have meant: of those that there are the one that is nearest to what
 * was written. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct nearest {
	const char *written;
	size_t length;    /* of what is compared of it */
	const char *word; /* the best of those that were offered; NULL: none is near */
	size_t distance;
};

/* Begins with nothing offered.  Of `written`, borrowed, only what stands before a '=' counts. */
struct nearest nearest_to(const char *written);
/* Takes `word`, borrowed, where it is nearer than what was offered before. */
void nearest_offer(struct nearest *nearest, const char *word);

/* What lines that threads share (struct profile_shared_line) may cost. */
#pragma once

#include "report/model/model.h"

/* ns that a line takes to move between the threads of the run: between two cores below one last
 * cache, or, where these are not there, of the nearest way that was measured; 0: none was. */
double sharing_move_ns(const struct profile *profile);

/* Lines of one kind that a function's code touches. */
struct sharing_part {
	double cpu_s;  /* for all moves of its lines at most, never more than its time */
	double moves;  /* at most */
	uint32_t line; /* row in shared_lines: the one with most of these; PROFILE_NONE: none */
};
struct sharing_part sharing_of_function(const struct profile *profile,
					const struct model_function *f, enum sharing_kind kind);

/* The rows of a line's places in shared_places, from *first up to the one returned. */
size_t sharing_places_of(const struct profile *profile, uint32_t line, size_t *first);

/* What a line may cost all functions together, each at most its time, s of processor time; NAN: it
 * is not known.  `time_ns`: by row of profile->functions, UINT64_MAX: not known; or NULL. */
double sharing_cost(const struct profile *profile, uint32_t line, const uint64_t *time_ns);

/* The two places that a line is told by: that with most accesses of the function's (NULL: of all),
 * and that with most of another thread, of those pairs of which one writes: a line that is only
 * read does not move.  Rows in shared_places.  False: there are none. */
bool sharing_sides(const struct profile *profile, uint32_t line, const struct model_function *f,
		   uint32_t sides[2]);

/* The lowest and the highest byte of the line that a place touches. */
void sharing_bytes(const struct profile_shared_place *place, unsigned *from, unsigned *to);

/* "the 64 B that main (main.c:88) allocates: bytes 0 to 7 by …, bytes 8 to 15 by …"; not clean. */
void sharing_line_words(const struct profile *profile, uint32_t line,
			const struct model_function *f, char *text, size_t size);

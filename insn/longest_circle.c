/* Karp's theorem, by walks of all lengths. */
#include "insn/longest_circle.h"

#include <assert.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* The longest walk of k ways that ends at each place, and where its last way began. */
struct walk {
	int64_t length; /* NO_WALK: there is none */
	uint32_t from;
};
#define NO_WALK INT64_MIN

struct circles {
	const int64_t *lengths; /* as longest_circle has them */
	uint32_t n;
	struct walk *walks;      /* [k × n + place] */
	uint32_t *seen, *places; /* by place: where a walk was there; by length: where it was */
};

/* A mean of so many turns; compared without rounding. */
struct mean {
	int64_t length, turns;
};

static bool is_less(struct mean a, struct mean b)
{
	return (__int128)a.length * b.turns < (__int128)b.length * a.turns;
}

static void find_walks(struct circles *circles)
{
	const uint32_t n = circles->n;
	for (uint32_t i = 0; i < n; i++)
		circles->walks[i] = (struct walk){0, 0};
	for (uint32_t k = 1; k <= n; k++)
		for (uint32_t to = 0; to < n; to++) {
			struct walk *longest = &circles->walks[k * n + to];
			*longest = (struct walk){NO_WALK, 0};
			for (uint32_t from = 0; from < n; from++) {
				const struct walk *before = &circles->walks[(k - 1) * n + from];
				const int64_t way = circles->lengths[from * n + to];
				if (way == NO_WAY || before->length == NO_WALK)
					continue;
				const int64_t length = before->length + way;
				if (length > longest->length)
					*longest = (struct walk){length, from};
			}
		}
}

/* The end of the walk of n ways of which Karp's theorem says that it holds the longest circle, or
 * n.
 */
static uint32_t find_end(const struct circles *circles)
{
	const uint32_t n = circles->n;
	struct mean longest = {-1, 1};
	uint32_t end = n;
	for (uint32_t to = 0; to < n; to++) {
		const int64_t length = circles->walks[n * n + to].length;
		struct mean least = {INT64_MAX, 1};
		for (uint32_t k = 0; k < n && length != NO_WALK; k++) {
			const int64_t part = circles->walks[k * n + to].length;
			const struct mean mean = {length - part, n - k};
			if (part != NO_WALK && is_less(mean, least))
				least = mean;
		}
		if (length != NO_WALK && is_less(longest, least)) {
			longest = least;
			end = to;
		}
	}
	return end;
}

/* Goes back along the walk that ends at `at`, until it has been somewhere before: that is a circle,
 * and all circles on it are the longest.  Returns how many places it has. */
static uint32_t take_circle(const struct circles *circles, uint32_t at, uint32_t *circle)
{
	const uint32_t n = circles->n;
	uint32_t k = n, n_circle = 0;
	memset(circles->seen, 0xff, n * sizeof(*circles->seen));
	while (circles->seen[at] == UINT32_MAX) {
		circles->seen[at] = k;
		circles->places[k] = at;
		at = circles->walks[k * n + at].from;
		assert(k > 0);
		k--;
	}
	circle[n_circle++] = at;
	for (uint32_t i = k + 1; i < circles->seen[at]; i++)
		circle[n_circle++] = circles->places[i];
	return n_circle;
}

struct rf_error *longest_circle(const int64_t *lengths, uint32_t n, uint32_t *circle,
				uint32_t *n_circle)
{
	struct circles circles = {lengths, n, malloc((size_t)(n + 1) * n * sizeof(*circles.walks)),
				  malloc((n + 1) * sizeof(*circles.seen)),
				  malloc((n + 1) * sizeof(*circles.places))};
	struct rf_error *error =
		circles.walks && circles.seen && circles.places ? NULL : rf_error_no_memory();
	*n_circle = 0;
	if (!error) {
		find_walks(&circles);
		const uint32_t end = find_end(&circles);
		if (end < n)
			*n_circle = take_circle(&circles, end, circle);
	}
	free(circles.walks);
	free(circles.seen);
	free(circles.places);
	return error;
}

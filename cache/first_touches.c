/* Remembers the lines of some classes that were touched since the last gap. */
#include "cache/first_touches.h"

#include "cache/traffic.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* So many times the lines that a class has room for: then each of its sets is full of new ones,
 * with hardly an exception. */
#define FILLS 1.5
/* A class is settled, too, when of so many accesses in a row so few were to new lines. */
#define RUN 256
#define NEW_OF_RUN 5
/* The golden ratio, in 64 bits */
#define SPREAD 0x9e3779b97f4a7c15ull

struct class
{
	uint64_t *lines;   /* a hash set of numbers plus 1, of the lines since the gap; 0: free */
	unsigned n;        /* of them */
	unsigned run, new; /* accesses of this run, and those of them to new lines */
	bool settled[N_GAP_BORDERS];
};

struct first_touches {
	unsigned room[N_GAP_BORDERS]; /* lines of a class that fill the caches up to the border */
	unsigned bits;                /* of the number of cells of a hash set */
	bool had_gap;
	struct class classes[CACHE_CLASSES];
};

static unsigned fills(uint64_t bytes)
{
	return (unsigned)(FILLS * (double)bytes / CACHE_LINE / CACHE_CLASSES) + 1;
}

struct first_touches *first_touches_create(const struct geometry *geometry, uint64_t classes)
{
	struct first_touches *touches = calloc(1, sizeof(*touches));
	if (!touches)
		return NULL;
	const int last = geometry->n_levels - 1;
	touches->room[GAP_PRIVATE] = fills(geometry->levels[last > 1 ? 1 : 0].bytes);
	touches->room[GAP_LAST] = fills(geometry->levels[last].bytes);
	while (1u << touches->bits < 2 * touches->room[GAP_LAST])
		touches->bits++;
	for (uint64_t rest = classes; rest; rest &= rest - 1) {
		struct class *class = &touches->classes[__builtin_ctzll(rest)];
		class->lines = calloc(1u << touches->bits, sizeof(*class->lines));
		if (!class->lines) {
			first_touches_destroy(touches);
			return NULL;
		}
	}
	return touches;
}

void first_touches_destroy(struct first_touches *touches)
{
	if (!touches)
		return;
	for (int i = 0; i < CACHE_CLASSES; i++)
		free(touches->classes[i].lines);
	free(touches);
}

void first_touches_begin(struct first_touches *touches)
{
	touches->had_gap = true;
	for (int i = 0; i < CACHE_CLASSES; i++) {
		struct class *class = &touches->classes[i];
		if (class->n)
			memset(class->lines, 0, sizeof(*class->lines) << touches->bits);
		*class = (struct class){.lines = class->lines};
	}
}

/* Whether the line is a new one; it is none from now on. */
static bool add(const struct first_touches *touches, struct class *class, uint64_t line)
{
	const uint64_t mask = (UINT64_C(1) << touches->bits) - 1;
	uint64_t at = line * SPREAD >> (64 - touches->bits);
	while (class->lines[at] && class->lines[at] != line + 1)
		at = (at + 1) & mask;
	if (class->lines[at])
		return false;
	class->lines[at] = line + 1;
	class->n++;
	assert(class->n <= touches->room[GAP_LAST]);
	return true;
}

static void note_run(struct class *class, bool is_new)
{
	class->run++;
	class->new += is_new;
	if (class->run < RUN)
		return;
	if (class->new <= NEW_OF_RUN)
		class->settled[GAP_PRIVATE] = class->settled[GAP_LAST] = true;
	class->run = class->new = 0;
}

struct touch first_touches_note(struct first_touches *touches, uint64_t line)
{
	struct class *class = &touches->classes[line % CACHE_CLASSES];
	if (!touches->had_gap || !class->lines || class->n >= touches->room[GAP_LAST])
		return (struct touch){.settled = {true, true}};
	const bool is_new = add(touches, class, line);
	struct touch touch = {.settled = {class->settled[GAP_PRIVATE], class->settled[GAP_LAST]}};
	for (int border = 0; border < N_GAP_BORDERS; border++) {
		const bool full = class->n >= touches->room[border];
		touch.unknown[border] = is_new && !full;
		class->settled[border] |= full;
	}
	note_run(class, is_new);
	return touch;
}

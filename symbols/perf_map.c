#include "symbols/perf_map.h"

#include "base/array.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* A line of the file; `order` counts the lines. */
struct entry {
	uint64_t start, end;
	const char *name;
	uint32_t order;
};

/* What is left of an entry: it begins at `function`. */
struct range {
	uint64_t start, end, function;
	const char *name;
};

struct perf_map {
	char *text;           /* names end with a NUL in it */
	struct range *ranges; /* sorted, no overlaps */
	size_t n_ranges, cap_ranges;
};

/* ---- lines ---- */

static int hex_digit(char c)
{
	return c >= '0' && c <= '9'                 ? c - '0'
	       : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
						    : -1;
}

/* A hexadecimal number and the blank behind it. */
static bool take_hex(const char **at, const char *end, uint64_t *value)
{
	const char *from = *at;
	if (end - from > 2 && from[0] == '0' && (from[1] | 32) == 'x')
		from += 2;
	const char *first = from;
	for (*value = 0; from < end && hex_digit(*from) >= 0 && from - first < 16; from++)
		*value = *value << 4 | (uint64_t)hex_digit(*from);
	*at = from + 1;
	return from > first && from < end && *from == ' ';
}

/* `end` points at the line's end, which becomes a NUL. */
static bool parse_line(char *line, char *end, struct entry *entry)
{
	const char *at = line;
	uint64_t size;
	if (!take_hex(&at, end, &entry->start) || !take_hex(&at, end, &size))
		return false;
	if (end > at && end[-1] == '\r')
		end--;
	if (end - at > PERF_MAP_MAX_NAME)
		end = (char *)at + PERF_MAP_MAX_NAME;
	*end = '\0';
	entry->name = at;
	return *at && size && !__builtin_add_overflow(entry->start, size, &entry->end);
}

static size_t count_lines(const char *text, size_t size)
{
	size_t n = 0;
	for (const char *end = text + size; text < end; n++) {
		const char *newline = memchr(text, '\n', (size_t)(end - text));
		text = newline ? newline + 1 : end;
	}
	return n;
}

static bool parse_lines(char *text, size_t size, struct entry **entries, size_t *n)
{
	size_t lines = count_lines(text, size), cap = 0;
	size_t skip = lines > PERF_MAP_MAX_ENTRIES ? lines - PERF_MAP_MAX_ENTRIES : 0;
	char *end = text + size, *next;
	for (char *line = text; line < end; line = next) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		struct entry entry = {.order = (uint32_t)*n};
		next = newline ? newline + 1 : end;
		if (skip)
			skip--;
		else if (parse_line(line, newline ? newline : end, &entry) &&
			 !rf_array_push(*entries, *n, cap, entry))
			return false;
	}
	return true;
}

/* ---- overlaps ---- */

static int compare_entries(const void *a, const void *b)
{
	const struct entry *x = a, *y = b;
	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->order < y->order ? -1 : x->order > y->order;
}

/* The entries that hold the present position, and some that ended before it: a heap, the one
 * written last on top. */
struct open {
	const struct entry **items;
	size_t n;
};

static void open_push(struct open *open, const struct entry *entry)
{
	size_t at = open->n++;
	for (; at && open->items[(at - 1) / 2]->order < entry->order; at = (at - 1) / 2)
		open->items[at] = open->items[(at - 1) / 2];
	open->items[at] = entry;
}

static void open_pop(struct open *open)
{
	const struct entry *last = open->items[--open->n];
	size_t at = 0;
	for (size_t child = 1; child < open->n; child = 2 * at + 1) {
		child += child + 1 < open->n &&
			 open->items[child + 1]->order > open->items[child]->order;
		if (open->items[child]->order < last->order)
			break;
		open->items[at] = open->items[child];
		at = child;
	}
	open->items[at] = last;
}

/* From one start or end to the next; each piece belongs to the open entry that was written last. */
static bool sweep(struct perf_map *map, const struct entry *entries, size_t n, struct open *open)
{
	uint64_t position = 0;
	for (size_t i = 0; i < n || open->n;) {
		if (!open->n)
			position = entries[i].start;
		while (i < n && entries[i].start <= position)
			open_push(open, &entries[i++]);
		while (open->n && open->items[0]->end <= position)
			open_pop(open);
		if (!open->n)
			continue;
		const struct entry *top = open->items[0];
		uint64_t end = i < n && entries[i].start < top->end ? entries[i].start : top->end;
		struct range range = {position, end, top->start, top->name};
		if (!rf_array_push(map->ranges, map->n_ranges, map->cap_ranges, range))
			return false;
		position = end;
	}
	return true;
}

static bool build(struct perf_map *map, size_t size)
{
	struct entry *entries = NULL;
	size_t n = 0;
	struct open open = {0};
	bool done = parse_lines(map->text, size, &entries, &n);
	if (done) {
		open.items = calloc(n + 1, sizeof(*open.items));
		done = open.items != NULL;
	}
	if (done && n) {
		qsort(entries, n, sizeof(*entries), compare_entries);
		done = sweep(map, entries, n, &open);
	}
	free(open.items);
	free(entries);
	return done;
}

/* ---- the map ---- */

/* Takes `text`, which has room for one more byte. */
static struct perf_map *map_of(char *text, size_t size)
{
	struct perf_map *map = text ? calloc(1, sizeof(*map)) : NULL;
	if (!map) {
		free(text);
		return NULL;
	}
	map->text = text;
	text[size] = '\0';
	if (build(map, size))
		return map;
	perf_map_destroy(map);
	return NULL;
}

struct perf_map *perf_map_parse(const char *text, size_t size)
{
	size_t skip = size > PERF_MAP_MAX_BYTES ? size - PERF_MAP_MAX_BYTES : 0;
	char *copy = malloc(size - skip + 1);
	if (copy && size)
		memcpy(copy, text + skip, size - skip);
	return map_of(copy, size - skip);
}

struct perf_map *perf_map_read(int fd)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return NULL;
	size_t length = (size_t)status.st_size;
	size_t skip = length > PERF_MAP_MAX_BYTES ? length - PERF_MAP_MAX_BYTES : 0, done = 0;
	char *text = malloc(length - skip + 1);
	while (text && done < length - skip) {
		ssize_t n = pread(fd, text + done, length - skip - done, (off_t)(skip + done));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		done += (size_t)n;
	}
	return map_of(text, done);
}

void perf_map_destroy(struct perf_map *map)
{
	if (!map)
		return;
	free(map->text);
	free(map->ranges);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start)
{
	size_t low = 0, high = map->n_ranges;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (map->ranges[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == map->n_ranges || map->ranges[low].start > address)
		return NULL;
	*start = map->ranges[low].function;
	return map->ranges[low].name;
}

size_t perf_map_n_ranges(const struct perf_map *map)
{
	return map->n_ranges;
}

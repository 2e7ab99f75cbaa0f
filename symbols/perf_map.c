/* Reading perf-PID.map: its lines, and which of them holds at each address. */
#include "symbols/perf_map.h"

#include "base/array.h"
#include "base/confined.h"
#include "base/search.h"
#include "symbols/overlaps.h"

#include <ctype.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For the child that reads one file. */
#define READER_SECONDS 60

/* What is left of an entry, which begins at `function`. */
struct range {
	uint64_t start, end, function;
	const char *name;
};

struct perf_map {
	char *text;           /* names end with a NUL in it; NULL: each is owned */
	struct range *ranges; /* sorted, no overlaps */
	size_t n_ranges, cap_ranges;
};

/* ---- lines ---- */

/* A hexadecimal number and the blank behind it. */
static bool take_hex(char **at, uint64_t *value)
{
	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*value = strtoull(*at, at, 16);
	return !errno && *(*at)++ == ' ';
}

/* `end` points at the line's end, which becomes a NUL. */
static bool parse_line(char *line, char *end, struct ranked_range *entry)
{
	char *at = line;
	uint64_t size;
	if (!take_hex(&at, &entry->start) || !take_hex(&at, &size))
		return false;
	if (end > at && end[-1] == '\r')
		end--;
	if (end - at > PERF_MAP_MAX_NAME)
		end = at + PERF_MAP_MAX_NAME;
	*end = '\0';
	entry->owner = at;
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

/* The entries; of a higher rank are those further down, whose names are their owners. */
static struct rf_error *parse_lines(char *text, size_t size, struct ranked_range **entries,
				    size_t *n)
{
	size_t lines = count_lines(text, size), cap = 0;
	size_t skip = lines > PERF_MAP_MAX_ENTRIES ? lines - PERF_MAP_MAX_ENTRIES : 0;
	char *end = text + size, *next;
	for (char *line = text; line < end; line = next) {
		char *newline = memchr(line, '\n', (size_t)(end - line));
		struct ranked_range entry = {.rank = (uint32_t)*n};
		next = newline ? newline + 1 : end;
		if (skip)
			skip--;
		else if (parse_line(line, newline ? newline : end, &entry) &&
			 !rf_array_push(*entries, *n, cap, entry))
			return rf_error_no_memory();
	}
	return NULL;
}

static struct rf_error *add_range(void *context, uint64_t start, uint64_t end,
				  const struct ranked_range *top)
{
	struct perf_map *map = context;
	const struct range range = {start, end, top->start, top->owner};
	return rf_array_add(map->ranges, map->n_ranges, map->cap_ranges, range);
}

static struct rf_error *build(struct perf_map *map, size_t size)
{
	struct ranked_range *entries = NULL;
	size_t n = 0;
	struct rf_error *error = parse_lines(map->text, size, &entries, &n);
	if (!error)
		error = overlaps_flatten(entries, n, add_range, map);
	free(entries);
	return error;
}

/* ---- the map ---- */

/* The text in a file, or the end of a long one, with room for one more byte; NULL: it cannot be
 * read. */
static char *read_text(int fd, size_t *size)
{
	struct stat status;
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode))
		return NULL;
	size_t length = (size_t)status.st_size;
	size_t skip = length > PERF_MAP_MAX_BYTES ? length - PERF_MAP_MAX_BYTES : 0;
	char *text = malloc(length - skip + 1);
	for (*size = 0; text && *size < length - skip;) {
		ssize_t n = pread(fd, text + *size, length - skip - *size, (off_t)(skip + *size));
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			break;
		*size += (size_t)n;
	}
	return text;
}

struct perf_map *perf_map_read(int fd)
{
	size_t size;
	char *text = read_text(fd, &size);
	struct perf_map *map = text ? calloc(1, sizeof(*map)) : NULL;
	if (!map) {
		free(text);
		return NULL;
	}
	map->text = text;
	text[size] = '\0';
	if (!build(map, size))
		return map;
	perf_map_destroy(map); /* memory is short */
	return NULL;
}

/* ---- through a child ---- */

enum { RANGE = 1 }; /* start, end, function, name */

static void answer(void *context, FILE *stream)
{
	struct perf_map *map = perf_map_read(CONFINED_FD);
	for (size_t i = 0; map && i < map->n_ranges; i++) {
		confined_put_tag(stream, RANGE);
		confined_put_number(stream, map->ranges[i].start);
		confined_put_number(stream, map->ranges[i].end);
		confined_put_number(stream, map->ranges[i].function);
		confined_put_text(stream, map->ranges[i].name);
	}
}

static bool take_range(struct confined *child, struct perf_map *map)
{
	struct range range = {0};
	range.start = confined_number(child);
	range.end = confined_number(child);
	range.function = confined_number(child);
	const uint64_t done = map->n_ranges ? map->ranges[map->n_ranges - 1].end : 0;
	char *name = confined_text(child);
	range.name = name;
	if (name && *name && strlen(name) <= PERF_MAP_MAX_NAME && range.start < range.end &&
	    range.function <= range.start && range.start >= done &&
	    rf_array_push(map->ranges, map->n_ranges, map->cap_ranges, range))
		return true;
	free(name);
	return false;
}

struct rf_error *perf_map_read_confined(int fd, struct perf_map **out)
{
	const struct confined_job job = {fd, NULL, answer, NULL, READER_SECONDS};
	struct confined *child;
	uint8_t tag;
	struct perf_map *map = calloc(1, sizeof(*map));
	struct rf_error *error = map ? confined_create(&job, &child) : rf_error_no_memory();
	if (error) {
		free(map);
		return error;
	}
	while ((tag = confined_next(child)) == RANGE && take_range(child, map))
		;
	const char *why = tag ? "its reader's answer makes no sense" : confined_failure(child);
	if (why)
		error = rf_error_create(RF_EFORMAT, NULL, "%s", why);
	confined_destroy(child);
	if (error)
		perf_map_destroy(map);
	else
		*out = map;
	return error;
}

/* ---- what it knows ---- */

void perf_map_destroy(struct perf_map *map)
{
	if (!map)
		return;
	for (size_t i = 0; !map->text && i < map->n_ranges; i++)
		free((char *)map->ranges[i].name);
	free(map->text);
	free(map->ranges);
	free(map);
}

const char *perf_map_find(const struct perf_map *map, uint64_t address, uint64_t *start)
{
	const size_t at = rf_search(map->n_ranges, i, map->ranges[i].end <= address);
	if (at == map->n_ranges || map->ranges[at].start > address)
		return NULL;
	*start = map->ranges[at].function;
	return map->ranges[at].name;
}

size_t perf_map_n_ranges(const struct perf_map *map)
{
	return map->n_ranges;
}

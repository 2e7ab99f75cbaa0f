/* The perf-PID.map files of a run: watched for, opened, and read again when they have grown. */
#include "tracer/process/perf_maps.h"

#include "base/array.h"
#include "base/small_file.h"
#include "base/trusted_file.h"
#include "symbols/perf_map.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

/* Processes whose files are looked for and kept open; of all together so many bytes are read. */
enum { MAX_WATCHED = 256 };
static const size_t MAX_TOTAL_BYTES = (size_t)128 << 20;

struct watched {
	uint32_t pid;
	uint32_t parent; /* whose names it has without own ones; 0: none */
	int fd;          /* -1: not there yet */
	off_t size;      /* when it was read */
	struct perf_map *map;
};

struct perf_maps {
	struct watched *items;
	size_t n_items, cap_items;
	size_t total;   /* bytes read and kept */
	char *trouble;  /* the first file that could not be read: why, or NULL */
	time_t created; /* files that were last written before are of another process */
	char *refused;  /* the first that is not to be trusted, and why, or NULL */
};

struct perf_maps *perf_maps_create(void)
{
	struct perf_maps *maps = calloc(1, sizeof(*maps));
	if (maps)
		maps->created = time(NULL);
	return maps;
}

void perf_maps_destroy(struct perf_maps *maps)
{
	if (!maps)
		return;
	for (size_t i = 0; i < maps->n_items; i++) {
		if (maps->items[i].fd >= 0)
			close(maps->items[i].fd);
		perf_map_destroy(maps->items[i].map);
	}
	free(maps->items);
	free(maps->refused);
	free(maps->trouble);
	free(maps);
}

static struct watched *find(struct perf_maps *maps, uint32_t pid)
{
	for (size_t i = 0; i < maps->n_items; i++)
		if (maps->items[i].pid == pid)
			return &maps->items[i];
	return NULL;
}

static void add(struct perf_maps *maps, uint32_t pid, uint32_t parent)
{
	struct watched fresh = {.pid = pid, .parent = parent, .fd = -1};
	if (maps->n_items < MAX_WATCHED && !find(maps, pid))
		(void)rf_array_push(maps->items, maps->n_items, maps->cap_items, fresh);
}

void perf_maps_watch(struct perf_maps *maps, uint32_t pid)
{
	add(maps, pid, 0);
}

void perf_maps_fork(struct perf_maps *maps, uint32_t parent, uint32_t pid)
{
	if (find(maps, parent))
		add(maps, pid, parent);
}

/* Its id as it sees it itself: the last number of "NSpid:" (proc(5)). */
static uint32_t inner_pid(uint32_t pid)
{
	char value[256];
	uint32_t inner = pid;
	if (!small_file_status((pid_t)pid, "NSpid", value, sizeof(value)))
		return pid;
	const char *last = strrchr(value, '\t');
	(void)sscanf(last ? last : value, "%u", &inner);
	return inner;
}

/* Whoever can write to /tmp can put a file there under this name. */
static int open_trusted(struct perf_maps *maps, const char *path)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	const char *refusal = trusted_file_refusal(fd);
	const bool new = fstat(fd, &status) == 0 && status.st_mtime >= maps->created;
	if (!refusal && new)
		return fd;
	if (new && !maps->refused &&
	    asprintf(&maps->refused, "%s is not used: it %s", path, refusal) < 0)
		maps->refused = NULL;
	close(fd);
	return -1;
}

static int open_file(struct perf_maps *maps, uint32_t pid)
{
	char path[96];
	snprintf(path, sizeof(path), "/proc/%u/root/tmp/perf-%u.map", pid, inner_pid(pid));
	int fd = open_trusted(maps, path);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	return open_trusted(maps, path);
}

void perf_maps_look(struct perf_maps *maps)
{
	for (size_t i = 0; i < maps->n_items; i++)
		if (maps->items[i].fd < 0)
			maps->items[i].fd = open_file(maps, maps->items[i].pid);
}

/* Takes the error. */
static void note_trouble(struct perf_maps *maps, struct rf_error *error)
{
	if (!maps->trouble)
		maps->trouble = strdup(error->message);
	rf_error_destroy(error);
}

const char *perf_maps_trouble(const struct perf_maps *maps)
{
	return maps->trouble;
}

void perf_maps_refresh(struct perf_maps *maps)
{
	perf_maps_look(maps);
	for (size_t i = 0; i < maps->n_items; i++) {
		struct watched *item = &maps->items[i];
		struct stat status;
		if (item->fd < 0 || fstat(item->fd, &status) != 0 || status.st_size == item->size)
			continue;
		size_t bytes = (size_t)status.st_size < PERF_MAP_MAX_BYTES ? (size_t)status.st_size
									   : PERF_MAP_MAX_BYTES;
		if (maps->total + bytes > MAX_TOTAL_BYTES)
			continue;
		struct perf_map *map;
		struct rf_error *error = perf_map_read_confined(item->fd, &map);
		if (error) {
			note_trouble(maps, error);
			item->size = status.st_size; /* not again and again */
			continue;
		}
		maps->total += bytes;
		perf_map_destroy(item->map);
		item->map = map;
		item->size = status.st_size;
	}
}

const char *perf_maps_find(struct perf_maps *maps, uint32_t pid, uint64_t address, uint64_t *start)
{
	/* a parent was there before its child: the way up ends */
	for (const struct watched *item = find(maps, pid); item; item = find(maps, item->parent))
		if (item->map)
			return perf_map_find(item->map, address, start);
	return NULL;
}

const char *perf_maps_refused(const struct perf_maps *maps)
{
	return maps->refused;
}

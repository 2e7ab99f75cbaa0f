/* The perf-PID.map and jit-PID.dump files of a run: watched for, opened, and read again when they
 * have grown. */
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
	int dump_fd; /* of jit-PID.dump; -1: there is none */
	off_t dump_size;
	struct jit_dump *dump;
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
		if (maps->items[i].dump_fd >= 0)
			close(maps->items[i].dump_fd);
		perf_map_destroy(maps->items[i].map);
		jit_dump_destroy(maps->items[i].dump);
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
	struct watched fresh = {.pid = pid, .parent = parent, .fd = -1, .dump_fd = -1};
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
static int open_trusted(struct perf_maps *maps, const char *path, time_t since)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | O_NOFOLLOW);
	if (fd < 0)
		return -1;
	const char *refusal = trusted_file_refusal(fd);
	const bool new = fstat(fd, &status) == 0 && status.st_mtime >= since;
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
	int fd = open_trusted(maps, path, maps->created);
	if (fd >= 0)
		return fd;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	return open_trusted(maps, path, maps->created);
}

void perf_maps_look(struct perf_maps *maps)
{
	for (size_t i = 0; i < maps->n_items; i++)
		if (maps->items[i].fd < 0)
			maps->items[i].fd = open_file(maps, maps->items[i].pid);
}

/* "/where/jit-123.dump" */
static bool is_dump(const char *path)
{
	const char *name = strrchr(path, '/');
	unsigned pid;
	int end = 0;
	return name && sscanf(name, "/jit-%u.dump%n", &pid, &end) == 1 && end && !name[end];
}

void perf_maps_mapped(struct perf_maps *maps, uint32_t pid, const char *path)
{
	char rooted[4200];
	if (!is_dump(path) || *path != '/')
		return;
	add(maps, pid, 0);
	struct watched *item = find(maps, pid);
	if (!item || item->dump_fd >= 0)
		return;
	/* it is the process's own, whenever it was written last */
	snprintf(rooted, sizeof(rooted), "/proc/%u/root%s", pid, path);
	item->dump_fd = open_trusted(maps, rooted, 0);
	if (item->dump_fd < 0)
		item->dump_fd = open_trusted(maps, path, 0);
}

/* Takes the error. */
static void note_trouble(struct perf_maps *maps, const char *file, struct rf_error *error)
{
	if (!maps->trouble && asprintf(&maps->trouble, "%s: %s", file, error->message) < 0)
		maps->trouble = NULL;
	rf_error_destroy(error);
}

const char *perf_maps_trouble(const struct perf_maps *maps)
{
	return maps->trouble;
}

/* Whether a file has grown since it was `*size` bytes long; these are set. */
static bool has_grown(int fd, off_t *size)
{
	struct stat status;
	if (fd < 0 || fstat(fd, &status) != 0 || status.st_size == *size)
		return false;
	*size = status.st_size; /* not again and again, whatever comes of it */
	return true;
}

static void refresh_map(struct perf_maps *maps, struct watched *item)
{
	struct perf_map *map;
	if (!has_grown(item->fd, &item->size))
		return;
	const size_t size = (size_t)item->size;
	const size_t bytes = size < PERF_MAP_MAX_BYTES ? size : PERF_MAP_MAX_BYTES;
	if (maps->total + bytes > MAX_TOTAL_BYTES)
		return;
	struct rf_error *error = perf_map_read_confined(item->fd, &map);
	if (error) {
		note_trouble(maps, "perf-PID.map", error);
		return;
	}
	maps->total += bytes;
	perf_map_destroy(item->map);
	item->map = map;
}

static void refresh_dump(struct perf_maps *maps, struct watched *item)
{
	struct jit_dump *dump;
	if (maps->total > MAX_TOTAL_BYTES || !has_grown(item->dump_fd, &item->dump_size))
		return;
	struct rf_error *error = jit_dump_read_confined(item->dump_fd, &dump);
	if (error) {
		note_trouble(maps, "jit-PID.dump", error);
		return;
	}
	maps->total += jit_dump_size(dump) - (item->dump ? jit_dump_size(item->dump) : 0);
	jit_dump_destroy(item->dump);
	item->dump = dump;
}

void perf_maps_refresh(struct perf_maps *maps)
{
	perf_maps_look(maps);
	for (size_t i = 0; i < maps->n_items; i++) {
		refresh_map(maps, &maps->items[i]);
		refresh_dump(maps, &maps->items[i]);
	}
}

bool perf_maps_find(struct perf_maps *maps, uint32_t pid, uint64_t address, uint64_t time,
		    struct jit_code *code)
{
	/* a parent was there before its child: the way up ends */
	for (const struct watched *item = find(maps, pid); item; item = find(maps, item->parent)) {
		if (item->dump && jit_dump_find(item->dump, address, time, code))
			return true;
		if (!item->map)
			continue;
		*code = (struct jit_code){0};
		code->name = perf_map_find(item->map, address, &code->start);
		return code->name;
	}
	return false;
}

unsigned perf_maps_unused(const struct perf_maps *maps)
{
	unsigned unused = 0;
	for (size_t i = 0; i < maps->n_items; i++)
		unused |= maps->items[i].dump ? jit_dump_unused(maps->items[i].dump) : 0;
	return unused;
}

const char *perf_maps_refused(const struct perf_maps *maps)
{
	return maps->refused;
}

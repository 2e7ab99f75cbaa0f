/* Reads which pages of a process are in memory. */
#include "tracer/flush/resident.h"

#include "base/array.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096ull
#define LARGEST (1ull << 40) /* bytes of a mapping that is read */
#define PRESENT (1ull << 63)
#define AT_ONCE 8192 /* pages */

/* Of a line of /proc/PID/maps: whether it is one of data. */
static bool is_data(const char *line, uint64_t *start, uint64_t *end)
{
	char rights[8];
	int at = 0;
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %*x %*x:%*x %*u %n", start, end, rights,
		   &at) < 3 ||
	    rights[0] != 'r' || rights[2] == 'x')
		return false;
	const char *path = at ? line + at : "";
	const bool is_device = strncmp(path, "/dev/", 5) == 0 &&
			       strncmp(path, "/dev/shm/", 9) != 0 &&
			       strncmp(path, "/dev/zero", 9) != 0;
	return !is_device && strncmp(path, "[v", 2) != 0 && *end - *start < LARGEST;
}

static bool add_page(struct resident *resident, uint64_t address)
{
	const struct resident_range new = {address, address + PAGE};
	struct resident_range *last =
		resident->n_ranges ? &resident->ranges[resident->n_ranges - 1] : NULL;
	resident->bytes += PAGE;
	if (last && last->end == address) {
		last->end += PAGE;
		return true;
	}
	return rf_array_push(resident->ranges, resident->n_ranges, resident->cap_ranges, new);
}

static bool add_mapping(struct resident *resident, int pagemap, uint64_t start, uint64_t end)
{
	uint64_t entries[AT_ONCE];
	for (uint64_t at = start; at < end;) {
		const uint64_t n = (end - at) / PAGE < AT_ONCE ? (end - at) / PAGE : AT_ONCE;
		const ssize_t got = pread(pagemap, entries, n * sizeof(*entries),
					  (off_t)(at / PAGE * sizeof(*entries)));
		if (got <= 0) /* it is gone */
			return true;
		const uint64_t pages = (uint64_t)got / sizeof(*entries);
		for (uint64_t i = 0; i < pages; i++)
			if (entries[i] & PRESENT && !add_page(resident, at + i * PAGE))
				return false;
		at += pages * PAGE;
	}
	return true;
}

bool resident_read(pid_t pid, struct resident *resident)
{
	char path[64], *line = NULL;
	size_t size = 0;
	bool ok = true;
	resident->n_ranges = 0;
	resident->bytes = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *maps = fopen(path, "re");
	snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
	const int pagemap = open(path, O_RDONLY | O_CLOEXEC);
	while (ok && maps && pagemap >= 0 && getline(&line, &size, maps) > 0) {
		uint64_t start, end;
		if (is_data(line, &start, &end))
			ok = add_mapping(resident, pagemap, start, end);
	}
	ok &= maps && pagemap >= 0;
	free(line);
	if (maps)
		fclose(maps);
	if (pagemap >= 0)
		close(pagemap);
	return ok;
}

void resident_deinit(struct resident *resident)
{
	free(resident->ranges);
	*resident = (struct resident){0};
}

/* Fuzz target: any bytes as /proc/PID/maps, and what is asked of the regions found there.  fopen is
 * wrapped (ld --wrap), so that the lines of process 0, which there is none of, are the input. */
#include "tracer/process/program_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
FILE *__real_fopen(const char *path, const char *mode);
FILE *__wrap_fopen(const char *path, const char *mode);

static const uint8_t *lines;
static size_t lines_size;

FILE *__wrap_fopen(const char *path, const char *mode)
{
	if (strcmp(path, "/proc/0/maps") != 0)
		return __real_fopen(path, mode);
	return lines_size ? fmemopen((void *)lines, lines_size, "r") : NULL;
}

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void probe(struct program_memory *memory, uint64_t address)
{
	uint8_t bytes[15];
	uint32_t module;
	uint64_t offset;
	const char *why = NULL;
	const struct memory_region *region = program_memory_region(memory, address);
	require(!region || (region->start <= address && address < region->end && region->path));
	const size_t n = program_memory_code(memory, address, bytes, sizeof(bytes), &why);
	require(n <= sizeof(bytes) && (n || why));
	region = program_memory_region(memory, address);
	if (region && region->path[0] == '/')
		return; /* no file of this machine is opened */
	program_memory_locate(memory, address, &module, &offset);
	require(module == PROFILE_NONE || module < memory->profile->n_modules);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct profile *profile = profile_create();
	struct module_files *files = module_files_create();
	struct program_memory memory = {.mem_fd = -1, .files = files, .profile = profile};
	lines = data;
	lines_size = size;
	program_memory_refresh(&memory);
	for (size_t i = 0; i < memory.n_regions && i < 100; i++) {
		const uint64_t start = memory.regions[i].start, end = memory.regions[i].end;
		probe(&memory, start);
		if (i >= memory.n_regions)
			break;
		probe(&memory, end - 1);
		probe(&memory, end);
	}
	probe(&memory, 0);
	probe(&memory, UINT64_MAX);
	program_memory_forget(&memory, 0, UINT64_MAX);
	program_memory_deinit(&memory);
	module_files_destroy(files);
	profile_destroy(profile);
	return 0;
}

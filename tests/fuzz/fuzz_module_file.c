/* Fuzz target: an arbitrary file as one that the program has mapped: its program headers and build
 * id as the tracer reads them, and offsets in it turned into addresses. */
#include "tracer/process/module_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void probe(struct module_files *files, int fd, const char *path)
{
	struct stat status;
	require(!fstat(fd, &status));
	struct perf_record record = {
		.type = PERF_RECORD_MMAP2,
		.length = 0x1000,
		.path = path,
		.has_inode = true,
		.inode = status.st_ino,
	};
	const struct module_file *file = module_files_get(files, &record);
	require(file && file->path && file->build_id && strlen(file->build_id) % 2 == 0);
	require(module_files_get(files, &record) == file);
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct module_segment *segment = &file->segments[i];
		module_file_vaddr(file, segment->file_offset);
		module_file_vaddr(file, segment->file_offset + segment->file_size);
	}
	require(file->n_segments || module_file_vaddr(file, 4096) == 4096);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	char path[64];
	int fd = memfd_create("fuzz_module", MFD_CLOEXEC);
	struct module_files *files = module_files_create();
	if (fd >= 0 && files && write(fd, data, size) == (ssize_t)size) {
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		probe(files, fd, path);
	}
	module_files_destroy(files);
	close(fd);
	return 0;
}

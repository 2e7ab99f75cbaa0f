/* What the kernel reads of an executable file to map it, and its build id. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An executable PT_LOAD. */
struct module_segment {
	uint64_t file_offset, file_size, vaddr;
};

/* Longer ones are cut; linkers make 8, 16 or 20 bytes. */
#define MAX_BUILD_ID 64

struct file_headers {
	struct module_segment *segments; /* to be freed */
	size_t n_segments;
	uint64_t low, high; /* addresses that all PT_LOAD span */
	uint8_t build_id[MAX_BUILD_ID];
	size_t build_id_size; /* 0: none */
};

/* Reads the headers of an ELF file of 64 or 32 bits.  It is read here and not in a child, as it is
 * for each mapping: records of a fixed size, whose places and numbers are checked by the kernel
 * (pread) and by a limit.  False: it is no such file, has no program headers or too many, or memory
 * is short; then nothing needs to be freed. */
bool file_headers_read(int fd, struct file_headers *out);

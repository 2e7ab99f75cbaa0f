/* The files whose code the program ran: opened when their mapping is first seen, because the
 * program may delete or replace them while it runs. */
#pragma once

#include "tracer/perf/perf_ring.h"
#include "tracer/process/file_headers.h"

#include <stdint.h>
#include <sys/types.h>

struct module_file {
	char *path; /* as a report shows it; without a file "[anon]", "[vdso]" and the like */
	/* Where the bytes can be read: path, or /proc/PID/fd/N of rfprof when the path leads to
	 * another file now or to none; NULL without a file. */
	char *open_path;
	char *build_id;                  /* lower-case hex or "" */
	bool has_file;                   /* offsets are ELF virtual addresses */
	bool is_vdso;                    /* no file, but an image that the unwinder knows */
	bool is_anonymous;               /* memory that only the program made, without a file */
	struct module_segment *segments; /* PT_LOAD with PF_X */
	size_t n_segments;
	uint64_t low, high; /* addresses that all its segments span; 0: none */
	/* identity */
	char *mapped_path;
	bool has_inode;
	uint32_t major, minor;
	uint64_t inode;
	int fd; /* or -1 */
};

struct module_files;
struct module_files *module_files_create(void);
void module_files_destroy(struct module_files *files);

/* The file behind a PERF_RECORD_MMAP2, opened at the first call for it.  NULL when memory is
 * short.  The result lives as long as `files`. */
struct module_file *module_files_get(struct module_files *files, const struct perf_record *record);

/* The files one by one, in the order in which they were first seen; NULL behind the last one. */
const struct module_file *module_files_item(const struct module_files *files, size_t i);

/* ELF virtual address of byte `file_offset`; the offset itself where no segment holds it. */
uint64_t module_file_vaddr(const struct module_file *file, uint64_t file_offset);

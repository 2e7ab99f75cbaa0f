/* One x86-64 ELF file, mapped: segments, sections by name, build id. */
#pragma once

#include "base/error.h"

#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_segment {
	uint64_t vaddr, memory_size, offset, file_size; /* file_size is cut to what the file has */
	bool executable;
};

struct elf_file {
	Elf *elf;
	int fd;               /* -1 for an image */
	void *copy;           /* owned bytes of an image, or NULL */
	void *mapping;        /* the owned mapping of the whole file, or NULL */
	const uint8_t *bytes; /* the whole file */
	size_t size;
	struct elf_segment *segments; /* PT_LOAD, in file order */
	size_t n_segments;
	uint64_t low, high; /* virtual addresses that the segments span */
	uint64_t *edges;    /* sorted: where segments and loaded sections start and end */
	size_t n_edges;
};

/* A piece of the file together with its place in virtual memory. */
struct elf_bytes {
	const uint8_t *bytes;
	size_t size;
	uint64_t vaddr;
};

/* Opens a file.  Errors: RF_EACCESS it cannot be opened; RF_EFORMAT it is no 64-bit x86-64 ELF. */
struct rf_error *elf_file_open(const char *path, struct elf_file *out);
/* The two steps of that.  A descriptor of a regular file, of which nothing is read yet; and what is
 * in it: takes the descriptor, `name` is for messages. */
struct rf_error *elf_file_descriptor(const char *path, int *out);
struct rf_error *elf_file_read(const char *name, int fd, struct elf_file *out);
/* Takes a private, writable mapping of a whole file, which needs no descriptor. */
struct rf_error *elf_file_open_mapping(const char *name, void *mapping, size_t size,
				       struct elf_file *out);
/* The same for an image in memory, which is copied; `name` is for messages. */
struct rf_error *elf_file_open_image(const char *name, const void *image, size_t size,
				     struct elf_file *out);
/* The bytes of the kernel's vdso as this process sees it, readable while it lives; every process of
 * one kernel has the same image.  False when there is none. */
bool vdso_image(const void **image, size_t *size);
void elf_file_close(struct elf_file *file);
/* Its DWARF, which dwarf_end frees before the file is closed; NULL when it has none. */
Dwarf *elf_file_dwarf(const struct elf_file *file);

/* Virtual address of a file offset, UINT64_MAX when no segment holds it. */
uint64_t elf_file_vaddr(const struct elf_file *file, uint64_t offset);
/* The segment that holds `vaddr`, or NULL. */
const struct elf_segment *elf_file_segment(const struct elf_file *file, uint64_t vaddr);
/* The section around `vaddr`, or what lies between sections inside its segment.  False outside
 * every segment. */
bool elf_file_stretch(const struct elf_file *file, uint64_t vaddr, uint64_t *start, uint64_t *end);
/* The executable region around `vaddr`: its section, or what lies between sections inside its
 * executable segment.  False outside every executable segment. */
bool elf_file_region(const struct elf_file *file, uint64_t vaddr, uint64_t *start, uint64_t *end);
/* The file's bytes from `vaddr` to the end of its segment; false when it has none there. */
bool elf_file_at(const struct elf_file *file, uint64_t vaddr, struct elf_bytes *out);

/* The section of that name with its (decompressed) contents, or false. */
bool elf_file_section(const struct elf_file *file, const char *name, struct elf_bytes *out);

/* Whether it has a section of DWARF's entries. */
bool elf_file_has_dwarf(const struct elf_file *file);

/* `.eh_frame`, by section header or else through PT_GNU_EH_FRAME (a file without sections). */
bool elf_file_eh_frame(const struct elf_file *file, struct elf_bytes *out);

/* Bytes in lower-case hex, to be freed; NULL when memory is short. */
char *elf_file_hex(const uint8_t *bytes, size_t n);
/* Build id in lower-case hex (to be freed); "" when there is none; NULL when memory is short. */
char *elf_file_build_id(const struct elf_file *file);

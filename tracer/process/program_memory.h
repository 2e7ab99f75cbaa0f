/* The counted program's address space as the translator sees it: which code may be translated,
 * its bytes, and which file it comes from. */
#pragma once

#include "base/error.h"
#include "base/u64_map.h"
#include "profile/profile.h"
#include "tracer/process/mappings.h"
#include "tracer/process/marks.h"
#include "tracer/process/module_file.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct memory_region {
	uint64_t start, end, file_offset;
	bool executable, writable, shared;
	char *path; /* as in /proc/PID/maps; "" for anonymous memory */
	uint32_t major, minor;
	uint64_t inode;
	struct module_file *file; /* looked up at first use */
	uint32_t module;          /* profile module, or PROFILE_NONE before that */
};

struct code_page {
	uint64_t address;
	uint8_t *bytes;
};

struct program_memory {
	pid_t pid;
	int mem_fd;                    /* /proc/PID/mem */
	struct memory_region *regions; /* sorted */
	size_t n_regions, cap_regions;
	struct code_page *pages; /* copies of code */
	size_t n_pages, cap_pages;
	struct u64_map page_index;
	struct module_files *files;         /* not owned */
	struct profile *profile;            /* not owned */
	uint8_t *code_units;                /* not owned: P_CODE_UNITS, or NULL */
	struct named_functions *allocators; /* not owned; or NULL: nobody asks for them */
	struct marks *marks;                /* not owned; or NULL */
	struct kernel_files *kernels;       /* not owned; tracer/kernel/kernel_files.h, or NULL */
	bool lacks_descriptor;              /* the regions could not be read for want of one */
	bool stale; /* executable regions may have changed: to be read again */
};

struct rf_error *program_memory_init(struct program_memory *memory, pid_t pid,
				     struct module_files *files, struct profile *profile);
/* The same for regions alone: the memory itself is not read, and no descriptor stays open. */
void program_memory_init_regions(struct program_memory *memory, pid_t pid,
				 struct module_files *files, struct profile *profile);
void program_memory_deinit(struct program_memory *memory);

/* Reads /proc/PID/maps again, when the program may have changed it. */
void program_memory_refresh(struct program_memory *memory);
/* What is mapped in [start, end) may change: it is read again when it is needed. */
void program_memory_changes(struct program_memory *memory, uint64_t start, uint64_t end);
/* Forgets the copies of code in [start, end).  Returns false when there were none: nothing there
 * has been translated. */
bool program_memory_forget(struct program_memory *memory, uint64_t start, uint64_t end);

/* The region that holds address, or NULL. */
struct memory_region *program_memory_region(struct program_memory *memory, uint64_t address);

/* Plain access to the program's memory; false when not all bytes could be moved. */
bool program_memory_read(const struct program_memory *memory, uint64_t address, void *buffer,
			 size_t size);
bool program_memory_write(const struct program_memory *memory, uint64_t address, const void *buffer,
			  size_t size);

/* The reason given for jumps that fault natively too (a NULL function pointer, say). */
extern const char why_not_executable[];

/* The functions of struct code_source; context: struct program_memory. */
size_t program_memory_code(void *context, uint64_t pc, uint8_t *buffer, size_t size,
			   const char **why);
void program_memory_locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset);
bool program_memory_is_own(void *context, uint64_t pc);
bool program_memory_value(void *context, uint64_t address, uint64_t *value);
int program_memory_allocator(void *context, uint64_t pc);
/* Which function of memory->marks begins at pc (enum mark), or -1. */
int program_memory_mark(void *context, uint64_t pc);

/* Where the first file that has it has that function in memory; 0: it is in none. */
uint64_t program_memory_find_mark(struct program_memory *memory, enum mark mark);

/* The file that has the code at pc, and where; NULL: none has. */
const struct module_file *program_memory_file(struct program_memory *memory, uint64_t pc,
					      uint64_t *vaddr);
/* Where the mapping that holds `address`, of whatever kind, begins and ends now; false: there is
 * none.  context: struct program_memory. */
bool program_memory_mapping(void *context, uint64_t address, uint64_t *start, uint64_t *end);

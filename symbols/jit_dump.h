/* Functions that a program made at run time, from the file that it writes for profilers,
 * jit-PID.dump (Linux: tools/perf/Documentation/jitdump-specification.txt): records of code that
 * was loaded, with its time, name and bytes, and of code that was moved. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* More records, larger functions, and longer names are not kept. */
#define JIT_DUMP_MAX_ENTRIES ((size_t)1 << 20)
#define JIT_DUMP_MAX_CODE ((uint64_t)64 << 20)
#define JIT_DUMP_MAX_NAME 1023
#define JIT_DUMP_MAX_LINES ((size_t)1 << 20)

/* What of a file is not used. */
enum {
	JIT_DUMP_CLOCK = 1, /* its times, which are of another clock than CLOCK_MONOTONIC */
	JIT_DUMP_LINES = 2, /* some lines of source: they make no sense, or are too many */
	JIT_DUMP_CUT = 4,   /* what comes behind the records that are kept */
	JIT_DUMP_ALL_UNUSED = 7
};

/* From `offset` in the code on up to the next one. */
struct jit_line {
	uint64_t offset;
	uint32_t line;
	const char *file;
};

/* Code that was made at run time. */
struct jit_code {
	const char *name;
	uint64_t start, size;
	uint64_t time;                /* when it came there; 0: not known */
	const struct jit_line *lines; /* in the order of offsets, or NULL */
	size_t n_lines;
};

struct jit_dump;
/* Reads the file from its beginning, up to a record that is not whole yet; NULL: it is none, or
 * memory is short. */
struct jit_dump *jit_dump_read(int fd);
/* The same by a child that has no rights.  Errors: no child; it failed; the file is none. */
struct rf_error *jit_dump_read_confined(int fd, struct jit_dump **out);
void jit_dump_destroy(struct jit_dump *dump);

/* The code that held `address` at `time` (CLOCK_MONOTONIC, ns); false: there is none.  Of a file
 * without such times: what was written last.  What it points to lives as long as the dump. */
bool jit_dump_find(const struct jit_dump *dump, uint64_t address, uint64_t time,
		   struct jit_code *code);
/* JIT_DUMP_CLOCK and so on, together. */
unsigned jit_dump_unused(const struct jit_dump *dump);
/* Bytes of memory in use. */
size_t jit_dump_size(const struct jit_dump *dump);

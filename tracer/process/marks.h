/* The functions between which a span lies, where the files that a program maps have them. */
#pragma once

#include "tracer/process/named_functions.h"

#include <stdint.h>

enum mark { MARK_START, MARK_STOP, N_MARKS };

struct marks {
	const char *names[N_MARKS];    /* NULL: none; not owned */
	struct named_functions *files; /* that have been read; NULL: none yet */
};

void marks_deinit(struct marks *marks);
/* The ELF virtual address at which that function begins, by the file's symbol tables; 0: it is not
 * there.  A name is that of the symbol, or the demangled one with or without its arguments.  The
 * tables are read at the first call for a file, by a child (base/confined.h). */
uint64_t marks_vaddr(struct marks *marks, const struct module_file *file, enum mark mark);

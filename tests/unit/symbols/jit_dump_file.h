/* A jit-PID.dump file that is made up. */
#pragma once

#include "symbols/jit_dump.h"

#include <sys/mman.h>
#include <unistd.h>

/* NULL: it is none.  Read here, or by a child. */
static inline struct jit_dump *jit_dump_of(const void *bytes, size_t size, bool confined)
{
	const int fd = memfd_create("jit_dump", MFD_CLOEXEC);
	struct jit_dump *dump = NULL;
	if (fd >= 0 && write(fd, bytes, size) == (ssize_t)size) {
		if (confined)
			rf_error_destroy(jit_dump_read_confined(fd, &dump));
		else
			dump = jit_dump_read(fd);
	}
	close(fd);
	return dump;
}

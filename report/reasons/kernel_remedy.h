/* What one would try where the kernel's work for the program takes the time. */
#pragma once

#include <stdint.h>

/* For page faults of new memory, and for a system call by its number. */
#define FAULTS_REMEDY                                                          \
	"keep memory and use it again, touch less of it, or use larger pages " \
	"(madvise with MADV_HUGEPAGE)"
const char *kernel_call_remedy(uint32_t number);

/* For a row of the kernel by its name (kernel_name: "[read]"): what it is, in a word or two, and
 * what one would try. */
const char *kernel_row_reason(const char *name);
const char *kernel_row_remedy(const char *name);

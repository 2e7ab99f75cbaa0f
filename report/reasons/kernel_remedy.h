/* What one would try where the kernel's work for the program takes the time. */
#pragma once

#include <stdint.h>

struct profile;

/* For page faults of new memory, and for a system call by its number and the bytes that each moves
 * (0: none, or not known): where these are many, more at a time does not help. */
#define FAULTS_REMEDY                                                          \
	"keep memory and use it again, touch less of it, or use larger pages " \
	"(madvise with MADV_HUGEPAGE)"
const char *kernel_call_remedy(uint32_t number, double bytes);

/* For a row of the kernel by its name (kernel_name: "[read]"): what it is, in a word or two, and
 * what one would try, by the calls that the profile has. */
const char *kernel_row_reason(const char *name);
const char *kernel_row_remedy(const struct profile *profile, const char *name);

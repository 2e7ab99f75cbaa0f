/* Where a process that runs already has the functions of kernels (--kernel with --pid), for stacks
 * to be told by. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <sys/types.h>

struct kernel_process;

/* `list` as --kernel has it: its names become rows of profile->kernels, and the functions in what
 * the process has mapped now rows of kernel_places.  Errors: memory is short. */
struct rf_error *kernel_process_create(pid_t pid, const char *list, struct profile *profile,
				       struct kernel_process **out);
/* The same of what it has mapped since; nothing where it has ended. */
void kernel_process_look(struct kernel_process *process);
/* NULL is allowed. */
void kernel_process_destroy(struct kernel_process *process);

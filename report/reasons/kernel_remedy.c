/* Remedies by system call. */
#include "report/reasons/kernel_remedy.h"

#include "profile/kernel_names.h"
#include "profile/profile.h"
#include "report/account/account_words.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

/* Calls that move more bytes than that each take their time for these. */
#define LARGE_CALL 65536

const char *kernel_call_remedy(uint32_t number, double bytes)
{
	switch (number) {
	case SYS_read:
	case SYS_pread64:
	case SYS_recvfrom:
		return bytes < LARGE_CALL
			       ? "read more at a time, through a buffer"
			       : "read less, map the file (mmap), or let another thread read ahead";
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return bytes < LARGE_CALL ? "write more at a time, through a buffer"
					  : "write less, or let another thread write meanwhile";
	case SYS_fsync:
	case SYS_fdatasync:
		return "write several records before each of them";
	case SYS_futex:
	case SYS_sched_yield:
		return "let threads meet less often";
	case SYS_clone:
	case SYS_vfork:
	case SYS_fork:
	case SYS_execve:
	case SYS_wait4:
	case SYS_clone3:
		return "start fewer processes, or keep them for more work";
	case SYS_mmap:
	case SYS_munmap:
	case SYS_mremap:
	case SYS_brk:
	case SYS_madvise:
		return "keep memory instead of giving it back, and let it grow by more at a time";
	default:
		return "ask for it less often, or keep the answer";
	}
}

static int is_faults(const char *name)
{
	char faults[64];
	kernel_name(KERNEL_FAULT, faults, sizeof(faults));
	return strcmp(name, faults) == 0;
}

const char *kernel_row_reason(const char *name)
{
	return is_faults(name) ? "new pages" : "kernel";
}

static double bytes_of_each(const struct profile *profile, uint32_t number)
{
	double n = 0, bytes = 0;
	for (size_t i = 0; i < profile->n_sum_calls; i++) {
		const struct profile_sum_call *row = &profile->sum_calls[i];
		if (row->number != number || !account_moves_bytes(number))
			continue;
		n += (double)(row->n - row->failed);
		bytes += (double)row->bytes;
	}
	return n > 0 ? bytes / n : 0;
}

const char *kernel_row_remedy(const struct profile *profile, const char *name)
{
	char call[64];
	if (is_faults(name))
		return FAULTS_REMEDY;
	snprintf(call, sizeof(call), "%.*s", (int)strcspn(name + 1, "]"), name + 1);
	const uint32_t number = *name == '[' ? kernel_call_number(call) : UINT32_MAX;
	return number == UINT32_MAX ? "see who asks for it: --by=group"
				    : kernel_call_remedy(number, bytes_of_each(profile, number));
}

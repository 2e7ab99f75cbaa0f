/* Remedies by system call. */
#include "report/reasons/kernel_remedy.h"

#include "profile/kernel_names.h"

#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

const char *kernel_call_remedy(uint32_t number)
{
	switch (number) {
	case SYS_read:
	case SYS_pread64:
	case SYS_recvfrom:
		return "read more at a time, through a buffer";
	case SYS_write:
	case SYS_pwrite64:
	case SYS_sendto:
		return "write more at a time, through a buffer";
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

const char *kernel_row_remedy(const char *name)
{
	char call[64];
	if (is_faults(name))
		return FAULTS_REMEDY;
	snprintf(call, sizeof(call), "%.*s", (int)strcspn(name + 1, "]"), name + 1);
	const uint32_t number = *name == '[' ? kernel_call_number(call) : UINT32_MAX;
	return number == UINT32_MAX ? "see who asks for it: --by=group"
				    : kernel_call_remedy(number);
}

/* The first process of a pid namespace ends by its own fault: see namespace_init.h. */
#include "tracer/target/namespace_init.h"

#include "base/small_file.h"
#include "tracer/target/place.h"

#include <errno.h>
#include <string.h>
#include <sys/ptrace.h>

#define BREAKPOINT 0xcc /* int3 */

/* The last number of NStgid is that of the innermost namespace (proc_pid_status(5)). */
static bool is_first(pid_t tid)
{
	char numbers[256];
	if (!small_file_status(tid, "NStgid", numbers, sizeof(numbers)))
		return false;
	const char *last = strrchr(numbers, '\t');
	return strcmp(last ? last + 1 : numbers, "1") == 0;
}

bool namespace_init_ends(struct tracee *tracee, int number, const siginfo_t *info)
{
	const bool forced =
		signal_is_fault(number, info) || (number == SIGSYS && info->si_code > 0);
	if (!forced)
		return false;
	if (tracee->first_of_namespace == UNKNOWN)
		tracee->first_of_namespace = is_first(tracee->tid) ? YES : NO;
	return tracee->first_of_namespace == YES && !signal_in_set(tracee->tid, "SigCgt", number);
}

/* Signals that are raised behind their cause: by a system call (rt_sigreturn, seccomp), and by a
 * breakpoint. */
static void go_back(pid_t tid, int number, struct user_regs_struct *regs)
{
	if ((long long)regs->orig_rax >= 0) {
		regs->rip -= 2;
		regs->rax = regs->orig_rax;
	} else if (number == SIGTRAP) {
		errno = 0;
		const long before = ptrace(PTRACE_PEEKTEXT, tid, regs->rip - 1, 0);
		if (errno == 0 && (before & 0xff) == BREAKPOINT)
			regs->rip--;
	}
	regs->orig_rax = (unsigned long long)-1;
}

bool namespace_init_leave(struct tracee *tracee, int number)
{
	struct user_regs_struct regs;
	bool moved;
	if (!tracee->target) {
		if (ptrace(PTRACE_GETREGS, tracee->tid, 0, &regs) < 0)
			return false;
	} else if (step_to_program(tracee, &regs, true, &moved) == PLACE_STEP) {
		return false;
	} else {
		regs.gs_base = 0;
	}
	go_back(tracee->tid, number, &regs);
	tracee->left = (struct leaving){.how = LEAVES_TO_END, .argument = number};
	return ptrace(PTRACE_SETREGS, tracee->tid, 0, &regs) == 0;
}

/* The stop of a step that is seen late is not the program's, wherever the step has ended. */
#include "tracer/target/interrupt.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define MOST_STEPS 100000
#define ENDS_WITH 7

static pid_t traced(void (*run)(void))
{
	const pid_t pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, 0, 0);
		raise(SIGSTOP);
		run();
		_exit(ENDS_WITH);
	}
	int status;
	cr_assert(pid > 0 && waitpid(pid, &status, 0) == pid && WIFSTOPPED(status));
	return pid;
}

static int code_of(pid_t pid)
{
	siginfo_t info;
	return ptrace(PTRACE_GETSIGINFO, pid, 0, &info) == 0 ? info.si_code : 0;
}

/* Its next stop with that code, stepped or not: the status. */
static int stop_with(pid_t pid, int request, int code)
{
	int status = 0;
	for (int i = 0; i < MOST_STEPS; i++) {
		cr_assert(ptrace(request, pid, 0, 0) == 0 && waitpid(pid, &status, 0) == pid);
		cr_assert(WIFSTOPPED(status));
		if (code_of(pid) == code)
			return status;
	}
	cr_assert_fail("no stop with code %d", code);
	return status;
}

static void call(void)
{
	for (int i = 0; i < 100; i++)
		syscall(SYS_getppid);
}

static void trap(void)
{
	__asm__ volatile(".byte 0xf1"); /* int1 */
}

static void expect_end_of_step(int code)
{
	const pid_t pid = traced(call);
	struct tracee tracee = {.tid = pid, .late = true};
	int status = stop_with(pid, PTRACE_SINGLESTEP, code);
	cr_assert(interrupt_late(&tracee, status), "code %d", code);
	cr_assert_eq(waitpid(pid, &status, 0), pid);
	cr_expect(WIFEXITED(status) && WEXITSTATUS(status) == ENDS_WITH, "status %#x", status);
}

Test(late_step, a_step_is_no_signal_of_the_program)
{
	expect_end_of_step(TRAP_TRACE);
	expect_end_of_step(TRAP_BRKPT); /* over a system call instruction */
}

Test(late_step, the_program_has_traps_of_its_own)
{
	const pid_t pid = traced(trap);
	struct tracee tracee = {.tid = pid, .late = true};
	const int status = stop_with(pid, PTRACE_CONT, TRAP_BRKPT);
	cr_expect_not(interrupt_late(&tracee, status));
	kill(pid, SIGKILL);
	cr_assert_eq(waitpid(pid, NULL, 0), pid);
}

/* Each case fails in a child of its own, whose message and end are looked at. */
#include "base/crash.h"

#include "base/thread.h"

#include <assert.h>
#include <criterion/criterion.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

struct end {
	int status; /* wait status */
	char text[1 << 14];
};

/* Runs `fail` in a child with crash_install; its standard error and its end. */
static struct end end_of(void (*fail)(void))
{
	struct end end = {0};
	int ends[2];
	cr_assert_eq(pipe(ends), 0);
	const pid_t pid = fork();
	if (pid == 0) {
		dup2(ends[1], STDERR_FILENO);
		close(ends[0]);
		close(ends[1]);
		crash_install("9.8.7");
		fail();
		_exit(0);
	}
	close(ends[1]);
	size_t length = 0;
	ssize_t n;
	while ((n = read(ends[0], end.text + length, sizeof(end.text) - 1 - length)) > 0)
		length += (size_t)n;
	close(ends[0]);
	cr_assert_eq(waitpid(pid, &end.status, 0), pid);
	return end;
}

static void expect_told(void (*fail)(void), const char *what)
{
	const struct end end = end_of(fail);
	cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 2, "status %#x", end.status);
	cr_expect_eq(strncmp(end.text, "rfprof 9.8.7 failed: ", 21), 0, "%s", end.text);
	cr_expect_not_null(strstr(end.text, what), "%s not in: %s", what, end.text);
	/* a frame: module(+offset)[address] */
	cr_expect_not_null(strstr(end.text, "(+0x"), "no stack: %s", end.text);
	cr_expect_not_null(strstr(end.text, "please report"), "%s", end.text);
}

/* ---- kinds of failures ---- */

static volatile int zero;

/* The faults are meant: a sanitizer is not to tell of them first. */
#define AS_WRITTEN __attribute__((no_sanitize("address"), no_sanitize("undefined")))

static void fail_assertion(void)
{
	assert(zero == 1 && "one");
}

AS_WRITTEN static void fail_address(void)
{
	*(volatile int *)(uintptr_t)(zero + 0x1230) = 1;
}

AS_WRITTEN static void fail_instruction(void)
{
	__builtin_trap();
}

AS_WRITTEN static void fail_division(void)
{
	zero = 1000 / zero;
}

AS_WRITTEN static int fill_stack(volatile char *before)
{
	volatile char here[4096];
	here[0] = before ? before[0] : 0;
	return zero == 7 ? 0 : fill_stack(here) + here[0];
}

static void fail_stack(void)
{
	zero = fill_stack(NULL);
}

Test(crash, an_assertion_is_told_with_its_place)
{
	expect_told(fail_assertion, "assertion \"zero == 1 && \"one\"\" in ");
	expect_told(fail_assertion, "test_crash.c:");
	expect_told(fail_assertion, ", fail_assertion\n");
}

Test(crash, signals_are_told_with_their_address)
{
	expect_told(fail_address, "SIGSEGV at address 0x1230\n");
	expect_told(fail_instruction, "SIGILL at address 0x");
	expect_told(fail_division, "SIGFPE at address 0x");
	expect_told(abort, "SIGABRT\n");
}

/* ---- threads ---- */

static void *run_in_thread(void *fail)
{
	((void (*)(void))fail)();
	return NULL;
}

static void in_thread(void (*fail)(void))
{
	pthread_t thread;
	if (thread_start(&thread, run_in_thread, (void *)fail) == 0)
		pthread_join(thread, NULL);
}

static void fail_address_in_thread(void)
{
	in_thread(fail_address);
}

static void fail_stack_in_thread(void)
{
	in_thread(fail_stack);
}

Test(crash, threads_are_told_of_too)
{
	expect_told(fail_address_in_thread, "SIGSEGV at address 0x1230\n");
}

Test(crash, a_full_stack_is_told)
{
	expect_told(fail_stack, "SIGSEGV at address 0x");
	expect_told(fail_stack_in_thread, "SIGSEGV at address 0x");
}

static void *serve(void *context)
{
	sigset_t blocked;
	pthread_sigmask(SIG_SETMASK, NULL, &blocked);
	*(sigset_t *)context = blocked;
	return NULL;
}

Test(crash, threads_leave_signals_of_the_user_to_the_main_thread)
{
	sigset_t blocked, before, after;
	pthread_t thread;
	pthread_sigmask(SIG_SETMASK, NULL, &before);
	cr_assert_eq(thread_start(&thread, serve, &blocked), 0);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, NULL, &after);
	cr_expect(sigismember(&blocked, SIGINT) && sigismember(&blocked, SIGPIPE));
	for (const int *fault = thread_faults; *fault; fault++)
		cr_expect_not(sigismember(&blocked, *fault), "%d", *fault);
	cr_expect_eq(sigismember(&before, SIGINT), sigismember(&after, SIGINT));
}

/* ---- steps ---- */

static void end_with_9(void *context)
{
	_exit(*(int *)context);
}

static void fail_with_last_step(void)
{
	static int status = 9;
	crash_set_last("all goes on", end_with_9, &status);
	fail_address();
}

static void step_that_fails(void *context)
{
	(void)context;
	fail_division();
}

static void fail_with_steps_that_fail(void)
{
	crash_set_thread_step(step_that_fails, NULL);
	fail_with_last_step();
}

static void fail_with_last_step_that_fails(void)
{
	crash_set_last("nothing goes on", step_that_fails, NULL);
	fail_address();
}

Test(crash, the_last_step_is_announced_and_done)
{
	const struct end end = end_of(fail_with_last_step);
	cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 9, "%#x", end.status);
	cr_expect_not_null(strstr(end.text, "rfprof: all goes on\n"), "%s", end.text);
}

Test(crash, a_step_that_fails_is_left_for_the_next)
{
	struct end end = end_of(fail_with_steps_that_fail);
	cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 9, "%#x", end.status);
	end = end_of(fail_with_last_step_that_fails);
	cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 2, "%#x", end.status);
}

/* ---- what is not ours ---- */

static void fail_in_fork(void)
{
	int status;
	const pid_t pid = fork();
	if (pid == 0)
		fail_address();
	waitpid(pid, &status, 0);
	_exit(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV ? 40 : 41);
}

Test(crash, a_forked_process_dies_as_without_us)
{
	const struct end end = end_of(fail_in_fork);
	cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 40, "%#x", end.status);
	cr_expect_str_eq(end.text, "");
}

static void look_at_ignored(void)
{
	struct sigaction action;
	signal(SIGFPE, SIG_IGN);
	crash_install("9.8.7");
	sigaction(SIGFPE, NULL, &action);
	_exit(action.sa_handler == SIG_IGN ? 40 : 41);
}

Test(crash, an_ignored_signal_stays_ignored)
{
	const struct end end = end_of(look_at_ignored);
	cr_expect(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 40, "%#x", end.status);
}

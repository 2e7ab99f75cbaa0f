/* Tells of rfprof's own failures; see crash.h.  A failure is handled in stages.  When a stage fails
 * again, in the same thread, the handler goes on with the next one; another thread that fails
 * meanwhile does its own step and then waits for the end. */
#include "base/crash.h"

#include "base/thread.h"

#include <assert.h>
#include <execinfo.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_TROUBLE = 2 }; /* rfprof's own failures */
enum { FRAMES = 64 };

static struct {
	const char *version;
	pid_t process; /* children that were forked are not ours to tell of */
	int log;
	bool (*is_ignored)(int number, const siginfo_t *info); /* or NULL */
	const char *outlook;
	crash_step *last;
	void *last_context;
	pid_t thread; /* that failed first; 0: none */
	int stage;
	const siginfo_t *signal;
} crash = {.log = STDERR_FILENO};

/* An assertion that does not hold; NULL: the failure is another one. */
static struct {
	const char *text, *file, *function;
	unsigned line;
} assertion;

static bool no_memory; /* and that is all */

static _Thread_local struct {
	crash_step *step;
	void *context;
} thread_step;

/* ---- messages ---- */

static void append(char line[static 512], const char *text)
{
	const size_t used = strlen(line), length = strlen(text), room = 511 - used;
	const size_t n = length < room ? length : room;
	memcpy(line + used, text, n);
	line[used + n] = 0;
}

static void append_number(char line[static 512], uint64_t value, unsigned base)
{
	char digits[24], *first = digits + sizeof(digits) - 1;
	*first = 0;
	do {
		*--first = "0123456789abcdef"[value % base];
		value /= base;
	} while (value);
	append(line, first);
}

static void say(char line[static 512])
{
	append(line, "\n");
	(void)!write(crash.log, line, strlen(line));
}

static void append_assertion(char line[static 512])
{
	append(line, "assertion \"");
	append(line, assertion.text);
	append(line, "\" in ");
	append(line, assertion.file);
	append(line, ":");
	append_number(line, assertion.line, 10);
	append(line, ", ");
	append(line, assertion.function ? assertion.function : "?");
}

static void append_signal(char line[static 512])
{
	const siginfo_t *info = crash.signal;
	append(line, "SIG");
	append(line, sigabbrev_np(info->si_signo));
	if (info->si_code > 0) {
		append(line, " at address 0x");
		append_number(line, (uintptr_t)info->si_addr, 16);
	} else if (info->si_pid != crash.process) {
		append(line, ", sent by process ");
		append_number(line, (uint64_t)info->si_pid, 10);
	}
}

/* ---- stages ---- */

static void tell_what(void)
{
	char line[512] = "rfprof ";
	append(line, crash.version);
	append(line, " failed: ");
	if (no_memory)
		append(line, "out of memory");
	else if (assertion.text)
		append_assertion(line);
	else
		append_signal(line);
	say(line);
}

static void tell_stack(void)
{
	void *frames[FRAMES];
	if (no_memory)
		return;
	const int n = backtrace(frames, FRAMES);
	backtrace_symbols_fd(frames, n, crash.log);
}

static void tell_what_to_do(void)
{
	char line[512] =
		"rfprof: this is a fault of rfprof; please report the lines above with the "
		"command line and what `rfprof doctor` says";
	if (!no_memory)
		say(line);
	if (!crash.outlook)
		return;
	line[0] = 0;
	append(line, "rfprof: ");
	append(line, crash.outlook);
	say(line);
}

static void go_on_in_thread(void)
{
	if (thread_step.step)
		thread_step.step(thread_step.context);
}

static void do_last(void)
{
	if (crash.last)
		crash.last(crash.last_context);
}

static void (*const stages[])(void) = {
	tell_what, tell_stack, tell_what_to_do, go_on_in_thread, do_last,
};
#define N_STAGES ((int)(sizeof(stages) / sizeof(stages[0])))

/* ---- signals ---- */

/* In a child that has not executed another program: as without the handler. */
static void die_of(int number)
{
	signal(number, SIG_DFL);
	raise(number);
}

static void wait_for_the_end(void)
{
	go_on_in_thread();
	for (;;)
		pause();
}

static void on_failure(int number, siginfo_t *info, void *context)
{
	(void)context;
	const pid_t self = gettid();
	pid_t first = 0;
	if (getpid() != crash.process) {
		die_of(number);
		return;
	}
	if (info->si_code <= 0 && crash.is_ignored && crash.is_ignored(number, info))
		return;
	if (__atomic_compare_exchange_n(&crash.thread, &first, self, false, __ATOMIC_SEQ_CST,
					__ATOMIC_SEQ_CST)) {
		signal(SIGPIPE, SIG_IGN);
		crash.signal = info;
	} else if (first != self) {
		wait_for_the_end();
	}
	while (crash.stage < N_STAGES)
		stages[crash.stage++]();
	_exit(EXIT_TROUBLE);
}

void crash_no_memory(void)
{
	no_memory = true;
	abort();
}

/* The place of glibc's: what does not hold stands in the same message as the stack. */
__attribute__((visibility("default"))) void __assert_fail(const char *text, const char *file,
							  unsigned int number, const char *function)
{
	assertion.file = file;
	assertion.line = number;
	assertion.function = function;
	assertion.text = text;
	if (getpid() != crash.process) {
		char line[512] = "rfprof: ";
		append_assertion(line);
		say(line);
	}
	abort();
}

/* ---- set-up ---- */

void crash_install(const char *version)
{
	static char stack[THREAD_SIGNAL_STACK];
	struct sigaction action = {.sa_sigaction = on_failure,
				   .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER};
	void *frame;
	crash.version = version;
	crash.process = getpid();
	thread_use_signal_stack(stack);
	backtrace(&frame, 1); /* the first one loads what it needs: a later one need not allocate */
	for (const int *fault = thread_faults; *fault; fault++) {
		struct sigaction before;
		if (sigaction(*fault, NULL, &before) == 0 && before.sa_handler != SIG_IGN)
			sigaction(*fault, &action, NULL);
	}
}

bool crash_catches(int number)
{
	for (const int *fault = thread_faults; *fault; fault++)
		if (*fault == number)
			return true;
	return false;
}

void crash_set_ignored(bool (*is_ignored)(int number, const siginfo_t *info))
{
	crash.is_ignored = is_ignored;
}

void crash_set_log(int fd)
{
	crash.log = fd;
}

void crash_set_last(const char *outlook, crash_step *step, void *context)
{
	crash.last = NULL;
	crash.last_context = context;
	crash.outlook = outlook;
	crash.last = step;
}

void crash_set_thread_step(crash_step *step, void *context)
{
	thread_step.step = NULL;
	thread_step.context = context;
	thread_step.step = step;
}

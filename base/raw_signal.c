/* The kernel's struct of a handler is not glibc's, and a handler has to return by a piece of code
 * that glibc does not export. */
#include "base/raw_signal.h"

#include "base/thread.h"

#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { RESTORER = 0x04000000, FIRST_KEPT = 32, N_KEPT = 2 };

struct raw_action {
	void *handler; /* or SIG_DFL, SIG_IGN */
	uint64_t flags;
	void (*restorer)(void);
	uint64_t mask;
};

static raw_handler *handlers[N_KEPT];
static struct raw_action before[N_KEPT]; /* glibc's */

__attribute__((naked, used)) static void return_from_handler(void)
{
	__asm__("mov $15, %eax\n" /* rt_sigreturn */
		"syscall\n");
}

static uint64_t bit_of(int number)
{
	return UINT64_C(1) << (number - 1);
}

static bool set_action(int number, const struct raw_action *action, struct raw_action *old)
{
	return syscall(SYS_rt_sigaction, number, action, old, sizeof(uint64_t)) == 0;
}

bool raw_signal_is_kept(int number)
{
	return number >= FIRST_KEPT && number < FIRST_KEPT + N_KEPT;
}

static void on_kept(int number, siginfo_t *info, void *context)
{
	const struct raw_action *glibcs = &before[number - FIRST_KEPT];
	const bool handled = glibcs->handler != SIG_DFL && glibcs->handler != SIG_IGN;
	if (handled && info->si_code == SI_TKILL && info->si_pid == getpid())
		((raw_handler *)glibcs->handler)(number, info, context);
	else
		handlers[number - FIRST_KEPT](number, info, context);
}

static void *do_nothing(void *unused)
{
	return unused;
}

/* With the first thread glibc sets its own handler: ours must come after it. */
static void let_glibc_be_first(void)
{
	static bool is_done;
	pthread_t thread;
	if (!is_done && thread_start(&thread, do_nothing, NULL) == 0)
		pthread_join(thread, NULL);
	is_done = true;
}

void raw_signal_catch(int number, raw_handler *handler)
{
	struct raw_action old, ours = {(void *)on_kept, SA_SIGINFO | SA_RESTART | RESTORER,
				       return_from_handler, UINT64_MAX};
	let_glibc_be_first();
	for (const int *fault = thread_faults; *fault; fault++)
		ours.mask &= ~bit_of(*fault);
	handlers[number - FIRST_KEPT] = handler;
	if (!set_action(number, NULL, &old) || old.handler == SIG_IGN)
		return;
	if (old.handler != ours.handler)
		before[number - FIRST_KEPT] = old;
	set_action(number, &ours, NULL);
}

void raw_signal_take(int number)
{
	const struct raw_action usual = {.handler = SIG_DFL};
	const uint64_t one = bit_of(number);
	struct raw_action ours;
	uint64_t blocked;
	const bool is_set = set_action(number, &usual, &ours);
	syscall(SYS_tgkill, getpid(), gettid(), number);
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &one, &blocked, sizeof(one));
	/* here it goes on after a stop */
	if (is_set)
		set_action(number, &ours, NULL);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &blocked, NULL, sizeof(blocked));
}

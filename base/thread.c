/* Starts threads of rfprof's own. */
#include "base/thread.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* The least that the kernel gives, ns. */
enum { SLICE_NS = 100000 };

/* sched_setattr(2); the header of it does not go together with <sched.h>. */
struct scheduling {
	uint32_t size, policy;
	uint64_t flags;
	int32_t nice;
	uint32_t priority;
	uint64_t runtime, deadline, period;
};

const int thread_faults[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, 0};

struct start {
	void *(*run)(void *);
	void *context;
};

void thread_use_signal_stack(char *stack)
{
	const stack_t place = {.ss_sp = stack, .ss_size = THREAD_SIGNAL_STACK};
	sigaltstack(&place, NULL);
}

/* The signal stack lies at the far end of the thread's own: what fills that does not reach it. */
static void *run_thread(void *opaque)
{
	char stack[THREAD_SIGNAL_STACK];
	const struct start start = *(struct start *)opaque;
	free(opaque);
	thread_use_signal_stack(stack);
	void *result = start.run(start.context);
	sigaltstack(&(stack_t){.ss_flags = SS_DISABLE}, NULL);
	return result;
}

/* The default is the limit of stacks (RLIMIT_STACK), which may be anything. */
static int with_stack(pthread_attr_t *attributes)
{
	const int errnum = pthread_attr_init(attributes);
	return errnum ? errnum : pthread_attr_setstacksize(attributes, THREAD_STACK);
}

int thread_start(pthread_t *thread, void *(*run)(void *), void *context)
{
	sigset_t blocked, before;
	struct start *start = malloc(sizeof(*start));
	if (!start)
		return ENOMEM;
	*start = (struct start){run, context};
	sigfillset(&blocked);
	for (const int *fault = thread_faults; *fault; fault++)
		sigdelset(&blocked, *fault);
	pthread_sigmask(SIG_SETMASK, &blocked, &before);
	pthread_attr_t attributes;
	int errnum = with_stack(&attributes);
	if (!errnum) {
		errnum = pthread_create(thread, &attributes, run_thread, start);
		pthread_attr_destroy(&attributes);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	if (errnum)
		free(start);
	return errnum;
}

bool thread_wait_until(sem_t *end, uint64_t ns)
{
	const struct timespec until = {(time_t)(ns / 1000000000), (long)(ns % 1000000000)};
	int failed;
	while ((failed = sem_clockwait(end, CLOCK_MONOTONIC, &until)) && errno == EINTR)
		;
	return failed;
}

void thread_wake_promptly(void)
{
	struct scheduling attributes = {.size = sizeof(attributes)};
	if (syscall(SYS_sched_getattr, 0, &attributes, sizeof(attributes), 0) != 0 ||
	    attributes.policy != SCHED_OTHER)
		return;
	attributes.size = sizeof(attributes);
	attributes.flags = 0;
	attributes.runtime = SLICE_NS;
	(void)syscall(SYS_sched_setattr, 0, &attributes, 0);
}

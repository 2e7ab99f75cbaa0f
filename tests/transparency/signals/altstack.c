/* The alternate stack: used, left by longjmp, in threads, for a stack overflow, disarmed.
 * @cases used overflow left threads disarm */
#include "../own.h"

#include <pthread.h>
#include <setjmp.h>
#include <sys/resource.h>

static _Thread_local char *stack;
static _Thread_local sigjmp_buf out;
static _Thread_local volatile int inside, leave;

static void on_signal(int number, siginfo_t *info, void *context)
{
	char here;
	stack_t now;

	(void)number;
	(void)info;
	inside += &here > stack && &here < stack + 65536;
	sigaltstack(NULL, &now);
	CHECK(((ucontext_t *)context)->uc_stack.ss_sp == stack);
	CHECK(now.ss_flags & SS_ONSTACK || now.ss_flags & SS_DISABLE);
	if (leave)
		siglongjmp(out, 1);
}

static void set(int flags)
{
	stack = malloc(65536);
	MUST(sigaltstack(&(stack_t){ .ss_sp = stack, .ss_size = 65536, .ss_flags = flags }, NULL) == 0);
	handle(SIGUSR1, on_signal, SA_ONSTACK);
	handle(SIGSEGV, on_signal, SA_ONSTACK);
}

NOINLINE static int overflow(volatile int *depth)
{
	volatile int here[100] = { *depth };

	++*depth;
	return overflow(depth) + here[50];
}

static void *in_thread(void *unused)
{
	set(0);
	for (int i = 0; i < 100; i++)
		pthread_kill(pthread_self(), SIGUSR1);
	CHECK(inside == 100);
	return unused;
}

int main(int argc, char **argv)
{
	const char *how = argv[argc - 1];
	pthread_t threads[3];
	stack_t now;
	volatile int depth = 0;

	set(!strcmp(how, "disarm") ? (int)(1U << 31) : 0);
	if (!strcmp(how, "used") || !strcmp(how, "disarm")) {
		for (int i = 0; i < 100; i++)
			raise(SIGUSR1);
		sigaltstack(NULL, &now);
		CHECK(now.ss_sp == stack && !(now.ss_flags & SS_ONSTACK));
	} else if (!strcmp(how, "threads")) {
		for (int i = 0; i < 3; i++)
			pthread_create(&threads[i], NULL, in_thread, NULL);
		for (int i = 0; i < 3; i++)
			pthread_join(threads[i], NULL);
	} else {
		leave = 1;
		for (volatile int i = 0; i < (!strcmp(how, "left") ? 300 : 3); i++)
			if (sigsetjmp(out, 1) == 0) {
				if (!strcmp(how, "left"))
					raise(SIGUSR1);
				else
					overflow(&depth);
			}
	}
	printf("inside %d\n", inside);
	return done();
}

/* makecontext and swapcontext: a hundred contexts in a ring; contexts that move between threads.
 * @cases ring threads */
#include "../own.h"

#include <pthread.h>

enum { N = 100 };

static ucontext_t contexts[N], home;
static char *stacks[N];
static int visits, current;

static void visit(int self)
{
	for (int round = 0; round < 20; round++) {
		visits += self;
		current = (self + 1) % N;
		swapcontext(&contexts[self], &contexts[current]);
	}
}

static void go_home(void)
{
	visits++;
	swapcontext(&contexts[0], &home);
	visits += 10;
}

static void *resumes(void *unused)
{
	swapcontext(&home, &contexts[0]);
	return unused;
}

static void make(int i, void (*function)(void), int argument)
{
	getcontext(&contexts[i]);
	stacks[i] = malloc(32768);
	contexts[i].uc_stack.ss_sp = stacks[i];
	contexts[i].uc_stack.ss_size = 32768;
	contexts[i].uc_link = &home;
	makecontext(&contexts[i], function, 1, argument);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	if (!strcmp(argv[argc - 1], "ring")) {
		for (int i = 0; i < N; i++)
			make(i, (void (*)(void))visit, i);
		swapcontext(&home, &contexts[0]);
	} else {
		make(0, go_home, 0);
		swapcontext(&home, &contexts[0]);
		pthread_create(&thread, NULL, resumes, NULL);
		pthread_join(thread, NULL);
	}
	printf("visits %d\n", visits);
	return done();
}

/* setjmp and longjmp in several threads, over many frames, from one of them back to the start. */
#include "../own.h"

#include <pthread.h>
#include <setjmp.h>

static _Thread_local jmp_buf out;

NOINLINE static int dive(int depth)
{
	volatile int here = depth;

	if (depth == 0)
		longjmp(out, 3);
	return dive(depth - 1) + here;
}

static void *jumps(void *total)
{
	for (volatile int i = 0; i < 2000; i++) {
		int value = setjmp(out);

		if (value)
			*(volatile int *)total += value;
		else
			dive(i % 60);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[4];
	int totals[4] = { 0 };

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, jumps, &totals[i]);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%d %d %d %d\n", totals[0], totals[1], totals[2], totals[3]);
	return done();
}

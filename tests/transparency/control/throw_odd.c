/* Clean-ups in C: forced unwinding by pthread_exit and cancellation, nested functions, __builtin_longjmp.
 * @flags -fexceptions */
#include "../own.h"

#include <pthread.h>

static int cleaned;

static void clean(int *value)
{
	cleaned += *value;
}

NOINLINE static void leaves(int depth)
{
	__attribute__((cleanup(clean))) int value = depth;

	if (depth == 0)
		pthread_exit((void *)5);
	leaves(depth - 1);
	cleaned += value * 1000;
}

static void *thread(void *unused)
{
	leaves(10);
	return unused;
}

static void *buffer[5];

NOINLINE static void jump_back(void)
{
	__builtin_longjmp(buffer, 1);
}

int main(void)
{
	volatile int jumps = 0;
	pthread_t one;
	void *value;

	pthread_create(&one, NULL, thread, NULL);
	pthread_join(one, &value);
	__builtin_setjmp(buffer);
	if (++jumps < 50)
		jump_back();
	printf("cleaned %d, value %d, jumps %d\n", cleaned, (int)(intptr_t)value, jumps);
	return done();
}

/* Two threads that take each other's blocks, and walk through their stacks: prints as objects_calls. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BYTES (1u << 20)
#define LINES (BYTES / 64)
#define TURNS 6

static pthread_barrier_t barrier;
static void *handed[2];
static double sums[2][8];
static int line_of_block;

static void walk(const void *block, size_t bytes, int times, double *sum)
{
	const volatile double *data = block;
	for (int i = 0; i < times; i++)
		for (size_t k = 0; k < bytes / sizeof(*data); k += 8)
			*sum += data[k];
}

static void *work(void *argument)
{
	const int me = argument != NULL;
	char stack[BYTES];
	memset(stack, 1, sizeof(stack));
	walk(stack, sizeof(stack), 3, sums[me]);
	for (int i = 0; i < TURNS; i++) {
		handed[me] = malloc(BYTES); line_of_block = __LINE__;
		memset(handed[me], 1, BYTES);
		pthread_barrier_wait(&barrier);
		walk(handed[!me], BYTES, 2, sums[me]);
		pthread_barrier_wait(&barrier);
		free(handed[me]);
	}
	return NULL;
}

int main(void)
{
	pthread_t other;
	pthread_barrier_init(&barrier, NULL, 2);
	pthread_create(&other, NULL, work, &other);
	work(NULL);
	pthread_join(other, NULL);
	printf("heap work %d %u %d %d %d\n", line_of_block, 2 * BYTES, 2 * TURNS, 2 * TURNS * 2 * LINES,
	       2 * TURNS * 2 * LINES);
	printf("stack stack 0 0 0 %d %d\n", 2 * 3 * LINES, 2 * 3 * LINES);
	return sums[0][0] == 1234567;
}

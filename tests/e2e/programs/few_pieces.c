/* Two threads take pieces of work of some 20 ms from a list by turns.  It has one piece at a time. */
#include <pthread.h>
#include <stdio.h>

enum { PIECES = 12, TURNS = 10000000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t more = PTHREAD_COND_INITIALIZER;
static int listed = 1, next = 0, over;
static double sum;

__attribute__((noinline)) static double work(double x)
{
	for (int i = 0; i < TURNS; i++)
		x = x * 0.999999 + 1e-6;
	return x;
}

/* The next piece in turn is this thread's; it lists the one after it when it is done. */
static void *take_pieces(void *argument)
{
	int me = *(int *) argument;

	pthread_mutex_lock(&lock);
	while (!over) {
		if (listed <= next || next % 2 != me) {
			pthread_cond_wait(&more, &lock);
			continue;
		}
		next++;
		pthread_mutex_unlock(&lock);
		double x = work(next);

		pthread_mutex_lock(&lock);
		sum += x;
		over = ++listed > PIECES;
		pthread_cond_broadcast(&more);
	}
	pthread_mutex_unlock(&lock);
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int numbers[2] = {0, 1};

	for (int i = 0; i < 2; i++)
		if (pthread_create(&threads[i], NULL, take_pieces, &numbers[i]))
			return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%g\n", sum);
	return 0;
}

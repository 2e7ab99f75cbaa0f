/* Two threads work on the same numbers in turns, one step each.  Its problem: for every small step one is woken and the
 * other goes to sleep, with a condition variable, which takes far longer than the step. */
#include <pthread.h>
#include <stdio.h>

enum { TURNS = 20000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int turn;
static unsigned value = 1;

static void *play(void *argument)
{
	int me = *(int *) argument;

	for (int i = 0; i < TURNS / 2; i++) {
		pthread_mutex_lock(&mutex);
		while (turn != me)
			pthread_cond_wait(&changed, &mutex);
		value = value * 1103515245u + 12345u;
		turn = !me;
		pthread_cond_signal(&changed);
		pthread_mutex_unlock(&mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[2];
	int numbers[] = {0, 1};

	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, play, &numbers[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("%u\n", value);
	return 0;
}

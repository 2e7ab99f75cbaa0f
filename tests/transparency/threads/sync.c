/* Mutexes, condition variables, semaphores, read-write locks and a barrier, all contended. */
#include "../own.h"

#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static sem_t semaphore;
static long guarded, written, inits, turn;

static void init(void)
{
	inits++;
}

static void *contend(void *argument)
{
	const long self = (long)(intptr_t)argument;

	pthread_once(&once, init);
	for (int i = 0; i < 1000; i++) {
		pthread_mutex_lock(&mutex);
		guarded++;
		pthread_mutex_unlock(&mutex);
		if (i % 10 == 0) {
			pthread_rwlock_wrlock(&lock);
			written++;
			pthread_rwlock_unlock(&lock);
		}
		pthread_rwlock_rdlock(&lock);
		pthread_rwlock_unlock(&lock);
	}
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 50; i++) {
		pthread_mutex_lock(&mutex);
		while (turn % 4 != self)
			pthread_cond_wait(&changed, &mutex);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&mutex);
	}
	sem_post(&semaphore);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	pthread_barrier_init(&barrier, NULL, 4);
	sem_init(&semaphore, 0, 0);
	for (int i = 0; i < 4; i++)
		MUST(pthread_create(&threads[i], NULL, contend, (void *)(intptr_t)i) == 0);
	for (int i = 0; i < 4; i++)
		sem_wait(&semaphore);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	printf("%ld %ld %ld %ld\n", guarded, written, inits, turn);
	return done();
}

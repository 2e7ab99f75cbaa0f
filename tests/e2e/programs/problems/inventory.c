/* Four threads look after one stock.  Its problem: contention.  Pricing, which needs nothing that is shared, happens
 * while the only mutex is held, so that one thread works and three wait. */
#include <pthread.h>
#include <stdio.h>

enum { THREADS = 4, ORDERS = 3500, ITEMS = 512 };

static pthread_mutex_t stock_mutex = PTHREAD_MUTEX_INITIALIZER;
static double stock[ITEMS];

static double price(unsigned item)
{
	double value = 1 + item;

	for (int i = 0; i < 20000; i++)
		value = value * 0.999 + 1.5;
	return value;
}

static void *clerk(void *argument)
{
	unsigned item = *(unsigned *) argument;

	for (int i = 0; i < ORDERS; i++) {
		item = (item * 1103515245u + 12345u) % ITEMS;
		pthread_mutex_lock(&stock_mutex);
		stock[item] += price(item);
		pthread_mutex_unlock(&stock_mutex);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[THREADS];
	unsigned seeds[THREADS] = {1, 2, 3, 4};
	double sum = 0;

	for (int i = 0; i < THREADS; i++)
		pthread_create(&threads[i], NULL, clerk, &seeds[i]);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < ITEMS; i++)
		sum += stock[i];
	printf("%g\n", sum);
	return 0;
}

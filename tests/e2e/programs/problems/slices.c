/* Two threads add up a triangle of terms, each one half of its rows.  Its problem: imbalance.  Both have as many rows, but
 * the later rows are longer, so that one thread has seven eighths of the work and the other waits for it in the end. */
#include <pthread.h>
#include <stdio.h>

enum { ROWS = 900 };

struct slice {
	int first, last;
	double sum;
};

static double add_row(int row)
{
	double sum = 0;

	for (int i = 0; i < row * row; i++)
		sum = sum * 0.5 + i;
	return sum;
}

static void *add_slice(void *argument)
{
	struct slice *slice = argument;

	for (int row = slice->first; row < slice->last; row++)
		slice->sum += add_row(row);
	return NULL;
}

int main(void)
{
	struct slice upper = {0, ROWS / 2, 0}, lower = {ROWS / 2, ROWS, 0};
	pthread_t thread;

	pthread_create(&thread, NULL, add_slice, &lower);
	add_slice(&upper);
	pthread_join(thread, NULL);
	printf("%g\n", upper.sum + lower.sum);
	return 0;
}

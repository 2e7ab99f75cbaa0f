/* Two threads compute steps of a simulation and meet after each.  Its problem: the first has a fifth of the work and
 * spins until the second has come, so that its processor is busy with nothing. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

enum { STEPS = 1600, CELLS = 100000 };

static atomic_int arrived, step_now;
static double results[2][8];

static void meet(void)
{
	int step = atomic_load(&step_now);

	if (atomic_fetch_add(&arrived, 1) == 1) {
		atomic_store(&arrived, 0);
		atomic_fetch_add(&step_now, 1);
		return;
	}
	while (atomic_load(&step_now) == step)
		;
}

static double relax(double value, int cells)
{
	for (int i = 0; i < cells; i++)
		value = value * 0.9999 + 0.5;
	return value;
}

static void *simulate(void *argument)
{
	int half = *(int *) argument;

	for (int i = 0; i < STEPS; i++) {
		results[half][0] = relax(results[half][0], half ? CELLS * 16 / 10 : CELLS / 5);
		meet();
	}
	return NULL;
}

int main(void)
{
	pthread_t thread;
	int halves[] = {0, 1};

	pthread_create(&thread, NULL, simulate, &halves[1]);
	simulate(&halves[0]);
	pthread_join(thread, NULL);
	printf("%g\n", results[0][0] + results[1][0]);
	return 0;
}

/* Measures the clock of the cores. */
#include "machine/roofs/clock.h"

#include "machine/kernels/clock_kernels.h"
#include "machine/roofs/measure.h"

#include <stdlib.h>

#define REPEATS 20

static void adds(void *context, int thread, uint64_t count)
{
	clock_adds(count);
}

static void adds_with_vectors(void *context, int thread, uint64_t count)
{
	clock_adds_with_vectors(count);
}

static struct rf_error *best_rate(struct team *team, void (*run)(void *, int, uint64_t),
				  double *ghz)
{
	const struct measure_task task = {.run = run, .work = CLOCK_CYCLES_PER_COUNT};
	struct measure_series series = {0};
	struct rf_error *error = measure_search(team, &task, 1, MEASURE_REPEAT_NS, 1, &series);
	if (!error)
		error = measure_repeats(team, &task, REPEATS, &series);
	if (!error)
		*ghz = measure_summary(series.rates, series.n_rates).best / team_size(team);
	measure_series_deinit(&series);
	return error;
}

struct rf_error *clock_measure(struct team *team, struct machine_clock *clock)
{
	struct rf_error *error = best_rate(team, adds, &clock->ghz);
	return error ? error : best_rate(team, adds_with_vectors, &clock->fp_ghz);
}

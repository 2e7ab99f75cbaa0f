/* What a row keeps of its measurements over time. */
#include "machine/data/roof_history.h"

#include <math.h>
#include <string.h>

void roof_history_add(struct roof *row, int64_t when_s, double best)
{
	if (row->n_history == ROOF_HISTORY) {
		memmove(&row->history[1], &row->history[2],
			(ROOF_HISTORY - 2) * sizeof(*row->history));
		row->n_history--;
	}
	row->history[row->n_history++] = (struct roof_visit){when_s, best};
	row->n_measured++;
}

/* The rates of `from` with what belongs to them. */
static void take_rates(struct roof *row, const struct roof *from)
{
	row->best = from->best;
	row->median = from->median;
	row->q1 = from->q1;
	row->q3 = from->q3;
	row->theory = from->theory > 0 ? from->theory : row->theory;
	row->noisy = from->noisy;
	row->isa = from->isa;
}

void roof_take_again(struct roof *row, const struct roof *again)
{
	for (int i = 0; i < again->n_history; i++)
		roof_history_add(row, again->history[i].when_s, again->history[i].best);
	row->now = again->now;
	/* Better as a whole: the machine was in a slower mode before.  Better by its best repeat
	 * alone: the statistics stay those of more repeats. */
	if (again->median > row->best) {
		take_rates(row, again);
	} else if (again->best > row->best) {
		row->best = again->best;
		/* at the clock beside the best */
		row->theory = again->theory > 0 ? again->theory : row->theory;
	}
}

bool roof_history_range(const struct roof *row, double *lowest, double *highest)
{
	*lowest = INFINITY;
	*highest = 0;
	for (int i = 0; i < row->n_history; i++) {
		*lowest = fmin(*lowest, row->history[i].best);
		*highest = fmax(*highest, row->history[i].best);
	}
	return row->n_history > 0;
}

int roof_history_slow(const struct roof *row)
{
	int n = 0;
	for (int i = 0; i < row->n_history; i++)
		n += row->history[i].best < ROOF_MODE * row->best;
	return n;
}

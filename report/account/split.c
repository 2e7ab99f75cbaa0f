/* Adds up what samples differ by. */
#include "report/account/split.h"

#include <math.h>

/* Where n samples are all of one kind, the other one has less than 3 of n, 95 % (Hanley and
 * Lippman-Hand, If Nothing Goes Wrong, Is Everything All Right?, 1983). */
#define NONE_SEEN 3

void split_add(struct split *split, struct split_thread *thread, double weight_s, bool kernel)
{
	const double both = (weight_s + thread->last_weight) / 2;
	split->weight_s += weight_s;
	split->squares += weight_s * weight_s;
	if (thread->last_weight > 0 && thread->last_kernel != kernel)
		split->variance += both * both / 2;
	thread->weight_s += weight_s;
	thread->last_weight = weight_s;
	thread->last_kernel = kernel;
}

/* Of a normal distribution 95 % would be within 1.96; that the variance is an estimate takes the
 * rest. */
#define QUANTILE 2.1

/* Anything from none of it to all: evenly spread as one of both, its standard error is half. */
void split_add_ran(struct split *split, const struct split_thread *thread, double ran_s)
{
	const double unseen = ran_s - thread->weight_s;
	split->variance += unseen * unseen / 4;
}

static double usual_weight(const struct split *split, double ran_s)
{
	return split->weight_s > 0 ? split->squares / split->weight_s : ran_s;
}

double split_halfwidth(const struct split *split, double ran_s)
{
	return fmin(ran_s,
		    fmax(QUANTILE * sqrt(split->variance), NONE_SEEN * usual_weight(split, ran_s)));
}

/* Of independent samples: that the others were is known by their number alone. */
double split_halfwidth_of_one(const struct split *split, double ran_s)
{
	const double others = ran_s > 0 ? fmax(0, 1 - split->weight_s / ran_s) : 1;
	return fmin(ran_s, fmax(QUANTILE * sqrt(split->squares * others),
				NONE_SEEN * usual_weight(split, ran_s)));
}

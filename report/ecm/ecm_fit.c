/* Fits links and rules to measured kernels.
 *
 * A kernel whose data are in L2 takes the time of the L1 part as well, as far as the rule lets
 * these add up.  So a link's own time is no quotient of one measured rate: for each rule, the
 * kernels of L2 tell the link between L1 and L2, with this those of L3 the next one, and so on
 * outward.  Six kernels that mix reads and writes in several ways stand against the two bandwidths
 * of each link. */
#include "report/ecm/ecm_fit.h"

#include <math.h>

#define BORDERS 3
#define GRID 9    /* points in each direction */
#define ROUNDS 14 /* each with a grid of SHRINK times the width: to 1/2,500 in the end */
#define SHRINK 0.6
/* Where the kernels cannot tell the directions apart they count as alike: far below any error. */
#define ALIKE 1e-6

double ecm_predict(const struct ecm_fit *fit, const struct ecm_kernel *kernel)
{
	double in[ECM_PARTS], out[ECM_PARTS], part[ECM_PARTS] = {[ECM_NOL] = kernel->nol};
	ecm_by_link(&kernel->moves, fit->past_l3, in, out);
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++)
		part[p] = ecm_transfer(&fit->links[p], in[p], out[p]);
	return ecm_compose(fit->rule, part).cycles;
}

/* The sum of squares of the kernels that cross so many borders; 0: of all. */
static double squares(const struct ecm_fit *fit, const struct ecm_kernel *kernels, size_t n,
		      int borders, size_t *n_used)
{
	double sum = 0;
	*n_used = 0;
	for (size_t i = 0; i < n; i++) {
		if (borders && kernels[i].borders != borders)
			continue;
		const double off = log(ecm_predict(fit, &kernels[i]) / kernels[i].cycles);
		sum += off * off;
		++*n_used;
	}
	return sum;
}

/* Sets the link that the last of so many borders is, by the time of a byte in each direction. */
static void set_link(struct ecm_fit *fit, int borders, double in, double out, bool duplex)
{
	const struct ecm_link link = {1 / in, 1 / out, duplex};
	if (borders == 1)
		fit->links[ECM_L1_L2] = link;
	else if (borders == 2)
		fit->links[ECM_L2_L3] = link;
	else
		fit->links[ECM_L2_MEMORY] = fit->links[ECM_L3_MEMORY] = link;
}

/* The longest that a byte may take: the kernel that is slowest in it does nothing else. */
static double longest(const struct ecm_kernel *kernels, size_t n, int borders)
{
	double most = 0;
	for (size_t i = 0; i < n; i++) {
		const struct ecm_moves *moves = &kernels[i].moves;
		const double bytes = fmax(moves->in[borders - 1], moves->out[borders - 1]);
		if (kernels[i].borders == borders && bytes > 0)
			most = fmax(most, kernels[i].cycles / bytes);
	}
	return most;
}

/* What is searched: the times of a byte in both directions. */
struct search {
	double in, out, width, error;
};

/* One grid around the best point so far. */
static void look_around(struct search *search, struct ecm_fit *fit,
			const struct ecm_kernel *kernels, size_t n, int borders, bool duplex)
{
	const struct search around = *search;
	size_t n_used;
	for (int i = 0; i < GRID * GRID; i++) {
		const double step = 2 * around.width / (GRID - 1);
		const double in = fmax(0, around.in - around.width + i / GRID * step),
			     out = fmax(0, around.out - around.width + i % GRID * step);
		const double apart = in + out > 0 ? (in - out) / (in + out) : 0;
		set_link(fit, borders, in, out, duplex);
		const double error =
			squares(fit, kernels, n, borders, &n_used) + ALIKE * apart * apart;
		if (error < search->error)
			*search = (struct search){in, out, around.width, error};
	}
	search->width *= SHRINK;
}

static void fit_link(struct ecm_fit *fit, const struct ecm_kernel *kernels, size_t n, int borders)
{
	const double most = longest(kernels, n, borders);
	struct search best = {.error = INFINITY};
	bool best_duplex = false;
	if (!(most > 0))
		return;
	for (int duplex = 0; duplex < (borders == BORDERS ? 1 : 2); duplex++) {
		struct search search = {most / 2, most / 2, most / 2, INFINITY};
		for (int round = 0; round < ROUNDS; round++)
			look_around(&search, fit, kernels, n, borders, duplex);
		if (search.error < best.error - ALIKE) {
			best = search;
			best_duplex = duplex;
		}
	}
	set_link(fit, borders, best.in, best.out, best_duplex);
}

struct ecm_fit ecm_fit_rule(const struct ecm_rule *rule, bool past_l3,
			    const struct ecm_kernel *kernels, size_t n)
{
	struct ecm_fit fit = {.rule = rule, .past_l3 = past_l3};
	size_t n_used;
	for (int p = 0; p < ECM_PARTS; p++)
		fit.links[p] = (struct ecm_link){INFINITY, INFINITY, false};
	for (int borders = 1; borders <= BORDERS; borders++)
		fit_link(&fit, kernels, n, borders);
	const double sum = squares(&fit, kernels, n, 0, &n_used);
	fit.error = n_used ? sqrt(sum / (double)n_used) : NAN;
	return fit;
}

void ecm_fit_all(const struct ecm_kernel *kernels, size_t n, bool victim_l3, struct ecm_fit *best,
		 struct ecm_fit *second)
{
	*best = *second = (struct ecm_fit){.error = NAN};
	for (size_t i = 0; i < n_ecm_rules; i++) {
		struct ecm_fit fit = ecm_fit_rule(&ecm_rules[i], false, kernels, n);
		if (victim_l3) {
			const struct ecm_fit past = ecm_fit_rule(&ecm_rules[i], true, kernels, n);
			fit = past.error < fit.error ? past : fit;
		}
		if (!best->rule || fit.error < best->error) {
			*second = *best;
			*best = fit;
		} else if (!second->rule || fit.error < second->error) {
			*second = fit;
		}
	}
}

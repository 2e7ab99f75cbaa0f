/* Fits links and rules to measured kernels.
 *
 * A kernel whose data are in L2 takes the time of the L1 part as well, as far as the rule lets
 * these add up.  So a link's own time is no quotient of one measured rate: for each rule, the
 * kernels of L2 tell the link between L1 and L2, with this those of L3 the next one, and so on
 * outward.  Six kernels that mix reads and writes in several ways stand against the two bandwidths
 * of each link. */
#include "report/ecm/ecm_fit.h"

#include <math.h>
#include <string.h>

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

/* Sets the link that the last of so many borders is, by the time of a byte in each direction;
 * 0: it takes none. */
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

/* ---- one link ---- */

/* What a rule makes of a kernel but for the link that is looked for: its time is the longest of
 * `beside`, all that goes on at once with the link, and of `before` + the link's own time ([H] eq.
 * 4), which is quicker to work out than all sums again. */
struct rest {
	double beside, before;
	double in, out; /* bytes over the link */
	double cycles;  /* measured */
};

#define MOST_RESTS 16 /* of one border */
#define MOST_SEARCHES 32
#define FAR 1e6 /* times a kernel: no other part is longer */

static struct rest rest_of(struct ecm_fit *fit, const struct ecm_kernel *kernel)
{
	const int border = kernel->borders;
	struct rest rest = {.in = kernel->moves.in[border - 1],
			    .out = kernel->moves.out[border - 1],
			    .cycles = kernel->cycles};
	const double bytes = rest.in + rest.out, far = FAR * (kernel->cycles + kernel->nol);
	set_link(fit, border, far / bytes, far / bytes, false);
	rest.before = fmax(0, ecm_predict(fit, kernel) - far);
	/* next to nothing, but not nothing, as a rule may ask whether memory is involved */
	set_link(fit, border, 1 / FAR / far, 1 / FAR / far, false);
	rest.beside = ecm_predict(fit, kernel);
	return rest;
}

/* What is searched: the times of a byte in both directions. */
struct search {
	double in, out, width, error;
	bool duplex;
};

/* The sum of squares of the logarithm of predicted / measured. */
static double squares(const struct rest *rests, size_t n, const struct search *link)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		const double in = rests[i].in * link->in, out = rests[i].out * link->out;
		const double transfer = link->duplex ? fmax(in, out) : in + out;
		const double off =
			log(fmax(rests[i].beside, rests[i].before + transfer) / rests[i].cycles);
		sum += off * off;
	}
	return sum;
}

/* One grid around the best point so far. */
static void look_around(struct search *search, const struct rest *rests, size_t n)
{
	const struct search around = *search;
	const double step = 2 * around.width / (GRID - 1);
	for (int i = 0; i < GRID * GRID; i++) {
		struct search point = around;
		point.in = fmax(0, around.in - around.width + i / GRID * step);
		point.out = fmax(0, around.out - around.width + i % GRID * step);
		const double sum = point.in + point.out,
			     apart = sum > 0 ? (point.in - point.out) / sum : 0;
		point.error = squares(rests, n, &point) + ALIKE * apart * apart;
		if (point.error < search->error)
			*search = point;
	}
	search->width *= SHRINK;
}

/* Searches that were made: many rules say the same of the links near the core. */
struct searches {
	struct known {
		struct rest rests[MOST_RESTS];
		size_t n;
		bool may_be_duplex;
		struct search best;
	} known[MOST_SEARCHES];
	size_t n;
};

static struct search best_link(struct searches *searches, const struct rest *rests, size_t n,
			       double most, bool may_be_duplex)
{
	const size_t size = n * sizeof(*rests);
	struct search best = {.error = INFINITY};
	for (size_t i = 0; i < searches->n; i++) {
		const struct known *known = &searches->known[i];
		if (known->n == n && known->may_be_duplex == may_be_duplex &&
		    memcmp(known->rests, rests, size) == 0)
			return known->best;
	}
	for (int duplex = 0; duplex <= may_be_duplex; duplex++) {
		struct search search = {most / 2, most / 2, most / 2, INFINITY, duplex};
		for (int round = 0; round < ROUNDS; round++)
			look_around(&search, rests, n);
		if (search.error < best.error - ALIKE)
			best = search;
	}
	if (searches->n < MOST_SEARCHES) {
		struct known *known = &searches->known[searches->n++];
		memcpy(known->rests, rests, size);
		known->n = n;
		known->may_be_duplex = may_be_duplex;
		known->best = best;
	}
	return best;
}

static void fit_link(struct ecm_fit *fit, struct searches *searches,
		     const struct ecm_kernel *kernels, size_t n, int border)
{
	struct rest rests[MOST_RESTS];
	size_t n_rests = 0;
	double most = 0; /* that a byte may take: the kernel that is slowest in it does nothing else
			  */
	for (size_t i = 0; i < n && n_rests < MOST_RESTS; i++) {
		const struct ecm_moves *moves = &kernels[i].moves;
		const double bytes = fmax(moves->in[border - 1], moves->out[border - 1]);
		if (kernels[i].borders != border || !(bytes > 0))
			continue;
		most = fmax(most, kernels[i].cycles / bytes);
		rests[n_rests++] = rest_of(fit, &kernels[i]);
	}
	set_link(fit, border, 0, 0, false);
	if (!(most > 0))
		return;
	const struct search best = best_link(searches, rests, n_rests, most, border < BORDERS);
	set_link(fit, border, best.in, best.out, best.duplex);
}

/* ---- rules ---- */

/* The root of the mean square of all kernels. */
static double error_of(const struct ecm_fit *fit, const struct ecm_kernel *kernels, size_t n)
{
	double sum = 0;
	for (size_t i = 0; i < n; i++) {
		const double off = log(ecm_predict(fit, &kernels[i]) / kernels[i].cycles);
		sum += off * off;
	}
	return n ? sqrt(sum / (double)n) : NAN;
}

static struct ecm_fit fit_rule(const struct ecm_rule *rule, bool past_l3, struct searches *searches,
			       const struct ecm_kernel *kernels, size_t n)
{
	struct ecm_fit fit = {.rule = rule, .past_l3 = past_l3};
	for (int p = 0; p < ECM_PARTS; p++)
		fit.links[p] = (struct ecm_link){INFINITY, INFINITY, false};
	for (int borders = 1; borders <= BORDERS; borders++)
		fit_link(&fit, searches, kernels, n, borders);
	fit.error = error_of(&fit, kernels, n);
	return fit;
}

struct ecm_fit ecm_fit_rule(const struct ecm_rule *rule, bool past_l3,
			    const struct ecm_kernel *kernels, size_t n)
{
	struct searches searches = {.n = 0};
	return fit_rule(rule, past_l3, &searches, kernels, n);
}

void ecm_fit_all(const struct ecm_kernel *kernels, size_t n, bool victim_l3, struct ecm_fit *best,
		 struct ecm_fit *second)
{
	struct searches searches = {.n = 0};
	*best = *second = (struct ecm_fit){.error = NAN};
	for (size_t i = 0; i < n_ecm_rules; i++) {
		struct ecm_fit fit = fit_rule(&ecm_rules[i], false, &searches, kernels, n);
		if (victim_l3) {
			const struct ecm_fit past =
				fit_rule(&ecm_rules[i], true, &searches, kernels, n);
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

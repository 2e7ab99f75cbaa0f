/* Two profiles in one plot: B's points as ever, A's hollow, and an arrow from one to the other,
 * dashed as in Steinmann's series comparisons (2012, 4.2). */
#include "report/svg/svg_arrows.h"

#include "base/text.h"
#include "report/diff/diff.h"

#include <math.h>

#define HOLLOW 4.5 /* radius */

/* Whether A's point can stand in the picture: on the axis of B's point, by the same kind of bytes.
 */
static bool can_show(const struct picture *p, const struct diff_function *pair)
{
	const struct model_function *a = pair->a, *b = pair->b;
	if (!a || a->place.axis == AXIS_NONE || (p->level && !a->traffic))
		return false;
	if (a->place.axis != AXIS_FLOP && !(a->place.roof > 0))
		return false;
	return !b || (a->place.axis == AXIS_FLOP) == (b->place.axis == AXIS_FLOP);
}

static size_t n_pairs(const struct picture *p)
{
	const struct diff *diff = p->view->diff;
	const size_t top = p->view->n_top;
	return !diff ? 0 : diff->n_functions < top ? diff->n_functions : top;
}

void svg_arrows_widen(struct picture *p)
{
	for (size_t i = 0; i < n_pairs(p); i++) {
		const struct model_function *a = p->view->diff->functions[i].a;
		if (!can_show(p, &p->view->diff->functions[i]) || a->place.axis != AXIS_FLOP)
			continue;
		if (report_intensity_at(a, p->level) <= MODEL_IN_CACHE)
			svg_widen(&p->x, report_intensity_at(a, p->level));
		svg_widen(&p->y, a->place.point);
	}
}

/* An arrow that ends just outside the circle that it points to. */
static void draw_arrow(const struct picture *p, double x1, double y1, double x2, double y2)
{
	const double length = hypot(x2 - x1, y2 - y1), room = HOLLOW + 12;
	if (length <= room)
		return;
	const double from = HOLLOW / length, to = 1 - 9 / length;
	fprintf(p->out,
		"<line class=\"change\" x1=\"%.2f\" y1=\"%.2f\" x2=\"%.2f\" y2=\"%.2f\" "
		"stroke=\"#333333\" "
		"stroke-width=\"1.4\" stroke-dasharray=\"5 3\" marker-end=\"url(#arrow)\"/>\n",
		x1 + (x2 - x1) * from, y1 + (y2 - y1) * from, x1 + (x2 - x1) * to,
		y1 + (y2 - y1) * to);
}

static void draw_pair(const struct picture *p, const struct diff_function *pair)
{
	const bool strip = pair->a->place.axis != AXIS_FLOP;
	double x, y, to_x, to_y;
	svg_position(p, pair->a, strip, &x, &y);
	if (pair->b) {
		svg_position(p, pair->b, strip, &to_x, &to_y);
		draw_arrow(p, x, y, to_x, to_y);
	}
	fprintf(p->out,
		"<circle class=\"%s\" cx=\"%.2f\" cy=\"%.2f\" r=\"%.1f\" fill=\"#ffffff\" "
		"stroke=\"%s\" "
		"stroke-width=\"1.5\" data-name=\"",
		pair->b ? "before" : "before gone", x, y, HOLLOW, svg_colour(pair->a->place.bound));
	text_write_xml(p->out, pair->a->name);
	fprintf(p->out, "\" data-point=\"%.9g\" data-time-s=\"%.9g\"><title>", pair->a->place.point,
		(double)pair->a->time_ns * 1e-9);
	text_write_xml(p->out, pair->a->name);
	fprintf(p->out, "%s</title></circle>\n", pair->b ? " in A" : ", only in A");
}

void svg_arrows(const struct picture *p)
{
	if (!p->view->diff)
		return;
	fputs("<defs><marker id=\"arrow\" viewBox=\"0 0 10 10\" refX=\"7\" refY=\"5\" "
	      "markerWidth=\"7\" "
	      "markerHeight=\"7\" orient=\"auto\"><path d=\"M0 0L10 5L0 10z\" "
	      "fill=\"#333333\"/></marker></defs>\n",
	      p->out);
	for (size_t i = n_pairs(p); i-- > 0;)
		if (can_show(p, &p->view->diff->functions[i]))
			draw_pair(p, &p->view->diff->functions[i]);
}

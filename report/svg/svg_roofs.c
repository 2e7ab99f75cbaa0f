/* The roofs of the picture: first all lines, then their labels, each where it crosses nothing. */
#include "report/svg/svg_roofs.h"

#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The mix whose rate is the highest where adders are separate. */
#define MIXED_OP ROOF_OP_FMA1_ADD1
#define DARK "#444444" /* labels */
#define PALE "#999999"
#define TEXT_COLUMNS 40 /* of a custom roof's name */

/* ---- what is drawn, and how far ---- */

/* The lines' mix of reads and writes: where points stand by what moved at a level, the one that no
 * point's own is above; by LS bytes it is reading. */
static enum traffic_direction mix_of(const struct picture *p)
{
	return p->level ? p->view->options->direction : DIRECTION_READ;
}

static double bandwidth(const struct picture *p, enum roof_level level, int threads)
{
	return model_level_most(p->view->profile, level, threads, mix_of(p));
}

size_t svg_levels(const struct picture *p, enum roof_level levels[MODEL_LEVELS])
{
	size_t n = model_levels(p->view->profile, levels);
	if (!p->level || p->view->options->levels)
		return n;
	const enum roof_level wanted = roof_level_find(p->level);
	for (size_t i = 0; i < n; i++)
		if (levels[i] == wanted) {
			levels[0] = wanted;
			return 1;
		}
	return n;
}

static bool is_used(const struct picture *p, enum roof_precision precision)
{
	for (size_t i = 0; i < p->n_points; i++)
		if (!p->points[i].strip &&
		    precision == model_roof_precision(p->points[i].function->precision))
			return true;
	return false;
}

/* The precisions whose peaks may stand beside the main one's. */
static const enum roof_precision common_precisions[] = {ROOF_PRECISION_DOUBLE,
							ROOF_PRECISION_SINGLE};

/* The main precision's peaks; of double and single also the other's where something uses it. */
static bool has_peak(const struct picture *p, enum roof_precision precision, int threads)
{
	if (p->view->machine || precision == p->precision)
		return true;
	return threads == p->threads && is_used(p, precision);
}

static double compute_rate(const struct picture *p, enum roof_isa isa, enum roof_op op)
{
	return model_roof(p->view->profile, roof_compute(isa, p->precision, op), p->threads);
}

static double highest_peak(const struct picture *p, int threads)
{
	double top = model_peak(p->view->profile, p->precision, threads);
	for (size_t i = 0; i < 2; i++)
		if (has_peak(p, common_precisions[i], threads))
			top = fmax(top,
				   model_peak(p->view->profile, common_precisions[i], threads));
	return top;
}

static double most_peak(const struct picture *p)
{
	return fmax(highest_peak(p, p->threads), highest_peak(p, p->other_threads));
}

double svg_theory(const struct picture *p)
{
	const struct roof *row = model_peak_row(p->view->profile, p->precision, p->threads);
	return row ? row->theory : 0;
}

static bool is_rate(const struct custom_roof *roof)
{
	return strcmp(roof->unit, "GFLOP/s") == 0;
}

bool svg_custom_is_drawn(const struct picture *p, const struct custom_roof *roof)
{
	double peak = most_peak(p), value = roof->value / (peak > 0 ? peak : 10);
	return value >= 1e-4 && value <= 1e4;
}

/* So that enough is seen of a slope and of the flat part behind its end. */
static void widen_around(struct picture *p, double ridge)
{
	svg_widen(&p->x, ridge / 8);
	svg_widen(&p->x, ridge * 4);
}

void svg_roofs_widen(struct picture *p)
{
	const struct profile *profile = p->view->profile;
	enum roof_level levels[MODEL_LEVELS];
	size_t n = svg_levels(p, levels);
	double own = highest_peak(p, p->threads), all = most_peak(p);
	for (size_t i = 0; i < n && own > 0; i++)
		widen_around(p, own / bandwidth(p, levels[i], p->threads));
	svg_widen(&p->y, all);
	svg_widen(&p->y, svg_theory(p));
	svg_widen(&p->y, all / 100);
	svg_widen(&p->y, own / 10);
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *roof = &profile->custom_roofs[i];
		if (!svg_custom_is_drawn(p, roof))
			continue;
		if (is_rate(roof)) {
			svg_widen(&p->y, roof->value);
			svg_widen(&p->y, all > 0 ? NAN : roof->value / 10);
		} else {
			widen_around(p, (all > 0 ? all : 10) / roof->value);
		}
	}
}

/* ---- lines ---- */

/* From (x1, rate1) to (x2, rate2), unless that is outside of the picture. */
static struct roof_line *add_line(struct picture *p, double x1, double rate1, double x2,
				  double rate2)
{
	if (!(x1 < x2) || !(rate2 > p->y.low) || !(rate1 < p->y.high) || p->n_lines == MAX_LINES)
		return NULL;
	struct roof_line *line = &p->lines[p->n_lines++];
	*line = (struct roof_line){svg_x(p, x1), svg_y(p, rate1), svg_x(p, x2), svg_y(p, rate2)};
	line->rising = rate2 > rate1;
	return line;
}

/* A bandwidth's line from the left or lower edge up to a rate. */
static struct roof_line *add_slope(struct picture *p, double beta, double top)
{
	if (!(beta > 0))
		return NULL;
	double x1 = fmax(p->x.low, p->y.low / beta);
	double x2 = fmin(p->x.high, fmin(top > 0 ? top : p->y.high, p->y.high) / beta);
	return add_line(p, x1, x1 * beta, x2, x2 * beta);
}

/* A rate's line from where a bandwidth reaches it to the right edge. */
static struct roof_line *add_flat(struct picture *p, double rate, double beta)
{
	double x = beta > 0 ? fmin(fmax(rate / beta, p->x.low), p->x.high * 0.9) : p->x.low;
	return add_line(p, x, rate, p->x.high, rate);
}

/* Theory that is within 3 % of what was measured needs no line of its own. */
static bool is_as_measured(double theory, double measured)
{
	return theory > 0 && fabs(theory - measured) <= 0.03 * measured;
}

/* "(= theory)" behind the label of what reading reaches, or "". */
static const char *level_theory_mark(const struct picture *p, enum roof_level level, int threads,
				     double reading)
{
	const double theory = model_level_theory(p->view->profile, level, threads);
	return is_as_measured(theory, reading) ? " (= theory)" : "";
}

/* Its text is to be placed later, in its turn. */
static void draw_line(const struct picture *p, struct roof_line *line, enum label_turn turn,
		      const char *colour, const char *style)
{
	line->turn = turn;
	line->colour = colour;
	svg_line(p, line->x1, line->y1, line->x2, line->y2, style);
}

static void draw_ceiling(struct picture *p, struct roof_line *line, const char *what, double rate,
			 const char *unit)
{
	char number[TEXT_NUMBER];
	if (!line)
		return;
	snprintf(line->text, sizeof(line->text), "%s %s%s", what, text_number(number, rate), unit);
	draw_line(p, line, TURN_CEILING, "#888888",
		  "class=\"ceiling\" stroke=\"#bbbbbb\" stroke-dasharray=\"5 4\"");
}

static void slopes(struct picture *p, int threads)
{
	enum roof_level levels[MODEL_LEVELS];
	size_t n = svg_levels(p, levels);
	bool own = threads == p->threads;
	double top = highest_peak(p, threads);
	for (size_t i = 0; i < n; i++) {
		char style[128], of[32] = "";
		double beta = bandwidth(p, levels[i], threads);
		struct roof_line *line = add_slope(p, beta, top);
		if (!line)
			continue;
		if (!own)
			snprintf(of, sizeof(of), ", %d thread%s", threads, threads == 1 ? "" : "s");
		const char *mark = mix_of(p) == DIRECTION_READ
					   ? level_theory_mark(p, levels[i], threads, beta)
					   : "";
		snprintf(line->text, sizeof(line->text), "%s, %s %s GB/s%s%s",
			 roof_level_name(levels[i]), report_mix_words(mix_of(p)),
			 REPORT_NUMBER(beta), of, mark);
		snprintf(style, sizeof(style),
			 "class=\"roof\" data-level=\"%s\" data-threads=\"%d\" "
			 "stroke=\"%s\" stroke-width=\"%s\"",
			 roof_level_name(levels[i]), threads, own ? "#222222" : "#c4c4c4",
			 own ? "2" : "1.4");
		draw_line(p, line, own ? TURN_OWN_SLOPE : TURN_OTHER_SLOPE, own ? DARK : PALE,
			  style);
	}
}

/* Whether what reading reaches at the levels is drawn: as roof, or as ceiling of the only one. */
static bool has_reading_line(const struct picture *p)
{
	return mix_of(p) == DIRECTION_READ ||
	       (mix_of(p) == DIRECTION_BOTH && !p->view->options->levels);
}

/* The picture's roof is that of the fastest mix of reads and writes: what reading alone reaches is
 * a ceiling. */
static void reading(struct picture *p)
{
	char what[64], unit[64];
	if (!has_reading_line(p) || mix_of(p) == DIRECTION_READ)
		return;
	const enum roof_level level = roof_level_find(p->level);
	const double beta = model_level_most(p->view->profile, level, p->threads, DIRECTION_READ);
	snprintf(what, sizeof(what), "%s, %s", p->level, report_mix_words(DIRECTION_READ));
	snprintf(unit, sizeof(unit), " GB/s%s", level_theory_mark(p, level, p->threads, beta));
	if (beta < bandwidth(p, level, p->threads))
		draw_ceiling(p, add_slope(p, beta, highest_peak(p, p->threads)), what, beta, unit);
}

/* L1's bandwidth, or that of what stands in for it; 0 without any. */
static double steepest_measured(const struct picture *p, int threads)
{
	enum roof_level levels[MODEL_LEVELS];
	size_t n = svg_levels(p, levels);
	return n ? bandwidth(p, levels[n - 1], threads) : 0;
}

static void peak(struct picture *p, enum roof_precision precision, int threads)
{
	const struct roof *row = model_peak_row(p->view->profile, precision, threads);
	const double beta = steepest_measured(p, threads);
	bool main = threads == p->threads && precision == p->precision;
	char number[TEXT_NUMBER];
	struct roof_line *line = row ? add_flat(p, row->best, beta) : NULL;
	if (!line)
		return;
	snprintf(line->text, sizeof(line->text), "%s GFLOP/s %s, %s %s, %d thread%s%s",
		 text_number(number, row->best),
		 report_precision_short(roof_precision_name(precision)), report_isa_name(row->isa),
		 report_op_name(row->op), threads, threads == 1 ? "" : "s",
		 main && is_as_measured(row->theory, row->best) ? " (= theory)" : "");
	draw_line(p, line, main ? TURN_MAIN_PEAK : TURN_OTHER_PEAK, main ? DARK : PALE,
		  main ? "class=\"peak\" stroke=\"#222222\" stroke-width=\"2\""
		       : "class=\"peak\" stroke=\"#aaaaaa\" stroke-width=\"1.4\"");
}

static void peaks(struct picture *p, int threads)
{
	peak(p, p->precision, threads);
	for (size_t i = 0; i < 2; i++)
		if (common_precisions[i] != p->precision &&
		    has_peak(p, common_precisions[i], threads))
			peak(p, common_precisions[i], threads);
}

/* A ceiling is a line of its own when it is not the peak, nor what scalar code has measured for it.
 */
static bool is_own_ceiling(const struct picture *p, enum roof_isa isa, enum roof_op op, double rate)
{
	double peak = model_peak(p->view->profile, p->precision, p->threads);
	return rate > 0 && rate <= 0.97 * peak &&
	       (isa != ROOF_ISA_ANY || rate > 1.03 * compute_rate(p, ROOF_ISA_SCALAR, op));
}

/* What code of a kind reaches at most: without FMA, without vectors; or, where a point is above the
 * peak, with additions beside its FMAs, where a core has adders for them. */
static void ceilings(struct picture *p)
{
	static const struct {
		enum roof_isa isa;
		enum roof_op op;
		const char *text;
	} lower[] = {
		{ROOF_ISA_ANY, ROOF_OP_ADD, "additions alone"},
		{ROOF_ISA_SCALAR, ROOF_OP_FMA, "scalar FMA"},
		{ROOF_ISA_SCALAR, ROOF_OP_ADD, "scalar additions"},
	};
	const double steepest = steepest_measured(p, p->threads),
		     mixed = compute_rate(p, ROOF_ISA_ANY, MIXED_OP);
	const double peak = model_peak(p->view->profile, p->precision, p->threads);
	if (mixed > 1.03 * peak && svg_highest_point(p) > peak)
		draw_ceiling(p, add_flat(p, mixed, steepest), "FMAs and as many additions", mixed,
			     "");
	for (size_t i = 0; i < sizeof(lower) / sizeof(*lower); i++) {
		double rate = compute_rate(p, lower[i].isa, lower[i].op);
		if (is_own_ceiling(p, lower[i].isa, lower[i].op, rate))
			draw_ceiling(p, add_flat(p, rate, steepest), lower[i].text, rate, "");
	}
}

/* ---- theory ---- */

static void draw_theory(struct picture *p, struct roof_line *line, const char *what, double rate,
			const char *unit)
{
	if (!line)
		return;
	snprintf(line->text, sizeof(line->text), "%s %s %s", what, REPORT_NUMBER(rate), unit);
	draw_line(p, line, TURN_THEORY, THEORY_COLOUR, "class=\"theory\" " THEORY_STROKE);
}

/* What the makers' documents say of the main precision's peak and of the levels that are drawn. */
static void theory(struct picture *p)
{
	enum roof_level levels[MODEL_LEVELS];
	const size_t n = svg_levels(p, levels);
	const double peak = svg_theory(p), top = fmax(peak, highest_peak(p, p->threads));
	if (peak > 0 &&
	    !is_as_measured(peak, model_peak(p->view->profile, p->precision, p->threads)))
		draw_theory(p, add_flat(p, peak, steepest_measured(p, p->threads)), "theory", peak,
			    "GFLOP/s");
	for (size_t i = 0; i < n; i++) {
		const double beta = model_level_theory(p->view->profile, levels[i], p->threads),
			     read = model_level_most(p->view->profile, levels[i], p->threads,
						     DIRECTION_READ);
		/* beside other mixes it would be taken for theirs; of memory it is of all */
		const bool fits = has_reading_line(p) || levels[i] == ROOF_LEVEL_DRAM;
		char what[64];
		snprintf(what, sizeof(what), "%s%s, theory", roof_level_name(levels[i]),
			 levels[i] == ROOF_LEVEL_DRAM ? "" : " reading");
		if (beta > 0 && fits && !is_as_measured(beta, read))
			draw_theory(p, add_slope(p, beta, top), what, beta, "GB/s");
	}
}

bool svg_has_theory_line(const struct picture *p)
{
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].turn == TURN_THEORY)
			return true;
	return false;
}

/* ---- custom roofs: a stated rate from the steepest bandwidth on, a bandwidth up to the highest
 * rate ---- */

static void custom_bounds(const struct picture *p, double *top, double *steepest)
{
	const struct profile *profile = p->view->profile;
	*top = most_peak(p);
	*steepest = fmax(steepest_measured(p, p->threads), steepest_measured(p, p->other_threads));
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *roof = &profile->custom_roofs[i];
		double *bound = is_rate(roof) ? top : steepest;
		if (svg_custom_is_drawn(p, roof))
			*bound = fmax(*bound, roof->value);
	}
}

static void value_text(const struct custom_roof *roof, char *text, size_t size)
{
	char number[TEXT_NUMBER];
	snprintf(text, size, "%s %s", text_number(number, roof->value),
		 is_rate(roof) ? "GFLOP/s" : "GB/s");
}

static void draw_custom(const struct picture *p, const struct roof_line *line)
{
	const struct custom_roof *roof = line->custom;
	char value[64];
	value_text(roof, value, sizeof(value));
	fprintf(p->out,
		"<line class=\"custom\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" "
		"stroke=\"" CUSTOM_COLOUR "\" " CUSTOM_STROKE
		" data-value=\"%.9g\" data-unit=\"%s\" data-name=\"",
		line->x1, line->y1, line->x2, line->y2, roof->value,
		is_rate(roof) ? "GFLOP/s" : "GB/s");
	text_write_xml(p->out, roof->name);
	fputs("\"><title>", p->out);
	text_write_xml(p->out, roof->name);
	fprintf(p->out, "&#10;%s, stated, not measured&#10;", value);
	text_write_xml(p->out, roof->source);
	fputs("</title></line>\n", p->out);
}

static void customs(struct picture *p)
{
	const struct profile *profile = p->view->profile;
	double top, steepest;
	custom_bounds(p, &top, &steepest);
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *roof = &profile->custom_roofs[i];
		if (!svg_custom_is_drawn(p, roof))
			continue;
		struct roof_line *line = is_rate(roof) ? add_flat(p, roof->value, steepest)
						       : add_slope(p, roof->value, top);
		char value[64], *brief = text_shorten(roof->name, TEXT_COLUMNS);
		if (line && brief) {
			line->custom = roof;
			line->colour = CUSTOM_COLOUR;
			line->turn = TURN_CUSTOM;
			value_text(roof, value, sizeof(value));
			snprintf(line->text, sizeof(line->text), "%s %s", brief, value);
			draw_custom(p, line);
		}
		free(brief);
	}
}

/* ---- labels ---- */

#define MAX_BOXES 64 /* of one label */

/* True where the segment from (x1, y1) to (x2, y2) meets the box (Liang and Barsky). */
static bool meets(const struct roof_line *line, const struct box *box)
{
	const double dx = line->x2 - line->x1, dy = line->y2 - line->y1;
	const double step[4] = {-dx, dx, -dy, dy};
	const double room[4] = {line->x1 - box->left, box->right - line->x1, line->y1 - box->top,
				box->bottom - line->y1};
	double from = 0, to = 1;
	for (int i = 0; i < 4; i++) {
		if (step[i] == 0 && room[i] < 0)
			return false;
		if (step[i] < 0)
			from = fmax(from, room[i] / step[i]);
		else if (step[i] > 0)
			to = fmin(to, room[i] / step[i]);
	}
	return from <= to;
}

/* Which lines a label may stand across.  Text across a line of the other direction, or a thin
 * rising one, hides little of it; along another of its own direction it hides what it names. */
enum crossing { CROSS_NONE, CROSS_OTHER_DIRECTION, CROSS_ANY };

static bool may_cross(const struct roof_line *self, const struct roof_line *other,
		      enum crossing crossing)
{
	return self == other || crossing == CROSS_ANY ||
	       (crossing == CROSS_OTHER_DIRECTION &&
		(self->rising != other->rising || (self->rising && other->turn >= TURN_CEILING)));
}

static bool is_free(const struct picture *p, const struct roof_line *self, const struct box *box,
		    enum crossing crossing)
{
	if (box->left < LEFT + 2 || box->right > RIGHT - 2 || box->top < TOP ||
	    box->bottom > BOTTOM)
		return false;
	const struct box room = {box->left - 1, box->top - 1, box->right + 1, box->bottom + 1};
	for (size_t i = 0; i < p->n_obstacles; i++)
		if (box_overlaps(&p->obstacles[i], &room))
			return false;
	bool points =
		self->custom || crossing != CROSS_ANY; /* what is stated has the legend, too */
	for (size_t i = 0; i < p->n_points && points; i++)
		if (label_covers(box, &p->labels[i]))
			return false;
	for (size_t i = 0; i < p->n_lines; i++)
		if (!may_cross(self, &p->lines[i], crossing) && meets(&p->lines[i], box))
			return false;
	return true;
}

/* Takes the place when all boxes are free. */
static bool take(struct picture *p, const struct roof_line *self, const struct box *boxes, size_t n,
		 enum crossing crossing)
{
	for (size_t i = 0; i < n; i++)
		if (!is_free(p, self, &boxes[i], crossing))
			return false;
	for (size_t i = 0; i < n && p->n_obstacles < MAX_OBSTACLES; i++)
		p->obstacles[p->n_obstacles++] = boxes[i];
	return true;
}

/* Text along a rising line from a share of it on, above or below. */
static bool rising_label(struct picture *p, const struct roof_line *line, double along, bool above,
			 enum crossing crossing)
{
	double x = line->x1 + (line->x2 - line->x1) * along,
	       y = line->y1 + (line->y2 - line->y1) * along;
	double angle = atan2(line->y2 - line->y1, line->x2 - line->x1), side = above ? 8.5 : -8.5;
	double length = (double)text_columns(line->text) * COLUMN_WIDTH;
	struct box boxes[MAX_BOXES];
	size_t n = 0;
	if (hypot(line->x2 - x, line->y2 - y) <
	    length) /* it would go on where the line has ended */
		return false;
	for (double at = 0; at < length && n < MAX_BOXES; at += FONT, n++) {
		double cx = x + cos(angle) * at + sin(angle) * side;
		double cy = y + sin(angle) * at - cos(angle) * side;
		boxes[n] = (struct box){cx - 6, cy - 6, cx + 6, cy + 6};
	}
	if (!take(p, line, boxes, n, crossing))
		return false;
	fprintf(p->out,
		"<text class=\"halo\" transform=\"translate(%.1f %.1f) rotate(%.2f)\" dy=\"%s\" "
		"fill=\"%s\">",
		x, y, angle * 180 / M_PI, above ? "-4" : "13", line->colour);
	text_write_xml(p->out, line->text);
	fputs("</text>\n", p->out);
	return true;
}

/* Text that ends at `right`, above or below a level line. */
static bool flat_label(struct picture *p, const struct roof_line *line, double right, bool above,
		       enum crossing crossing)
{
	double length = (double)text_columns(line->text) * COLUMN_WIDTH, y = line->y1;
	struct box box = {right - length, above ? y - 17 : y + 2, right, above ? y - 2 : y + 17};
	char style[96];
	if (!take(p, line, &box, 1, crossing))
		return false;
	snprintf(style, sizeof(style), "class=\"halo\" text-anchor=\"end\" fill=\"%s\"",
		 line->colour);
	svg_text(p, right, above ? y - 5 : y + 14, style, "%s", line->text);
	return true;
}

static bool place_rising(struct picture *p, const struct roof_line *line, enum crossing crossing)
{
	for (int above = 1; above >= 0; above--)
		for (double along = 0.04; along < 0.9; along += 0.03)
			if (rising_label(p, line, along, above, crossing))
				return true;
	return false;
}

static bool place_flat(struct picture *p, const struct roof_line *line, enum crossing crossing)
{
	for (double right = RIGHT - 6; right > line->x1 + 40; right -= 20)
		if (flat_label(p, line, right, true, crossing) ||
		    flat_label(p, line, right, false, crossing))
			return true;
	return false;
}

/* A label may stand across lines where there is no other room, never across another label. */
static bool place(struct picture *p, const struct roof_line *line)
{
	for (int crossing = CROSS_NONE; crossing <= CROSS_ANY; crossing++)
		if ((line->rising ? place_rising : place_flat)(p, line, (enum crossing)crossing))
			return true;
	return false;
}

/* Where there is no room for a custom roof's name, its value leads to the name in the legend. */
static void label(struct picture *p, struct roof_line *line)
{
	line->labelled = place(p, line);
	if (line->labelled || !line->custom)
		return;
	value_text(line->custom, line->text, sizeof(line->text));
	place(p, line);
}

void svg_roofs(struct picture *p)
{
	const bool many = p->other_threads != p->threads;
	if (many)
		slopes(p, p->other_threads);
	slopes(p, p->threads);
	reading(p);
	if (many)
		peaks(p, p->other_threads);
	peaks(p, p->threads);
	ceilings(p);
	theory(p);
	customs(p);
	for (int turn = 0; turn < TURNS; turn++)
		for (size_t i = 0; i < p->n_lines; i++)
			if (p->lines[i].turn == (enum label_turn)turn)
				label(p, &p->lines[i]);
}

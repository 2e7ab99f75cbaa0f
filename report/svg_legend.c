/* Around the plot: title, legend, and the colours that it explains. */
#include "report/svg_parts.h"

#include "report/text.h"

#include <math.h>
#include <stdlib.h>

/* Okabe and Ito's colours, told apart with any kind of colour vision. */
static const char *const colours[] = {
	[BOUND_UNKNOWN] = "#777777", [BOUND_UNCOUNTED] = "#777777", [BOUND_MEMORY] = "#0072b2",
	[BOUND_COMPUTE] = "#d55e00", [BOUND_BALANCED] = "#009e73", [BOUND_ISSUE] = "#e69f00",
	[BOUND_LATENCY] = "#cc79a7",
};
static const char *const meanings[] = {
	[BOUND_UNKNOWN] = "no roof", [BOUND_UNCOUNTED] = "uncounted", [BOUND_MEMORY] = "memory",
	[BOUND_COMPUTE] = "compute", [BOUND_BALANCED] = "balanced", [BOUND_ISSUE] = "instruction issue",
	[BOUND_LATENCY] = "latency",
};

const char *svg_colour(enum model_bound bound)
{
	return colours[bound];
}

void svg_text(FILE *out, double x, double y, const char *attributes, const char *text)
{
	fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" %s>", x, y, attributes);
	text_write_xml(out, text);
	fputs("</text>\n", out);
}

void svg_line(FILE *out, double x1, double y1, double x2, double y2, const char *attributes)
{
	fprintf(out, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2,
		attributes);
}

static void legend_bounds(const struct picture *p, double *y)
{
	bool present[sizeof(colours) / sizeof(*colours)] = {false};
	for (size_t i = 0; i < p->n_points; i++)
		present[p->points[i].function->place.bound] = true;
	if (p->n_points)
		svg_text(p->out, LEGEND, *y, "font-weight=\"bold\"", "bound by");
	for (size_t b = 0; b < sizeof(colours) / sizeof(*colours); b++) {
		if (!present[b])
			continue;
		*y += 20;
		fprintf(p->out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"%s\" fill-opacity=\"0.75\"/>\n",
			LEGEND + 7, *y - 4, colours[b]);
		svg_text(p->out, LEGEND + 22, *y, "", meanings[b]);
	}
	bool above = false, no_bytes = false;
	for (size_t i = 0; i < p->n_points; i++) {
		above |= p->points[i].function->place.above;
		no_bytes |= !p->points[i].strip && isinf(p->points[i].function->intensity);
	}
	if (p->n_points)
		svg_text(p->out, LEGEND, *y += 22, "", "area: time in the function");
	if (no_bytes)
		svg_text(p->out, LEGEND, *y += 20, "", "at the right edge: no bytes");
	if (above)
		svg_text(p->out, LEGEND, *y += 20, "fill=\"#c00000\"", "red ring: above its roof, a fault");
	*y += p->n_points ? 34 : 0;
}

static void legend_line(const struct picture *p, double *y, const char *style, const char *text)
{
	*y += 20;
	svg_line(p->out, LEGEND, *y - 4, LEGEND + 30, *y - 4, style);
	svg_text(p->out, LEGEND + 38, *y, "", text);
}

/* Labels that found no room, so that no function goes unnamed. */
static void legend_unplaced(const struct picture *p, double *y)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_points; i++) {
		if (p->labels[i].placed)
			continue;
		if (n++ == 0)
			svg_text(p->out, LEGEND, *y += 34, "font-weight=\"bold\"", "not labelled");
		char *name = text_shorten(p->points[i].name, 26);
		if (*y < BOTTOM && name)
			svg_text(p->out, LEGEND, *y += 18, "", name);
		free(name);
	}
}

void svg_legend(const struct picture *p)
{
	double y = TOP + 12;
	char text[64], number[TEXT_NUMBER];
	const struct model *model = p->view->model;
	legend_bounds(p, &y);
	if (p->view->profile->n_roofs) {
		svg_text(p->out, LEGEND, y, "font-weight=\"bold\"", "roofs (measured)");
		legend_line(p, &y, "stroke=\"#222222\" stroke-width=\"2\"", "1 thread");
		snprintf(text, sizeof(text), "%d threads", p->all_threads);
		if (p->all_threads > 1)
			legend_line(p, &y, "stroke=\"#c4c4c4\" stroke-width=\"1.4\"", text);
		legend_line(p, &y, "stroke=\"#bbbbbb\" stroke-dasharray=\"5 4\"", "ceiling, 1 thread");
		y += 34;
	}
	if (model->uncounted_ns) {
		snprintf(text, sizeof(text), "uncounted: %s %% of time", text_number(number,
			 100 * (double)model->uncounted_ns / (double)model->time_ns));
		svg_text(p->out, LEGEND, y, "", text);
	}
	legend_unplaced(p, &y);
}

void svg_head(const struct picture *p)
{
	double height = p->n_strip ? STRIP_BOTTOM + 34 : BOTTOM + 60;
	char *program = report_program(p->view->profile), *name = program ? text_shorten(program, 60) : NULL;
	char text[160], number[TEXT_NUMBER];
	fprintf(p->out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" "
		"font-size=\"%.0fpx\" fill=\"#222222\" data-x-min=\"%.9g\" data-x-max=\"%.9g\" "
		"data-y-min=\"%.9g\" data-y-max=\"%.9g\" data-left=\"%g\" data-right=\"%g\" "
		"data-top=\"%g\" data-bottom=\"%g\">\n"
		"<style>.halo{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:round}"
		".label{font-size:11.5px}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n", WIDTH, height, WIDTH, height,
		FONT, p->x_min, p->x_max, p->y_min, p->y_max, LEFT, RIGHT, TOP, BOTTOM);
	fputs("<text x=\"78\" y=\"28\" font-size=\"18\" font-weight=\"bold\">", p->out);
	text_write_xml(p->out, name ? name : "");
	fputs("</text>\n", p->out);
	int threads = (int)report_number_fact(p->view->profile, "threads", 0);
	snprintf(text, sizeof(text), "%s s, %d thread%s; a level with ~ is inferred",
		 text_number(number, report_number_fact(p->view->profile, "wall_s", NAN)), threads,
		 threads == 1 ? "" : "s");
	svg_text(p->out, LEFT, 48, "fill=\"#666666\"", text);
	free(program);
	free(name);
}

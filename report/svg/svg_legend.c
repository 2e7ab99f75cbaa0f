/* Around the plot: title, legend, and the colours that it explains. */
#include "report/svg/svg_legend.h"

#include "base/text.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"
#include "report/svg/svg_roofs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void legend_bounds(const struct picture *p, double *y)
{
	bool present[BOUND_WAITING + 1] = {false};
	for (size_t i = 0; i < p->n_points; i++)
		present[p->points[i].function->place.bound] = true;
	const bool bounds = p->n_points;
	if (bounds)
		svg_text(p, LEGEND, *y, "font-weight=\"bold\"", "bound by");
	for (size_t b = 0; b < sizeof(present) / sizeof(*present); b++) {
		if (!bounds || !present[b])
			continue;
		*y += 20;
		fprintf(p->out,
			"<circle cx=\"%.1f\" cy=\"%.1f\" r=\"6\" fill=\"%s\" "
			"fill-opacity=\"0.75\"/>\n",
			LEGEND + 7, *y - 4, svg_colour((enum model_bound)b));
		svg_text(p, LEGEND + 22, *y, "", "%s", report_bound_title((enum model_bound)b));
	}
	bool above = false, no_bytes = false;
	for (size_t i = 0; i < p->n_points; i++) {
		above |= p->points[i].function->place.above;
		no_bytes |= !p->points[i].strip &&
			    report_intensity_at(p->points[i].function, p->level) > p->x.high;
	}
	if (bounds)
		svg_text(p, LEGEND, *y += 22, "", "area: time");
	if (no_bytes)
		svg_text(p, LEGEND, *y += 20, "",
			 p->level ? "at the right edge: (almost)" : "at the right edge: no bytes");
	if (no_bytes && p->level)
		svg_text(p, LEGEND, *y += 15, "", "nothing moved at %s", p->level);
	if (p->n_points && p->level)
		svg_text(p, LEGEND, *y += 20, "", "intensity at %s (%s)", p->level,
			 p->view->model->traced ? "traced" : "PMU");
	if (p->n_points && p->level && p->view->options->levels)
		svg_text(p, LEGEND, *y += 20, "", "rings: at the other levels");
	if (p->view->diff)
		svg_text(p, LEGEND, *y += 20, "", "arrow: from A (hollow) to B");
	if (above)
		svg_text(p, LEGEND, *y += 20, "fill=\"#c00000\"", "red ring: above its roof");
	*y += p->n_points ? 34 : 0;
}

static void legend_line(const struct picture *p, double *y, const char *style)
{
	*y += 20;
	svg_line(p, LEGEND, *y - 4, LEGEND + 30, *y - 4, style);
}

/* The lines of theory, and of what it is not known. */
static void legend_theory(const struct picture *p, double *y)
{
	enum roof_level levels[MODEL_LEVELS];
	const size_t n = svg_levels(p, levels);
	const bool peak = svg_theory(p) > 0;
	char lacking[64] = "";
	size_t used = 0, known = peak;
	if (svg_has_theory_line(p)) {
		legend_line(p, y, THEORY_STROKE);
		svg_text(p, LEGEND + 38, *y, "", "theory, %d thread%s", p->threads,
			 p->threads == 1 ? "" : "s");
	}
	if (!peak)
		used = (size_t)snprintf(lacking, sizeof(lacking), " arithmetic");
	for (size_t i = n; i-- > 0;)
		if (model_level_theory(p->view->profile, levels[i], p->threads) > 0)
			known++;
		else
			used += (size_t)snprintf(lacking + used, sizeof(lacking) - used, "%s %s",
						 used ? "," : "", roof_level_name(levels[i]));
	if (!known)
		svg_text(p, LEGEND, *y += 20, "", "theory: not known here");
	else if (used)
		svg_text(p, LEGEND, *y += 20, "font-size=\"11\"", "theory not known:%s", lacking);
}

static void legend_measured(const struct picture *p, double *y)
{
	const double x = LEGEND + 38;
	const char *s = p->threads == 1 ? "" : "s";
	if (!p->view->profile->n_roofs)
		return;
	svg_text(p, LEGEND, *y, "font-weight=\"bold\"", "roofs (measured)");
	legend_line(p, y, "stroke=\"#222222\" stroke-width=\"2\"");
	svg_text(p, x, *y, "", "%d thread%s", p->threads, s);
	if (p->other_threads != p->threads) {
		legend_line(p, y, "stroke=\"#c4c4c4\" stroke-width=\"1.4\"");
		svg_text(p, x, *y, "", "%d thread%s", p->other_threads,
			 p->other_threads == 1 ? "" : "s");
	}
	legend_line(p, y, "stroke=\"#bbbbbb\" stroke-dasharray=\"5 4\"");
	svg_text(p, x, *y, "", "ceiling, %d thread%s", p->threads, s);
	legend_theory(p, y);
	*y += 34;
}

/* A name in one line, or in two where a space lets it. */
static void legend_name(const struct picture *p, double *y, char *name)
{
	char *split = NULL, *space = text_columns(name) > 26 ? strchr(name, ' ') : NULL;
	for (; space; space = strchr(space + 1, ' ')) {
		*space = '\0';
		bool fits = text_columns(name) <= 26;
		*space = ' ';
		split = fits ? space : split;
	}
	if (split)
		*split = '\0';
	svg_text(p, LEGEND, *y += 20, "fill=\"" CUSTOM_COLOUR "\"", "%s", name);
	char *rest = split ? text_shorten(split + 1, 26) : NULL;
	if (rest)
		svg_text(p, LEGEND, *y += 15, "fill=\"" CUSTOM_COLOUR "\"", "%s", rest);
	free(rest);
}

/* A custom roof without a label in the plot. */
static void legend_custom(const struct picture *p, double *y, const struct custom_roof *roof,
			  bool drawn)
{
	char number[TEXT_NUMBER];
	char *name = text_shorten(roof->name, strchr(roof->name, ' ') ? 50 : 26);
	if (name)
		legend_name(p, y, name);
	svg_text(p, LEGEND + 12, *y += 15, "fill=\"" CUSTOM_COLOUR "\" font-size=\"11\"", "%s %s%s",
		 text_number(number, roof->value),
		 strcmp(roof->unit, "GFLOP/s") == 0 ? "GFLOP/s" : "GB/s",
		 drawn ? "" : ", not drawn");
	free(name);
}

static bool has_label(const struct picture *p, const struct custom_roof *roof)
{
	for (size_t i = 0; i < p->n_lines; i++)
		if (p->lines[i].custom == roof)
			return p->lines[i].labelled;
	return false;
}

static void legend_stated(const struct picture *p, double *y)
{
	const struct profile *profile = p->view->profile;
	size_t more = 0;
	if (!profile->n_custom_roofs)
		return;
	svg_text(p, LEGEND, *y, "font-weight=\"bold\"", "roofs (stated)");
	legend_line(p, y, "stroke=\"" CUSTOM_COLOUR "\" " CUSTOM_STROKE);
	svg_text(p, LEGEND + 38, *y, "", "not measured here");
	for (size_t i = 0; i < profile->n_custom_roofs; i++) {
		const struct custom_roof *roof = &profile->custom_roofs[i];
		if (has_label(p, roof))
			continue;
		if (*y < BOTTOM - 80)
			legend_custom(p, y, roof, svg_custom_is_drawn(p, roof));
		else
			more++;
	}
	if (more)
		svg_text(p, LEGEND, *y += 20, "fill=\"" CUSTOM_COLOUR "\"", "and %zu more", more);
	*y += 34;
}

/* Labels that found no room, so that no function goes unnamed. */
static void legend_unplaced(const struct picture *p, double *y)
{
	size_t n = 0;
	for (size_t i = 0; i < p->n_points; i++) {
		if (p->labels[i].placed)
			continue;
		if (n++ == 0)
			svg_text(p, LEGEND, *y += 34, "font-weight=\"bold\"", "not labelled");
		char *name = text_shorten(p->points[i].name, 26);
		if (*y < BOTTOM && name)
			svg_text(p, LEGEND, *y += 18, "", "%s", name);
		free(name);
	}
}

void svg_legend(const struct picture *p)
{
	double y = TOP + 12;
	char number[TEXT_NUMBER];
	const struct model *model = p->view->model;
	legend_bounds(p, &y);
	legend_measured(p, &y);
	legend_stated(p, &y);
	if (model->uncounted_ns)
		svg_text(p, LEGEND, y, "", "uncounted: %s %% of time",
			 text_number(number,
				     100 * (double)model->uncounted_ns / (double)model->time_ns));
	legend_unplaced(p, &y);
}

static const char *traced_words(const struct profile *profile)
{
	if (profile_fact_is(profile, "traffic_caches", "cold"))
		return "memory traffic traced, caches simulated, cold at each call";
	if (profile_fact_is(profile, "traffic_caches", "warm"))
		return "memory traffic traced, caches simulated, warm at each call";
	return "memory traffic traced, caches simulated";
}

/* What ran and how long, or the machine. */
static void head_text(const struct picture *p)
{
	const struct profile *profile = p->view->profile;
	const char *model = profile_get_fact(profile, "cpu_model");
	const char *core = profile_get_fact(profile, "microarchitecture");
	const bool machine = p->view->machine;
	char *title = machine ? text_clean(model && *model ? model : "this machine")
			      : report_program(profile);
	/* where it lies is nobody's concern who looks at a picture */
	char *brief = title ? text_shorten(machine ? title : report_base_name(title), 60) : NULL;
	char *family = core ? text_shorten(core, 40) : NULL;
	char number[TEXT_NUMBER];
	int threads = (int)profile_number_fact(profile, machine ? "usable_threads" : "threads", 0);
	svg_text(p, LEFT, 28, "font-size=\"18\" font-weight=\"bold\"", "%s", brief ? brief : "");
	if (machine)
		svg_text(p, LEFT, 48, "fill=\"#666666\"", "%d hardware thread%s, %s GHz%s%s",
			 threads, threads == 1 ? "" : "s",
			 text_number(number, profile_number_fact(profile, "clock_ghz", NAN)),
			 family ? ", " : "", family ? family : "");
	else
		svg_text(p, LEFT, 48, "fill=\"#666666\"", "%s s, %d thread%s; %s",
			 text_number(number, profile_number_fact(profile, "wall_s", NAN)), threads,
			 threads == 1 ? "" : "s",
			 p->level && p->view->model->traced ? traced_words(profile)
			 : p->level                         ? "memory traffic by the PMU"
							    : "a level with ~ is inferred");
	free(title);
	free(brief);
	free(family);
}

void svg_head(const struct picture *p)
{
	double height = p->n_strip ? STRIP_BOTTOM + 34 : BOTTOM + 60;
	fprintf(p->out,
		"<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
		"viewBox=\"0 0 %.0f %.0f\" font-family=\"DejaVu Sans, Verdana, Arial, sans-serif\" "
		"font-size=\"%.0fpx\" fill=\"#222222\" data-x-min=\"%.9g\" data-x-max=\"%.9g\" "
		"data-y-min=\"%.9g\" data-y-max=\"%.9g\" data-left=\"%g\" data-right=\"%g\" "
		"data-top=\"%g\" data-bottom=\"%g\">\n"
		"<style>.halo{paint-order:stroke;stroke:#ffffff;stroke-width:3px;stroke-linejoin:"
		"round}"
		".label{font-size:11.5px}</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n",
		WIDTH, height, WIDTH, height, FONT, p->x.low, p->x.high, p->y.low, p->y.high, LEFT,
		RIGHT, TOP, BOTTOM);
	head_text(p);
}

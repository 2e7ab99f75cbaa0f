/* Writes the page of a sweep. */
#include "sweep/sweep_html.h"

#include "base/text.h"
#include "report/chart/chart_svg.h"
#include "report/rows/view.h"
#include "sweep/metrics_table.h"

#include <stdlib.h>
#include <string.h>

/* SVG within HTML begins without the line that says it is XML. */
static void put_inline(const char *svg, FILE *stream)
{
	const char *begin = strstr(svg, "<svg");
	fputs("<figure>", stream);
	fputs(begin ? begin : "", stream);
	fputs("</figure>\n", stream);
}

static struct rf_error *put_plot(enum plot_kind kind, const struct gathered *gathered,
				 const struct machine *machine, const struct plot_options *options,
				 const char *program, FILE *stream)
{
	struct chart chart;
	char *svg = NULL;
	size_t size;
	struct rf_error *error = plot_chart(kind, gathered, machine, options, program, &chart);
	const bool shown = !error && plot_has_points(&chart);
	FILE *out = shown ? open_memstream(&svg, &size) : NULL;
	if (shown) {
		error = out ? chart_svg(&chart, out) : rf_error_no_memory();
		if (out && fclose(out) != 0 && !error)
			error = rf_error_no_memory();
	}
	if (shown && !error) {
		fprintf(stream, "<h2 id=\"%s\">%s</h2>\n", rf_word_of(plot_words, (int)kind),
			rf_word_of(plot_words, (int)kind));
		put_inline(svg, stream);
	}
	free(svg);
	chart_deinit(&chart);
	return error;
}

static void put_value(const struct metrics_row *row, const struct series_point *point,
		      double clock_ghz, FILE *stream)
{
	const double value = row->value(point, clock_ghz);
	fprintf(stream, "<td>%s</td>",
		!isfinite(value) ? "–"
		: row->bytes     ? REPORT_BYTES(value)
				 : REPORT_NUMBER(value));
}

/* A row for each point here, since a page is read downward. */
static void put_metrics(const struct gathered *gathered, double clock_ghz, FILE *stream)
{
	fputs("<h2 id=\"metrics\">metrics</h2>\n<table>\n<tr><th>series</th><th>point</th>",
	      stream);
	for (size_t i = 0; i < n_metrics_rows; i++)
		fprintf(stream, "<th>%s</th>", metrics_rows[i].name);
	fputs("</tr>\n", stream);
	for (size_t i = 0; i < gathered->n; i++)
		for (size_t k = 0; k < gathered->series[i].n; k++) {
			fputs("<tr><td>", stream);
			text_write_xml(stream, gathered->series[i].name);
			fputs("</td><td>", stream);
			text_write_xml(stream, gathered->series[i].points[k].label);
			fputs("</td>", stream);
			for (size_t r = 0; r < n_metrics_rows; r++)
				put_value(&metrics_rows[r], &gathered->series[i].points[k],
					  clock_ghz, stream);
			fputs("</tr>\n", stream);
		}
	fputs("</table>\n", stream);
}

struct rf_error *sweep_html(const struct gathered *gathered, const struct machine *machine,
			    const struct plot_options *options, const char *program, FILE *stream)
{
	struct rf_error *error = NULL;
	char *title = text_clean(program);
	fputs("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>", stream);
	if (title)
		text_write_xml(stream, title);
	fputs("</title><style>body{font-family:sans-serif;margin:1em}figure{margin:0}"
	      "svg{max-width:100%;height:auto}table{border-collapse:collapse;font-size:80%;"
	      "display:block;overflow-x:auto}td,th{padding:.2em .5em;text-align:right;"
	      "border-bottom:1px solid #ddd;white-space:nowrap}</style></head><body>\n<h1>",
	      stream);
	if (title)
		text_write_xml(stream, title);
	fputs("</h1>\n", stream);
	free(title);
	for (int kind = PLOT_ROOFLINE; !error && kind < N_PLOTS; kind++)
		error = put_plot((enum plot_kind)kind, gathered, machine, options, program, stream);
	put_metrics(gathered, machine->clock_ghz, stream);
	fputs("</body></html>\n", stream);
	return error;
}

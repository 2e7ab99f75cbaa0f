/* The heat map: a column for each rank, or for ranks side by side where there are many, a row for
 * each function; a cell is the darker the nearer its time is to that of the rank in which the
 * function took longest. */
#include "report/html/html_ranks.h"

#include "base/search.h"
#include "base/text.h"
#include "report/account/account.h"
#include "report/account/rank_summary.h"

#include <math.h>
#include <stdlib.h>

enum {
	MOST_ROWS = 32,
	MOST_COLUMNS = 256,
	NAME_WIDTH = 240,
	MAP_WIDTH = 720,
	ROW_HEIGHT = 16,
	NAME_COLUMNS = 34
};

struct heat {
	const struct profile *profile;
	size_t n_columns;
	uint32_t *column;         /* of each rank */
	double *ranks;            /* in each column */
	uint32_t sums[MOST_ROWS]; /* those with most time, in this order */
	size_t n_rows;
	double *time_s; /* [row][column], all its ranks together */
};

/* ---- which rows and columns ---- */

static int compare_numbers(const void *a, const void *b, void *ranks)
{
	const struct profile_rank *of = ranks;
	return rf_compare(of[*(const uint32_t *)a].number, of[*(const uint32_t *)b].number);
}

/* Ranks stand in the order of their numbers, as many in each column. */
static bool set_columns(struct heat *heat)
{
	const size_t n = heat->profile->n_ranks, each = (n + MOST_COLUMNS - 1) / MOST_COLUMNS;
	uint32_t *order = malloc((n + 1) * sizeof(*order));
	heat->n_columns = (n + each - 1) / each;
	heat->column = calloc(n + 1, sizeof(*heat->column));
	heat->ranks = calloc(heat->n_columns + 1, sizeof(*heat->ranks));
	const bool done = order && heat->column && heat->ranks;
	for (uint32_t i = 0; done && i < n; i++)
		order[i] = i;
	if (done)
		qsort_r(order, n, sizeof(*order), compare_numbers, heat->profile->ranks);
	for (size_t i = 0; done && i < n; i++) {
		heat->column[order[i]] = (uint32_t)(i / each);
		heat->ranks[i / each]++;
	}
	free(order);
	return done;
}

static int compare_times(const void *a, const void *b, void *times)
{
	const uint64_t *of = times;
	return rf_compare(of[*(const uint32_t *)b], of[*(const uint32_t *)a])
		       ?: rf_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

static bool set_rows(struct heat *heat)
{
	const struct profile *profile = heat->profile;
	uint64_t *times = calloc(profile->n_sums + 1, sizeof(*times));
	uint32_t *order = calloc(profile->n_sums + 1, sizeof(*order));
	for (size_t i = 0; times && i < profile->n_rank_times; i++)
		times[profile->rank_times[i].sum] += profile->rank_times[i].time_ns;
	for (uint32_t i = 0; order && i < profile->n_sums; i++)
		order[i] = i;
	const bool done = times && order;
	if (done && profile->n_sums)
		qsort_r(order, profile->n_sums, sizeof(*order), compare_times, times);
	for (size_t i = 0; done && i < profile->n_sums && i < MOST_ROWS && times[order[i]]; i++)
		heat->sums[heat->n_rows++] = order[i];
	free(times);
	free(order);
	return done;
}

static bool set_times(struct heat *heat)
{
	const struct profile *profile = heat->profile;
	uint32_t *row_of = malloc((profile->n_sums + 1) * sizeof(*row_of));
	heat->time_s = calloc(heat->n_rows * heat->n_columns + 1, sizeof(*heat->time_s));
	const bool done = row_of && heat->time_s;
	for (size_t i = 0; done && i < profile->n_sums; i++)
		row_of[i] = PROFILE_NONE;
	for (uint32_t i = 0; done && i < heat->n_rows; i++)
		row_of[heat->sums[i]] = i;
	for (size_t i = 0; done && i < profile->n_rank_times; i++) {
		const struct profile_rank_time *time = &profile->rank_times[i];
		if (row_of[time->sum] != PROFILE_NONE)
			heat->time_s[row_of[time->sum] * heat->n_columns +
				     heat->column[time->rank]] += (double)time->time_ns * 1e-9;
	}
	free(row_of);
	return done;
}

/* ---- drawing ---- */

static void write_row(const struct heat *heat, size_t row, FILE *out)
{
	const struct profile_sum *sum = &heat->profile->sums[heat->sums[row]];
	const double width = (double)MAP_WIDTH / (double)heat->n_columns;
	char *name = text_shorten(account_function(heat->profile, sum->function, sum->module),
				  NAME_COLUMNS);
	const size_t y = row * ROW_HEIGHT;
	double most = 0;
	for (size_t c = 0; c < heat->n_columns; c++)
		most = fmax(most, heat->time_s[row * heat->n_columns + c] / heat->ranks[c]);
	fprintf(out, "<text x=\"%d\" y=\"%zu\" text-anchor=\"end\" fill=\"currentColor\">",
		NAME_WIDTH - 6, y + 12);
	text_write_xml(out, name ? name : "?");
	fprintf(out, "</text>");
	for (size_t c = 0; c < heat->n_columns; c++) {
		const double time_s = heat->time_s[row * heat->n_columns + c] / heat->ranks[c];
		char number[TEXT_NUMBER];
		fprintf(out,
			"<rect class=\"heat\" x=\"%.2f\" y=\"%zu\" width=\"%.2f\" height=\"%d\" "
			"fill=\"#c0392b\" "
			"fill-opacity=\"%.2f\"><title>column %zu: %s s</title></rect>",
			NAME_WIDTH + (double)c * width, y, width, ROW_HEIGHT - 1,
			most > 0 ? time_s / most : 0, c + 1, text_number(number, time_s));
	}
	free(name);
	fputc('\n', out);
}

static void write_map(const struct heat *heat, FILE *out)
{
	const size_t each = (heat->profile->n_ranks + heat->n_columns - 1) / heat->n_columns;
	if (!heat->n_rows)
		return;
	fprintf(out,
		"<p>Time of functions in ranks, from rank 0 on the left: full colour is the rank "
		"that a function took "
		"longest in. %s%.0d%s</p>\n",
		each > 1 ? "A column is the mean of " : "A column is a rank",
		each > 1 ? (int)each : 0, each > 1 ? " ranks." : ".");
	fprintf(out,
		"<svg class=\"ranks\" viewBox=\"0 0 %d %zu\" width=\"100%%\" font-size=\"11\" "
		"role=\"img\" "
		"aria-label=\"time by rank and function\">\n",
		NAME_WIDTH + MAP_WIDTH, heat->n_rows * ROW_HEIGHT);
	for (size_t row = 0; row < heat->n_rows; row++)
		write_row(heat, row, out);
	fputs("</svg>\n", out);
}

static void write_summary(const struct profile *profile, const struct rank_summary *summary,
			  FILE *out)
{
	char numbers[2][TEXT_NUMBER];
	const struct rank_spread *busy = &summary->busy;
	fprintf(out,
		"<p>%zu ranks on %zu node%s. Rank %u is busy longest, for %s s, rank %u shortest, "
		"for %s s: imbalance %.0f "
		"%%.</p>\n",
		profile->n_ranks, profile->n_rank_nodes, profile->n_rank_nodes == 1 ? "" : "s",
		profile->ranks[busy->most_of].number, text_number(numbers[0], busy->most),
		profile->ranks[busy->least_of].number, text_number(numbers[1], busy->least),
		100 * busy->imbalance);
	if (summary->lives_s > 0)
		fprintf(out,
			"<p>MPI has %.0f %% of their time: waiting %.0f %%, copying %.0f %%, its "
			"own work %.0f %%.</p>\n",
			100 * summary->mpi_s / summary->lives_s,
			100 * summary->waiting_s / summary->lives_s,
			100 * summary->copying_s / summary->lives_s,
			100 * summary->other_s / summary->lives_s);
}

static void write_nodes(const struct profile *profile, FILE *out)
{
	enum { MOST_NODES = 100 };
	fputs("<table><thead><tr><th>node</th><th>ranks</th><th>busy, all "
	      "ranks</th><th>Gflop</th><th>peak, "
	      "GFLOP/s</th><th>memory, GB/s</th></tr></thead><tbody>\n",
	      out);
	for (size_t i = 0; i < profile->n_rank_nodes && i < MOST_NODES; i++) {
		const struct profile_rank_node *node = &profile->rank_nodes[i];
		char numbers[4][TEXT_NUMBER];
		fputs("<tr><td>", out);
		text_write_xml(out, node->name);
		fprintf(out,
			"</td><td>%u</td><td>%s s</td><td>%s</td><td>%s</td><td>%s</td></tr>\n",
			node->ranks, text_number(numbers[0], (double)node->time_ns * 1e-9),
			text_number(numbers[1], (double)node->flop * 1e-9),
			text_number(numbers[2], node->peak_gflops > 0 ? node->peak_gflops : NAN),
			text_number(numbers[3], node->memory_gbs > 0 ? node->memory_gbs : NAN));
	}
	fputs("</tbody></table>\n", out);
}

struct rf_error *html_write_ranks(const struct report_view *view, FILE *out)
{
	struct heat heat = {.profile = view->profile};
	struct rank_summary summary;
	if (!view->profile->n_ranks)
		return NULL;
	struct rf_error *error = rank_summary_make(view->profile, &summary);
	if (!error && !(set_columns(&heat) && set_rows(&heat) && set_times(&heat)))
		error = rf_error_no_memory();
	if (!error) {
		fputs("<section id=\"ranks\" aria-label=\"Ranks\">\n<h2>Ranks</h2>\n", out);
		write_summary(view->profile, &summary, out);
		write_map(&heat, out);
		write_nodes(view->profile, out);
		fputs("</section>\n", out);
	}
	free(heat.column);
	free(heat.ranks);
	free(heat.time_s);
	return error;
}

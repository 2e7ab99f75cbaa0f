/* Sentences about ranks, from their summary. */
#include "report/text/report_ranks.h"

#include "base/search.h"
#include "base/text.h"
#include "report/account/rank_summary.h"
#include "report/text/cells.h"
#include "report/text/terminal.h"

#include <stdlib.h>

#define MOST_LINES 10 /* nodes, and calls of MPI, by themselves */

typedef void put_line(FILE *text, const struct report_view *view,
		      const struct rank_summary *summary);

static struct rf_error *say(const struct report_view *view, const struct rank_summary *summary,
			    put_line *put, const char *lead, FILE *stream)
{
	char *line = NULL;
	size_t size;
	FILE *text = open_memstream(&line, &size);
	if (!text)
		return rf_error_no_memory();
	put(text, view, summary);
	struct rf_error *error = fclose(text) == 0 ? NULL : rf_error_no_memory();
	char *clean = error || !*line ? NULL : text_clean(line);
	if (clean)
		error = terminal_sentence(view->terminal, stream, STYLE_PLAIN, lead, clean);
	free(clean);
	free(line);
	return error;
}

static void put_ranks(FILE *text, const struct report_view *view,
		      const struct rank_summary *summary)
{
	const struct profile *profile = view->profile;
	const struct rank_spread *busy = &summary->busy;
	const size_t n = profile->n_ranks, nodes = profile->n_rank_nodes;
	fprintf(text, "%zu rank%s on %zu node%s", n, n == 1 ? "" : "s", nodes,
		nodes == 1 ? "" : "s");
	if (n > 1)
		fprintf(text,
			": rank %u is busy longest, for %s s, rank %u shortest, for %s s; "
			"imbalance %.0f %%",
			profile->ranks[busy->most_of].number, REPORT_NUMBER(busy->most),
			profile->ranks[busy->least_of].number, REPORT_NUMBER(busy->least),
			100 * busy->imbalance);
	if (nodes > 1)
		fprintf(text, " (of nodes %.0f %%: %s longest, %s shortest)",
			100 * summary->nodes.imbalance,
			profile->rank_nodes[summary->nodes.most_of].name,
			profile->rank_nodes[summary->nodes.least_of].name);
}

static void put_mpi(FILE *text, const struct report_view *view, const struct rank_summary *summary)
{
	const double all = summary->lives_s;
	if (!(all > 0))
		return;
	if (!view->profile->n_sum_mpi) {
		fputs("no call of MPI was seen", text);
		return;
	}
	fprintf(text,
		"MPI has %.0f %% of the ranks' time: waiting %.0f %%, copying %.0f %%, its own "
		"work %.0f %%",
		100 * summary->mpi_s / all, 100 * summary->waiting_s / all,
		100 * summary->copying_s / all, 100 * summary->other_s / all);
}

/* What is to be known of the figures. */
static void put_warnings(FILE *text, const struct report_view *view,
			 const struct rank_summary *summary)
{
	const size_t n = view->profile->n_ranks;
	const double size = profile_number_fact(view->profile, "rank_size", 0);
	const char *separator = "";
	if (size > (double)n) {
		fprintf(text, "INCOMPLETE: the job has %.0f ranks, and there are profiles of %zu",
			size, n);
		separator = "; ";
	}
	if (summary->n_counted < n) {
		fprintf(text, "%sthe work is that of %zu of the ranks, the time that of all",
			separator, summary->n_counted);
		separator = "; ";
	}
	if (summary->n_failed)
		fprintf(text, "%s%zu rank%s ended with another status than 0", separator,
			summary->n_failed, summary->n_failed == 1 ? "" : "s");
}

/* ---- one line each ---- */

static int compare_calls(const void *a, const void *b, void *context)
{
	const struct profile *profile = context;
	const struct profile_sum_mpi *x = &profile->sum_mpi[*(const uint32_t *)a];
	const struct profile_sum_mpi *y = &profile->sum_mpi[*(const uint32_t *)b];
	return rf_compare(y->time_ns + y->waited_ns, x->time_ns + x->waited_ns)
		       ?: rf_compare(*(const uint32_t *)a, *(const uint32_t *)b);
}

static void put_calls(FILE *text, const struct report_view *view,
		      const struct rank_summary *summary)
{
	static const char *const parts[N_MPI_PARTS] = {"its own work", "waiting", "copying"};
	const struct profile *profile = view->profile;
	uint32_t *order = calloc(profile->n_sum_mpi + 1, sizeof(*order));
	for (uint32_t i = 0; order && i < profile->n_sum_mpi; i++)
		order[i] = i;
	if (order && profile->n_sum_mpi)
		qsort_r(order, profile->n_sum_mpi, sizeof(*order), compare_calls, (void *)profile);
	for (size_t i = 0; order && i < profile->n_sum_mpi && i < MOST_LINES; i++) {
		const struct profile_sum_mpi *row = &profile->sum_mpi[order[i]];
		fprintf(text, "%s%s, %s: %s s", i ? "; " : "", row->name, parts[row->part],
			REPORT_NUMBER((double)(row->time_ns + row->waited_ns) * 1e-9));
	}
	free(order);
}

static void put_nodes(FILE *text, const struct report_view *view,
		      const struct rank_summary *summary)
{
	const struct profile *profile = view->profile;
	for (size_t i = 0; i < profile->n_rank_nodes && i < MOST_LINES; i++) {
		const struct profile_rank_node *node = &profile->rank_nodes[i];
		const double flops =
			node->wall_s > 0 ? (double)node->flop * 1e-9 / node->wall_s : 0;
		fprintf(text,
			"%s%s: %u rank%s, %s of %s GFLOP/s over its wall time, memory %s GB/s",
			i ? "; " : "", node->name, node->ranks, node->ranks == 1 ? "" : "s",
			REPORT_NUMBER(flops), REPORT_NUMBER(node->peak_gflops),
			REPORT_NUMBER(node->memory_gbs));
	}
	if (profile->n_rank_nodes > MOST_LINES)
		fprintf(text, "; %zu more in --json", profile->n_rank_nodes - MOST_LINES);
}

struct rf_error *report_ranks(const struct report_view *view, FILE *stream)
{
	struct rank_summary summary;
	if (!view->profile->n_ranks)
		return NULL;
	struct rf_error *error = rank_summary_make(view->profile, &summary)
		?: say(view, &summary, put_ranks, "  ", stream) ?: say(view, &summary, put_mpi, "  ", stream)
		?: say(view, &summary, put_warnings, "  ", stream);
	if (!error && view->options->verbose)
		error = say(view, &summary, put_calls, "  ", stream)
				?: say(view, &summary, put_nodes, "  ", stream);
	return error;
}

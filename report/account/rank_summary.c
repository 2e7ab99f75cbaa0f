/* Sums over the rows of ranks. */
#include "report/account/rank_summary.h"

#include <stdlib.h>
#include <string.h>

double rank_busy_s(const struct profile_rank *rank)
{
	return rank->time_ns > rank->mpi_spinning_ns
		       ? (double)(rank->time_ns - rank->mpi_spinning_ns) * 1e-9
		       : 0;
}

static void spread_add(struct rank_spread *spread, size_t n_before, uint32_t of, double value)
{
	if (!n_before || value < spread->least) {
		spread->least = value;
		spread->least_of = of;
	}
	if (!n_before || value > spread->most) {
		spread->most = value;
		spread->most_of = of;
	}
	spread->mean += value; /* the sum until the end */
}

static void spread_end(struct rank_spread *spread, size_t n)
{
	spread->mean = n ? spread->mean / (double)n : 0;
	spread->imbalance = spread->most > 0 ? 1 - spread->mean / spread->most : 0;
}

static void add_rank(const struct profile_rank *rank, struct rank_summary *summary)
{
	summary->lives_s += rank->wall_s;
	summary->waiting_s += (double)rank->mpi_waiting_ns * 1e-9;
	summary->copying_s += (double)rank->mpi_copying_ns * 1e-9;
	summary->other_s += (double)rank->mpi_other_ns * 1e-9;
	summary->counted_flop += (double)rank->flop;
	summary->counted_instructions += (double)rank->instructions;
	summary->n_counted += rank->counted;
	summary->n_once += rank->once;
	summary->n_failed += rank->exit_status[0] && strcmp(rank->exit_status, "0") != 0;
}

struct rf_error *rank_summary_make(const struct profile *profile, struct rank_summary *summary)
{
	double *of_node = calloc(profile->n_rank_nodes + 1, sizeof(*of_node));
	*summary = (struct rank_summary){0};
	if (!of_node)
		return rf_error_no_memory();
	for (uint32_t i = 0; i < profile->n_ranks; i++) {
		const struct profile_rank *rank = &profile->ranks[i];
		const double busy_s = rank_busy_s(rank);
		add_rank(rank, summary);
		spread_add(&summary->busy, i, i, busy_s);
		of_node[rank->node] += busy_s;
	}
	for (uint32_t i = 0; i < profile->n_rank_nodes; i++) {
		const uint32_t ranks = profile->rank_nodes[i].ranks;
		spread_add(&summary->nodes, i, i, ranks ? of_node[i] / ranks : 0);
	}
	spread_end(&summary->busy, profile->n_ranks);
	spread_end(&summary->nodes, profile->n_rank_nodes);
	summary->mpi_s = summary->waiting_s + summary->copying_s + summary->other_s;
	free(of_node);
	return NULL;
}

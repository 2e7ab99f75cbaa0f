/* Rows of the profile, times in seconds. */
#include "report/json/json_ranks.h"

#include "report/account/rank_summary.h"

static double seconds(uint64_t ns)
{
	return (double)ns * 1e-9;
}

static void put_rank(struct json_writer *out, const struct profile *profile,
		     const struct profile_rank *rank)
{
	put_object(out, NULL);
	put_count(out, "rank", rank->number);
	put_text(out, "node", profile->rank_nodes[rank->node].name);
	put_text(out, "file", rank->file);
	put_text(out, "exit_status", rank->exit_status[0] ? rank->exit_status : NULL);
	put_flag(out, "counted", rank->counted);
	put_flag(out, "once", rank->once);
	put_real(out, "wall_s", rank->wall_s);
	put_real(out, "cpu_time_s", seconds(rank->time_ns));
	put_real(out, "busy_s", rank_busy_s(rank));
	put_real(out, "kernel_s", seconds(rank->kernel_ns));
	put_real(out, "waiting_s", seconds(rank->waited_ns));
	put_real(out, "runnable_s", seconds(rank->ready_ns));
	put_real(out, "mpi_waiting_s", seconds(rank->mpi_waiting_ns));
	put_real(out, "mpi_spinning_s", seconds(rank->mpi_spinning_ns));
	put_real(out, "mpi_copying_s", seconds(rank->mpi_copying_ns));
	put_real(out, "mpi_other_s", seconds(rank->mpi_other_ns));
	put_count(out, "samples", rank->samples);
	put_count(out, "flop", rank->flop);
	put_count(out, "load_bytes", rank->load_bytes);
	put_count(out, "store_bytes", rank->store_bytes);
	put_count(out, "instructions", rank->instructions);
	put_end(out);
}

static void put_node(struct json_writer *out, const struct profile_rank_node *node)
{
	put_object(out, NULL);
	put_text(out, "node", node->name);
	put_text(out, "cpu_model", node->cpu_model);
	put_count(out, "ranks", node->ranks);
	put_count(out, "usable_threads", node->usable_threads);
	put_real(out, "memory_gbytes_per_s", node->memory_gbs);
	put_real(out, "peak_gflops", node->peak_gflops);
	put_real(out, "wall_s", node->wall_s);
	put_real(out, "cpu_time_s", seconds(node->time_ns));
	put_count(out, "flop", node->flop);
	put_count(out, "load_bytes", node->load_bytes);
	put_count(out, "store_bytes", node->store_bytes);
	put_count(out, "instructions", node->instructions);
	put_end(out);
}

static void put_spread(struct json_writer *out, const char *key, const struct rank_spread *spread)
{
	put_object(out, key);
	put_real(out, "least_s", spread->least);
	put_real(out, "mean_s", spread->mean);
	put_real(out, "most_s", spread->most);
	put_count(out, "least_of", spread->least_of);
	put_count(out, "most_of", spread->most_of);
	put_real(out, "imbalance", spread->imbalance);
	put_end(out);
}

/* null where memory is short, too. */
static void put_summary(struct json_writer *out, const char *key, const struct profile *profile)
{
	struct rank_summary summary;
	struct rf_error *error = profile->n_ranks ? rank_summary_make(profile, &summary) : NULL;
	if (error || !profile->n_ranks) {
		rf_error_destroy(error);
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_spread(out, "busy", &summary.busy);
	put_spread(out, "nodes", &summary.nodes);
	put_real(out, "lives_s", summary.lives_s);
	put_real(out, "mpi_s", summary.mpi_s);
	put_real(out, "mpi_waiting_s", summary.waiting_s);
	put_real(out, "mpi_copying_s", summary.copying_s);
	put_real(out, "mpi_other_s", summary.other_s);
	put_count(out, "counted_ranks", summary.n_counted);
	put_count(out, "once_ranks", summary.n_once);
	put_count(out, "failed_ranks", summary.n_failed);
	put_end(out);
}

static void put_mpi(struct json_writer *out, const char *key, const struct profile *profile)
{
	static const char *const parts[N_MPI_PARTS] = {
		[MPI_OTHER] = "other", [MPI_WAITING] = "waiting", [MPI_COPYING] = "copying"};
	put_array(out, key);
	for (size_t i = 0; i < profile->n_sum_mpi; i++) {
		const struct profile_sum_mpi *row = &profile->sum_mpi[i];
		put_object(out, NULL);
		put_text(out, "call", row->name);
		put_text(out, "part", parts[row->part]);
		put_count(out, "samples", row->samples);
		put_real(out, "cpu_time_s", seconds(row->time_ns));
		put_real(out, "asleep_s", seconds(row->waited_ns));
		put_end(out);
	}
	put_end(out);
}

void report_json_ranks(struct json_writer *out, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	put_array(out, "ranks");
	for (size_t i = 0; i < profile->n_ranks; i++)
		put_rank(out, profile, &profile->ranks[i]);
	put_end(out);
	put_array(out, "rank_nodes");
	for (size_t i = 0; i < profile->n_rank_nodes; i++)
		put_node(out, &profile->rank_nodes[i]);
	put_end(out);
	put_summary(out, "rank_summary", profile);
	put_mpi(out, "mpi", profile);
}

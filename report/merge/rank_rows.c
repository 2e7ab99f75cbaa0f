/* Sums of one rank, from its sums by function. */
#include "report/merge/rank_rows.h"

#include "base/array.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void add_work(const struct profile *profile, struct profile_rank *rank)
{
	for (size_t i = 0; i < profile->n_sums; i++) {
		const struct profile_sum *sum = &profile->sums[i];
		rank->flop += sum->flop;
		rank->load_bytes += sum->load_bytes;
		rank->store_bytes += sum->store_bytes;
		rank->instructions += sum->instructions;
	}
	rank->counted = rank->instructions > 0;
}

static void add_times(const struct profile *profile, struct profile_rank *rank)
{
	for (size_t i = 0; i < profile->n_sum_times; i++) {
		const struct profile_sum_time *time = &profile->sum_times[i];
		const uint32_t function = profile->sums[time->sum].function;
		rank->time_ns += time->time_ns;
		rank->samples += time->samples;
		if (function != PROFILE_NONE &&
		    profile_is_kernel(profile, profile->functions[function].module))
			rank->kernel_ns += time->time_ns;
	}
	for (size_t i = 0; i < profile->n_thread_times; i++) {
		rank->waited_ns += profile->thread_times[i].waited_ns;
		rank->ready_ns += profile->thread_times[i].ready_ns;
	}
	for (size_t i = 0; i < profile->n_sum_mpi; i++) {
		const struct profile_sum_mpi *mpi = &profile->sum_mpi[i];
		uint64_t *const parts[N_MPI_PARTS] = {[MPI_OTHER] = &rank->mpi_other_ns,
						      [MPI_WAITING] = &rank->mpi_waiting_ns,
						      [MPI_COPYING] = &rank->mpi_copying_ns};
		*parts[mpi->part] += mpi->time_ns + mpi->waited_ns;
		rank->mpi_spinning_ns += mpi->part == MPI_WAITING ? mpi->time_ns : 0;
	}
}

/* ---- nodes ---- */

static struct profile_rank_node *find_node(struct profile *into, const char *name)
{
	for (size_t i = into->n_rank_nodes; i > 0;
	     i--) /* ranks of a node mostly follow each other */
		if (strcmp(into->rank_nodes[i - 1].name, name) == 0)
			return &into->rank_nodes[i - 1];
	const char *text[2] = {strdup(name), strdup("")};
	const struct profile_rank_node fresh = {.name = (char *)text[0],
						.cpu_model = (char *)text[1]};
	if (text[0] && text[1] &&
	    rf_array_push(into->rank_nodes, into->n_rank_nodes, into->cap_rank_nodes, fresh))
		return &into->rank_nodes[into->n_rank_nodes - 1];
	free(fresh.name);
	free(fresh.cpu_model);
	return NULL;
}

/* The best of a kind of rows. */
static double best_of(const struct profile *profile, struct roof_key key)
{
	double best = 0;
	for (size_t i = 0; i < profile->n_roofs; i++)
		if (roof_matches(&profile->roofs[i], key))
			best = fmax(best, profile->roofs[i].best);
	return best;
}

static double peak_of(const struct profile *profile)
{
	double best = 0;
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const struct roof *roof = &profile->roofs[i];
		if (roof->kind == ROOF_COMPUTE && roof->precision == ROOF_PRECISION_DOUBLE &&
		    !roof->by_node && strcmp(roof->unit, "GFLOP/s") == 0)
			best = fmax(best, roof->best);
	}
	return best;
}

/* What its ranks say of a node; one without roofs says less than another. */
static bool describe(const struct profile *profile, struct profile_rank_node *node)
{
	const char *model = profile_get_fact(profile, "cpu_model");
	const double threads = profile_number_fact(profile, "usable_threads", 0);
	if (model && *model && !*node->cpu_model) {
		char *copy = strdup(model);
		if (!copy)
			return false;
		free(node->cpu_model);
		node->cpu_model = copy;
	}
	node->usable_threads = (uint32_t)fmax(node->usable_threads, threads);
	node->memory_gbs = fmax(node->memory_gbs,
				best_of(profile, roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM)));
	node->peak_gflops = fmax(node->peak_gflops, peak_of(profile));
	return true;
}

static bool add_to_node(const struct profile *profile, const struct profile_rank *rank,
			struct profile_rank_node *node)
{
	node->ranks++;
	node->wall_s = fmax(node->wall_s, rank->wall_s);
	node->time_ns += rank->time_ns;
	node->flop += rank->flop;
	node->load_bytes += rank->load_bytes;
	node->store_bytes += rank->store_bytes;
	node->instructions += rank->instructions;
	return describe(profile, node);
}

/* ---- ranks ---- */

static struct rf_error *take_number(struct rank_rows *rows, const struct profile *into,
				    const struct profile *profile, const char *file,
				    uint32_t *number)
{
	long long known = (long long)into->n_ranks;
	profile_count_fact(profile, "rank", &known);
	*number = (uint32_t)known;
	const uint32_t *there = u64_map_find(&rows->numbers, (uint64_t)*number + 1);
	if (there)
		return rf_error_create(RF_EINPUT, "name the profiles of one job",
				       "%s and %s are both of rank %u", into->ranks[*there].file,
				       file, *number);
	return u64_map_set(&rows->numbers, (uint64_t)*number + 1, (uint32_t)into->n_ranks)
		       ? NULL
		       : rf_error_no_memory();
}

struct rf_error *rank_rows_add(struct rank_rows *rows, struct profile *into,
			       const struct profile *profile, const char *file, uint32_t *out)
{
	const char *node =
		profile_get_fact(profile, "rank_node") ?: profile_get_fact(profile, "hostname");
	const char *status = profile_get_fact(profile, "exit_status");
	struct profile_rank rank = {
		.once = profile_flag_fact(profile, "once"),
		.wall_s = fmin(profile_number_fact(profile, "wall_s", 0), 1e24),
	};
	struct rf_error *error = take_number(rows, into, profile, file, &rank.number);
	if (error)
		return error;
	add_work(profile, &rank);
	add_times(profile, &rank);
	rows->counted = rank.counted;
	struct profile_rank_node *of = find_node(into, node ? node : "?");
	if (!of || !add_to_node(profile, &rank, of))
		return rf_error_no_memory();
	rank.node = (uint32_t)(of - into->rank_nodes);
	rank.file = strdup(file);
	rank.exit_status = strdup(status ? status : "");
	*out = (uint32_t)into->n_ranks;
	if (rank.file && rank.exit_status &&
	    rf_array_push(into->ranks, into->n_ranks, into->cap_ranks, rank))
		return NULL;
	free(rank.file);
	free(rank.exit_status);
	return rf_error_no_memory();
}

void rank_rows_finish(struct profile *into)
{
	size_t counted = 0;
	double threads = 0;
	for (size_t i = 0; i < into->n_ranks; i++)
		counted += into->ranks[i].counted;
	for (size_t i = 0; i < into->n_rank_nodes; i++)
		threads += into->rank_nodes[i].usable_threads;
	profile_set_fact(into, "ranks_merged", "%zu", into->n_ranks);
	profile_set_fact(into, "ranks_counted", "%zu", counted);
	profile_set_fact(into, "usable_threads", "%.0f", threads);
}

void rank_rows_deinit(struct rank_rows *rows)
{
	u64_map_deinit(&rows->numbers);
}

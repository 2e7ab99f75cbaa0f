/* Runs of ranks. */
#include "tracer/run/run_ranks.h"

#include "ranks/node_turn.h"
#include "tracer/run/run_roofs.h"

#include <string.h>

struct rf_error *run_ranks_adjust(const char *list, struct run_options *options)
{
	const struct rank *rank = options->rank;
	bool good = true;
	const bool listed = !list || rank_list_has(list, rank->number, &good);
	if (!good)
		return rf_error_create(RF_EINPUT, "numbers and ranges, such as 0,2-4",
				       "--ranks=%s is no list of ranks", list);
	if (!rank->known && list)
		return rf_error_create(RF_EINPUT,
				       "start it so: mpirun -np 4 rfprof --ranks=0 PROGRAM",
				       "--ranks is of a program that mpirun, srun or the like "
				       "starts through rfprof");
	if (!rank->known)
		return NULL;
	if (options->repeat > 1)
		return rf_error_create(RF_EINPUT, "repeat the whole job",
				       "--repeat cannot run one rank of a job again");
	options->keep_roofs = true;
	options->quiet |= rank->number != 0;
	if (!listed && !options->once)
		options->kind = RUN_KIND_TIME;
	else if (options->kind == RUN_KIND_BOTH)
		options->once = options->counters.once = true;
	if (!listed && options->once)
		options->once = options->counters.once = false;
	if (!options->once && options->kind == RUN_KIND_BOTH)
		options->kind = RUN_KIND_TIME;
	return NULL;
}

void run_ranks_note(struct run *run)
{
	const struct rank *rank = run->options->rank;
	static const char *const kinds[] = {[RUN_KIND_TIME] = "time", [RUN_KIND_COUNT] = "count"};
	if (run->options->kind != RUN_KIND_BOTH)
		profile_set_fact(run->profile, "run_kind", "%s", kinds[run->options->kind]);
	if (!rank->known)
		return;
	profile_set_fact(run->profile, "rank", "%d", rank->number);
	profile_set_fact(run->profile, "rank_launcher", "%s", rank->launcher);
	profile_set_fact(run->profile, "rank_node", "%s", rank->node);
	if (rank->size)
		profile_set_fact(run->profile, "rank_size", "%d", rank->size);
	if (rank->local >= 0)
		profile_set_fact(run->profile, "rank_local", "%d", rank->local);
	if (rank->local_size)
		profile_set_fact(run->profile, "rank_local_size", "%d", rank->local_size);
	if (rank->job[0])
		profile_set_fact(run->profile, "rank_job", "%s", rank->job);
}

static struct rf_error *go_without_roofs(struct run *run, const char *why)
{
	profile_set_fact(run->profile, "rank_roofs", "%s", why);
	run_log_warn(&run->log, rf_error_create(RF_EUNAVAILABLE, NULL, "no roofs: %s", why));
	run->machine = (struct machine){.cpu_model = strdup("")};
	return run->machine.cpu_model ? NULL : rf_error_no_memory();
}

struct rf_error *run_ranks_roofs(struct run *run)
{
	struct node_turn turn;
	struct rf_error *error = NULL;
	node_turn_begin(run->options->rank, &turn);
	if (!run->knows_roofs)
		run_roofs_look(run);
	if (!run->knows_roofs && turn.late)
		error = go_without_roofs(
			run, "another rank of this node has measured them for too long");
	else if (!run->knows_roofs && turn.done_before)
		error = go_without_roofs(
			run,
			"another rank of this node has measured them, and they could not be kept "
			"for the others (see rfprof doctor)");
	else
		error = run_roofs_read(run);
	node_turn_end(run->options->rank, !error, &turn);
	return error;
}

const char *run_ranks_announcement(const struct run *run)
{
	const struct run_options *options = run->options;
	if (options->kind == RUN_KIND_TIME)
		return "one run, which is timed and not counted";
	if (options->kind == RUN_KIND_COUNT)
		return "one run, which is counted and not timed";
	return options->rank->known ? "each rank runs once, counted: the times include the "
				      "counting (true ones: a job with --run=time, "
				      "one with --run=count, and rfprof join)"
				    : NULL;
}

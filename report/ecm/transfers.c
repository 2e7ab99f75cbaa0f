/* From traced bytes to times of links. */
#include "report/ecm/transfers.h"

#include "report/model/model_roofs.h"

#include <math.h>

#define MOST_TO_A_LINE 8.0 /* accesses of 8 bytes */

static double or_nothing(double bytes)
{
	return isfinite(bytes) && bytes > 0 ? bytes : 0;
}

/* Lines that irregular instructions got from beyond L1, L2 and L3. */
static void find_beyond(const struct model_irregular *irregular, double beyond[3])
{
	for (int border = 0; border < 3; border++) {
		beyond[border] = 0;
		for (int level = border + 1; irregular && level < MODEL_LEVELS; level++)
			beyond[border] += irregular[level].lines * CACHE_LINE;
	}
}

struct ecm_moves ecm_moves_of(const double events[N_TRAFFIC],
			      const struct model_irregular *irregular)
{
	const double *e = events;
	double beyond[3];
	find_beyond(irregular, beyond);
	const double clean = or_nothing(e[TRAFFIC_L3_CLEAN_VICTIM] - beyond[1]);
	const double in[3] = {e[TRAFFIC_L2_READ] + e[TRAFFIC_L2_WRITE_ALLOCATE],
			      e[TRAFFIC_L3_READ] + e[TRAFFIC_L3_WRITE_ALLOCATE],
			      e[TRAFFIC_MEM_READ] + e[TRAFFIC_MEM_WRITE_ALLOCATE]};
	const double out[3] = {e[TRAFFIC_L2_WRITE_BACK], e[TRAFFIC_L3_WRITE_BACK] + clean,
			       e[TRAFFIC_MEM_WRITE_BACK] + e[TRAFFIC_MEM_NON_TEMPORAL]};
	struct ecm_moves moves;
	for (int border = 0; border < 3; border++) {
		moves.in[border] = or_nothing(in[border] - beyond[border]);
		moves.out[border] = or_nothing(out[border]);
	}
	return moves;
}

/* How many times longer each of several threads takes to read a level than one alone. */
static double slower_by(const struct profile *profile, enum roof_level level, double threads)
{
	const struct roof_key key = roof_bandwidth(ROOF_OP_READ, level);
	const double one = model_roof(profile, key, 1), all = model_roof(profile, key, threads);
	return one > 0 && all > 0 ? fmax(1, one * threads / all) : 1;
}

double ecm_narrowness(double accesses, double bytes)
{
	const double to_a_line = bytes > 0 ? accesses * CACHE_LINE / bytes : 1;
	return fmin(1, fmax(0, (to_a_line - 1) / (MOST_TO_A_LINE - 1)));
}

void ecm_transfer_seconds(const struct ecm_machine *machine, const struct profile *profile,
			  const struct ecm_moves *moves, double threads, double narrow,
			  double *seconds)
{
	double in[ECM_PARTS], out[ECM_PARTS];
	ecm_by_link(moves, machine->fit.past_l3, in, out);
	for (int p = 0; p < ECM_PARTS; p++) {
		seconds[p] = p < ECM_FIRST_LINK
				     ? 0
				     : 1e-9 * ecm_transfer(&machine->fit.links[p], in[p], out[p]);
		if (p >= ECM_FIRST_LINK && machine->narrow.rule)
			seconds[p] +=
				narrow * fmax(0, 1e-9 * ecm_transfer(&machine->narrow.links[p],
								     in[p], out[p]) -
							 seconds[p]);
	}
	if (threads > 1 && seconds[ECM_L2_L3] > 0)
		seconds[ECM_L2_L3] *= slower_by(profile, ROOF_LEVEL_L3, threads);
}

double ecm_memory_share(const struct profile *profile)
{
	const struct roof_key key = roof_bandwidth(ROOF_OP_READ, ROOF_LEVEL_DRAM);
	const struct roof_run run = model_roof_run(profile, key);
	const double one = model_roof(profile, key, 1);
	double most = one;
	for (size_t i = 0; i < run.n; i++)
		if (roof_matches(&run.roofs[i], key))
			most = fmax(most, run.roofs[i].best);
	return most > 0 ? one / most : 1;
}

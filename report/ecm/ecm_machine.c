/* From measured roofs to kernels with their traffic, and from these to links. */
#include "report/ecm/ecm_machine.h"

#include "cache/geometry.h"
#include "report/model/model_place.h"
#include "report/model/model_roofs.h"

#include <math.h>

#define LEAST_KERNELS 4 /* at each level, for a rule to be chosen by them */

/* What the kernels of docs/roofs.md move, in arrays: in LS bytes, towards the core (with what is
 * read to be overwritten) and away from it. */
static const struct stream {
	enum roof_op op;
	double bytes, in, out;
} streams[] = {
	{ROOF_OP_READ, 1, 1, 0},  {ROOF_OP_WRITE, 1, 1, 1},  {ROOF_OP_COPY, 2, 2, 1},
	{ROOF_OP_TRIAD, 3, 3, 1}, {ROOF_OP_UPDATE, 2, 1, 1}, {ROOF_OP_DAXPY, 3, 2, 1},
};
#define N_STREAMS (sizeof(streams) / sizeof(*streams))
#define N_BORDERS 3

static bool has_victim_l3(const struct profile *profile)
{
	const char *text = profile_get_fact(profile, "traffic_geometry");
	struct geometry geometry;
	struct rf_error *error = text ? geometry_parse(text, &geometry) : NULL;
	const bool victim = text && !error && geometry.n_levels == 3 &&
			    geometry.levels[2].inclusion == CACHE_VICTIM;
	rf_error_destroy(error);
	return victim;
}

/* The time of a stream for each byte of an array, of one thread, ns; NAN: not measured. */
static double time_of(const struct profile *profile, const struct stream *stream,
		      enum roof_level level)
{
	const double rate = model_roof(profile, roof_bandwidth(stream->op, level), 1);
	return rate > 0 ? stream->bytes / rate : NAN;
}

/* Kernels of one border, whose unit is a byte of an array, ns for cycles; returns how many. */
static size_t add_kernels(const struct profile *profile, bool victim_l3, int border,
			  struct ecm_kernel *kernels)
{
	static const enum roof_level levels[N_BORDERS] = {ROOF_LEVEL_L2, ROOF_LEVEL_L3,
							  ROOF_LEVEL_DRAM};
	size_t n = 0;
	for (size_t s = 0; s < N_STREAMS; s++) {
		const double l1 = time_of(profile, &streams[s], ROOF_LEVEL_L1),
			     time = time_of(profile, &streams[s], levels[border - 1]);
		if (isnan(l1) || isnan(time))
			continue;
		kernels[n] = (struct ecm_kernel){.nol = l1, .borders = border, .cycles = time};
		for (int b = 0; b < border; b++) {
			kernels[n].moves.in[b] = streams[s].in;
			kernels[n].moves.out[b] =
				b == 1 && victim_l3 ? streams[s].in : streams[s].out;
		}
		n++;
	}
	return n;
}

struct ecm_machine ecm_machine_of(const struct profile *profile)
{
	struct ecm_kernel kernels[N_BORDERS * N_STREAMS];
	struct ecm_machine machine = {.clock_ghz = model_clock_held_ghz(profile),
				      .victim_l3 = has_victim_l3(profile)};
	bool enough = true;
	for (int border = 1; border <= N_BORDERS; border++) {
		const size_t n = add_kernels(profile, machine.victim_l3, border,
					     &kernels[machine.n_kernels]);
		enough &= n >= LEAST_KERNELS || (border == 2 && n == 0); /* no L3 */
		machine.n_kernels += n;
	}
	if (!machine.n_kernels)
		return machine;
	machine.source = enough ? ECM_FITTED : ECM_PRIOR;
	if (enough) {
		ecm_fit_all(kernels, machine.n_kernels, machine.victim_l3, &machine.fit,
			    &machine.second);
	} else {
		const struct ecm_rule *prior =
			ecm_rule_of(profile_get_fact(profile, "microarchitecture"));
		machine.fit = ecm_fit_rule(prior ? prior : &ecm_rules[0], false, kernels,
					   machine.n_kernels);
	}
	return machine;
}

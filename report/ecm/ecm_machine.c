/* From measured roofs to kernels with their traffic, and from these to links. */
#include "report/ecm/ecm_machine.h"

#include "cache/geometry.h"
#include "machine/topology/theory.h"
#include "report/model/model_place.h"
#include "report/model/model_roofs.h"

#include <math.h>

#define NARROW_BYTES 8    /* of an access of ROOF_NARROW */
#define MOST_THREADS 4096 /* a file may claim any number */
#define MUCH_FASTER 1.2
#define LEAST_KERNELS 4 /* at each level, for a rule to be chosen by them */

/* What the kernels of docs/roofs.md move, in arrays: in LS bytes, towards the core (with what is
 * read to be overwritten) and away from it. */
static const struct stream {
	enum roof_op op;
	double bytes, in, out;
	double stores; /* of an element; all other bytes are loaded */
} streams[] = {
	{ROOF_OP_READ, 1, 1, 0, 0},  {ROOF_OP_WRITE, 1, 1, 1, 1},  {ROOF_OP_COPY, 2, 2, 1, 1},
	{ROOF_OP_TRIAD, 3, 3, 1, 1}, {ROOF_OP_UPDATE, 2, 1, 1, 1}, {ROOF_OP_DAXPY, 3, 2, 1, 1},
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
static double time_of(const struct profile *profile, enum roof_kind kind,
		      const struct stream *stream, enum roof_level level)
{
	struct roof_key key = roof_bandwidth(stream->op, level);
	key.kind = kind;
	const double rate = model_roof(profile, key, 1);
	return rate > 0 ? stream->bytes / rate : NAN;
}

/* What loads and stores take of a stream for each byte of an array with all data in L1, ns.  That
 * is all of the kernel's time there, but for accesses of 8 bytes: then instructions take longer,
 * which goes on beside transfers, and loads and stores are reckoned by the rates of the
 * microarchitecture. */
static double nol_of(const struct profile *profile, enum roof_kind kind,
		     const struct stream *stream)
{
	const double l1 = time_of(profile, kind, stream, ROOF_LEVEL_L1),
		     clock = model_clock_held_ghz(profile);
	const struct microarchitecture *row =
		microarchitecture_named(profile_get_fact(profile, "microarchitecture"));
	if (kind != ROOF_NARROW || !row || !(row->loads[0] > 0) || !(row->stores[0] > 0) ||
	    !(clock > 0))
		return l1;
	const double loads = stream->bytes - stream->stores,
		     cycles = fmax(loads / row->loads[0], stream->stores / row->stores[0]);
	return isnan(l1) ? l1 : fmin(l1, cycles / clock / NARROW_BYTES);
}

/* Kernels of one border, whose unit is a byte of an array, ns for cycles; returns how many. */
static size_t add_kernels(const struct profile *profile, enum roof_kind kind, bool victim_l3,
			  int border, struct ecm_kernel *kernels)
{
	static const enum roof_level levels[N_BORDERS] = {ROOF_LEVEL_L2, ROOF_LEVEL_L3,
							  ROOF_LEVEL_DRAM};
	size_t n = 0;
	for (size_t s = 0; s < N_STREAMS; s++) {
		const double l1 = nol_of(profile, kind, &streams[s]),
			     time = time_of(profile, kind, &streams[s], levels[border - 1]);
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

/* Of all borders.  *enough: so many at each as a rule can be chosen by. */
static size_t all_kernels(const struct profile *profile, enum roof_kind kind, bool victim_l3,
			  struct ecm_kernel kernels[N_BORDERS * N_STREAMS], bool *enough)
{
	size_t n = 0;
	*enough = true;
	for (int border = 1; border <= N_BORDERS; border++) {
		const size_t here = add_kernels(profile, kind, victim_l3, border, &kernels[n]);
		*enough &= here >= LEAST_KERNELS || (border == 2 && here == 0); /* no L3 */
		n += here;
	}
	return n;
}

static void fit_narrow(const struct profile *profile, struct ecm_machine *machine)
{
	struct ecm_kernel kernels[N_BORDERS * N_STREAMS];
	bool enough;
	const size_t n = all_kernels(profile, ROOF_NARROW, machine->victim_l3, kernels, &enough);
	if (enough)
		machine->narrow = ecm_fit_rule(machine->fit.rule, machine->fit.past_l3, kernels, n);
}

/* Twice as wide vectors that do hardly more in a second take two turns of the units each. */
static double vector_bytes_of(const struct profile *profile)
{
	static const struct {
		enum roof_isa isa;
		double bytes;
	} widths[] = {{ROOF_ISA_SSE2, 16}, {ROOF_ISA_AVX2, 32}, {ROOF_ISA_AVX512F, 64}};
	static const enum roof_op ops[] = {ROOF_OP_ADD, ROOF_OP_MUL, ROOF_OP_FMA};
	double bytes = 16, best = 0;
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		double rate = 0;
		for (size_t k = 0; k < sizeof(ops) / sizeof(*ops); k++)
			rate = fmax(rate, model_roof(profile,
						     roof_compute(widths[i].isa,
								  ROOF_PRECISION_DOUBLE, ops[k]),
						     1));
		if (rate > MUCH_FASTER * best)
			bytes = widths[i].bytes;
		best = fmax(best, rate);
	}
	return bytes;
}

/* 1, 2, 3, 4, 6, 8, 12, 16 … and `all`. */
static void choose_threads(double all, struct ecm_machine *machine)
{
	double n = 1;
	all = all >= 1 ? fmin(floor(all), MOST_THREADS) : 1;
	while (n < all && machine->n_threads < ECM_THREADS - 1) {
		machine->threads[machine->n_threads++] = n;
		const double power = exp2(floor(log2(n)));
		n = n < 4 ? n + 1 : n > power ? 2 * power : 1.5 * power;
	}
	machine->threads[machine->n_threads++] = all;
}

struct ecm_machine ecm_machine_of(const struct profile *profile)
{
	struct ecm_kernel kernels[N_BORDERS * N_STREAMS];
	struct ecm_machine machine = {.clock_ghz = model_clock_held_ghz(profile),
				      .vector_bytes = vector_bytes_of(profile),
				      .victim_l3 = has_victim_l3(profile)};
	bool enough;
	choose_threads(profile_number_fact(profile, "usable_threads", 1), &machine);
	machine.n_kernels =
		all_kernels(profile, ROOF_BANDWIDTH, machine.victim_l3, kernels, &enough);
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
	fit_narrow(profile, &machine);
	return machine;
}

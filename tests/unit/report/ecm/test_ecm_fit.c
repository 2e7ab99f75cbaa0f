/* Made-up machines, each with a rule of overlap and links of its own: the fit finds both. */
#include "report/ecm/ecm_fit.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define LEVELS 3

/* The kernels of docs/roofs.md: streams that come in and that go out, for each line of an array,
 * and what these take in L1. */
static const struct {
	const char *name;
	double in, out, nol;
} streams[] = {
	{"read", 1, 0, 0.5},  {"write", 1, 1, 1},  {"copy", 2, 1, 1},
	{"triad", 3, 1, 1.5}, {"update", 1, 1, 1}, {"daxpy", 2, 1, 1.5},
};
#define N_STREAMS (sizeof(streams) / sizeof(*streams))
#define N_KERNELS (LEVELS * N_STREAMS)

static void make_kernels(const struct ecm_fit *machine, bool victim_l3, double noise, uint64_t seed,
			 struct ecm_kernel kernels[N_KERNELS])
{
	for (size_t i = 0; i < N_KERNELS; i++) {
		const double in = 64 * streams[i % N_STREAMS].in,
			     out = 64 * streams[i % N_STREAMS].out;
		const int borders = 1 + (int)(i / N_STREAMS);
		struct ecm_kernel *kernel = &kernels[i];
		*kernel =
			(struct ecm_kernel){.nol = streams[i % N_STREAMS].nol, .borders = borders};
		for (int b = 0; b < borders; b++) {
			kernel->moves.in[b] = in;
			kernel->moves.out[b] = b == 1 && victim_l3 ? in : out;
		}
		const double chance =
			(double)(random_number(&seed) >> 11) / (double)(UINT64_C(1) << 53);
		kernel->cycles = ecm_predict(machine, kernel) * exp(noise * (2 * chance - 1));
	}
}

static struct ecm_fit machine_of(const struct ecm_rule *rule, bool past_l3, bool duplex)
{
	struct ecm_fit machine = {.rule = rule, .past_l3 = past_l3};
	machine.links[ECM_L1_L2] = (struct ecm_link){60, 40, duplex};
	machine.links[ECM_L2_L3] = (struct ecm_link){28, 24, duplex};
	machine.links[ECM_L2_MEMORY] = machine.links[ECM_L3_MEMORY] =
		(struct ecm_link){14, 9, false};
	return machine;
}

/* The rule itself, or one that predicts all kernels as well. */
Test(ecm_fit, each_rule_is_found)
{
	for (size_t r = 0; r < n_ecm_rules; r++)
		for (int victim = 0; victim < 2; victim++)
			for (int duplex = 0; duplex < 2; duplex++) {
				struct ecm_kernel kernels[N_KERNELS];
				struct ecm_fit best, second;
				const struct ecm_fit machine =
					machine_of(&ecm_rules[r], victim, duplex);
				make_kernels(&machine, victim, 0, 1, kernels);
				ecm_fit_all(kernels, N_KERNELS, victim, &best, &second);
				cr_expect(best.error < 0.005, "%s: error %g", ecm_rules[r].name,
					  best.error);
				cr_expect(best.rule == &ecm_rules[r] || second.error < 0.005,
					  "%s was taken for %s", ecm_rules[r].name,
					  best.rule->name);
			}
}

/* With kernels that are 3 % off at most, the rule that is taken predicts what they would be without
 * that as well as they are known. */
Test(ecm_fit, noise_is_not_followed)
{
	size_t n = 0, right = 0;
	for (size_t r = 0; r < n_ecm_rules; r++)
		for (uint64_t seed = 1; seed <= 5; seed++, n++) {
			struct ecm_kernel kernels[N_KERNELS], truth[N_KERNELS];
			struct ecm_fit best, second;
			const struct ecm_fit machine = machine_of(&ecm_rules[r], true, false);
			make_kernels(&machine, true, 0.03, seed, kernels);
			make_kernels(&machine, true, 0, seed, truth);
			ecm_fit_all(kernels, N_KERNELS, true, &best, &second);
			right += best.rule == &ecm_rules[r];
			for (size_t i = 0; i < N_KERNELS; i++) {
				const double ratio =
					ecm_predict(&best, &truth[i]) / truth[i].cycles;
				cr_expect(ratio > 0.94 && ratio < 1.06, "%s as %s: %g",
					  ecm_rules[r].name, best.rule->name, ratio);
			}
		}
	cr_expect(2 * right > n, "%zu of %zu", right, n);
}

/* A link's own bandwidth, though every measured time has the parts before it in it. */
Test(ecm_fit, links_are_told_apart)
{
	struct ecm_kernel kernels[N_KERNELS];
	const struct ecm_fit machine = machine_of(ecm_rule_of("Skylake-SP"), false, false);
	make_kernels(&machine, false, 0, 1, kernels);
	const struct ecm_fit fit = ecm_fit_rule(machine.rule, false, kernels, N_KERNELS);
	for (int p = ECM_FIRST_LINK; p < ECM_PARTS; p++) {
		cr_expect(fabs(fit.links[p].in / machine.links[p].in - 1) < 0.02, "%d: %g", p,
			  fit.links[p].in);
		cr_expect(fabs(fit.links[p].out / machine.links[p].out - 1) < 0.02, "%d: %g", p,
			  fit.links[p].out);
	}
}

Test(ecm_fit, levels_without_kernels_take_no_time)
{
	struct ecm_kernel kernels[N_KERNELS];
	const struct ecm_fit machine = machine_of(ecm_rule_of("Skylake-SP"), false, false);
	make_kernels(&machine, false, 0, 1, kernels);
	const struct ecm_fit fit = ecm_fit_rule(machine.rule, false, kernels, N_STREAMS);
	cr_expect(isinf(fit.links[ECM_L2_L3].in) && isinf(fit.links[ECM_L3_MEMORY].out));
	cr_expect(isnan(ecm_fit_rule(machine.rule, false, kernels, 0).error));
}

/* A file can claim any roofs. */
Test(ecm_fit, absurd_kernels_get_a_rule)
{
	const double absurd[] = {0, NAN, INFINITY, -1, 1e-308, 1e308};
	for (size_t i = 0; i < sizeof(absurd) / sizeof(*absurd); i++) {
		struct ecm_kernel kernels[N_KERNELS];
		struct ecm_fit best, second;
		const struct ecm_fit machine = machine_of(ecm_rule_of("Skylake-SP"), false, false);
		make_kernels(&machine, false, 0, 1, kernels);
		for (size_t k = 0; k < N_KERNELS; k++)
			kernels[k].cycles = kernels[k].nol = absurd[i];
		ecm_fit_all(kernels, N_KERNELS, true, &best, &second);
		cr_expect(best.rule && second.rule, "%g", absurd[i]);
	}
}

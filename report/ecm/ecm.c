/* The arithmetic of the ECM model, and its table of rules of overlap. */
#include "report/ecm/ecm.h"

#include <math.h>
#include <string.h>

/* That are followed one by one; a file may claim any number of them. */
#define MOST_THREADS 4096

enum {
	OL = ECM_SET(ECM_OL),
	NOL = ECM_SET(ECM_NOL),
	L1L2 = ECM_SET(ECM_L1_L2),
	L2L3 = ECM_SET(ECM_L2_L3),
	L2MEM = ECM_SET(ECM_L2_MEMORY),
	L3MEM = ECM_SET(ECM_L3_MEMORY),
};

const struct ecm_rule ecm_rules[] = {
#define SUMS(...)           \
	{                   \
		__VA_ARGS__ \
	}
#define SAME      \
	{         \
		0 \
	}
#define RULE(name, words, microarchitecture, ...) {name, words, microarchitecture, __VA_ARGS__},
#include "report/ecm/overlap_rules.def"
#undef RULE
#undef SAME
#undef SUMS
};
const size_t n_ecm_rules = sizeof(ecm_rules) / sizeof(*ecm_rules);

const struct ecm_rule *ecm_rule_of(const char *microarchitecture)
{
	for (size_t i = 0; microarchitecture && i < n_ecm_rules; i++)
		if (ecm_rules[i].microarchitecture &&
		    strcmp(ecm_rules[i].microarchitecture, microarchitecture) == 0)
			return &ecm_rules[i];
	return NULL;
}

static double or_nothing(double time)
{
	return isfinite(time) && time > 0 ? time : 0;
}

static double sum_of(const double *part, unsigned set)
{
	double sum = 0;
	for (int p = 0; p < ECM_PARTS; p++)
		sum += set & ECM_SET(p) ? or_nothing(part[p]) : 0;
	return sum;
}

struct ecm_time ecm_compose(const struct ecm_rule *rule, const double *part)
{
	const bool memory = sum_of(part, ECM_MEMORY) > 0 && rule->with_memory[0];
	const unsigned *sums = memory ? rule->with_memory : rule->sums;
	struct ecm_time time = {0};
	for (int i = 0; i < ECM_SUMS && sums[i]; i++) {
		const double sum = sum_of(part, sums[i]);
		if (sum > time.cycles)
			time = (struct ecm_time){sum, sums[i]};
	}
	for (int p = 0; p < ECM_PARTS; p++)
		if (or_nothing(part[p]) > time.cycles)
			time = (struct ecm_time){part[p], ECM_SET(p)};
	return time;
}

double ecm_transfer(const struct ecm_link *link, double in, double out)
{
	const double inward = or_nothing(in / link->in), outward = or_nothing(out / link->out);
	return link->duplex ? fmax(inward, outward) : inward + outward;
}

void ecm_by_link(const struct ecm_moves *moves, bool past_l3, double *in, double *out)
{
	memset(in, 0, ECM_PARTS * sizeof(*in));
	memset(out, 0, ECM_PARTS * sizeof(*out));
	in[ECM_L1_L2] = moves->in[0];
	out[ECM_L1_L2] = moves->out[0];
	in[ECM_L2_L3] = past_l3 ? fmax(0, moves->in[1] - moves->in[2]) : moves->in[1];
	out[ECM_L2_L3] = moves->out[1];
	in[past_l3 ? ECM_L2_MEMORY : ECM_L3_MEMORY] = moves->in[2];
	out[ECM_L3_MEMORY] = moves->out[2];
}

double ecm_with_threads(double cycles, double memory, double n)
{
	double conflict = 0; /* what a thread waits for the others */
	if (!(memory > 0) || !(n > 1))
		return cycles;
	for (double k = 1; k < n && k < MOST_THREADS; k++) {
		const double used = fmin(1, k * memory / (cycles + conflict));
		conflict = fmin(k, n - 1) * used * memory / 2;
	}
	return fmax(n * memory, cycles + conflict);
}

double ecm_saturated_by(double cycles, double memory)
{
	return memory > 0 ? cycles / memory : INFINITY;
}

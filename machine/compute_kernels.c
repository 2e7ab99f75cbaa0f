#include "machine/compute_kernels.h"

#include "machine/cpu_features.h"

#include <float.h>
#include <math.h>
#include <string.h>

#define ELEMENT_double 8
#define ELEMENT_single 4
#define ELEMENT_x87 16
#define LANES_avx512f(precision) (64 / ELEMENT_##precision)
#define LANES_avx2(precision) (32 / ELEMENT_##precision)
#define LANES_sse2(precision) (16 / ELEMENT_##precision)
#define LANES_scalar(precision) 1
#define LANES_x87(precision) 1
#define FLOP_fma 2
#define FLOP_add 1
#define FLOP_mul 1

#define DECLARE(n, isa, precision, op, needs, form, insn) \
	void rf_compute_##isa##_##precision##_##op##_##n(uint64_t, struct compute_state *);
COMPUTE_KERNELS(DECLARE)

#define ROW(n, isa_, precision_, op_, needs_, form, insn)                                     \
	{                                                                                     \
		.isa = #isa_, .precision = #precision_, .op = #op_, .needs = (needs_),        \
		.accumulators = n, .lanes = LANES_##isa_(precision_),                         \
		.flop_per_iteration =                                                         \
			n * COMPUTE_UNROLL * LANES_##isa_(precision_) * FLOP_##op_,           \
		.run = rf_compute_##isa_##_##precision_##_##op_##_##n,                        \
	},
const struct compute_kernel compute_kernels[] = { COMPUTE_KERNELS(ROW) };
const size_t n_compute_kernels = sizeof(compute_kernels) / sizeof(compute_kernels[0]);

/* Writes `value` to each element of a slot. */
static void fill_slot(const struct compute_kernel *kernel, unsigned char *slot, long double value)
{
	if (!strcmp(kernel->precision, "x87")) {
		memcpy(slot, &value, 10);
		return;
	}
	float single = value;
	double dbl = value;
	bool is_single = !strcmp(kernel->precision, "single");
	size_t size = is_single ? sizeof(single) : sizeof(dbl);
	for (size_t at = 0; at < COMPUTE_SLOT_BYTES; at += size)
		memcpy(slot + at, is_single ? (void *)&single : (void *)&dbl, size);
}

static long double one_ulp(const char *precision)
{
	if (!strcmp(precision, "single"))
		return FLT_EPSILON;
	return !strcmp(precision, "double") ? DBL_EPSILON : LDBL_EPSILON;
}

void compute_state_init(const struct compute_kernel *kernel, struct compute_state *state)
{
	const long double step = 0x1p-10L;
	long double b = step;
	if (!strcmp(kernel->op, "mul"))
		b = 1 + one_ulp(kernel->precision);
	else if (!strcmp(kernel->op, "fma"))
		b = 1 - step;
	memset(state, 0, sizeof(*state));
	fill_slot(kernel, state->b, b);
	fill_slot(kernel, state->c, step);
	for (int i = 0; i < kernel->accumulators; i++)
		fill_slot(kernel, state->accumulators[i], 1 + i * 0.125L);
}

long double compute_state_value(const struct compute_kernel *kernel,
				const struct compute_state *state, int i, int lane)
{
	const unsigned char *slot = state->accumulators[i];
	if (!strcmp(kernel->precision, "single")) {
		float single;
		memcpy(&single, slot + lane * sizeof(single), sizeof(single));
		return single;
	}
	if (!strcmp(kernel->precision, "double")) {
		double dbl;
		memcpy(&dbl, slot + lane * sizeof(dbl), sizeof(dbl));
		return dbl;
	}
	long double extended = 0;
	memcpy(&extended, slot, 10);
	return extended;
}

bool compute_state_normal(const struct compute_kernel *kernel, const struct compute_state *state)
{
	for (int i = 0; i < kernel->accumulators; i++)
		for (int lane = 0; lane < kernel->lanes; lane++) {
			long double value = compute_state_value(kernel, state, i, lane);
			/* fabsl, not isnormal: a subnormal single is normal as a long double. */
			if (!isfinite(value) || fabsl(value) < 0.5L || fabsl(value) > 1e30L)
				return false;
		}
	return true;
}

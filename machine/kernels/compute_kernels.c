/* The table of compute kernels, from the same lists as their code; what they start from, and
 * whether what they leave is right. */
#include "machine/kernels/compute_kernels.h"

#include "machine/topology/cpu_features.h"

#include <math.h>
#include <string.h>

/* The terms of roofs by their words, which the rows are made of. */
enum {
#define ROOF_ISA(name, word) ISA_##word = ROOF_ISA_##name,
#define ROOF_PRECISION(name, word) PRECISION_##word = ROOF_PRECISION_##name,
#define ROOF_OP(name, word) OP_##word = ROOF_OP_##name,
#include "machine/data/roof_terms.def"
};

/* By precision: the element of an accumulator, its bytes, and the unit. */
#define ELEMENT_half ELEMENT_HALF
#define ELEMENT_bfloat16 ELEMENT_SINGLE
#define ELEMENT_single ELEMENT_SINGLE
#define ELEMENT_double ELEMENT_DOUBLE
#define ELEMENT_x87 ELEMENT_X87
#define ELEMENT_int8 ELEMENT_INT32
#define ELEMENT_int32 ELEMENT_INT32
#define ELEMENT_int64 ELEMENT_INT64
#define BYTES_half 2
#define BYTES_bfloat16 4
#define BYTES_single 4
#define BYTES_double 8
#define BYTES_x87 16
#define BYTES_int8 4
#define BYTES_int32 4
#define BYTES_int64 8
#define UNIT_half "GFLOP/s"
#define UNIT_bfloat16 "GFLOP/s"
#define UNIT_single "GFLOP/s"
#define UNIT_double "GFLOP/s"
#define UNIT_x87 "GFLOP/s"
#define UNIT_int8 "GOP/s"
#define UNIT_int32 "GOP/s"
#define UNIT_int64 "GOP/s"

/* By width class: the elements of one accumulator that are worked on. */
#define LANES_avx512f(precision) (64 / BYTES_##precision)
#define LANES_avx2(precision) (32 / BYTES_##precision)
#define LANES_sse2(precision) (16 / BYTES_##precision)
#define LANES_scalar(precision) 1
#define LANES_x87(precision) 1
#define LANES_amx(precision) (16 * 16)

/* Products that a dot adds to one lane: elements below a 32-bit lane times rows of a tile. */
#define ELEMENTS_IN_LANE_bfloat16 2
#define ELEMENTS_IN_LANE_int8 4
#define ROWS_avx512f 1
#define ROWS_avx2 1
#define ROWS_sse2 1
#define ROWS_amx 16

/* Operations of one step on one lane; in mixed rows, of the fma steps. */
#define OPS_fma(isa, precision) 2
#define OPS_add(isa, precision) 1
#define OPS_mul(isa, precision) 1
#define OPS_div(isa, precision) 1
#define OPS_sqrt(isa, precision) 1
#define OPS_logic(isa, precision) 1
#define OPS_dot(isa, precision) (2 * ELEMENTS_IN_LANE_##precision * ROWS_##isa)
#define OPS_fma1_add1 OPS_fma
#define OPS_fma2_add1 OPS_fma
#define OPS_fma1_add2 OPS_fma

#define ACCUMULATOR_BYTES_scalar COMPUTE_SLOT_BYTES
#define ACCUMULATOR_BYTES_sse2 COMPUTE_SLOT_BYTES
#define ACCUMULATOR_BYTES_avx2 COMPUTE_SLOT_BYTES
#define ACCUMULATOR_BYTES_avx512f COMPUTE_SLOT_BYTES
#define ACCUMULATOR_BYTES_x87 COMPUTE_SLOT_BYTES
#define ACCUMULATOR_BYTES_amx COMPUTE_TILE_BYTES

#define NAME(n, n_added, isa, registers, precision, op) \
	rf_compute_##isa##_##registers##_##precision##_##op##_##n##_##n_added
#define DECLARE(n, steps, n_added, added_steps, isa, precision, op, quick, needs, form, registers, \
		...)                                                                               \
	void NAME(n, n_added, isa, registers, precision, op)(uint64_t, struct compute_state *);
COMPUTE_KERNELS(DECLARE)

#define ROW(n, steps_, n_added, added_steps_, isa_, precision_, op_, quick_, needs_, form,         \
	    registers, ...)                                                                        \
	{                                                                                          \
		.isa = (enum roof_isa)ISA_##isa_,                                                  \
		.precision = (enum roof_precision)PRECISION_##precision_,                          \
		.op = (enum roof_op)OP_##op_,                                                      \
		.quick = quick_,                                                                   \
		.needs = (needs_),                                                                 \
		.element = ELEMENT_##precision_,                                                   \
		.accumulators = (n) + (n_added),                                                   \
		.added = n_added,                                                                  \
		.steps = steps_,                                                                   \
		.added_steps = added_steps_,                                                       \
		.accumulator_bytes = ACCUMULATOR_BYTES_##isa_,                                     \
		.lanes = LANES_##isa_(precision_),                                                 \
		.ops_per_iteration =                                                               \
			LANES_##isa_(precision_) *                                                 \
			((n) * (steps_)*OPS_##op_(isa_, precision_) + (n_added) * (added_steps_)), \
		.unit = UNIT_##precision_,                                                         \
		.run = NAME(n, n_added, isa_, registers, precision_, op_),                         \
	},
const struct compute_kernel compute_kernels[] = {COMPUTE_KERNELS(ROW)};
const size_t n_compute_kernels = sizeof(compute_kernels) / sizeof(compute_kernels[0]);

static bool is_integer(const struct compute_kernel *kernel)
{
	return kernel->element == ELEMENT_INT32 || kernel->element == ELEMENT_INT64;
}

static void fill_operand(enum element element, unsigned char *operand, long double value)
{
	for (size_t at = 0; at < COMPUTE_TILE_BYTES; at += element_bytes(element))
		element_set(element, operand + at, value);
}

/* ½ unit in the last place of a number in [1, 2). */
static long double half_ulp(enum element element)
{
	static const long double halves[] = {
		[ELEMENT_HALF] = 0x1p-11L,
		[ELEMENT_SINGLE] = 0x1p-24L,
		[ELEMENT_DOUBLE] = 0x1p-53L,
		[ELEMENT_X87] = 0x1p-64L,
	};
	return halves[element];
}

static long double reciprocal(enum element element, const void *operand)
{
	return 1 / element_get(element, operand);
}

/* Operands of full significands, so that no divider or multiplier has it easier than with a
 * program's numbers.  c undoes b but for rounding.  That cannot drift: a step with b and one with c
 * together are a monotonous function f with f(2x) = 2 f(x) (mul, div) and a fixed point, 1, so that
 * no value ever passes the power of 2 below or above it (log2(3) is one of the numbers whose
 * reciprocal undoes it at 1 in each precision); the sums keep no more bits than the largest of them
 * has, and are exact from the second step on. */
static void set_float_operands(const struct compute_kernel *kernel, struct compute_state *state)
{
	enum element element = kernel->element;
	const long double log2_3 = 1.58496250072115618145L, below_1 = 1 - half_ulp(element);
	if (kernel->op == ROOF_OP_ADD) {
		fill_operand(element, state->b, log2_3);
		fill_operand(element, state->c, -log2_3);
	} else if (kernel->isa == ROOF_ISA_X87 && kernel->op == ROOF_OP_MUL) {
		fill_operand(element, state->b, 1 + log2_3 * 0x1p-32L); /* there is no c */
	} else if (kernel->op == ROOF_OP_MUL || kernel->op == ROOF_OP_DIV) {
		fill_operand(element, state->b, log2_3);
		fill_operand(element, state->c, reciprocal(element, state->b));
	} else if (kernel->op == ROOF_OP_SQRT) {
		/* The 64th root, the last of an iteration, is 1.18. */
		fill_operand(element, state->b, 50016 + 1 / 3.0L);
	} else if (kernel->op == ROOF_OP_DOT) {
		fill_operand(ELEMENT_BFLOAT16, state->b, 1.3984375L);
		fill_operand(ELEMENT_BFLOAT16, state->c, 0.7734375L);
		fill_operand(ELEMENT_BFLOAT16, state->d, -0.7734375L);
	} else { /* fma: the values alternate around 2, from at most 1.25 and 2.75 */
		fill_operand(element, state->b, -below_1);
		fill_operand(element, state->c, 4 * below_1);
	}
}

/* Odd, so that products never lose bits; bits like random ones. */
static void set_integer_operands(const struct compute_kernel *kernel, struct compute_state *state)
{
	if (kernel->op == ROOF_OP_DOT) {
		for (int i = 0; i < COMPUTE_TILE_BYTES; i++) {
			state->b[i] = (37 * i + 11) & 0x7f; /* the same signed and unsigned */
			state->c[i] = 53 * i + 7;
			state->d[i] = 91 * i + 3;
		}
		return;
	}
	fill_operand(kernel->element, state->b, (int64_t)0x9e3779b97f4a7c15);
	fill_operand(kernel->element, state->c, (int64_t)0xbf58476d1ce4e5b9);
}

/* Where accumulator i, lane `lane` lies in compute_state.accumulators. */
static size_t lane_offset(const struct compute_kernel *kernel, int i, int lane)
{
	return i * kernel->accumulator_bytes + lane * element_bytes(kernel->element);
}

void compute_state_init(const struct compute_kernel *kernel, struct compute_state *state)
{
	memset(state, 0, sizeof(*state));
	if (is_integer(kernel))
		set_integer_operands(kernel, state);
	else
		set_float_operands(kernel, state);
	int n_elements = kernel->accumulator_bytes / element_bytes(kernel->element);
	for (int i = 0; i < kernel->accumulators; i++)
		for (int e = 0; e < n_elements; e++) {
			int k = i * n_elements + e;
			/* 768 different floats from 1.25 to 2, integers all different and odd. */
			long double value = 1.25L + (k % 768 + 1 / 3.0L) / 1024;
			if (is_integer(kernel))
				value = (int64_t)((2 * k + 1) * UINT64_C(0x94d049bb133111eb));
			element_set(kernel->element,
				    state->accumulators + lane_offset(kernel, i, e), value);
		}
}

void compute_kernel_run(const struct compute_kernel *kernel, uint64_t iterations,
			struct compute_state *state)
{
	kernel->run(iterations, state);
	state->iterations += iterations;
}

long double compute_state_value(const struct compute_kernel *kernel,
				const struct compute_state *state, int i, int lane)
{
	return element_get(kernel->element, state->accumulators + lane_offset(kernel, i, lane));
}

static bool float_valid(long double value)
{
	/* Not isnormal(): a subnormal half is normal as a long double. */
	return isfinite(value) && fabsl(value) >= 0.25L && fabsl(value) <= 1e30L;
}

/* What one step of a dot of bytes adds to a lane: for tiles, row lane / 16 of b times column
 * lane % 16 of `other`, four rows of a matrix of bytes in each row of the tile. */
static uint64_t byte_dot(const struct compute_kernel *kernel, const unsigned char *b,
			 const unsigned char *other, int lane)
{
	bool tiles = kernel->isa == ROOF_ISA_AMX;
	uint64_t sum = 0;
	for (int row = 0; row < (tiles ? 16 : 1); row++) {
		const unsigned char *left = b + (tiles ? lane / 16 * 64 + row * 4 : lane * 4);
		const unsigned char *right = other + (tiles ? row * 64 + lane % 16 * 4 : lane * 4);
		for (int k = 0; k < 4; k++)
			sum += (int64_t)left[k] * (int8_t)right[k];
	}
	return sum;
}

static uint64_t power(uint64_t base, uint64_t exponent)
{
	uint64_t result = 1;
	for (; exponent; exponent >>= 1, base *= base)
		if (exponent & 1)
			result *= base;
	return result;
}

/* Where an integer lane must be after `pairs` times a step with b and a step with c, modulo 2^64:
 * its lower half is right for int32. */
static uint64_t integer_after(const struct compute_kernel *kernel,
			      const struct compute_state *state, uint64_t start, int lane,
			      uint64_t pairs)
{
	uint64_t b = (int64_t)element_get(kernel->element, state->b);
	uint64_t c = (int64_t)element_get(kernel->element, state->c);
	if (kernel->op == ROOF_OP_ADD)
		return start + pairs * (b + c);
	if (kernel->op == ROOF_OP_MUL)
		return start * power(b * c, pairs);
	if (kernel->op == ROOF_OP_LOGIC)
		return pairs & 1 ? start ^ b ^ c : start;
	return start + pairs * (byte_dot(kernel, state->b, state->c, lane) +
				byte_dot(kernel, state->b, state->d, lane));
}

static bool integer_valid(const struct compute_kernel *kernel, const struct compute_state *initial,
			  const struct compute_state *state, int i, int lane)
{
	uint64_t start = (int64_t)compute_state_value(kernel, initial, i, lane);
	uint64_t value = (int64_t)compute_state_value(kernel, state, i, lane);
	uint64_t expected =
		integer_after(kernel, initial, start, lane, state->iterations * kernel->steps / 2);
	if (kernel->element == ELEMENT_INT32)
		return (uint32_t)value == (uint32_t)expected;
	return value == expected;
}

bool compute_state_valid(const struct compute_kernel *kernel, const struct compute_state *state)
{
	struct compute_state initial;
	compute_state_init(kernel, &initial);
	for (int i = 0; i < kernel->accumulators; i++)
		for (int lane = 0; lane < kernel->lanes; lane++)
			if (is_integer(kernel)
				    ? !integer_valid(kernel, &initial, state, i, lane)
				    : !float_valid(compute_state_value(kernel, state, i, lane)))
				return false;
	return true;
}

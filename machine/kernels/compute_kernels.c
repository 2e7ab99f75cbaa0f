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

/* By precision: the element of an accumulator, its bytes, and the products that a dot adds to one
 * lane of it, of elements that lie in a 32-bit lane. */
#define PRECISIONS(X)             \
	X(half, HALF, 2, 1)       \
	X(bfloat16, SINGLE, 4, 2) \
	X(single, SINGLE, 4, 1)   \
	X(double, DOUBLE, 8, 1)   \
	X(x87, X87, 16, 1)        \
	X(int8, INT32, 4, 4)      \
	X(int32, INT32, 4, 1)     \
	X(int64, INT64, 8, 1)
#define IS_INTEGER(element) ((element) == ELEMENT_INT32 || (element) == ELEMENT_INT64)
#define PRECISION(word, element, bytes, products) \
	ELEMENT_##word = ELEMENT_##element, BYTES_##word = bytes, PRODUCTS_##word = products,
enum { PRECISIONS(PRECISION) };

/* By width class: bytes of one accumulator that are worked on; 0: one element. */
enum {
	WIDTH_scalar = 0,
	WIDTH_x87 = 0,
	WIDTH_sse2 = 16,
	WIDTH_avx2 = 32,
	WIDTH_avx512f = 64,
	WIDTH_amx = COMPUTE_TILE_BYTES
};
#define LANES(isa, precision) (WIDTH_##isa ? WIDTH_##isa / BYTES_##precision : 1)
#define IS_TILE(isa) (WIDTH_##isa == COMPUTE_TILE_BYTES)

/* Operations of one step on one lane (in mixed rows, of the steps that are no adds): one, or one
 * multiplication and one addition, in a dot for each product; a dot of tiles goes through all their
 * rows. */
#define ONE_EACH                                                                  \
	(1 << OP_add | 1 << OP_mul | 1 << OP_div | 1 << OP_sqrt | 1 << OP_logic | \
	 1 << OP_mul1_add1 | 1 << OP_mul1_add2 | 1 << OP_mul16_div1)
#define OPS(isa, precision, op) \
	((ONE_EACH >> OP_##op & 1 ? 1 : 2) * PRODUCTS_##precision * (IS_TILE(isa) ? 16 : 1))

#define NAME(n, n_added, isa, registers, precision, op) \
	rf_compute_##isa##_##registers##_##precision##_##op##_##n##_##n_added
#define KERNEL(n, steps, n_added, added_steps, isa, precision, op, quick, needs, form, registers, \
	       ...)                                                                               \
	void NAME(n, n_added, isa, registers, precision, op)(uint64_t, struct compute_state *);
#include "machine/kernels/compute_kernels.def"

const struct compute_kernel compute_kernels[] = {
#define KERNEL(n, steps_, n_added, added_steps_, isa_, precision_, op_, quick_, needs_, form,     \
	       registers, ...)                                                                    \
	{                                                                                         \
		.isa = (enum roof_isa)ISA_##isa_,                                                 \
		.precision = (enum roof_precision)PRECISION_##precision_,                         \
		.op = (enum roof_op)OP_##op_,                                                     \
		.quick = quick_,                                                                  \
		.needs = (needs_),                                                                \
		.element = (enum element)ELEMENT_##precision_,                                    \
		.accumulators = (n) + (n_added),                                                  \
		.added = n_added,                                                                 \
		.steps = steps_,                                                                  \
		.added_steps = added_steps_,                                                      \
		.accumulator_bytes = IS_TILE(isa_) ? COMPUTE_TILE_BYTES : COMPUTE_SLOT_BYTES,     \
		.lanes = LANES(isa_, precision_),                                                 \
		.ops_per_iteration =                                                              \
			LANES(isa_, precision_) *                                                 \
			((n) * (steps_)*OPS(isa_, precision_, op_) + (n_added) * (added_steps_)), \
		.unit = IS_INTEGER((enum element)ELEMENT_##precision_) ? "GOP/s" : "GFLOP/s",     \
		.run = NAME(n, n_added, isa_, registers, precision_, op_),                        \
	},
#include "machine/kernels/compute_kernels.def"
};
const size_t n_compute_kernels = sizeof(compute_kernels) / sizeof(compute_kernels[0]);

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

/* Multiplications, alone or with additions or divisions. */
static bool is_multiplied(const struct compute_kernel *kernel)
{
	return kernel->op == ROOF_OP_MUL || kernel->op == ROOF_OP_MUL1_ADD1 ||
	       kernel->op == ROOF_OP_MUL1_ADD2 || kernel->op == ROOF_OP_MUL16_DIV1;
}

/* Operands of full significands, so that no divider or multiplier has it easier than with a
 * program's numbers.  c undoes b but for rounding.  That cannot drift: a step with b and one with c
 * together are a monotonous function f with f(2x) = 2 f(x) (mul, div) and a fixed point, 1, so that
 * no value ever passes the power of 2 below or above it (log2(3) is one of the numbers whose
 * reciprocal undoes it at 1 in each precision); the sums keep no more bits than the largest of them
 * has, and are exact from the second step on; a sum that goes up and down by turns beside
 * multiplications comes back to the same two values. */
static void set_float_operands(const struct compute_kernel *kernel, struct compute_state *state)
{
	enum element element = kernel->element;
	const long double log2_3 = 1.58496250072115618145L, below_1 = 1 - half_ulp(element);
	if (kernel->op == ROOF_OP_ADD) {
		fill_operand(element, state->b, log2_3);
		fill_operand(element, state->c, -log2_3);
	} else if (kernel->isa == ROOF_ISA_X87 && is_multiplied(kernel)) {
		fill_operand(element, state->b, 1 + log2_3 * 0x1p-32L); /* there is no c */
	} else if (is_multiplied(kernel) || kernel->op == ROOF_OP_DIV) {
		fill_operand(element, state->b, log2_3);
		fill_operand(element, state->c, 1 / element_get(element, state->b));
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
	if (IS_INTEGER(kernel->element))
		set_integer_operands(kernel, state);
	else
		set_float_operands(kernel, state);
	int n_elements = kernel->accumulator_bytes / element_bytes(kernel->element);
	for (int i = 0; i < kernel->accumulators; i++)
		for (int e = 0; e < n_elements; e++) {
			int k = i * n_elements + e;
			/* 768 different floats from 1.25 to 2, integers all different and odd. */
			long double value = 1.25L + (k % 768 + 1 / 3.0L) / 1024;
			if (IS_INTEGER(kernel->element))
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
			if (IS_INTEGER(kernel->element)
				    ? !integer_valid(kernel, &initial, state, i, lane)
				    : !float_valid(compute_state_value(kernel, state, i, lane)))
				return false;
	return true;
}

/* The table of bandwidth kernels, from the same lists as their code. */
#include "machine/kernels/bandwidth_kernels.h"

#include "machine/topology/cpu_features.h"

#include <string.h>

#define ISA_avx512f ROOF_ISA_AVX512F
#define ISA_fma3 ROOF_ISA_AVX2
#define ISA_avx2 ROOF_ISA_AVX2
#define ISA_sse2 ROOF_ISA_SSE2
#define ISA_scalar ROOF_ISA_SCALAR
#define NEEDS_avx512f CPU_AVX512F
#define NEEDS_fma3 (CPU_AVX | CPU_FMA)
#define NEEDS_avx2 CPU_AVX
#define NEEDS_sse2 CPU_BASE
#define NEEDS_scalar CPU_BASE

enum {
#define OPERATION(op, arrays, bytes, nt) \
	ARRAYS_##op = arrays, BYTES_##op = bytes, NON_TEMPORAL_##op = nt,
#include "machine/kernels/bandwidth_kernels.def"
};

/* Operations by their words, which the rows are made of. */
enum {
#define ROOF_OP(name, word) OP_##word = ROOF_OP_##name,
#include "machine/data/roof_terms.def"
};

#define NAME(code, op, body, streams, unroll, group, ahead) \
	rf_bandwidth_##code##_##op##_##body##_##streams##_##unroll##_##group##_##ahead
#define SIGNATURE (void *, const void *, const void *, size_t, uint64_t, struct bandwidth_state *)

#define KERNEL(...) void NAME(__VA_ARGS__) SIGNATURE;
#define STRING_KERNEL(op, instruction, shift) void rf_bandwidth_##op SIGNATURE;
#include "machine/kernels/bandwidth_kernels.def"

#define OF_OPERATION(op_)                                                                       \
	.op = (enum roof_op)OP_##op_, .arrays = ARRAYS_##op_, .bytes_per_element = BYTES_##op_, \
	.non_temporal = NON_TEMPORAL_##op_
const struct bandwidth_kernel bandwidth_kernels[] = {
#define KERNEL(code, op_, body_, streams_, unroll_, group_, ahead_)               \
	{                                                                         \
		.isa = ISA_##code,                                                \
		.body = #body_,                                                   \
		.streams = streams_,                                              \
		.unroll = unroll_,                                                \
		.group = group_,                                                  \
		.ahead = ahead_,                                                  \
		.needs = NEEDS_##code,                                            \
		OF_OPERATION(op_),                                                \
		.run = NAME(code, op_, body_, streams_, unroll_, group_, ahead_), \
	},
#define STRING_KERNEL(op_, instruction, shift) \
	{                                      \
		.isa = ROOF_ISA_REP,           \
		.body = #instruction,          \
		.streams = 1,                  \
		.unroll = 1,                   \
		.group = 1,                    \
		.needs = CPU_BASE,             \
		OF_OPERATION(op_),             \
		.run = rf_bandwidth_##op_,     \
	},
#include "machine/kernels/bandwidth_kernels.def"
};
const size_t n_bandwidth_kernels = sizeof(bandwidth_kernels) / sizeof(bandwidth_kernels[0]);

void bandwidth_state_init(struct bandwidth_state *state)
{
	memset(state, 0, sizeof(*state));
	for (size_t i = 0; i < sizeof(state->constant) / sizeof(state->constant[0]); i++) {
		state->constant[i] = 0x1p-30 * (1 + i * 0.1234567890123);
		state->factor[i] = 1 + 0x1p-52;
	}
}

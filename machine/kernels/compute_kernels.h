/* The compute kernels: register-only loops over independent accumulators.
 *
 * One row per kernel and accumulator count.  The same list makes the code (compute_kernels.S) and
 * the table (compute_kernels.c); a new instruction set or operation is a new row.
 *
 * `isa` names the width class, so that a report can look a roof up by the width of the code:
 * "scalar", "sse2" (128 bits), "avx2" (256), "avx512f" (512), "x87", "amx".  An FMA row of the
 * "scalar" and "sse2" classes is the VEX-coded FMA3 of that width; half precision and dot products
 * are EVEX-coded at every width, and then have 32 registers.
 *
 * Accumulators: an operation of latency l that u units run needs l * u chains; 8 to 10 are enough
 * for two units of 4 to 5 cycles, and some schedulers like more.  The best is searched at run
 * time.  A divider is not pipelined or hardly so, and a few chains fill it.  The other registers
 * hold the operands b, c and d.
 *
 * What a step does to its accumulator x:
 *   fma          x ← x * b + c
 *   add, mul, div, logic (exclusive or)
 *                x ← x op b, and x ← x op c in each second step: c undoes b, so that a floating
 *                value changes in each step and yet stays where it is; x87 has only b, and there
 *                div is x ← b / x
 *   sqrt         x ← √b in the first step of an iteration, then x ← √x: a chain that went on
 *                would end at 1, which some dividers take in fewer cycles
 *   dot          x ← x + Σ b·c, and x ← x + Σ b·d in each second step, over the elements of b and c
 *                below one lane of x; of a row of b and a column of c for tiles
 *   fmaP_addQ    P fma steps to Q add steps; the last accumulators of such a row are for the adds,
 *                x ← x + c and x ← x - c by turns.  CPUs with adders of their own do more flop
 *                this way than by fma alone. */
#pragma once

/* Accumulator counts: X(n, steps, n_added, added_steps, …): n accumulators that make `steps` steps
 * in one iteration of the loop and, in mixed rows, n_added with `added_steps` steps of add.
 * Steps are even, so that c undoes b, except those of fma; and not a multiple of 4, because then
 * the exclusive ors of an iteration would leave nothing to check. */
#define COMPUTE_16_REGISTERS(X, ...) \
	X(8, 6, 0, 0, __VA_ARGS__)   \
	X(10, 6, 0, 0, __VA_ARGS__) X(12, 6, 0, 0, __VA_ARGS__) X(14, 6, 0, 0, __VA_ARGS__)
#define COMPUTE_32_REGISTERS(X, ...) \
	X(8, 6, 0, 0, __VA_ARGS__)   \
	X(12, 6, 0, 0, __VA_ARGS__)  \
	X(16, 6, 0, 0, __VA_ARGS__) X(20, 6, 0, 0, __VA_ARGS__) X(24, 6, 0, 0, __VA_ARGS__)
#define COMPUTE_DIVIDER(X, ...) \
	X(4, 6, 0, 0, __VA_ARGS__) X(8, 6, 0, 0, __VA_ARGS__) X(12, 6, 0, 0, __VA_ARGS__)
#define COMPUTE_DOT_16_REGISTERS(X, ...) \
	X(8, 6, 0, 0, __VA_ARGS__) X(10, 6, 0, 0, __VA_ARGS__) X(12, 6, 0, 0, __VA_ARGS__)
/* Up to six one-cycle adds and the loop's own decrement meet in a cycle: long loops. */
#define COMPUTE_GENERAL_REGISTERS(X, ...) \
	X(6, 18, 0, 0, __VA_ARGS__)       \
	X(8, 18, 0, 0, __VA_ARGS__) X(10, 18, 0, 0, __VA_ARGS__) X(11, 18, 0, 0, __VA_ARGS__)
#define COMPUTE_X87_STACK(X, ...) X(7, 6, 0, 0, __VA_ARGS__)
#define COMPUTE_X87_ROOTS(X, ...) X(6, 6, 0, 0, __VA_ARGS__)
#define COMPUTE_TILES(X, ...) \
	X(3, 6, 0, 0, __VA_ARGS__) X(4, 6, 0, 0, __VA_ARGS__) X(5, 6, 0, 0, __VA_ARGS__)

/* Mixed: for two units each, latency 4 of fma and 2 to 4 of add, and for those where both share
 * their units. */
#define COMPUTE_MIXED_1_1_16(X, ...) \
	X(7, 4, 7, 4, __VA_ARGS__)   \
	X(8, 3, 6, 4, __VA_ARGS__) X(8, 3, 4, 6, __VA_ARGS__) X(10, 4, 4, 10, __VA_ARGS__)
#define COMPUTE_MIXED_2_1_16(X, ...) \
	X(8, 4, 4, 4, __VA_ARGS__) X(10, 8, 4, 10, __VA_ARGS__) X(12, 4, 2, 12, __VA_ARGS__)
#define COMPUTE_MIXED_1_2_16(X, ...) \
	X(4, 4, 8, 4, __VA_ARGS__) X(6, 4, 6, 8, __VA_ARGS__) X(6, 4, 8, 6, __VA_ARGS__)
#define COMPUTE_MIXED_1_1_32(X, ...) \
	X(8, 4, 8, 4, __VA_ARGS__)   \
	X(10, 4, 10, 4, __VA_ARGS__) \
	X(12, 4, 12, 4, __VA_ARGS__) X(12, 2, 6, 4, __VA_ARGS__) X(16, 2, 8, 4, __VA_ARGS__)
#define COMPUTE_MIXED_2_1_32(X, ...) \
	X(8, 4, 4, 4, __VA_ARGS__)   \
	X(12, 4, 6, 4, __VA_ARGS__) X(16, 4, 8, 4, __VA_ARGS__) X(12, 4, 12, 2, __VA_ARGS__)
#define COMPUTE_MIXED_1_2_32(X, ...) \
	X(4, 4, 8, 4, __VA_ARGS__)   \
	X(6, 4, 12, 4, __VA_ARGS__) X(8, 4, 16, 4, __VA_ARGS__) X(12, 2, 12, 4, __VA_ARGS__)

/* The rows: X(n, steps, n_added, added_steps, isa, precision, op, quick, needs, form, registers,
 * instruction).  `quick`: reports draw it by themselves.  `form` and `registers` are the
 * assembly's: how the instruction takes its operands, and from which register file.  `root` is the
 * form of a square root, `suffix` the instruction's ending. */
#define COMPUTE_MIXED_EVEX(X, isa, precision, quick, needs, registers, suffix)                 \
	COMPUTE_MIXED_1_1_32(X, isa, precision, fma1_add1, quick, needs, mixed_1_1, registers, \
			     suffix)                                                           \
	COMPUTE_MIXED_2_1_32(X, isa, precision, fma2_add1, quick, needs, mixed_2_1, registers, \
			     suffix)                                                           \
	COMPUTE_MIXED_1_2_32(X, isa, precision, fma1_add2, false, needs, mixed_1_2, registers, \
			     suffix)
/* One to one wants more chains than 16 registers hold with something to spare; EVEX has 32. */
#define COMPUTE_MIXED_VEX(X, isa, precision, registers, evex_registers, suffix)                  \
	COMPUTE_MIXED_1_1_16(X, isa, precision, fma1_add1, true, CPU_FMA, mixed_1_1, registers,  \
			     suffix)                                                             \
	COMPUTE_MIXED_1_1_32(X, isa, precision, fma1_add1, true, CPU_AVX512VL, mixed_1_1,        \
			     evex_registers, suffix)                                             \
	COMPUTE_MIXED_2_1_16(X, isa, precision, fma2_add1, true, CPU_FMA, mixed_2_1, registers,  \
			     suffix)                                                             \
	COMPUTE_MIXED_1_2_16(X, isa, precision, fma1_add2, false, CPU_FMA, mixed_1_2, registers, \
			     suffix)
#define COMPUTE_SSE_FLOAT(X, isa, precision, suffix)                                               \
	COMPUTE_16_REGISTERS(X, isa, precision, fma, true, CPU_FMA, fma, xmm16, vfmadd213##suffix) \
	COMPUTE_16_REGISTERS(X, isa, precision, add, true, CPU_BASE, sse, xmm16, add##suffix)      \
	COMPUTE_16_REGISTERS(X, isa, precision, mul, true, CPU_BASE, sse, xmm16, mul##suffix)      \
	COMPUTE_DIVIDER(X, isa, precision, div, true, CPU_BASE, sse, xmm16, div##suffix)           \
	COMPUTE_DIVIDER(X, isa, precision, sqrt, true, CPU_BASE, root, xmm16, sqrt##suffix)        \
	COMPUTE_MIXED_VEX(X, isa, precision, xmm16, xmm32, suffix)
#define COMPUTE_AVX_FLOAT(X, precision, suffix)                                                \
	COMPUTE_16_REGISTERS(X, avx2, precision, fma, true, CPU_FMA, fma, ymm16,               \
			     vfmadd213##suffix)                                                \
	COMPUTE_16_REGISTERS(X, avx2, precision, add, true, CPU_AVX, vex, ymm16, vadd##suffix) \
	COMPUTE_16_REGISTERS(X, avx2, precision, mul, true, CPU_AVX, vex, ymm16, vmul##suffix) \
	COMPUTE_DIVIDER(X, avx2, precision, div, true, CPU_AVX, vex, ymm16, vdiv##suffix)      \
	COMPUTE_DIVIDER(X, avx2, precision, sqrt, true, CPU_AVX, root, ymm16, vsqrt##suffix)   \
	COMPUTE_MIXED_VEX(X, avx2, precision, ymm16, ymm32, suffix)
#define COMPUTE_EVEX_FLOAT(X, isa, precision, quick, needs, registers, root, suffix)             \
	COMPUTE_32_REGISTERS(X, isa, precision, fma, true, needs, fma, registers,                \
			     vfmadd213##suffix)                                                  \
	COMPUTE_32_REGISTERS(X, isa, precision, add, true, needs, vex, registers, vadd##suffix)  \
	COMPUTE_32_REGISTERS(X, isa, precision, mul, quick, needs, vex, registers, vmul##suffix) \
	COMPUTE_DIVIDER(X, isa, precision, div, quick, needs, vex, registers, vdiv##suffix)      \
	COMPUTE_DIVIDER(X, isa, precision, sqrt, quick, needs, root, registers, vsqrt##suffix)   \
	COMPUTE_MIXED_EVEX(X, isa, precision, quick, needs, registers, suffix)
#define COMPUTE_BFLOAT16(X, isa, needs, registers) \
	COMPUTE_32_REGISTERS(X, isa, bfloat16, dot, true, needs, dot, registers, vdpbf16ps)

/* Integers: 32 and 64 bit lanes. */
#define COMPUTE_GENERAL_INTEGER(X, precision, registers)                                          \
	COMPUTE_GENERAL_REGISTERS(X, scalar, precision, add, false, CPU_BASE, general, registers, \
				  add)                                                            \
	COMPUTE_GENERAL_REGISTERS(X, scalar, precision, mul, false, CPU_BASE, general, registers, \
				  imul)                                                           \
	COMPUTE_GENERAL_REGISTERS(X, scalar, precision, logic, false, CPU_BASE, general,          \
				  registers, xor)
#define COMPUTE_VECTOR_INTEGER(X, list, isa, needs, form, registers, add_dwords, add_qwords,   \
			       xor_dwords, xor_qwords)                                         \
	list(X, isa, int32, add, false, needs, form, registers,                                \
	     add_dwords) list(X, isa, int32, logic, false, needs, form, registers, xor_dwords) \
		list(X, isa, int64, add, false, needs, form, registers, add_qwords)            \
			list(X, isa, int64, logic, false, needs, form, registers, xor_qwords)
#define COMPUTE_VNNI(X, isa, needs, registers) \
	COMPUTE_32_REGISTERS(X, isa, int8, dot, false, needs, dot, registers, vpdpbusd)
/* The VEX form, beside the EVEX form in the same row: some CPUs have only this one. */
#define COMPUTE_AVX_VNNI(X, isa, registers)                                              \
	COMPUTE_DOT_16_REGISTERS(X, isa, int8, dot, false, CPU_AVX_VNNI, dot, registers, \
				 {vex} vpdpbusd)

#define COMPUTE_KERNELS(X)                                                                        \
	COMPUTE_EVEX_FLOAT(X, avx512f, double, true, CPU_AVX512F, zmm32, root, pd)                \
	COMPUTE_EVEX_FLOAT(X, avx512f, single, true, CPU_AVX512F, zmm32, root, ps)                \
	COMPUTE_AVX_FLOAT(X, double, pd)                                                          \
	COMPUTE_AVX_FLOAT(X, single, ps)                                                          \
	COMPUTE_SSE_FLOAT(X, sse2, double, pd)                                                    \
	COMPUTE_SSE_FLOAT(X, sse2, single, ps)                                                    \
	COMPUTE_SSE_FLOAT(X, scalar, double, sd)                                                  \
	COMPUTE_SSE_FLOAT(X, scalar, single, ss)                                                  \
	COMPUTE_EVEX_FLOAT(X, avx512f, half, false, CPU_AVX512_FP16, zmm32, root, ph)             \
	COMPUTE_EVEX_FLOAT(X, avx2, half, false, CPU_AVX512_FP16 | CPU_AVX512VL, ymm32, root, ph) \
	COMPUTE_EVEX_FLOAT(X, sse2, half, false, CPU_AVX512_FP16 | CPU_AVX512VL, xmm32, root, ph) \
	COMPUTE_EVEX_FLOAT(X, scalar, half, false, CPU_AVX512_FP16 | CPU_AVX512VL, xmm32_scalar,  \
			   scalar_root, sh)                                                       \
	COMPUTE_X87_STACK(X, x87, x87, add, true, CPU_BASE, x87, st, fadd)                        \
	COMPUTE_X87_STACK(X, x87, x87, mul, true, CPU_BASE, x87, st, fmul)                        \
	COMPUTE_X87_STACK(X, x87, x87, div, false, CPU_BASE, x87, st, fdiv)                       \
	COMPUTE_X87_ROOTS(X, x87, x87, sqrt, false, CPU_BASE, x87_root, st, fsqrt)                \
	COMPUTE_BFLOAT16(X, avx512f, CPU_AVX512_BF16, zmm32)                                      \
	COMPUTE_BFLOAT16(X, avx2, CPU_AVX512_BF16 | CPU_AVX512VL, ymm32)                          \
	COMPUTE_BFLOAT16(X, sse2, CPU_AVX512_BF16 | CPU_AVX512VL, xmm32)                          \
	COMPUTE_TILES(X, amx, bfloat16, dot, true, CPU_AMX_TILE | CPU_AMX_BF16, tile, tmm,        \
		      tdpbf16ps)                                                                  \
	COMPUTE_TILES(X, amx, int8, dot, false, CPU_AMX_TILE | CPU_AMX_INT8, tile, tmm, tdpbssd)  \
	COMPUTE_VNNI(X, avx512f, CPU_AVX512_VNNI, zmm32)                                          \
	COMPUTE_VNNI(X, avx2, CPU_AVX512_VNNI | CPU_AVX512VL, ymm32)                              \
	COMPUTE_AVX_VNNI(X, avx2, ymm16)                                                          \
	COMPUTE_VNNI(X, sse2, CPU_AVX512_VNNI | CPU_AVX512VL, xmm32)                              \
	COMPUTE_AVX_VNNI(X, sse2, xmm16)                                                          \
	COMPUTE_VECTOR_INTEGER(X, COMPUTE_32_REGISTERS, avx512f, CPU_AVX512F, vex, zmm32, vpaddd, \
			       vpaddq, vpxord, vpxorq)                                            \
	COMPUTE_32_REGISTERS(X, avx512f, int32, mul, false, CPU_AVX512F, vex, zmm32, vpmulld)     \
	COMPUTE_32_REGISTERS(X, avx512f, int64, mul, false, CPU_AVX512DQ, vex, zmm32, vpmullq)    \
	COMPUTE_VECTOR_INTEGER(X, COMPUTE_16_REGISTERS, avx2, CPU_AVX2, vex, ymm16, vpaddd,       \
			       vpaddq, vpxor, vpxor)                                              \
	COMPUTE_16_REGISTERS(X, avx2, int32, mul, false, CPU_AVX2, vex, ymm16, vpmulld)           \
	COMPUTE_32_REGISTERS(X, avx2, int64, mul, false, CPU_AVX512DQ | CPU_AVX512VL, vex, ymm32, \
			     vpmullq)                                                             \
	COMPUTE_VECTOR_INTEGER(X, COMPUTE_16_REGISTERS, sse2, CPU_BASE, sse, xmm16, paddd, paddq, \
			       pxor, pxor)                                                        \
	COMPUTE_16_REGISTERS(X, sse2, int32, mul, false, CPU_SSE4_1, sse, xmm16, pmulld)          \
	COMPUTE_32_REGISTERS(X, sse2, int64, mul, false, CPU_AVX512DQ | CPU_AVX512VL, vex, xmm32, \
			     vpmullq)                                                             \
	COMPUTE_GENERAL_INTEGER(X, int32, general32)                                              \
	COMPUTE_GENERAL_INTEGER(X, int64, general64)

#ifndef __ASSEMBLER__
#include "machine/data/roof_terms.h"
#include "machine/kernels/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPUTE_MAX_ACCUMULATORS 24
/* One accumulator or operand in memory, whatever its width; a tile has 16 rows of 64 bytes. */
#define COMPUTE_SLOT_BYTES 64
#define COMPUTE_TILE_BYTES 1024
#define COMPUTE_MAX_TILES 5

/* What a kernel starts from and what it leaves: accumulator i at i * accumulator_bytes. */
struct compute_state {
	_Alignas(64) unsigned char accumulators[COMPUTE_MAX_TILES * COMPUTE_TILE_BYTES];
	_Alignas(64) unsigned char b[COMPUTE_TILE_BYTES], c[COMPUTE_TILE_BYTES],
		d[COMPUTE_TILE_BYTES];
	uint64_t iterations; /* that compute_kernel_run() has made */
};

struct compute_kernel {
	enum roof_isa isa;
	enum roof_precision precision;
	enum roof_op op;
	bool quick;             /* reports draw this roof by themselves */
	unsigned needs;         /* enum cpu_feature bits */
	enum element element;   /* of an accumulator: single or int32 for dot */
	int accumulators;       /* all, of these the last */
	int added;              /* make the adds of a mixed row, 0 in the others */
	int steps, added_steps; /* that each of them makes in one iteration of the loop */
	int accumulator_bytes;  /* COMPUTE_SLOT_BYTES or COMPUTE_TILE_BYTES */
	int lanes;              /* elements of one accumulator that are worked on */
	int ops_per_iteration;  /* flop or integer operations, all lanes and accumulators */
	const char *unit;       /* of 1e9 of them a second: "GFLOP/s" or "GOP/s" */
	/* Runs the loop `iterations` (> 0) times. */
	void (*run)(uint64_t iterations, struct compute_state *state);
};

extern const struct compute_kernel compute_kernels[];
extern const size_t n_compute_kernels;

/* Sets accumulators and operands that keep floating values finite and normal for at least 2^24
 * iterations, with significands as long as the precision has. */
void compute_state_init(const struct compute_kernel *kernel, struct compute_state *state);

/* Runs a kernel and counts its iterations in the state. */
void compute_kernel_run(const struct compute_kernel *kernel, uint64_t iterations,
			struct compute_state *state);

/* True when a state that compute_state_init() made is, after `state->iterations`, as it must be:
 * integers exactly (their steps have a closed form), floating values finite, normal and in the
 * range of the initial ones. */
bool compute_state_valid(const struct compute_kernel *kernel, const struct compute_state *state);

/* Reads accumulator `i`, lane `lane`; integers as signed. */
long double compute_state_value(const struct compute_kernel *kernel,
				const struct compute_state *state, int i, int lane);
#endif

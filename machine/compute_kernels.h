/* The compute kernels: register-only loops over independent accumulators.
 *
 * One row per kernel and accumulator count.  The same list makes the code (compute_kernels.S) and
 * the table (compute_kernels.c); a new instruction set or operation is a new row.
 *
 * `isa` names the width class, so that a report can look a roof up by the width of the code:
 * "scalar", "sse2" (128 bits), "avx2" (256), "avx512f" (512), "x87".  An FMA row of the "scalar"
 * and "sse2" classes is the VEX-coded FMA3 of that width.
 *
 * Accumulators: an operation of latency l that u units run needs l * u chains; 8 to 10 are enough
 * for two units of 4 to 5 cycles, and some schedulers like more.  The best is searched at run
 * time.  Two registers hold the operands. */
#pragma once

/* Times that the list of accumulators is run through in one iteration of a kernel's loop. */
#define COMPUTE_UNROLL 4

/* X(accumulators, isa, precision, op, needs, form, instruction) */
#define COMPUTE_16_REGISTERS(X, ...) \
	X(8, __VA_ARGS__) X(10, __VA_ARGS__) X(12, __VA_ARGS__) X(14, __VA_ARGS__)
#define COMPUTE_32_REGISTERS(X, ...) \
	X(8, __VA_ARGS__) X(12, __VA_ARGS__) X(16, __VA_ARGS__) X(20, __VA_ARGS__) X(24, __VA_ARGS__)
#define COMPUTE_X87_STACK(X, ...) X(7, __VA_ARGS__)

#define COMPUTE_KERNELS(X)                                                                         \
	COMPUTE_32_REGISTERS(X, avx512f, double, fma, CPU_AVX512F, fma, vfmadd213pd)               \
	COMPUTE_32_REGISTERS(X, avx512f, double, add, CPU_AVX512F, vex, vaddpd)                    \
	COMPUTE_32_REGISTERS(X, avx512f, double, mul, CPU_AVX512F, vex, vmulpd)                    \
	COMPUTE_32_REGISTERS(X, avx512f, single, fma, CPU_AVX512F, fma, vfmadd213ps)               \
	COMPUTE_32_REGISTERS(X, avx512f, single, add, CPU_AVX512F, vex, vaddps)                    \
	COMPUTE_32_REGISTERS(X, avx512f, single, mul, CPU_AVX512F, vex, vmulps)                    \
	COMPUTE_16_REGISTERS(X, avx2, double, fma, CPU_AVX | CPU_FMA, fma, vfmadd213pd)            \
	COMPUTE_16_REGISTERS(X, avx2, double, add, CPU_AVX, vex, vaddpd)                           \
	COMPUTE_16_REGISTERS(X, avx2, double, mul, CPU_AVX, vex, vmulpd)                           \
	COMPUTE_16_REGISTERS(X, avx2, single, fma, CPU_AVX | CPU_FMA, fma, vfmadd213ps)            \
	COMPUTE_16_REGISTERS(X, avx2, single, add, CPU_AVX, vex, vaddps)                           \
	COMPUTE_16_REGISTERS(X, avx2, single, mul, CPU_AVX, vex, vmulps)                           \
	COMPUTE_16_REGISTERS(X, sse2, double, fma, CPU_AVX | CPU_FMA, fma, vfmadd213pd)            \
	COMPUTE_16_REGISTERS(X, sse2, double, add, CPU_BASE, sse, addpd)                           \
	COMPUTE_16_REGISTERS(X, sse2, double, mul, CPU_BASE, sse, mulpd)                           \
	COMPUTE_16_REGISTERS(X, sse2, single, fma, CPU_AVX | CPU_FMA, fma, vfmadd213ps)            \
	COMPUTE_16_REGISTERS(X, sse2, single, add, CPU_BASE, sse, addps)                           \
	COMPUTE_16_REGISTERS(X, sse2, single, mul, CPU_BASE, sse, mulps)                           \
	COMPUTE_16_REGISTERS(X, scalar, double, fma, CPU_AVX | CPU_FMA, fma, vfmadd213sd)          \
	COMPUTE_16_REGISTERS(X, scalar, double, add, CPU_BASE, sse, addsd)                         \
	COMPUTE_16_REGISTERS(X, scalar, double, mul, CPU_BASE, sse, mulsd)                         \
	COMPUTE_16_REGISTERS(X, scalar, single, fma, CPU_AVX | CPU_FMA, fma, vfmadd213ss)          \
	COMPUTE_16_REGISTERS(X, scalar, single, add, CPU_BASE, sse, addss)                         \
	COMPUTE_16_REGISTERS(X, scalar, single, mul, CPU_BASE, sse, mulss)                         \
	COMPUTE_X87_STACK(X, x87, x87, add, CPU_BASE, x87, fadd)                                   \
	COMPUTE_X87_STACK(X, x87, x87, mul, CPU_BASE, x87, fmul)

#ifndef __ASSEMBLER__
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define COMPUTE_MAX_ACCUMULATORS 24
#define COMPUTE_SLOT_BYTES 64 /* one accumulator or operand in memory, whatever its width */

/* What a kernel starts from and what it leaves: accumulator i in slot i, x ← x * b + c (fma),
 * x ← x + b (add), x ← x * b (mul). */
struct compute_state {
	_Alignas(64) unsigned char accumulators[COMPUTE_MAX_ACCUMULATORS][COMPUTE_SLOT_BYTES];
	_Alignas(64) unsigned char b[COMPUTE_SLOT_BYTES], c[COMPUTE_SLOT_BYTES];
};

struct compute_kernel {
	const char *isa, *precision, *op;
	unsigned needs;		/* enum cpu_feature bits */
	int accumulators;
	int lanes;		/* elements of one accumulator that are worked on */
	int flop_per_iteration;	/* of the loop, all lanes and accumulators */
	/* Runs the loop `iterations` (> 0) times. */
	void (*run)(uint64_t iterations, struct compute_state *state);
};

extern const struct compute_kernel compute_kernels[];
extern const size_t n_compute_kernels;

/* Sets operands that keep the values finite and normal for at least 2^24 iterations:
 * fma x*(1-2^-10) + 2^-10 (tends to 1), add 2^-10, mul by 1 + one unit in the last place. */
void compute_state_init(const struct compute_kernel *kernel, struct compute_state *state);

/* True when every accumulator is finite, normal and not zero. */
bool compute_state_normal(const struct compute_kernel *kernel, const struct compute_state *state);

/* Reads accumulator `i`, lane `lane`. */
long double compute_state_value(const struct compute_kernel *kernel,
				const struct compute_state *state, int i, int lane);
#endif

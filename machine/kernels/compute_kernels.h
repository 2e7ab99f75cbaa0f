/* The compute kernels: register-only loops over independent accumulators.
 *
 * One row per kernel and accumulator count.  The same list (compute_kernels.def) makes the code
 * (compute_kernels.S) and the table (compute_kernels.c); a new instruction set or operation is a
 * new row.
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
 *   fmaP_addQ, mulP_addQ
 *                P fma or mul steps to Q add steps; the last accumulators of such a row are for the
 *                adds, x ← x + c and x ← x - c by turns (x87, which has only b: x ← x + b).  CPUs
 *                with adders of their own do more flop this way than by one of both alone.
 *   mul16_div1   the same of 16 mul steps to a div step: what a division takes from the multipliers
 **/
#pragma once

#include "machine/data/roof_terms.h"
#include "machine/kernels/element.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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

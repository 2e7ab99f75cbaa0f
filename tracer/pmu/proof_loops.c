/* The loops of known truth for each quantity, and their memory. */
#include "tracer/pmu/proof_loops.h"

#include "machine/kernels/clock_kernels.h"
#include "machine/kernels/compute_kernels.h"
#include "machine/topology/cpu_features.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void rf_proof_load_store(uint64_t n, uint64_t words[2]);
void rf_proof_read_lines(uint64_t n, const void *memory);
void rf_proof_flush_lines(uint64_t n, const void *memory);

enum { LINE = 64, ADDS_INSTRUCTIONS = CLOCK_CYCLES_PER_COUNT + 2 /* dec, jnz */ };

void proof_loop_init(struct proof_loop *loop, const char *name)
{
	memset(loop, 0, sizeof(*loop));
	snprintf(loop->name, sizeof(loop->name), "%s", name);
	for (size_t i = 0; i < N_EVENT_QUANTITIES; i++)
		loop->truth[i] = NAN;
}

/* NULL: no memory, or too many; what `run` needs besides is for the caller to set. */
static struct proof_loop *add_loop(struct proof_loops *loops, const char *name,
				   void (*run)(struct proof_loop *loop), uint64_t n)
{
	struct proof_loop *loop = loops->n < PROOF_MAX_LOOPS ? malloc(sizeof(*loop)) : NULL;
	if (!loop)
		return NULL;
	proof_loop_init(loop, name);
	loop->run = run;
	loop->n = n;
	loops->loops[loops->n++] = loop;
	return loop;
}

/* --- floating point --- */

static void prepare_compute(struct proof_loop *loop)
{
	compute_state_init(loop->kernel, loop->memory);
}

static void run_compute(struct proof_loop *loop)
{
	compute_kernel_run(loop->kernel, loop->n, loop->memory);
}

static const struct compute_kernel *find_kernel(enum roof_isa isa, enum roof_precision precision,
						enum roof_op op)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (kernel->isa == isa && kernel->precision == precision && kernel->op == op &&
		    cpu_has(kernel->needs))
			return kernel;
	}
	return NULL;
}

static void set_flop(struct proof_loop *loop, const struct compute_kernel *kernel,
		     enum event_quantity precision)
{
	const double flop = (double)loop->n * kernel->ops_per_iteration;
	loop->truth[EVENT_FLOP_HP] = loop->truth[EVENT_FLOP_SP] = loop->truth[EVENT_FLOP_DP] = 0;
	loop->truth[precision] = flop;
	loop->truth[EVENT_FLOP_ANY] = flop;
	loop->truth[EVENT_FP_INSTRUCTIONS] = (double)loop->n * kernel->accumulators * kernel->steps;
}

static void add_compute(struct proof_loops *loops, enum roof_isa isa, const char *width,
			enum roof_precision precision, enum event_quantity quantity)
{
	char name[sizeof(loops->loops[0]->name)];
	const struct compute_kernel *kernel = find_kernel(isa, precision, ROOF_OP_FMA);
	const bool fma = kernel;
	if (!kernel)
		kernel = find_kernel(isa, precision, ROOF_OP_ADD);
	if (!kernel)
		return;
	snprintf(name, sizeof(name), "10^6 %s, %s, %s", fma ? "fma" : "add", width,
		 roof_precision_name(precision));
	/* its 64-byte aligned vectors are what the kernels expect */
	void *state = aligned_alloc(64, sizeof(struct compute_state));
	const uint64_t each = (uint64_t)kernel->accumulators * (uint64_t)kernel->steps;
	struct proof_loop *loop =
		state ? add_loop(loops, name, run_compute, (PROOF_COUNT + each - 1) / each) : NULL;
	if (!loop) {
		free(state);
		return;
	}
	loop->fma = fma;
	loop->kernel = kernel;
	loop->memory = state;
	loop->prepare = prepare_compute;
	set_flop(loop, kernel, quantity);
}

/* --- cycles, instructions, loads, stores, lines --- */

static void run_adds(struct proof_loop *loop)
{
	clock_adds(loop->n);
}

static void add_chain(struct proof_loops *loops)
{
	struct proof_loop *loop = add_loop(loops, "a chain of 10^6 adds", run_adds,
					   PROOF_COUNT / CLOCK_CYCLES_PER_COUNT);
	if (!loop)
		return;
	loop->truth[EVENT_CYCLES] = (double)loop->n * CLOCK_CYCLES_PER_COUNT;
	loop->truth[EVENT_INSTRUCTIONS] = (double)loop->n * ADDS_INSTRUCTIONS;
}

static void run_load_store(struct proof_loop *loop)
{
	uint64_t words[2] = {0};
	rf_proof_load_store(loop->n, words);
}

static void add_load_store(struct proof_loops *loops)
{
	struct proof_loop *loop =
		add_loop(loops, "10^6 loads and stores", run_load_store, PROOF_COUNT);
	if (!loop)
		return;
	loop->truth[EVENT_LOADS] = loop->truth[EVENT_STORES] = PROOF_COUNT;
	loop->truth[EVENT_INSTRUCTIONS] = 4.0 * PROOF_COUNT;
}

static void flush_lines(struct proof_loop *loop)
{
	rf_proof_flush_lines(loop->n, loop->memory);
}

static void run_lines(struct proof_loop *loop)
{
	rf_proof_read_lines(loop->n, loop->memory);
}

/* Written first: pages that were only read are all the same page of zeros. */
static void add_lines(struct proof_loops *loops)
{
	const size_t size = (size_t)PROOF_COUNT * LINE;
	void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct proof_loop *loop =
		memory == MAP_FAILED
			? NULL
			: add_loop(loops, "10^6 lines read from memory", run_lines, PROOF_COUNT);
	if (!loop) {
		if (memory != MAP_FAILED)
			munmap(memory, size);
		return;
	}
	memset(memory, 1, size);
	loop->memory = memory;
	loop->memory_size = size;
	loop->prepare = flush_lines;
	loop->truth[EVENT_LOADS] = PROOF_COUNT;
	loop->truth[EVENT_L1_BYTES] = loop->truth[EVENT_L2_BYTES] = (double)size;
	loop->truth[EVENT_LLC_MISS_BYTES] = loop->truth[EVENT_MEMORY_READ_BYTES] = (double)size;
}

/* --- all --- */

void proof_loops_init(struct proof_loops *loops)
{
	static const struct {
		enum roof_isa isa;
		const char *width;
	} widths[] = {{ROOF_ISA_SCALAR, "scalar"},
		      {ROOF_ISA_SSE2, "128 bits"},
		      {ROOF_ISA_AVX2, "256 bits"},
		      {ROOF_ISA_AVX512F, "512 bits"}};
	*loops = (struct proof_loops){.n = 0};
	for (size_t i = 0; i < sizeof(widths) / sizeof(*widths); i++) {
		add_compute(loops, widths[i].isa, widths[i].width, ROOF_PRECISION_SINGLE,
			    EVENT_FLOP_SP);
		add_compute(loops, widths[i].isa, widths[i].width, ROOF_PRECISION_DOUBLE,
			    EVENT_FLOP_DP);
	}
	add_compute(loops, ROOF_ISA_AVX512F, "512 bits", ROOF_PRECISION_HALF, EVENT_FLOP_HP);
	add_chain(loops);
	add_load_store(loops);
	add_lines(loops);
}

void proof_loops_deinit(struct proof_loops *loops)
{
	while (loops->n > 0) {
		struct proof_loop *loop = loops->loops[--loops->n];
		if (loop->memory_size)
			munmap(loop->memory, loop->memory_size);
		else
			free(loop->memory);
		free(loop);
	}
}

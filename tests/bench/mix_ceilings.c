/* Random mixes of instructions beside the ceilings that the model derives from the measured
 * kernels, on this machine.
 *
 * For each width and precision the kernels of its rows and loops of random mixes (multiplications,
 * additions, fused multiply-adds, divisions, square roots; made in memory, all of independent
 * registers) are timed in turn, many times and for a short time each, on one thread.  The fastest
 * time of each counts: other load only makes it longer.  Prints how much of its ceiling each mix
 * reached, and fails when more than one in 20 is more than 5 % off or any is more than 10 %.  Needs
 * AVX-512VL, for its 32 registers. */
#include "machine/kernels/compute_kernels.h"
#include "machine/topology/cpu_features.h"
#include "report/model/model_mix.h"

#include "base/array.h"
#include "tests/unit/splitmix.h"

#include <math.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#define MIXES 24
#define ROUNDS 60
#define TIMED_NS 100000
#define CODE_BYTES 32768
#define UNROLL 8
#define SCHEDULES 3    /* orders of the same instructions, of which the fastest counts */
#define TOLERANCE 0.05 /* of 95 of 100 mixes */
#define WORST 0.1

enum { MULTIPLY, ADD, FUSED, DIVIDE, ROOT, KINDS };
#define CHAINED 3        /* kinds that work on what they left: the first ones, with 24 registers */
#define FREE_REGISTER 24 /* and 6 for the others, whose results nobody reads */
#define REGISTER_ROOT 29
#define REGISTER_B 30
#define REGISTER_C 31

static const enum roof_isa isas[] = {ROOF_ISA_SCALAR, ROOF_ISA_SSE2, ROOF_ISA_AVX2,
				     ROOF_ISA_AVX512F};

/* Something that is timed: so many flop in one iteration. */
struct item {
	void (*run)(uint64_t iterations, struct compute_state *state);
	const struct compute_kernel *kernel; /* of a row, or NULL */
	struct compute_state state;
	double flop, best_ns; /* of one iteration */
	uint64_t iterations;
	int counts[KINDS];
};

static double now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return 1e9 * (double)now.tv_sec + (double)now.tv_nsec;
}

/* ---- code ---- */

struct code {
	uint8_t *at;
	int width; /* index in `isas` */
	bool is_double;
	int first[KINDS], n[KINDS]; /* registers */
};

/* EVEX.NDS, register to register (Intel SDM volume 2, 2.7.1): map 1 (0F) or 2 (0F38). */
static void emit(struct code *code, int map, uint8_t opcode, int to, int a, int b)
{
	const bool scalar = code->width == 0;
	const int prefix = map == 2 ? 1 : scalar ? (code->is_double ? 3 : 2) : code->is_double;
	*code->at++ = 0x62;
	*code->at++ = (uint8_t)((to & 8 ? 0 : 0x80) | (b & 16 ? 0 : 0x40) | (b & 8 ? 0 : 0x20) |
				(to & 16 ? 0 : 0x10) | map);
	*code->at++ = (uint8_t)(code->is_double << 7 | (~a & 15) << 3 | 4 | prefix);
	*code->at++ = (uint8_t)((scalar ? 0 : code->width - 1) << 5 | (a & 16 ? 0 : 8));
	*code->at++ = opcode;
	*code->at++ = (uint8_t)(0xc0 | (to & 7) << 3 | (b & 7));
}

static void emit_step(struct code *code, int kind, int n)
{
	const int r = code->first[kind] + n % code->n[kind];
	const bool scalar = code->width == 0;
	switch (kind) {
	case MULTIPLY: /* r = r × b */
		emit(code, 1, 0x59, r, r, REGISTER_B);
		break;
	case ADD: /* r = r + c, r - c */
		emit(code, 1, n / code->n[kind] & 1 ? 0x5c : 0x58, r, r, REGISTER_C);
		break;
	case FUSED: /* r = c - r × b */
		emit(code, 2, scalar ? 0xad : 0xac, r, REGISTER_B, REGISTER_C);
		break;
	case DIVIDE: /* r = c / b */
		emit(code, 1, 0x5e, r, REGISTER_C, REGISTER_B);
		break;
	default: /* r = √root */
		emit(code, 1, 0x51, r, scalar ? REGISTER_ROOT : 0, REGISTER_ROOT);
	}
}

/* The kinds evenly spread, as a compiler's schedule does; in runs of `run` of a kind. */
static void emit_loop(struct code *code, const int counts[KINDS], int run)
{
	int done[KINDS] = {0}, all = 0;
	for (int kind = 0; kind < KINDS; kind++)
		all += counts[kind] * UNROLL;
	uint8_t *const start = code->at;
	for (int n = 0, next = 0; n < all; n++) {
		double most = -1e9;
		const bool again = n % run && done[next] < counts[next] * UNROLL;
		for (int kind = 0; kind < KINDS && !again; kind++) {
			const double due =
				(double)counts[kind] * UNROLL * (n + 1) / all - done[kind];
			if (done[kind] < counts[kind] * UNROLL && due > most)
				most = due, next = kind;
		}
		emit_step(code, next, done[next]++);
	}
	memcpy(code->at, "\x48\xff\xcf\x0f\x85", 5); /* dec rdi; jnz */
	code->at += 5;
	const int32_t back = (int32_t)(start - (code->at + 4));
	memcpy(code->at, &back, 4);
	code->at += 4;
}

/* b and c from the state, to all registers; the loop; vzeroupper; ret. */
static void make_mix(struct item *item, int width, bool is_double, int run)
{
	uint8_t *const memory = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE | PROT_EXEC,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct code code = {.at = memory, .width = width, .is_double = is_double};
	int chained = 0, taken = 0;
	for (int kind = 0; kind < CHAINED; kind++)
		chained += item->counts[kind] > 0;
	for (int kind = 0; kind < KINDS; kind++) {
		const bool free = kind >= CHAINED;
		code.first[kind] = free ? FREE_REGISTER + 3 * (kind - CHAINED) : taken;
		code.n[kind] = kind == ROOT ? 2
			       : free       ? 3
					    : FREE_REGISTER / (chained ? chained : 1);
		taken += !free && item->counts[kind] ? code.n[kind] : 0;
	}
	if (memory == MAP_FAILED)
		abort();
	for (int r = 0; r < 32; r++) {
		/* vmovups zmm r, [rsi + disp32] */
		const int32_t at = r == REGISTER_B ? (int32_t)offsetof(struct compute_state, b)
				   : r == REGISTER_ROOT
					   ? (int32_t)offsetof(struct compute_state, d)
					   : (int32_t)offsetof(struct compute_state, c);
		const uint8_t move[] = {
			0x62, (uint8_t)((r & 8 ? 0 : 0x80) | 0x60 | (r & 16 ? 0 : 0x10) | 1),
			0x7c, 0x48,
			0x10, (uint8_t)(0x86 | (r & 7) << 3)};
		memcpy(code.at, move, sizeof(move));
		memcpy(code.at + sizeof(move), &at, 4);
		code.at += sizeof(move) + 4;
	}
	while ((uintptr_t)code.at % 64)
		*code.at++ = 0x90;
	emit_loop(&code, item->counts, run);
	memcpy(code.at, "\xc5\xf8\x77\xc3", 4);
	item->run = (void (*)(uint64_t, struct compute_state *))(uintptr_t)memory;
}

/* ---- times ---- */

static double time_once(struct item *item)
{
	struct compute_state state = item->state;
	const double start = now_ns();
	item->run(item->iterations, &state);
	return (now_ns() - start) / (double)item->iterations;
}

static void prepare(struct item *item)
{
	item->iterations = 1000;
	item->best_ns = INFINITY;
	for (int i = 0; i < 5; i++)
		item->best_ns = fmin(item->best_ns, time_once(item));
	item->iterations = (uint64_t)fmax(1, TIMED_NS / item->best_ns);
}

/* ---- one width and precision ---- */

struct group {
	struct item items[256]; /* rows, then mixes, each SCHEDULES times */
	size_t n, n_rows;
};

static void add_rows(struct group *group, int width, bool is_double)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (kernel->isa != isas[width] || !cpu_has(kernel->needs) ||
		    kernel->precision !=
			    (is_double ? ROOF_PRECISION_DOUBLE : ROOF_PRECISION_SINGLE))
			continue;
		struct item *item = &group->items[group->n++];
		*item = (struct item){.run = kernel->run,
				      .kernel = kernel,
				      .flop = kernel->ops_per_iteration};
		compute_state_init(kernel, &item->state);
	}
	group->n_rows = group->n;
}

static int lanes_of(int width, bool is_double)
{
	return width == 0 ? 1 : (is_double ? 1 : 2) << width;
}

static void add_mixes(struct group *group, int width, bool is_double, uint64_t *random)
{
	for (int n = 0; n < MIXES; n++) {
		struct item *item = &group->items[group->n];
		*item = (struct item){0};
		for (int kind = 0; kind < KINDS; kind++) {
			const bool slow = kind >= DIVIDE;
			if (random_number(random) % (slow ? 4 : 2) || kind == n % 3)
				item->counts[kind] = (int)(random_number(random) % (slow ? 5 : 40));
			if (slow && random_number(random) % 2)
				item->counts[kind] = 0;
			item->flop += item->counts[kind] * (kind == FUSED ? 2 : 1);
		}
		if (item->flop < 8)
			item->counts[ADD] += 8, item->flop += 8;
		item->flop *= lanes_of(width, is_double) * UNROLL;
		double *c = (double *)item->state.c, *b = (double *)item->state.b,
		       *d = (double *)item->state.d;
		float *cf = (float *)item->state.c, *bf = (float *)item->state.b,
		      *df = (float *)item->state.d;
		for (int i = 0; i < 16; i++)
			if (!is_double)
				cf[i] = 1.58496250f, bf[i] = 0.99999994f, df[i] = 223.6448f;
			else if (i < 8)
				c[i] = 1.58496250072115618, b[i] = 0.99999999999999989,
				d[i] = 223.64480098279;
		for (int run = 1; run <= SCHEDULES; run++) {
			if (run > 1)
				group->items[group->n] = *item;
			make_mix(&group->items[group->n++], width, is_double, run);
		}
	}
}

static struct model_function work_of(const struct item *item, int width, bool is_double)
{
	static const enum flop_kind kinds[KINDS] = {FLOP_MUL, FLOP_ADD, FLOP_FMA, FLOP_DIV,
						    FLOP_SQRT};
	const enum flop_precision precision = is_double ? PRECISION_DOUBLE : PRECISION_SINGLE;
	struct model_function f = {.concurrency = 1, .precision = precision};
	for (int kind = 0; kind < KINDS; kind++) {
		const uint64_t flop = (uint64_t)(item->counts[kind] * (kind == FUSED ? 2 : 1) *
						 lanes_of(width, is_double)) *
				      1000000;
		f.tally.flop_by_kind[kinds[kind]][precision][width] += flop;
		f.tally.flop += flop;
	}
	return f;
}

static void put_rows(const struct group *group, struct profile *profile)
{
	for (size_t i = 0; i < group->n_rows; i++) {
		const struct item *item = &group->items[i];
		const struct roof row = {.kind = ROOF_COMPUTE,
					 .isa = item->kernel->isa,
					 .precision = item->kernel->precision,
					 .op = item->kernel->op,
					 .threads = 1,
					 .best = item->flop / item->best_ns};
		if (!rf_array_push(profile->roofs, profile->n_roofs, profile->cap_roofs, row))
			abort();
	}
}

/* Prints each mix; returns how many are off. */
static int compare(const struct group *group, int width, bool is_double, double *worst)
{
	struct profile *profile = profile_create();
	int off = 0;
	put_rows(group, profile);
	for (size_t i = group->n_rows; i < group->n; i += SCHEDULES) {
		const struct item *item = &group->items[i];
		for (size_t other = i + 1; other < i + SCHEDULES; other++)
			if (group->items[other].best_ns < item->best_ns)
				item = &group->items[other];
		const struct model_function f = work_of(item, width, is_double);
		const double ceiling = model_mix_ceiling(profile, &f),
			     reached = item->flop / item->best_ns / ceiling;
		const bool is_off = fabs(reached - 1) > TOLERANCE;
		off += is_off;
		*worst = fmax(*worst, fabs(reached - 1));
		printf("%-7s %-6s %3d mul %3d add %3d fma %2d div %2d sqrt  %7.2f GFLOP/s, ceiling "
		       "%7.2f: %.3f%s\n",
		       roof_isa_name(isas[width]), is_double ? "double" : "single", item->counts[0],
		       item->counts[1], item->counts[2], item->counts[3], item->counts[4],
		       item->flop / item->best_ns, ceiling, reached, is_off ? " OFF" : "");
	}
	profile_destroy(profile);
	return off;
}

static int measure_group(int width, bool is_double, uint64_t *random, double *worst)
{
	static struct group group;
	group.n = 0;
	add_rows(&group, width, is_double);
	add_mixes(&group, width, is_double, random);
	for (size_t i = 0; i < group.n; i++)
		prepare(&group.items[i]);
	for (int round = 0; round < ROUNDS; round++)
		for (size_t i = 0; i < group.n; i++)
			group.items[i].best_ns =
				fmin(group.items[i].best_ns, time_once(&group.items[i]));
	for (size_t i = group.n_rows; i < group.n; i++)
		munmap((void *)(uintptr_t)group.items[i].run, CODE_BYTES);
	return compare(&group, width, is_double, worst);
}

int main(int argc, char **argv)
{
	uint64_t random = argc > 1 ? strtoull(argv[1], NULL, 0) : 16;
	cpu_set_t cpu;
	int off = 0;
	double worst = 0;
	if (!cpu_has(CPU_AVX512VL)) {
		puts("skipped: no AVX-512VL here");
		return 77;
	}
	CPU_ZERO(&cpu);
	CPU_SET(sched_getcpu(), &cpu);
	sched_setaffinity(0, sizeof(cpu), &cpu);
	for (int width = 0; width < 4; width++)
		for (int is_double = 0; is_double < 2; is_double++)
			off += measure_group(width, is_double, &random, &worst);
	printf("%d of %d mixes are more than %.0f %% off, the worst %.1f %%\n", off, 8 * MIXES,
	       100 * TOLERANCE, 100 * worst);
	return 20 * off > 8 * MIXES || worst > WORST;
}

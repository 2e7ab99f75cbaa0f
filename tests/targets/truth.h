/* What a target needs to know and print its own truth.
 *
 * A kernel is written in assembly, so that every instruction that it runs and every byte that it
 * moves can be counted by reading it.  The conventions of all truths:
 *  - an instruction counts once per execution, a `rep` instruction too, however often it repeats;
 *  - `call` stores 8 bytes for the function that it stands in, `ret` loads 8 bytes for the function
 *    that it ends, `push` and `pop` belong to the function that they stand in;
 *  - a masked or indexed vector access moves the bytes of its active lanes;
 *  - prefetches, `lea`, `nop [mem]` and cache control move nothing.
 * One line per kernel goes to standard output:
 *	truth kernel=NAME flop=N load_bytes=N store_bytes=N instructions=N KIND_PRECISION_WIDTH=N …
 * With thread=NAME the line is about that thread's share only.  A number that depends on the
 * compiler is left out. */
#pragma once

#include <cpuid.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Exit status of a target whose instructions this CPU does not have. */
#define TARGET_SKIP 77

/* Defines a function of Intel-syntax instructions, separated by semicolons.  Call frame
 * information describes a leaf: a kernel that moves the stack pointer adds its own. */
#define KERNEL(name, ...)                                                                          \
	__asm__(".pushsection .text, \"ax\", @progbits\n"                                          \
		".intel_syntax noprefix\n"                                                         \
		".p2align 4\n"                                                                     \
		".hidden " #name "\n"                                                              \
		".globl " #name "\n"                                                               \
		".type " #name ", @function\n" #name ":\n"                                         \
		".cfi_startproc\n" #__VA_ARGS__ "\n"                                               \
		".cfi_endproc\n"                                                                   \
		".size " #name ", . - " #name "\n"                                                 \
		".att_syntax prefix\n"                                                             \
		".popsection\n")

struct truth_kind { const char *name; uint64_t flop; };

struct truth {
	const char *kernel;	/* function name, demangled */
	const char *thread;	/* NULL: all threads */
	int flop_only;		/* compiled code: bytes and instructions are the compiler's choice */
	uint64_t instructions, load_bytes, store_bytes;
	struct truth_kind kinds[8]; /* their sum is the kernel's flop */
};

static inline void truth_print(const struct truth *truth)
{
	uint64_t flop = 0;

	for (const struct truth_kind *kind = truth->kinds; kind->name; kind++)
		flop += kind->flop;
	printf("truth kernel='%s'", truth->kernel);
	if (truth->thread)
		printf(" thread=%s", truth->thread);
	printf(" flop=%" PRIu64, flop);
	if (!truth->flop_only)
		printf(" load_bytes=%" PRIu64 " store_bytes=%" PRIu64 " instructions=%" PRIu64,
		       truth->load_bytes, truth->store_bytes, truth->instructions);
	for (const struct truth_kind *kind = truth->kinds; kind->name; kind++)
		if (kind->flop)
			printf(" %s=%" PRIu64, kind->name, kind->flop);
	printf("\n");
}

#define TRUTH(...) truth_print(&(const struct truth){ __VA_ARGS__ })
#define KINDS(...) .kinds = { __VA_ARGS__ }

/* Leaves with TARGET_SKIP when the CPU lacks `feature`, a word of __builtin_cpu_supports. */
#define NEED(feature)                                                                              \
	do {                                                                                       \
		if (!__builtin_cpu_supports(feature)) {                                            \
			fprintf(stderr, "this CPU has no %s\n", feature);                          \
			exit(TARGET_SKIP);                                                         \
		}                                                                                  \
	} while (0)

/* The same for what not every compiler has a word for: a bit of CPUID leaf `leaf`, subleaf 0, in
 * register 'c' or 'd', with AVX-512 or AVX registers usable (Intel SDM vol. 2, CPUID). */
static inline void need_cpuid(const char *feature, int avx512, unsigned leaf, char reg, int bit)
{
	unsigned a, b, c, d;
	int usable = avx512 ? __builtin_cpu_supports("avx512vl") : __builtin_cpu_supports("avx");

	if (usable && __get_cpuid_count(leaf, 0, &a, &b, &c, &d) && (reg == 'c' ? c : d) >> bit & 1)
		return;
	fprintf(stderr, "this CPU has no %s\n", feature);
	exit(TARGET_SKIP);
}

/* `n` doubles of `value`, aligned to a cache line. */
static inline double *doubles(size_t n, double value)
{
	double *array = aligned_alloc(64, (n * sizeof(double) + 63) / 64 * 64);

	if (!array) {
		fprintf(stderr, "out of memory\n");
		exit(1);
	}
	for (size_t i = 0; i < n; i++)
		array[i] = value;
	return array;
}

static inline double sum(const double *array, size_t n)
{
	double total = 0;

	for (size_t i = 0; i < n; i++)
		total += array[i];
	return total;
}

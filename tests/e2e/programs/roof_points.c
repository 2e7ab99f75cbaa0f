/* Kernels that ought to sit on the roofs: multiply-adds between registers, and streams.
 *
 * usage: roof_points THREADS NAME:COUNT:BYTES …
 *
 * Runs the named kernels one after another, each on all threads at once: COUNT times over arrays that
 * take BYTES together on each thread.  Every thread is on a hardware thread of its own and has
 * touched its arrays first.  Kernels are multiply-adds of 24 instructions a COUNT, or streams. */
#include "../../targets/truth.h"

#include <pthread.h>
#include <sched.h>
#include <string.h>
#include <sys/mman.h>

/* Stringized only after the macros in it are replaced. */
#define EXPANDED_KERNEL(name, ...) KERNEL(name, __VA_ARGS__)

#define EIGHT(M, ...) M(0, __VA_ARGS__) M(1, __VA_ARGS__) M(2, __VA_ARGS__) M(3, __VA_ARGS__)       \
	M(4, __VA_ARGS__) M(5, __VA_ARGS__) M(6, __VA_ARGS__) M(7, __VA_ARGS__)

/* What all kernels look like: rdi = a, rsi = b, rdx = c, rcx = bytes of an array, r8 = count, r9 =
 * constants: 1, 1 - 2^-10, 2^-10, each 64 bytes of doubles, then of floats. */
typedef void kernel_fn(double *a, double *b, double *c, uint64_t bytes, uint64_t count, const void *constants);

/* x ← x·(1 - 2^-10) + 2^-10 in 12 chains. */
#define START(i, r) vmovups r##i, [r9];
#define FMA(i, fma, r) fma r##i, r##14, r##15;
#define TWELVE(M, ...) EIGHT(M, __VA_ARGS__) M(8, __VA_ARGS__) M(9, __VA_ARGS__) M(10, __VA_ARGS__)  \
	M(11, __VA_ARGS__)
#define CRUNCH(name, fma, load, r)                                                                  \
	EXPANDED_KERNEL(name,                                                                       \
			TWELVE(START, load)                                                         \
			vmovups load##14, [r9 + 64];                                                \
			vmovups load##15, [r9 + 128];                                               \
			.p2align 6;                                                                 \
		1:	TWELVE(FMA, fma, r)                                                         \
			TWELVE(FMA, fma, r)                                                         \
			dec r8;                                                                     \
			jnz 1b;                                                                     \
			vzeroupper;                                                                 \
			ret);                                                                       \
	kernel_fn name

CRUNCH(fma_double_scalar, vfmadd213sd, xmm, xmm);
CRUNCH(fma_double_sse2, vfmadd213pd, xmm, xmm);
CRUNCH(fma_double_avx2, vfmadd213pd, ymm, ymm);
CRUNCH(fma_double_avx512f, vfmadd213pd, zmm, zmm);
CRUNCH(fma_single_scalar, vfmadd213ss, xmm, xmm);
CRUNCH(fma_single_sse2, vfmadd213ps, xmm, xmm);
CRUNCH(fma_single_avx2, vfmadd213ps, ymm, ymm);
CRUNCH(fma_single_avx512f, vfmadd213ps, zmm, zmm);

/* One vector of `s` bytes. */
#define COPY_ONE(i, r, s) vmovaps r##i, [rsi + rax + i*s]; vmovaps [rdi + rax + i*s], r##i;
#define TRIAD_ONE(i, r, s) vmovaps r##i, [rdx + rax + i*s]; vfmadd213pd r##i, r##15, [rsi + rax + i*s];  \
	vmovaps [rdi + rax + i*s], r##i;
#define DAXPY_ONE(i, r, s) vmovaps r##i, [rsi + rax + i*s]; vfmadd213pd r##i, r##15, [rdi + rax + i*s];  \
	vmovaps [rdi + rax + i*s], r##i;
#define DOT_ONE(i, r, s) vmovaps r##14, [rdi + rax + i*s]; vfmadd231pd r##i, r##14, [rsi + rax + i*s];
/* The same with prefetches far ahead of it, which is faster where the hardware's own do not do. */
#define FETCH(i, s, base) prefetcht0 [base + rax + i*s + 1024];
#define FETCHW(i, s, base) prefetchw [base + rax + i*s + 1024];
#define COPY_AHEAD(i, r, s) FETCHW(i, s, rdi) FETCH(i, s, rsi) COPY_ONE(i, r, s)
#define TRIAD_AHEAD(i, r, s) FETCHW(i, s, rdi) FETCH(i, s, rsi) FETCH(i, s, rdx) TRIAD_ONE(i, r, s)
#define DAXPY_AHEAD(i, r, s) FETCHW(i, s, rdi) FETCH(i, s, rsi) DAXPY_ONE(i, r, s)
#define DOT_AHEAD(i, r, s) FETCH(i, s, rdi) FETCH(i, s, rsi) DOT_ONE(i, r, s)
#define STREAM_KERNEL(name, one, r, s)                                                              \
	EXPANDED_KERNEL(name,                                                                       \
			vmovups r##15, [r9];                                                        \
			EIGHT(START, r)                                                             \
		1:	xor eax, eax;                                                               \
			.p2align 6;                                                                 \
		2:	EIGHT(one, r, s)                                                            \
			add rax, 8*s;                                                               \
			cmp rax, rcx;                                                               \
			jb 2b;                                                                      \
			dec r8;                                                                     \
			jnz 1b;                                                                     \
			vzeroupper;                                                                 \
			ret);                                                                       \
	kernel_fn name

#define STREAMS(isa, r, s)                                                                          \
	STREAM_KERNEL(copy_##isa, COPY_ONE, r, s);                                                  \
	STREAM_KERNEL(triad_##isa, TRIAD_ONE, r, s);                                                \
	STREAM_KERNEL(daxpy_##isa, DAXPY_ONE, r, s);                                                \
	STREAM_KERNEL(dot_##isa, DOT_ONE, r, s);                                                    \
	STREAM_KERNEL(copy_ahead_##isa, COPY_AHEAD, r, s);                                          \
	STREAM_KERNEL(triad_ahead_##isa, TRIAD_AHEAD, r, s);                                        \
	STREAM_KERNEL(daxpy_ahead_##isa, DAXPY_AHEAD, r, s);                                        \
	STREAM_KERNEL(dot_ahead_##isa, DOT_AHEAD, r, s)
STREAMS(avx2, ymm, 32);
STREAMS(avx512f, zmm, 64);
enum { STEP = 512 }; /* bytes of an array in one iteration, at most */

static const struct kernel { const char *name; kernel_fn *run; int arrays, single; } kernels[] = {
#define CRUNCHES(name, single) { #name, name, 0, single }
	CRUNCHES(fma_double_scalar, 0), CRUNCHES(fma_double_sse2, 0), CRUNCHES(fma_double_avx2, 0),
	CRUNCHES(fma_double_avx512f, 0), CRUNCHES(fma_single_scalar, 1), CRUNCHES(fma_single_sse2, 1),
	CRUNCHES(fma_single_avx2, 1), CRUNCHES(fma_single_avx512f, 1),
#define STREAM(name, arrays) { #name, name, arrays, 0 }
#define STREAM_ROWS(isa)                                                                            \
	STREAM(copy_##isa, 2), STREAM(triad_##isa, 3), STREAM(daxpy_##isa, 2), STREAM(dot_##isa, 2), \
	STREAM(copy_ahead_##isa, 2), STREAM(triad_ahead_##isa, 3), STREAM(daxpy_ahead_##isa, 2),    \
	STREAM(dot_ahead_##isa, 2)
	STREAM_ROWS(avx2), STREAM_ROWS(avx512f),
};

static struct task { const struct kernel *kernel; uint64_t count, bytes; } *tasks;
static int n_tasks;
static pthread_barrier_t barrier;
static _Alignas(64) double doubles_used[24];
static _Alignas(64) float floats_used[48];

static void pin(int rank)
{
	cpu_set_t usable, one;

	CPU_ZERO(&one);
	if (sched_getaffinity(0, sizeof(usable), &usable))
		return;
	for (int cpu = 0; cpu < CPU_SETSIZE; cpu++)
		if (CPU_ISSET(cpu, &usable) && !rank--)
			CPU_SET(cpu, &one);
	pthread_setaffinity_np(pthread_self(), sizeof(one), &one); /* fails when there are too few */
}

/* Arrays start 1344 bytes off each other modulo 4 KiB, so that no load waits for an earlier store to
 * another array. */
static void run_task(const struct task *task)
{
	const struct kernel *kernel = task->kernel;
	uint64_t each = kernel->arrays ? task->bytes / kernel->arrays / STEP * STEP : 0;
	uint64_t total = 3 * (each + 1344), huge = (uint64_t)2 << 20;
	double *memory = aligned_alloc(huge, (total + huge - 1) / huge * huge), *arrays[3];

	if (!memory)
		exit(2);
	madvise(memory, total, MADV_HUGEPAGE); /* else the pages are small, and it is slower */
	for (uint64_t i = 0; i < total / sizeof(*memory); i++)
		memory[i] = 1;
	for (int i = 0; i < 3; i++)
		arrays[i] = (double *)((char *)memory + (i < kernel->arrays ? i : 0) * (each + 1344));
	pthread_barrier_wait(&barrier);
	kernel->run(arrays[0], arrays[1], arrays[2], each, task->count,
		    kernel->single ? (const void *)floats_used : doubles_used);
	free(memory);
}

static void *work(void *argument)
{
	pin(*(int *)argument);
	for (int i = 0; i < n_tasks; i++)
		run_task(&tasks[i]);
	return NULL;
}

static const struct kernel *find_kernel(const char *name)
{
	for (size_t i = 0; i < sizeof(kernels) / sizeof(*kernels); i++)
		if (!strcmp(kernels[i].name, name))
			return &kernels[i];
	fprintf(stderr, "no kernel %s\n", name);
	exit(2);
}

static void read_task(const char *text, struct task *task)
{
	char name[32];

	if (sscanf(text, "%31[^:]:%" SCNu64 ":%" SCNu64, name, &task->count, &task->bytes) != 3 || !task->count) {
		fprintf(stderr, "not NAME:COUNT:BYTES: %s\n", text);
		exit(2);
	}
	task->kernel = find_kernel(name);
}

int main(int argc, char **argv)
{
	int n_threads = argc > 2 ? atoi(argv[1]) : 0;
	pthread_t threads[256];
	int ranks[256];

	NEED("fma");
	if (n_threads < 1 || n_threads > 256)
		return 2;
	n_tasks = argc - 2;
	tasks = calloc(n_tasks, sizeof(*tasks));
	for (int i = 0; i < n_tasks; i++)
		read_task(argv[2 + i], &tasks[i]);
	for (int i = 0; i < 48; i++) {
		double value = i < 16 ? 1 : i < 32 ? 1 - 0x1p-10 : 0x1p-10;
		floats_used[i] = value;
		if (i % 16 < 8)
			doubles_used[i / 16 * 8 + i % 16] = value;
	}
	pthread_barrier_init(&barrier, NULL, n_threads);
	for (int i = 0; i < n_threads; i++) {
		ranks[i] = i;
		if (pthread_create(&threads[i], NULL, work, &ranks[i]))
			return 2;
	}
	for (int i = 0; i < n_threads; i++)
		pthread_join(threads[i], NULL);
	free(tasks);
	return 0;
}

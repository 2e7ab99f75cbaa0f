/* Runs and times a loop around a body of code. */
#include "machine/core/timed_code.h"

#include "machine/core/turn_cycles.h"
#include "machine/topology/cpu_features.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <x86intrin.h>

#define CODE_BYTES (TIMED_CODE_MOST + 8192)
#define TARGET_TICKS 4500          /* of the time stamp counter: some 2 µs, and three times that */
#define VALUES (-CODE_BUFFER_HALF) /* where the constants are, from the buffer's middle */
#define VECTOR_VALUES (VALUES + 256)
#define FLUSH_TINY 0x8040u /* MXCSR: subnormal numbers are 0, which take no longer than others */

struct timed_code {
	struct code body;
	uint8_t *writable, *executable; /* the same pages */
	uint8_t *buffer;                /* its middle */
};

typedef void loop_function(uint64_t turns, void *buffer);

struct timed_code *timed_code_create(void)
{
	struct timed_code *timed = calloc(1, sizeof(*timed));
	const int fd = memfd_create("rfprof-timed", MFD_CLOEXEC);
	if (!timed || fd < 0 || ftruncate(fd, CODE_BYTES)) {
		if (fd >= 0)
			close(fd);
		free(timed);
		return NULL;
	}
	timed->writable = mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	timed->executable = mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, fd, 0);
	timed->body = (struct code){.bytes = malloc(TIMED_CODE_MOST), .capacity = TIMED_CODE_MOST};
	uint8_t *buffer = aligned_alloc(4096, 2 * CODE_BUFFER_HALF);
	timed->buffer = buffer ? buffer + CODE_BUFFER_HALF : NULL;
	close(fd);
	if (timed->writable == MAP_FAILED || timed->executable == MAP_FAILED ||
	    !timed->body.bytes || !timed->buffer) {
		timed_code_destroy(timed);
		return NULL;
	}
	return timed;
}

void timed_code_destroy(struct timed_code *timed)
{
	if (!timed)
		return;
	if (timed->writable && timed->writable != MAP_FAILED)
		munmap(timed->writable, CODE_BYTES);
	if (timed->executable && timed->executable != MAP_FAILED)
		munmap(timed->executable, CODE_BYTES);
	free(timed->body.bytes);
	free(timed->buffer ? timed->buffer - CODE_BUFFER_HALF : NULL);
	free(timed);
}

struct code *timed_code_body(struct timed_code *timed)
{
	timed->body.size = 0;
	timed->body.failed = false;
	return &timed->body;
}

/* ---- the loop ---- */

static void set_values(struct timed_code *timed, bool single)
{
	uint8_t *values = timed->buffer + VALUES;
	uint64_t self = (uint64_t)(uintptr_t)(values + 128);
	memset(values, 0, 2 * CODE_BUFFER_HALF);
	for (int i = 0; i < 16; i++) {
		const uint64_t value = i == 0               ? self
				       : i == 1             ? 3
				       : i == 2             ? 0
				       : i == CODE_CONSTANT ? 0x12345
							    : UINT64_C(0x123456789abcdef) + i;
		memcpy(values + 8 * i, &value, sizeof(value));
	}
	memcpy(values + 128, &self, sizeof(self));
	for (int i = 0; i < 16; i++) {
		uint8_t *vector = timed->buffer + VECTOR_VALUES + 64 * i;
		for (int lane = 0; lane < 16 && single; lane++)
			memcpy(vector + 4 * lane, &(float){1.0001f}, 4);
		for (int lane = 0; lane < 8 && !single; lane++)
			memcpy(vector + 8 * lane, &(double){1.0001}, 8);
		if (i == CODE_ONES)
			memset(vector, 0xff, 64);
	}
}

static void add_vectors(struct code *code, enum form_kind widest)
{
	static const uint8_t zero_upper[] = {0xc5, 0xf8, 0x77};
	const char *const load = !cpu_has(CPU_AVX)    ? "movups xmm, m128"
				 : widest == KIND_ZMM ? "vmovups zmm, m512"
				 : widest == KIND_YMM ? "vmovups ymm, m256"
						      : "vmovups xmm, m128";
	if (cpu_has(CPU_AVX))
		code_add_bytes(code, zero_upper, sizeof(zero_upper));
	for (int i = 0; i < 16; i++)
		code_add_named(code, load, i, VECTOR_VALUES + 64 * i, 0);
}

static void add_masks(struct code *code)
{
	for (int k = 1; k < 8 && cpu_has(CPU_AVX512F | CPU_AVX512BW); k++)
		code_add_named(code, "kmovq k, m64", k, VECTOR_VALUES + 64 * CODE_ONES, 0);
}

static const int kept[] = {3, 5, 12, 13, 14, 15};
#define N_KEPT ((int)(sizeof(kept) / sizeof(*kept)))

static void add_start(struct code *code, enum form_kind widest)
{
	for (int i = 0; i < N_KEPT; i++)
		code_add_named(code, "push r64", kept[i], 0, 0);
	code_add_named(code, "mov r64, r64", CODE_TURNS, 7, 0);
	code_add_named(code, "mov r64, r64", CODE_BUFFER, 6, 0);
	for (int i = 0; i < 14; i++)
		if (i != 4)
			code_add_named(code, "mov r64, m64", i, VALUES + 8 * i, 0);
	add_masks(code);
	add_vectors(code, widest);
	while (code->size % 64 && !code->failed)
		code_add_bytes(code, "\x90", 1);
}

static void add_end(struct code *code, size_t start)
{
	static const uint8_t zero_upper[] = {0xc5, 0xf8, 0x77};
	uint8_t jump[6] = {0x0f, 0x85};
	code_add_named(code, "dec r64", CODE_TURNS, 0, 0);
	const int32_t distance = (int32_t)start - (int32_t)(code->size + sizeof(jump));
	memcpy(jump + 2, &distance, sizeof(distance));
	code_add_bytes(code, jump, sizeof(jump));
	if (cpu_has(CPU_AVX))
		code_add_bytes(code, zero_upper, sizeof(zero_upper));
	for (int i = N_KEPT; i-- > 0;)
		code_add_named(code, "pop r64", kept[i], 0, 0);
	code_add_bytes(code, "\xc3", 1);
}

static bool make_loop(struct timed_code *timed, struct timed_kind kind)
{
	struct code code = {timed->writable, 0, CODE_BYTES, timed->body.failed};
	add_start(&code, kind.vectors);
	const size_t start = code.size;
	code_add_bytes(&code, timed->body.bytes, timed->body.size);
	add_end(&code, start);
	set_values(timed, kind.single);
	return !code.failed;
}

/* ---- its time ---- */

static uint64_t ticks_of_loop(void *context, uint64_t turns)
{
	const struct timed_code *timed = context;
	loop_function *const run = (loop_function *)(uintptr_t)timed->executable;
	_mm_lfence();
	const uint64_t start = __rdtsc();
	_mm_lfence();
	run(turns, timed->buffer);
	_mm_lfence();
	return __rdtsc() - start;
}

static uint64_t least(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

static uint64_t turns_for_target(struct timed_code *timed)
{
	uint64_t turns = 1;
	ticks_of_loop(timed, 2);
	for (uint64_t ticks = 0; turns < 4096; turns *= 2) {
		ticks = least(ticks_of_loop(timed, turns), ticks_of_loop(timed, turns));
		if (ticks >= TARGET_TICKS)
			break;
	}
	return turns;
}

double timed_code_cycles(struct timed_code *timed, struct timed_kind kind)
{
	const unsigned before = _mm_getcsr();
	if (!make_loop(timed, kind))
		return NAN;
	_mm_setcsr(before | FLUSH_TINY);
	const double cycles = turn_cycles(ticks_of_loop, timed, turns_for_target(timed),
					  kind.vectors == KIND_ZMM);
	_mm_setcsr(before);
	return cycles;
}

double timed_code_least_ticks(struct timed_code *timed, uint64_t turns, int looks)
{
	uint64_t fewest = UINT64_MAX;
	if (!make_loop(timed, (struct timed_kind){KIND_XMM, false}))
		return NAN;
	for (int i = 0; i < looks; i++)
		fewest = least(fewest, ticks_of_loop(timed, turns));
	return (double)fewest;
}

#include "machine/kernels/bandwidth_kernels.h"
#include "machine/topology/cpu_features.h"
#include "vector_bytes.h"

#include <Zydis/Zydis.h>
#include <criterion/criterion.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORDS = 2 * BANDWIDTH_GRAIN / 8, GUARD = 64, MAX_CODE = 16384 };

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

static bool begins(const char *text, const char *start)
{
	return !strncmp(text, start, strlen(start));
}

/* Bytes of each load and store; of string instructions 0. */
static size_t access_bytes(const struct bandwidth_kernel *kernel)
{
	return kernel->isa == ROOF_ISA_SCALAR ? 8 : vector_bytes(kernel->isa);
}

static const char *name_of(const struct bandwidth_kernel *kernel)
{
	static char name[128];
	snprintf(name, sizeof(name), "%s %s %s: streams %d, unroll %d, group %d, ahead %d",
		 roof_isa_name(kernel->isa), roof_op_name(kernel->op), kernel->body,
		 kernel->streams, kernel->unroll, kernel->group, kernel->ahead);
	return name;
}

/* An array between guards, all of it filled with different normal numbers. */
struct guarded {
	double *whole, *array;
};

static struct guarded guarded_create(double first)
{
	struct guarded guarded;
	size_t n = WORDS + 2 * GUARD;
	guarded.whole = aligned_alloc(64, n * sizeof(double));
	guarded.array = guarded.whole + GUARD;
	for (size_t i = 0; i < n; i++)
		guarded.whole[i] = first + i;
	return guarded;
}

static void assert_guards(const struct guarded *guarded, double first)
{
	for (size_t i = 0; i < GUARD; i++) {
		cr_assert_eq(guarded->whole[i], first + i);
		size_t after = GUARD + WORDS + i;
		cr_assert_eq(guarded->whole[after], first + after);
	}
}

static void assert_unchanged(const struct guarded *guarded, double first)
{
	assert_guards(guarded, first);
	for (size_t i = 0; i < WORDS; i++)
		cr_assert_eq(guarded->array[i], first + GUARD + i);
}

static struct bandwidth_state state_create(double constant, double factor)
{
	struct bandwidth_state state;
	bandwidth_state_init(&state);
	for (int i = 0; i < 8; i++) {
		state.constant[i] = constant;
		state.factor[i] = factor;
	}
	return state;
}

static uint64_t sum_of(const struct bandwidth_state *state)
{
	uint64_t sum = 0;
	for (int i = 0; i < 8; i++)
		sum ^= state->sum[i];
	return sum;
}

/* With a constant of 0.5 and a factor of 0.75, exact in double, fused or not. */
static double expected_element(const char *op, uint64_t passes, double a, double b, double c)
{
	if (begins(op, "write"))
		return 0.5;
	if (begins(op, "copy"))
		return b;
	if (begins(op, "triad"))
		return b + 0.5 * c;
	for (uint64_t i = 0; i < passes; i++)
		a = is(op, "daxpy") ? a + 0.5 * b : is(op, "update") ? 0.75 * a : a;
	return a;
}

static uint64_t xor_of(const void *memory, size_t n_words)
{
	const uint64_t *words = memory;
	uint64_t sum = 0;
	for (size_t i = 0; i < n_words; i++)
		sum ^= words[i];
	return sum;
}

/* Every element of the arrays is treated once a pass, and nothing outside of them. */
static void check_bandwidth_kernel(const struct bandwidth_kernel *kernel, uint64_t passes)
{
	struct guarded a = guarded_create(1), b = guarded_create(1e4), c = guarded_create(1e6);
	struct bandwidth_state state = state_create(0.5, 0.75);
	kernel->run(a.array, b.array, c.array, WORDS * 8, passes, &state);
	for (size_t i = 0; i < WORDS; i++)
		cr_assert_eq(a.array[i],
			     expected_element(roof_op_name(kernel->op), passes, 1 + GUARD + i,
					      1e4 + GUARD + i, 1e6 + GUARD + i),
			     "%s: element %zu", name_of(kernel), i);
	if (is(kernel->body, "read")) /* two passes cancel */
		cr_assert_eq(sum_of(&state), passes % 2 ? xor_of(a.array, WORDS) : 0, "%s",
			     name_of(kernel));
	assert_guards(&a, 1);
	assert_unchanged(&b, 1e4);
	assert_unchanged(&c, 1e6);
	free(a.whole);
	free(b.whole);
	free(c.whole);
}

Test(bandwidth_kernels, bandwidth_kernels_move_what_they_state)
{
	int checked = 0;
	for (size_t i = 0; i < n_bandwidth_kernels; i++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[i];
		if (!cpu_has(kernel->needs))
			continue;
		for (uint64_t passes = 1; passes <= 3; passes++)
			check_bandwidth_kernel(kernel, passes);
		checked++;
	}
	cr_assert_geq(checked, 20);
}

Test(bandwidth_kernels, read_sees_every_word)
{
	for (size_t k = 0; k < n_bandwidth_kernels; k++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
		if (!is(kernel->body, "read") || !cpu_has(kernel->needs))
			continue;
		uint64_t *words = aligned_alloc(64, BANDWIDTH_GRAIN);
		for (size_t at = 0; at < BANDWIDTH_GRAIN / 8; at++) {
			struct bandwidth_state state;
			bandwidth_state_init(&state);
			memset(words, 0, BANDWIDTH_GRAIN);
			words[at] = 0x123456789;
			kernel->run(words, NULL, NULL, BANDWIDTH_GRAIN, 1, &state);
			cr_assert_eq(sum_of(&state), 0x123456789, "%s", name_of(kernel));
		}
		free(words);
	}
}

/* What the last iteration loaded is still in the registers: so each iteration's loads are seen by
 * making it the last. */
Test(bandwidth_kernels, load_sees_every_word_of_each_iteration)
{
	int checked = 0;
	for (size_t k = 0; k < n_bandwidth_kernels; k++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
		if (!is(kernel->body, "load") || !cpu_has(kernel->needs))
			continue;
		checked++;
		size_t step = kernel->streams * kernel->unroll * access_bytes(kernel);
		struct guarded a = guarded_create(1);
		for (size_t bytes = step; bytes <= WORDS * 8; bytes += step)
			for (size_t at = 0; at < bytes / 8; at++) {
				struct bandwidth_state state;
				bandwidth_state_init(&state);
				a.array[at] = -a.array[at]; /* another word at each place */
				kernel->run(a.array, NULL, NULL, bytes, 1, &state);
				cr_assert_eq(sum_of(&state),
					     xor_of(a.array + (bytes - step) / 8, step / 8), "%s",
					     name_of(kernel));
			}
		free(a.whole);
	}
	cr_assert(checked > 0 || !cpu_has(CPU_AVX));
}

Test(bandwidth_kernels, operations_state_their_arrays_and_bytes)
{
	static const struct {
		const char *op;
		int arrays, bytes;
	} truths[] = {
		{"read", 1, 8},      {"write", 1, 8},     {"copy", 2, 16},     {"triad", 3, 24},
		{"daxpy", 2, 24},    {"update", 1, 16},   {"write_nt", 1, 8},  {"copy_nt", 2, 16},
		{"triad_nt", 3, 24}, {"write_rep", 1, 8}, {"copy_rep", 2, 16},
	};
	size_t seen = 0, n = sizeof(truths) / sizeof(truths[0]);
	for (size_t i = 0; i < n; i++) {
		size_t variants = 0;
		for (size_t k = 0; k < n_bandwidth_kernels; k++) {
			const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
			if (!is(roof_op_name(kernel->op), truths[i].op))
				continue;
			variants++;
			cr_assert_eq(kernel->arrays, truths[i].arrays);
			cr_assert_eq(kernel->bytes_per_element, truths[i].bytes);
			cr_assert_eq(kernel->non_temporal,
				     strstr(roof_op_name(kernel->op), "_nt") != NULL);
		}
		cr_assert(variants > 0 && variants <= BANDWIDTH_MAX_VARIANTS, "%s: %zu",
			  truths[i].op, variants);
		seen += variants;
	}
	cr_assert_eq(seen, n_bandwidth_kernels);
}

Test(bandwidth_kernels, every_row_is_another_one)
{
	for (size_t i = 0; i < n_bandwidth_kernels; i++)
		for (size_t j = 0; j < i; j++)
			cr_assert_neq((uintptr_t)bandwidth_kernels[i].run,
				      (uintptr_t)bandwidth_kernels[j].run);
}

Test(bandwidth_kernels, an_iteration_divides_the_grain)
{
	for (size_t i = 0; i < n_bandwidth_kernels; i++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[i];
		size_t vector = is(roof_isa_name(kernel->isa), "rep") ? 8 : access_bytes(kernel);
		cr_assert_eq(BANDWIDTH_GRAIN % (kernel->streams * kernel->unroll * vector), 0, "%s",
			     name_of(kernel));
	}
}

/* The smallest and the largest value that operations leave, one after the other, in arrays of 1. */
Test(bandwidth_kernels, values_stay_normal_and_positive)
{
	struct guarded a = guarded_create(1), b = guarded_create(1), c = guarded_create(1);
	for (size_t i = 0; i < WORDS; i++)
		a.array[i] = b.array[i] = c.array[i] = 1;
	struct bandwidth_state state;
	bandwidth_state_init(&state);
	for (int round = 0; round < 3; round++)
		for (size_t k = 0; k < n_bandwidth_kernels; k++) {
			const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
			if (!cpu_has(kernel->needs))
				continue;
			kernel->run(a.array, b.array, c.array, WORDS * 8, 1000, &state);
			for (size_t i = 0; i < WORDS; i++)
				cr_assert(a.array[i] >= 0x1p-30 && a.array[i] < 1.001, "%s",
					  name_of(kernel));
			struct guarded first = a; /* each array takes part in each place */
			a = b;
			b = c;
			c = first;
		}
	free(a.whole);
	free(b.whole);
	free(c.whole);
}

/* What the instructions of one loop iteration do to memory. */
struct traffic {
	int load_bytes, store_bytes, nt_store_bytes, prefetches, prefetch_writes;
};

static bool is_nt_store(ZydisMnemonic mnemonic)
{
	return mnemonic == ZYDIS_MNEMONIC_MOVNTPS || mnemonic == ZYDIS_MNEMONIC_VMOVNTPS;
}

static void add_traffic(struct traffic *traffic, const ZydisDecodedInstruction *insn,
			const ZydisDecodedOperand *operands)
{
	traffic->prefetches += insn->mnemonic == ZYDIS_MNEMONIC_PREFETCHT0;
	traffic->prefetch_writes += insn->mnemonic == ZYDIS_MNEMONIC_PREFETCHW;
	if (insn->meta.category == ZYDIS_CATEGORY_PREFETCH ||
	    insn->mnemonic == ZYDIS_MNEMONIC_PREFETCHW)
		return;
	for (int i = 0; i < insn->operand_count; i++) {
		if (operands[i].type != ZYDIS_OPERAND_TYPE_MEMORY ||
		    operands[i].mem.type != ZYDIS_MEMOP_TYPE_MEM)
			continue;
		int bytes = operands[i].size / 8;
		if (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_READ)
			traffic->load_bytes += bytes;
		if (operands[i].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			*(is_nt_store(insn->mnemonic) ? &traffic->nt_store_bytes
						      : &traffic->store_bytes) += bytes;
	}
}

/* The inner loop is what the first backward conditional jump of a kernel closes. */
static struct traffic inner_loop_traffic(const struct bandwidth_kernel *kernel)
{
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	const unsigned char *code = (const unsigned char *)(uintptr_t)kernel->run;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	size_t at = 0, from = 0, to = 0;
	for (; !to && at < MAX_CODE; at += insn.length) {
		cr_assert(ZYAN_SUCCESS(ZydisDecoderDecodeFull(&decoder, code + at, MAX_CODE - at,
							      &insn, operands)));
		cr_assert_neq(insn.mnemonic, ZYDIS_MNEMONIC_RET, "%s: no loop", name_of(kernel));
		if (insn.meta.category == ZYDIS_CATEGORY_COND_BR && operands[0].imm.value.s < 0) {
			from = at + insn.length + operands[0].imm.value.s;
			to = at;
		}
	}
	struct traffic traffic = {0};
	for (at = from; at < to; at += insn.length) {
		ZydisDecoderDecodeFull(&decoder, code + at, MAX_CODE - at, &insn, operands);
		add_traffic(&traffic, &insn, operands);
	}
	return traffic;
}

Test(bandwidth_kernels, instructions_move_the_stated_bytes)
{
	for (size_t k = 0; k < n_bandwidth_kernels; k++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
		if (is(roof_isa_name(kernel->isa), "rep"))
			continue;
		struct traffic traffic = inner_loop_traffic(kernel);
		int step = kernel->streams * kernel->unroll * (int)access_bytes(kernel);
		int stored = is(roof_op_name(kernel->op), "read") ? 0 : step;
		const char *name = name_of(kernel);
		cr_assert_eq(traffic.store_bytes, kernel->non_temporal ? 0 : stored, "%s", name);
		cr_assert_eq(traffic.nt_store_bytes, kernel->non_temporal ? stored : 0, "%s", name);
		cr_assert_eq(traffic.load_bytes, kernel->bytes_per_element * step / 8 - stored,
			     "%s", name);
		/* One prefetch for each line of each array, but not of those stored past the
		 * caches. */
		int lines = kernel->ahead ? step / 64 : 0,
		    a_is_read = is(roof_op_name(kernel->op), "read");
		cr_assert_eq(traffic.prefetches, lines * (kernel->arrays - 1 + a_is_read), "%s",
			     name);
		cr_assert_eq(traffic.prefetch_writes, kernel->non_temporal || a_is_read ? 0 : lines,
			     "%s", name);
	}
}

Test(bandwidth_kernels, string_kernels_are_one_string_instruction_a_pass)
{
	int checked = 0;
	for (size_t k = 0; k < n_bandwidth_kernels; k++) {
		const struct bandwidth_kernel *kernel = &bandwidth_kernels[k];
		ZydisDecoder decoder;
		ZydisDecodedInstruction insn;
		if (!is(roof_isa_name(kernel->isa), "rep"))
			continue;
		const unsigned char *code = (const unsigned char *)(uintptr_t)kernel->run;
		int strings = 0;
		ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
		for (size_t at = 0; at < MAX_CODE; at += insn.length) {
			cr_assert(ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(
				&decoder, NULL, code + at, 15, &insn)));
			if (insn.mnemonic == ZYDIS_MNEMONIC_RET)
				break;
			bool repeated = insn.attributes & ZYDIS_ATTRIB_HAS_REP;
			strings +=
				repeated && is(ZydisMnemonicGetString(insn.mnemonic), kernel->body);
		}
		cr_assert_eq(strings, 1);
		checked++;
	}
	cr_assert_eq(checked, 2);
}

#include "machine/kernels/compute_kernels.h"
#include "machine/topology/cpu_features.h"
#include "vector_bytes.h"

#include <Zydis/Zydis.h>
#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

static bool is_integer(const struct compute_kernel *kernel)
{
	return is(kernel->unit, "GOP/s");
}

/* Deterministic numbers (Marsaglia's xorshift64). */
static uint64_t random_bits(void)
{
	static uint64_t x = 88172645463325252;
	x ^= x << 13;
	x ^= x >> 7;
	return x ^= x << 17;
}

static long double random_between(long double low, long double high)
{
	return low + (high - low) * (random_bits() >> 11) / 0x1p53L;
}

/* --- The slow reference: one step of one lane. */

/* Rounds a value that is exact, or was rounded with at least twice the digits and 2 more, which
 * makes the second rounding harmless for one operation (Figueroa 1995). */
static long double rounded(enum element element, long double value)
{
	unsigned char place[16];
	element_set(element, place, value);
	return element_get(element, place);
}

static long double float_fma(enum element element, long double x, long double b, long double c)
{
	if (element == ELEMENT_DOUBLE)
		return fma(x, b, c);
	if (element == ELEMENT_SINGLE)
		return fmaf(x, b, c);
	return rounded(element, x * b + c); /* half: all 64 bits suffice for the operands below */
}

static long double float_op(enum element element, const char *op, long double x, long double b)
{
	if (element == ELEMENT_DOUBLE) {
		double xd = x, bd = b;
		return is(op, "add")   ? xd + bd
		       : is(op, "sub") ? xd - bd
		       : is(op, "mul") ? xd * bd
		       : is(op, "div") ? xd / bd
				       : sqrt(bd);
	}
	long double value = is(op, "add")   ? x + b
			    : is(op, "sub") ? x - b
			    : is(op, "mul") ? x * b
			    : is(op, "div") ? x / b
					    : sqrtl(b);
	return rounded(element, value);
}

static long double float_step(const struct compute_kernel *kernel, bool adds, int step,
			      long double x, long double b, long double c)
{
	bool x87 = is(roof_isa_name(kernel->isa), "x87");
	long double operand = step % 2 && !x87 ? c : b;
	if (adds && is(roof_op_name(kernel->op), "mul16_div1"))
		return float_op(kernel->element, "div", x, operand);
	if (adds && x87)
		return float_op(kernel->element, "add", x, b);
	if (adds)
		return float_op(kernel->element, step % 2 ? "sub" : "add", x, c);
	if (starts_with(roof_op_name(kernel->op), "mul"))
		return float_op(kernel->element, "mul", x, operand);
	if (starts_with(roof_op_name(kernel->op), "fma"))
		return float_fma(kernel->element, x, b, c);
	if (is(roof_op_name(kernel->op), "sqrt"))
		return float_op(kernel->element, "sqrt", 0, step % kernel->steps ? x : b);
	if (x87 && is(roof_op_name(kernel->op), "div"))
		return b / x;
	return float_op(kernel->element, roof_op_name(kernel->op), x, operand);
}

static uint64_t integer_step(const char *op, int step, uint64_t x, uint64_t b, uint64_t c)
{
	uint64_t operand = step % 2 ? c : b;
	return is(op, "add") ? x + operand : is(op, "mul") ? x * operand : x ^ operand;
}

static long double byte_of(bool is_signed, unsigned char byte)
{
	return is_signed ? (int8_t)byte : byte;
}

/* What a dot step adds to a lane; counts its products.  Tiles: Intel SDM volume 2, TDPBF16PS. */
static long double dot_sum(const struct compute_kernel *kernel, const unsigned char *b,
			   const unsigned char *c, int lane, uint64_t *products)
{
	bool tiles = is(roof_isa_name(kernel->isa), "amx"), bytes = is_integer(kernel);
	long double sum = 0;
	for (int row = 0; row < (tiles ? 16 : 1); row++)
		for (int k = 0; k < (bytes ? 4 : 2); k++) {
			int left = tiles ? lane / 16 * 64 + row * 4 : lane * 4;
			int right = tiles ? row * 64 + lane % 16 * 4 : lane * 4;
			sum += bytes ? byte_of(tiles, b[left + k]) * byte_of(true, c[right + k])
				     : element_get(ELEMENT_BFLOAT16, b + left + 2 * k) *
					       element_get(ELEMENT_BFLOAT16, c + right + 2 * k);
			++*products;
		}
	return sum;
}

/* Makes all steps of `iterations` on a lane in memory; returns the operations that this took. */
static uint64_t reference_lane(const struct compute_kernel *kernel,
			       const struct compute_state *state, uint64_t iterations, bool adds,
			       int lane, unsigned char *at)
{
	enum element element = kernel->element;
	size_t offset = lane * element_bytes(element);
	uint64_t ops = 0, products = 0;
	long double b = element_get(element, state->b + offset),
		    c = element_get(element, state->c + offset);
	int steps = adds ? kernel->added_steps : kernel->steps;
	for (uint64_t n = 0; n < iterations * steps; n++) {
		long double x = element_get(element, at);
		if (is(roof_op_name(kernel->op), "dot")) {
			x += dot_sum(kernel, state->b, n % 2 ? state->d : state->c, lane,
				     &products);
		} else if (is_integer(kernel)) {
			x = (int64_t)integer_step(roof_op_name(kernel->op), n % 2, (int64_t)x,
						  (int64_t)b, (int64_t)c);
			ops++;
		} else {
			x = float_step(kernel, adds, n, x, b, c);
			ops += starts_with(roof_op_name(kernel->op), "fma") && !adds ? 2 : 1;
		}
		element_set(element, at, x);
	}
	return ops + 2 * products;
}

/* --- Operands that tell every lane, operand and number of steps from another. */

static void fill(enum element element, unsigned char *bytes, size_t size, long double low,
		 long double high)
{
	for (size_t at = 0; at < size; at += element_bytes(element)) {
		long double value = random_between(low, high);
		if (element == ELEMENT_BFLOAT16)
			value = truncl(value); /* small integers: exact in every order of the sum */
		element_set(element, bytes + at, value);
	}
}

static void fill_bits(unsigned char *bytes, size_t size)
{
	for (size_t at = 0; at < size; at++)
		bytes[at] = random_bits() >> 32;
}

static void fill_floats(const struct compute_kernel *kernel, struct compute_state *state)
{
	static const struct {
		const char *op;
		long double low, high;
	} ranges[] = {
		{"add", -1, 1},
		{"mul", 0.95L, 1.05L},
		{"div", 0.95L, 1.05L},
		{"sqrt", 100, 60000},
	};
	long double low = -1, high = 1; /* fma */
	for (size_t i = 0; i < sizeof(ranges) / sizeof(ranges[0]); i++)
		if (starts_with(roof_op_name(kernel->op), ranges[i].op))
			low = ranges[i].low, high = ranges[i].high;
	fill(kernel->element, state->b, sizeof(state->b), low, high);
	fill(kernel->element, state->c, sizeof(state->c), low, high);
}

static void fill_state(const struct compute_kernel *kernel, struct compute_state *state)
{
	memset(state, 0, sizeof(*state));
	if (is_integer(kernel)) {
		fill_bits(state->accumulators, sizeof(state->accumulators));
		fill_bits(state->b, sizeof(state->b));
		fill_bits(state->c, sizeof(state->c));
		fill_bits(state->d, sizeof(state->d));
		return;
	}
	fill(kernel->element, state->accumulators, sizeof(state->accumulators), 1, 2);
	if (!is(roof_op_name(kernel->op), "dot")) {
		fill_floats(kernel, state);
		return;
	}
	for (size_t at = 0; at < sizeof(state->accumulators); at += 4) /* exact, too */
		element_set(ELEMENT_SINGLE, state->accumulators + at,
			    truncl(random_between(-99, 99)));
	fill(ELEMENT_BFLOAT16, state->b, sizeof(state->b), -9, 9);
	fill(ELEMENT_BFLOAT16, state->c, sizeof(state->c), -9, 9);
	fill(ELEMENT_BFLOAT16, state->d, sizeof(state->d), -9, 9);
}

/* Runs a kernel and compares all of its memory with the reference's; returns the reference's
 * operations. */
static uint64_t check_compute_kernel(const struct compute_kernel *kernel, uint64_t iterations)
{
	static struct compute_state expected, after;
	fill_state(kernel, &expected);
	after = expected;
	kernel->run(iterations, &after);
	uint64_t ops = 0;
	for (int i = 0; i < kernel->accumulators; i++)
		for (int lane = 0; lane < kernel->lanes; lane++) {
			unsigned char *at = expected.accumulators + i * kernel->accumulator_bytes +
					    lane * element_bytes(kernel->element);
			ops += reference_lane(kernel, &expected, iterations,
					      i >= kernel->accumulators - kernel->added, lane, at);
			cr_assert_eq(compute_state_value(kernel, &after, i, lane),
				     element_get(kernel->element, at),
				     "%s %s %s %d: accumulator %d lane %d",
				     roof_isa_name(kernel->isa),
				     roof_precision_name(kernel->precision),
				     roof_op_name(kernel->op), kernel->accumulators, i, lane);
			/* zeros may differ in their signs: processors sum dot products in different
			 * orders */
			memcpy(at, after.accumulators + (at - expected.accumulators),
			       (size_t)element_bytes(kernel->element));
		}
	cr_assert_arr_eq(&after, &expected, sizeof(after), "%s %s %s %d: touched something else",
			 roof_isa_name(kernel->isa), roof_precision_name(kernel->precision),
			 roof_op_name(kernel->op), kernel->accumulators);
	return ops;
}

/* All kernels of a precision ("": any) and width class that this CPU has; returns their number. */
static int check_kernels(const char *precision, const char *isa)
{
	int checked = 0;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if ((*precision && !is(roof_precision_name(kernel->precision), precision)) ||
		    (*isa && !is(roof_isa_name(kernel->isa), isa)) || !cpu_has(kernel->needs))
			continue;
		for (uint64_t iterations = 1; iterations <= 5; iterations += 2)
			cr_assert_eq(check_compute_kernel(kernel, iterations),
				     iterations * kernel->ops_per_iteration, "%s %s %s %d",
				     roof_isa_name(kernel->isa),
				     roof_precision_name(kernel->precision),
				     roof_op_name(kernel->op), kernel->accumulators);
		checked++;
	}
	return checked;
}

Test(compute_kernels, compute_kernels_do_the_operations_that_they_state)
{
	cr_assert_geq(check_kernels("", ""),
		      100); /* every x86-64 has the SSE2, x87 and integer rows */
}

Test(compute_kernels, half_precision_kernels_do_the_operations_that_they_state)
{
	if (!cpu_has(CPU_AVX512_FP16))
		cr_skip_test("no AVX512_FP16 here");
	cr_assert_gt(check_kernels("half", ""), 0);
}

Test(compute_kernels, bfloat16_kernels_do_the_operations_that_they_state)
{
	if (!cpu_has(CPU_AVX512_BF16))
		cr_skip_test("no AVX512_BF16 here");
	cr_assert_gt(check_kernels("bfloat16", "avx512f"), 0);
}

Test(compute_kernels, tile_kernels_do_the_operations_that_they_state)
{
	if (!cpu_has(CPU_AMX_TILE))
		cr_skip_test("no AMX here, or not permitted");
	cr_assert_gt(check_kernels("", "amx"), 0);
}

/* --- The code itself, whether or not this CPU can run it. */

struct code {
	ZydisDecodedInstruction insns[512];
	ZydisDecodedOperand operands[512][ZYDIS_MAX_OPERAND_COUNT];
	uint64_t at[512];
	int n, loop, back; /* indices: end, first of the loop, its conditional jump */
};

static void decode(const struct compute_kernel *kernel, struct code *code)
{
	ZydisDecoder decoder;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	uint64_t at = (uintptr_t)kernel->run, target = 0;
	code->n = code->loop = code->back = 0;
	do {
		ZydisDecodedInstruction *insn = &code->insns[code->n];
		ZydisDecodedOperand *operands = code->operands[code->n];
		cr_assert_lt(code->n, 512);
		cr_assert(ZYAN_SUCCESS(
			ZydisDecoderDecodeFull(&decoder, (void *)at, 15, insn, operands)));
		if (insn->mnemonic == ZYDIS_MNEMONIC_JNZ) {
			code->back = code->n;
			ZydisCalcAbsoluteAddress(insn, &operands[0], at, &target);
		}
		code->at[code->n++] = at;
		at += insn->length;
	} while (code->insns[code->n - 1].mnemonic != ZYDIS_MNEMONIC_RET);
	while (code->loop < code->back && code->at[code->loop] != target)
		code->loop++;
	cr_assert_lt(code->loop, code->back, "%s %s %s has no loop", roof_isa_name(kernel->isa),
		     roof_precision_name(kernel->precision), roof_op_name(kernel->op));
}

/* The instruction of `op` as Zydis writes it, without a leading v. */
static const char *instruction_name(const struct compute_kernel *kernel, const char *op)
{
	static const struct {
		const char *precision, *op, *vector, *scalar;
	} names[] = {
		{"bfloat16", "dot", "dpbf16ps", ""}, {"int8", "dot", "pdpbusd", ""},
		{"int32", "add", "paddd", "add"},    {"int64", "add", "paddq", "add"},
		{"int32", "mul", "pmulld", "imul"},  {"int64", "mul", "pmullq", "imul"},
		{"int32", "logic", "pxor", "xor"},   {"int64", "logic", "pxor", "xor"},
	};
	static char name[32];
	bool scalar = is(roof_isa_name(kernel->isa), "scalar");
	if (is(roof_isa_name(kernel->isa), "amx"))
		return is(roof_precision_name(kernel->precision), "int8") ? "tdpbssd" : "tdpbf16ps";
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (is(names[i].precision, roof_precision_name(kernel->precision)) &&
		    is(names[i].op, op)) {
			bool evex = is(roof_isa_name(kernel->isa), "avx512f") && is(op, "logic");
			snprintf(name, sizeof(name), "%s%s",
				 scalar ? names[i].scalar : names[i].vector,
				 !evex                                                 ? ""
				 : is(roof_precision_name(kernel->precision), "int32") ? "d"
										       : "q");
			return name;
		}
	char type = is(roof_precision_name(kernel->precision), "half")     ? 'h'
		    : is(roof_precision_name(kernel->precision), "single") ? 's'
									   : 'd';
	if (is(roof_isa_name(kernel->isa), "x87")) /* Zydis names the reverse as Intel does */
		snprintf(name, sizeof(name), "f%s%s", op, is(op, "div") ? "r" : "");
	else
		snprintf(name, sizeof(name), "%s%c%c", is(op, "fma") ? "fmadd213" : op,
			 scalar ? 's' : 'p', type);
	return name;
}

/* Instructions of the loop with that name and the width of the row. */
static int count_in_loop(const struct compute_kernel *kernel, const struct code *code,
			 const char *op)
{
	const char *name = instruction_name(kernel, op);
	int n = 0;
	for (int i = code->loop; i < code->back; i++) {
		const ZydisDecodedInstruction *insn = &code->insns[i];
		const char *mnemonic = ZydisMnemonicGetString(insn->mnemonic);
		bool wide = insn->encoding == ZYDIS_INSTRUCTION_ENCODING_VEX ||
			    insn->encoding == ZYDIS_INSTRUCTION_ENCODING_EVEX;
		size_t bytes = vector_bytes(kernel->isa);
		n += is(mnemonic + (*mnemonic == 'v'), name) &&
		     (!wide || !bytes || insn->avx.vector_length == 8 * bytes);
	}
	return n;
}

/* Products to sums of a mixed row, "fma2_add1". */
static void mix_of(const char *op, int *products, int *sums)
{
	cr_assert_eq(sscanf(op, "%*3s%d_%*3s%d", products, sums), 2, "%s", op);
}

static void check_mix(const struct compute_kernel *kernel, const struct code *code)
{
	const bool fused = starts_with(roof_op_name(kernel->op), "fma");
	int fma, add, fmas = count_in_loop(kernel, code, fused ? "fma" : "mul");
	int adds = count_in_loop(kernel, code, "add") + count_in_loop(kernel, code, "sub") +
		   count_in_loop(kernel, code, "div");
	mix_of(roof_op_name(kernel->op), &fma, &add);
	cr_assert_eq(fmas * add, adds * fma, "%s %s %s: %d to %d", roof_isa_name(kernel->isa),
		     roof_precision_name(kernel->precision), roof_op_name(kernel->op), fmas, adds);
	cr_assert_eq(fmas, (kernel->accumulators - kernel->added) * kernel->steps);
	cr_assert_eq(adds, kernel->added * kernel->added_steps);
	cr_assert_eq(((fused ? 2 : 1) * fmas + adds) * kernel->lanes, kernel->ops_per_iteration);
	cr_assert_eq(code->back - code->loop, fmas + adds + 1); /* dec */
}

Test(compute_kernels, a_loop_holds_its_operations_and_a_counter)
{
	static struct code code;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		decode(kernel, &code);
		if (kernel->added) {
			check_mix(kernel, &code);
			continue;
		}
		int n = count_in_loop(kernel, &code, roof_op_name(kernel->op));
		bool copies = is(roof_isa_name(kernel->isa), "x87") &&
			      is(roof_op_name(kernel->op), "sqrt"); /* fld and fstp */
		cr_assert_eq(n, kernel->accumulators * kernel->steps, "%s %s %s %d: %d × %s",
			     roof_isa_name(kernel->isa), roof_precision_name(kernel->precision),
			     roof_op_name(kernel->op), kernel->accumulators, n,
			     instruction_name(kernel, roof_op_name(kernel->op)));
		cr_assert_eq(code.back - code.loop,
			     n + 1 + (copies ? 2 * kernel->accumulators : 0));
		cr_assert_eq(kernel->ops_per_iteration % (n * kernel->lanes), 0);
	}
}

/* The number of an operand's register, operands counted from the last (a source). */
static int register_number(const struct code *code, int i, int operand_from_end)
{
	int at = code->insns[i].operand_count_visible - 1 - operand_from_end;
	return at < 0 ? -1 : ZydisRegisterGetId(code->operands[i][at].reg.value);
}

static const struct compute_kernel *single_like(const struct compute_kernel *half)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (is(roof_isa_name(kernel->isa), "avx512f") &&
		    is(roof_precision_name(kernel->precision), "single") &&
		    kernel->op == half->op && kernel->accumulators == half->accumulators &&
		    kernel->added == half->added)
			return kernel;
	}
	return NULL;
}

/* Few CPUs run half precision: its loops have the same operands as those of single precision, which
 * are checked by their results. */
Test(compute_kernels, half_loops_have_the_registers_of_single_loops)
{
	static struct code half, single;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!is(roof_precision_name(kernel->precision), "half"))
			continue;
		cr_assert_not_null(single_like(kernel));
		decode(kernel, &half);
		decode(single_like(kernel), &single);
		cr_assert_eq(half.back - half.loop, single.back - single.loop);
		int operands = is(roof_op_name(kernel->op), "sqrt") ? 1 : 3;
		for (int k = 0; k < half.back - half.loop - 1; k++) /* without the counter */
			for (int r = 0; r < operands; r++)
				cr_assert_eq(register_number(&half, half.loop + k, r),
					     register_number(&single, single.loop + k, r),
					     "%s half %s: instruction %d",
					     roof_isa_name(kernel->isa), roof_op_name(kernel->op),
					     k);
	}
}

/* The features that an instruction set of Zydis's names takes; -1: unknown. */
static int features_of(const char *set)
{
	static const struct {
		const char *set;
		int features;
	} sets[] = {
		{"I86", CPU_BASE},
		{"I386", CPU_BASE},
		{"X87", CPU_BASE},
		{"SSE", CPU_BASE},
		{"SSE2", CPU_BASE},
		{"PENTIUMREAL", CPU_BASE},
		{"FAT_NOP", CPU_BASE},
		{"PPRO", CPU_BASE},
		{"SSEMXCSR", CPU_BASE},
		{"SSE4", CPU_SSE4_1},
		{"AVX", CPU_AVX},
		{"FMA", CPU_FMA},
		{"AVX2", CPU_AVX2},
		{"AVX_VNNI", CPU_AVX_VNNI},
		{"AVX512F_512", CPU_AVX512F},
		{"AVX512F_256", CPU_AVX512F | CPU_AVX512VL},
		{"AVX512F_128", CPU_AVX512F | CPU_AVX512VL},
		{"AVX512F_SCALAR", CPU_AVX512F},
		{"AVX512DQ_512", CPU_AVX512DQ},
		{"AVX512DQ_256", CPU_AVX512DQ | CPU_AVX512VL},
		{"AVX512DQ_128", CPU_AVX512DQ | CPU_AVX512VL},
		{"AVX512_VNNI_512", CPU_AVX512_VNNI},
		{"AVX512_VNNI_256", CPU_AVX512_VNNI | CPU_AVX512VL},
		{"AVX512_VNNI_128", CPU_AVX512_VNNI | CPU_AVX512VL},
		{"AVX512_BF16_512", CPU_AVX512_BF16},
		{"AVX512_BF16_256", CPU_AVX512_BF16 | CPU_AVX512VL},
		{"AVX512_BF16_128", CPU_AVX512_BF16 | CPU_AVX512VL},
		{"AVX512_FP16_512", CPU_AVX512_FP16},
		{"AVX512_FP16_256", CPU_AVX512_FP16 | CPU_AVX512VL},
		{"AVX512_FP16_128", CPU_AVX512_FP16 | CPU_AVX512VL},
		{"AVX512_FP16_SCALAR", CPU_AVX512_FP16},
		{"AMX_TILE", CPU_AMX_TILE},
		{"AMX_INT8", CPU_AMX_INT8},
		{"AMX_BF16", CPU_AMX_BF16},
	};
	for (size_t i = 0; i < sizeof(sets) / sizeof(sets[0]); i++)
		if (is(set, sets[i].set))
			return sets[i].features;
	return -1;
}

/* With what each feature brings along: cpu_has() does not offer it without. */
static unsigned with_bases(unsigned features)
{
	if (features & (CPU_AVX512DQ | CPU_AVX512BW | CPU_AVX512VL | CPU_AVX512_VNNI |
			CPU_AVX512_BF16 | CPU_AVX512_FP16))
		features |= CPU_AVX512F;
	if (features & (CPU_AVX512F | CPU_AVX_VNNI))
		features |= CPU_AVX2;
	if (features & (CPU_AVX2 | CPU_FMA))
		features |= CPU_AVX;
	if (features & (CPU_AMX_INT8 | CPU_AMX_BF16))
		features |= CPU_AMX_TILE;
	return features;
}

Test(compute_kernels, no_instruction_needs_more_than_its_row_says)
{
	static struct code code;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		unsigned used = 0;
		decode(kernel, &code);
		for (int k = 0; k < code.n; k++) {
			const char *set = ZydisISASetGetString(code.insns[k].meta.isa_set);
			int features = features_of(set);
			cr_assert_geq(features, 0, "%s: %s", set,
				      ZydisMnemonicGetString(code.insns[k].mnemonic));
			used |= features;
		}
		cr_assert_eq(with_bases(used), with_bases(kernel->needs), "%s %s %s: %x, says %x",
			     roof_isa_name(kernel->isa), roof_precision_name(kernel->precision),
			     roof_op_name(kernel->op), used, kernel->needs);
	}
}

/* --- Values of a measurement. */

Test(compute_kernels, values_stay_valid)
{
	static struct compute_state state;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!cpu_has(kernel->needs))
			continue;
		compute_state_init(kernel, &state);
		compute_kernel_run(kernel, 5, &state);
		compute_kernel_run(kernel, 4097, &state);
		cr_assert_eq(state.iterations, 4102);
		cr_assert(compute_state_valid(kernel, &state), "%s %s %s %d",
			  roof_isa_name(kernel->isa), roof_precision_name(kernel->precision),
			  roof_op_name(kernel->op), kernel->accumulators);
	}
}

/* By the reference, so on every CPU: each value of half precision until it repeats. */
Test(compute_kernels, half_values_stay_valid_for_ever)
{
	static struct compute_state state;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!is(roof_precision_name(kernel->precision), "half") || kernel->lanes < 32)
			continue;
		compute_state_init(kernel, &state);
		long double b = element_get(ELEMENT_HALF, state.b),
			    c = element_get(ELEMENT_HALF, state.c);
		for (int a = 0; a < kernel->accumulators; a++)
			for (int lane = 0; lane < kernel->lanes; lane += 5) {
				bool adds = a >= kernel->accumulators - kernel->added;
				long double x = compute_state_value(kernel, &state, a, lane),
					    last = 0;
				/* Until an iteration of two steps of each kind leaves it as it was.
				 */
				for (int n = 0; x != last; n++) {
					last = x;
					cr_assert_lt(n, 5000);
					for (int step = 0; step < 6; step++) {
						x = float_step(kernel, adds, step, x, b, c);
						cr_assert(fabsl(x) >= 0.25L && fabsl(x) < 60000);
					}
				}
			}
	}
}

Test(compute_kernels, undoing_has_a_fixed_point)
{
	/* What the range of mul and div rests on; see set_float_operands(). */
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (is_integer(kernel) || is(roof_isa_name(kernel->isa), "x87") ||
		    (!starts_with(roof_op_name(kernel->op), "mul") &&
		     !is(roof_op_name(kernel->op), "div")))
			continue;
		struct compute_state state;
		compute_state_init(kernel, &state);
		long double x = 1, b = element_get(kernel->element, state.b);
		x = float_step(kernel, false, 0, x, b, 0);
		x = float_step(kernel, false, 1, x, 0, element_get(kernel->element, state.c));
		cr_assert_eq(x, 1, "%s %s %s", roof_isa_name(kernel->isa),
			     roof_precision_name(kernel->precision), roof_op_name(kernel->op));
	}
}

Test(compute_kernels, a_wrong_value_is_found)
{
	const long double abnormal[] = {NAN, INFINITY, -INFINITY, 0.0L, 1e-7L};
	static struct compute_state state;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		compute_state_init(kernel, &state);
		cr_assert(compute_state_valid(kernel, &state));
		unsigned char *last = state.accumulators +
				      (kernel->accumulators - 1) * kernel->accumulator_bytes +
				      (kernel->lanes - 1) * element_bytes(kernel->element);
		if (is_integer(kernel)) {
			*last ^= 1;
			cr_assert_not(compute_state_valid(kernel, &state));
			*last ^= 1;
			state.iterations = 1; /* not made */
			cr_assert_not(compute_state_valid(kernel, &state));
			continue;
		}
		for (size_t v = 0; v < sizeof(abnormal) / sizeof(abnormal[0]); v++) {
			element_set(kernel->element, last, abnormal[v]);
			cr_assert_not(compute_state_valid(kernel, &state));
		}
	}
}

/* --- The table. */

/* Kernels of a row, and how many runs of neighbours they are in. */
static int count_variants(const char *isa, const char *precision, const char *op, int *runs)
{
	int variants = 0;
	bool before = false;
	*runs = 0;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		bool same = is(roof_isa_name(kernel->isa), isa) &&
			    is(roof_precision_name(kernel->precision), precision) &&
			    is(roof_op_name(kernel->op), op);
		variants += same;
		*runs += same && !before;
		before = same;
	}
	return variants;
}

Test(compute_kernels, every_width_and_precision_has_its_operations)
{
	static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512f"};
	static const struct {
		const char *precision, *ops[12];
	} rows[] = {
		{"half",
		 {"fma", "add", "mul", "div", "sqrt", "fma1_add1", "fma2_add1", "fma1_add2",
		  "mul1_add1", "mul1_add2", "mul16_div1"}},
		{"single",
		 {"fma", "add", "mul", "div", "sqrt", "fma1_add1", "fma2_add1", "fma1_add2",
		  "mul1_add1", "mul1_add2", "mul16_div1"}},
		{"double",
		 {"fma", "add", "mul", "div", "sqrt", "fma1_add1", "fma2_add1", "fma1_add2",
		  "mul1_add1", "mul1_add2", "mul16_div1"}},
		{"int32", {"add", "mul", "logic"}},
		{"int64", {"add", "mul", "logic"}},
	};
	for (int isa = 0; isa < 4; isa++)
		for (size_t row = 0; row < sizeof(rows) / sizeof(rows[0]); row++)
			for (const char *const *op = rows[row].ops; *op; op++) {
				int runs, n = count_variants(isas[isa], rows[row].precision, *op,
							     &runs);
				cr_assert_geq(n, 3, "%s %s %s", isas[isa], rows[row].precision,
					      *op);
				cr_assert_eq(runs,
					     1); /* roofs_compute.c wants them side by side … */
				cr_assert_leq(n, 16); /* … and no more */
			}
}

Test(compute_kernels, quick_rows_are_those_that_reports_draw)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		const char *precision = roof_precision_name(kernel->precision),
			   *op = roof_op_name(kernel->op);
		bool fma_or_add = is(op, "fma") || is(op, "add");
		bool quick = is(precision, "bfloat16") || (is(precision, "half") && fma_or_add) ||
			     (is(precision, "x87") && (is(op, "add") || starts_with(op, "mul"))) ||
			     ((is(precision, "single") || is(precision, "double")) &&
			      !is(op, "fma1_add2"));
		cr_assert_eq(kernel->quick, quick, "%s %s %s", roof_isa_name(kernel->isa),
			     precision, op);
	}
}

/* --- Elements. */

Test(compute_kernels, every_half_comes_back)
{
	for (unsigned bits = 0; bits < 0x10000; bits++) {
		uint16_t half = bits, back;
		long double value = element_get(ELEMENT_HALF, &half);
		element_set(ELEMENT_HALF, &back, value);
		if (isnan(value))
			cr_assert(isnan(element_get(ELEMENT_HALF, &back)));
		else
			cr_assert_eq(back, half, "%04x came back as %04x", half, back);
		if ((bits & 0x7fff) >= 0x7bff || bits & 0x8000)
			continue;
		/* Half way to the next: to the even one; a hair below or above it: to the nearer.
		 */
		uint16_t next = bits + 1;
		long double middle = (value + element_get(ELEMENT_HALF, &next)) / 2;
		element_set(ELEMENT_HALF, &back, middle);
		cr_assert_eq(back, bits & 1 ? next : half);
		element_set(ELEMENT_HALF, &back, nextafterl(middle, 0));
		cr_assert_eq(back, half);
		element_set(ELEMENT_HALF, &back, nextafterl(middle, INFINITY));
		cr_assert_eq(back, next);
	}
}

Test(compute_kernels, small_formats_have_known_values)
{
	static const struct {
		enum element element;
		uint16_t bits;
		long double value;
	} known[] = {
		{ELEMENT_HALF, 0x3c00, 1},
		{ELEMENT_HALF, 0xc000, -2},
		{ELEMENT_HALF, 0x7bff, 65504},
		{ELEMENT_HALF, 0x0400, 0x1p-14L},
		{ELEMENT_HALF, 0x0001, 0x1p-24L},
		{ELEMENT_HALF, 0x7c00, INFINITY},
		{ELEMENT_BFLOAT16, 0x3f80, 1},
		{ELEMENT_BFLOAT16, 0xc040, -3},
		{ELEMENT_BFLOAT16, 0x7f7f, 0x1.fep127L},
		{ELEMENT_BFLOAT16, 0x0001, 0x1p-133L},
	};
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint16_t bits;
		cr_assert_eq(element_get(known[i].element, &known[i].bits), known[i].value);
		element_set(known[i].element, &bits, known[i].value);
		cr_assert_eq(bits, known[i].bits);
	}
}

/* --- Features. */

/* The flags of /proc/cpuinfo are what the kernel lets programs use. */
static bool kernel_lists(const char *flag)
{
	FILE *file = fopen("/proc/cpuinfo", "re");
	char *line = NULL;
	size_t size = 0;
	bool found = false;
	cr_assert_not_null(file);
	while (!found && getline(&line, &size, file) > 0) {
		if (strncmp(line, "flags", 5))
			continue;
		for (char *word = strtok(line, " \t\n"); word && !found;
		     word = strtok(NULL, " \t\n"))
			found = is(word, flag);
	}
	free(line);
	fclose(file);
	return found;
}

Test(compute_kernels, features_agree_with_the_kernel)
{
	static const struct {
		enum cpu_feature feature;
		const char *flag;
	} flags[] = {
		{CPU_SSE4_1, "sse4_1"},
		{CPU_AVX, "avx"},
		{CPU_FMA, "fma"},
		{CPU_AVX2, "avx2"},
		{CPU_AVX_VNNI, "avx_vnni"},
		{CPU_AVX512F, "avx512f"},
		{CPU_AVX512DQ, "avx512dq"},
		{CPU_AVX512BW, "avx512bw"},
		{CPU_AVX512VL, "avx512vl"},
		{CPU_AVX512_VNNI, "avx512_vnni"},
		{CPU_AVX512_BF16, "avx512_bf16"},
		{CPU_AVX512_FP16, "avx512_fp16"},
	};
	cr_assert(cpu_has(CPU_BASE));
	unsigned all = 0;
	bool all_listed = true;
	for (size_t i = 0; i < sizeof(flags) / sizeof(flags[0]); i++) {
		bool listed = kernel_lists(flags[i].flag);
		cr_assert_eq(cpu_has(flags[i].feature), listed, "%s", flags[i].flag);
		all |= flags[i].feature;
		all_listed = all_listed && listed;
	}
	cr_assert_eq(cpu_has(all), all_listed);
	/* Tiles want a permission besides, which may be refused. */
	cr_assert(!cpu_has(CPU_AMX_TILE) || kernel_lists("amx_tile"));
	cr_assert(!cpu_has(CPU_AMX_INT8) || kernel_lists("amx_int8"));
	cr_assert(!cpu_has(CPU_AMX_BF16) || kernel_lists("amx_bf16"));
}

#include "machine/compute_kernels.h"
#include "machine/cpu_features.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static bool is(const char *a, const char *b)
{
	return !strcmp(a, b);
}

/* One step x ← op(x) in the kernel's own precision, each operation rounded once. */
static long double reference_step(const struct compute_kernel *kernel, long double x,
				  long double b, long double c)
{
	if (is(kernel->precision, "single")) {
		float xs = x, bs = b, cs = c;
		return is(kernel->op, "fma") ? fmaf(xs, bs, cs) : is(kernel->op, "add") ? xs + bs : xs * bs;
	}
	if (is(kernel->precision, "double")) {
		double xd = x, bd = b, cd = c;
		return is(kernel->op, "fma") ? fma(xd, bd, cd) : is(kernel->op, "add") ? xd + bd : xd * bd;
	}
	return is(kernel->op, "add") ? x + b : x * b;
}

/* Operand b or c, read the way an accumulator is. */
static long double operand(const struct compute_kernel *kernel, const unsigned char *slot)
{
	struct compute_state state;
	memcpy(state.accumulators[0], slot, COMPUTE_SLOT_BYTES);
	return compute_state_value(kernel, &state, 0, 0);
}

static int elements_of_slot(const struct compute_kernel *kernel)
{
	if (is(kernel->precision, "x87"))
		return 1;
	return COMPUTE_SLOT_BYTES / (is(kernel->precision, "single") ? 4 : 8);
}

/* Runs a kernel and compares every element with the scalar reference; returns the flop that the
 * reference needed in the elements that the kernel is to work on. */
static uint64_t check_compute_kernel(const struct compute_kernel *kernel, uint64_t iterations)
{
	struct compute_state before, after;
	compute_state_init(kernel, &before);
	after = before;
	kernel->run(iterations, &after);
	long double b = operand(kernel, before.b), c = operand(kernel, before.c);
	uint64_t flop = 0;
	for (int i = 0; i < COMPUTE_MAX_ACCUMULATORS; i++)
		for (int e = 0; e < elements_of_slot(kernel); e++) {
			long double x = compute_state_value(kernel, &before, i, e);
			bool active = i < kernel->accumulators && e < kernel->lanes;
			for (uint64_t n = 0; active && n < iterations * COMPUTE_UNROLL; n++) {
				x = reference_step(kernel, x, b, c);
				flop += is(kernel->op, "fma") ? 2 : 1;
			}
			cr_assert_eq(compute_state_value(kernel, &after, i, e), x,
				     "%s %s %s %d: accumulator %d element %d", kernel->isa,
				     kernel->precision, kernel->op, kernel->accumulators, i, e);
		}
	return flop;
}

Test(compute_kernels, compute_kernels_do_the_flop_that_they_state)
{
	int checked = 0;
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!cpu_has(kernel->needs))
			continue;
		for (uint64_t iterations = 1; iterations <= 5; iterations += 2)
			cr_assert_eq(check_compute_kernel(kernel, iterations),
				     iterations * kernel->flop_per_iteration);
		checked++;
	}
	cr_assert_geq(checked, 34); /* every x86-64 has the SSE2 and x87 rows */
}

Test(compute_kernels, every_step_changes_the_value)
{
	/* Otherwise the comparison with the reference could not tell how many steps were made. */
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		struct compute_state state;
		compute_state_init(kernel, &state);
		long double b = operand(kernel, state.b), c = operand(kernel, state.c);
		/* x = 1 is the fixed point of the fma; the other accumulators move. */
		long double x = compute_state_value(kernel, &state, 1, 0);
		for (int n = 0; n < 5 * COMPUTE_UNROLL; n++) {
			long double next = reference_step(kernel, x, b, c);
			cr_assert_neq(next, x);
			x = next;
		}
	}
}

Test(compute_kernels, compute_values_stay_normal)
{
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!cpu_has(kernel->needs))
			continue;
		struct compute_state state;
		compute_state_init(kernel, &state);
		kernel->run(UINT64_C(1) << 17, &state);
		cr_assert(compute_state_normal(kernel, &state), "%s %s %s", kernel->isa,
			  kernel->precision, kernel->op);
	}
}

Test(compute_kernels, an_abnormal_value_is_found)
{
	const double abnormal[] = { NAN, INFINITY, -INFINITY, 0.0, 1e-310 };
	for (size_t i = 0; i < n_compute_kernels; i++) {
		const struct compute_kernel *kernel = &compute_kernels[i];
		if (!is(kernel->precision, "double"))
			continue;
		for (size_t v = 0; v < sizeof(abnormal) / sizeof(abnormal[0]); v++) {
			struct compute_state state;
			compute_state_init(kernel, &state);
			unsigned char *last = state.accumulators[kernel->accumulators - 1];
			memcpy(last + (kernel->lanes - 1) * 8, &abnormal[v], 8);
			cr_assert_not(compute_state_normal(kernel, &state));
		}
	}
}

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
		for (char *word = strtok(line, " \t\n"); word && !found; word = strtok(NULL, " \t\n"))
			found = is(word, flag);
	}
	free(line);
	fclose(file);
	return found;
}

Test(compute_kernels, features_agree_with_the_kernel)
{
	cr_assert(cpu_has(CPU_BASE));
	cr_assert_eq(cpu_has(CPU_AVX), kernel_lists("avx"));
	cr_assert_eq(cpu_has(CPU_FMA), kernel_lists("fma"));
	cr_assert_eq(cpu_has(CPU_AVX512F), kernel_lists("avx512f"));
	cr_assert_eq(cpu_has(CPU_AVX | CPU_FMA | CPU_AVX512F),
		     kernel_lists("avx") && kernel_lists("fma") && kernel_lists("avx512f"));
}

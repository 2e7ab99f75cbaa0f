#include "machine/topology/theory.h"

#include <criterion/criterion.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define MODELS COUNT(((struct microarchitecture *)0)->models)

static const char *const isas[] = {"scalar", "sse2", "avx2", "avx512f"};
static const char *const vector_isas[] = {"sse2", "avx2", "avx512f"};
static const char *const precisions[] = {"half", "bfloat16", "single", "double",
					 "int8", "int32",    "int64"};
static const char *const ops[] = {"fma",        "add",       "mul",       "div",       "sqrt",
				  "fma1_add1",  "fma2_add1", "fma1_add2", "mul1_add1", "mul1_add2",
				  "mul16_div1", "dot",       "logic"};
static const char *const loops[] = {"read", "write", "copy", "update", "triad", "daxpy"};

static double compute(const struct microarchitecture *row, const char *isa, const char *precision,
		      const char *op)
{
	return theory_compute(row, roof_isa_find(isa), roof_precision_find(precision),
			      roof_op_find(op));
}

static double bandwidth(const struct microarchitecture *row, const char *level, const char *op,
			const char *isa)
{
	return theory_bandwidth(row, roof_level_find(level), roof_op_find(op), roof_isa_find(isa));
}

static const struct microarchitecture *named(const char *name)
{
	for (unsigned i = 0; i < n_microarchitectures; i++)
		if (!strcmp(microarchitectures[i].name, name))
			return &microarchitectures[i];
	cr_assert(false, "no row %s", name);
	return NULL;
}

Test(theory, known_cpus_have_known_names)
{
	static const struct {
		const char *vendor;
		unsigned family, model;
		const char *name;
	} cpus[] = {
		{"GenuineIntel", 6, 0x1a, "Nehalem"},         /* Xeon X5570 */
		{"GenuineIntel", 6, 0x2c, "Westmere"},        /* Xeon X5650 */
		{"GenuineIntel", 6, 0x2d, "Sandy Bridge"},    /* Xeon E5-2680 */
		{"GenuineIntel", 6, 0x3e, "Ivy Bridge"},      /* Xeon E5-2690 v2 */
		{"GenuineIntel", 6, 0x3f, "Haswell"},         /* Xeon E5-2695 v3 */
		{"GenuineIntel", 6, 0x4f, "Broadwell"},       /* Xeon E5-2697 v4 */
		{"GenuineIntel", 6, 0x5e, "Skylake"},         /* Core i7-6700 */
		{"GenuineIntel", 6, 0x9e, "Skylake"},         /* Core i7-8700 */
		{"GenuineIntel", 6, 0x55, "Skylake-SP"},      /* Xeon Gold 6148 and 6248 */
		{"GenuineIntel", 6, 0x7e, "Ice Lake"},        /* Core i7-1065G7 */
		{"GenuineIntel", 6, 0x6a, "Ice Lake-SP"},     /* Xeon Platinum 8360Y */
		{"GenuineIntel", 6, 0x8c, "Tiger Lake"},      /* Core i7-1165G7 */
		{"GenuineIntel", 6, 0xa7, "Rocket Lake"},     /* Core i9-11900K */
		{"GenuineIntel", 6, 0x97, "Golden Cove"},     /* Core i9-12900K */
		{"GenuineIntel", 6, 0xb7, "Golden Cove"},     /* Core i9-13900K */
		{"GenuineIntel", 6, 0xbe, "Gracemont"},       /* N100 */
		{"GenuineIntel", 6, 0x8f, "Sapphire Rapids"}, /* Xeon Platinum 8470 */
		{"GenuineIntel", 6, 0xcf, "Emerald Rapids"},  /* Xeon Platinum 8592+ */
		{"GenuineIntel", 6, 0xad, "Granite Rapids"},  /* Xeon 6980P */
		{"AuthenticAMD", 0x17, 0x01, "Zen"},          /* EPYC 7451 */
		{"AuthenticAMD", 0x17, 0x08, "Zen+"},         /* Ryzen 7 2700X */
		{"AuthenticAMD", 0x17, 0x31, "Zen 2"},        /* EPYC 7452 */
		{"AuthenticAMD", 0x17, 0x71, "Zen 2"},        /* Ryzen 9 3950X */
		{"AuthenticAMD", 0x19, 0x01, "Zen 3"},        /* EPYC 7763 */
		{"AuthenticAMD", 0x19, 0x21, "Zen 3"},        /* Ryzen 9 5950X */
		{"AuthenticAMD", 0x19, 0x11, "Zen 4"},        /* EPYC 9654 */
		{"AuthenticAMD", 0x19, 0x61, "Zen 4"},        /* Ryzen 9 7950X */
		{"AuthenticAMD", 0x19, 0xa0, "Zen 4"},        /* EPYC 9754 */
		{"AuthenticAMD", 0x1a, 0x02, "Zen 5"},        /* EPYC 9755 */
		{"AuthenticAMD", 0x1a, 0x11, "Zen 5"},        /* EPYC 9965 */
		{"AuthenticAMD", 0x1a, 0x44, "Zen 5"},        /* Ryzen 9 9950X */
		{"AuthenticAMD", 0x1a, 0x70, "Zen 5"},        /* Ryzen AI Max+ 395 */
		{"AuthenticAMD", 0x1a, 0x24, "Zen 5 (256-bit datapath)"}, /* Ryzen AI 9 HX 370 */
		{"HygonGenuine", 0x18, 0x01, "Zen"},                      /* C86 7185 */
	};
	for (size_t i = 0; i < COUNT(cpus); i++) {
		const struct microarchitecture *row =
			microarchitecture_find(cpus[i].vendor, cpus[i].family, cpus[i].model);
		cr_assert_not_null(row, "%s %x %x", cpus[i].vendor, cpus[i].family, cpus[i].model);
		cr_assert_str_eq(row->name, cpus[i].name);
	}
}

Test(theory, unknown_cpus_have_no_row)
{
	static const struct {
		const char *vendor;
		unsigned family, model;
	} cpus[] = {
		{"GenuineIntel", 6, 0x17},    /* Penryn */
		{"GenuineIntel", 6, 0x57},    /* Knights Landing */
		{"GenuineIntel", 6, 0x6c},    /* Xeon D: one or two units */
		{"GenuineIntel", 6, 0xaa},    /* Meteor Lake */
		{"GenuineIntel", 15, 0x02},   /* Pentium 4 */
		{"AuthenticAMD", 0x15, 0x02}, /* Piledriver */
		{"AuthenticAMD", 0x17, 0x80},
		{"AuthenticAMD", 0x1a, 0x30},
		{"AuthenticAMD", 6, 0x97},
		{"GenuineIntel", 0x17, 0x31},
		{"", 0, 0},
		{"Genuine", 6, 0x55},
	};
	for (size_t i = 0; i < COUNT(cpus); i++)
		cr_assert_null(microarchitecture_find(cpus[i].vendor, cpus[i].family,
						      cpus[i].model),
			       "%s %x %x", cpus[i].vendor, cpus[i].family, cpus[i].model);
}

/* What the sources give, multiplied out by hand: operations per cycle of one core. */
Test(theory, compute_is_lanes_times_units)
{
	static const struct {
		const char *name, *isa, *precision, *op;
		double expected;
	} truths[] = {
		/* [IOM] peak double flop per cycle: 4, 8, 16, 16, 32 from Nehalem to Ice Lake-SP */
		{"Nehalem", "sse2", "double", "add", 2},
		{"Nehalem", "sse2", "double", "mul", 2},
		{"Sandy Bridge", "avx2", "double", "add", 4},
		{"Sandy Bridge", "avx2", "single", "mul", 8},
		{"Haswell", "avx2", "double", "fma", 16},
		{"Haswell", "avx2", "single", "fma", 32},
		{"Haswell", "avx2", "double", "add", 4},
		{"Haswell", "avx2", "double", "mul", 8},
		{"Haswell", "avx2", "double", "fma1_add1", 12},
		{"Skylake", "avx2", "double", "add", 8},
		{"Skylake", "scalar", "double", "fma", 4},
		{"Skylake", "avx2", "double", "div", 0.5},
		{"Skylake", "sse2", "double", "div", 0.5},
		{"Skylake", "scalar", "double", "div", 0.25},
		{"Skylake", "avx2", "single", "div", 1.6},
		{"Skylake-SP", "avx512f", "double", "div", 0.5},
		{"Skylake-SP", "avx2", "double", "fma", 16},
		{"Ice Lake", "avx512f", "double", "fma", 16},
		{"Ice Lake-SP", "avx512f", "double", "fma", 32},
		{"Ice Lake-SP", "avx512f", "single", "fma", 64},
		{"Ice Lake-SP", "avx512f", "double", "fma1_add1", 24},
		{"Ice Lake-SP", "avx512f", "int8", "dot", 256},
		{"Golden Cove", "avx2", "double", "fma1_add1", 18},
		{"Golden Cove", "scalar", "int64", "add", 5},
		{"Sapphire Rapids", "avx512f", "half", "fma", 128},
		{"Sapphire Rapids", "scalar", "half", "fma", 4},
		{"Sapphire Rapids", "amx", "bfloat16", "dot", 16. * 16 * 32 * 2 / 16},
		{"Sapphire Rapids", "amx", "int8", "dot", 16. * 16 * 64 * 2 / 16},
		{"Granite Rapids", "amx", "half", "dot", 1024},
		{"Gracemont", "avx2", "double", "fma", 8},
		{"Zen", "avx2", "double", "fma", 8},
		{"Zen", "sse2", "double", "fma", 8},
		{"Zen", "sse2", "int32", "add", 12},
		{"Zen 2", "avx2", "double", "fma", 16},
		{"Zen 3", "avx2", "double", "fma1_add1", 24},
		{"Zen 4", "avx512f", "double", "fma", 16},
		{"Zen 4", "avx512f", "double", "fma1_add1", 24},
		/* Zen 5, two 512-bit units of each kind: as measured */
		{"Zen 5", "avx512f", "double", "fma", 32},
		{"Zen 5", "avx512f", "double", "add", 16},
		{"Zen 5", "avx512f", "double", "mul", 16},
		{"Zen 5", "avx512f", "double", "fma1_add1", 48},
		{"Zen 5", "avx512f", "double", "fma2_add1", 40},
		{"Zen 5", "avx512f", "double", "fma1_add2", 32},
		{"Zen 5", "avx512f", "double", "mul1_add1", 32},
		{"Zen 5", "avx512f", "double", "mul1_add2", 24},
		{"Skylake", "avx2", "double", "mul1_add1", 8},
		{"Zen 5", "avx512f", "single", "fma", 64},
		{"Zen 5", "scalar", "single", "fma", 4},
		{"Zen 5", "avx512f", "bfloat16", "dot", 128},
		{"Zen 5", "avx512f", "int8", "dot", 256},
		{"Zen 5", "avx512f", "int8", "add", 256},
		{"Zen 5", "avx512f", "int32", "mul", 32},
		{"Zen 5", "avx512f", "int64", "logic", 32},
		{"Zen 5", "scalar", "int64", "mul", 3},
		{"Zen 5", "scalar", "int32", "add", 6},
		{"Zen 5", "x87", "x87", "add", 1},
		{"Zen 5", "x87", "x87", "mul", 1},
		{"Zen 5 (256-bit datapath)", "avx512f", "double", "fma", 16},
		{"Zen 5 (256-bit datapath)", "avx2", "double", "fma", 16},
	};
	for (size_t i = 0; i < COUNT(truths); i++)
		cr_assert_eq(compute(named(truths[i].name), truths[i].isa, truths[i].precision,
				     truths[i].op),
			     truths[i].expected, "%s %s %s %s", truths[i].name, truths[i].isa,
			     truths[i].precision, truths[i].op);
}

/* What is not there, not documented, or not told by the model number. */
Test(theory, issue_where_it_is_wide)
{
	cr_expect_eq(theory_issue("Zen 5"), 8);
	cr_expect_eq(theory_issue("Zen 4"), 0);
	cr_expect_eq(theory_issue("no such"), 0);
	cr_expect_eq(theory_issue(NULL), 0);
}

Test(theory, unknown_is_zero)
{
	static const struct {
		const char *name, *isa, *precision, *op;
	} unknown[] = {
		{"Nehalem", "sse2", "double", "fma"},
		{"Nehalem", "avx2", "double", "add"},
		{"Haswell", "avx512f", "double", "fma"},
		{"Haswell", "avx2", "double", "div"},
		{"Skylake-SP", "avx512f", "double", "fma"},
		{"Skylake-SP", "avx512f", "int8", "dot"},
		{"Skylake-SP", "avx512f", "double", "fma1_add1"},
		{"Skylake", "avx2", "double", "sqrt"},
		{"Skylake", "avx2", "half", "fma"},
		{"Ice Lake-SP", "amx", "int8", "dot"},
		{"Sandy Bridge", "avx2", "int32", "add"},
		{"Zen 2", "avx2", "double", "fma1_add1"},
		{"Zen 5", "avx512f", "half", "fma"},
		{"Zen 5", "avx512f", "int64", "mul"},
		{"Zen 5", "scalar", "int8", "mul"},
		{"Zen 5", "scalar", "int8", "dot"},
		{"Zen 5", "scalar", "bfloat16", "dot"},
		{"Zen 5", "avx512f", "double", "dot"},
		{"Zen 5", "avx512f", "bfloat16", "fma"},
		{"Zen 5", "avx512f", "int32", "dot"},
		{"Zen 5", "avx512f", "double", "logic"},
		{"Zen 5", "x87", "x87", "fma"},
		{"Zen 5", "x87", "double", "add"},
		{"Zen 5", "avx512f", "x87", "add"},
		{"Zen 5", "avx512f", "double", ""},
		{"Zen 5", "", "double", "fma"},
		{"Zen 5", "avx512f", "", "fma"},
		{"Sapphire Rapids", "amx", "bfloat16", "fma"},
		{"Sapphire Rapids", "amx", "half", "dot"},
		{"Sapphire Rapids", "amx", "double", "dot"},
	};
	for (size_t i = 0; i < COUNT(unknown); i++)
		cr_assert_eq(compute(named(unknown[i].name), unknown[i].isa, unknown[i].precision,
				     unknown[i].op),
			     0, "%s %s %s %s", unknown[i].name, unknown[i].isa,
			     unknown[i].precision, unknown[i].op);
	cr_assert_not_null(named("Skylake-SP")->note);
}

Test(theory, bandwidth_is_vectors_times_bytes)
{
	static const struct {
		const char *name, *level, *op, *isa;
		double expected;
	} truths[] = {
		{"Nehalem", "L1", "read", "sse2", 16},
		{"Nehalem", "L1", "copy", "sse2", 32},
		{"Sandy Bridge", "L1", "read", "avx2", 32},
		{"Sandy Bridge", "L1", "write", "avx2", 16},
		{"Sandy Bridge", "L1", "copy", "avx2", 32},
		{"Sandy Bridge", "L1", "triad", "avx2", 48},
		{"Sandy Bridge", "L1", "triad", "sse2", 32},
		{"Haswell", "L1", "read", "avx2", 64},
		{"Haswell", "L1", "triad", "avx2", 96},
		{"Skylake-SP", "L1", "read", "avx512f", 128},
		{"Skylake-SP", "L1", "write", "avx512f", 64},
		{"Skylake-SP", "L1", "daxpy", "avx512f", 192},
		{"Skylake-SP", "L2", "read", "avx512f", 64},
		{"Golden Cove", "L1", "read", "avx2", 96},
		{"Golden Cove", "L1", "write", "avx2", 64},
		{"Sapphire Rapids", "L1", "read", "avx512f", 128},
		{"Zen", "L1", "copy", "sse2", 32},
		{"Zen", "L1", "triad", "avx2", 32},
		{"Zen 2", "L1", "triad", "avx2", 96},
		{"Zen 2", "L2", "read", "avx2", 32},
		{"Zen 4", "L1", "read", "avx512f", 64},
		{"Zen 4", "L1", "write", "avx512f", 32},
		{"Zen 4", "L1", "copy", "avx512f", 64},
		/* Zen 5, measured: 128, 64, 128; triad 162 */
		{"Zen 5", "L1", "read", "avx512f", 128},
		{"Zen 5", "L1", "write", "avx512f", 64},
		{"Zen 5", "L1", "write", "avx2", 64},
		{"Zen 5", "L1", "write", "sse2", 32},
		{"Zen 5", "L1", "copy", "avx512f", 128},
		{"Zen 5", "L1", "update", "avx512f", 128},
		{"Zen 5", "L1", "triad", "avx512f", 192},
		{"Zen 5", "L1", "daxpy", "avx2", 96},
		{"Zen 5", "L2", "read", "avx512f", 64},
		{"Zen 5 (256-bit datapath)", "L1", "read", "avx2", 64},
		/* not known */
		{"Zen 5 (256-bit datapath)", "L1", "copy", "avx2", 0},
		{"Zen 5 (256-bit datapath)", "L2", "read", "avx2", 0},
		{"Haswell", "L1", "read", "avx512f", 0},
		{"Zen 5", "L1", "read", "scalar", 0},
		{"Zen 5", "L1", "read", "rep", 0},
		{"Zen 5", "L1", "write_nt", "avx512f", 0},
		{"Zen 5", "L2", "write", "avx512f", 0},
		{"Zen 5", "L3", "read", "avx512f", 0},
		{"Zen 5", "DRAM", "read", "avx512f", 0},
	};
	for (size_t i = 0; i < COUNT(truths); i++)
		cr_assert_eq(bandwidth(named(truths[i].name), truths[i].level, truths[i].op,
				       truths[i].isa),
			     truths[i].expected, "%s %s %s %s", truths[i].name, truths[i].level,
			     truths[i].op, truths[i].isa);
}

Test(theory, names_are_unique_and_no_model_has_two_rows)
{
	for (unsigned i = 0; i < n_microarchitectures; i++)
		for (unsigned j = 0; j < i; j++)
			cr_assert_str_neq(microarchitectures[i].name, microarchitectures[j].name);
	for (unsigned i = 0; i < n_microarchitectures * MODELS; i++)
		for (unsigned j = 0; j < i; j++) {
			const struct cpu_models *a =
				&microarchitectures[i / MODELS].models[i % MODELS];
			const struct cpu_models *b =
				&microarchitectures[j / MODELS].models[j % MODELS];
			if (!a->vendor || !b->vendor || strcmp(a->vendor, b->vendor) ||
			    a->family != b->family)
				continue;
			cr_assert(a->last < b->first || b->last < a->first, "%x: %x and %x",
				  a->family, a->first, b->first);
		}
}

Test(theory, every_row_is_reachable_by_all_its_models)
{
	for (unsigned i = 0; i < n_microarchitectures; i++) {
		const struct microarchitecture *row = &microarchitectures[i];
		cr_assert_not_null(row->models[0].vendor, "%s", row->name);
		for (size_t j = 0; j < MODELS && row->models[j].vendor; j++) {
			const struct cpu_models *models = &row->models[j];
			cr_assert_leq(models->first, models->last, "%s", row->name);
			for (unsigned model = models->first; model <= models->last; model++)
				cr_assert_eq(microarchitecture_find(models->vendor, models->family,
								    model),
					     row);
		}
	}
}

static void check_never_slower_when_wider(const struct microarchitecture *row,
					  const char *precision, const char *op)
{
	double narrower = 0;
	for (size_t i = 0; i < COUNT(isas); i++) {
		double rate = compute(row, isas[i], precision, op);
		/* General registers have other units than vectors: nothing to compare. */
		if (i == 0 && !strncmp(precision, "int", 3))
			continue;
		cr_assert(rate == 0 || rate >= narrower, "%s %s %s %s: %g after %g", row->name,
			  isas[i], precision, op, rate, narrower);
		narrower = rate ? rate : narrower;
	}
}

Test(theory, wider_is_never_slower)
{
	for (unsigned i = 0; i < n_microarchitectures; i++) {
		for (size_t p = 0; p < COUNT(precisions); p++)
			for (size_t o = 0; o < COUNT(ops); o++)
				check_never_slower_when_wider(&microarchitectures[i], precisions[p],
							      ops[o]);
		for (size_t o = 0; o < COUNT(loops); o++)
			for (size_t w = 1; w < COUNT(vector_isas); w++) {
				double wide = bandwidth(&microarchitectures[i], "L1", loops[o],
							vector_isas[w]);
				cr_assert(!wide || wide >= bandwidth(&microarchitectures[i], "L1",
								     loops[o], vector_isas[w - 1]));
			}
	}
}

static void check_compute_relations(const struct microarchitecture *row, const char *isa,
				    const char *precision)
{
	double fma = compute(row, isa, precision, "fma");
	double add = compute(row, isa, precision, "add");
	double mix = compute(row, isa, precision, "fma1_add1");
	double single = compute(row, isa, "single", "fma");
	cr_assert(!fma || fma >= add, "%s %s: an FMA is no slower than an add", row->name, isa);
	/* One FMA and one add: at most both kinds of unit busy; at least as if FMA units did both.
	 */
	cr_assert(!mix || mix <= fma + add, "%s %s %s", row->name, isa, precision);
	cr_assert(!mix || mix >= 3 * (add / 2 < fma / 4 ? add / 2 : fma / 4), "%s %s %s", row->name,
		  isa, precision);
	cr_assert(compute(row, isa, precision, "div") <= compute(row, isa, precision, "mul") ||
		  !compute(row, isa, precision, "mul"));
	if (strcmp(isa, "scalar"))
		cr_assert_eq(single, 2 * compute(row, isa, "double", "fma"));
}

Test(theory, operations_relate_as_units_do)
{
	for (unsigned i = 0; i < n_microarchitectures; i++)
		for (size_t w = 0; w < COUNT(isas); w++) {
			check_compute_relations(&microarchitectures[i], isas[w], "double");
			check_compute_relations(&microarchitectures[i], isas[w], "single");
		}
}

Test(theory, loads_and_stores_together_are_within_each)
{
	for (unsigned i = 0; i < n_microarchitectures; i++)
		for (size_t w = 0; w < THEORY_WIDTHS; w++) {
			const struct microarchitecture *row = &microarchitectures[i];
			double more =
				row->loads[w] > row->stores[w] ? row->loads[w] : row->stores[w];
			cr_assert(!row->memory[w] ||
					  (row->stores[w] && row->memory[w] >= more &&
					   row->memory[w] <= row->loads[w] + row->stores[w]),
				  "%s", row->name);
		}
}

/* The kernel's own reading of CPUID, in /proc/cpuinfo. */
Test(theory, this_cpu_is_found_by_what_the_kernel_says)
{
	char line[512], vendor[64] = "";
	unsigned family = 0, model = 0;
	FILE *file = fopen("/proc/cpuinfo", "re");
	cr_assert_not_null(file);
	while (fgets(line, sizeof(line), file) && strcmp(line, "\n")) {
		sscanf(line, "vendor_id : %63s", vendor);
		sscanf(line, "cpu family : %u", &family);
		sscanf(line, "model : %u", &model);
	}
	fclose(file);
	cpu_set_t before, after;
	cr_assert_eq(sched_getaffinity(0, sizeof(before), &before), 0);
	const struct microarchitecture *here = microarchitecture_here();
	const struct microarchitecture *expected = microarchitecture_find(vendor, family, model);
	cr_assert_eq(sched_getaffinity(0, sizeof(after), &after), 0);
	cr_assert(CPU_EQUAL(&before, &after));
	cr_assert_eq(microarchitecture_told(), expected);
	/* the processor may have units that its number does not stand for */
	if (!expected || !expected->hybrid)
		cr_assert(here == expected ||
			  (expected && (!here || (here->amx_int8 && !expected->amx_int8))));
	else
		cr_assert(!here || here == expected || !strcmp(here->name, "Gracemont"));
}

static void assert_taken(const char *told, struct core_features features, const char *name)
{
	const struct microarchitecture *row =
		microarchitecture_with(told ? named(told) : NULL, &features);
	if (name)
		cr_assert(row && !strcmp(row->name, name), "%s", row ? row->name : "none");
	else
		cr_assert_null(row);
}

/* A number is believed as far as the units that it stands for. */
Test(theory, a_number_that_is_not_the_processors)
{
	assert_taken("Rocket Lake", (struct core_features){true, true, false}, "Sapphire Rapids");
	assert_taken("Rocket Lake", (struct core_features){true, true, true}, "Granite Rapids");
	assert_taken(NULL, (struct core_features){true, true, false}, NULL);
	assert_taken("Skylake", (struct core_features){true, false, false}, NULL);
	assert_taken("Golden Cove", (struct core_features){true, false, false}, "Golden Cove");
	assert_taken(NULL, (struct core_features){true, false, false}, NULL);
	/* units that a hypervisor hides say nothing */
	for (unsigned i = 0; i < n_microarchitectures; i++) {
		const struct core_features none = {0}, all = {true, true, false};
		const struct microarchitecture *row = &microarchitectures[i];
		cr_assert_eq(microarchitecture_with(row, &none), row);
		if (row->amx_int8)
			cr_assert_eq(microarchitecture_with(row, &all), row);
	}
}

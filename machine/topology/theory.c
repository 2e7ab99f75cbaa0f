/* Finds the row of a processor, and makes rates of its numbers. */
#include "machine/topology/theory.h"

#include <cpuid.h>
#include <math.h>
#include <sched.h>
#include <stddef.h>
#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

const struct microarchitecture microarchitectures[] = {
#define MICROARCHITECTURE(title, ...) {.name = title, __VA_ARGS__},
#include "machine/topology/microarchitectures.def"
#undef MICROARCHITECTURE
};
const unsigned n_microarchitectures = COUNT(microarchitectures);

/* ---- Which row ---------------------------------------------------------------------------- */

static bool matches(const struct cpu_models *models, const char *vendor, unsigned family,
		    unsigned model)
{
	return models->vendor && !strcmp(models->vendor, vendor) && models->family == family &&
	       models->first <= model && model <= models->last;
}

const struct microarchitecture *microarchitecture_find(const char *vendor, unsigned family,
						       unsigned model)
{
	for (size_t i = 0; i < n_microarchitectures; i++)
		for (size_t j = 0; j < COUNT(microarchitectures[i].models); j++)
			if (matches(&microarchitectures[i].models[j], vendor, family, model))
				return &microarchitectures[i];
	return NULL;
}

/* Kinds of core in CPUID leaf 1AH, EAX bits 31:24 [SDM vol. 2, CPUID]. */
enum core_kind { CORE_UNKNOWN = 0, CORE_EFFICIENT = 0x20, CORE_PERFORMANCE = 0x40 };

static enum core_kind core_kind_here(void)
{
	unsigned eax, ebx, ecx, edx;
	bool told = __get_cpuid_count(0x1a, 0, &eax, &ebx, &ecx, &edx);
	return told && (eax >> 24 == CORE_EFFICIENT || eax >> 24 == CORE_PERFORMANCE)
		       ? eax >> 24
		       : CORE_UNKNOWN;
}

/* The kind of all cores that this thread may run on: it visits each.  CORE_UNKNOWN: both, or not
 * told. */
static enum core_kind core_kind_of_all(void)
{
	cpu_set_t allowed, one;
	enum core_kind common = CORE_UNKNOWN;
	if (sched_getaffinity(0, sizeof(allowed), &allowed) != 0)
		return CORE_UNKNOWN;
	for (int cpu = 0, n = 0; cpu < CPU_SETSIZE; cpu++) {
		if (!CPU_ISSET(cpu, &allowed))
			continue;
		CPU_ZERO(&one);
		CPU_SET(cpu, &one);
		enum core_kind kind = sched_setaffinity(0, sizeof(one), &one) == 0
					      ? core_kind_here()
					      : CORE_UNKNOWN;
		common = n++ == 0 || kind == common ? kind : CORE_UNKNOWN;
		if (common == CORE_UNKNOWN)
			break;
	}
	sched_setaffinity(0, sizeof(allowed), &allowed);
	return common;
}

/* Vendor, family and model by CPUID; false where there is no such leaf.  The extended family counts
 * when the family is 15, the extended model when it is 6 or 15 [SDM vol. 2, CPUID]. */
static bool identify(char vendor[13], unsigned *family, unsigned *model)
{
	unsigned eax, ebx, ecx, edx;
	if (!__get_cpuid(0, &eax, &ebx, &ecx, &edx))
		return false;
	memcpy(vendor, &ebx, 4);
	memcpy(vendor + 4, &edx, 4);
	memcpy(vendor + 8, &ecx, 4);
	vendor[12] = '\0';
	if (!__get_cpuid(1, &eax, &ebx, &ecx, &edx))
		return false;
	*family = eax >> 8 & 15;
	*model = eax >> 4 & 15;
	if (*family == 6 || *family == 15)
		*model |= (eax >> 16 & 15) << 4;
	if (*family == 15)
		*family += eax >> 20 & 255;
	return true;
}

const struct microarchitecture *microarchitecture_with(const struct microarchitecture *row,
						       const struct core_features *features)
{
	if (row && features->amx && !row->amx_int8)
		return microarchitecture_named(features->amx_half ? "Granite Rapids"
								  : "Sapphire Rapids");
	return row && features->avx512 && !row->loads[THEORY_512] && !row->hybrid ? NULL : row;
}

/* CPUID leaf 7: AVX512F, AMX-INT8, AMX-FP16 [SDM vol. 2, CPUID]. */
static struct core_features features_here(void)
{
	struct core_features features = {0};
	unsigned eax, ebx, ecx, edx;
	if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx)) {
		features.avx512 = ebx >> 16 & 1;
		features.amx = edx >> 25 & 1;
	}
	if (features.amx && __get_cpuid_count(7, 1, &eax, &ebx, &ecx, &edx))
		features.amx_half = eax >> 21 & 1;
	return features;
}

const struct microarchitecture *microarchitecture_told(void)
{
	char vendor[13];
	unsigned family, model;
	return identify(vendor, &family, &model) ? microarchitecture_find(vendor, family, model)
						 : NULL;
}

const struct microarchitecture *microarchitecture_here(void)
{
	const struct core_features features = features_here();
	const struct microarchitecture *row =
		microarchitecture_with(microarchitecture_told(), &features);
	if (!row || !row->hybrid)
		return row;
	enum core_kind kind = core_kind_of_all();
	if (kind == CORE_EFFICIENT)
		return microarchitecture_find("GenuineIntel", 6, 0xbe); /* Gracemont */
	return kind == CORE_PERFORMANCE ? row : NULL;
}

/* ---- Compute ------------------------------------------------------------------------------ */

struct isa_width {
	bool known; /* a width class of vectors or of scalars in vector registers */
	enum theory_width width;
	bool scalar;
};

static const struct isa_width isa_widths[ROOF_ISAS] = {
	[ROOF_ISA_SCALAR] = {true, THEORY_128, true},
	[ROOF_ISA_SSE2] = {true, THEORY_128, false},
	[ROOF_ISA_AVX2] = {true, THEORY_256, false},
	[ROOF_ISA_AVX512F] = {true, THEORY_512, false},
};

static unsigned vector_bytes(const struct isa_width *isa)
{
	return 16u << isa->width;
}

/* Elements of `bytes` bytes in one register. */
static double lanes_of(const struct isa_width *isa, unsigned bytes)
{
	return isa->scalar ? 1 : vector_bytes(isa) / bytes;
}

/* Cycles of `n_a` instructions of one kind and `n_b` of another: those of the busiest of the units
 * of each, and of what both share; 0: a rate that counts is not known. */
static double busiest(double n_a, double a, double n_b, double b, double both)
{
	if ((n_a && !a) || (n_b && !b) || (n_a && n_b && !both))
		return 0;
	double apart = fmax(n_a ? n_a / a : 0, n_b ? n_b / b : 0);
	return n_a && n_b ? fmax(apart, (n_a + n_b) / both) : apart;
}

/* Flop per cycle and lane of a mix of `n_fma` FMA to `n_add` adds. */
static double mixed(const struct microarchitecture *row, enum theory_width width, double n_fma,
		    double n_add)
{
	double cycles =
		busiest(n_fma, row->fma[width], n_add, row->add[width], row->fma_and_add[width]);
	return cycles ? (2 * n_fma + n_add) / cycles : 0;
}

/* The same of one multiplication to `n_add` adds; these share units as fma and adds do. */
static double balanced(const struct microarchitecture *row, enum theory_width width, double n_add)
{
	double cycles =
		busiest(1, row->mul[width], n_add, row->add[width], row->fma_and_add[width]);
	return cycles ? (1 + n_add) / cycles : 0;
}

static double inverse(double cycles)
{
	return cycles ? 1 / cycles : 0;
}

/* Flop per cycle and lane of single and double precision. */
static double floating_rate(const struct microarchitecture *row, const struct isa_width *isa,
			    bool is_double, enum roof_op op)
{
	const size_t by_width = isa->scalar ? 0 : 1 + isa->width;
	const double rates[ROOF_OPS] = {
		[ROOF_OP_FMA1_ADD1] = mixed(row, isa->width, 1, 1),
		[ROOF_OP_FMA2_ADD1] = mixed(row, isa->width, 2, 1),
		[ROOF_OP_FMA1_ADD2] = mixed(row, isa->width, 1, 2),
		[ROOF_OP_MUL1_ADD1] = balanced(row, isa->width, 1),
		[ROOF_OP_MUL1_ADD2] = balanced(row, isa->width, 2),
		[ROOF_OP_FMA] = 2 * row->fma[isa->width],
		[ROOF_OP_ADD] = row->add[isa->width],
		[ROOF_OP_MUL] = row->mul[isa->width],
		[ROOF_OP_DIV] = inverse((is_double ? row->div_double : row->div_single)[by_width]),
		[ROOF_OP_SQRT] = is_double ? 0 : inverse(row->sqrt_single[by_width]),
	};
	return rates[op];
}

static double half_rate(const struct microarchitecture *row, const struct isa_width *isa,
			enum roof_op op)
{
	if (op == ROOF_OP_FMA)
		return 2 * row->half[isa->width];
	return op == ROOF_OP_ADD || op == ROOF_OP_MUL ? row->half[isa->width] : 0;
}

/* Operations per cycle (general registers) or per cycle and lane. */
static double integer_rate(const struct microarchitecture *row, const struct isa_width *isa,
			   unsigned bytes, enum roof_op op)
{
	if (op == ROOF_OP_ADD)
		return isa->scalar ? row->integer : row->vector_add[isa->width];
	if (op == ROOF_OP_LOGIC)
		return isa->scalar ? row->integer : row->vector_logic[isa->width];
	if (op != ROOF_OP_MUL)
		return 0;
	if (isa->scalar)
		return bytes == 4 ? row->imul32 : bytes == 8 ? row->imul64 : 0;
	return bytes == 4 ? row->vector_mul32[isa->width] : 0;
}

/* 2 operations for each product. */
static double dot_rate(const struct microarchitecture *row, const struct isa_width *isa,
		       enum roof_precision precision)
{
	if (isa->scalar)
		return 0;
	if (precision == ROOF_PRECISION_BFLOAT16)
		return row->dot_bfloat16[isa->width] * 2 * lanes_of(isa, 2);
	return precision == ROOF_PRECISION_INT8 ? row->dot_int8[isa->width] * 2 * lanes_of(isa, 1)
						: 0;
}

static double amx_rate(const struct microarchitecture *row, enum roof_precision precision)
{
	const double rates[ROOF_PRECISIONS] = {
		[ROOF_PRECISION_BFLOAT16] = row->amx_bfloat16,
		[ROOF_PRECISION_HALF] = row->amx_half,
		[ROOF_PRECISION_INT8] = row->amx_int8,
	};
	return rates[precision];
}

static double vector_compute(const struct microarchitecture *row, const struct isa_width *isa,
			     enum roof_precision precision, enum roof_op op)
{
	if (op == ROOF_OP_DOT)
		return dot_rate(row, isa, precision);
	switch (precision) {
	case ROOF_PRECISION_DOUBLE:
		return lanes_of(isa, 8) * floating_rate(row, isa, true, op);
	case ROOF_PRECISION_SINGLE:
		return lanes_of(isa, 4) * floating_rate(row, isa, false, op);
	case ROOF_PRECISION_HALF:
		return lanes_of(isa, 2) * half_rate(row, isa, op);
	case ROOF_PRECISION_INT8:
		return lanes_of(isa, 1) * integer_rate(row, isa, 1, op);
	case ROOF_PRECISION_INT32:
		return lanes_of(isa, 4) * integer_rate(row, isa, 4, op);
	case ROOF_PRECISION_INT64:
		return lanes_of(isa, 8) * integer_rate(row, isa, 8, op);
	default:
		return 0;
	}
}

double theory_compute(const struct microarchitecture *row, enum roof_isa isa,
		      enum roof_precision precision, enum roof_op op)
{
	if (isa == ROOF_ISA_AMX)
		return op == ROOF_OP_DOT ? amx_rate(row, precision) : 0;
	if (isa == ROOF_ISA_X87)
		return precision == ROOF_PRECISION_X87 && (op == ROOF_OP_ADD || op == ROOF_OP_MUL)
			       ? row->x87
			       : 0;
	const struct isa_width *width = &isa_widths[isa];
	return width->known ? vector_compute(row, width, precision, op) : 0;
}

/* ---- Bandwidth ---------------------------------------------------------------------------- */

const struct microarchitecture *microarchitecture_named(const char *name)
{
	for (unsigned i = 0; name && i < n_microarchitectures; i++)
		if (!strcmp(microarchitectures[i].name, name))
			return &microarchitectures[i];
	return NULL;
}

double theory_issue(const char *name)
{
	const struct microarchitecture *row = microarchitecture_named(name);
	return row ? row->issue : 0;
}

int theory_reorder(const char *name)
{
	for (unsigned i = 0; name && i < n_microarchitectures; i++)
		if (!strcmp(microarchitectures[i].name, name))
			return microarchitectures[i].reorder;
	return 0;
}

double theory_bandwidth(const struct microarchitecture *row, enum roof_level level, enum roof_op op,
			enum roof_isa isa)
{
	static const struct {
		double n_loads, n_stores;
	} loops[ROOF_OPS] = {
		[ROOF_OP_READ] = {1, 0},   [ROOF_OP_WRITE] = {0, 1}, [ROOF_OP_COPY] = {1, 1},
		[ROOF_OP_UPDATE] = {1, 1}, [ROOF_OP_TRIAD] = {2, 1}, [ROOF_OP_DAXPY] = {2, 1},
	};
	const struct isa_width *width = &isa_widths[isa];
	if (level == ROOF_LEVEL_L2)
		return op == ROOF_OP_READ ? row->l2_bytes : 0;
	if (level != ROOF_LEVEL_L1 || !width->known || width->scalar)
		return 0;
	double cycles = busiest(loops[op].n_loads, row->loads[width->width], loops[op].n_stores,
				row->stores[width->width], row->memory[width->width]);
	double n = loops[op].n_loads + loops[op].n_stores;
	return cycles ? n * vector_bytes(width) / cycles : 0;
}

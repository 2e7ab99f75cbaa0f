#include "machine/topology/theory.h"

#include <cpuid.h>
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
	if (!__get_cpuid_count(0x1a, 0, &eax, &ebx, &ecx, &edx))
		return CORE_UNKNOWN;
	return eax >> 24 == CORE_EFFICIENT || eax >> 24 == CORE_PERFORMANCE ? eax >> 24
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

const struct microarchitecture *microarchitecture_here(void)
{
	char vendor[13];
	unsigned family, model;
	if (!identify(vendor, &family, &model))
		return NULL;
	const struct microarchitecture *row = microarchitecture_find(vendor, family, model);
	if (!row || !row->hybrid)
		return row;
	switch (core_kind_of_all()) {
	case CORE_PERFORMANCE:
		return row;
	case CORE_EFFICIENT:
		return microarchitecture_find("GenuineIntel", 6, 0xbe); /* Gracemont */
	default:
		return NULL;
	}
}

/* ---- Compute ------------------------------------------------------------------------------ */

struct isa_width {
	const char *isa;
	enum theory_width width;
	bool scalar;
};

static const struct isa_width isa_widths[] = {
	{"scalar", THEORY_128, true},
	{"sse2", THEORY_128, false},
	{"avx2", THEORY_256, false},
	{"avx512f", THEORY_512, false},
};

static const struct isa_width *find_isa(const char *isa)
{
	for (size_t i = 0; i < COUNT(isa_widths); i++)
		if (!strcmp(isa, isa_widths[i].isa))
			return &isa_widths[i];
	return NULL;
}

static unsigned vector_bytes(const struct isa_width *isa)
{
	return 16u << isa->width;
}

/* Elements of `bytes` bytes in one register. */
static double lanes_of(const struct isa_width *isa, unsigned bytes)
{
	return isa->scalar ? 1 : vector_bytes(isa) / bytes;
}

/* Flop per cycle and lane of a mix of `n_fma` FMA to `n_add` adds: cycles are those of the busiest
 * of the FMA units, the adders, and what both share. */
static double mixed(const struct microarchitecture *row, enum theory_width width, double n_fma,
		    double n_add)
{
	double fma = row->fma[width], add = row->add[width], both = row->fma_and_add[width];
	if (!fma || !add || !both)
		return 0;
	double cycles = (n_fma + n_add) / both;
	if (n_fma / fma > cycles)
		cycles = n_fma / fma;
	if (n_add / add > cycles)
		cycles = n_add / add;
	return (2 * n_fma + n_add) / cycles;
}

static double inverse(double cycles)
{
	return cycles ? 1 / cycles : 0;
}

/* Flop per cycle and lane of single and double precision. */
static double floating_rate(const struct microarchitecture *row, const struct isa_width *isa,
			    bool is_double, const char *op)
{
	size_t by_width = isa->scalar ? 0 : 1 + isa->width;
	static const struct {
		const char *op;
		double n_fma, n_add;
	} mixes[] = {
		{"fma1_add1", 1, 1},
		{"fma2_add1", 2, 1},
		{"fma1_add2", 1, 2},
	};
	for (size_t i = 0; i < COUNT(mixes); i++)
		if (!strcmp(op, mixes[i].op))
			return mixed(row, isa->width, mixes[i].n_fma, mixes[i].n_add);
	if (!strcmp(op, "fma"))
		return 2 * row->fma[isa->width];
	if (!strcmp(op, "add"))
		return row->add[isa->width];
	if (!strcmp(op, "mul"))
		return row->mul[isa->width];
	if (!strcmp(op, "div"))
		return inverse(is_double ? row->div_double[by_width] : row->div_single[by_width]);
	if (!strcmp(op, "sqrt") && !is_double)
		return inverse(row->sqrt_single[by_width]);
	return 0;
}

static double half_rate(const struct microarchitecture *row, const struct isa_width *isa,
			const char *op)
{
	if (!strcmp(op, "fma"))
		return 2 * row->half[isa->width];
	return !strcmp(op, "add") || !strcmp(op, "mul") ? row->half[isa->width] : 0;
}

/* Operations per cycle (general registers) or per cycle and lane. */
static double integer_rate(const struct microarchitecture *row, const struct isa_width *isa,
			   unsigned bytes, const char *op)
{
	if (!strcmp(op, "add"))
		return isa->scalar ? row->integer : row->vector_add[isa->width];
	if (!strcmp(op, "logic"))
		return isa->scalar ? row->integer : row->vector_logic[isa->width];
	if (strcmp(op, "mul"))
		return 0;
	if (isa->scalar)
		return bytes == 4 ? row->imul32 : bytes == 8 ? row->imul64 : 0;
	return bytes == 4 ? row->vector_mul32[isa->width] : 0;
}

/* 2 operations for each product of elements of `bytes` bytes. */
static double dot_rate(const struct isa_width *isa, const double *instructions, unsigned bytes)
{
	return isa->scalar ? 0 : instructions[isa->width] * 2 * lanes_of(isa, bytes);
}

static double amx_rate(const struct microarchitecture *row, const char *precision, const char *op)
{
	if (strcmp(op, "dot"))
		return 0;
	if (!strcmp(precision, "bfloat16"))
		return row->amx_bfloat16;
	if (!strcmp(precision, "half"))
		return row->amx_half;
	return !strcmp(precision, "int8") ? row->amx_int8 : 0;
}

static double vector_compute(const struct microarchitecture *row, const struct isa_width *isa,
			     const char *precision, const char *op)
{
	static const struct {
		const char *precision;
		unsigned bytes;
	} integers[] = {
		{"int8", 1},
		{"int32", 4},
		{"int64", 8},
	};
	if (!strcmp(precision, "double"))
		return lanes_of(isa, 8) * floating_rate(row, isa, true, op);
	if (!strcmp(precision, "single"))
		return lanes_of(isa, 4) * floating_rate(row, isa, false, op);
	if (!strcmp(precision, "half"))
		return lanes_of(isa, 2) * half_rate(row, isa, op);
	if (!strcmp(precision, "bfloat16"))
		return !strcmp(op, "dot") ? dot_rate(isa, row->dot_bfloat16, 2) : 0;
	if (!strcmp(precision, "int8") && !strcmp(op, "dot"))
		return dot_rate(isa, row->dot_int8, 1);
	for (size_t i = 0; i < COUNT(integers); i++)
		if (!strcmp(precision, integers[i].precision))
			return lanes_of(isa, integers[i].bytes) *
			       integer_rate(row, isa, integers[i].bytes, op);
	return 0;
}

double theory_compute(const struct microarchitecture *row, const char *isa, const char *precision,
		      const char *op)
{
	if (!strcmp(isa, "amx"))
		return amx_rate(row, precision, op);
	if (!strcmp(isa, "x87"))
		return !strcmp(precision, "x87") && (!strcmp(op, "add") || !strcmp(op, "mul"))
			       ? row->x87
			       : 0;
	const struct isa_width *width = find_isa(isa);
	return width ? vector_compute(row, width, precision, op) : 0;
}

/* ---- Bandwidth ---------------------------------------------------------------------------- */

/* Bytes per cycle of a loop of `n_loads` and `n_stores` vectors: the busiest of the load ports, the
 * store ports, and what both share. */
static double l1_bytes(const struct microarchitecture *row, const struct isa_width *isa,
		       double n_loads, double n_stores)
{
	double loads = row->loads[isa->width], stores = row->stores[isa->width];
	double both = row->memory[isa->width], cycles = 0;
	if ((n_loads && !loads) || (n_stores && !stores) || (n_loads && n_stores && !both))
		return 0;
	if (n_loads)
		cycles = n_loads / loads;
	if (n_stores && n_stores / stores > cycles)
		cycles = n_stores / stores;
	if (n_loads && n_stores && (n_loads + n_stores) / both > cycles)
		cycles = (n_loads + n_stores) / both;
	return (n_loads + n_stores) * vector_bytes(isa) / cycles;
}

double theory_issue(const char *name)
{
	for (unsigned i = 0; name && i < n_microarchitectures; i++)
		if (!strcmp(microarchitectures[i].name, name))
			return microarchitectures[i].issue;
	return 0;
}

double theory_bandwidth(const struct microarchitecture *row, const char *level, const char *op,
			const char *isa)
{
	static const struct {
		const char *op;
		double n_loads, n_stores;
	} loops[] = {
		{"read", 1, 0},   {"write", 0, 1}, {"copy", 1, 1},
		{"update", 1, 1}, {"triad", 2, 1}, {"daxpy", 2, 1},
	};
	const struct isa_width *width = find_isa(isa);
	if (!strcmp(level, "L2"))
		return !strcmp(op, "read") ? row->l2_bytes : 0;
	if (strcmp(level, "L1") || !width || width->scalar)
		return 0;
	for (size_t i = 0; i < COUNT(loops); i++)
		if (!strcmp(op, loops[i].op))
			return l1_bytes(row, width, loops[i].n_loads, loops[i].n_stores);
	return 0;
}

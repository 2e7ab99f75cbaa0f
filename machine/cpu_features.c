#include "machine/cpu_features.h"

#include <string.h>

/* __builtin_cpu_supports asks CPUID and, for AVX and later, XGETBV, so that a set that the
 * operating system does not save is not offered. */
static unsigned cpu_features(void)
{
	unsigned features = CPU_BASE;
	__builtin_cpu_init();
	if (__builtin_cpu_supports("avx"))
		features |= CPU_AVX;
	if (__builtin_cpu_supports("fma"))
		features |= CPU_FMA;
	if (__builtin_cpu_supports("avx512f"))
		features |= CPU_AVX512F;
	return features;
}

bool cpu_has(unsigned needs)
{
	return (cpu_features() & needs) == needs;
}

size_t isa_vector_bytes(const char *isa)
{
	static const struct { const char *isa; size_t bytes; } widths[] = {
		{ "avx512f", 64 }, { "avx2", 32 }, { "sse2", 16 },
	};
	for (size_t i = 0; i < sizeof(widths) / sizeof(widths[0]); i++)
		if (!strcmp(isa, widths[i].isa))
			return widths[i].bytes;
	return 0;
}

/* Asks CPUID and XCR0 for instruction sets, and Linux for the permission to use tiles. */
#include "machine/topology/cpu_features.h"

#include <cpuid.h>
#include <pthread.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <unistd.h>

/* State that the operating system has to save for a feature: bits of XCR0, Intel SDM volume 1,
 * 13.3. */
#define STATE_NONE 0
#define STATE_AVX 0x6     /* xmm, upper ymm */
#define STATE_AVX512 0xe6 /* these, mask registers, upper zmm0 to 15, zmm16 to 31 */
#define STATE_AMX 0x60000 /* tile configuration, tile data */

/* <asm/prctl.h> of older systems does not have these.  Linux, Documentation/arch/x86/xstate.rst. */
#define REQUEST_PERMISSION 0x1023 /* ARCH_REQ_XCOMP_PERM */
#define TILE_DATA 18              /* the number of the state component, Intel SDM volume 1, 13.1 */

#define OSXSAVE (1U << 27) /* CPUID 1, ecx: XGETBV is allowed */
#define AMX_FEATURES (CPU_AMX_TILE | CPU_AMX_INT8 | CPU_AMX_BF16)

enum cpuid_register { EAX, EBX, ECX, EDX };

/* Where CPUID says it: Intel SDM volume 2A, table 3-17.  Not __builtin_cpu_supports, because the
 * compilers do not all know the same names. */
static const struct {
	enum cpu_feature feature;
	unsigned leaf, subleaf;
	enum cpuid_register reg;
	int bit;
	uint32_t state;
	unsigned extends; /* features without which this one is not offered; listed before it */
} places[] = {
	{CPU_SSE4_1, 1, 0, ECX, 19, STATE_NONE, CPU_BASE},
	{CPU_AVX, 1, 0, ECX, 28, STATE_AVX, CPU_BASE},
	{CPU_FMA, 1, 0, ECX, 12, STATE_AVX, CPU_AVX},
	{CPU_AVX2, 7, 0, EBX, 5, STATE_AVX, CPU_AVX},
	{CPU_AVX_VNNI, 7, 1, EAX, 4, STATE_AVX, CPU_AVX2},
	{CPU_AVX512F, 7, 0, EBX, 16, STATE_AVX512, CPU_AVX2},
	{CPU_AVX512DQ, 7, 0, EBX, 17, STATE_AVX512, CPU_AVX512F},
	{CPU_AVX512BW, 7, 0, EBX, 30, STATE_AVX512, CPU_AVX512F},
	{CPU_AVX512VL, 7, 0, EBX, 31, STATE_AVX512, CPU_AVX512F},
	{CPU_AVX512_VNNI, 7, 0, ECX, 11, STATE_AVX512, CPU_AVX512F},
	{CPU_AVX512_BF16, 7, 1, EAX, 5, STATE_AVX512, CPU_AVX512F},
	{CPU_AVX512_FP16, 7, 0, EDX, 23, STATE_AVX512, CPU_AVX512F},
	{CPU_AMX_TILE, 7, 0, EDX, 24, STATE_AMX, CPU_BASE},
	{CPU_AMX_INT8, 7, 0, EDX, 25, STATE_AMX, CPU_AMX_TILE},
	{CPU_AMX_BF16, 7, 0, EDX, 22, STATE_AMX, CPU_AMX_TILE},
	{CPU_SSE4_2, 1, 0, ECX, 20, STATE_NONE, CPU_SSE4_1},
	{CPU_POPCNT, 1, 0, ECX, 23, STATE_NONE, CPU_BASE},
	{CPU_LZCNT, 0x80000001, 0, ECX, 5, STATE_NONE, CPU_BASE},
	{CPU_BMI1, 7, 0, EBX, 3, STATE_NONE, CPU_BASE},
	{CPU_BMI2, 7, 0, EBX, 8, STATE_NONE, CPU_BASE},
	{CPU_F16C, 1, 0, ECX, 29, STATE_AVX, CPU_AVX},
};

/* One register of CPUID; 0 where the CPU does not have the leaf or subleaf. */
static uint32_t cpuid(unsigned leaf, unsigned subleaf, enum cpuid_register reg)
{
	uint32_t r[4];
	if (subleaf && cpuid(leaf, 0, EAX) < subleaf) /* eax of leaf 7: its last subleaf */
		return 0;
	if (!__get_cpuid_count(leaf, subleaf, &r[EAX], &r[EBX], &r[ECX], &r[EDX]))
		return 0;
	return r[reg];
}

static uint32_t saved_state(void)
{
	uint32_t low, high;
	if (!(cpuid(1, 0, ECX) & OSXSAVE))
		return 0;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static pthread_once_t looked = PTHREAD_ONCE_INIT;
static unsigned features;

static void look(void)
{
	uint32_t saved = saved_state();
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++)
		if ((saved & places[i].state) == places[i].state &&
		    (features & places[i].extends) == places[i].extends &&
		    cpuid(places[i].leaf, places[i].subleaf, places[i].reg) >> places[i].bit & 1)
			features |= places[i].feature;
}

static pthread_once_t asked = PTHREAD_ONCE_INIT;
static bool tiles_permitted;

/* Asks once in the life of the process; refused also by a kernel before 5.16, and then a tile
 * instruction ends in SIGILL.
 *
 * The permission is the process's: threads have it whether they started before or after.  With it
 * a signal frame grows by the 8 KiB of the tiles, and Linux refuses when some thread's alternate
 * signal stack is too small for that. */
static void ask_for_tiles(void)
{
	tiles_permitted = syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

bool cpu_has(unsigned needs)
{
	pthread_once(&looked, look);
	if ((features & needs) != needs)
		return false;
	if (!(needs & AMX_FEATURES))
		return true;
	pthread_once(&asked, ask_for_tiles);
	return tiles_permitted;
}

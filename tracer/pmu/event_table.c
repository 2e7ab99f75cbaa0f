/* Tables of hardware events.
 *
 * To add a microarchitecture:
 *  1. Write tables/NAME.def, a macro NAME(pmu) of rows, one for each event, in the order of enum
 *     event_quantity where that is no hindrance; where it is nearly another one, use that one's
 *     macro and add what differs; include it below.
 *     ROW(pmu, quantity, event, multiplier, flags, meaning, erratum or NULL, source) is an event of
 *     the core's PMU, UNCORE_ROW(quantity, "pmu::EVENT", multiplier, meaning, erratum or NULL,
 *     source) of a box's, the first of them.  The event is in libpfm4's spelling; no alias of
 *     libpfm4's, some encode wrongly (LAST_LEVEL_CACHE_MISSES of snb loses its mask in 4.13).
 *     Everything that is known to be wrong with an event belongs into its erratum, with where that
 *     is said; what is wrong beyond correction gets EVENT_UNRELIABLE.
 *  2. Add its line to tables.def.
 *  3. tests/unit/tracer/pmu/test_event_table.c checks it: every string is encoded by libpfm4,
 *     multipliers are compared with what the names say.  For a processor that is not x86 give its
 *     codes in tests/unit/tracer/pmu/event_codes.def.
 *  4. docs/events.md: its line in the table.
 *
 * Sources that several rows have:
 * [SDM]  Intel 64 and IA-32 Architectures Software Developer's Manual, vol. 3B, performance
 *        monitoring events, and Intel's event files (perfmon) for the microarchitecture.
 * [perf] Intel's and Arm's event files as Linux has them, tools/perf/pmu-events/arch, by folder and
 *        file: what errata say is from there, where it says so.
 * [PPR]  AMD Processor Programming References: 54945 (Zen), 55803 (Zen 2), 55898 (Zen 3), 55901
 *        (Zen 4): core performance monitor counters.
 * [ARM]  Arm Architecture Reference Manual, A-profile, PMU events; Technical Reference Manual of
 *        the core.
 * [P9]   POWER9 Performance Monitor Unit User's Guide.
 * [O]    Ofenbeck et al. 2014.  [G] Gravelle et al. 2022. */
#include "tracer/pmu/event_table.h"

#include "tracer/pmu/pfm_library.h"

#include <string.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

/* ---- What rows are made of ---------------------------------------------------------------- */

#define SDM "SDM vol. 3B"
#define PPR "AMD PPR, core performance monitor counters"
#define ARM "Arm ARM, PMU events; TRM of the core"
#define P9 "POWER9 PMU user's guide"
#define G_FLOPS "[G] algorithms 12 and 15"
#define G_A64FX "[G] algorithms 11 and 16"

#define LLC_MISS_NOTE                                                                              \
	"a lower bound of memory traffic: prefetches into the last cache, write-backs and "        \
	"non-temporal stores are not in it [O, III.D]; prefetches into L1, and since Skylake L2, " \
	"and instruction fetches are [perf, cache.json, LONGEST_LAT_CACHE.MISS]"
#define FILL_NOTE                                                                                \
	"a lower bound of memory traffic: no write-back, no non-temporal store, no instruction " \
	"fetch"
#define FP_ARITH_NOTE                                                                           \
	"a count stands for every lane, masked-off ones too; DPPS and DPPD count twice; it is " \
	"specified for DAZ and FTZ set in MXCSR [perf, skylakex/floating-point.json]"
#define FP_INSTRUCTIONS_NOTE \
	"a fused multiply-add counts as two instructions [SDM vol. 3B; G, 5.2.2]"
#define MERGE_NOTE                                                                                 \
	"takes two counters of the core; Linux before 5.6 does not pair them and counts too few, " \
	"and then sampled at wrong periods until 26e52558ead4 was in [Linux commits "              \
	"5738891229a2, 26e52558ead4]"

#define ROW(pmu, quantity, event, multiplier, flags, meaning, erratum, source) \
	{EVENT_##quantity, pmu "::" event, multiplier, flags, meaning, erratum, source},
#define UNCORE_ROW(quantity, event, multiplier, meaning, erratum, source) \
	{EVENT_##quantity, event, multiplier, EVENT_UNCORE, meaning, erratum, source},

#include "tracer/pmu/tables/amd_zen.def"
#include "tracer/pmu/tables/amd_zen1.def"
#include "tracer/pmu/tables/amd_zen2.def"
#include "tracer/pmu/tables/amd_zen3.def"
#include "tracer/pmu/tables/amd_zen4.def"
#include "tracer/pmu/tables/arm_a64fx.def"
#include "tracer/pmu/tables/arm_n1.def"
#include "tracer/pmu/tables/arm_neoverse.def"
#include "tracer/pmu/tables/arm_sve.def"
#include "tracer/pmu/tables/arm_thunderx2.def"
#include "tracer/pmu/tables/intel_bdw.def"
#include "tracer/pmu/tables/intel_cbo.def"
#include "tracer/pmu/tables/intel_fp_arith.def"
#include "tracer/pmu/tables/intel_fp_arith_512.def"
#include "tracer/pmu/tables/intel_fp_instructions.def"
#include "tracer/pmu/tables/intel_hsw.def"
#include "tracer/pmu/tables/intel_hsw_memory.def"
#include "tracer/pmu/tables/intel_icl.def"
#include "tracer/pmu/tables/intel_imc.def"
#include "tracer/pmu/tables/intel_skl.def"
#include "tracer/pmu/tables/intel_skl_memory.def"
#include "tracer/pmu/tables/intel_snb.def"
#include "tracer/pmu/tables/intel_spr.def"
#include "tracer/pmu/tables/intel_wsm.def"
#include "tracer/pmu/tables/power9.def"

/* ---- The tables --------------------------------------------------------------------------- */

#define ROWS(...) ((const struct event_row[]){__VA_ARGS__})
#define TABLE(pmu, name, lacks, ...) \
	{pmu, name, ROWS(__VA_ARGS__), COUNT(ROWS(__VA_ARGS__)), lacks},

const struct event_table event_tables[] = {
#include "tracer/pmu/tables/tables.def"
};
const size_t n_event_tables = COUNT(event_tables);

/* ---- Which table -------------------------------------------------------------------------- */

const struct event_table *event_table_find(const char *pmu)
{
	for (size_t i = 0; i < n_event_tables; i++)
		if (!strcmp(event_tables[i].pmu, pmu))
			return &event_tables[i];
	return NULL;
}

const struct event_table *event_table_here(void)
{
	const struct pfm_library *library = pfm_library();
	pfm_pmu_t pmu;
	if (!library)
		return NULL;
	pfm_for_all_pmus(pmu)
	{
		pfm_pmu_info_t info = {.size = sizeof(info)};
		if (library->pmu_info(pmu, &info) != PFM_SUCCESS || !info.is_present)
			continue;
		const struct event_table *table = event_table_find(info.name);
		if (table)
			return table;
	}
	return NULL;
}

/* ---- Encoding ---------------------------------------------------------------------------- */

struct rf_error *event_encode(const char *event, struct perf_event_attr *attr)
{
	struct perf_event_attr encoded = {.size = sizeof(encoded)};
	pfm_perf_encode_arg_t argument = {.attr = &encoded, .size = sizeof(argument)};
	const struct pfm_library *library = pfm_library();
	if (!library)
		return rf_error_create(RF_EUNAVAILABLE, "install libpfm4",
				       "%s: libpfm4 cannot be loaded", event);
	const int status = library->encode(event, PFM_PLM3, PFM_OS_PERF_EVENT, &argument);
	if (status != PFM_SUCCESS)
		return rf_error_create(RF_EINPUT, "showevtinfo of the package libpfm4 lists events",
				       "%s: %s", event, library->error(status));
	*attr = (struct perf_event_attr){
		.type = encoded.type,
		.size = sizeof(*attr),
		.config = encoded.config,
		.config1 = encoded.config1,
		.config2 = encoded.config2,
	};
	return NULL;
}

/* ---- Quantities --------------------------------------------------------------------------- */

const char *event_quantity_name(enum event_quantity quantity)
{
	static const char *const names[N_EVENT_QUANTITIES] = {
		[EVENT_CYCLES] = "cycles",
		[EVENT_INSTRUCTIONS] = "instructions",
		[EVENT_FLOP_HP] = "flop_hp",
		[EVENT_FLOP_SP] = "flop_sp",
		[EVENT_FLOP_DP] = "flop_dp",
		[EVENT_FLOP_ANY] = "flop_any",
		[EVENT_FP_INSTRUCTIONS] = "fp_instructions",
		[EVENT_LOADS] = "loads",
		[EVENT_STORES] = "stores",
		[EVENT_L1_BYTES] = "l1_bytes",
		[EVENT_L2_BYTES] = "l2_bytes",
		[EVENT_LLC_MISS_BYTES] = "llc_miss_bytes",
		[EVENT_MEMORY_READ_BYTES] = "memory_read_bytes",
		[EVENT_MEMORY_WRITE_BYTES] = "memory_write_bytes",
		[EVENT_LS_BYTES] = "ls_bytes",
	};
	return quantity < N_EVENT_QUANTITIES ? names[quantity] : NULL;
}

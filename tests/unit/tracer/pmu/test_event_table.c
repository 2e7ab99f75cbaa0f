/* Tables of hardware events against libpfm4, against what the names of events say, and against the
 * papers. */
#include "tracer/pmu/event_table.h"

#include <criterion/criterion.h>
#include <criterion/parameterized.h>
#include <inttypes.h>
#include <math.h>
#include <perfmon/perf_event.h>
#include <perfmon/pfmlib.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static const struct code {
	const char *event;
	uint64_t code;
} codes[] = {
#define CODE(event, code) {event, code},
#include "tests/unit/tracer/pmu/event_codes.def"
#undef CODE
};

static void start(void)
{
	setenv("LIBPFM_ENCODE_INACTIVE", "1", 1);
	cr_assert_eq(pfm_initialize(), PFM_SUCCESS);
}
TestSuite(event_table, .init = start);

/* ---- Help --------------------------------------------------------------------------------- */

static bool known_pmu(const char *name, size_t length, bool *present)
{
	pfm_pmu_t pmu;
	pfm_for_all_pmus(pmu)
	{
		pfm_pmu_info_t info = {.size = sizeof(info)};
		if (pfm_get_pmu_info(pmu, &info) == PFM_SUCCESS && strlen(info.name) == length &&
		    !strncmp(info.name, name, length)) {
			*present = info.is_present;
			return true;
		}
	}
	return false;
}

/* Does libpfm4 here have the PMU that an event names? */
static bool can_encode(const char *event)
{
	const char *colons = strstr(event, "::");
	bool present;
	cr_assert_not_null(colons, "%s names no PMU", event);
	return known_pmu(event, colons - event, &present);
}

/* What perf is given for an event of a core; of an uncore PMU, what that PMU is (perf needs the PMU
 * in sysfs). */
static int encode(const char *event, bool uncore, uint64_t *code)
{
	if (uncore) {
		uint64_t *values = NULL;
		int n = 0;
		const int result = pfm_get_event_encoding(event, PFM_PLM3, NULL, NULL, &values, &n);
		if (result == PFM_SUCCESS)
			*code = values[0];
		free(values);
		return result;
	}
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t argument = {.attr = &attr, .size = sizeof(argument)};
	const int result =
		pfm_get_os_event_encoding(event, PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &argument);
	*code = attr.config;
	return result;
}

static const struct code *code_find(const char *event)
{
	for (size_t i = 0; i < COUNT(codes); i++)
		if (!strcmp(codes[i].event, event))
			return &codes[i];
	return NULL;
}

static const struct event_table *table_of(const char *pmu)
{
	const struct event_table *table = event_table_find(pmu);
	cr_assert_not_null(table, "no table %s", pmu);
	return table;
}

/* ---- Strings ------------------------------------------------------------------------------ */

ParameterizedTestParameters(event_table, strings)
{
	static size_t indices[64];
	cr_assert_leq(n_event_tables, COUNT(indices));
	for (size_t i = 0; i < n_event_tables; i++)
		indices[i] = i;
	return cr_make_param_array(size_t, indices, n_event_tables);
}

/* Every string of a table is encoded by libpfm4; where it has no such PMU (tables of another
 * architecture), the string must be in event_codes.def, and the test counts as skipped. */
ParameterizedTest(size_t *index, event_table, strings, .init = start)
{
	const struct event_table *table = &event_tables[*index];
	bool all_encoded = true;
	for (size_t i = 0; i < table->n_rows; i++) {
		const struct event_row *row = &table->rows[i];
		const struct code *expected = code_find(row->event);
		if (!can_encode(row->event)) {
			cr_assert_not_null(
				expected,
				"table %s: '%s' is not in event_codes.def, and libpfm4 here cannot "
				"check it",
				table->pmu, row->event);
			all_encoded = false;
			continue;
		}
		uint64_t code = 0;
		const int result = encode(row->event, row->flags & EVENT_UNCORE, &code);
		cr_assert_eq(result, PFM_SUCCESS, "table %s: '%s': %s", table->pmu, row->event,
			     pfm_strerror(result));
		cr_assert(!expected || expected->code == code,
			  "table %s: '%s' is %#" PRIx64 ", must be %#" PRIx64, table->pmu,
			  row->event, code, expected ? expected->code : 0);
	}
	if (!all_encoded)
		cr_skip_test("%s: libpfm4 here has no such PMU; its strings are in event_codes.def",
			     table->pmu);
}

/* A line of event_codes.def that no row has would be a check of nothing. */
Test(event_table, every_code_is_of_a_row)
{
	for (size_t c = 0; c < COUNT(codes); c++) {
		bool found = false;
		for (size_t t = 0; t < n_event_tables && !found; t++)
			for (size_t i = 0; i < event_tables[t].n_rows && !found; i++)
				found = !strcmp(event_tables[t].rows[i].event, codes[c].event);
		cr_expect(found, "%s", codes[c].event);
		cr_expect_eq(code_find(codes[c].event), &codes[c], "%s: twice", codes[c].event);
	}
}

/* ---- Shape -------------------------------------------------------------------------------- */

static const struct event_row *first_of(const struct event_table *table,
					enum event_quantity quantity)
{
	for (size_t i = 0; i < table->n_rows; i++)
		if (table->rows[i].quantity == quantity)
			return &table->rows[i];
	return NULL;
}

Test(event_table, names_are_unique)
{
	for (size_t t = 0; t < n_event_tables; t++) {
		cr_expect_eq(event_table_find(event_tables[t].pmu), &event_tables[t], "%s: twice",
			     event_tables[t].pmu);
		for (size_t other = 0; other < t; other++)
			cr_expect_str_neq(event_tables[t].name, event_tables[other].name);
	}
	for (int q = 0; q < N_EVENT_QUANTITIES; q++) {
		cr_assert_not_null(event_quantity_name(q), "quantity %d", q);
		for (int other = 0; other < q; other++)
			cr_expect_str_neq(event_quantity_name(q), event_quantity_name(other));
	}
	cr_expect_null(event_quantity_name(N_EVENT_QUANTITIES));
}

Test(event_table, every_table_has_cycles_and_instructions)
{
	for (size_t t = 0; t < n_event_tables; t++)
		for (int q = EVENT_CYCLES; q <= EVENT_INSTRUCTIONS; q++) {
			const struct event_row *row = first_of(&event_tables[t], q);
			cr_assert_not_null(row, "%s: no %s", event_tables[t].pmu,
					   event_quantity_name(q));
			cr_expect_eq(row->flags, 0, "%s", row->event);
		}
}

static void check_row(const struct event_table *table, size_t i)
{
	const struct event_row *row = &table->rows[i];
	const size_t pmu = strlen(table->pmu);
	const bool of_core =
		!strncmp(row->event, table->pmu, pmu) && !strncmp(row->event + pmu, "::", 2);
	cr_expect_eq(of_core, !(row->flags & EVENT_UNCORE), "%s: %s", table->pmu, row->event);
	cr_expect(row->meaning && row->meaning[0] && row->source && row->source[0], "%s",
		  row->event);
	cr_expect(!(row->flags & EVENT_UNRELIABLE) || row->erratum, "%s: unreliable, and no reason",
		  row->event);
	cr_expect(row->multiplier > 0 || row->quantity == EVENT_LS_BYTES ||
			  row->quantity == EVENT_LLC_MISS_BYTES,
		  "%s", row->event);
	cr_expect(!(row->flags & EVENT_UNCORE) || row->quantity == EVENT_MEMORY_READ_BYTES ||
			  row->quantity == EVENT_MEMORY_WRITE_BYTES,
		  "%s", row->event);
	for (size_t j = 0; j < i; j++) {
		const struct event_row *other = &table->rows[j];
		if (other->quantity != row->quantity)
			continue;
		cr_expect_str_neq(row->event, other->event, "%s adds an event twice", table->pmu);
		const unsigned kind = EVENT_UNCORE | EVENT_UNRELIABLE;
		cr_expect_eq(row->flags & kind, other->flags & kind, "%s and %s add up", row->event,
			     other->event);
	}
}

Test(event_table, rows_are_complete_and_do_not_mix)
{
	for (size_t t = 0; t < n_event_tables; t++) {
		const struct event_table *table = &event_tables[t];
		for (size_t i = 0; i < table->n_rows; i++)
			check_row(table, i);
		const bool precise =
			first_of(table, EVENT_FLOP_SP) || first_of(table, EVENT_FLOP_DP);
		cr_expect_not(precise && first_of(table, EVENT_FLOP_ANY),
			      "%s would count flop twice", table->pmu);
		const bool flop = precise || first_of(table, EVENT_FLOP_ANY);
		cr_expect(flop || (table->lacks && strstr(table->lacks, "no event for flop")),
			  "%s has no flop and does not say so", table->pmu);
	}
}

/* ---- Multipliers, from names -------------------------------------------------------------- */

/* Flop of one count by the event's name; 0: the name does not say.  It names a width and a
 * precision, or says that it counts flop, or counts one of its own lanes. */
static double flop_by_name(const char *pmu, const char *name)
{
	static const struct {
		const char *part;
		double bits;
	} widths[] = {
		{"512B_PACKED", 512},        {"256B_PACKED", 256},    {"128B_PACKED", 128},
		{"SIMD_FP_256:PACKED", 256}, {"SSE_FP_PACKED_", 128}, {"SSE_PACKED_", 128},
	};
	const double lane = strstr(name, "HALF") ? 16 : strstr(name, "SINGLE") ? 32 : 64;
	for (size_t i = 0; i < COUNT(widths); i++)
		if (strstr(name, widths[i].part))
			return widths[i].bits / lane;
	if (strstr(name, "_SCALE_OPS_")) /* flop for each 128 bits: vectors of 256 on V1, 128 on N2
					    and V2, 512 on A64FX */
		return !strcmp(pmu, "arm_v1") ? 2 : strcmp(pmu, "arm_a64fx") ? 1 : 4;
	const char *flop = strstr(name, "FLOP_CMPL");
	if (flop) /* PM_4FLOP_CMPL */
		return flop[-1] - '0';
	if (strstr(name, "SCALAR") || strstr(name, "_FLOPS") || strstr(name, "_FIXED_OPS_") ||
	    strstr(name, "VFP_SPEC"))
		return 1;
	return 0;
}

/* Those whose names do not say the width: two doubles each, by their sources. */
static bool two_doubles(const char *name)
{
	return !strcmp(name, "FP_COMP_OPS_EXE:SSE_FP_PACKED") || !strcmp(name, "ASE_SPEC");
}

static double line_bytes(const char *pmu)
{
	return !strcmp(pmu, "arm_a64fx") ? 256 : !strcmp(pmu, "power9") ? 128 : 64;
}

static void check_multiplier(const struct event_table *table, const struct event_row *row)
{
	const char *name = strstr(row->event, "::") + 2;
	double expected = 1;
	if (row->quantity >= EVENT_FLOP_HP && row->quantity <= EVENT_FLOP_ANY)
		expected = two_doubles(name) ? 2 : flop_by_name(table->pmu, name);
	else if (row->quantity >= EVENT_L1_BYTES && row->quantity <= EVENT_MEMORY_WRITE_BYTES)
		expected = line_bytes(table->pmu);
	else if (row->quantity == EVENT_LS_BYTES)
		return; /* see gravelle_ls_bytes */
	cr_expect_eq(fabs(row->multiplier), expected, "%s: %s is %g, its name says %g", table->pmu,
		     row->event, row->multiplier, expected);
}

Test(event_table, multipliers_are_what_names_say)
{
	for (size_t t = 0; t < n_event_tables; t++)
		for (size_t i = 0; i < event_tables[t].n_rows; i++)
			check_multiplier(&event_tables[t], &event_tables[t].rows[i]);
}

Test(event_table, precisions_are_what_names_say)
{
	static const struct {
		const char *part;
		enum event_quantity quantity;
	} names[] = {
		{"_HALF", EVENT_FLOP_HP}, {"::FP_HP_", EVENT_FLOP_HP}, {"_SINGLE", EVENT_FLOP_SP},
		{":SP_", EVENT_FLOP_SP},  {"::FP_SP_", EVENT_FLOP_SP}, {"_DOUBLE", EVENT_FLOP_DP},
		{":DP_", EVENT_FLOP_DP},  {"::FP_DP_", EVENT_FLOP_DP},
	};
	for (size_t t = 0; t < n_event_tables; t++)
		for (size_t i = 0; i < event_tables[t].n_rows; i++) {
			const struct event_row *row = &event_tables[t].rows[i];
			if (row->quantity < EVENT_FLOP_HP || row->quantity > EVENT_FLOP_ANY)
				continue;
			enum event_quantity expected = EVENT_FLOP_ANY;
			for (size_t n = 0; n < COUNT(names); n++)
				if (strstr(row->event, names[n].part))
					expected = names[n].quantity;
			cr_expect_eq(row->quantity, expected, "%s", row->event);
		}
}

/* Where a processor has fused multiply-add and counts flop right, the event counts it twice; AMD's
 * takes a pair of counters; and what counts issues or dispatches says so. */
Test(event_table, flags_are_what_names_say)
{
	for (size_t t = 0; t < n_event_tables; t++)
		for (size_t i = 0; i < event_tables[t].n_rows; i++) {
			const struct event_row *row = &event_tables[t].rows[i];
			const bool twice = strstr(row->event, "FP_ARITH_INST") ||
					   strstr(row->event, "_FLOPS") ||
					   strstr(row->event, "_OPS_SPEC");
			cr_expect_eq(twice, !!(row->flags & EVENT_FMA_TWICE), "%s", row->event);
			cr_expect_eq(!!strstr(row->event, "RETIRED_SSE_AVX_"),
				     !!(row->flags & EVENT_PAIRED), "%s", row->event);
			const bool early =
				strstr(row->event, "_EXE:") || strstr(row->event, "SIMD_FP_256") ||
				strstr(row->event, "_DISPATCH") || strstr(row->event, "_REFILL") ||
				(strstr(row->event, "_SPEC") && !strstr(row->event, "a64fx"));
			cr_expect(!early || row->flags & EVENT_SPECULATIVE ||
					  strstr(row->event, "a64fx"),
				  "%s", row->event);
		}
}

/* docs/events.md has a line for each table. */
Test(event_table, docs_name_every_table)
{
	FILE *file = fopen(TEST_SOURCE_DIR "/../../docs/events.md", "r");
	cr_assert_not_null(file);
	static char text[1 << 16];
	const size_t size = fread(text, 1, sizeof(text) - 1, file);
	fclose(file);
	cr_assert_lt(size, sizeof(text) - 1, "the file is longer than this test reads");
	for (size_t t = 0; t < n_event_tables; t++) {
		char line[128];
		snprintf(line, sizeof(line), "| `%s` | %s |", event_tables[t].pmu,
			 event_tables[t].name);
		cr_expect_not_null(strstr(text, line), "%s", line);
	}
}

/* ---- The papers --------------------------------------------------------------------------- */

struct term {
	const char *event; /* without the PMU */
	double multiplier;
};

/* A quantity's rows are these terms, all of them and no other. */
static void check_formula(const char *pmu, enum event_quantity quantity, const struct term *terms,
			  size_t n)
{
	const struct event_table *table = table_of(pmu);
	size_t n_rows = 0;
	for (size_t i = 0; i < table->n_rows; i++)
		n_rows += table->rows[i].quantity == quantity;
	cr_expect_eq(n_rows, n, "%s: %zu rows of %s, not %zu", pmu, n_rows,
		     event_quantity_name(quantity), n);
	for (size_t t = 0; t < n; t++) {
		bool found = false;
		for (size_t i = 0; i < table->n_rows; i++)
			found |= table->rows[i].quantity == quantity &&
				 table->rows[i].multiplier == terms[t].multiplier &&
				 !strcmp(strstr(table->rows[i].event, "::") + 2, terms[t].event);
		cr_expect(found, "%s: no %g x %s", pmu, terms[t].multiplier, terms[t].event);
	}
}
#define CHECK_FORMULA(pmu, quantity, ...)                                \
	check_formula(pmu, quantity, (const struct term[]){__VA_ARGS__}, \
		      COUNT(((const struct term[]){__VA_ARGS__})))

/* [O] III.B: W = scalar double + 2 SSE double + 4 AVX double; scalar + 2 SSE on Westmere; table II
 * for the names. */
Test(event_table, ofenbeck_table_2)
{
	static const char *const bridges[] = {"snb", "snb_ep", "ivb", "ivb_ep"};
	for (size_t i = 0; i < COUNT(bridges); i++) {
		CHECK_FORMULA(bridges[i], EVENT_FLOP_DP, {"FP_COMP_OPS_EXE:SSE_SCALAR_DOUBLE", 1},
			      {"FP_COMP_OPS_EXE:SSE_FP_PACKED_DOUBLE", 2},
			      {"SIMD_FP_256:PACKED_DOUBLE", 4});
		CHECK_FORMULA(bridges[i], EVENT_FLOP_SP,
			      {"FP_COMP_OPS_EXE:SSE_FP_SCALAR_SINGLE", 1},
			      {"FP_COMP_OPS_EXE:SSE_PACKED_SINGLE", 4},
			      {"SIMD_FP_256:PACKED_SINGLE", 8});
	}
	CHECK_FORMULA("wsm_dp", EVENT_FLOP_ANY, {"FP_COMP_OPS_EXE:SSE_FP_SCALAR", 1},
		      {"FP_COMP_OPS_EXE:SSE_FP_PACKED", 2});
	CHECK_FORMULA("wsm_dp", EVENT_MEMORY_READ_BYTES, {"UNC_QMC_NORMAL_READS:ANY", 64});
	CHECK_FORMULA("wsm_dp", EVENT_MEMORY_WRITE_BYTES, {"UNC_QMC_WRITES:FULL_ANY", 64});
	CHECK_FORMULA("snb", EVENT_MEMORY_READ_BYTES,
		      {"UNC_CBO_CACHE_LOOKUP:STATE_I:ANY_FILTER", 64});
	CHECK_FORMULA("snb_ep", EVENT_MEMORY_READ_BYTES, {"UNC_M_CAS_COUNT:RD", 64});
	CHECK_FORMULA("snb_ep", EVENT_MEMORY_WRITE_BYTES, {"UNC_M_CAS_COUNT:WR", 64});
}

/* [G] algorithms 12 and 15. */
Test(event_table, gravelle_flop_on_cascade_lake)
{
	CHECK_FORMULA("clx", EVENT_FLOP_DP, {"FP_ARITH_INST_RETIRED:SCALAR_DOUBLE", 1},
		      {"FP_ARITH_INST_RETIRED:128B_PACKED_DOUBLE", 2},
		      {"FP_ARITH_INST_RETIRED:256B_PACKED_DOUBLE", 4},
		      {"FP_ARITH_INST_RETIRED:512B_PACKED_DOUBLE", 8});
	CHECK_FORMULA("clx", EVENT_FLOP_SP, {"FP_ARITH_INST_RETIRED:SCALAR_SINGLE", 1},
		      {"FP_ARITH_INST_RETIRED:128B_PACKED_SINGLE", 4},
		      {"FP_ARITH_INST_RETIRED:256B_PACKED_SINGLE", 8},
		      {"FP_ARITH_INST_RETIRED:512B_PACKED_SINGLE", 16});
}

/* [G] algorithms 11 and 16, with RVL 4. */
Test(event_table, gravelle_flop_on_a64fx)
{
	CHECK_FORMULA("arm_a64fx", EVENT_FLOP_SP, {"FP_SP_FIXED_OPS_SPEC", 1},
		      {"FP_SP_SCALE_OPS_SPEC", 4});
	CHECK_FORMULA("arm_a64fx", EVENT_FLOP_DP, {"FP_DP_FIXED_OPS_SPEC", 1},
		      {"FP_DP_SCALE_OPS_SPEC", 4});
}

/* What must not be believed: no total of these without being asked for by name. */
Test(event_table, known_liars_are_marked)
{
	static const struct {
		const char *pmu;
		enum event_quantity quantity;
	} liars[] = {
		{"wsm", EVENT_FLOP_ANY},           {"snb", EVENT_FLOP_DP},
		{"snb_ep", EVENT_FLOP_SP},         {"ivb", EVENT_FLOP_DP},
		{"ivb_ep", EVENT_FLOP_SP},         {"hsw", EVENT_FP_INSTRUCTIONS},
		{"hsw_ep", EVENT_FP_INSTRUCTIONS}, {"arm_thunderx2", EVENT_FLOP_ANY},
		{"power9", EVENT_FLOP_ANY},
	};
	for (size_t i = 0; i < COUNT(liars); i++) {
		const struct event_row *row = first_of(table_of(liars[i].pmu), liars[i].quantity);
		cr_assert_not_null(row, "%s", liars[i].pmu);
		cr_expect(row->flags & EVENT_UNRELIABLE, "%s", row->event);
	}
	static const char *const haswells[] = {"hsw", "hsw_ep"};
	for (size_t i = 0; i < COUNT(haswells); i++)
		for (int q = EVENT_FLOP_HP; q <= EVENT_FLOP_ANY; q++)
			cr_expect_null(first_of(table_of(haswells[i]), q), "%s", haswells[i]);
}

/* ---- Which table -------------------------------------------------------------------------- */

Test(event_table, find)
{
	cr_expect_str_eq(table_of("skx")->name, "Intel Skylake X");
	cr_expect_null(event_table_find("skx_unc_imc0"));
	cr_expect_null(event_table_find(""));
}

Test(event_table, here_is_what_libpfm4_detects)
{
	const struct event_table *here = event_table_here();
	const struct event_table *expected = NULL;
	for (size_t i = 0; i < n_event_tables; i++) {
		bool present = false;
		if (known_pmu(event_tables[i].pmu, strlen(event_tables[i].pmu), &present) &&
		    present)
			expected = &event_tables[i];
	}
	cr_expect_eq(here, expected, "%s, not %s", here ? here->pmu : "none",
		     expected ? expected->pmu : "none");
}

enum { HERE_RIGHT, HERE_WRONG, HERE_UNKNOWN };

/* What event_table_here says in a process whose libpfm4 takes the machine for another one
 * (LIBPFM_FORCE_PMU, which it reads once).  `expected`: NULL for none. */
static int here_when_forced(const char *pmu, const struct event_table *expected)
{
	const pid_t child = fork();
	cr_assert_geq(child, 0);
	if (child == 0) {
		bool present;
		setenv("LIBPFM_FORCE_PMU", pmu, 1);
		if (pfm_initialize() != PFM_SUCCESS || !known_pmu(pmu, strlen(pmu), &present))
			_exit(HERE_UNKNOWN);
		_exit(event_table_here() == expected ? HERE_RIGHT : HERE_WRONG);
	}
	int status;
	cr_assert_eq(waitpid(child, &status, 0), child);
	cr_assert(WIFEXITED(status), "%s", pmu);
	return WEXITSTATUS(status);
}

/* In a suite of its own, without the other one's start. */
Test(event_table_forced, here_follows_the_processor)
{
	size_t n_right = 0;
	for (size_t i = 0; i < n_event_tables; i++) {
		const int result = here_when_forced(event_tables[i].pmu, &event_tables[i]);
		cr_expect_neq(result, HERE_WRONG, "%s", event_tables[i].pmu);
		n_right += result == HERE_RIGHT;
	}
	if (n_right == 0)
		cr_skip_test("libpfm4 here has no PMU that a table is of");
	cr_expect_neq(here_when_forced("core", NULL), HERE_WRONG, "Core 2 has no table");
}

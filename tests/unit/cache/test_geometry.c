#include "cache/geometry.h"
#include "cache/geometry_machine.h"
#include "cache/policy.h"
#include "machine/topology/theory.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))

static struct geometry parse(const char *text)
{
	struct geometry geometry;
	struct rf_error *error = geometry_parse(text, &geometry);
	cr_assert_null(error, "%s: %s", text, error ? error->message : "");
	return geometry;
}

static void assert_level(const struct cache_level *level, uint64_t bytes, unsigned ways,
			 unsigned sets, bool shared)
{
	cr_assert_eq(level->bytes, bytes);
	cr_assert_eq(level->ways, ways);
	cr_assert_eq(level->sets, sets);
	cr_assert_eq(level->shared, shared);
}

/* ---- Text ---- */

Test(geometry, three_levels)
{
	struct geometry geometry = parse("L1=48K:12,L2=2M:16,L3=480M:16");
	cr_assert_eq(geometry.n_levels, 3);
	cr_assert_eq(geometry.line, 64);
	cr_assert_eq(geometry.source, GEOMETRY_GIVEN);
	assert_level(&geometry.levels[0], 48 << 10, 12, 64, false);
	assert_level(&geometry.levels[1], 2 << 20, 16, 2048, false);
	assert_level(&geometry.levels[2], 480 << 20, 16, 491520, true);
	for (int i = 0; i < 3; i++) {
		cr_assert_eq(geometry.levels[i].inclusion, CACHE_NON_INCLUSIVE);
		cr_assert_eq(geometry.levels[i].replacement, CACHE_LRU);
	}
}

Test(geometry, fewer_levels_and_attributes)
{
	struct geometry one = parse("L1=4096:1");
	assert_level(&one.levels[0], 4096, 1, 64, false);
	struct geometry two = parse(" l1=32k:8:plru , L2=36M:12:Inclusive:private ");
	cr_assert_eq(two.n_levels, 2);
	assert_level(&two.levels[1], 36 << 20, 12, 49152, false);
	cr_assert_eq(two.levels[0].replacement, CACHE_TREE_PLRU);
	cr_assert_eq(two.levels[1].inclusion, CACHE_INCLUSIVE);
	struct geometry three = parse("L1=32K:8,L2=1G:16:shared,L3=2G:16:victim:lru");
	assert_level(&three.levels[1], 1 << 30, 16, 1 << 20, true);
	assert_level(&three.levels[2], UINT64_C(2) << 30, 16, 2 << 20, true);
	cr_assert_eq(three.levels[2].inclusion, CACHE_VICTIM);
}

Test(geometry, lines_and_writes)
{
	struct geometry plain = parse("L1=32K:8:write-back:write-allocate");
	cr_assert(!plain.write_through && !plain.no_write_allocate);
	struct geometry other =
		parse("line=128,L1=32K:8:write-through:no-write-allocate,L2=512K:8:inclusive");
	cr_assert_eq(other.line, 128);
	cr_assert(other.write_through && other.no_write_allocate);
	assert_level(&other.levels[0], 32 << 10, 8, 32, false);
	assert_level(&other.levels[1], 512 << 10, 8, 512, true);
	cr_assert(!parse("L1=32K:8:write-through,L2=512K:8:inclusive").no_write_allocate);
}

/* The machines that have a name, by what their sources say. */
Test(geometry, other_machines)
{
	static const struct {
		const char *name;
		unsigned line;
		int n_levels;
		uint64_t bytes[3];
		bool through;
	} machines[] = {
		{"a64fx", 256, 2, {64 << 10, 8 << 20}, false},
		{"POWER9", 128, 3, {32 << 10, 512 << 10, 110 << 20}, true},
		{"thunderx2", 64, 3, {32 << 10, 256 << 10, 32 << 20}, false},
		{"line=32,L1=8K:2", 32, 1, {8 << 10}, false},
	};
	for (size_t i = 0; i < COUNT(machines); i++) {
		struct geometry geometry;
		cr_assert_null(geometry_other(machines[i].name, &geometry), "%s", machines[i].name);
		cr_assert_eq(geometry.line, machines[i].line);
		cr_assert_eq(geometry.n_levels, machines[i].n_levels);
		cr_assert_eq(geometry.write_through, machines[i].through);
		for (int k = 0; k < geometry.n_levels; k++)
			cr_assert_eq(geometry.levels[k].bytes, machines[i].bytes[k]);
	}
	struct geometry geometry;
	struct rf_error *error = geometry_other("pentium", &geometry);
	cr_assert_eq(error->code, RF_EACCESS); /* no such file */
	rf_error_destroy(error);
}

/* Times and roofs are of a machine with lines of 64 bytes: no other caches take their place. */
Test(geometry, other_lines_are_not_this_machines)
{
	static const char *const texts[] = {"line=128,L1=32K:8",
					    "L1=32K:8:write-through,L2=512K:8:inclusive"};
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct geometry geometry;
		struct rf_error *error =
			geometry_wanted(texts[i], &(struct geometry_known){0}, &geometry);
		cr_assert_not_null(error);
		cr_assert_not_null(strstr(error->hint, "--other-caches"));
		rf_error_destroy(error);
	}
}

Test(geometry, a_policy_gives_what_is_not_said)
{
	struct geometry zen = parse("L1=32K:8,L2=512K:8,L3=32M:16,policy=zen 3");
	cr_assert_eq(zen.levels[1].inclusion, CACHE_INCLUSIVE);
	cr_assert_eq(zen.levels[2].inclusion, CACHE_VICTIM);
	cr_assert_str_eq(zen.policy, "Zen 3");
	struct geometry said = parse("policy=Haswell,L1=32K:8:lru,L2=256K:8,L3=35M:20:victim");
	cr_assert_eq(said.levels[0].replacement, CACHE_LRU);
	cr_assert_eq(said.levels[1].replacement, CACHE_TREE_PLRU);
	cr_assert_eq(said.levels[2].replacement, CACHE_LRU); /* 20 ways are no power of two */
	cr_assert_eq(said.levels[2].inclusion, CACHE_VICTIM);
	cr_assert(!said.evades_write_allocate);
	cr_assert(parse("L1=48K:12,policy=Ice Lake-SP").evades_write_allocate);
}

Test(geometry, printed_text_is_read_back)
{
	static const char *const texts[] = {
		"L1=48K:12",
		"L1=48K:12,L2=2M:16",
		"L1=48K:12,L2=2M:16,L3=480M:16",
		"L1=512:8,L2=1536K:12:private",
		"L1=32K:8:plru,L2=256K:8:inclusive:plru,L3=35M:20:victim",
		"L1=32K:8,L2=1M:16:shared,L3=4G:16:inclusive",
		"L1=64K:2,L2=64K:16:victim,L3=1023K:33",
		"line=32,L1=16K:4",
		"line=128,L1=32K:8:write-through:no-write-allocate,L2=512K:8:private:inclusive",
		"L1=32K:8:write-through,L2=512K:8:inclusive",
		"line=512,L1=64K:4:plru,L2=8M:16",
	};
	for (size_t i = 0; i < COUNT(texts); i++) {
		struct geometry geometry = parse(texts[i]);
		char *text = geometry_print(&geometry);
		cr_assert_str_eq(text, texts[i]);
		free(text);
	}
}

Test(geometry, impossible_ones_are_refused)
{
	static const struct {
		const char *text, *message;
	} wrong[] = {
		{"", "there is no L1"},
		{"# nothing", "there is no L1"},
		{"policy=Zen", "there is no L1"},
		{"L2=2M:16", "the levels must be"},
		{"L1=48K:12,L3=32M:16", "the levels must be"},
		{"L1=48K:12,L1=48K:12", "the levels must be"},
		{"L1=48K:12,L2=1M:16,L3=32M:16,L4=1G:16", "the levels must be"},
		{"L0=48K:12", "the levels must be"},
		{"L1=48K:0", "the ways must be"},
		{"L1=48K:65", "the ways must be"},
		{"L1=48K:99999999999999999999", "the ways must be"},
		{"L1=48K:", "the ways must be"},
		{"L1=48K", "after the size"},
		{"L1=48K12", "after the size"},
		{"L1=48KB:12", "after the size"},
		{"L1=:12", "the size must be"},
		{"L1=0:12", "the size must be"},
		{"L1=-48K:12", "the size must be"},
		{"L1=x:12", "the size must be"},
		{"L1=16G:16", "the size must be"},
		{"L1=99999999999999999999999K:16", "the size must be"},
		{"L1=18446744073709551616:16", "the size must be"},
		{"L1=48K:11", "no multiple"},
		{"L1=100:1", "no multiple"},
		{"L1=48K:12:plru", "power of two"},
		{"L1=48K:12x", "after the ways"},
		{"L1=48K:12:", "after the ways"},
		{"L1=48K:12:lru:plru", "after the ways"},
		{"L1=48K:12:exclusive", "after the ways"},
		{"L1=48K:12:shared", "L1 is private"},
		{"L1=48K:12:victim", "L1 is private"},
		{"L1=48K:12,L2=48K:12", "must be larger"},
		{"L1=48K:12,L2=2M:16,L3=1M:16", "must be larger"},
		{"L1=48K:12,L2=2M:16:shared,L3=4M:16:private", "behind a shared one"},
		{"L1=48K:12,", "comma"},
		{",L1=48K:12", "comma"},
		{"L1=48K:12,,L2=2M:16", "comma"},
		{"L1=48K:12 L2=2M:16", "after the ways"},
		{"L1=48K:12,policy=Pentium", "no processor"},
		{"L1=48K:12,policy=Zen,policy=Zen 2", "there is a policy"},
		{"L1=48K:12,policy=", "neither"},
		{"L1=48K:12,line=64", "before the levels"},
		{"line=16,L1=48K:12", "a line must have"},
		{"line=96,L1=48K:12", "a line must have"},
		{"line=1024,L1=48K:12", "a line must have"},
		{"line=128K,L1=48K:12", "a line must have"},
		{"line=,L1=48K:12", "neither"},
		{"line=256,L1=128:1", "no multiple"},
		{"line=128,L1=48K:16:lru,L2=100K:3", "no multiple"},
		{"L1=48K:12:write-through", "inclusive L2"},
		{"L1=48K:12:write-through,L2=2M:16", "inclusive L2"},
		{"L1=48K:12:write-through,L2=2M:16:victim", "inclusive L2"},
		{"L1=48K:12:no-write-allocate,L2=2M:16:inclusive", "needs write-through"},
		{"L1=48K:12,L2=2M:16:write-through,L3=32M:16:inclusive", "L1 alone"},
		{"L1=48K:12:write-back:write-through,L2=2M:16:inclusive", "after the ways"},
		{"48K:12", "neither"},
	};
	for (size_t i = 0; i < COUNT(wrong); i++) {
		struct geometry geometry = {.n_levels = 77};
		struct rf_error *error = geometry_parse(wrong[i].text, &geometry);
		cr_assert_not_null(error, "accepted: %s", wrong[i].text);
		cr_assert_eq(error->code, RF_EINPUT);
		cr_assert_not_null(strstr(error->message, wrong[i].message), "%s: %s",
				   wrong[i].text, error->message);
		cr_assert_not_null(error->hint);
		cr_assert_eq(geometry.n_levels, 77, "touched");
		rf_error_destroy(error);
	}
}

/* ---- Files ---- */

static struct rf_error *from_file(const char *text, size_t length, struct geometry *geometry)
{
	char path[] = "/tmp/test_geometry.XXXXXX";
	int fd = mkstemp(path);
	cr_assert_geq(fd, 0);
	cr_assert_eq(write(fd, text, length), (ssize_t)length);
	close(fd);
	struct rf_error *error = geometry_given(path, geometry);
	unlink(path);
	return error;
}

Test(geometry, a_file_has_a_level_a_line)
{
	static const char text[] =
		"# EPYC 7763\npolicy=Zen 3\n\nL1=32K:8\t# data\r\nL2=512K:8 \n  L3=32M:16\n";
	struct geometry geometry;
	cr_assert_null(from_file(text, strlen(text), &geometry));
	cr_assert_eq(geometry.n_levels, 3);
	cr_assert_eq(geometry.source, GEOMETRY_FILE);
	cr_assert_eq(geometry.levels[2].inclusion, CACHE_VICTIM);
	cr_assert_str_eq(geometry_source_name(geometry.source), "file");
}

Test(geometry, bad_files_are_named)
{
	struct geometry geometry;
	struct rf_error *error = geometry_given("/nowhere/at/all", &geometry);
	cr_assert_eq(error->code, RF_EACCESS);
	cr_assert_not_null(strstr(error->message, "/nowhere/at/all"));
	rf_error_destroy(error);
	error = from_file("L1=48K:13\n", 10, &geometry);
	cr_assert_eq(error->code, RF_EINPUT);
	cr_assert_not_null(strstr(error->message, "/tmp/test_geometry."));
	rf_error_destroy(error);
	error = from_file("L1=48K:12\0L2", 12, &geometry);
	cr_assert_eq(error->code, RF_EFORMAT);
	rf_error_destroy(error);
	error = geometry_given("/tmp", &geometry);
	cr_assert_eq(error->code, RF_EACCESS);
	rf_error_destroy(error);
}

Test(geometry, text_needs_no_file)
{
	struct geometry geometry;
	cr_assert_null(geometry_given("L1=48K:12", &geometry));
	cr_assert_eq(geometry.source, GEOMETRY_GIVEN);
}

/* ---- Classes ---- */

Test(geometry, classes_that_share_sets_go_together)
{
	struct geometry usual = parse("L1=48K:12,L2=2M:16,L3=480M:16"),
			few = parse("L1=1K:1,L2=2M:16");
	struct geometry odd = parse("L1=48K:12,L2=768K:16:private,L3=15M:16"),
			one = parse("L1=1K:16");
	cr_assert_eq(geometry_class_groups(&usual), 64);
	cr_assert_eq(geometry_class_groups(&few), 16);
	cr_assert_eq(geometry_class_groups(&odd), 64);
	cr_assert_eq(geometry_class_groups(&one), 1);
	cr_assert_eq(geometry_classes(&usual, 1 << 5, false), 1 << 5);
	cr_assert_eq(geometry_classes(&usual, 1 << 5, true), 3 << 4);
	cr_assert_eq(geometry_classes(&usual, UINT64_C(1) << 62, true), UINT64_C(3) << 62);
	cr_assert_eq(geometry_classes(&few, 1 << 5, false), UINT64_C(0x0020002000200020));
	cr_assert_eq(geometry_classes(&few, 1 << 5, true), UINT64_C(0x0030003000300030));
	cr_assert_eq(geometry_classes(&one, 1 << 5, false), UINT64_MAX);
}

/* ---- The table ---- */

Test(policies, known_caches_are_in_the_table)
{
	static const struct {
		const char *name;
		enum cache_inclusion l2, l3;
	} known[] = {
		{"Skylake-SP", CACHE_NON_INCLUSIVE, CACHE_VICTIM}, /* [H] table 2 */
		{"Zen", CACHE_INCLUSIVE, CACHE_VICTIM},            /* [H] table 2 */
		{"ThunderX2", CACHE_NON_INCLUSIVE, CACHE_VICTIM},  /* [H] table 2 */
		{"POWER9", CACHE_NON_INCLUSIVE, CACHE_VICTIM},     /* [H] table 2 */
		{"Haswell", CACHE_NON_INCLUSIVE, CACHE_INCLUSIVE},
		{"Skylake", CACHE_NON_INCLUSIVE, CACHE_INCLUSIVE},
		{"Sapphire Rapids", CACHE_NON_INCLUSIVE, CACHE_VICTIM},
		{"Zen 4", CACHE_INCLUSIVE, CACHE_VICTIM},
	};
	for (size_t i = 0; i < COUNT(known); i++) {
		const struct cache_policy *row = cache_policy_find(known[i].name);
		cr_assert_not_null(row, "%s", known[i].name);
		cr_assert_eq(row->l2, known[i].l2, "%s", known[i].name);
		cr_assert_eq(row->l3, known[i].l3, "%s", known[i].name);
	}
}

Test(policies, every_microarchitecture_has_one_row)
{
	for (unsigned i = 0; i < n_microarchitectures; i++)
		cr_assert_not_null(cache_policy_find(microarchitectures[i].name), "%s",
				   microarchitectures[i].name);
	for (unsigned i = 0; i < n_cache_policies; i++)
		cr_assert_eq(cache_policy_find(cache_policies[i].name), &cache_policies[i],
			     "twice: %s", cache_policies[i].name);
	cr_assert_str_eq(cache_policies[0].name, "assumed");
}

Test(policies, every_row_can_be_named)
{
	for (unsigned i = 0; i < n_cache_policies; i++) {
		char text[200];
		snprintf(text, sizeof(text), "L1=48K:12,policy=%s,L2=2M:16",
			 cache_policies[i].name);
		struct geometry geometry = parse(text);
		cr_assert_str_eq(geometry.policy, cache_policies[i].name);
	}
}

/* A row of the table is one that any geometry of its processor may have. */
Test(policies, rows_make_possible_geometries)
{
	for (unsigned i = 0; i < n_cache_policies; i++) {
		struct geometry geometry = parse("L1=32K:8,L2=512K:8,L3=30M:12"), again;
		cr_assert_neq(cache_policies[i].l2, CACHE_VICTIM);
		cache_policy_apply(&cache_policies[i], &geometry);
		char *text = geometry_print(&geometry);
		struct rf_error *error = geometry_parse(text, &again);
		cr_assert_null(error, "%s", text);
		cr_assert_arr_eq(geometry.levels, again.levels, sizeof(geometry.levels), "%s",
				 text);
		cr_assert_eq(again.levels[2].replacement, CACHE_LRU);
		free(text);
	}
}

/* ---- This machine ---- */

static const struct machine_cache found[] = {
	{.level = 1, .size_bytes = 48 << 10, .line_bytes = 64, .ways = 12, .shared_by = 1},
	{.level = 2, .size_bytes = 2 << 20, .line_bytes = 64, .ways = 16, .shared_by = 1},
	{.level = 3, .size_bytes = 105 << 20, .line_bytes = 64, .ways = 15, .shared_by = 2},
};
static const struct cache_cpuid cpuid_victim[CACHE_LEVELS] = {
	{48 << 10, 12, false},
	{2 << 20, 16, false},
	{105 << 20, 15, false},
};
static const struct cache_cpuid cpuid_nothing[CACHE_LEVELS];

static void assert_found(const struct machine_cache *caches, size_t n,
			 const struct cache_cpuid *cpuid, const char *name, const char *text,
			 const char *policy, enum geometry_source source)
{
	struct geometry geometry;
	geometry_from_found(caches, n, cpuid, name, &geometry);
	char *printed = geometry_print(&geometry);
	cr_assert_str_eq(printed, text);
	cr_assert_str_eq(geometry.policy, policy);
	cr_assert_eq(geometry.source, source);
	free(printed);
}

Test(geometry_machine, system_and_table)
{
	assert_found(found, 3, cpuid_victim, "Sapphire Rapids",
		     "L1=48K:12,L2=2M:16,L3=105M:15:victim", "Sapphire Rapids", GEOMETRY_MACHINE);
	assert_found(found, 3, cpuid_nothing, "Rocket Lake",
		     "L1=48K:12,L2=2M:16,L3=105M:15:inclusive", "Rocket Lake", GEOMETRY_MACHINE);
	assert_found(found, 2, cpuid_victim, "Zen 3", "L1=48K:12,L2=2M:16",
		     "Zen 3, but L2 not inclusive (CPUID)", GEOMETRY_MACHINE);
}

Test(geometry_machine, cpuid_contradicts_the_table)
{
	assert_found(found, 3, cpuid_victim, "Rocket Lake", "L1=48K:12,L2=2M:16,L3=105M:15:victim",
		     "Rocket Lake, but L3 not inclusive: taken as a victim cache (CPUID)",
		     GEOMETRY_MACHINE);
	struct cache_cpuid inclusive[CACHE_LEVELS];
	memcpy(inclusive, cpuid_victim, sizeof(inclusive));
	inclusive[2].inclusive = true;
	assert_found(found, 3, inclusive, "Skylake-SP", "L1=48K:12,L2=2M:16,L3=105M:15:inclusive",
		     "Skylake-SP, but L3 inclusive (CPUID)", GEOMETRY_MACHINE);
}

Test(geometry_machine, unknown_processors_are_assumed)
{
	assert_found(found, 3, cpuid_victim, NULL, "L1=48K:12,L2=2M:16,L3=105M:15:victim",
		     "assumed", GEOMETRY_MACHINE);
	assert_found(found, 3, cpuid_victim, "Itanium", "L1=48K:12,L2=2M:16,L3=105M:15:victim",
		     "assumed", GEOMETRY_MACHINE);
}

Test(geometry_machine, cpuid_when_the_system_is_silent)
{
	assert_found(NULL, 0, cpuid_victim, "Sapphire Rapids",
		     "L1=48K:12,L2=2M:16,L3=105M:15:victim", "Sapphire Rapids", GEOMETRY_MACHINE);
	struct machine_cache no_ways[3];
	memcpy(no_ways, found, sizeof(no_ways));
	no_ways[0].ways = no_ways[1].ways = no_ways[2].ways = 0;
	assert_found(no_ways, 3, cpuid_victim, "Sapphire Rapids",
		     "L1=48K:12,L2=2M:16,L3=105M:15:victim", "Sapphire Rapids", GEOMETRY_MACHINE);
}

Test(geometry_machine, assumed_when_nothing_is_told)
{
	assert_found(NULL, 0, cpuid_nothing, NULL, "L1=32K:8,L2=1M:16,L3=32M:16:victim", "assumed",
		     GEOMETRY_ASSUMED);
	struct machine_cache absurd = {.level = 1, .size_bytes = 1000, .line_bytes = 64, .ways = 3};
	assert_found(&absurd, 1, cpuid_nothing, "Haswell",
		     "L1=32K:8:plru,L2=1M:16:plru,L3=32M:16:inclusive", "Haswell",
		     GEOMETRY_ASSUMED);
	struct machine_cache backwards[2] = {found[0], found[1]};
	backwards[1].size_bytes = 16 << 10;
	assert_found(backwards, 2, cpuid_nothing, NULL, "L1=32K:8,L2=1M:16,L3=32M:16:victim",
		     "assumed", GEOMETRY_ASSUMED);
}

Test(geometry_machine, fully_associative_and_odd_ways)
{
	struct machine_cache odd[2] = {found[0], found[1]};
	odd[0].ways = 13; /* the most ways that divide it */
	odd[1].ways = -1;
	assert_found(odd, 2, cpuid_nothing, "Haswell", "L1=48K:12,L2=2M:64:plru", "Haswell",
		     GEOMETRY_MACHINE);
}

/* The last level alone gets fewer sets, and only where that is possible. */
Test(geometry_machine, the_last_level_may_be_smaller_than_reported)
{
	struct geometry geometry;
	geometry_from_found(found, 3, cpuid_victim, "Sapphire Rapids", &geometry);
	const struct geometry nominal = geometry;
	geometry_limit_last(UINT64_C(105) << 18, &geometry);
	cr_assert_eq(geometry.source, GEOMETRY_EFFECTIVE);
	cr_assert_str_eq(geometry_source_name(geometry.source), "effective");
	cr_assert_eq(geometry.levels[2].bytes, UINT64_C(105) << 18);
	cr_assert(geometry.levels[2].ways == 15 &&
		  geometry.levels[2].sets == nominal.levels[2].sets / 4);
	cr_assert_eq(geometry.levels[1].bytes, nominal.levels[1].bytes);
	static const uint64_t none[] = {0, 105 << 20, UINT64_C(1) << 40, 100 << 20, 3};
	for (size_t i = 0; i < sizeof(none) / sizeof(*none); i++) {
		geometry = nominal;
		geometry_limit_last(none[i], &geometry);
		cr_assert_eq(geometry.source, GEOMETRY_MACHINE, "%zu", i);
		cr_assert_eq(geometry.levels[2].bytes, nominal.levels[2].bytes);
	}
	struct rf_error *error = geometry_parse("L1=32K:8,L2=1M:16", &geometry);
	cr_assert_null(error);
	geometry_limit_last(512 << 10, &geometry);
	cr_assert_eq(geometry.levels[1].bytes, 1 << 20, "what the user gave stays");
}

Test(geometry_machine, this_machine_has_a_geometry)
{
	struct geometry geometry, again;
	geometry_of_machine(&geometry);
	cr_assert_geq(geometry.n_levels, 1);
	cr_assert_gt(strlen(geometry.policy), 0);
	char *text = geometry_print(&geometry);
	cr_assert_null(geometry_parse(text, &again));
	cr_assert_arr_eq(geometry.levels, again.levels, sizeof(geometry.levels));
	free(text);
}

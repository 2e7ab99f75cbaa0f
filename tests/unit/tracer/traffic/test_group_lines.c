/* Records of several operands, line by line, move what they move operand by operand. */
#include "tests/unit/splitmix.h"
#include "tracer/traffic/group_lines.h"
#include "tracer/traffic/trace_expand.h"

#include <criterion/criterion.h>
#include <string.h>

#define GROUPS 40
#define NUMBERS 30 /* instructions */
#define STEPS 40000

typedef uint64_t counts[N_TRAFFIC][NUMBERS];

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	(void)line;
	(*(counts *)context)[event][who]++;
}

static void access_bytes(void *context, const struct trace_operand *operand, uint64_t address,
			 uint64_t bytes)
{
	while (bytes) {
		const unsigned first = address % CACHE_LINE;
		const unsigned n =
			bytes < CACHE_LINE - first ? (unsigned)bytes : CACHE_LINE - first;
		if (operand->access & OPERAND_LOAD)
			access_filter_access(context, address / CACHE_LINE, CACHE_LOAD, first, n,
					     operand->number);
		if (operand->access & OPERAND_STORE)
			access_filter_access(context, address / CACHE_LINE, CACHE_STORE, first, n,
					     operand->number);
		address += n;
		bytes -= n;
	}
}

static void access_lines(struct access_filter *filter, const struct group_lines *lines,
			 uint64_t address)
{
	for (uint64_t rest = lines->lines; rest; rest &= rest - 1) {
		const unsigned k = (unsigned)__builtin_ctzll(rest);
		const uint64_t line =
			address / CACHE_LINE + k - (k > FARTHEST_LINE ? CACHE_CLASSES : 0);
		const struct line_part *part = &lines->parts[lines->part[k]];
		const struct filter_rest more = {part->loaded,    part->stored, part->load_who,
						 part->store_who, part->loads,  part->stores};
		access_filter_access(filter, line, (enum cache_access)part->kind, part->first,
				     part->n, part->who);
		if (more.loads || more.stores)
			access_filter_rest(filter, line, &more);
	}
}

/* Over few lines or many; runs of neighbouring words, copies, words here and there. */
static uint32_t add_group(struct trace_config *config, uint64_t *state)
{
	struct trace_operand operands[20];
	const uint64_t random = random_number(state);
	const size_t n = 1 + random % 20;
	const int32_t reach = 1 << (4 + (random >> 8) % 7);
	memset(operands, 0, sizeof(operands));
	for (size_t i = 0; i < n; i++) {
		const uint64_t choice = random_number(state);
		operands[i].at =
			(int32_t)(choice % (uint64_t)reach) - (choice >> 20 & 1 ? reach / 8 : 0);
		operands[i].bytes = (uint16_t)(1u << (choice >> 24) % 7);
		operands[i].access = (uint8_t)(1 + (choice >> 32) % 3);
		operands[i].number = (uint32_t)(choice >> 40) % NUMBERS;
	}
	return trace_config_add(config, OPERAND_PLAIN, operands, n);
}

static unsigned compare(const char *text, uint64_t seed)
{
	static counts plain, by_line;
	static struct access_filter filters[2];
	static struct group_lines_cache cache;
	struct trace_config *config = trace_config_create(~0ull);
	struct trace_expansion expansion = {0};
	struct geometry geometry;
	uint64_t state = seed, base = 0x100000;
	unsigned n_by_line = 0;
	cr_assert_null(geometry_parse(text, &geometry), "%s", text);
	cr_assert(access_filter_suits(&geometry, false), "%s", text);
	memset(plain, 0, sizeof(plain));
	memset(by_line, 0, sizeof(by_line));
	memset(&cache, 0, sizeof(cache));
	struct hierarchy *one = hierarchy_create(&geometry, 1, ~0ull, false, note, &plain);
	struct hierarchy *other = hierarchy_create(&geometry, 1, ~0ull, false, note, &by_line);
	access_filter_init(&filters[0], one, 0, true);
	access_filter_init(&filters[1], other, 0, true);
	for (int i = 0; i < GROUPS; i++)
		cr_assert_eq(add_group(config, &state), (uint32_t)i);
	for (int i = 0; i < STEPS; i++) {
		const uint64_t random = random_number(&state);
		base = random % 50 ? base + 8 * (random >> 8 & 15)
				   : 0x100000 + (random >> 8) % (1 << 19);
		const uint32_t number = (uint32_t)(random >> 32) % GROUPS;
		const struct trace_record record = {.address = base,
						    .word = number | 1u << TRACE_SPAN_SHIFT};
		const struct trace_group *group = trace_config_group(config, number);
		const struct group_lines *lines =
			group_lines_get(&cache, config, number, group, base);
		cr_assert(trace_expand(config, &expansion, &record, access_bytes, &filters[0]));
		if (lines->n)
			access_lines(&filters[1], lines, base);
		else
			cr_assert(trace_expand(config, &expansion, &record, access_bytes,
					       &filters[1]));
		n_by_line += lines->n > 0;
	}
	for (int i = 0; i < 2; i++)
		access_filter_end(&filters[i]);
	hierarchy_finish(one);
	hierarchy_finish(other);
	for (int event = 0; event < N_TRAFFIC; event++)
		for (int who = 0; who < NUMBERS; who++)
			cr_assert_eq(plain[event][who], by_line[event][who],
				     "%s, seed %d: event %d, who %d: %d, not %d", text, (int)seed,
				     event, who, (int)by_line[event][who], (int)plain[event][who]);
	hierarchy_destroy(one);
	hierarchy_destroy(other);
	trace_config_destroy(config);
	return n_by_line;
}

Test(group_lines, move_what_operands_move)
{
	static const char *const geometries[] = {"L1=16K:4,L2=32K:8,L3=128K:16",
						 "L1=32K:8,L2=64K:8,L3=256K:16:victim",
						 "L1=32K:8,L2=64K:8:inclusive,L3=256K:16:victim",
						 "L1=48K:12,L2=64K:8"};
	for (size_t i = 0; i < sizeof(geometries) / sizeof(geometries[0]); i++)
		for (uint64_t seed = 1; seed <= 6; seed++)
			cr_expect_gt(compare(geometries[i], seed), STEPS / 2);
}

/* Two loads, a store and a load of one line, one of them over its end. */
Test(group_lines, parts)
{
	static const struct trace_operand operands[] = {
		{.number = 1, .at = 0, .bytes = 8, .access = OPERAND_LOAD},
		{.number = 2, .at = 4, .bytes = 8, .access = OPERAND_STORE},
		{.number = 3, .at = 8, .bytes = 8, .access = OPERAND_LOAD},
		{.number = 4, .at = 20, .bytes = 8, .access = OPERAND_LOAD | OPERAND_STORE},
		{.number = 5, .at = -64, .bytes = 1, .access = OPERAND_LOAD},
	};
	struct trace_config *config = trace_config_create(~0ull);
	struct group_lines lines;
	const uint32_t number = trace_config_add(config, OPERAND_PLAIN, operands, 5);
	group_lines_make(&lines, config, number, trace_config_group(config, number), 40);
	cr_assert_eq(lines.n, 3);
	cr_assert_eq(lines.lines, 1 | 1ull << 1 | 1ull << 63);
	const struct line_part *here = &lines.parts[lines.part[0]],
			       *next = &lines.parts[lines.part[1]];
	cr_expect_eq(here->who, 1);
	cr_expect_eq(here->kind, CACHE_LOAD);
	cr_expect_eq(here->first, 40);
	cr_expect_eq(here->n, 8);
	cr_expect_eq(here->load_who, 4);
	cr_expect_eq(here->store_who, 4);
	cr_expect_eq(here->stored, 0xffull << 44 | 0xfull << 60);
	cr_expect_eq(here->loaded, 0xfull << 52 | 0xfull << 60);
	cr_expect_eq(here->touched, 0xffffull << 40 | 0xfull << 60);
	cr_expect_eq(next->who, 4);
	cr_expect_eq(next->n, 4);
	cr_expect_eq(next->kind, CACHE_LOAD);
	cr_expect(next->stores && !next->loads);
	cr_expect_eq(lines.parts[lines.part[63]].who, 5);
	cr_expect_eq(lines.parts[lines.part[63]].first, 40);
	trace_config_destroy(config);
}

/* Over more lines than there are parts for, or past the caches. */
Test(group_lines, without_parts)
{
	struct trace_operand operands[2 * PARTS];
	struct trace_config *config = trace_config_create(~0ull);
	struct group_lines lines;
	memset(operands, 0, sizeof(operands));
	for (int i = 0; i < 2 * PARTS; i++)
		operands[i] = (struct trace_operand){.at = 64 * (i / 2),
						     .bytes = 4,
						     .access = OPERAND_LOAD};
	const uint32_t fits = trace_config_add(config, OPERAND_PLAIN, operands, 2 * PARTS);
	operands[1].at = 64 * PARTS;
	const uint32_t too_many = trace_config_add(config, OPERAND_PLAIN, operands, 2 * PARTS);
	operands[1].at = 0;
	operands[1].access = OPERAND_STORE | OPERAND_NON_TEMPORAL;
	const uint32_t past = trace_config_add(config, OPERAND_PLAIN, operands, 2 * PARTS);
	group_lines_make(&lines, config, fits, trace_config_group(config, fits), 0);
	cr_expect_eq(lines.n, PARTS);
	group_lines_make(&lines, config, too_many, trace_config_group(config, too_many), 0);
	cr_expect_eq(lines.n, 0);
	group_lines_make(&lines, config, past, trace_config_group(config, past), 0);
	cr_expect_eq(lines.n, 0);
	trace_config_destroy(config);
}

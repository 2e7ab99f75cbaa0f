/* Finds the operands of a block that one check serves, and the best place for each check. */
#include "tracer/translate/trace_plan.h"

#include "base/array.h"
#include "base/assert.h"
#include "tracer/gate/protocol.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define MAX_SPAN 512 /* bytes of a group */
#define MAX_GAP 64   /* between two operands of a group: more is cheaper to check apart */
#define MAX_MEMBERS 64
#define MAX_OPEN 24 /* groups that may still grow */
#define RSP 4

/* Registers hold base values plus constants.  A base value has a number of its own. */
struct value {
	uint32_t base;
	uint32_t since; /* index of the first instruction that sees it */
	int64_t plus;
};

/* Where in the block: the values before each instruction. */
struct walk {
	struct value (*values)[16];
	const struct planned *items;
	size_t n;
	uint32_t next_base;
};

struct group {
	uint32_t base, index; /* numbers of base values; 0: none */
	uint8_t scale;
	bool fs, rip_relative;
	struct operand first; /* with its registers */
	uint32_t first_at;    /* instruction */
	int64_t plus;         /* of the first operand: constants in its registers, scaled */
	int64_t low, high;    /* displacements from the base values: bytes [low, high) */
	int64_t stored_low, stored_high; /* between which it stores; if it stores */
	uint8_t align;      /* the operand at `aligned_at` is aligned to so many bytes */
	int64_t aligned_at; /* a displacement from the base values */
	bool changes, stores;
	size_t n;
	struct trace_operand members[MAX_MEMBERS]; /* the first n */
};

struct builder {
	struct trace_plan *plan;
	struct trace_config *config;
	const struct code_source *source;
	struct walk walk;
	size_t at;          /* the instruction being looked at */
	uint32_t number;    /* of it, in the register of groups */
	uint32_t block;     /* of all of them */
	uint8_t n_operands; /* of the instruction at hand */
	size_t n_open;
	struct group open[MAX_OPEN]; /* of 60 KB, which are not cleared for each block */
};

/* ---- registers ---- */

static void walk_values(struct walk *walk, struct operand_cache *cache, const struct planned *items,
			size_t n, struct operands *operands)
{
	walk->items = items;
	walk->n = n;
	for (uint32_t r = 0; r < 16; r++)
		walk->values[0][r] = (struct value){++walk->next_base, 0, 0};
	for (size_t i = 0; i < n; i++) {
		struct value *now = walk->values[i + 1];
		operand_cache_find(cache, &items[i].insn, &operands[i]);
		memcpy(now, walk->values[i], sizeof(walk->values[i]));
		for (unsigned r = 0; r < 16; r++)
			if (operands[i].written >> r & 1)
				now[r] = (struct value){++walk->next_base, (uint32_t)i + 1, 0};
		if (operands[i].moved == NO_BASE)
			continue;
		const struct value *from = &walk->values[i][operands[i].from];
		struct value *to = &now[operands[i].moved];
		if (operands[i].from != operands[i].moved)
			to->since = (uint32_t)i + 1;
		to->base = from->base;
		to->plus = from->plus + operands[i].by;
	}
}

/* What a register, or NO_BASE, holds in front of instruction i. */
static struct value value_of(const struct walk *walk, uint8_t reg, size_t i)
{
	return reg == NO_BASE ? (struct value){0} : walk->values[i][reg];
}

/* The constants in an operand's registers there. */
static int64_t plus_at(const struct walk *walk, const struct operand *operand, size_t i)
{
	return value_of(walk, operand->base, i).plus +
	       operand->scale * value_of(walk, operand->index, i).plus;
}

/* Bit n: general register n forms the address. */
static uint16_t registers_of(const struct operand *operand)
{
	return (uint16_t)((operand->base == NO_BASE ? 0 : 1u << operand->base) |
			  (operand->index == NO_BASE ? 0 : 1u << operand->index));
}

/* ---- checks ---- */

/* How many lines the bytes of a group may touch. */
static unsigned lines_of(const struct group *group)
{
	const int64_t align = group->align ? group->align : 1, span = group->high - group->low;
	const int64_t phase = (group->low - group->aligned_at) & (align - 1);
	return (unsigned)((CACHE_LINE - align + phase + span - 1) / CACHE_LINE) + 1;
}

static bool fits(int64_t displacement)
{
	return displacement >= INT32_MIN && displacement <= INT32_MAX;
}

/* As late as possible where status flags are dead, between the place where its registers get their
 * values and the first access; right before that with the flags kept when there is none. */
static void place_check(const struct builder *builder, const struct group *group,
			struct trace_check *check)
{
	const struct walk *walk = &builder->walk;
	const uint32_t first = group->first_at;
	const uint32_t from_base = value_of(walk, group->first.base, first).since;
	const uint32_t from_index = value_of(walk, group->first.index, first).since;
	const uint32_t from = from_base > from_index ? from_base : from_index;
	for (uint32_t i = first + 1; i-- > from;) {
		const int64_t displacement = group->low - plus_at(walk, &group->first, i);
		if (walk->items[i].dead != DEAD_ALL || !fits(displacement))
			continue;
		check->before = (uint16_t)i;
		check->flags_dead = true;
		check->operand.displacement = displacement;
		return;
	}
	check->before = (uint16_t)first;
	check->operand.displacement = group->low - group->plus;
}

static bool is_constant(const struct operand *operand)
{
	return operand->base == NO_BASE && operand->index == NO_BASE && !operand->fs;
}

/* How many lines the bytes [low, high) touch. */
static unsigned lines_at(int64_t low, int64_t high)
{
	return (unsigned)((uint64_t)(high - 1) / CACHE_LINE - (uint64_t)low / CACHE_LINE) + 1;
}

static uint32_t word_of(const struct group *group, uint32_t number)
{
	const uint32_t span = (uint32_t)((group->high - group->low + 7) / 8);
	return number | span << TRACE_SPAN_SHIFT | (group->changes ? TRACE_CHANGES : 0) |
	       (group->stores ? TRACE_STORES : 0);
}

static struct rf_error *close_group(struct builder *builder, struct group *group)
{
	struct trace_plan *plan = builder->plan;
	const bool constant = is_constant(&group->first);
	struct trace_check check = {.operand = group->first,
				    .is_constant = constant,
				    .lines = (uint8_t)(constant ? lines_at(group->low, group->high)
								: lines_of(group)),
				    .last = (uint16_t)(group->high - group->low - 1)};
	for (size_t i = 0; i < group->n; i++)
		group->members[i].at = (int32_t)(group->members[i].at - group->low);
	const uint32_t number =
		trace_config_add(builder->config, group->first.form, group->members, group->n);
	if (number == UINT32_MAX) {
		plan->n_untraced += (uint32_t)group->n;
		return NULL;
	}
	check.word = word_of(group, number);
	if (group->stores)
		check.stored = TRACE_STORED((uint32_t)(group->stored_low - group->low),
					    (uint32_t)(group->stored_high - group->low));
	place_check(builder, group, &check);
	check.always = constant && builder->config->classes == UINT64_MAX;
	check.registers = registers_of(&group->first);
	return rf_array_add(plan->checks, plan->n_checks, plan->cap_checks, check);
}

/* ---- groups ---- */

static struct trace_operand member_of(struct builder *builder, const struct operand *operand)
{
	struct trace_operand member = {
		.number = builder->number,
		.block = builder->block,
		.bytes = operand->bytes,
		.access = operand->access,
		.lanes = operand->lanes,
		.scale = operand->scale,
		.index_bits = operand->index_bits,
		.base = operand->base,
		.n_operands = builder->n_operands,
	};
	builder->source->locate(builder->source->context, builder->walk.items[builder->at].insn.pc,
				&member.module, &member.offset);
	return member;
}

static bool may_join(const struct group *group, const struct operand *operand, int64_t low,
		     int64_t high)
{
	const int64_t new_low = low < group->low ? low : group->low;
	const int64_t new_high = high > group->high ? high : group->high;
	return group->first.form == OPERAND_PLAIN && operand->form == OPERAND_PLAIN &&
	       group->n < MAX_MEMBERS && (uint64_t)new_high - (uint64_t)new_low <= MAX_SPAN &&
	       low <= group->high + MAX_GAP && high + MAX_GAP >= group->low;
}

/* Finds the open group that an operand joins, or opens one. */
static struct rf_error *group_for(struct builder *builder, const struct operand *operand,
				  int64_t low, int64_t high, struct group **found)
{
	const size_t i = builder->at;
	const uint32_t base = value_of(&builder->walk, operand->base, i).base;
	const uint32_t index = value_of(&builder->walk, operand->index, i).base;
	for (size_t g = 0; g < builder->n_open; g++) {
		struct group *group = *found = &builder->open[g];
		if (group->base == base && group->index == index && group->fs == operand->fs &&
		    group->rip_relative == operand->rip_relative &&
		    (!index || group->scale == operand->scale) &&
		    may_join(group, operand, low, high))
			return NULL;
	}
	struct rf_error *error = NULL;
	if (builder->n_open == MAX_OPEN) {
		error = close_group(builder, &builder->open[0]);
		builder->open[0] = builder->open[--builder->n_open];
	}
	struct group *new = *found = &builder->open[builder->n_open++];
	memset(new, 0, offsetof(struct group, members));
	new->base = base;
	new->index = index;
	new->scale = operand->scale;
	new->fs = operand->fs;
	new->rip_relative = operand->rip_relative;
	new->first = *operand;
	new->first_at = (uint32_t)i;
	new->plus = plus_at(&builder->walk, operand, i);
	new->low = low;
	new->high = high;
	return error;
}

/* All bytes that an operand may touch from its address on. */
static int64_t extent(const struct operand *operand)
{
	return operand->form == OPERAND_MASKED || operand->form == OPERAND_PACKED
		       ? (int64_t)operand->bytes * operand->lanes
		       : operand->bytes;
}

static void add_store(struct group *group, int64_t low, int64_t high)
{
	group->stored_low = group->stores && group->stored_low < low ? group->stored_low : low;
	group->stored_high = group->stores && group->stored_high > high ? group->stored_high : high;
	group->stores = true;
}

/* Plain operands, and those whose lanes are governed by a mask. */
static struct rf_error *add_to_group(struct builder *builder, const struct operand *operand)
{
	const int64_t low = operand->displacement + plus_at(&builder->walk, operand, builder->at);
	const int64_t high = low + extent(operand);
	struct group *group;
	struct rf_error *error = group_for(builder, operand, low, high, &group);
	if (error)
		return error;
	struct trace_operand member = member_of(builder, operand);
	/* from the base values; they may be far, but their differences are not */
	member.at = (int32_t)low;
	group->low = low < group->low ? low : group->low;
	group->high = high > group->high ? high : group->high;
	group->changes |=
		operand->form != OPERAND_PLAIN || operand->access & ~(OPERAND_LOAD | OPERAND_STORE);
	if (operand->access & OPERAND_STORE)
		add_store(group, low, high);
	if (operand->aligned && operand->bytes > group->align) {
		group->align = (uint8_t)operand->bytes;
		group->aligned_at = low;
	}
	assert(group->n < MAX_MEMBERS);
	group->members[group->n++] = member;
	return NULL;
}

/* A record has room for a mask of 32 lanes. */
static bool has_halves(const struct operand *operand)
{
	return operand->form == OPERAND_MASKED && operand->lanes > 32;
}

static struct rf_error *add_halves(struct builder *builder, const struct operand *operand)
{
	struct operand half = *operand;
	struct rf_error *error = NULL;
	if (has_halves(operand)) {
		half.lanes = 32;
		error = add_to_group(builder, &half);
		half.lanes = (uint8_t)(operand->lanes - 32);
		half.mask_shift = 32;
		half.displacement += 32 * operand->bytes;
	}
	return error ? error : add_to_group(builder, &half);
}

/* Whether the lanes of a gather or scatter are tested before it is recorded. */
static bool is_tested_by_lanes(const struct builder *builder, const struct operand *operand)
{
	return operand->form == OPERAND_GATHER && !operand->fs &&
	       operand->lanes <= MAX_TESTED_LANES &&
	       builder->walk.items[builder->at].dead == DEAD_ALL;
}

/* Records of several words, which are made whatever the address is unless lanes are tested. */
static struct rf_error *add_always(struct builder *builder, const struct operand *operand)
{
	struct trace_plan *plan = builder->plan;
	struct trace_operand member = member_of(builder, operand);
	const uint32_t group = trace_config_add(builder->config, operand->form, &member, 1);
	if (group == UINT32_MAX) {
		plan->n_untraced++;
		return NULL;
	}
	struct trace_check check = {
		.before = (uint16_t)builder->at,
		.behind = operand->form == OPERAND_STRING,
		.flags_dead = builder->walk.items[builder->at].dead == DEAD_ALL,
		.always = !is_tested_by_lanes(builder, operand),
		.registers = registers_of(operand),
		.operand = *operand,
		.word = group | 1u << TRACE_SPAN_SHIFT | TRACE_CHANGES,
	};
	return rf_array_add(plan->checks, plan->n_checks, plan->cap_checks, check);
}

static bool is_traced(const struct builder *builder, const struct operand *operand)
{
	if (operand->form == OPERAND_UNTRACED || (operand->fs && !builder->config->has_fs_base))
		return false;
	return operand->form != OPERAND_PACKED || operand->lanes <= 32;
}

/* How many operands of an instruction are recorded when it is executed with its check. */
static uint8_t n_recorded(const struct builder *builder, const struct operands *operands)
{
	unsigned n = 0;
	for (unsigned k = 0; k < operands->n; k++)
		if (is_traced(builder, &operands->items[k]))
			n += has_halves(&operands->items[k]) ? 2 : 1;
	return (uint8_t)n;
}

static struct rf_error *add_operands(struct builder *builder, const struct operands *operands)
{
	struct rf_error *error = NULL;
	builder->number = builder->config->n_numbers;
	builder->config->n_numbers += operands->n > 0;
	builder->n_operands = n_recorded(builder, operands);
	for (unsigned k = 0; !error && k < operands->n; k++) {
		const struct operand *operand = &operands->items[k];
		if (!is_traced(builder, operand))
			builder->plan->n_untraced++;
		else if (operand->form == OPERAND_STRING || operand->form == OPERAND_GATHER)
			error = add_always(builder, operand);
		else
			error = add_halves(builder, operand);
	}
	return error;
}

/* Where in the block it is noted does not matter. */
static void add_transfer(struct builder *builder, const struct planned *items, size_t n)
{
	const struct code_source *source = builder->source;
	const struct decoded *last = &items[n - 1].insn;
	struct trace_transfer transfer = {.flow = last->flow};
	source->locate(source->context, items[0].insn.pc, &transfer.module, &transfer.start);
	transfer.insn = transfer.start + (last->pc - items[0].insn.pc);
	transfer.next = transfer.insn + last->length;
	transfer.target = transfer.start;
	if (last->flow == FLOW_BRANCH || last->flow == FLOW_LOOP)
		transfer.target += last->target - items[0].insn.pc;
	const uint32_t group =
		trace_config_add_transfer(builder->config, &transfer, builder->block);
	struct trace_plan *plan = builder->plan;
	plan->has_transfer = group != UINT32_MAX;
	plan->transfer.word = group;
	for (size_t i = 0; i < n && !plan->transfer.flags_dead; i++)
		if (items[i].dead == DEAD_ALL) {
			plan->transfer.before = (uint16_t)i;
			plan->transfer.flags_dead = true;
		}
}

static int by_place(const void *a, const void *b)
{
	const struct trace_check *x = a, *y = b;
	if (x->before != y->before)
		return x->before < y->before ? -1 : 1;
	return x->behind - y->behind;
}

/* `operands`: room for those of n instructions. */
static struct rf_error *add_checks(struct builder *builder, struct operands *operands,
				   const struct planned *items, size_t n)
{
	struct trace_plan *plan = builder->plan;
	struct rf_error *error = NULL;
	walk_values(&builder->walk, builder->config->operands, items, n, operands);
	for (size_t i = 0; !error && i < n; i++) {
		plan->used |= (uint16_t)decode_used_registers(&items[i].insn);
		builder->at = i;
		error = add_operands(builder, &operands[i]);
	}
	for (size_t g = 0; !error && g < builder->n_open; g++)
		error = close_group(builder, &builder->open[g]);
	if (!error)
		add_transfer(builder, items, n);
	if (!error && plan->n_checks)
		qsort(plan->checks, plan->n_checks, sizeof(plan->checks[0]), by_place);
	return error;
}

/* What is needed for a block alone, kept for the next one. */
struct trace_scratch {
	struct builder builder;
	struct operands *operands;
	struct value (*values)[16];
	size_t n; /* instructions that there is room for */
};

void trace_scratch_destroy(struct trace_scratch *scratch)
{
	if (!scratch)
		return;
	free(scratch->operands);
	free(scratch->values);
	free(scratch);
}

/* With room for n instructions; NULL: memory is short. */
static struct trace_scratch *scratch_for(struct trace_config *config, size_t n)
{
	if (!config->scratch) {
		config->scratch = malloc(sizeof(*config->scratch));
		if (!config->scratch)
			return NULL;
		config->scratch->operands = NULL;
		config->scratch->values = NULL;
		config->scratch->n = 0;
	}
	struct trace_scratch *scratch = config->scratch;
	if (n <= scratch->n)
		return scratch;
	free(scratch->operands);
	free(scratch->values);
	scratch->n = 0;
	scratch->operands = malloc(2 * n * sizeof(*scratch->operands));
	scratch->values = malloc((2 * n + 1) * sizeof(*scratch->values));
	if (!scratch->operands || !scratch->values)
		return NULL;
	scratch->n = 2 * n;
	return scratch;
}

struct rf_error *trace_plan_build(struct trace_plan *plan, struct trace_config *config,
				  const struct code_source *source, uint32_t block,
				  const struct planned *items, size_t n)
{
	struct trace_scratch *scratch = scratch_for(config, n);
	*plan = (struct trace_plan){.used = 1u << RSP};
	if (!scratch)
		return rf_error_no_memory();
	struct builder *builder = &scratch->builder;
	memset(builder, 0, offsetof(struct builder, open));
	builder->plan = plan;
	builder->config = config;
	builder->source = source;
	builder->block = block;
	builder->walk.values = scratch->values;
	return add_checks(builder, scratch->operands, items, n);
}

void trace_plan_deinit(struct trace_plan *plan)
{
	free(plan->checks);
	*plan = (struct trace_plan){0};
}

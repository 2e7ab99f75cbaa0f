/* Decodes the instructions of a batch, run by run, and finds where their status flags are dead. */
#include "tracer/translate/plan.h"

#include "base/array.h"

#include <string.h>

#define HOT_BATCH_INSNS 4000 /* of hot code: most functions */
#define MAX_LOOP_INSNS 200   /* of a loop that becomes one block */
#define MAX_BLOCK_INSNS 1000 /* offsets inside a block are 16 bits wide */

void plan_deinit(struct plan *plan)
{
	free(plan->items);
	free(plan->todo);
	u64_map_deinit(&plan->index_of_pc);
	*plan = (struct plan){0};
}

static struct rf_error *add_leader(struct plan *plan, uint64_t pc, uint64_t from)
{
	const uint32_t *index = u64_map_find(&plan->index_of_pc, pc);
	if (index) {
		plan->items[*index].leader = true;
		plan->items[*index].loop_head |= pc <= from;
		return NULL;
	}
	return rf_array_add(plan->todo, plan->n_todo, plan->cap_todo, pc);
}

/* The code at pc, at least one instruction's; *size gets 0 with *why when there is none. */
static const uint8_t *code_at(struct code_window *window, struct translator *translator,
			      uint64_t pc, size_t *size, const char **why)
{
	const struct code_source *source = &translator->source;
	const uint64_t offset = pc - window->pc;
	if (offset >= window->size || (window->size - offset < LONGEST_INSN && !window->ends)) {
		window->pc = pc;
		window->size = source->read(source->context, pc, window->bytes,
					    sizeof(window->bytes), why);
		window->ends = window->size < sizeof(window->bytes);
	}
	*size = window->size - (pc - window->pc);
	return window->bytes + (pc - window->pc);
}

/* The block at pc, if there is one. */
static const struct code_block *known_block(struct translator *translator, uint64_t pc)
{
	return code_cache_block(&translator->cache, pc);
}

/* *ends: the run ends in front of pc. */
static struct rf_error *add_insn(struct plan *plan, struct translator *translator, uint64_t pc,
				 const char **why, bool *ends)
{
	struct planned item = {0};
	size_t size;
	const uint8_t *bytes = code_at(&plan->window, translator, pc, &size, why);
	*ends = !size;
	if (*ends)
		return NULL;
	decode_instruction(bytes, size, pc, &item.insn);
	*ends = item.insn.flow == FLOW_NATIVE;
	if (*ends) {
		*why = item.insn.why_native;
		return NULL;
	}
	const bool ok = u64_map_set(&plan->index_of_pc, pc, (uint32_t)plan->n_items) &&
			rf_array_push(plan->items, plan->n_items, plan->cap_items, item);
	return ok ? NULL : rf_error_no_memory();
}

size_t plan_loop_length(const struct plan *plan, size_t first, uint64_t head)
{
	size_t i = first;
	while (plan->items[i].insn.flow == FLOW_NEXT && !plan->items[i].last_of_run &&
	       i - first < MAX_LOOP_INSNS)
		i++;
	const struct decoded *last = &plan->items[i].insn;
	return last->flow == FLOW_BRANCH && last->target == head ? i - first + 1 : 0;
}

/* A run that has come to known code: when that jumps back to the beginning of the run, without any
 * other transfer, both are one loop (compilers often enter loops in their middle).  It shall be one
 * block, so that its counter can stay in a register: the run goes on with a copy. */
static struct rf_error *complete_loop(struct plan *plan, size_t first, size_t known)
{
	for (size_t i = first; i < plan->n_items; i++)
		if (plan->items[i].insn.flow != FLOW_NEXT || (i > first && plan->items[i].leader))
			return NULL;
	const size_t end = known + plan_loop_length(plan, known, plan->items[first].insn.pc);
	if (end > first)
		return NULL;
	struct rf_error *error = NULL;
	for (size_t i = known; !error && i < end; i++) {
		struct planned copy = plan->items[i];
		copy.leader = copy.last_of_run = false;
		error = rf_array_add(plan->items, plan->n_items, plan->cap_items, copy);
	}
	return error;
}

static size_t limit_of(const struct plan *plan, const struct translator *translator)
{
	return plan->hot ? HOT_BATCH_INSNS : translator->batch_insns;
}

/* Hot code and other code are never in one batch. */
static bool suits(const struct plan *plan, const struct translator *translator, uint64_t pc)
{
	return (hot_code_weight(&translator->hot, pc) > 0) == (plan->hot != NULL);
}

/* Whether a run that has come to the beginning of a block goes on into it.  What is hot has run. */
static bool goes_on(const struct plan *plan, struct translator *translator, uint64_t pc)
{
	struct translator *checked = translator->checked;
	return plan->n_items < limit_of(plan, translator) &&
	       (!plan->n_items ||
		(suits(plan, translator, pc) && (plan->hot || !checked || !checked->trace ||
						 !code_cache_is_unmet(&checked->cache, pc))));
}

static bool is_held(const struct translator *translator, uint64_t pc)
{
	return translator->is_held && translator->is_held(translator->held_context, pc);
}

/* Adds instructions from pc on, up to one behind which control does not go on, or known code. */
static struct rf_error *add_run(struct plan *plan, struct translator *translator, uint64_t pc,
				const char **why)
{
	const size_t first = plan->n_items;
	struct rf_error *error = NULL;
	bool leader = true, ends = false;
	for (size_t length = 0; !error && !ends; length++) {
		const uint32_t *known = u64_map_find(&plan->index_of_pc, pc);
		if (known) {
			plan->items[*known].leader = true;
			error = complete_loop(plan, first, *known);
			break;
		}
		if (known_block(translator, pc) || (leader && !goes_on(plan, translator, pc)) ||
		    (plan->n_items && is_held(translator, pc)))
			break;
		error = add_insn(plan, translator, pc, why, &ends);
		if (error || ends)
			break;
		struct planned *item = &plan->items[plan->n_items - 1];
		item->leader = leader;
		item->is_kernel = translator_kernel_at(translator, pc) >= 0;
		pc += item->insn.length;
		leader = item->insn.flow != FLOW_NEXT || (length + 1) % MAX_BLOCK_INSNS == 0 ||
			 translator_kernel_at(translator, pc) >= 0;
		const uint8_t flow = item->insn.flow;
		if (flow == FLOW_JUMP || flow == FLOW_BRANCH || flow == FLOW_LOOP ||
		    flow == FLOW_XBEGIN)
			error = add_leader(plan, item->insn.target, item->insn.pc);
		ends = flow == FLOW_JUMP || flow == FLOW_JUMP_INDIRECT || flow == FLOW_RETURN;
	}
	if (plan->n_items > first)
		plan->items[plan->n_items - 1].last_of_run = true;
	return error;
}

/* Which status flags are dead where control enters pc, as far as is known. */
static uint8_t known_dead_at(const struct plan *plan, struct translator *translator, uint64_t pc)
{
	const uint32_t *index = u64_map_find(&plan->index_of_pc, pc);
	if (index)
		return plan->items[*index].dead;
	const struct code_block *block = known_block(translator, pc);
	return block ? block->dead : 0;
}

/* Which are dead behind an instruction that ends a run or transfers control.  What comes behind
 * returns and indirect transfers is not known. */
static uint8_t dead_behind(const struct plan *plan, struct translator *translator,
			   const struct decoded *insn)
{
	if (insn->flow == FLOW_JUMP || insn->flow == FLOW_CALL)
		return known_dead_at(plan, translator, insn->target);
	if (insn->flow == FLOW_NEXT)
		return known_dead_at(plan, translator, insn->pc + insn->length);
	return 0;
}

static uint8_t killed_by(const struct decoded *insn)
{
	if (!insn->kills_flags)
		return 0;
	return insn->keeps_carry ? DEAD_ARITHMETIC : DEAD_ALL;
}

/* Walks backward: before an instruction that writes status flags and reads none, they are dead.
 * "Dead" is only ever concluded from what is known to be dead, so that each walk is right, and the
 * second one knows more of jumps backward. */
static void find_dead_flags(struct plan *plan, struct translator *translator)
{
	for (int walk = 0; walk < 2; walk++) {
		uint8_t dead = 0;
		for (size_t i = plan->n_items; i-- > 0;) {
			struct planned *item = &plan->items[i];
			if (item->last_of_run || item->insn.flow != FLOW_NEXT)
				dead = dead_behind(plan, translator, &item->insn);
			dead = item->insn.reads_flags ? 0 : dead | killed_by(&item->insn);
			item->dead = dead;
		}
	}
}

/* By the convention of calls status flags are dead at a return.  Not so where a runtime has put the
 * return's address amid other code, to interrupt it: what comes back there restores them last. */
static void find_flag_returns(struct plan *plan)
{
	bool restored = false;
	for (size_t i = 0; i < plan->n_items; i++) {
		struct planned *item = &plan->items[i];
		const uint8_t flow = item->insn.flow;
		item->keeps_flags = restored && flow == FLOW_RETURN;
		restored = item->insn.restores_flags || (restored && !item->insn.kills_flags);
		restored &= !item->last_of_run &&
			    (flow == FLOW_NEXT || flow == FLOW_BRANCH || flow == FLOW_LOOP);
	}
}

/* The last one that was added, or the hottest. */
static uint64_t take_todo(struct plan *plan)
{
	size_t best = plan->n_todo - 1;
	for (size_t i = 0; plan->hot && i < plan->n_todo; i++)
		if (hot_code_weight(plan->hot, plan->todo[i]) >
		    hot_code_weight(plan->hot, plan->todo[best]))
			best = i;
	const uint64_t pc = plan->todo[best];
	plan->todo[best] = plan->todo[--plan->n_todo];
	return pc;
}

struct rf_error *plan_build(struct plan *plan, struct translator *translator, uint64_t pc,
			    const char **why)
{
	memset(plan, 0, sizeof(*plan));
	if (hot_code_weight(&translator->hot, pc))
		plan->hot = &translator->hot;
	struct rf_error *error = add_run(plan, translator, pc, why);
	while (!error && plan->n_items && plan->n_todo &&
	       plan->n_items < limit_of(plan, translator)) {
		const uint64_t next = take_todo(plan);
		const char *ignored;
		const uint32_t *known = u64_map_find(&plan->index_of_pc, next);
		if (known)
			plan->items[*known].leader = true;
		else
			error = add_run(plan, translator, next, &ignored);
	}
	find_dead_flags(plan, translator);
	find_flag_returns(plan);
	return error;
}

#define PEEK_INSNS 16

/* One instruction. */
static bool read_one(struct translator *translator, uint64_t pc, struct decoded *insn)
{
	const struct code_source *source = &translator->source;
	uint8_t bytes[LONGEST_INSN];
	const char *ignored;
	size_t size = source->read(source->context, pc, bytes, sizeof(bytes), &ignored);
	if (!size)
		return false;
	decode_instruction(bytes, size, pc, insn);
	return true;
}

/* A jump through a slot of the GOT goes to another function, on a way that may lead through the
 * dynamic linker, which keeps no status flags. */
static bool is_got_jump(const struct decoded *insn)
{
	return insn->flow == FLOW_JUMP_INDIRECT && insn->rip_relative;
}

uint8_t plan_dead_at(struct translator *translator, uint64_t pc)
{
	const struct code_block *block = known_block(translator, pc);
	uint8_t dead = block ? block->dead : 0;
	for (int i = 0; i < PEEK_INSNS && dead != DEAD_ALL; i++) {
		struct decoded insn;
		if (!read_one(translator, pc, &insn) || insn.reads_flags)
			break;
		if (is_got_jump(&insn))
			return DEAD_ALL;
		dead |= killed_by(&insn);
		if (insn.flow == FLOW_JUMP || insn.flow == FLOW_CALL)
			pc = insn.target;
		else if (insn.flow == FLOW_NEXT)
			pc += insn.length;
		else
			break;
	}
	return dead;
}

bool plan_is_got_jump(struct translator *translator, uint64_t pc)
{
	struct decoded insn;
	for (int i = 0; i < MAX_PLT_INSNS && read_one(translator, pc, &insn); i++) {
		if (insn.flow != FLOW_NEXT)
			return is_got_jump(&insn);
		pc += insn.length;
	}
	return false;
}

bool plan_is_unresolved(struct translator *translator, uint64_t value)
{
	struct decoded insn;
	if (!read_one(translator, value, &insn))
		return false;
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	if (insn.length == sizeof(endbr64) && memcmp(insn.bytes, endbr64, sizeof(endbr64)) == 0 &&
	    !read_one(translator, value + 4, &insn))
		return false;
	return insn.length == 5 && insn.bytes[0] == 0x68; /* push $number */
}

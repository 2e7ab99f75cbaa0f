#include "tracer/plan.h"

#include "base/array.h"

#define MAX_BLOCK_INSNS 1000 /* offsets inside a block are 16 bits wide */

void plan_deinit(struct plan *plan)
{
	free(plan->items);
	free(plan->todo);
	u64_map_deinit(&plan->index_of_pc);
	*plan = (struct plan){0};
}

static void add_leader(struct plan *plan, uint64_t pc, uint64_t from)
{
	const uint32_t *index = u64_map_find(&plan->index_of_pc, pc);
	if (index) {
		plan->items[*index].leader = true;
		plan->items[*index].loop_head |= pc <= from;
		return;
	}
	(void)rf_array_push(plan->todo, plan->n_todo, plan->cap_todo, pc);
}

/* Returns false when the run ends in front of pc. */
static bool add_insn(struct plan *plan, struct translator *translator, uint64_t pc,
		     const char **why)
{
	uint8_t bytes[15];
	struct planned item = {0};
	size_t size = translator->source.read(translator->source.context, pc, bytes, sizeof(bytes),
					      why);
	if (!size)
		return false;
	decode_instruction(bytes, size, pc, &item.insn);
	if (item.insn.flow == FLOW_NATIVE) {
		*why = item.insn.why_native;
		return false;
	}
	return u64_map_set(&plan->index_of_pc, pc, (uint32_t)plan->n_items) &&
	       rf_array_push(plan->items, plan->n_items, plan->cap_items, item);
}

/* Notes where control may go from the last instruction; returns whether the run goes on. */
static bool follow(struct plan *plan, const struct decoded *insn)
{
	switch ((enum flow)insn->flow) {
	case FLOW_JUMP:
		add_leader(plan, insn->target, insn->pc);
		return false;
	case FLOW_BRANCH:
	case FLOW_LOOP:
	case FLOW_XBEGIN:
		add_leader(plan, insn->target, insn->pc);
		return true;
	case FLOW_JUMP_INDIRECT:
	case FLOW_RETURN:
	case FLOW_NATIVE:
		return false;
	default:
		return true;
	}
}

static void add_run(struct plan *plan, struct translator *translator, uint64_t pc,
		    const char **why)
{
	size_t first = plan->n_items;
	bool leader = true;
	for (size_t length = 0;; length++) {
		uint32_t *known = u64_map_find(&plan->index_of_pc, pc);
		if (known) {
			plan->items[*known].leader = true;
			break;
		}
		if (code_cache_block(&translator->cache, pc) ||
		    (leader && plan->n_items >= translator->batch_insns) ||
		    !add_insn(plan, translator, pc, why))
			break;
		struct planned *item = &plan->items[plan->n_items - 1];
		item->leader = leader || length % MAX_BLOCK_INSNS == 0;
		pc += item->insn.length;
		leader = item->insn.flow != FLOW_NEXT;
		const struct decoded insn = item->insn;
		if (!follow(plan, &insn))
			break;
	}
	if (plan->n_items > first)
		plan->items[plan->n_items - 1].last_of_run = true;
}

/* Whether the status flags are dead where control enters pc, as far as is known. */
static bool dead_at(const struct plan *plan, struct translator *translator, uint64_t pc)
{
	const uint32_t *index = u64_map_find(&plan->index_of_pc, pc);
	if (index)
		return plan->items[*index].flags_dead;
	const struct code_block *block = code_cache_block(&translator->cache, pc);
	return block && block->flags_dead;
}

/* Whether they are dead behind an instruction that ends a run or transfers control.  What comes
 * behind returns, calls and indirect jumps is not known. */
static bool dead_behind(const struct plan *plan, struct translator *translator,
			const struct decoded *insn)
{
	if (insn->flow == FLOW_JUMP)
		return dead_at(plan, translator, insn->target);
	return insn->flow == FLOW_NEXT && dead_at(plan, translator, insn->pc + insn->length);
}

/* Walks backward: before an instruction that writes all status flags and reads none, they are
 * dead.  (The counters' own inc leaves CF alone, so that CF matters for run-time units only.)  "Dead" is only ever concluded from what is known to be dead, so that each walk is right,
 * and the second one knows more of jumps backward. */
static void find_dead_flags(struct plan *plan, struct translator *translator)
{
	for (int walk = 0; walk < 2; walk++) {
		bool dead = false, carry_dead = false;
		for (size_t i = plan->n_items; i-- > 0;) {
			struct planned *item = &plan->items[i];
			if (item->last_of_run || item->insn.flow != FLOW_NEXT) {
				dead = dead_behind(plan, translator, &item->insn);
				carry_dead = false;
			}
			if (item->insn.reads_flags) {
				dead = carry_dead = false;
			} else if (item->insn.kills_flags) {
				dead = true;
				carry_dead |= !item->insn.keeps_carry;
			}
			item->flags_dead = dead;
			item->carry_dead = carry_dead;
		}
	}
}

bool plan_build(struct plan *plan, struct translator *translator, uint64_t pc, const char **why)
{
	*plan = (struct plan){0};
	add_run(plan, translator, pc, why);
	if (!plan->n_items)
		return false;
	while (plan->n_todo && plan->n_items < translator->batch_insns) {
		uint64_t next = plan->todo[--plan->n_todo];
		const char *ignored;
		const uint32_t *known = u64_map_find(&plan->index_of_pc, next);
		if (known)
			plan->items[*known].leader = true;
		else
			add_run(plan, translator, next, &ignored);
	}
	find_dead_flags(plan, translator);
	return true;
}

#define PEEK_INSNS 12

bool plan_flags_dead_at(struct translator *translator, uint64_t pc)
{
	const struct code_source *source = &translator->source;
	const struct code_block *block = code_cache_block(&translator->cache, pc);
	if (block)
		return block->flags_dead;
	for (int i = 0; i < PEEK_INSNS; i++) {
		uint8_t bytes[15];
		struct decoded insn;
		const char *ignored;
		size_t size = source->read(source->context, pc, bytes, sizeof(bytes), &ignored);
		if (!size)
			return false;
		decode_instruction(bytes, size, pc, &insn);
		if (insn.reads_flags || (insn.flow != FLOW_NEXT && insn.flow != FLOW_JUMP))
			return false;
		if (insn.kills_flags)
			return true;
		pc = insn.flow == FLOW_JUMP ? insn.target : pc + insn.length;
	}
	return false;
}

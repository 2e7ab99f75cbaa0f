/* Follows the blocks of a thread. */
#include "tracer/branches/outcomes.h"

#include "insn/flow.h"

void outcome_reader_init(struct outcome_reader *reader, const struct trace_config *config)
{
	*reader = (struct outcome_reader){.config = config};
}

void outcome_reader_deinit(struct outcome_reader *reader)
{
	predictor_destroy(reader->predictor);
	*reader = (struct outcome_reader){0};
}

/* The predictors' name of an address; never 0. */
static uint64_t place_of(uint32_t module, uint64_t offset)
{
	return ((uint64_t)module + 1) << 48 | (offset & 0xffffffffffff);
}

/* What the block before has done, if it can be told from where control is now. */
static bool branch_between(const struct trace_transfer *last, const struct trace_transfer *now,
			   struct executed_branch *branch)
{
	const bool is_near = last->module == now->module;
	*branch = (struct executed_branch){.place = place_of(last->module, last->insn),
					   .target = place_of(now->module, now->start),
					   .return_to = place_of(last->module, last->next)};
	switch ((enum flow)last->flow) {
	case FLOW_BRANCH:
	case FLOW_LOOP:
		branch->kind = PREDICT_CONDITIONAL;
		branch->taken = now->start == last->target;
		return is_near && (branch->taken || now->start == last->next);
	case FLOW_JUMP_INDIRECT:
		branch->kind = PREDICT_JUMP;
		return true;
	case FLOW_CALL_INDIRECT:
		branch->kind = PREDICT_CALL;
		return true;
	case FLOW_CALL:
		branch->kind = PREDICT_DIRECT_CALL;
		return true;
	case FLOW_RETURN:
		branch->kind = PREDICT_RETURN;
		return true;
	default:
		return false;
	}
}

static void take_branch(struct outcome_reader *reader, const struct trace_transfer *last,
			const struct executed_branch *branch, struct branch_counts *counts)
{
	const struct branch_guesses guesses = predictor_take(reader->predictor, branch);
	if (branch->kind == PREDICT_DIRECT_CALL || guesses.tage == BRANCH_UNKNOWN)
		return;
	if (reader->not_counted)
		reader->not_counted--;
	else
		branch_counts_add(counts, last->module, last->insn, branch, &guesses);
}

void outcome_reader_take(struct outcome_reader *reader, const uint32_t *groups, size_t n, bool gap,
			 struct branch_counts *counts)
{
	if (!reader->predictor && n && !(reader->predictor = predictor_create())) {
		counts->memory_short = true;
		return;
	}
	if (gap && n) {
		predictor_gap(reader->predictor);
		reader->has_last = false;
		reader->not_counted = OUTCOMES_AFTER_GAP;
	}
	for (size_t i = n; i-- > 0;) {
		struct trace_transfer now;
		struct executed_branch branch;
		const bool is_known = trace_config_transfer(reader->config, groups[i], &now);
		if (is_known && reader->has_last && branch_between(&reader->last, &now, &branch))
			take_branch(reader, &reader->last, &branch, counts);
		reader->has_last = is_known;
		reader->last = now;
	}
	branch_counts_end_burst(counts);
}

/* Random programs of blocks are walked through at random, in one burst and in several; what was
 * told of their branches is what a predictor says that was told the walk itself. */
#include "tracer/branches/branch_watch.h"

#include "insn/flow.h"
#include "tests/unit/assert_ok.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>

enum { BLOCKS = 40, STEPS = 30000, SIGNAL_OF = 500 };

struct program {
	struct trace_config *config;
	struct trace_transfer blocks[BLOCKS];
	uint32_t group[BLOCKS];
};

static void program_init(struct program *program, uint64_t *state)
{
	static const uint8_t flows[] = {FLOW_BRANCH, FLOW_BRANCH, FLOW_BRANCH, FLOW_NEXT,
					FLOW_JUMP_INDIRECT};
	program->config = trace_config_create(1);
	cr_assert(program->config);
	for (uint32_t i = 0; i < BLOCKS; i++) {
		struct trace_transfer *block = &program->blocks[i];
		*block = (struct trace_transfer){
			.module = 3,
			.start = 0x1000 + 16 * i,
			.insn = 0x1000 + 16 * i + 12,
			.next = 0x1000 + 16 * (i + 1),
			.target = 0x1000 + 16 * (random_number(state) % BLOCKS),
			.flow = i + 1 < BLOCKS ? flows[random_number(state) % sizeof(flows)]
					       : FLOW_JUMP_INDIRECT,
		};
		program->group[i] = trace_config_add_transfer(program->config, block, i);
		cr_assert_neq(program->group[i], UINT32_MAX);
	}
}

static uint32_t number_at(uint64_t offset)
{
	return (uint32_t)((offset - 0x1000) / 16);
}

/* What was seen of each block's branch. */
struct truth {
	struct predictor *predictor;
	uint64_t outcomes[BLOCKS], taken[BLOCKS], wrong[BLOCKS];
};

static uint64_t place_of(const struct trace_transfer *block, uint64_t offset)
{
	return (uint64_t)(block->module + 1) << 48 | offset;
}

/* One step; `truth` is told of it unless it is a signal's. */
static uint32_t step(const struct program *program, uint32_t at, uint64_t *state,
		     struct truth *truth)
{
	const struct trace_transfer *block = &program->blocks[at];
	struct executed_branch branch = {.place = place_of(block, block->insn)};
	uint64_t to = block->next;
	if (random_number(state) % SIGNAL_OF == 0 && block->flow == FLOW_BRANCH) {
		const uint32_t handler = (uint32_t)(random_number(state) % BLOCKS);
		if (handler != number_at(block->next) && handler != number_at(block->target))
			return handler;
	}
	if (block->flow == FLOW_BRANCH) {
		const bool taken = random_number(state) % 4 < at % 4;
		to = taken ? block->target : block->next;
		branch.taken = to == block->target;
	} else if (block->flow == FLOW_JUMP_INDIRECT) {
		branch.kind = PREDICT_JUMP;
		to = 0x1000 + 16 * (random_number(state) % (1 + at % 7));
		branch.target = place_of(block, to);
	} else {
		return number_at(to);
	}
	truth->outcomes[at]++;
	truth->taken[at] += branch.kind == PREDICT_JUMP || branch.taken;
	truth->wrong[at] += predictor_take(truth->predictor, &branch).tage == BRANCH_WRONG;
	return number_at(to);
}

static void compare(const struct program *program, const struct branch_watch *watch,
		    const struct truth *truth)
{
	struct profile *profile = profile_create();
	uint64_t outcomes = 0;
	assert_ok(branch_watch_save(watch, profile));
	for (size_t i = 0; i < profile->n_branches; i++) {
		const struct profile_branch *row = &profile->branches[i];
		const uint32_t at = number_at(row->offset - 12);
		cr_assert_lt(at, BLOCKS);
		cr_expect_eq(row->module, 3);
		cr_expect_eq(row->kind, program->blocks[at].flow == FLOW_BRANCH
						? PROFILE_BRANCH_CONDITIONAL
						: PROFILE_BRANCH_JUMP);
		cr_expect_eq(row->outcomes, truth->outcomes[at]);
		cr_expect_eq(row->taken, truth->taken[at]);
		cr_expect_eq(row->wrong, truth->wrong[at]);
		outcomes += row->outcomes;
	}
	for (uint32_t at = 0; at < BLOCKS; at++)
		outcomes -= truth->outcomes[at];
	cr_expect_eq(outcomes, 0, "each branch has its row");
	profile_destroy(profile);
}

/* As translated code does it. */
static void note(uint8_t *slot, uint32_t group)
{
	uint64_t *left = (uint64_t *)(slot + G_BLOCKS_LEFT);
	if (*left)
		((uint32_t *)(slot + SLOT_BLOCKS))[--*left % MOST_BLOCKS] = group;
}

Test(outcomes, a_burst_is_what_ran)
{
	uint8_t *slot = calloc(1, SLOT_STRIDE);
	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct program program;
		struct branch_watch watch = {0};
		struct watched_thread thread;
		struct truth truth = {.predictor = predictor_create()};
		uint64_t state = seed;
		program_init(&program, &state);
		branch_watch_begin(&watch, &thread, program.config, slot);
		uint32_t at = 0;
		for (int i = 0; i < STEPS; i++) {
			note(slot, program.group[at]);
			at = step(&program, at, &state, &truth);
		}
		note(slot, program.group[at]);
		branch_watch_end(&watch, &thread);
		compare(&program, &watch, &truth);
		branch_watch_deinit(&watch);
		predictor_destroy(truth.predictor);
		trace_config_destroy(program.config);
	}
	free(slot);
}

/* Behind a gap nothing counts for a while, and what lies before it is not joined to what follows.
 */
Test(outcomes, a_gap_joins_nothing)
{
	struct program program;
	struct branch_counts counts = {0};
	struct outcome_reader reader;
	uint64_t state = 9;
	program_init(&program, &state);
	program.blocks[0].flow = FLOW_BRANCH;
	const struct trace_transfer loop = {.module = 3,
					    .start = 0x9000,
					    .insn = 0x9004,
					    .next = 0x9006,
					    .target = 0x9000,
					    .flow = FLOW_BRANCH};
	uint32_t groups[OUTCOMES_AFTER_GAP + 11];
	for (size_t i = 0; i < OUTCOMES_AFTER_GAP + 11; i++)
		groups[i] = i ? groups[0] : trace_config_add_transfer(program.config, &loop, 0);
	outcome_reader_init(&reader, program.config);
	outcome_reader_take(&reader, groups, 5, false, &counts);
	cr_expect_eq(counts.n_outcomes, 4);
	outcome_reader_take(&reader, groups, OUTCOMES_AFTER_GAP + 11, true, &counts);
	cr_expect_eq(counts.n_outcomes, 4 + 10);
	cr_expect_eq(counts.items[0].taken, 14);
	outcome_reader_deinit(&reader);
	branch_counts_deinit(&counts);
	trace_config_destroy(program.config);
}

/* What the program writes there is no block, or another one, but nothing worse. */
Test(outcomes, any_bytes_may_be_there)
{
	struct program program;
	uint8_t *slot = calloc(1, SLOT_STRIDE);
	uint64_t state = 11;
	program_init(&program, &state);
	for (int round = 0; round < 50; round++) {
		struct branch_watch watch = {0};
		struct watched_thread thread;
		branch_watch_begin(&watch, &thread, program.config, slot);
		for (size_t i = 0; i < MOST_BLOCKS; i++)
			((uint32_t *)(slot + SLOT_BLOCKS))[i] =
				(uint32_t)random_number(&state) % (round % 2 ? 64 : UINT32_MAX);
		*(uint64_t *)(slot + G_BLOCKS_LEFT) =
			random_number(&state) >> random_number(&state) % 64;
		branch_watch_pause(&watch, &thread);
		branch_watch_resume(&watch, &thread);
		branch_watch_end(&watch, &thread);
		cr_expect_leq(watch.counts.n_outcomes, MOST_BLOCKS);
		branch_watch_deinit(&watch);
	}
	trace_config_destroy(program.config);
	free(slot);
}

/* Of a branch by chance the interval holds the truth. */
Test(outcomes, intervals_hold)
{
	int held = 0, n = 0;
	for (uint64_t seed = 0; seed < 200; seed++) {
		struct branch_counts counts = {0};
		uint64_t state = seed;
		for (int burst = 0; burst < 5; burst++) {
			for (int i = 0; i < 300; i++) {
				const struct branch_guesses guesses = {
					random_number(&state) % 10 < 3 ? BRANCH_WRONG
								       : BRANCH_RIGHT,
					BRANCH_RIGHT};
				branch_counts_add(&counts, 0, 4,
						  &(struct executed_branch){.place = 1}, &guesses);
			}
			branch_counts_end_burst(&counts);
		}
		struct profile *profile = profile_create();
		assert_ok(branch_counts_save(&counts, profile));
		const struct profile_branch *row = &profile->branches[0];
		held += row->share - row->halfwidth <= 0.3 && 0.3 <= row->share + row->halfwidth;
		n++;
		profile_destroy(profile);
		branch_counts_deinit(&counts);
	}
	cr_expect_geq(held, 0.92 * n, "%d of %d", held, n);
}

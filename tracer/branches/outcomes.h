/* From the blocks that a thread has run, one after another, to the outcomes of its branches.
 *
 * A block ends in a transfer of control, and the next block is where it led.  Where the block
 * behind a conditional branch is neither its target nor what follows it (a signal came between) its
 * outcome is not known, and nothing is told of it. */
#pragma once

#include "branches/predictor.h"
#include "tracer/branches/branch_counts.h"
#include "tracer/translate/trace_config.h"

/* Behind a gap so many outcomes are not counted: what happened before them is not known. */
#define OUTCOMES_AFTER_GAP 512

struct outcome_reader {
	const struct trace_config *config;
	struct predictor *predictor; /* NULL before the first burst */
	struct trace_transfer last;  /* of the block before */
	bool has_last;
	uint32_t not_counted; /* outcomes to come */
};

void outcome_reader_init(struct outcome_reader *reader, const struct trace_config *config);
void outcome_reader_deinit(struct outcome_reader *reader);
/* Takes n blocks in the order in which they ran, the first one last; the thread has run others
 * before, since the call before, if `gap`. */
void outcome_reader_take(struct outcome_reader *reader, const uint32_t *groups, size_t n, bool gap,
			 struct branch_counts *counts);

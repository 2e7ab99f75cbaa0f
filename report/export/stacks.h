/* Call stacks by function: one node for each path of functions, as flame graphs draw them. */
#pragma once

#include "report/rows/code.h"

struct stack_node {
	uint32_t parent; /* a smaller one, or PROFILE_NONE */
	uint32_t row;    /* in code->functions */
};

struct stacks {
	struct stack_node *nodes;
	size_t n_nodes, cap_nodes;
	/* Node of each frame of the profile; one more for samples without a frame. */
	uint32_t *of_frame;
};

/* Fails only when memory is short; deinit in any case. */
struct rf_error *stacks_init(struct stacks *stacks, const struct code *code);
void stacks_deinit(struct stacks *stacks);
uint32_t stacks_of(const struct stacks *stacks, const struct code *code, uint32_t frame);

/* Where indirect jumps and calls, and returns, go.
 *
 * Indirect ones: ITTAGE (A. Seznec: A 64-Kbytes ITTAGE indirect branch predictor, 2011), tables of
 * targets by longer and longer histories above the target of the last time.  Returns: a stack of
 * the addresses that calls have left.  docs/branches.md has the sizes. */
#pragma once

#include "branches/history.h"

#include <stdbool.h>
#include <stdint.h>

#define ITTAGE_TABLES 5
#define ITTAGE_INDEX_BITS 9
#define ITTAGE_TAG_BITS 12
#define ITTAGE_BASE_BITS 11
extern const uint16_t ittage_lengths[ITTAGE_TABLES];
#define ITTAGE_SURE_MAX 3

struct ittage_entry {
	uint64_t target;
	uint16_t tag; /* 0: none is there */
	uint8_t sure; /* 0 to ITTAGE_SURE_MAX */
	bool useful;
};

struct ittage {
	uint64_t last[1 << ITTAGE_BASE_BITS]; /* targets, by place */
	struct ittage_entry tables[ITTAGE_TABLES][1 << ITTAGE_INDEX_BITS];
	uint32_t random;
};

void ittage_init(struct ittage *ittage);
/* Predicts, learns, and returns whether it had predicted `target`; *last: whether that of the last
 * time was. */
bool ittage_take(struct ittage *ittage, const struct branch_history *history, uint64_t place,
		 uint64_t target, bool *last);

#define RETURN_STACK 32
/* All zero: nobody has called. */
struct return_stack {
	uint64_t places[RETURN_STACK];
	uint32_t top;   /* index behind the youngest one, modulo RETURN_STACK */
	uint32_t n;     /* of those that are there still */
	uint32_t depth; /* calls that have not returned */
};
void return_stack_call(struct return_stack *stack, uint64_t return_to);
enum return_guess {
	RETURN_RIGHT,
	RETURN_WRONG,
	RETURN_UNKNOWN, /* the call was not seen */
};
enum return_guess return_stack_return(struct return_stack *stack, uint64_t target);

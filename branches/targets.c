/* ITTAGE and the stack of returns. */
#include "branches/targets.h"

#include "branches/direction.h"

#include <string.h>

const uint16_t ittage_lengths[ITTAGE_TABLES] = {4, 10, 22, 48, 104};

void ittage_init(struct ittage *ittage)
{
	memset(ittage, 0, sizeof(*ittage));
	ittage->random = TAGE_SEED;
}

/* As of a branch that is taken or not (direction.c), but that a target is replaced when nothing is
 * sure of it any more. */
static void learn(struct ittage_entry *entry, uint64_t target)
{
	if (entry->target == target)
		entry->sure += entry->sure < ITTAGE_SURE_MAX;
	else if (entry->sure)
		entry->sure--;
	else
		entry->target = target;
}

static void allocate(struct ittage *ittage, struct ittage_entry *const *entries,
		     const uint16_t *tags, int first, uint64_t target)
{
	if (first + 1 < ITTAGE_TABLES && tage_random(&ittage->random) & 1)
		first++;
	for (int i = first; i < ITTAGE_TABLES; i++)
		if (!entries[i]->useful) {
			*entries[i] = (struct ittage_entry){target, tags[i], 0, false};
			return;
		}
	for (int i = first; i < ITTAGE_TABLES; i++)
		entries[i]->useful = false;
}

bool ittage_take(struct ittage *ittage, const struct branch_history *history, uint64_t place,
		 uint64_t target, bool *last)
{
	uint64_t hashes[ITTAGE_TABLES];
	struct ittage_entry *entries[ITTAGE_TABLES];
	uint16_t tags[ITTAGE_TABLES];
	int provider = -1, alternate = -1;
	uint64_t *base = &ittage->last[history_mix(0, place) >> (64 - ITTAGE_BASE_BITS)];
	history_hashes(history, place, ittage_lengths, ITTAGE_TABLES, hashes);
	for (int i = 0; i < ITTAGE_TABLES; i++) {
		entries[i] = &ittage->tables[i][hashes[i] >> (64 - ITTAGE_INDEX_BITS)];
		tags[i] = (uint16_t)((hashes[i] & ((1u << ITTAGE_TAG_BITS) - 1)) + 1);
		if (entries[i]->tag == tags[i]) {
			alternate = provider;
			provider = i;
		}
	}
	const uint64_t other = alternate >= 0 ? entries[alternate]->target : *base;
	const uint64_t provided = provider >= 0 ? entries[provider]->target : *base;
	const bool trusted = provider >= 0 && entries[provider]->sure;
	const uint64_t predicted = trusted ? provided : other;
	*last = *base == target;
	if (provider >= 0) {
		if (provided != other)
			entries[provider]->useful = provided == target;
		learn(entries[provider], target);
	}
	*base = target;
	if (predicted != target && provided != target && provider < ITTAGE_TABLES - 1)
		allocate(ittage, entries, tags, provider + 1, target);
	return predicted == target;
}

void return_stack_call(struct return_stack *stack, uint64_t return_to)
{
	stack->places[stack->top] = return_to;
	stack->top = (stack->top + 1) % RETURN_STACK;
	stack->n += stack->n < RETURN_STACK;
	stack->depth++;
}

enum return_guess return_stack_return(struct return_stack *stack, uint64_t target)
{
	if (!stack->depth)
		return RETURN_UNKNOWN;
	stack->depth--;
	if (!stack->n)
		return RETURN_WRONG; /* so many calls have come behind it */
	stack->n--;
	stack->top = (stack->top + RETURN_STACK - 1) % RETURN_STACK;
	return stack->places[stack->top] == target ? RETURN_RIGHT : RETURN_WRONG;
}

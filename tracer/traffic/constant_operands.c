/* Decodes the blocks that threads have run, and keeps the operands whose addresses do not depend on
 * registers. */
#include "tracer/traffic/constant_operands.h"

#include "base/array.h"
#include "insn/decode.h"
#include "insn/operands.h"
#include "profile/profile_kernels.h"

/* Of one block. */
struct constant_operand {
	uint64_t offset, target;
	uint16_t bytes;
	bool loads, stores;
};

struct constant_operands {
	const struct profile *profile;
	bool (*wanted)(void *context, uint32_t thread);
	void *context;
	struct constant_operand *items; /* by block */
	size_t n_items, cap_items;
	size_t *first; /* by block: its first item; one more at the end */
};

static bool is_constant(const struct operand *operand)
{
	return operand->form == OPERAND_PLAIN && operand->base == NO_BASE &&
	       operand->index == NO_BASE && !operand->fs;
}

static struct rf_error *add_instruction(struct constant_operands *operands,
					const struct decoded *insn)
{
	struct operands found;
	struct rf_error *error = NULL;
	operands_of(insn, &found);
	for (unsigned i = 0; i < found.n && !error; i++) {
		const struct operand *operand = &found.items[i];
		const struct constant_operand new = {
			.offset = insn->pc,
			.target = (uint64_t)operand->displacement,
			.bytes = operand->bytes,
			.loads = operand->access & OPERAND_LOAD,
			.stores = operand->access & (OPERAND_STORE | OPERAND_NON_TEMPORAL),
		};
		if (is_constant(operand) && (new.loads || new.stores))
			error = rf_array_add(operands->items, operands->n_items,
					     operands->cap_items, new);
	}
	return error;
}

static struct rf_error *add_block(struct constant_operands *operands,
				  const struct profile_block *block)
{
	struct rf_error *error = NULL;
	for (uint32_t at = 0; at < block->size && !error;) {
		struct decoded insn;
		decode_instruction(block->bytes + at, block->size - at, block->start + at, &insn);
		if (!insn.length)
			break; /* what it is nobody knows */
		error = add_instruction(operands, &insn);
		at += insn.length;
	}
	return error;
}

/* Blocks that no wanted thread has run are not decoded. */
static struct rf_error *find_all(struct constant_operands *operands)
{
	const struct profile *profile = operands->profile;
	bool *ran = calloc(profile->n_blocks + 1, sizeof(*ran));
	operands->first = calloc(profile->n_blocks + 1, sizeof(*operands->first));
	struct rf_error *error = ran && operands->first ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < profile->n_counts && !error; i++)
		ran[profile->counts[i].block] |=
			profile->counts[i].n > 0 &&
			operands->wanted(operands->context, profile->counts[i].thread);
	for (size_t i = 0; i < profile->n_blocks && !error; i++) {
		operands->first[i] = operands->n_items;
		error = ran[i] ? add_block(operands, &profile->blocks[i]) : NULL;
	}
	if (!error)
		operands->first[profile->n_blocks] = operands->n_items;
	free(ran);
	return error;
}

struct rf_error *constant_operands_create(const struct profile *profile,
					  bool (*wanted)(void *context, uint32_t thread),
					  void *context, struct constant_operands **out)
{
	struct constant_operands *operands = calloc(1, sizeof(*operands));
	*out = NULL;
	if (!operands)
		return rf_error_no_memory();
	operands->profile = profile;
	operands->wanted = wanted;
	operands->context = context;
	struct rf_error *error = find_all(operands);
	if (error)
		constant_operands_destroy(operands);
	else
		*out = operands;
	return error;
}

void constant_operands_destroy(struct constant_operands *operands)
{
	if (!operands)
		return;
	free(operands->items);
	free(operands->first);
	free(operands);
}

void constant_operands_each(const struct constant_operands *operands, bool stores_only,
			    void (*each)(void *context, const struct constant_access *access),
			    void *context)
{
	const struct profile *profile = operands->profile;
	for (size_t i = 0; i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		const struct kernel_share *share = profile_share(profile, count->thread);
		const uint32_t thread = share ? share->thread : count->thread;
		if (count->n <= 0 || !operands->wanted(operands->context, thread))
			continue;
		for (size_t k = operands->first[count->block];
		     k < operands->first[count->block + 1]; k++) {
			const struct constant_operand *item = &operands->items[k];
			const struct constant_access access = {
				.thread = thread,
				.module = profile->blocks[count->block].module,
				.offset = item->offset,
				.target = item->target,
				.n = (uint64_t)count->n,
				.bytes = item->bytes,
				.loads = item->loads,
				.stores = item->stores,
			};
			if (item->stores || !stores_only)
				each(context, &access);
		}
	}
}

/* Operands at constant addresses: variables that are addressed relative to the instruction pointer,
 * or by an absolute address.
 *
 * Code has no check of them where they are in no simulated class, so that no trace tells of them.
 * Nothing has to: where they lie is known from the code, and how often they are accessed from the
 * counts of blocks. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"

#include <stdbool.h>
#include <stdint.h>

/* All accesses of one operand by one thread in one block. */
struct constant_access {
	uint32_t thread, module; /* rows of the profile */
	uint64_t offset;         /* of the instruction */
	uint64_t target;         /* of its first byte, an offset in the module as well */
	uint64_t n;              /* executions */
	uint16_t bytes;
	bool loads, stores;
};

struct constant_operands;
/* Finds those of all blocks that wanted threads have run: plain loads and stores.  Errors: memory
 * is short. */
struct rf_error *constant_operands_create(const struct profile *profile,
					  bool (*wanted)(void *context, uint32_t thread),
					  void *context, struct constant_operands **out);
void constant_operands_destroy(struct constant_operands *operands);

/* Calls `each` with all accesses, or with those that store, of wanted threads.  The same
 * instruction may come more than once. */
void constant_operands_each(const struct constant_operands *operands, bool stores_only,
			    void (*each)(void *context, const struct constant_access *access),
			    void *context);

/* From records to accesses. */
#pragma once

#include "tracer/traffic/trace_ring.h"
#include "tracer/translate/trace_config.h"

/* What has been seen of an instruction that makes several records. */
struct trace_expansion {
	struct {
		uint64_t base;
		uint32_t mask, got;
		uint64_t words[8];
	} gather;
	uint64_t string_begin;
};

/* Called for each access, in their order: `bytes` from `address` on, perhaps over several lines and
 * outside the simulated classes. */
typedef void trace_access(void *context, const struct trace_operand *operand, uint64_t address,
			  uint64_t bytes);

/* Takes the next record of a thread.  False when it is none of those that the register knows. */
bool trace_expand(const struct trace_config *config, struct trace_expansion *expansion,
		  const struct trace_record *record, trace_access *access, void *context);

/* What is traced of one process image: the classes of lines, and a register of the groups of
 * operands that translated code checks, which says what a record in a ring stands for.
 *
 * The translator adds groups; another thread may read those that it has seen numbers of. */
#pragma once

#include "cache/traffic.h"
#include "insn/operand_cache.h"
#include "tracer/gate/protocol.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One operand of an instruction, relative to the address of its group's record. */
struct trace_operand {
	uint64_t offset; /* of the instruction in its module */
	uint32_t module;
	uint32_t number; /* of the instruction, in this register */
	uint32_t block;  /* of the code cache that it is checked in */
	int32_t at;      /* bytes */
	uint16_t bytes;
	uint8_t access;            /* bits of enum operand_access */
	uint8_t lanes;             /* MASKED, PACKED, GATHER */
	uint8_t scale, index_bits; /* GATHER */
	uint8_t base;              /* STRING: general register */
	uint8_t n_operands;        /* so many of them are recorded for each execution */
};

struct trace_group {
	struct trace_operand *operands; /* in the order of their accesses */
	uint16_t n;
	uint8_t form; /* enum operand_form, of all */
};

/* A form of a group that is no access but the way in which a block ends.  Its one operand says so
 * in other words; trace_config_transfer reads it. */
#define TRACE_TRANSFER (OPERAND_UNTRACED + 1)
struct trace_transfer {
	uint32_t module;
	uint64_t start;  /* offsets in the module: of the block, */
	uint64_t insn;   /* of its last instruction, */
	uint64_t next;   /* of what stands behind it, */
	uint64_t target; /* and of where it leads, where `flow` is a direct transfer */
	uint8_t flow;    /* enum flow */
};

#define TRACE_PAGE 1024 /* groups */
#define TRACE_PAGES 4096

struct trace_config {
	uint64_t classes; /* bit k: class k is simulated */
	bool has_fs_base; /* rdfsbase may be executed */
	/* of the translator alone */
	struct operand_cache *operands;
	struct trace_scratch *scratch; /* trace_plan.h; or NULL */
	struct trace_group *pages[TRACE_PAGES];
	uint32_t n_groups, n_numbers;
	uint32_t n_lent; /* groups, the first ones, whose operands are not freed */
};

/* An empty register.  NULL when memory is short. */
struct trace_config *trace_config_create(uint64_t classes);
void trace_config_destroy(struct trace_config *config);

/* Why nothing can be traced on this machine, or NULL. */
const char *trace_config_objection(void);

/* Masks for lines: bit k of mask n is set when the class of any of the lines k … k + n is
 * simulated. */
void trace_config_masks(uint64_t classes, uint64_t masks[TRACE_MASKS]);

/* Adds a group; the operands are copied.  Returns its number, or UINT32_MAX when there is no room.
 */
uint32_t trace_config_add(struct trace_config *config, uint8_t form,
			  const struct trace_operand *operands, size_t n);
/* Adds a group that is a transfer, of the block of that number in the code cache.  UINT32_MAX: it
 * has no room in one, or there is none. */
uint32_t trace_config_add_transfer(struct trace_config *config,
				   const struct trace_transfer *transfer, uint32_t block);
/* The transfer of that number; false: there is none. */
bool trace_config_transfer(const struct trace_config *config, uint32_t number,
			   struct trace_transfer *out);
/* An empty register gets these groups, whose operands must outlive it, and so many numbers of
 * instructions.  False: memory is short. */
bool trace_config_lend(struct trace_config *config, const struct trace_group *groups,
		       uint32_t n_groups, uint32_t n_numbers);
/* The number of the group of a string instruction's operand that goes by register `base`;
 * UINT32_MAX: none. */
uint32_t trace_config_string(const struct trace_config *config, uint32_t module, uint64_t offset,
			     uint8_t base);
/* The group of that number, or NULL. */
static inline const struct trace_group *trace_config_group(const struct trace_config *config,
							   uint32_t number)
{
	if (number >= __atomic_load_n(&config->n_groups, __ATOMIC_ACQUIRE))
		return NULL;
	return &config->pages[number / TRACE_PAGE][number % TRACE_PAGE];
}

/* The profile by instruction and by function of its call stacks: what the formats that know code
 * are made of. Sums over the instructions are those of the model. */
#pragma once

#include "base/error.h"
#include "report/model/model.h"
#include "report/rows/view.h"

/* A function, or what lies in no function of a module, or in no module. */
struct code_function {
	char *name;      /* clean; "[unknown in MODULE]" */
	char *file;      /* clean; "" */
	uint32_t line;   /* its first, or 0 */
	uint32_t module; /* row of the profile, or PROFILE_NONE */
	uint64_t start;  /* offset */
	enum model_bound bound;
};

struct code_instruction {
	uint32_t row;    /* in code->functions */
	uint32_t module; /* or PROFILE_NONE */
	uint64_t offset;
	uint64_t time_ns, n_samples; /* as leaf of stacks */
	int64_t executions, flop, load_bytes, store_bytes;
	uint64_t memory_lines; /* read, allocated for writing, written; in all sampled classes */
	uint32_t unit_flop, unit_load_bytes, unit_store_bytes; /* per run-time unit */
	const uint8_t *bytes;                                  /* `length` of them */
	uint8_t length;                                        /* 0: not decoded */
	bool is_call;
};

struct code {
	const struct report_view *view;
	const struct profile *profile;
	const bool *wanted; /* the given one */
	struct code_function *functions;
	size_t n_functions;
	uint32_t *row_of_frame;                /* per frame of the profile: in functions */
	struct code_instruction *instructions; /* by function, then by address */
	size_t n_instructions, cap_instructions;
};

/* `wanted`: of which rows (profile_place_at) instructions are had; others may be there in part, and
 * `functions` are not.  NULL: all.  Fails only when memory is short; deinit in any case. */
struct rf_error *code_init(struct code *code, const struct report_view *view, const bool *wanted);
void code_deinit(struct code *code);

/* The time that a sample of the profile stands for, as the model takes it, in ns. */
uint64_t code_sample_ns(const struct code *code, size_t sample);
/* Row of a sample's leaf. */
uint32_t code_row_of(const struct code *code, uint32_t frame);
/* The executed instruction whose bytes hold that offset, or NULL. */
const struct code_instruction *code_instruction_at(const struct code *code, uint32_t module,
						   uint64_t offset);

/* Whole numbers whose sum is that of the exact ones, rounded: each takes what the ones before left
 * over. */
struct code_rounding {
	unsigned __int128 sum;
	uint64_t told;
};
/* `value` × factor / divisor. */
uint64_t code_round(struct code_rounding *rounding, uint64_t value, uint64_t factor,
		    uint64_t divisor);
/* The instruction's bytes between the last cache and memory; 0 where nothing was traced. */
uint64_t code_memory_bytes(const struct code *code, struct code_rounding *rounding,
			   const struct code_instruction *instruction);

/* Name of a thread for a reader: its own, else its process's, else its number; clean, to be freed.
 */
char *code_thread_name(const struct code *code, uint32_t thread);
/* Its process, or NULL. */
const struct profile_process *code_process(const struct code *code, uint32_t thread);

/* Raw samples, kept small until they can be unwound.
 *
 * Stack bytes are stored in chunks that are aligned in the program's address space, each distinct
 * content once: in a hot loop everything but the innermost frames stays the same from sample to
 * sample. */
#pragma once

#include "symbols/unwind.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct raw_sample {
	struct unwind_regs regs;
	uint64_t weight_ns;   /* of a page fault: how many it stands for */
	uint32_t chain;       /* where the kernel was (kernel_chains.h); 0: in the program */
	uint32_t offset;      /* the same where it was told at once, with `cause`; else 0 */
	uint32_t cause;       /* enum wait_cause */
	bool in_call;         /* of a system call, by the registers */
	bool has_stack;       /* false: the thread had no user code any more */
	uint16_t stack_size;  /* bytes from regs.sp upward */
	uint32_t first_chunk; /* set by the store */
};

struct sample_store;
struct sample_store *sample_store_create(void);
void sample_store_destroy(struct sample_store *store);

/* Keeps a sample; returns its number, UINT32_MAX when memory is short. */
uint32_t sample_store_add(struct sample_store *store, const struct raw_sample *sample,
			  const uint8_t *stack);
/* Reads sample `number` back; `stack` has room for its stack_size (at most 65,535) bytes. */
void sample_store_get(const struct sample_store *store, uint32_t number, struct raw_sample *sample,
		      uint8_t *stack);
/* Bytes of memory in use. */
size_t sample_store_size(const struct sample_store *store);

/* Chains of kernel functions that samples were in: each distinct one is kept once. */
#pragma once

#include "tracer/process/kernel_symbols.h"

struct kernel_chains;
/* `kept`: what was read of files, or NULL.  NULL: no memory. */
struct kernel_chains *kernel_chains_create(struct kept_store *kept);
void kernel_chains_destroy(struct kernel_chains *chains);

/* The number of a chain as perf_record has it, from 1; the longest are cut at their outer end but
 * for the outermost functions.  A chain that cannot be kept, since memory is short, is the empty
 * one. */
uint32_t kernel_chains_add(struct kernel_chains *chains, const uint64_t *chain, size_t n);
/* What a chain says; the kernel's symbols are read when it is asked for the first time. */
struct kernel_place kernel_chains_place(struct kernel_chains *chains, uint32_t number,
					bool in_call);

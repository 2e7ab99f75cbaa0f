/* Where the kernel was, by its symbols (/proc/kallsyms): which system call or fault, and what it
 * waits for. */
#pragma once

#include "base/kept_store.h"
#include "profile/profile.h"

#include <stddef.h>
#include <stdint.h>

struct kernel_place {
	uint32_t offset; /* in the module "[kernel]" (profile/kernel_names.h) */
	enum wait_cause cause;
};

struct kernel_symbols;
/* Reads the symbols, or what is kept of them for this start of the machine; `kept` may be NULL. The
 * names are hidden from whom the kernel trusts less (kernel.kptr_restrict): then it has none. NULL:
 * no memory. */
struct kernel_symbols *kernel_symbols_create(struct kept_store *kept);
void kernel_symbols_destroy(struct kernel_symbols *symbols);

/* What a chain of kernel addresses says, innermost first; `in_call`: the thread is in a system
 * call. */
struct kernel_place kernel_symbols_place(const struct kernel_symbols *symbols,
					 const uint64_t *chain, size_t n, bool in_call);

/* The translator: program code in, counting code out.  It knows no process: code bytes and module
 * names come through a `struct code_source`, so that it can be tested on plain buffers. */
#pragma once

#include "tracer/translate/code_cache.h"
#include "tracer/translate/hot_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct code_source {
	void *context;
	/* Copies up to `size` bytes of executable code at pc; returns how many there are from pc
	 * on.  0: the code there must run natively, *why says the reason (static text). */
	size_t (*read)(void *context, uint64_t pc, uint8_t *buffer, size_t size, const char **why);
	/* Profile module and offset (ELF virtual address) of pc. */
	void (*locate)(void *context, uint64_t pc, uint32_t *module, uint64_t *offset);
	/* The 8 bytes of data at an address; false when it cannot be read. */
	bool (*value)(void *context, uint64_t address, uint64_t *value);
	/* Whether the code at pc is the program's own, not of a library of the system. */
	bool (*is_own)(void *context, uint64_t pc);
	/* The allocator (tracer/process/allocators.h) that begins at pc, or -1. */
	int (*allocator)(void *context, uint64_t pc);
	/* The kernel (tracer/kernel) whose function begins at pc, or -1.  NULL: there are none, and
	 * nothing looks out for them. */
	int (*kernel)(void *context, uint64_t pc);
};

struct trace_config;
struct inherited;
struct translator {
	struct code_cache cache;
	struct code_source source;
	bool failed;                /* memory ran short; nothing is translated any more */
	struct trace_config *trace; /* accesses are checked; NULL: not */
	/* What it makes is the second copy of code that another one checks: it has tables, counters
	 * and numbers of stubs of its own (tracer/gate/protocol.h), and records calls of allocators
	 * alone. */
	bool is_plain;
	/* That other one, or NULL.  Code that was not met there yet is a batch of its own here. */
	struct translator *checked;
	struct hot_code hot;         /* batches are made for; empty: not known */
	struct inherited *inherited; /* what another image had translated (inherit.h); or NULL */
	bool loop_is_slow;  /* the processor's LOOP instruction: checks do without it (landing.c) */
	bool quiet;         /* only one thread runs translated code */
	uint64_t spent_ns;  /* on translation */
	size_t batch_insns; /* how many instructions one request may translate */
	/* Code that is translated when control comes there, and not before; NULL: none is. */
	bool (*is_held)(void *context, uint64_t pc);
	void *held_context;
	/* Entries for indirect transfers made since the caller last emptied the list; key as in
	 * tracer/gate/protocol.h.  `replaces`: no thread may use an older one any more; then 0
	 * means that there is none. */
	struct new_entry {
		uint64_t key, entry;
		bool replaces;
	} * new_entries;
	size_t n_new_entries, cap_new_entries;
};

/* The cache address of the block at pc, translated now if need be; 0 with *why (static text) when
 * the program must go on natively there. */
uint64_t translate_body(struct translator *translator, uint64_t pc, const char **why);

/* The same for the entry that checks the program counter in rcx (indirect jumps and calls), and for
 * the landing that checks the one below the stack pointer (returns). */
uint64_t translate_entry(struct translator *translator, uint64_t pc, const char **why);
uint64_t translate_landing(struct translator *translator, uint64_t pc, const char **why);

/* Translates the blocks of translator->hot, and what is hot of the code behind them, where that is
 * not done yet. */
void translate_hot(struct translator *translator);
/* The same after forgetting all hot code that is translated already, in which other blocks may
 * begin anywhere: where threads went on after an interruption.  The old code stays right for
 * threads that are in it; they come to the new one at the next link. */
void translate_hot_anew(struct translator *translator);

/* Makes an unused translator that of the second copy of what `checked` translates. */
void translator_make_plain(struct translator *translator, struct translator *checked);

/* How far the tables of its threads lie behind SLOT_JUMPS and SLOT_RETURNS; what marks its calls in
 * G_CALL_OUT; below which number its counters lie; what is added to the numbers of its stubs;
 * whether calls of allocators are recorded. */
static inline int32_t translator_tables(const struct translator *translator)
{
	return translator->is_plain ? SLOT_PLAIN : 0;
}
static inline uint32_t translator_call_out(const struct translator *translator)
{
	return translator->is_plain ? CALL_OUT_PLAIN : 0;
}
static inline uint32_t translator_counters(const struct translator *translator)
{
	return translator->is_plain ? SLOT_N_COUNTERS : FIRST_PLAIN_COUNTER;
}
static inline uint32_t translator_first_stub(const struct translator *translator)
{
	return translator->is_plain ? FIRST_PLAIN_STUB : 0;
}
static inline bool translator_notes_allocators(const struct translator *translator)
{
	return translator->trace || translator->is_plain;
}

static inline int translator_kernel_at(const struct translator *translator, uint64_t pc)
{
	const struct code_source *source = &translator->source;
	return source->kernel ? source->kernel(source->context, pc) : -1;
}

/* The stub of that number in a request, or NULL: it is none of this translator's. */
const struct stub *translate_stub_of(const struct translator *translator, uint64_t number);
/* The block that stub number `stub` wants; links the stub.  *pc gets the program's address. */
uint64_t translate_stub(struct translator *translator, uint64_t stub, uint64_t *pc,
			const char **why);

/* The program's code in [*start, end) is going away: forgets its blocks, and those before them that
 * run on into them, and sends links that aim at them to the gate.  *start becomes the lowest
 * address of what was forgotten, if that is lower.  Returns how many blocks were forgotten. */
size_t translate_invalidate(struct translator *translator, uint64_t *start, uint64_t end);

/* The code cache of one process image, kept for others that run the same files.
 *
 * All of it is as it was, but for what depends on where things are: the program's modules, each of
 * which is at another address in the next process, and the arenas.  Every such place in the code
 * is noted when it is emitted (arena.h), and here all that is known of code is ordered by module.
 */
#pragma once

#include "base/kept_store.h"
#include "tracer/translate/trace_config.h"
#include "tracer/translate/translate.h"

#define NO_MODULE 0xff

struct kept_module {
	uint32_t module;    /* of the profile */
	uint64_t bias;      /* address of its offset 0 */
	uint64_t low, high; /* from the first to behind the last of its known addresses of code */
	/* how far the addresses of FIELD_TO_MODULE lie from their fields, by arena; first > last:
	 * there are none */
	struct {
		int32_t first, last;
	} reach[MAX_ARENAS];
};

/* The numbers of all items of a list, those of one module behind those of the one before. */
struct by_module {
	uint32_t *numbers;
	size_t begin[KEPT_MODULES + 1];
};

/* Code of a module: whole pages. */
struct kept_run {
	uint64_t start;
	uint32_t size;
	uint32_t at; /* in `code` */
};

/* What the table of the process shall have (code_table): an entry or a landing of code that ran. */
struct kept_entry {
	uint64_t pc;
	uint32_t at; /* cache offset */
	uint8_t arena;
	bool is_return;
};

struct kept_code {
	size_t n_users;
	size_t size; /* bytes of memory */
	/* the memory of its arenas is a copy, and the bytes of its blocks lie in `code` */
	struct code_cache cache;
	struct kept_module modules[KEPT_MODULES];
	size_t n_modules;
	uint8_t *code;
	size_t n_code;
	struct kept_run *runs;
	size_t n_runs, cap_runs;
	struct kept_entry *entries;
	size_t n_entries, cap_entries;
	struct by_module of_runs, of_blocks, of_links, of_stubs, of_landings, of_entries;
	struct by_module of_fields[MAX_ARENAS];
	size_t batch_insns;
	bool is_plain, is_traced;
	bool traces_all; /* all classes: nothing is checked, then, whose address is constant */
	struct trace_group *groups;
	size_t n_groups;
	uint32_t n_numbers;
	struct trace_operand *operands; /* of all groups */
	size_t n_operands;
	/* All lists lie in it (tracer/stock/code_file.h), or each is by itself. */
	struct kept_bytes file;
	bool failed; /* memory was short */
};

/* What a translator has made, or NULL: it cannot be kept, or memory is short.  Its code's memory
 * must be there.  `moves`: the translator is asked for nothing more; then its lists themselves are
 * taken, so that memory has them once. */
struct kept_code *kept_code_take(struct translator *translator, bool moves);
/* Finds the bytes of the blocks of all modules in `code`.  False: some are not there. */
bool kept_code_find_bytes(struct kept_code *kept);
/* One user more, and one less: the last one frees it.  NULL is allowed. */
struct kept_code *kept_code_use(struct kept_code *kept);
void kept_code_release(struct kept_code *kept);

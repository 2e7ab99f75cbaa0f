/* What is known of a module's code: its functions, lines and inlined calls, as ranges in order.  A
 * child reads them from the module's files (read_facts.h); they are kept between runs
 * (kept_names.h); rows of a profile are made from them (name_code.h).  All addresses are ELF
 * virtual addresses. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* A text is its place in `texts`. */
#define FACT_NONE UINT32_MAX

/* Calls that are inlined in each other; dwarf_inlines.c goes less deep. */
#define FACT_MOST_DEPTH 600

struct fact_function {
	uint64_t start, end;
	uint32_t name, file, line; /* name FACT_NONE: no function; file "", line 0: not known */
};

struct fact_line {
	uint64_t start, end;
	uint32_t head_file, head_line; /* of the first byte, where several lines can begin */
	uint32_t file, line;           /* of all others; file FACT_NONE: not known */
};

struct fact_inlined {
	uint64_t start, end;
	uint32_t call; /* the innermost, or FACT_NONE: nothing is inlined there */
	uint32_t unused;
};

struct fact_call {
	uint32_t caller; /* an earlier one, or FACT_NONE */
	uint32_t depth;  /* how many it stands in */
	uint32_t name, file, line, call_file, call_line;
};

/* A place where a debug file was looked for. */
struct fact_place {
	uint32_t path;
	uint32_t used; /* not 0: the file that is there is the module's */
};

struct name_facts {
	struct fact_function *functions;
	struct fact_line *lines;
	struct fact_inlined *inlined;
	struct fact_call *calls;
	struct fact_place *places;
	char *texts; /* each ends with a NUL */
	size_t n_functions, n_lines, n_inlined, n_calls, n_places, n_texts;
	size_t cap_functions, cap_lines, cap_inlined, cap_calls, cap_places, cap_texts;
	bool is_lasting; /* true as long as the module's file and the places stay as they are */
};

void name_facts_deinit(struct name_facts *facts);

/* What holds at an address; NULL: nobody has asked yet.  *next gets, where that is so, the start of
 * the next one that is known (UINT64_MAX: there is none). */
const struct fact_function *name_facts_function(const struct name_facts *facts, uint64_t at);
const struct fact_line *name_facts_line(const struct name_facts *facts, uint64_t at,
					uint64_t *next);
const struct fact_inlined *name_facts_inlined(const struct name_facts *facts, uint64_t at,
					      uint64_t *next);
/* Whether all is known of the code [start, end), and which function `start` belongs to. */
bool name_facts_know(const struct name_facts *facts, uint64_t start, uint64_t end);

static inline const char *name_facts_text(const struct name_facts *facts, uint32_t text)
{
	return text == FACT_NONE ? "" : facts->texts + text;
}

/* All of it as bytes of this machine. */
void name_facts_write(const struct name_facts *facts, FILE *stream);

/* Where bytes come from: gives the next `size` of them, or false. */
struct fact_source {
	bool (*take)(void *context, void *to, size_t size);
	void *context;
};

/* Reads what was written, and checks everything: *facts is replaced.  False: it makes no sense, or
 * memory is short, and *facts is empty. */
bool name_facts_read(const struct fact_source *source, struct name_facts *facts);

/* Questions are asked in ascending order, so that what is new comes in order, too; in the end it is
 * merged with what was known. */
#include "names/read_facts.h"

#include "base/array.h"
#include "base/hash.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "symbols/demangle.h"
#include "symbols/dwarf_inlines.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Of larger functions only the code that ran is read: without symbols, all of a program can be one.
 */
#define MOST_FUNCTION_BYTES ((uint64_t)1 << 18)

struct reading {
	struct symbol_module *symbols;
	struct name_facts *facts;          /* as known before; texts and calls are added to these */
	struct name_facts new;             /* ranges */
	struct u64_map texts;              /* by hash: their places */
	struct u64_map calls;              /* by hash: their numbers */
	struct u64_map call_of;            /* by address of the dwarf_inline: the same */
	uint64_t lines_done, inlined_done; /* what is new ends there */
};

/* ---- texts and calls, each once ---- */

static uint32_t add_text(struct reading *reading, const char *text)
{
	struct name_facts *facts = reading->facts;
	const size_t size = strlen(text) + 1;
	const uint64_t hash = rf_hash(text, size);
	const uint32_t *known = u64_map_find(&reading->texts, hash);
	if (known && strcmp(facts->texts + *known, text) == 0)
		return *known;
	while (facts->cap_texts - facts->n_texts < size)
		if (!rf_array_reserve((void **)&facts->texts, facts->cap_texts, &facts->cap_texts,
				      1))
			return FACT_NONE;
	const uint32_t place = (uint32_t)facts->n_texts;
	if (facts->n_texts + size >= FACT_NONE || !u64_map_set(&reading->texts, hash, place))
		return FACT_NONE;
	memcpy(facts->texts + place, text, size);
	facts->n_texts += size;
	return place;
}

/* A source file as code at `at` names it, by its whole path where its directory is known.  A ".."
 * stays, which means another place where the directory before it is a link. */
static uint32_t add_file(struct reading *reading, const char *file, uint64_t at)
{
	const char *directory = file[0] && file[0] != '/' && file[0] != '<'
					? symbol_directory(reading->symbols, at)
					: NULL;
	char *path = NULL;
	if (!directory || directory[0] != '/')
		return add_text(reading, file);
	if (asprintf(&path, "%s/%s", directory, file) < 0)
		return FACT_NONE;
	const uint32_t text = add_text(reading, path);
	free(path);
	return text;
}

static uint32_t add_call(struct reading *reading, const struct fact_call *call)
{
	struct name_facts *facts = reading->facts;
	const uint64_t hash = rf_hash(call, sizeof(*call));
	const uint32_t *known = u64_map_find(&reading->calls, hash);
	if (known && memcmp(&facts->calls[*known], call, sizeof(*call)) == 0)
		return *known;
	const uint32_t number = (uint32_t)facts->n_calls;
	if (number >= FACT_NONE - 1 || !u64_map_set(&reading->calls, hash, number) ||
	    !rf_array_push(facts->calls, facts->n_calls, facts->cap_calls, *call))
		return FACT_NONE;
	return number;
}

static bool remember_known(struct reading *reading)
{
	const struct name_facts *facts = reading->facts;
	bool ok = true;
	for (size_t at = 0, size; at < facts->n_texts && ok; at += size) {
		size = strlen(facts->texts + at) + 1;
		ok = u64_map_set(&reading->texts, rf_hash(facts->texts + at, size), (uint32_t)at);
	}
	for (size_t i = 0; i < facts->n_calls && ok; i++)
		ok = u64_map_set(&reading->calls, rf_hash(&facts->calls[i], sizeof(*facts->calls)),
				 (uint32_t)i);
	return ok;
}

/* Lambdas are told apart by where they stand: most compilers give them no linkage name. */
static char *name_of_inlined(const struct dwarf_inline *call)
{
	const char *slash = strrchr(call->file, '/');
	char *name;
	if (strcmp(call->name, "operator()") != 0 || !call->line)
		return symbol_demangle(call->name[0] ? call->name : "(without a name)");
	return asprintf(&name, "operator() (%s:%" PRIu32 ")", slash ? slash + 1 : call->file,
			call->line) < 0
		       ? NULL
		       : name;
}

/* The call with those that it stands in; FACT_NONE: no memory.  It calls itself as deep as calls
 * are inlined in each other, which dwarf_inlines bounds. */
static uint32_t number_of_call(struct reading *reading, const struct dwarf_inline *call,
			       uint64_t at)
{
	const uint32_t *known = u64_map_find(&reading->call_of, (uintptr_t)call);
	if (known)
		return *known;
	const uint32_t caller =
		call->caller ? number_of_call(reading, call->caller, at) : FACT_NONE;
	char *name = name_of_inlined(call);
	const struct fact_call fact = {
		.caller = caller,
		.depth = caller == FACT_NONE ? 0 : reading->facts->calls[caller].depth + 1,
		.name = name ? add_text(reading, name) : FACT_NONE,
		.file = add_file(reading, call->file, at),
		.line = call->line,
		.call_file = add_file(reading, call->call_file, at),
		.call_line = call->call_line,
	};
	free(name);
	const bool complete = (!call->caller || caller != FACT_NONE) && fact.name != FACT_NONE &&
			      fact.file != FACT_NONE && fact.call_file != FACT_NONE;
	const uint32_t number = complete ? add_call(reading, &fact) : FACT_NONE;
	return number != FACT_NONE && u64_map_set(&reading->call_of, (uintptr_t)call, number)
		       ? number
		       : FACT_NONE;
}

/* ---- one address ---- */

/* The line at `at` as two members of a fact; false: no memory. */
static bool line_at(struct reading *reading, uint64_t at, uint32_t *file, uint32_t *line)
{
	const char *path;
	*file = FACT_NONE;
	*line = 0;
	if (!symbol_line(reading->symbols, at, &path, line)) {
		*line = 0;
		return true;
	}
	*file = add_file(reading, path, at);
	return *file != FACT_NONE;
}

/* What neither `facts` nor `new` knows: the row around `at`, cut to what is free, and to [from, to)
 * where nothing is known of it. */
static struct rf_error *add_line(struct reading *reading, uint64_t at, uint64_t to, uint64_t next)
{
	const struct name_facts *known = reading->facts;
	const size_t n_before = rf_search(known->n_lines, i, known->lines[i].start <= at);
	uint64_t least = n_before ? known->lines[n_before - 1].end : 0;
	struct fact_line row;
	least = least > reading->lines_done ? least : reading->lines_done;
	symbol_row(reading->symbols, at, &row.start, &row.end);
	row.start = row.start > least ? row.start : least;
	row.end = row.end < next ? row.end : next;
	if (!line_at(reading, row.start, &row.head_file, &row.head_line))
		return rf_error_no_memory();
	row.file = row.head_file;
	row.line = row.head_line;
	if (row.start + 1 < row.end && !line_at(reading, row.start + 1, &row.file, &row.line))
		return rf_error_no_memory();
	if (row.head_file == FACT_NONE && row.file == FACT_NONE) {
		row.start = at;
		row.end = row.end < to ? row.end : to;
	}
	reading->lines_done = row.end;
	struct name_facts *new = &reading->new;
	return rf_array_add(new->lines, new->n_lines, new->cap_lines, row);
}

static struct rf_error *read_lines(struct reading *reading, uint64_t from, uint64_t to)
{
	struct rf_error *error = NULL;
	for (uint64_t at = from, next; at < to && !error;) {
		const struct fact_line *known = name_facts_line(reading->facts, at, &next);
		if (known) {
			at = known->end;
			continue;
		}
		if (at >= reading->lines_done)
			error = add_line(reading, at, to, next);
		at = reading->lines_done;
	}
	return error;
}

static struct rf_error *add_inlined(struct reading *reading, uint64_t at, uint64_t to,
				    uint64_t next)
{
	struct name_facts *new = &reading->new;
	struct fact_inlined row = {.start = at, .call = FACT_NONE};
	const struct dwarf_inline *call = symbol_inlined(reading->symbols, at, &row.end);
	row.end = row.end > at ? row.end : at + 1; /* whatever a damaged file says */
	row.end = row.end < next ? row.end : next;
	row.end = row.end < to ? row.end : to;
	reading->inlined_done = row.end;
	if (call && (row.call = number_of_call(reading, call, at)) == FACT_NONE)
		return rf_error_no_memory();
	struct fact_inlined *last = new->n_inlined ? &new->inlined[new->n_inlined - 1] : NULL;
	if (last && last->end == at && last->call == row.call) {
		last->end = row.end;
		return NULL;
	}
	return rf_array_add(new->inlined, new->n_inlined, new->cap_inlined, row);
}

static struct rf_error *read_inlined(struct reading *reading, uint64_t from, uint64_t to)
{
	struct rf_error *error = NULL;
	for (uint64_t at = from, next; at < to && !error;) {
		const struct fact_inlined *known = name_facts_inlined(reading->facts, at, &next);
		if (known) {
			at = known->end;
			continue;
		}
		if (at >= reading->inlined_done)
			error = add_inlined(reading, at, to, next);
		at = reading->inlined_done;
	}
	return error;
}

/* ---- questions ---- */

/* The function at `at`, if it is new; one byte without a function where there is none. */
static struct rf_error *read_function(struct reading *reading, uint64_t at,
				      struct code_question *whole)
{
	struct name_facts *new = &reading->new;
	struct fact_function *last =
		new->n_functions ? &new->functions[new->n_functions - 1] : NULL;
	struct fact_function row = {.start = at, .end = at + 1, FACT_NONE, FACT_NONE};
	struct symbol symbol;
	*whole = (struct code_question){at, at};
	if (name_facts_function(reading->facts, at) || (last && at < last->end))
		return NULL;
	if (symbol_find(reading->symbols, at, &symbol)) {
		row = (struct fact_function){symbol.start, symbol.end,
					     add_text(reading, symbol.name),
					     add_file(reading, symbol.file, at), symbol.line};
		if (row.name == FACT_NONE || row.file == FACT_NONE)
			return rf_error_no_memory();
		if (row.end - row.start <= MOST_FUNCTION_BYTES)
			*whole = (struct code_question){row.start, row.end};
	}
	return rf_array_add(new->functions, new->n_functions, new->cap_functions, row);
}

static struct rf_error *read_question(struct reading *reading, const struct code_question *question)
{
	struct code_question whole;
	return read_function(reading, question->start, &whole)
		       ?: read_lines(reading, whole.start, whole.end)
		       ?: read_inlined(reading, whole.start, whole.end)
		       ?: read_lines(reading, question->start, question->end)
		       ?: read_inlined(reading, question->start, question->end);
}

/* ---- the end ---- */

static int compare_starts(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right; /* the first member of each row */
	return rf_compare(*a, *b);
}

#define MERGE(facts, new, name)                                                          \
	({                                                                               \
		struct rf_error *merge_error = NULL;                                     \
		for (size_t i = 0; !merge_error && i < (new)->n_##name; i++)             \
			merge_error = rf_array_add((facts)->name, (facts)->n_##name,     \
						   (facts)->cap_##name, (new)->name[i]); \
		if ((new)->n_##name)                                                     \
			qsort((facts)->name, (facts)->n_##name, sizeof(*(facts)->name),  \
			      compare_starts);                                           \
		merge_error;                                                             \
	})

static struct rf_error *take_places(struct reading *reading)
{
	struct name_facts *facts = reading->facts;
	struct rf_error *error = NULL;
	const char *path;
	bool used;
	facts->n_places = 0;
	for (size_t i = 0; !error && (path = symbol_module_place(reading->symbols, i, &used));
	     i++) {
		const struct fact_place place = {add_text(reading, path), used};
		error = place.path == FACT_NONE ? rf_error_no_memory()
						: rf_array_add(facts->places, facts->n_places,
							       facts->cap_places, place);
	}
	return error;
}

struct rf_error *read_facts(struct symbol_module *symbols, const struct code_question *questions,
			    size_t n, struct name_facts *facts)
{
	struct reading reading = {.symbols = symbols, .facts = facts};
	struct name_facts *new = &reading.new;
	struct rf_error *error = remember_known(&reading) ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < n; i++)
		error = read_question(&reading, &questions[i]);
	error = error ?: MERGE(facts, new, functions);
	error = error ?: MERGE(facts, new, lines);
	error = error ?: MERGE(facts, new, inlined);
	error = error ?: take_places(&reading);
	facts->is_lasting = !error && symbol_module_is_lasting(symbols);
	u64_map_deinit(&reading.texts);
	u64_map_deinit(&reading.calls);
	u64_map_deinit(&reading.call_of);
	name_facts_deinit(new);
	return error;
}

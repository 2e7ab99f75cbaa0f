/* Tables of ranges: look-ups, and their way through a pipe or a file. */
#include "names/name_facts.h"

#include "base/array.h"
#include "base/search.h"

#include <stdlib.h>
#include <string.h>

void name_facts_deinit(struct name_facts *facts)
{
	free(facts->functions);
	free(facts->lines);
	free(facts->inlined);
	free(facts->calls);
	free(facts->places);
	free(facts->texts);
	*facts = (struct name_facts){0};
}

/* ---- look-ups ---- */

/* The row of a sorted table that holds `at`, or NULL. */
#define FIND(rows, n_rows, at, next)                                                        \
	({                                                                                  \
		const size_t n_before = rf_search(n_rows, i, (rows)[i].start <= (at));      \
		*(next) = n_before < (n_rows) ? (rows)[n_before].start : UINT64_MAX;        \
		n_before && (at) < (rows)[n_before - 1].end ? &(rows)[n_before - 1] : NULL; \
	})

const struct fact_function *name_facts_function(const struct name_facts *facts, uint64_t at)
{
	uint64_t next;
	return FIND(facts->functions, facts->n_functions, at, &next);
}

const struct fact_line *name_facts_line(const struct name_facts *facts, uint64_t at, uint64_t *next)
{
	return FIND(facts->lines, facts->n_lines, at, next);
}

const struct fact_inlined *name_facts_inlined(const struct name_facts *facts, uint64_t at,
					      uint64_t *next)
{
	return FIND(facts->inlined, facts->n_inlined, at, next);
}

bool name_facts_know(const struct name_facts *facts, uint64_t start, uint64_t end)
{
	uint64_t next;
	const struct fact_line *line;
	const struct fact_inlined *inlined;
	if (!name_facts_function(facts, start))
		return false;
	for (uint64_t at = start; at < end; at = line->end)
		if (!(line = name_facts_line(facts, at, &next)))
			return false;
	for (uint64_t at = start; at < end; at = inlined->end)
		if (!(inlined = name_facts_inlined(facts, at, &next)))
			return false;
	return true;
}

/* ---- as bytes ---- */

struct head {
	uint64_t n_functions, n_lines, n_inlined, n_calls, n_places, n_texts, is_lasting;
};

/* Of what there is nothing, there are no rows either. */
static void write_rows(const void *rows, size_t size, size_t n, FILE *stream)
{
	if (n)
		fwrite(rows, size, n, stream);
}

#define WRITE(facts, name, stream) \
	write_rows((facts)->name, sizeof(*(facts)->name), (facts)->n_##name, stream)

void name_facts_write(const struct name_facts *facts, FILE *stream)
{
	const struct head head = {facts->n_functions, facts->n_lines,  facts->n_inlined,
				  facts->n_calls,     facts->n_places, facts->n_texts,
				  facts->is_lasting};
	fwrite(&head, sizeof(head), 1, stream);
	WRITE(facts, functions, stream);
	WRITE(facts, lines, stream);
	WRITE(facts, inlined, stream);
	WRITE(facts, calls, stream);
	WRITE(facts, places, stream);
	WRITE(facts, texts, stream);
}

/* Takes `n` rows as they come: memory grows with what is there, not with what is said to be. */
static bool take_rows(const struct fact_source *source, uint64_t n, size_t size, void **rows,
		      size_t *n_rows, size_t *cap)
{
	while (*n_rows < n) {
		if (!rf_array_reserve(rows, *n_rows, cap, size))
			return false;
		const size_t room = *cap - *n_rows;
		const size_t now = n - *n_rows < room ? (size_t)(n - *n_rows) : room;
		if (!source->take(source->context, (char *)*rows + *n_rows * size, now * size))
			return false;
		*n_rows += now;
	}
	return true;
}

#define TAKE(source, head, facts, name)                                                      \
	take_rows(source, (head)->n_##name, sizeof(*(facts)->name), (void **)&(facts)->name, \
		  &(facts)->n_##name, &(facts)->cap_##name)

static bool take_all(const struct fact_source *source, struct name_facts *facts)
{
	struct head head;
	if (!source->take(source->context, &head, sizeof(head)) || head.n_texts >= FACT_NONE ||
	    head.n_calls >= FACT_NONE)
		return false;
	facts->is_lasting = head.is_lasting;
	return TAKE(source, &head, facts, functions) && TAKE(source, &head, facts, lines) &&
	       TAKE(source, &head, facts, inlined) && TAKE(source, &head, facts, calls) &&
	       TAKE(source, &head, facts, places) && TAKE(source, &head, facts, texts);
}

/* ---- whether it makes sense ---- */

static bool is_text(const struct name_facts *facts, uint32_t text)
{
	return text < facts->n_texts;
}

static bool is_text_or_none(const struct name_facts *facts, uint32_t text)
{
	return text == FACT_NONE || is_text(facts, text);
}

/* Ranges in order, without overlaps. */
#define IN_ORDER(rows, i) \
	((rows)[i].start < (rows)[i].end && (!(i) || (rows)[(i)-1].end <= (rows)[i].start))

static bool check_ranges(const struct name_facts *facts)
{
	bool right = true;
	for (size_t i = 0; i < facts->n_functions; i++) {
		const struct fact_function *row = &facts->functions[i];
		right &= IN_ORDER(facts->functions, i) && is_text_or_none(facts, row->name) &&
			 is_text_or_none(facts, row->file);
	}
	for (size_t i = 0; i < facts->n_lines; i++) {
		const struct fact_line *row = &facts->lines[i];
		right &= IN_ORDER(facts->lines, i) && is_text_or_none(facts, row->head_file) &&
			 is_text_or_none(facts, row->file);
	}
	for (size_t i = 0; i < facts->n_inlined; i++) {
		const uint32_t call = facts->inlined[i].call;
		right &=
			IN_ORDER(facts->inlined, i) && (call == FACT_NONE || call < facts->n_calls);
	}
	return right;
}

static bool check(const struct name_facts *facts)
{
	bool right = check_ranges(facts) &&
		     (!facts->n_texts || facts->texts[facts->n_texts - 1] == '\0');
	for (size_t i = 0; i < facts->n_calls; i++) {
		const struct fact_call *row = &facts->calls[i];
		right &= (row->caller == FACT_NONE
				  ? row->depth == 0
				  : row->caller < i && row->depth <= FACT_MOST_DEPTH &&
					    row->depth == facts->calls[row->caller].depth + 1) &&
			 is_text(facts, row->name) && is_text(facts, row->file) &&
			 is_text(facts, row->call_file);
	}
	for (size_t i = 0; i < facts->n_places; i++)
		right &= is_text(facts, facts->places[i].path);
	return right;
}

bool name_facts_read(const struct fact_source *source, struct name_facts *facts)
{
	name_facts_deinit(facts);
	if (take_all(source, facts) && check(facts))
		return true;
	name_facts_deinit(facts);
	return false;
}

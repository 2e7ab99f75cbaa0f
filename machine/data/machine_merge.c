/* What two measurements of one machine have together. */
#include "machine/data/machine_merge.h"

#include <stdlib.h>
#include <string.h>

static const struct machine_count *find_count(const struct machine *machine, int threads)
{
	for (size_t i = 0; i < machine->n_counts; i++)
		if (machine->counts[i].threads == threads)
			return &machine->counts[i];
	return NULL;
}

bool machine_has_count(const struct machine *machine, int threads, bool quick)
{
	const struct machine_count *count = find_count(machine, threads);
	return count && (quick || count->complete);
}

static bool has_node_rows(const struct machine *machine)
{
	for (size_t i = 0; i < machine->n_roofs; i++)
		if (machine->roofs[i].by_node)
			return true;
	return false;
}

static int compare_counts(const void *left, const void *right)
{
	const struct machine_count *l = left, *r = right;
	return (l->threads > r->threads) - (l->threads < r->threads);
}

/* Sorts by thread count, keeping the order of rows with the same one: the table reads in that
 * order. */
static void sort_roofs(struct roof *roofs, size_t n)
{
	for (size_t i = 1; i < n; i++) {
		struct roof roof = roofs[i];
		size_t to = i;
		for (; to > 0 && roofs[to - 1].threads > roof.threads; to--)
			roofs[to] = roofs[to - 1];
		roofs[to] = roof;
	}
}

static struct rf_error *merge_roofs(struct machine *newer, const struct machine *older)
{
	bool keep_node_rows = !has_node_rows(newer);
	struct roof *roofs =
		reallocarray(newer->roofs, newer->n_roofs + older->n_roofs + 1, sizeof(*roofs));
	if (!roofs)
		return rf_error_no_memory();
	newer->roofs = roofs;
	for (size_t i = 0; i < older->n_roofs; i++) {
		const struct roof *roof = &older->roofs[i];
		if (roof->by_node ? keep_node_rows : !find_count(newer, roof->threads))
			roofs[newer->n_roofs++] = *roof;
	}
	sort_roofs(roofs, newer->n_roofs);
	return NULL;
}

static struct rf_error *merge_counts(struct machine *newer, const struct machine *older)
{
	size_t had = newer->n_counts;
	struct machine_count *counts =
		reallocarray(newer->counts, had + older->n_counts + 1, sizeof(*counts));
	if (!counts)
		return rf_error_no_memory();
	newer->counts = counts;
	for (size_t i = 0; i < older->n_counts; i++)
		if (!find_count(newer, older->counts[i].threads))
			counts[newer->n_counts++] = older->counts[i];
	qsort(counts, newer->n_counts, sizeof(*counts), compare_counts);
	return NULL;
}

static struct rf_error *merge_notes(struct machine *newer, struct machine *older)
{
	char **notes =
		reallocarray(newer->notes, newer->n_notes + older->n_notes + 1, sizeof(*notes));
	if (!notes)
		return rf_error_no_memory();
	newer->notes = notes;
	for (size_t i = 0; i < older->n_notes; i++) {
		bool there = false;
		for (size_t k = 0; k < newer->n_notes; k++)
			there |= !strcmp(notes[k], older->notes[i]);
		if (there)
			continue;
		notes[newer->n_notes++] = older->notes[i];
		older->notes[i] = NULL;
	}
	return NULL;
}

struct rf_error *machine_merge(struct machine *newer, struct machine *older)
{
	/* Rows first: they look at the counts that `newer` has of its own. */
	struct rf_error *error = merge_roofs(newer, older);
	if (!error)
		error = merge_counts(newer, older);
	return error ? error : merge_notes(newer, older);
}

/* The machine's description: its end, looking up a roof among its rows, and what two measurements
 * of one machine have together. */
#include "machine/data/machine.h"

#include "machine/data/roof_history.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void machine_deinit(struct machine *machine)
{
	for (size_t i = 0; i < machine->n_notes; i++)
		free(machine->notes[i]);
	free(machine->notes);
	free(machine->cpu_model);
	free(machine->microarchitecture);
	free(machine->custom_roofs);
	free(machine->counts);
	free(machine->sizes);
	free(machine->roofs);
	*machine = (struct machine){0};
}

bool roof_is_same(const struct roof *a, const struct roof *b)
{
	return a->kind == b->kind && a->precision == b->precision && a->op == b->op &&
	       a->level == b->level && (a->kind != ROOF_COMPUTE || a->isa == b->isa);
}

bool roof_matches(const struct roof *roof, struct roof_key key)
{
	return roof->kind == key.kind && !roof->by_node && roof->op == key.op &&
	       roof->precision == key.precision && roof->level == key.level &&
	       (key.isa == ROOF_ISA_ANY || roof->isa == key.isa);
}

double roof_per_cycle(const struct roof *roof, double clock_ghz, double clock_fp_ghz)
{
	const bool wide = roof->isa == ROOF_ISA_AVX2 || roof->isa == ROOF_ISA_AVX512F ||
			  roof->isa == ROOF_ISA_AMX;
	const double clock = wide && clock_fp_ghz > 0 ? clock_fp_ghz : clock_ghz;
	return roof->kind == ROOF_COMPUTE && clock > 0 ? roof->best / clock : NAN;
}

double machine_roof(const struct roof *roofs, size_t n_roofs, struct roof_key key, double threads)
{
	/* The nearest measured thread counts on both sides and the best rows there. */
	int below = 0, above = 0;
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < n_roofs; i++) {
		const struct roof *roof = &roofs[i];
		if (!roof_matches(roof, key))
			continue;
		if (roof->threads <= threads && roof->threads >= below) {
			at_below = roof->threads > below ? roof->best : fmax(at_below, roof->best);
			below = roof->threads;
		}
		if (roof->threads >= threads && (!above || roof->threads <= above)) {
			at_above = roof->threads != above ? roof->best : fmax(at_above, roof->best);
			above = roof->threads;
		}
	}
	/* Outside of the measured counts the nearest one holds. */
	if (!below || !above || below == above)
		return below ? at_below : at_above;
	return at_below + (at_above - at_below) * (threads - below) / (above - below);
}

bool machine_roof_interpolated(const struct roof *roofs, size_t n_roofs, double threads)
{
	for (size_t i = 0; i < n_roofs; i++)
		if (!roofs[i].by_node && fabs(roofs[i].threads - threads) < 0.02 * threads)
			return false;
	return n_roofs > 0;
}

/* ---- lines that move ---- */

const char *line_way_words(enum line_way way)
{
	static const char *const words[LINE_WAYS] = {"one core", "one last cache",
						     "two last caches"};
	return words[way];
}

static const char *const way_names[LINE_WAYS] = {"core", "cache", "beyond"};

const char *line_way_name(enum line_way way)
{
	return way_names[way];
}

enum line_way line_way_find(const char *name)
{
	enum line_way way = 0;
	while (way < LINE_WAYS && strcmp(way_names[way], name) != 0)
		way++;
	return way;
}

/* ---- two measurements of one machine ---- */

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

static bool same_row(const struct roof *a, const struct roof *b)
{
	return roof_is_same(a, b) && a->threads == b->threads && a->by_node == b->by_node &&
	       a->cpu_node == b->cpu_node && a->memory_node == b->memory_node;
}

struct roof *machine_row(const struct machine *machine, const struct roof *like)
{
	for (size_t i = 0; i < machine->n_roofs; i++)
		if (same_row(&machine->roofs[i], like))
			return &machine->roofs[i];
	return NULL;
}

/* Rows that both have been measured twice. */
static void merge_histories(struct machine *newer, const struct machine *older)
{
	for (size_t i = 0; i < newer->n_roofs; i++) {
		const struct roof *before = machine_row(older, &newer->roofs[i]);
		if (!before || !before->n_measured)
			continue;
		struct roof row = *before;
		roof_take_again(&row, &newer->roofs[i]);
		newer->roofs[i] = row;
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
	if (!newer->n_sizes) {
		free(newer->sizes);
		newer->sizes = older->sizes;
		newer->n_sizes = older->n_sizes;
		newer->sizes_in_small_pages = older->sizes_in_small_pages;
		older->sizes = NULL;
		older->n_sizes = 0;
	}
	if (!newer->n_transfers) {
		memcpy(newer->transfers, older->transfers, sizeof(newer->transfers));
		newer->n_transfers = older->n_transfers;
	}
	if (!newer->pages.measured)
		newer->pages = older->pages;
	merge_histories(newer, older);
	/* Rows first: they look at the counts that `newer` has of its own. */
	struct rf_error *error = merge_roofs(newer, older);
	if (!error)
		error = merge_counts(newer, older);
	return error ? error : merge_notes(newer, older);
}

/* Counts by branch, and how much bursts differ. */
#include "tracer/branches/branch_counts.h"

#include "base/array.h"
#include "base/search.h"

#include <math.h>
#include <string.h>

void branch_counts_deinit(struct branch_counts *counts)
{
	free(counts->items);
	free(counts->late);
	free(counts->touched);
	u64_map_deinit(&counts->index);
	*counts = (struct branch_counts){0};
}

/* NULL: memory is short. */
static struct counted_branch *find(struct branch_counts *counts, uint32_t module, uint64_t offset,
				   const struct executed_branch *branch)
{
	const uint32_t *known = u64_map_find(&counts->index, branch->place);
	const struct counted_branch new = {.module = module,
					   .offset = offset,
					   .kind = (uint8_t)branch->kind};
	if (known)
		return &counts->items[*known];
	if (!rf_array_push(counts->items, counts->n_items, counts->cap_items, new))
		return NULL;
	if (u64_map_set(&counts->index, branch->place, (uint32_t)counts->n_items - 1))
		return &counts->items[counts->n_items - 1];
	counts->n_items--;
	return NULL;
}

void branch_counts_add(struct branch_counts *counts, uint32_t module, uint64_t offset,
		       const struct executed_branch *branch, const struct branch_guesses *guesses)
{
	struct counted_branch *item = find(counts, module, offset, branch);
	if (!item) {
		counts->memory_short = true;
		return;
	}
	const bool wrong = guesses->tage == BRANCH_WRONG,
		   plain_wrong = guesses->plain == BRANCH_WRONG;
	if (item->early.outcomes < BRANCH_TEACHES) {
		item->early.outcomes++;
		item->early.wrong += wrong;
		item->early.plain_wrong += plain_wrong;
	} else {
		item->burst.outcomes++;
		item->burst.wrong += wrong;
		item->burst.plain_wrong += plain_wrong;
	}
	item->taken += branch->kind != PREDICT_CONDITIONAL || branch->taken;
	counts->n_outcomes++;
	if (item->in_burst)
		return;
	item->in_burst = rf_array_push(counts->touched, counts->n_touched, counts->cap_touched,
				       (uint32_t)(item - counts->items));
	counts->memory_short |= !item->in_burst;
}

/* Adds the burst at hand to the late outcomes of its branch. */
static bool end_burst(struct branch_counts *counts, struct counted_branch *item)
{
	const struct late_outcomes none = {.wrong = {0}};
	if (!item->late) {
		if (!rf_array_push(counts->late, counts->n_late, counts->cap_late, none))
			return false;
		item->late = (uint32_t)counts->n_late;
	}
	struct late_outcomes *late = &counts->late[item->late - 1];
	ratio_add(&late->wrong, item->burst.wrong, item->burst.outcomes);
	late->all.outcomes += item->burst.outcomes;
	late->all.wrong += item->burst.wrong;
	late->all.plain_wrong += item->burst.plain_wrong;
	return true;
}

void branch_counts_end_burst(struct branch_counts *counts)
{
	counts->n_bursts += counts->n_touched > 0;
	for (size_t i = 0; i < counts->n_touched; i++) {
		struct counted_branch *item = &counts->items[counts->touched[i]];
		counts->memory_short |= item->burst.outcomes && !end_burst(counts, item);
		memset(&item->burst, 0, sizeof(item->burst));
		item->in_burst = false;
	}
	counts->n_touched = 0;
}

_Static_assert((int)PREDICT_CONDITIONAL == PROFILE_BRANCH_CONDITIONAL &&
		       (int)PREDICT_JUMP == PROFILE_BRANCH_JUMP &&
		       (int)PREDICT_CALL == PROFILE_BRANCH_CALL &&
		       (int)PREDICT_RETURN == PROFILE_BRANCH_RETURN,
	       "kinds go into the profile as they are");

static double share(uint64_t n, uint64_t of)
{
	return of ? (double)n / (double)of : 0;
}

/* Half of the 95 % interval of a share by n outcomes as if each were by chance (Wilson 1927, its
 * wider side), so that what was never seen may happen all the same. */
static double by_chance(double p, double n)
{
	const double z = 1.96, z2 = z * z;
	const double middle = (p + z2 / (2 * n)) / (1 + z2 / n);
	const double half = z / (1 + z2 / n) * sqrt(p * (1 - p) / n + z2 / (4 * n * n));
	return fmax(middle + half - p, p - middle + half);
}

/* Outcomes of one burst are alike, those of several tell how much the branch changes: the wider of
 * both.  One burst cannot tell that. */
static double halfwidth(const struct late_outcomes *late, double p, double n)
{
	const double chance = by_chance(p, n);
	const double bursts = late->wrong.n > 1 ? ratio_halfwidth(&late->wrong) : 0;
	return fmin(1, isfinite(bursts) ? fmax(chance, bursts) : chance);
}

static struct profile_branch row_of(const struct branch_counts *counts,
				    const struct counted_branch *item)
{
	static const struct late_outcomes none;
	const struct late_outcomes *behind = item->late ? &counts->late[item->late - 1] : &none;
	const struct branch_tally *late = &behind->all;
	const bool is_taught = late->outcomes >= BRANCH_TEACHES;
	const struct branch_tally all = {late->outcomes + item->early.outcomes,
					 late->wrong + item->early.wrong,
					 late->plain_wrong + item->early.plain_wrong};
	const struct branch_tally *of = is_taught ? late : &all;
	const double p = share(of->wrong, of->outcomes);
	return (struct profile_branch){
		.module = item->module,
		.offset = item->offset,
		.kind = (enum profile_branch_kind)item->kind,
		.outcomes = all.outcomes,
		.taken = item->taken,
		.wrong = all.wrong,
		.plain_wrong = all.plain_wrong,
		.share = p,
		.halfwidth = halfwidth(behind, p, (double)of->outcomes),
		.plain_share = share(of->plain_wrong, of->outcomes),
	};
}

static int by_place(const void *a, const void *b)
{
	const struct profile_branch *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

/* Of the blocks that a branch is in it is the last instruction.  What signals have cut in two is
 * taken back by counts below 0. */
static struct rf_error *add_executions(struct profile *profile)
{
	struct profile_branch *rows = profile->branches;
	const size_t n = profile->n_branches;
	int64_t *sums = calloc(n, sizeof(*sums));
	if (!sums)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_counts; i++) {
		const struct profile_count *count = &profile->counts[i];
		const struct profile_block *block = &profile->blocks[count->block];
		size_t at = rf_search(n, k,
				      rows[k].module < block->module ||
					      (rows[k].module == block->module &&
					       rows[k].offset < block->start));
		for (; at < n && rows[at].module == block->module &&
		       rows[at].offset - block->start < block->size;
		     at++)
			sums[at] += count->n;
	}
	for (size_t i = 0; i < n; i++)
		rows[i].executions = sums[i] > 0 ? (uint64_t)sums[i] : 0;
	free(sums);
	return NULL;
}

struct rf_error *branch_counts_save(const struct branch_counts *counts, struct profile *profile)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < counts->n_items && !error; i++) {
		struct profile_branch row = row_of(counts, &counts->items[i]);
		row.file = strdup(""); /* names_resolve knows it */
		error = row.file ? rf_array_add(profile->branches, profile->n_branches,
						profile->cap_branches, row)
				 : rf_error_no_memory();
		if (error)
			free(row.file);
	}
	if (error || !profile->n_branches)
		return error;
	qsort(profile->branches, profile->n_branches, sizeof(*profile->branches), by_place);
	return add_executions(profile);
}

/* Which slices of the counted run a span has, and what remains of the others. */
#include "tracer/span/slices.h"

#include "base/array.h"

#include <math.h>

void slices_deinit(struct slices *slices)
{
	free(slices->rows);
	free(slices->calls);
	*slices = (struct slices){0};
}

struct slice_rows slices_begin(uint32_t slice, const struct profile *profile)
{
	return (struct slice_rows){slice, profile->n_counts, 0, profile->n_units, 0};
}

struct rf_error *slices_end(struct slices *slices, struct slice_rows rows,
			    const struct profile *profile)
{
	struct slice_rows *last = slices->n_rows ? &slices->rows[slices->n_rows - 1] : NULL;
	rows.counts_end = profile->n_counts;
	rows.units_end = profile->n_units;
	if (rows.counts == rows.counts_end && rows.units == rows.units_end)
		return NULL;
	if (last && last->slice == rows.slice && last->counts_end == rows.counts &&
	    last->units_end == rows.units) {
		last->counts_end = rows.counts_end;
		last->units_end = rows.units_end;
		return NULL;
	}
	return rf_array_add(slices->rows, slices->n_rows, slices->cap_rows, rows);
}

struct rf_error *slices_add_call(struct slices *slices, uint32_t slice,
				 const struct profile_system_call *key, uint64_t failed,
				 uint64_t done, uint64_t bytes)
{
	struct slice_call call = {slice, *key};
	call.row.n = failed + done;
	call.row.failed = failed;
	call.row.bytes = bytes;
	return rf_array_add(slices->calls, slices->n_calls, slices->cap_calls, call);
}

/* ---- which slices ---- */

/* Bytes of code that a row stands for. */
static double executed(const struct profile *profile, const struct profile_count *count)
{
	return (double)count->n * profile->blocks[count->block].size;
}

static struct native_time *place_of(const struct profile *profile, const struct native_times *times,
				    const struct profile_count *count)
{
	const struct profile_block *block = &profile->blocks[count->block];
	return native_times_at(times, block->module, block->start);
}

/* Native ns of each slice, by its code; to be freed.  NULL: no memory. */
static double *estimate(const struct slices *slices, const struct profile *profile, uint32_t n,
			struct native_times *times)
{
	double *ns = calloc(n + 1, sizeof(*ns));
	for (size_t i = 0; i < times->n_items; i++)
		times->items[i].executed = 0;
	for (size_t i = 0; i < profile->n_counts; i++) {
		struct native_time *place = place_of(profile, times, &profile->counts[i]);
		if (place)
			place->executed += executed(profile, &profile->counts[i]);
	}
	for (size_t i = 0; ns && i < slices->n_rows; i++)
		for (size_t k = slices->rows[i].counts; k < slices->rows[i].counts_end; k++) {
			const struct profile_count *count = &profile->counts[k];
			const struct native_time *place = place_of(profile, times, count);
			if (!place || place->executed <= 0 || slices->rows[i].slice >= n)
				continue;
			const double all =
				place->ns[SPAN_BEFORE] + place->ns[SPAN_IN] + place->ns[SPAN_AFTER];
			ns[slices->rows[i].slice] +=
				executed(profile, count) * all / place->executed;
		}
	return ns;
}

/* The beginning of a slice that is nearest to so much time; *error_s: how far it is off. */
static uint32_t nearest(const double *ns, uint32_t n, double wanted, double *error_s)
{
	uint32_t best = 0;
	double sum = 0, error = fabs(wanted);
	for (uint32_t i = 0; i < n; i++) {
		sum += ns[i];
		if (fabs(sum - wanted) < error) {
			error = fabs(sum - wanted);
			best = i + 1;
		}
	}
	*error_s = error * 1e-9;
	return best;
}

struct rf_error *slices_choose(const struct slices *slices, const struct profile *profile,
			       uint32_t n, struct native_times *times, struct slice_range *range)
{
	double part[N_SPAN_PARTS] = {0};
	double *ns = estimate(slices, profile, n, times);
	if (!ns)
		return rf_error_no_memory();
	for (size_t i = 0; i < times->n_items; i++)
		for (int k = 0; k < N_SPAN_PARTS; k++)
			part[k] += times->items[i].executed > 0 ? times->items[i].ns[k] : 0;
	range->first = nearest(ns, n, part[SPAN_BEFORE], &range->first_error_s);
	range->end = nearest(ns, n, part[SPAN_BEFORE] + part[SPAN_IN], &range->end_error_s);
	if (part[SPAN_BEFORE] <= 0)
		range->first = 0;
	if (part[SPAN_AFTER] <= 0)
		range->end = n;
	free(ns);
	return NULL;
}

/* ---- what remains ---- */

static bool has(const struct slice_range *range, uint32_t slice)
{
	return slice >= range->first && slice < range->end;
}

static void drop_units(const struct slices *slices, struct profile *profile,
		       const struct slice_range *range)
{
	size_t kept = 0;
	for (size_t i = 0; i < slices->n_rows; i++)
		for (size_t k = slices->rows[i].units;
		     k < slices->rows[i].units_end && has(range, slices->rows[i].slice); k++)
			profile->units[kept++] = profile->units[k];
	profile->n_units = kept;
}

struct rf_error *slices_keep(struct slices *slices, struct profile *profile,
			     const struct slice_range *range)
{
	for (size_t i = 0; i < slices->n_rows; i++)
		for (size_t k = slices->rows[i].counts;
		     k < slices->rows[i].counts_end && !has(range, slices->rows[i].slice); k++)
			profile->counts[k].n = 0;
	drop_units(slices, profile, range);
	for (size_t i = 0; i < slices->n_calls; i++) {
		const struct slice_call *call = &slices->calls[i];
		struct profile_system_call key = call->row;
		key.n = key.failed = key.bytes = 0;
		if (!has(range, call->slice))
			continue;
		struct profile_system_call *row = profile_system_call(profile, &key);
		if (!row)
			return rf_error_no_memory();
		row->n += call->row.n;
		row->failed += call->row.failed;
		row->bytes += call->row.bytes;
	}
	return NULL;
}

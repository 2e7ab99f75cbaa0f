/* Time by Python functions. */
#include "report/rows/python_rows.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"

#include <stdlib.h>

struct leaf {
	uint64_t time_ns;
	size_t samples;
};

static void add_ns(uint64_t *sum, uint64_t ns)
{
	*sum = *sum + ns < *sum ? UINT64_MAX : *sum + ns;
}

/* Samples of each frame that they end in. */
static void find_leaves(const struct report_view *view, struct leaf *leaves,
			struct python_rows *out)
{
	const struct profile *profile = view->profile;
	for (size_t i = 0; i < profile->n_python_samples; i++) {
		const struct profile_python_sample *sample = &profile->python_samples[i];
		const uint64_t ns = view->model->sample_ns[sample->sample];
		add_ns(&leaves[sample->frame].time_ns, ns);
		leaves[sample->frame].samples++;
		add_ns(&out->time_ns, ns);
	}
}

static struct rf_error *add_line(struct python_rows *out, struct u64_map *known, uint32_t function,
				 uint32_t line, uint64_t ns)
{
	const uint64_t key = ((uint64_t)function + 1) << 32 | line;
	const uint32_t *found = u64_map_find(known, key);
	if (found) {
		add_ns(&out->lines[*found].time_ns, ns);
		return NULL;
	}
	const struct python_line_time fresh = {function, line, ns};
	if (u64_map_set(known, key, (uint32_t)out->n_lines) &&
	    rf_array_push(out->lines, out->n_lines, out->cap_lines, fresh))
		return NULL;
	return rf_error_no_memory();
}

/* A function that calls itself has the time once in its total. */
static void add_to_callers(const struct profile *profile, const struct leaf *leaves, uint32_t leaf,
			   struct python_row *rows, uint32_t *stamps)
{
	for (uint32_t at = leaf; at != PROFILE_NONE; at = profile->python_frames[at].parent) {
		const uint32_t function = profile->python_frames[at].function;
		if (stamps[function] != leaf + 1)
			add_ns(&rows[function].total_ns, leaves[leaf].time_ns);
		stamps[function] = leaf + 1;
	}
}

static struct rf_error *sum_up(const struct report_view *view, const struct leaf *leaves,
			       uint32_t *stamps, struct python_rows *out)
{
	const struct profile *profile = view->profile;
	struct u64_map known = {0};
	struct rf_error *error = NULL;
	for (uint32_t i = 0; i < profile->n_python_functions; i++)
		out->rows[i].function = i;
	for (uint32_t i = 0; i < profile->n_python_frames && !error; i++) {
		const struct profile_python_frame *frame = &profile->python_frames[i];
		struct python_row *row = &out->rows[frame->function];
		if (!leaves[i].samples)
			continue;
		add_ns(&row->time_ns, leaves[i].time_ns);
		row->samples += leaves[i].samples;
		add_to_callers(profile, leaves, i, out->rows, stamps);
		error = add_line(out, &known, frame->function, frame->line, leaves[i].time_ns);
	}
	u64_map_deinit(&known);
	return error;
}

/* ---- order ---- */

static int compare_rows(const void *left, const void *right)
{
	const struct python_row *a = left, *b = right;
	return rf_compare(b->time_ns, a->time_ns) ?: rf_compare(b->total_ns, a->total_ns)
		?: rf_compare(a->function, b->function);
}

static int compare_lines(const void *left, const void *right)
{
	const struct python_line_time *a = left, *b = right;
	return rf_compare(a->function, b->function) ?: rf_compare(b->time_ns, a->time_ns)
		?: rf_compare(a->line, b->line);
}

/* Gives each row its lines, and leaves out those without time. */
static void put_in_order(const struct profile *profile, struct python_rows *out)
{
	qsort(out->lines, out->n_lines, sizeof(*out->lines), compare_lines);
	for (size_t i = 0; i < out->n_lines; i++) {
		struct python_row *row = &out->rows[out->lines[i].function];
		row->lines = row->n_lines++ ? row->lines : &out->lines[i];
	}
	qsort(out->rows, profile->n_python_functions, sizeof(*out->rows), compare_rows);
	while (out->n_rows < profile->n_python_functions && out->rows[out->n_rows].total_ns)
		out->n_rows++;
}

struct rf_error *python_rows_init(const struct report_view *view, struct python_rows *out)
{
	const struct profile *profile = view->profile;
	*out = (struct python_rows){0};
	if (!profile->n_python_samples)
		return NULL;
	struct leaf *leaves = calloc(profile->n_python_frames, sizeof(*leaves));
	uint32_t *stamps = calloc(profile->n_python_functions, sizeof(*stamps));
	out->rows = calloc(profile->n_python_functions, sizeof(*out->rows));
	struct rf_error *error = leaves && stamps && out->rows ? NULL : rf_error_no_memory();
	if (!error) {
		find_leaves(view, leaves, out);
		error = sum_up(view, leaves, stamps, out);
	}
	if (!error)
		put_in_order(profile, out);
	free(leaves);
	free(stamps);
	return error;
}

void python_rows_deinit(struct python_rows *rows)
{
	free(rows->rows);
	free(rows->lines);
	*rows = (struct python_rows){0};
}

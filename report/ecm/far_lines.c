/* Finds them by the table of strides, and their lines by that of traffic. */
#include "report/ecm/far_lines.h"

#include "base/array.h"
#include "base/search.h"
#include "report/model/model_irregular.h"
#include "report/model/model_loops.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define PAGE 4096
/* A way of L1 is a page on nearly all processors: what is beyond cannot be looked up before the
 * address is translated. */
#define SETS (PAGE / CACHE_LINE)

double far_sets_of(int64_t step)
{
	bool met[SETS] = {false};
	uint64_t address = 0;
	int n = 0;
	for (int i = 0; i < FAR_SETS; i++, address += (uint64_t)step) {
		const size_t set = address % PAGE / CACHE_LINE;
		n += !met[set];
		met[set] = true;
	}
	return n;
}

/* ---- which instructions ---- */

static int compare(const void *a, const void *b)
{
	const struct far_access *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->offset, y->offset);
}

static struct far_access *find(const struct far_accesses *far, uint32_t module, uint64_t offset)
{
	const struct far_access key = {.module = module, .offset = offset};
	return far->n_rows ? bsearch(&key, far->rows, far->n_rows, sizeof(key), compare) : NULL;
}

static bool is_far(const struct profile_stride *row)
{
	return (double)row->constant > (double)row->unit + (double)row->random &&
	       (row->step >= PAGE || row->step <= -PAGE);
}

static double reads_of(const struct profile_traffic *row, enum traffic read,
		       enum traffic write_allocate)
{
	return (double)row->lines[read] + (double)row->lines[write_allocate];
}

/* What came over each border is found at the level behind it, but for what came from further. */
static void add_lines(struct far_access *access, const struct profile_traffic *row, double scale)
{
	const double l2 = reads_of(row, TRAFFIC_L2_READ, TRAFFIC_L2_WRITE_ALLOCATE),
		     l3 = reads_of(row, TRAFFIC_L3_READ, TRAFFIC_L3_WRITE_ALLOCATE),
		     memory = reads_of(row, TRAFFIC_MEM_READ, TRAFFIC_MEM_WRITE_ALLOCATE);
	access->found[1] += scale * fmax(0, l2 - fmax(l3, memory));
	access->found[2] += scale * fmax(0, l3 - memory);
	access->found[3] += scale * memory;
}

struct rf_error *far_accesses_init(const struct profile *profile, const struct model *model,
				   struct far_accesses *far)
{
	struct rf_error *error = NULL;
	*far = (struct far_accesses){0};
	for (size_t i = 0; !error && model->traced && i < profile->n_strides; i++) {
		const struct profile_stride *row = &profile->strides[i];
		const struct far_access access = {row->module, row->offset,
						  .sets = far_sets_of(row->step)};
		if (is_far(row))
			error = rf_array_add(far->rows, far->n_rows, far->cap_rows, access);
	}
	if (error || !far->n_rows)
		return error;
	qsort(far->rows, far->n_rows, sizeof(*far->rows), compare);
	const double scale = (double)CACHE_CLASSES / model->traced_classes;
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while ((row = packed_reader_next(&reader))) {
		struct far_access *access = find(far, row->module, row->offset);
		if (access && row->class < model->traced_classes)
			add_lines(access, row, scale);
	}
	return NULL;
}

void far_accesses_deinit(struct far_accesses *far)
{
	free(far->rows);
	*far = (struct far_accesses){0};
}

/* ---- their lines ---- */

static void add(struct far_lines *sum, const struct far_access *access)
{
	for (int level = 1; level < MODEL_LEVELS; level++) {
		sum->lines[level] += access->found[level];
		sum->crowded[level] += access->found[level] / access->sets;
	}
}

/* Whether it was measured what such lines take at their levels. */
static bool rates_known(const struct profile *profile, const struct model_function *f,
			const struct far_lines *lines)
{
	return model_wait_for(profile, lines->lines, PATTERN_RANDOM, f->concurrency, false)
		       .seconds > 0;
}

void far_lines_by_loop(const struct far_accesses *far, const struct profile *profile,
		       const struct model_function *f, struct far_lines *sums)
{
	if (!far || f->function == PROFILE_NONE)
		return;
	const struct profile_function *row = &profile->functions[f->function];
	const struct far_access *rows = far->rows;
	size_t i = rf_search(far->n_rows, k,
			     rows[k].module < row->module || (rows[k].module == row->module &&
							      rows[k].offset < row->start));
	for (; i < far->n_rows && rows[i].module == row->module && rows[i].offset < row->end; i++)
		add(&sums[model_loops_at(f, rows[i].offset)], &rows[i]);
	for (i = 0; i <= f->n_loops; i++)
		if (!rates_known(profile, f, &sums[i]))
			sums[i] = (struct far_lines){0};
}

double far_lines_crowd_s(const struct profile *profile, const struct far_lines *lines)
{
	static const char *const facts[MODEL_LEVELS] = {NULL, "one_set_l2_ns", "one_set_l3_ns",
							"one_set_memory_ns"};
	double ns = 0;
	for (int level = 1; level < MODEL_LEVELS; level++)
		ns += lines->crowded[level] * profile_number_fact(profile, facts[level], 0);
	return ns * 1e-9;
}

/* Takes metrics from the rows of kernels. */
#include "sweep/metrics.h"

#include "base/array.h"
#include "report/ecm/page_walks.h"
#include "report/rows/grouping.h"
#include "report/rows/other_moves.h"

#include <math.h>
#include <stdlib.h>

struct list {
	struct metric *metrics;
	size_t n, cap;
	bool memory_short;
};

static void add(struct list *list, const char *kernel, const char *name, double value)
{
	const struct metric new = {(char *)kernel, (char *)name, value};
	if (isfinite(value) && !rf_array_push(list->metrics, list->n, list->cap, new))
		list->memory_short = true;
}

static void add_level(struct list *list, const char *kernel, const struct model_traffic *traffic,
		      const char *level, const char *bytes, const char *misses)
{
	const struct model_level *of = traffic ? model_level(traffic, level) : NULL;
	if (of && bytes)
		add(list, kernel, bytes, of->moved[DIRECTION_BOTH].bytes);
	if (of)
		add(list, kernel, misses, of->misses);
}

static uint64_t flop_of(const struct tally *tally, enum flop_precision precision)
{
	uint64_t sum = 0;
	for (int kind = 0; kind < FLOP_KINDS; kind++)
		for (int width = 0; width < FLOP_WIDTHS; width++)
			sum += tally->flop_by_kind[kind][precision][width];
	return sum;
}

static void add_row(struct list *list, const char *kernel, const struct model_function *row)
{
	const struct tally *tally = &row->tally;
	add(list, kernel, "fp_instructions", (double)tally->class_instructions[INSN_FP_ARITH]);
	add(list, kernel, "load_instructions", (double)tally->loads);
	add(list, kernel, "store_instructions", (double)tally->stores);
	add(list, kernel, "single_flop", (double)flop_of(tally, PRECISION_SINGLE));
	if (row->traffic && row->traffic->source == MEMORY_TRACED)
		add(list, kernel, "mem_left_bytes",
		    row->traffic->bytes.events[TRAFFIC_MEM_LEFT].bytes);
	add_level(list, kernel, row->traffic, "L1", NULL, "l1_miss_ratio");
	add_level(list, kernel, row->traffic, "L2", "l2_bytes", "l2_miss_ratio");
	add_level(list, kernel, row->traffic, "L3", "l3_bytes", "l3_miss_ratio");
}

/* Of all code that worked for it, which need not be a function that has a name. */
static void add_walks(struct list *list, const struct profile *profile, uint32_t kernel)
{
	double accesses = 0, near = 0, walks = 0;
	for (size_t i = 0; i < profile->n_page_walks; i++) {
		const struct profile_page_walk *row = &profile->page_walks[i];
		if (row->kernel != kernel + 1)
			continue;
		accesses += (double)row->accesses;
		near += (double)row->near_misses;
		walks += (double)row->walks;
	}
	add(list, profile->kernels[kernel].name, "page_accesses", accesses);
	add(list, profile->kernels[kernel].name, "tlb_near_misses", near);
	add(list, profile->kernels[kernel].name, "page_walks", walks);
}

static void add_other(struct list *list, const struct profile *profile, uint32_t kernel)
{
	struct other_move sum = {0};
	for (size_t i = 0; i < profile->n_other_traffic; i++)
		if (profile->other_traffic[i].kernel == kernel + 1)
			other_move_add(&sum, &profile->other_traffic[i]);
	const struct other_flow l2 = other_move_l2(&sum), memory = other_move_memory(&sum);
	add(list, profile->kernels[kernel].name, "other_l2_bytes", l2.in + l2.out);
	add(list, profile->kernels[kernel].name, "other_mem_read_bytes", memory.in);
	add(list, profile->kernels[kernel].name, "other_mem_write_bytes", memory.out);
}

/* What was simulated beside this machine's caches. */
static void add_simulated(struct list *list, const struct profile *profile)
{
	for (uint32_t k = 0; k < profile->n_kernels; k++) {
		if (page_walks_known(profile))
			add_walks(list, profile, k);
		if (profile_get_fact(profile, "other_geometry"))
			add_other(list, profile, k);
	}
}

static void add_rows(struct list *list, const struct profile *profile, const struct model *model,
		     const struct model_groups *groups)
{
	for (size_t i = 0; i < model->n_functions; i++)
		for (size_t k = 0; k < profile->n_kernels; k++)
			if (model->functions[i].row == groups->by_owner[k + 1] &&
			    !model->functions[i].uncounted_part)
				add_row(list, profile->kernels[k].name, &model->functions[i]);
}

struct rf_error *metrics_of(const struct profile *profile, struct metric **metrics, size_t *n)
{
	struct list list = {0};
	struct model plain = {0}, model = {0};
	struct model_groups groups = {0};
	const struct report_options options = {.by = BY_KERNEL};
	const struct report_view view = {.profile = profile, .model = &plain, .options = &options};
	const struct model_choice choice = {.groups = &groups};
	struct rf_error *error = NULL;
	if (profile->n_kernels)
		error = model_build(profile, &plain) ?: grouping_create(&view, &groups)
								?: model_build_as(profile, &choice,
										  &model);
	if (!error && profile->n_kernels)
		add_rows(&list, profile, &model, &groups);
	if (!error)
		add_simulated(&list, profile);
	if (!error && list.memory_short)
		error = rf_error_no_memory();
	model_deinit(&model);
	grouping_destroy(&groups);
	model_deinit(&plain);
	*metrics = list.metrics;
	*n = list.n;
	return error;
}

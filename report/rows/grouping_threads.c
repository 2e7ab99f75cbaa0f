/* Rows that are threads or processes. */
#include "report/rows/grouping_threads.h"

#include "base/array.h"
#include "report/rows/view.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What threads have in common: of a process, its row in model->processes; of a thread, that of the
 * timed run. */
static uint32_t owner_of(const struct maker *maker, uint32_t thread)
{
	const struct model *model = maker->view->model;
	const uint32_t twin = model->twin_of_thread[thread];
	if (maker->view->options->by == BY_THREAD)
		return maker->profile->threads[thread].run == RUN_TIMED || twin == PROFILE_NONE
			       ? thread
			       : twin;
	for (size_t i = 0; i < model->n_processes; i++) {
		const uint32_t row = model->process_of_thread[thread];
		if (row != PROFILE_NONE &&
		    (model->processes[i].timed == row || model->processes[i].counted == row))
			return (uint32_t)i;
	}
	return PROFILE_NONE;
}

static char *name_owner(const struct maker *maker, uint32_t owner, size_t twins)
{
	const struct profile *profile = maker->profile;
	const struct model_process *process;
	const char *name;
	char *text = NULL;
	if (owner == PROFILE_NONE)
		return report_program(profile);
	if (maker->view->options->by == BY_THREAD) {
		name = profile->threads[owner].name;
	} else {
		process = &maker->view->model->processes[owner];
		name = profile->processes[process->timed != PROFILE_NONE ? process->timed
									 : process->counted]
			       .command;
	}
	int n = twins ? asprintf(&text, "%s #%zu", *name ? name : "?", twins + 1)
		      : asprintf(&text, "%s", *name ? name : "?");
	return n < 0 ? NULL : text;
}

/* How many owners before this one have its name: "worker", "worker #2", … */
static size_t same_names(const struct maker *maker, const uint32_t *owners, size_t n)
{
	char *own = name_owner(maker, owners[n], 0);
	size_t same = 0;
	for (size_t i = 0; own && i < n; i++) {
		char *other = name_owner(maker, owners[i], 0);
		same += other && strcmp(own, other) == 0;
		free(other);
	}
	free(own);
	return same;
}

static struct rf_error *add_owner(struct maker *maker, uint32_t **owners, size_t *n, size_t *cap,
				  uint32_t owner, uint32_t *group)
{
	for (size_t i = 0; i < *n; i++)
		if ((*owners)[i] == owner) {
			*group = (uint32_t)i + 1; /* behind what is left out */
			return NULL;
		}
	if (!rf_array_push(*owners, *n, *cap, owner))
		return rf_error_no_memory();
	return groups_add(maker->out, name_owner(maker, owner, same_names(maker, *owners, *n - 1)),
			  "", PROFILE_NONE, false, group);
}

struct rf_error *grouping_threads(struct maker *maker)
{
	struct grouping *out = maker->out;
	const size_t n_threads = maker->profile->n_threads;
	uint32_t *owners = NULL, unused;
	size_t n_owners = 0, cap_owners = 0;
	out->by_thread = calloc(N_KINDS * n_threads + 1, sizeof(*out->by_thread));
	struct rf_error *error = out->by_thread ? NULL : rf_error_no_memory();
	for (uint32_t t = 0; !error && t < n_threads; t++) {
		uint32_t group;
		error = add_owner(maker, &owners, &n_owners, &cap_owners, owner_of(maker, t),
				  &group);
		if (error || report_filter_ignore(&maker->filter, out->rows[group].name))
			continue;
		out->by_thread[KIND_IN * n_threads + t] = group;
		if (report_filter_focus(&maker->filter, out->rows[group].name))
			out->by_thread[KIND_BEHIND * n_threads + t] = group;
	}
	/* rows of ranges and groups must not be mistaken for rows of unknown code */
	while (!error && out->n_rows < N_KINDS)
		error = groups_add(out, strdup(""), "", PROFILE_NONE, false, &unused);
	for (size_t i = 0; !error && i < maker->base.n; i++) {
		struct model_range range = maker->base.all[i];
		range.row = groups_kind(maker, range.row);
		if (!rf_array_push(out->ranges, out->n_ranges, out->cap_ranges, range))
			error = rf_error_no_memory();
	}
	free(owners);
	return error;
}

/* Goes through the rows of a report, by function and by every other kind, and checks each. */
#include "report/check/check.h"

#include "profile/facts.h"
#include "report/check/check_rows.h"
#include "report/check/check_traffic.h"
#include "report/rows/ranking.h"
#include "report/rows/view.h"

/* ---- all rows together ---- */

struct sums {
	double time_ns, samples;
	double instructions, flop, load_bytes, store_bytes;
	double events[N_TRAFFIC];
};

static struct sums sum_rows(const struct model *model)
{
	struct sums sums = {0};
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		sums.time_ns += (double)f->time_ns;
		sums.samples += (double)f->n_samples;
		sums.instructions += (double)f->tally.instructions;
		sums.flop += (double)f->tally.flop;
		sums.load_bytes += (double)f->tally.load_bytes;
		sums.store_bytes += (double)f->tally.store_bytes;
		for (int e = 0; f->traffic && e < N_TRAFFIC; e++)
			sums.events[e] += f->traffic->bytes.events[e].bytes;
	}
	return sums;
}

static void check_uncounted(struct check *check, const struct model *model)
{
	double sum = 0;
	for (size_t i = 0; i < model->n_uncounted; i++)
		sum += (double)model->uncounted[i].time_ns;
	check_equal(check, INVARIANT_TIME_UNCOUNTED, "ns", sum, (double)model->uncounted_ns);
	check_part(check, INVARIANT_TIME_UNCOUNTED, "ns", (double)model->uncounted_ns,
		   (double)model->time_ns);
}

static void check_processes(struct check *check, const struct model *model, const struct sums *rows)
{
	double time_ns = 0, instructions = 0, flop = 0, load_bytes = 0, store_bytes = 0;
	for (size_t i = 0; i < model->n_processes; i++) {
		const struct model_process *process = &model->processes[i];
		check_part(check, INVARIANT_TIME_OF_PROCESSES, "ns uncounted",
			   (double)process->uncounted_ns, (double)process->time_ns);
		time_ns += (double)process->time_ns;
		instructions += (double)process->instructions;
		flop += (double)process->flop;
		load_bytes += (double)process->load_bytes;
		store_bytes += (double)process->store_bytes;
	}
	check->n_rows += model->n_processes;
	check_part(check, INVARIANT_TIME_OF_PROCESSES, "ns", time_ns, (double)model->time_ns);
	check_part(check, INVARIANT_WORK_OF_PROCESSES, "instructions", instructions,
		   rows->instructions);
	check_part(check, INVARIANT_WORK_OF_PROCESSES, "flop", flop, rows->flop);
	check_part(check, INVARIANT_WORK_OF_PROCESSES, "bytes loaded", load_bytes,
		   rows->load_bytes);
	check_part(check, INVARIANT_WORK_OF_PROCESSES, "bytes stored", store_bytes,
		   rows->store_bytes);
}

static void check_program(struct check *check, const struct model *model)
{
	const struct sums rows = sum_rows(model);
	check->row = "";
	check_equal(check, INVARIANT_TIME_SUM, "ns", rows.time_ns, (double)model->time_ns);
	check_equal(check, INVARIANT_TIME_SUM, "samples", rows.samples, (double)model->n_samples);
	check_uncounted(check, model);
	check_processes(check, model, &rows);
	if (!model->traced)
		return;
	check_bytes(check, &model->bytes);
	for (int e = 0; e < N_TRAFFIC; e++)
		check_part(check, INVARIANT_TRAFFIC_SUM, "bytes of one kind", rows.events[e],
			   model->bytes.events[e].bytes);
}

/* ---- one model ---- */

static void check_rows(struct check *check, const struct model *model)
{
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		check->row = f->name;
		check->n_rows++;
		check_row_work(check, f);
		check_row_loops(check, f);
		check_row_place(check, f);
		check_row_traffic(check, f);
	}
	check->row = "";
}

static struct check check_of(const struct profile *profile, const struct model *model, FILE *stream)
{
	return (struct check){.stream = stream,
			      .view = "function",
			      .row = "",
			      .sampled = model_from_counters(profile),
			      .spread = model->traced_classes > 1,
			      .prefetch = profile_flag_fact(profile, "traffic_prefetch")};
}

static struct report_checked result_of(const struct check *check)
{
	return (struct report_checked){N_INVARIANTS, check->n_rows, check->n_broken};
}

struct report_checked report_check_model(const struct profile *profile, const struct model *model,
					 FILE *stream)
{
	struct check check = check_of(profile, model, stream);
	check_rows(&check, model);
	check_program(&check, model);
	return result_of(&check);
}

/* ---- rows of other kinds ---- */

static void check_sums(struct check *check, const struct sums *sums, const struct sums *wanted,
		       bool traced)
{
	check_equal(check, INVARIANT_VIEW_TIME, "ns", sums->time_ns, wanted->time_ns);
	check_equal(check, INVARIANT_VIEW_TIME, "samples", sums->samples, wanted->samples);
	for (int e = 0; traced && e < N_TRAFFIC; e++)
		check_equal(check, INVARIANT_VIEW_BYTES, "bytes of one kind", sums->events[e],
			    wanted->events[e]);
	if (check->sampled)
		return;
	check_equal(check, INVARIANT_VIEW_WORK, "instructions", sums->instructions,
		    wanted->instructions);
	check_equal(check, INVARIANT_VIEW_WORK, "flop", sums->flop, wanted->flop);
	check_equal(check, INVARIANT_VIEW_WORK, "bytes loaded", sums->load_bytes,
		    wanted->load_bytes);
	check_equal(check, INVARIANT_VIEW_WORK, "bytes stored", sums->store_bytes,
		    wanted->store_bytes);
}

struct report_checked report_check_view(const struct profile *profile,
					const struct model *by_function, const struct model *other,
					const char *rows, FILE *stream)
{
	struct check check = check_of(profile, other, stream);
	const struct sums sums = sum_rows(other), wanted = sum_rows(by_function);
	check.view = rows;
	check.row = "together";
	check_sums(&check, &sums, &wanted, other->traced);
	check_rows(&check, other);
	return result_of(&check);
}

/* ---- a whole profile ---- */

struct views {
	const struct model *by_function;
	FILE *stream;
	struct report_checked *sum;
};

static void add(struct report_checked *sum, struct report_checked part)
{
	sum->n_invariants = part.n_invariants;
	sum->n_rows += part.n_rows;
	sum->n_broken += part.n_broken;
}

static struct rf_error *check_view(struct report_view *view, void *context)
{
	const struct views *views = context;
	add(views->sum,
	    report_check_view(view->profile, views->by_function, view->model,
			      rf_word_of(report_by_words, (int)view->options->by), views->stream));
	return NULL;
}

static struct rf_error *check_views(struct report_view *plain, void *context)
{
	static const enum report_by kinds[] = {BY_LOOP,    BY_LINE,    BY_MODULE, BY_THREAD,
					       BY_PROCESS, BY_INLINED, BY_KERNEL};
	struct views *views = context;
	struct report_options options = *plain->options;
	struct rf_error *error = NULL;
	views->by_function = plain->model;
	add(views->sum, report_check_model(plain->profile, plain->model, views->stream));
	plain->options = &options;
	/* of ranks that were merged there are functions alone */
	const size_t n_kinds = plain->profile->n_ranks ? 0 : sizeof(kinds) / sizeof(*kinds);
	for (size_t i = 0; !error && i < n_kinds; i++) {
		options.by = kinds[i];
		error = report_shape(plain, check_view, views);
	}
	return error;
}

struct rf_error *report_check(const struct profile *profile, FILE *stream,
			      struct report_checked *checked)
{
	/* so that the plain model finds its loops */
	const struct report_options options = {.by = BY_LOOP};
	struct views views = {NULL, stream, checked};
	*checked = (struct report_checked){0};
	return report_with_view(profile, &options, check_views, &views);
}

/* Times of threads in rows → time, elapsed time and half-width of each row, and totals. */
#include "report/model/model_time.h"

#include <math.h>

/* The process's part. */
static void add_to_process(const struct model_threads *threads, struct model *model,
			   const struct model_time_sum *time)
{
	const uint32_t row = threads->process_of[time->thread];
	if (row == PROFILE_NONE)
		return;
	struct model_process *process = &model->processes[threads->shown[row]];
	process->n_samples += time->samples;
	model_add_ns(&process->time_ns, time->time_ns);
	if (time->uncounted)
		model_add_ns(&process->uncounted_ns, time->time_ns);
}

static void set_elapsed(struct model_function *function)
{
	const double time_s = (double)function->time_ns * 1e-9;
	if (function->concurrency < 1)
		function->concurrency = 1;
	function->elapsed_s = time_s / function->concurrency;
	/* n samples of a Poisson process: ± 1.96 √n of them, 95 %. */
	if (function->n_samples)
		function->halfwidth_s = 1.96 * time_s / sqrt((double)function->n_samples);
}

void model_time(struct model_rows *rows, const struct model_threads *threads, struct model *model)
{
	for (size_t i = 0; i < rows->n_times; i++) {
		const struct model_time_sum *time = &rows->times[i];
		struct model_function *function = &rows->rows[model_row_of_time(rows, time)];
		add_to_process(threads, model, time);
		model->n_samples += time->samples;
		function->n_samples += time->samples;
		model_add_ns(&model->time_ns, time->time_ns);
		model_add_ns(&function->time_ns, time->time_ns);
	}
	for (size_t row = 0; row < rows->n_rows; row++)
		if (model_is_used(rows, row))
			set_elapsed(&rows->rows[row]);
}

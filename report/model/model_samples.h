/* The time of each row, summed up from samples. */
#pragma once

#include "report/model/model_processes.h"
#include "report/model/model_rows.h"

/* What one sample added to the program's own time, in ns. */
uint64_t model_sample_cost(const struct profile *profile);
/* The CPU time that a sample stands for without its cost. */
uint64_t model_sample_weight(const struct profile_sample *sample, uint64_t cost);
/* How many times wider than that of as many equal samples an interval of a time is: 1 where all
 * stand for the same time. */
double model_sample_spread(const struct profile *profile);

/* Sums up the profile's samples: rows->times, the concurrency of each row,
 * rows->run_times, and of model `sample_ns` and `uncounted_samples`.  The counted work of the rows
 * comes before: by it is told what was not counted.  Fails only when memory is short. */
struct rf_error *model_sum_samples(struct model_rows *rows, const struct model_threads *threads,
				   struct model *model);

/* From rows->times: time, samples, elapsed time and half-width of each row, the totals of the model
 * and of its processes. */
void model_time(struct model_rows *rows, const struct model_threads *threads, struct model *model);

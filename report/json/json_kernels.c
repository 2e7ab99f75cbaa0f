/* Kernels as JSON: what all calls did together, and a call in the mean. */
#include "report/json/json_kernels.h"

#include "report/rows/kernel_sums.h"

#include <math.h>

static void put_bytes(struct json_writer *out, const struct profile_kernel_sum *sum, double per)
{
	put_real(out, "mem_read_bytes", sum->traced ? sum->mem_read * per : NAN);
	put_real(out, "mem_write_bytes", sum->traced ? sum->mem_write * per : NAN);
	put_real(out, "mem_read_halfwidth_bytes",
		 sum->traced ? sum->mem_read_halfwidth * per : NAN);
	put_real(out, "mem_write_halfwidth_bytes",
		 sum->traced ? sum->mem_write_halfwidth * per : NAN);
}

static bool has_time(const struct profile_kernel_sum *sum)
{
	return sum->samples || sum->by_call;
}

static void put_call_times(struct json_writer *out, const struct profile_kernel_time *time,
			   uint64_t calls)
{
	if (!time) {
		put_null(out, "call_times");
		return;
	}
	put_object(out, "call_times");
	put_count(out, "calls", time->calls);
	put_flag(out, "all", time->calls >= calls);
	put_real(out, "mean_s", time->mean_s);
	put_real(out, "min_s", time->least_s);
	put_real(out, "q1_s", time->q1_s);
	put_real(out, "median_s", time->median_s);
	put_real(out, "q3_s", time->q3_s);
	put_real(out, "max_s", time->most_s);
	put_real(out, "cost_s", time->cost_s);
	put_end(out);
}

static void put_call(struct json_writer *out, const struct profile_kernel_sum *sum, double calls)
{
	put_object(out, "per_call");
	put_real(out, "flop", (double)sum->flop / calls);
	put_real(out, "load_bytes", (double)sum->load_bytes / calls);
	put_real(out, "store_bytes", (double)sum->store_bytes / calls);
	put_bytes(out, sum, 1 / calls);
	put_real(out, "time_s", has_time(sum) ? (double)sum->calls_ns * 1e-9 / calls : NAN);
	put_real(out, "time_halfwidth_s", has_time(sum) ? sum->halfwidth_s / calls : NAN);
	put_end(out);
}

void report_json_kernels(struct json_writer *out, const char *key, const struct profile *profile)
{
	const char *fact = profile_get_fact(profile, "traffic_caches");
	const char *caches = fact ? fact : "as-is";
	const bool counted = kernel_calls_known(profile);
	put_array(out, key);
	for (size_t i = 0; i < profile->n_kernel_sums; i++) {
		const struct profile_kernel_sum *sum = &profile->kernel_sums[i];
		const struct profile_kernel *kernel = &profile->kernels[sum->kernel];
		put_object(out, NULL);
		put_text(out, "name", kernel->name);
		put_known(out, "calls", counted, kernel->calls);
		put_known(out, "threads", counted, kernel->threads);
		put_known(out, "flop", counted, sum->flop);
		put_known(out, "load_bytes", counted, sum->load_bytes);
		put_known(out, "store_bytes", counted, sum->store_bytes);
		put_known(out, "instructions", counted, sum->instructions);
		put_bytes(out, sum, 1);
		put_text(out, "caches", sum->traced ? caches : NULL);
		put_real(out, "time_s", has_time(sum) ? (double)sum->calls_ns * 1e-9 : NAN);
		put_real(out, "time_halfwidth_s", has_time(sum) ? sum->halfwidth_s : NAN);
		put_text(out, "time_source",
			 sum->by_call   ? "calls"
			 : sum->samples ? "samples"
					: NULL);
		put_call_times(out, kernel_time_of(profile, sum->kernel), kernel->calls);
		put_real(out, "cpu_time_s", (double)sum->running_ns * 1e-9);
		put_count(out, "samples", sum->samples);
		if (kernel->calls)
			put_call(out, sum, (double)kernel->calls);
		else
			put_null(out, "per_call");
		put_end(out);
	}
	put_end(out);
}

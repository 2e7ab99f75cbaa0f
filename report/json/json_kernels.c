/* Kernels as JSON: what all calls did together, and a call in the mean. */
#include "report/json/json_kernels.h"

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

static void put_call(struct json_writer *out, const struct profile_kernel_sum *sum, double calls)
{
	put_object(out, "per_call");
	put_real(out, "flop", (double)sum->flop / calls);
	put_real(out, "load_bytes", (double)sum->load_bytes / calls);
	put_real(out, "store_bytes", (double)sum->store_bytes / calls);
	put_bytes(out, sum, 1 / calls);
	put_real(out, "time_s", sum->samples ? (double)sum->calls_ns * 1e-9 / calls : NAN);
	put_real(out, "time_halfwidth_s", sum->samples ? sum->halfwidth_s / calls : NAN);
	put_end(out);
}

void report_json_kernels(struct json_writer *out, const char *key, const struct profile *profile)
{
	const char *fact = profile_get_fact(profile, "traffic_caches");
	const char *caches = fact ? fact : "as-is";
	put_array(out, key);
	for (size_t i = 0; i < profile->n_kernel_sums; i++) {
		const struct profile_kernel_sum *sum = &profile->kernel_sums[i];
		const struct profile_kernel *kernel = &profile->kernels[sum->kernel];
		put_object(out, NULL);
		put_text(out, "name", kernel->name);
		put_count(out, "calls", kernel->calls);
		put_count(out, "threads", kernel->threads);
		put_count(out, "flop", sum->flop);
		put_count(out, "load_bytes", sum->load_bytes);
		put_count(out, "store_bytes", sum->store_bytes);
		put_count(out, "instructions", sum->instructions);
		put_bytes(out, sum, 1);
		put_text(out, "caches", sum->traced ? caches : NULL);
		put_real(out, "time_s", sum->samples ? (double)sum->calls_ns * 1e-9 : NAN);
		put_real(out, "time_halfwidth_s", sum->samples ? sum->halfwidth_s : NAN);
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

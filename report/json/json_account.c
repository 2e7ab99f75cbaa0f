/* The account of a run: its sums, its threads, what was waited for, and system calls. */
#include "report/json/json_account.h"

#include "profile/kernel_names.h"
#include "report/account/account.h"
#include "report/account/account_words.h"

#include <math.h>
#include <stdlib.h>

static void put_fact(struct json_writer *out, const struct profile *profile, const char *key,
		     const char *fact)
{
	put_real(out, key, profile_number_fact(profile, fact, NAN));
}

static void put_concurrency(struct json_writer *out, const struct profile *profile)
{
	put_array(out, "concurrency");
	for (size_t i = 0; i < profile->n_concurrency; i++)
		put_real(out, NULL, (double)profile->concurrency[i].time_ns * 1e-9);
	put_end(out);
}

static void put_strip(struct json_writer *out, const struct account *account)
{
	put_array(out, "strip");
	for (int i = 0; account->has_strip && i < ACCOUNT_STRIP; i++)
		put_real(out, NULL, account->strip[i]);
	put_end(out);
}

static void put_wall(struct json_writer *out, const struct account *account)
{
	put_object(out, "wall");
	put_real(out, "running_s", account->wall_running_s);
	put_real(out, "runnable_s", account->wall_runnable_s);
	put_real(out, "waiting_s", account->wall_waiting_s);
	put_end(out);
}

/* Those that functions have, and those of which none is known. */
static void put_page_faults(struct json_writer *out, const struct profile *profile)
{
	double all = profile->n_sum_faults ? 0 : NAN, unknown = all;
	for (size_t i = 0; i < profile->n_sum_faults; i++) {
		const struct profile_sum_fault *row = &profile->sum_faults[i];
		all += (double)row->n;
		if (row->function == PROFILE_NONE && row->module == PROFILE_NONE)
			unknown += (double)row->n;
	}
	put_real(out, "page_faults", all);
	put_real(out, "unknown_page_faults", unknown);
}

void report_json_account(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	const struct account *account = view->account;
	char missing[256];
	put_object(out, key);
	put_real(out, "wall_s", account->wall_s);
	put_real(out, "lives_s", account->lives_s);
	put_real(out, "user_s", account->user_s);
	put_real(out, "kernel_s", account->kernel_s);
	put_real(out, "user_kernel_halfwidth_s", account->split_s);
	put_real(out, "waiting_s", account->waiting_s);
	put_real(out, "runnable_s", account->runnable_s);
	put_fact(out, profile, "minor_faults", "minor_faults");
	put_fact(out, profile, "major_faults", "major_faults");
	put_page_faults(out, profile);
	put_fact(out, profile, "voluntary_switches", "voluntary_switches");
	put_fact(out, profile, "involuntary_switches", "involuntary_switches");
	put_fact(out, profile, "read_bytes", "read_bytes");
	put_fact(out, profile, "written_bytes", "written_bytes");
	put_fact(out, profile, "peak_memory_bytes", "peak_memory");
	put_real(out, "busy_processors", account->busy_processors);
	put_real(out, "usable_processors", account->usable_processors);
	put_wall(out, account);
	put_concurrency(out, profile);
	put_strip(out, account);
	put_text(out, "missing", account_missing(profile, missing, sizeof(missing)));
	put_end(out);
}

void report_json_threads(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	struct account_thread *threads = account_threads(profile, view->account);
	put_array(out, key);
	for (size_t i = 0; threads && i < profile->n_thread_times; i++) {
		const struct profile_thread *thread = &profile->threads[threads[i].thread];
		put_object(out, NULL);
		put_integer(out, "pid", thread->pid);
		put_integer(out, "tid", thread->tid);
		put_text(out, "name", thread->name);
		put_real(out, "life_s", threads[i].life_s);
		put_real(out, "user_s", threads[i].user_s);
		put_real(out, "kernel_s", threads[i].kernel_s);
		put_real(out, "waiting_s", threads[i].waiting_s);
		put_real(out, "runnable_s", threads[i].runnable_s);
		put_end(out);
	}
	put_end(out);
	free(threads);
}

static void put_function(struct json_writer *out, const struct profile *profile, uint32_t function,
			 uint32_t module)
{
	const uint32_t of = function != PROFILE_NONE ? profile->functions[function].module : module;
	put_text(out, "function", account_function(profile, function, module));
	put_text(out, "module", of == PROFILE_NONE ? NULL : profile->modules[of].name);
}

static void put_cause(struct json_writer *out, enum wait_kind kind, uint32_t call)
{
	put_text(out, "cause", account_wait_word(kind));
	put_text(out, "system_call",
		 call >= KERNEL_CALLS ? kernel_call_name(call - KERNEL_CALLS) : NULL);
}

/* Those that ran while threads waited so, or those that `waited` themselves. */
static void put_runners(struct json_writer *out, const char *key, const struct profile *profile,
			size_t wait, bool waited)
{
	put_array(out, key);
	for (size_t i = 0; i < profile->n_sum_runners; i++) {
		const struct profile_sum_runner *runner = &profile->sum_runners[i];
		if (runner->wait != wait || runner->waited != waited)
			continue;
		put_object(out, NULL);
		put_function(out, profile, runner->function, runner->module);
		if (waited)
			put_cause(out, runner->kind, runner->call);
		put_real(out, "tid",
			 runner->thread == PROFILE_NONE ? NAN
							: profile->threads[runner->thread].tid);
		put_real(out, "share", runner->share);
		if (!waited)
			put_real(out, "holder_share", runner->holder_share);
		put_end(out);
	}
	put_end(out);
}

static void put_wait(struct json_writer *out, const struct profile *profile,
		     const struct profile_sum_wait *wait)
{
	const size_t number = (size_t)(wait - profile->sum_waits);
	put_object(out, NULL);
	put_cause(out, wait->kind, wait->call);
	put_function(out, profile, wait->function, wait->module);
	put_count(out, "n", wait->n);
	put_real(out, "time_s", (double)wait->time_ns * 1e-9);
	put_real(out, "wall_s", (double)wait->alone_ns * 1e-9);
	put_count(out, "threads", wait->threads);
	put_real(out, "others_running",
		 wait->time_ns ? (double)wait->others_ns / (double)wait->time_ns : NAN);
	put_runners(out, "runners", profile, number, false);
	put_runners(out, "held_up_in", profile, number, true);
	put_end(out);
}

void report_json_waits(struct json_writer *out, const char *key, const struct report_view *view)
{
	put_array(out, key);
	for (size_t i = 0; i < view->profile->n_sum_waits; i++)
		put_wait(out, view->profile, &view->profile->sum_waits[i]);
	put_end(out);
}

void report_json_regions(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	put_array(out, key);
	for (size_t i = 0; i < profile->n_sum_regions; i++) {
		const struct profile_sum_region *region = &profile->sum_regions[i];
		put_object(out, NULL);
		put_function(out, profile, region->function, region->module);
		put_text(out, "caller", account_region_caller(profile, region));
		put_count(out, "threads", region->threads);
		put_real(out, "elapsed_s", (double)region->elapsed_ns * 1e-9);
		put_real(out, "mean_s", (double)region->mean_ns * 1e-9);
		put_real(out, "slowest_s", (double)region->most_ns * 1e-9);
		put_real(out, "fastest_s", (double)region->least_ns * 1e-9);
		put_real(out, "lost_s", (double)(region->elapsed_ns - region->mean_ns) * 1e-9);
		put_end(out);
	}
	put_end(out);
}

void report_json_calls(struct json_writer *out, const char *key, const struct report_view *view)
{
	const struct profile *profile = view->profile;
	put_array(out, key);
	for (size_t i = 0; i < profile->n_sum_calls; i++) {
		const struct profile_sum_call *call = &profile->sum_calls[i];
		const char *name = kernel_call_name(call->number);
		put_object(out, NULL);
		put_text(out, "name", name ? name : "unknown");
		put_function(out, profile, call->function, call->module);
		put_count(out, "n", call->n);
		put_count(out, "failed", call->failed);
		put_real(out, "bytes",
			 account_moves_bytes(call->number) ? (double)call->bytes : NAN);
		put_end(out);
	}
	put_end(out);
}

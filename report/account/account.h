/* The account of a run: what its threads did, and what its wall time went by on.
 *
 * User, kernel, waiting and runnable time are sums over threads: together their lives.  What a
 * thread was on a processor is exact to the kernel's records of switches; how that parts into user
 * and kernel time is told by the samples. */
#pragma once

#include "profile/profile.h"
#include "report/model/model.h"

/* Slices of the strip in reports. */
#define ACCOUNT_STRIP 60

struct account {
	bool known;          /* threads' times by switches; else what can be told without */
	bool samples_kernel; /* else functions have of the kernel's time what page faults take */
	double wall_s, lives_s;
	double user_s, kernel_s, waiting_s, runnable_s; /* NAN: not known */
	double split_s; /* half-width of the interval of 95 % of user_s, and so of kernel_s; or NAN
			 */
	/* By the clock: at least one thread ran; none, but one was ready; all waited.  NAN: not
	 * known. */
	double wall_running_s, wall_runnable_s, wall_waiting_s;
	/* What the times of functions are to be multiplied by to be parts of user_s and kernel_s:
	 * these have what samples cost.  1 where that is not known. */
	double per_user_time, per_kernel_time;
	double busy_processors, usable_processors;
	size_t n_threads;            /* of all processes */
	double strip[ACCOUNT_STRIP]; /* busy processors in each part of the wall time */
	bool has_strip;
};

struct account account_of(const struct profile *profile, const struct model *model);

/* Of the time in which anything ran: only one thread did; below 0 where that is not known or there
 * are no several threads at once.  *most: how many times as fast as with one processor the whole
 * can be with all of them then (Amdahl 1967). */
double account_serial_share(const struct profile *profile, const struct account *account,
			    double *most);

/* Kernel time and waits of the program's own functions, s, and their page faults, by place
 * (function_index.h); to be freed; NULL: no memory. */
double *account_kernel_times(const struct profile *profile);
double *account_wait_times(const struct profile *profile);
double *account_page_faults(const struct profile *profile);

/* User and kernel time of a thread, as parts of what it ran: `share` of kernel samples. */
struct account_thread {
	uint32_t thread;
	double life_s, user_s, kernel_s, waiting_s, runnable_s;
};
/* One for each row of profile->thread_times, which add up to the run's; to be freed; NULL: no
 * memory. */
struct account_thread *account_threads(const struct profile *profile,
				       const struct account *account);

/* The name of the function, module or unknown code that a row of sum_kernel or sum_waits is of. */
const char *account_function(const struct profile *profile, uint32_t function, uint32_t module);

/* Words of the account. */
#include "report/account/account_words.h"

#include "base/text.h"
#include "profile/kernel_names.h"
#include "report/account/account.h"

#include <math.h>
#include <stdio.h>
#include <sys/syscall.h>

const char *account_wait_word(enum wait_kind kind)
{
	static const char *const words[N_WAIT_KINDS] = {
		[WAITS_OTHER] = "other",
		[WAITS_LOCK] = "lock",
		[WAITS_CONDITION] = "condition",
		[WAITS_JOIN] = "join",
		[WAITS_BARRIER] = "barrier",
		[WAITS_SEMAPHORE] = "semaphore",
		[WAITS_INTERPRETER] = "interpreter lock",
		[WAITS_PIPE] = "pipe",
		[WAITS_SOCKET] = "socket",
		[WAITS_DISK] = "disk",
		[WAITS_TERMINAL] = "terminal",
		[WAITS_SLEEP] = "sleep",
		[WAITS_CHILD] = "child",
		[WAITS_POLL] = "poll",
		[WAITS_SIGNAL] = "signal",
		[WAITS_EVENT] = "event",
		[WAITS_OURS] = "rfprof",
	};
	return words[kind];
}

bool account_moves_bytes(uint32_t number)
{
	static const uint32_t numbers[] = {
		SYS_read,       SYS_write,  SYS_pread64,  SYS_pwrite64,        SYS_readv,
		SYS_writev,     SYS_preadv, SYS_pwritev,  SYS_preadv2,         SYS_pwritev2,
		SYS_recvfrom,   SYS_sendto, SYS_recvmsg,  SYS_sendmsg,         SYS_sendfile,
		SYS_splice,     SYS_tee,    SYS_vmsplice, SYS_copy_file_range, SYS_getrandom,
		SYS_getdents64,
	};
	for (size_t i = 0; i < sizeof(numbers) / sizeof(*numbers); i++)
		if (numbers[i] == number)
			return true;
	return false;
}

const char *account_missing(const struct profile *profile, char *text, size_t size)
{
	const char *why = profile_get_fact(profile, "no_kernel_samples");
	const double fault_ns = profile_number_fact(profile, "fault_cost_ns", 0);
	char faults[96] = "";
	if (fault_ns > 0)
		snprintf(faults, sizeof(faults),
			 " (but for page faults, at about %.1f µs each, as new pages take here)",
			 fault_ns * 1e-3);
	if (!profile->n_thread_times)
		snprintf(text, size,
			 "when threads ran and what they waited for: there are no "
			 "records of switches between threads, only the kernel's sums");
	else if (why)
		snprintf(text, size,
			 "which functions the kernel's time is of%s, and what waits of less than "
			 "some 10 ms are for: %s",
			 faults, why);
	else
		return NULL;
	return text;
}

const struct profile_sum_runner *account_runner(const struct profile *profile,
						const struct profile_sum_wait *wait)
{
	const struct profile_sum_runner *found = NULL;
	const size_t number = (size_t)(wait - profile->sum_waits);
	for (size_t i = 0; i < profile->n_sum_runners; i++) {
		const struct profile_sum_runner *runner = &profile->sum_runners[i];
		/* the first of each kind tells most of it */
		if (runner->wait == number &&
		    (!found || (runner->waited != found->waited && runner->share > found->share)))
			found = runner;
	}
	return found;
}

void account_runner_words(const struct profile *profile, const struct profile_sum_runner *runner,
			  char *text, size_t size)
{
	const char *function = account_function(profile, runner->function, runner->module);
	char call[64];
	kernel_name(runner->call, call, sizeof(call));
	snprintf(text, size, "%.40s%s%s %.0f %%", function, runner->waited ? " " : "",
		 runner->waited ? call : "", 100 * fmin(1, runner->share));
}

const char *account_region_caller(const struct profile *profile,
				  const struct profile_sum_region *region)
{
	if (region->caller_function == PROFILE_NONE && region->caller_module == PROFILE_NONE)
		return NULL;
	return account_function(profile, region->caller_function, region->caller_module);
}

void account_region_words(const struct profile *profile, const struct profile_sum_region *region,
			  char *text, size_t size)
{
	const char *function = account_function(profile, region->function, region->module);
	const char *caller = account_region_caller(profile, region);
	const double elapsed_s = (double)region->elapsed_ns * 1e-9;
	const double mean_s = (double)region->mean_ns * 1e-9;
	char elapsed[TEXT_NUMBER], most[TEXT_NUMBER], mean[TEXT_NUMBER];
	snprintf(text, size,
		 "parallel region in %.60s%s%.60s%s: %u threads, %s s; the slowest works %s s, the "
		 "mean is %s s: %.0f %% of the region is lost to imbalance",
		 caller ? caller : function, caller ? " (" : "", caller ? function : "",
		 caller ? ")" : "", region->threads, text_number(elapsed, elapsed_s),
		 text_number(most, (double)region->most_ns * 1e-9), text_number(mean, mean_s),
		 elapsed_s > 0 ? 100 * (1 - mean_s / elapsed_s) : 0);
}

const struct profile_sum_region *account_worst_region(const struct profile *profile)
{
	const struct profile_sum_region *worst = NULL;
	for (size_t i = 0; i < profile->n_sum_regions; i++) {
		const struct profile_sum_region *region = &profile->sum_regions[i];
		if (!worst ||
		    region->elapsed_ns - region->mean_ns > worst->elapsed_ns - worst->mean_ns)
			worst = region;
	}
	return worst;
}

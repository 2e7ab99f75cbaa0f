/* What the kernel does for the program, and what it waits for in it. */
#include "report/reasons/advise_kernel.h"

#include "profile/kernel_names.h"
#include "report/account/account_words.h"
#include "report/reasons/kernel_remedy.h"

#include <math.h>
#include <string.h>
#include <sys/syscall.h>

/* System calls of one function are told as all where they are so many of them. */
#define NEARLY_ALL 0.9

static bool is_same_function(const struct profile_sum_kernel *kernel, uint32_t function,
			     uint32_t module)
{
	return kernel->function == function && kernel->module == module;
}

/* Thread time in the kernel of a function in one call, s; KERNEL_OTHER: in all calls but faults. */
static double kernel_s(const struct profile *profile, uint32_t function, uint32_t module,
		       uint32_t call)
{
	double sum = 0;
	for (size_t i = 0; i < profile->n_sum_kernel; i++) {
		const struct profile_sum_kernel *row = &profile->sum_kernel[i];
		const bool fits =
			call == KERNEL_OTHER ? row->call >= KERNEL_CALL : row->call == call;
		if (fits && is_same_function(row, function, module))
			sum += (double)row->time_ns * 1e-9;
	}
	return sum;
}

/* How often, as the counted run has it; NULL: it does not know of that function. */
static const struct profile_sum_call *calls_of(const struct profile *profile, uint32_t function,
					       uint32_t module, uint32_t call)
{
	for (size_t i = 0; i < profile->n_sum_calls; i++) {
		const struct profile_sum_call *row = &profile->sum_calls[i];
		if (call >= KERNEL_CALLS && row->number == call - KERNEL_CALLS &&
		    row->function == function && row->module == module)
			return row;
	}
	return NULL;
}

static const char *call_name(uint32_t call)
{
	const char *name = call >= KERNEL_CALLS ? kernel_call_name(call - KERNEL_CALLS) : NULL;
	if (call == KERNEL_FAULT)
		return "page faults";
	return name ? name : "system calls";
}

/* The bytes that each of these moves; 0: none, or not known. */
static double bytes_of(const struct profile_sum_call *calls)
{
	const bool moves = calls && account_moves_bytes(calls->number);
	return moves && calls->n > calls->failed
		       ? (double)calls->bytes / (double)(calls->n - calls->failed)
		       : 0;
}

/* "1,200 calls, 16 bytes each", or nothing. */
static const char *put_calls(char *cell, size_t size, const struct profile_sum_call *calls)
{
	cell[0] = '\0';
	if (!calls)
		return cell;
	if (account_moves_bytes(calls->number) && calls->n > calls->failed)
		snprintf(cell, size, " (%s calls of %s bytes each)", ADVICE_COUNT((double)calls->n),
			 ADVICE_COUNT(bytes_of(calls)));
	else if (calls->failed * 2 > calls->n)
		snprintf(cell, size, " (%s calls, of which %s fail)",
			 ADVICE_COUNT((double)calls->n), ADVICE_COUNT((double)calls->failed));
	else
		snprintf(cell, size, " (%s call%s)", ADVICE_COUNT((double)calls->n),
			 calls->n == 1 ? "" : "s");
	return cell;
}

/* ---- waiting ---- */

/* What is waited for, in words, and what one would try. */
static const struct {
	const char *what, *try;
} waiting[N_WAIT_KINDS] = {
	[WAITS_OTHER] = {"something that is not known", "look at where it waits: --by=wait"},
	[WAITS_LOCK] = {"a lock", "hold it for a shorter time"},
	[WAITS_CONDITION] =
		{"a condition that other threads signal, handed back and forth",
		 "hand over more work at a time, so that threads wake each other less often"},
	[WAITS_JOIN] = {"the end of other threads", "see what these wait for"},
	[WAITS_BARRIER] = {"other threads at a barrier", "share the work out more evenly"},
	[WAITS_SEMAPHORE] = {"a semaphore", "hand over more work at a time"},
	[WAITS_INTERPRETER] = {"the interpreter's lock", "several processes instead of threads"},
	[WAITS_PIPE] = {"a pipe", "look at the process at its other end: it is the slower one"},
	[WAITS_SOCKET] =
		{"a socket",
		 "look at its other end; ask for more at a time, or for several things at once"},
	[WAITS_DISK] = {"the disk",
			"ask for less often and more at a time; let other work go on meanwhile"},
	[WAITS_TERMINAL] = {"the terminal", "nothing: it waits for its user"},
	[WAITS_SLEEP] = {"a time that it sleeps",
			 "wait for the event itself instead of looking again and again"},
	[WAITS_CHILD] = {"its child processes",
			 "start several at once, or do their work in this process"},
	[WAITS_POLL] = {"events (poll, select, epoll)", "look at who should send them"},
	[WAITS_SIGNAL] = {"a signal", "look at who should send it"},
	[WAITS_EVENT] = {"an event (eventfd)", "look at who should send it"},
	[WAITS_OURS] = {"rfprof, which flushes caches", "nothing"},
};

/* Of waits of threads for each other not all is lost: advise_threads. */
static bool is_mutual(enum wait_kind kind)
{
	return kind == WAITS_LOCK || kind == WAITS_BARRIER || kind == WAITS_INTERPRETER;
}

/* Wall time in which all threads wait, and this is what some of them wait for. */
static double alone_s(const struct advice *advice, const struct profile_sum_wait *wait)
{
	return fmin((double)wait->alone_ns * 1e-9, advice->account.wall_waiting_s);
}

/* ", while main waits for a pipe (read)": another wait that takes as long, at the same time. */
static void put_other(char *text, size_t size, const struct advice *advice,
		      const struct profile_sum_wait *than)
{
	const struct profile *profile = advice->view->profile;
	const struct profile_sum_wait *other = NULL;
	text[0] = '\0';
	for (size_t i = 0; i < profile->n_sum_waits; i++) {
		const struct profile_sum_wait *wait = &profile->sum_waits[i];
		const bool tells = wait->kind != than->kind && wait->kind != WAITS_JOIN &&
				   wait->kind != WAITS_OTHER && wait->kind != WAITS_OURS &&
				   !is_mutual(wait->kind);
		if (tells && alone_s(advice, wait) > 0.7 * alone_s(advice, than) &&
		    (!other || wait->alone_ns > other->alone_ns))
			other = wait;
	}
	if (other)
		snprintf(text, size, ", while %.60s waits for %s (%s)",
			 account_function(profile, other->function, other->module),
			 waiting[other->kind].what, call_name(other->call));
}

static void advise_wait(struct advice *advice, const struct profile_sum_wait *wait)
{
	const struct profile *profile = advice->view->profile;
	const char *function = account_function(profile, wait->function, wait->module);
	if (wait->kind == WAITS_OURS)
		return;
	const double cost =
		alone_s(advice, wait) +
		kernel_s(profile, wait->function, wait->module, wait->call) * advice->wall_per_ran;
	char calls[96], other[192];
	/* Who waits for threads or children of the program waits for what these do. */
	const bool second = wait->kind == WAITS_JOIN || wait->kind == WAITS_CHILD;
	put_calls(calls, sizeof(calls),
		  calls_of(profile, wait->function, wait->module, wait->call));
	put_other(other, sizeof(other), advice, wait);
	const bool flushes = wait->call == KERNEL_CALLS + SYS_fsync ||
			     wait->call == KERNEL_CALLS + SYS_fdatasync;
	if (wait->kind == WAITS_DISK && flushes)
		advice_offer(advice, cost,
			     "%s of the wall time waits for the disk: %s in %.60s%s. What to try: "
			     "write several records before each (in one transaction), or let "
			     "another thread do it",
			     ADVICE_SHARE(advice, cost), call_name(wait->call), function, calls);
	else if (wait->kind == WAITS_DISK && wait->call == KERNEL_FAULT)
		advice_offer(advice, cost,
			     "%s of the wall time waits for the disk: page faults of %.60s (%s), "
			     "which touches pages of a file that are not in memory. What to try: "
			     "have them read ahead (MADV_WILLNEED, MADV_SEQUENTIAL), or read "
			     "larger pieces",
			     ADVICE_SHARE(advice, cost), function, ADVICE_COUNT((double)wait->n));
	else
		advice_offer(advice, second ? 0.8 * cost : cost,
			     "%s of the wall time waits for %s: %s in %.60s%s%s. What to try: %s",
			     ADVICE_SHARE(advice, cost), waiting[wait->kind].what,
			     call_name(wait->call), function, calls, other,
			     waiting[wait->kind].try);
}

/* ---- working ---- */

/* " (73,000 of 73,200 faults)", or nothing. */
static const char *put_faults(char *cell, size_t size, const struct profile *profile,
			      const struct profile_sum_kernel *kernel)
{
	uint64_t all = 0, own = 0;
	for (size_t i = 0; i < profile->n_sum_faults; i++) {
		const struct profile_sum_fault *row = &profile->sum_faults[i];
		all += row->n;
		if (is_same_function(kernel, row->function, row->module))
			own += row->n;
	}
	cell[0] = '\0';
	if (own)
		snprintf(cell, size, " (%s of %s faults)", ADVICE_COUNT((double)own),
			 ADVICE_COUNT((double)all));
	return cell;
}

static void advise_faults(struct advice *advice, const struct profile_sum_kernel *row)
{
	const struct profile *profile = advice->view->profile;
	const double cost = (double)row->time_ns * 1e-9 * advice->wall_per_ran;
	char faults[64];
	advice_offer(
		advice, cost,
		"%s%s of the wall time is in the kernel: page faults of %.60s, which touches new "
		"pages of memory%s. What to try: " FAULTS_REMEDY,
		advice->account.samples_kernel ? "" : "some ", ADVICE_SHARE(advice, cost),
		account_function(profile, row->function, row->module),
		put_faults(faults, sizeof(faults), profile, row));
}

/* All system calls of a function, by the one that takes most of their time. */
static void advise_calls(struct advice *advice, const struct profile_sum_kernel *row)
{
	const struct profile *profile = advice->view->profile;
	const double of_all =
		kernel_s(profile, row->function, row->module, KERNEL_OTHER) * advice->wall_per_ran;
	const double own = (double)row->time_ns * 1e-9 * advice->wall_per_ran;
	char calls[96];
	const struct profile_sum_call *made =
		calls_of(profile, row->function, row->module, row->call);
	put_calls(calls, sizeof(calls), made);
	/* the larger ones come with the cost of all: of these the first is told */
	if (of_all - own > own)
		return;
	advice_offer(advice, of_all,
		     "%s of the wall time is in the kernel: system calls of %.60s, most of it "
		     "%s%s. What "
		     "to try: %s",
		     ADVICE_SHARE(advice, of_all),
		     account_function(profile, row->function, row->module), call_name(row->call),
		     calls, kernel_call_remedy(row->call - KERNEL_CALLS, bytes_of(made)));
}

/* Where the kernel was not sampled, what is not of page faults has no function; but who makes
 * nearly all of the system calls is known. */
static void advise_unsampled(struct advice *advice)
{
	const struct profile *profile = advice->view->profile;
	const struct profile_sum_call *most = NULL;
	double s = advice->account.kernel_s;
	uint64_t all = 0, own = 0;
	char calls[96];
	for (size_t i = 0; i < profile->n_sum_kernel; i++)
		if (profile->sum_kernel[i].call == KERNEL_FAULT)
			s -= (double)profile->sum_kernel[i].time_ns * 1e-9;
	for (size_t i = 0; i < profile->n_sum_calls; i++) {
		all += profile->sum_calls[i].n;
		most = !most || profile->sum_calls[i].n > most->n ? &profile->sum_calls[i] : most;
	}
	for (size_t i = 0; most && i < profile->n_sum_calls; i++)
		if (profile->sum_calls[i].function == most->function &&
		    profile->sum_calls[i].module == most->module)
			own += profile->sum_calls[i].n;
	if (!most || (double)own < NEARLY_ALL * (double)all)
		return;
	put_calls(calls, sizeof(calls), most);
	advice_offer(advice, s * advice->wall_per_ran,
		     "%s of the wall time is in the kernel, which may not be sampled here; %s of "
		     "%s system calls are of %.60s, most of them %s%s. What to try: %s",
		     ADVICE_SHARE(advice, s * advice->wall_per_ran), ADVICE_COUNT((double)own),
		     ADVICE_COUNT((double)all),
		     account_function(profile, most->function, most->module),
		     call_name(KERNEL_CALLS + most->number), calls,
		     kernel_call_remedy(most->number, bytes_of(most)));
}

/* What the kernel does for rfprof within the program. */
static bool is_ours(const struct profile *profile, uint32_t module)
{
	return module != PROFILE_NONE &&
	       strcmp(profile->modules[module].path, PROFILE_OWN_MODULE) == 0;
}

void advise_kernel(struct advice *advice)
{
	const struct profile *profile = advice->view->profile;
	for (size_t i = 0; i < profile->n_sum_waits; i++)
		if (!is_mutual(profile->sum_waits[i].kind))
			advise_wait(advice, &profile->sum_waits[i]);
	for (size_t i = 0; i < profile->n_sum_kernel; i++) {
		const struct profile_sum_kernel *row = &profile->sum_kernel[i];
		if (is_ours(profile, row->module))
			continue;
		if (row->call == KERNEL_FAULT)
			advise_faults(advice, row);
		else if (row->call >= KERNEL_CALLS)
			advise_calls(advice, row);
	}
	if (!advice->account.samples_kernel)
		advise_unsampled(advice);
}

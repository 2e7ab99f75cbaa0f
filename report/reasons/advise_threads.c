/* Threads that hinder each other, wait in loops, or have not the same to do. */
#include "report/reasons/advise_threads.h"

#include "base/text.h"
#include "profile/kernel_names.h"
#include "profile/system_modules.h"
#include "report/account/account_words.h"
#include "report/account/child_lives.h"
#include "report/model/model_place.h"
#include "report/reasons/sharing.h"

#include <math.h>
#include <sys/syscall.h>

/* A thread that ran for less of the wall time takes no part in the work. */
#define WORKER_SHARE 0.05
/* No more processors than that are busy where no two threads run at once. */
#define ONE_AT_A_TIME 1.2
/* So many threads that wait for a lock, on average, are a queue. */
#define QUEUE 0.5
/* Threads whose running times are as close as that have the same to do. */
#define EVEN 0.8
/* Less of the wall time with too few threads is not worth a word. */
#define LEAST_LOSS 0.1
/* Waits for a condition that last longer, on average, are for work that is missing. */
#define LONG_WAIT_NS 1e6
/* What ran for less of the time that threads waited explains nothing. */
#define LEAST_RUNNER 0.2

struct workers {
	size_t n;
	double most_s, least_s; /* running time */
};

static struct workers find_workers(const struct advice *advice)
{
	const struct profile *profile = advice->view->profile;
	struct workers workers = {0, 0, INFINITY};
	for (size_t i = 0; i < profile->n_thread_times; i++) {
		const double ran_s = (double)profile->thread_times[i].ran_ns * 1e-9;
		if (ran_s < WORKER_SHARE * advice->account.wall_s)
			continue;
		workers.n++;
		workers.most_s = fmax(workers.most_s, ran_s);
		workers.least_s = fmin(workers.least_s, ran_s);
	}
	return workers;
}

/* Wall time in which fewer threads ran than could. */
static double time_below(const struct profile *profile, size_t could)
{
	double sum = 0;
	for (size_t i = 0; i < profile->n_concurrency; i++)
		if (profile->concurrency[i].running < could)
			sum += (double)profile->concurrency[i].time_ns * 1e-9;
	return sum;
}

/* The longest waits of a set of kinds (bits), or NULL. */
static const struct profile_sum_wait *longest(const struct profile *profile, unsigned kinds)
{
	const struct profile_sum_wait *found = NULL;
	for (size_t i = 0; i < profile->n_sum_waits; i++) {
		const struct profile_sum_wait *wait = &profile->sum_waits[i];
		if (kinds >> wait->kind & 1 && (!found || wait->time_ns > found->time_ns))
			found = wait;
	}
	return found;
}

/* The wait of threads for each other that explains most of a loss of wall time, or NULL. */
static const struct profile_sum_wait *main_wait(const struct profile *profile, double loss_s)
{
	const unsigned mutual = 1u << WAITS_LOCK | 1u << WAITS_CONDITION | 1u << WAITS_BARRIER |
				1u << WAITS_SEMAPHORE | 1u << WAITS_INTERPRETER;
	const struct profile_sum_wait *found = longest(profile, mutual);
	/* who waits for the ends of threads in an interpreter does so by its locks as well */
	const struct profile_sum_wait *interpreter = longest(profile, 1u << WAITS_INTERPRETER);
	if (interpreter && (double)interpreter->time_ns > 0.3 * (double)found->time_ns)
		return interpreter;
	if (!found || (double)found->time_ns * 1e-9 < 0.5 * loss_s)
		found = longest(profile, 1u << WAITS_JOIN);
	/* what is short explains nothing: most of the program is made for one thread, then */
	return found && (double)found->time_ns * 1e-9 > 0.5 * loss_s ? found : NULL;
}

/* ", meanwhile price of the holder ran (93 % of that time)", or nothing; in `text`. */
static void put_runner(char *text, size_t size, const struct profile *profile,
		       const struct profile_sum_wait *wait)
{
	const struct profile_sum_runner *runner = account_runner(profile, wait);
	const bool locked = wait->kind == WAITS_LOCK;
	char call[64];
	text[0] = '\0';
	if (!runner || runner->share < LEAST_RUNNER)
		return;
	const char *function = account_function(profile, runner->function, runner->module);
	const double percent = 100 * fmin(1, runner->share);
	kernel_name(runner->call, call, sizeof(call));
	if (!runner->waited)
		snprintf(text, size, ", meanwhile %.60s%s ran (%.0f %% of that time)", function,
			 locked && runner->holder_share > 0.5 * runner->share ? " of the holder"
									      : "",
			 percent);
	else
		snprintf(text, size,
			 ", while %s waited itself, in %.60s (%s, %.0f %% of that time)",
			 locked ? "the holder" : "who let them go on", function, call, percent);
}

/* Whether it is work that is missing, and not the time in which threads wake each other. */
static bool is_long(const struct profile_sum_wait *wait)
{
	return (double)wait->time_ns > LONG_WAIT_NS * (double)wait->n;
}

static void offer_wait(struct advice *advice, double cost, const struct workers *workers,
		       const struct profile_sum_wait *wait)
{
	const struct profile *profile = advice->view->profile;
	const char *function = account_function(profile, wait->function, wait->module);
	char meanwhile[192];
	put_runner(meanwhile, sizeof(meanwhile), profile, wait);
	switch (wait->kind) {
	case WAITS_LOCK:
		advice_offer(
			advice, cost,
			"for %s of the wall time fewer of the %zu threads run than could: they "
			"wait "
			"for a lock in %.60s%s. What to try: hold it for a shorter time, or give "
			"each thread, or part of the data, a lock of its own",
			ADVICE_SHARE(advice, cost), workers->n, function, meanwhile);
		break;
	case WAITS_INTERPRETER:
		advice_offer(
			advice, cost,
			"for %s of the wall time one of the %zu threads runs at a time: they wait "
			"for the interpreter's lock (GIL). What to try: several processes "
			"(multiprocessing), or code that gives up the lock while it computes",
			ADVICE_SHARE(advice, cost), workers->n);
		break;
	case WAITS_CONDITION:
	case WAITS_SEMAPHORE:
		advice_offer(
			advice, cost,
			"for %s of the wall time fewer of the %zu threads run than could: they "
			"wait for a condition in %.60s%s%s",
			ADVICE_SHARE(advice, cost), workers->n, function, meanwhile,
			is_long(wait) ? ". What to try: more and smaller pieces of work, so that "
					"each of them has one"
				      : ", and wake each other. What to try: hand over more work "
					"at a time");
		break;
	default:
		if (workers->least_s > EVEN * workers->most_s && wait->kind == WAITS_JOIN)
			break;
		advice_offer(
			advice, cost,
			"the work is uneven: for %s of the wall time fewer of the %zu threads run "
			"than could, and wait for the others in %.60s (one ran for %s s, another "
			"for %s s). What to try: smaller pieces, shared out as threads get free",
			ADVICE_SHARE(advice, cost), workers->n, function,
			REPORT_NUMBER(workers->most_s), REPORT_NUMBER(workers->least_s));
		break;
	}
}

/* The region that loses most, or NULL: nothing that is worth a word. */
static const struct profile_sum_region *main_region(const struct advice *advice)
{
	const struct profile_sum_region *worst = account_worst_region(advice->view->profile);
	const double lost_s = worst ? (double)(worst->elapsed_ns - worst->mean_ns) * 1e-9 : 0;
	return lost_s > LEAST_LOSS * advice->account.wall_s ? worst : NULL;
}

static void advise_region(struct advice *advice, double cost,
			  const struct profile_sum_region *region)
{
	char words[320];
	account_region_words(advice->view->profile, region, words, sizeof(words));
	advice_offer(advice, fmin(cost, advice->account.wall_s),
		     "the work is uneven: %s. What to try: smaller pieces, shared out as threads "
		     "get free (OpenMP: schedule(dynamic))",
		     words);
}

/* A child of a short life is no worker of its own.  Children that run at once, such as those of a
 * pipeline, or a single one, are waited for because of what they do. */
static void advise_children(struct advice *advice)
{
	const struct profile *profile = advice->view->profile;
	const double wall_s = advice->account.wall_s;
	const double processors = fmax(1, advice->account.usable_processors);
	const struct profile_sum_wait *wait = longest(profile, 1u << WAITS_CHILD);
	const double waited_s = wait ? (double)wait->time_ns * 1e-9 : 0;
	if (wait && advice->account.busy_processors < ONE_AT_A_TIME &&
	    child_lives_in_turn(profile, processors, wall_s) > LEAST_LOSS * wall_s)
		advice_offer(
			advice, fmin(waited_s, wall_s),
			"for %s of the wall time %.60s waits for its child processes, which run "
			"one after the other. What to try: start several at once, or do their work "
			"in this process",
			ADVICE_SHARE(advice, waited_s),
			account_function(profile, wait->function, wait->module));
}

/* `region`: one that explains why threads wait for each other's work, or NULL. */
static void advise_serial(struct advice *advice, const struct profile_sum_region *region)
{
	const struct profile *profile = advice->view->profile;
	const struct workers workers = find_workers(advice);
	const double processors = fmax(1, advice->account.usable_processors);
	const size_t could = (size_t)fmin(processors, (double)workers.n);
	if (could < 2)
		return;
	const double below = time_below(profile, could);
	/* who is ready is kept from running by other programs, or by too few processors */
	const double wanted_s =
		advice->account.user_s + advice->account.kernel_s + advice->account.runnable_s;
	const double loss = advice->account.wall_s - wanted_s / (double)could;
	const struct profile_sum_wait *wait = main_wait(profile, loss);
	/* a queue, whoever keeps its head from running */
	const bool queues = wait && wait->kind == WAITS_LOCK &&
			    advice->account.busy_processors < ONE_AT_A_TIME &&
			    (double)wait->time_ns * 1e-9 > QUEUE * advice->account.wall_s;
	const bool uneven = wait && (wait->kind == WAITS_BARRIER || wait->kind == WAITS_JOIN);
	if (!wait || !(queues || loss > LEAST_LOSS * advice->account.wall_s))
		return;
	const double cost = fmin(below, (double)wait->time_ns * 1e-9 + loss);
	if (region && uneven)
		advise_region(advice, cost, region);
	else
		offer_wait(advice, cost, &workers, wait);
}

/* The function that most of the calls are of by which threads give up the processor, or NULL. */
static const char *who_yields(const struct profile *profile)
{
	const struct profile_sum_kernel *most = NULL;
	for (size_t i = 0; i < profile->n_sum_kernel; i++) {
		const struct profile_sum_kernel *row = &profile->sum_kernel[i];
		if (row->call == KERNEL_CALLS + SYS_sched_yield &&
		    (!most || row->time_ns > most->time_ns))
			most = row;
	}
	return most ? account_function(profile, most->function, most->module) : NULL;
}

/* `libraries`: whether the loops of run-time libraries are told of, as well. */
static void advise_spinning(struct advice *advice, bool libraries)
{
	const struct model *model = advice->view->model;
	const struct profile *profile = advice->view->profile;
	const struct model_function *most = NULL;
	double sum = 0, longest_s = 0;
	for (size_t i = 0; i < model->n_functions; i++) {
		const struct model_function *f = &model->functions[i];
		const double s = (double)(f->waits ? f->time_ns : f->code.pause_ns) * 1e-9;
		if (!libraries && profile_is_system_module(f->module))
			continue;
		sum += s;
		most = s > longest_s ? f : most;
		longest_s = fmax(s, longest_s);
	}
	const double spun_s = fmin(sum, advice->account.wall_s);
	const char *name = most ? most->name : NULL;
	if (most && model_is_of_kernel(profile, most))
		name = who_yields(profile) ?: name;
	if (most)
		advice_offer(
			advice, spun_s,
			"for %s of the wall time a thread spins: %.60s looks again and "
			"again whether others are done (a barrier, a lock). What to try: share the "
			"work out more evenly, meet less often, or wait in the kernel",
			ADVICE_SHARE(advice, spun_s), name);
}

static void advise_sharing(struct advice *advice)
{
	const struct model *model = advice->view->model;
	const struct profile *profile = advice->view->profile;
	for (size_t i = 0; i < model->n_functions && profile->n_shared_lines; i++) {
		const struct model_function *f = &model->functions[i];
		if (!f->time_ns)
			continue;
		const struct sharing_part part = sharing_of_function(profile, f, SHARING_FALSE);
		const double cost = part.cpu_s / fmax(1, f->concurrency);
		char line[512];
		if (part.line == PROFILE_NONE || !(cost > advice->best_s))
			continue;
		sharing_line_words(profile, part.line, f, line, sizeof(line));
		advice_offer(
			advice, cost,
			"up to %s of the wall time is false sharing: threads use bytes of their "
			"own in "
			"one line, which moves between them (%s). What to try: pad or align to 64 "
			"bytes what each thread writes, or give each a copy of its own",
			ADVICE_SHARE(advice, cost), line);
	}
}

void advise_threads(struct advice *advice)
{
	const struct profile_sum_region *region = main_region(advice);
	advise_sharing(advice);
	advise_children(advice);
	/* some of its threads have no work any more */
	if (region)
		advise_region(advice, (double)(region->elapsed_ns - region->least_ns) * 1e-9,
			      region);
	advise_serial(advice, region);
	advise_spinning(advice, !region);
}

/* The measurement from its beginning to its end. */
#include "tracer/attach/attached.h"

#include "base/clock.h"
#include "tracer/attach/attached_threads.h"
#include "tracer/attach/existing.h"
#include "tracer/span/span.h"
#include "tracer/timed/sample_cost.h"
#include "tracer/timed/sample_log.h"
#include "tracer/timed/sampler_event.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Between two samples of a thread, in a short measurement and in a long one; not round, so that a
 * program with a period of its own is not in step with them. */
#define SHORT_PERIOD_NS 997001
#define LONG_PERIOD_NS 3997003
#define SHORT_S 30
/* How often rings are read. */
enum { POLL_MS = 10 };

struct measurement {
	const struct attached_options *options;
	struct sampler sampler;
	struct span *span;
	struct attached_threads threads;
	uint64_t tick_ns;
	int process; /* a descriptor that is readable when it has ended */
};

/* ---- signals end it ---- */

static int interrupted = -1;
static const int ending[] = {SIGINT, SIGTERM, SIGHUP};
enum { N_ENDING = sizeof(ending) / sizeof(ending[0]) };

static void on_signal(int number)
{
	const uint64_t one = 1;
	const int errnum = errno;
	(void)number;
	(void)!write(interrupted, &one, sizeof(one));
	errno = errnum;
}

/* One that was ignored stays so. */
static void take_signals(struct sigaction before[N_ENDING])
{
	const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	for (int i = 0; i < N_ENDING; i++)
		if (sigaction(ending[i], NULL, &before[i]) == 0 && before[i].sa_handler != SIG_IGN)
			sigaction(ending[i], &action, NULL);
}

static void give_signals_back(const struct sigaction before[N_ENDING])
{
	for (int i = 0; i < N_ENDING; i++)
		sigaction(ending[i], &before[i], NULL);
}

/* ---- records ---- */

static void take(void *context, struct attached_cpu *cpu, const struct perf_record *given,
		 bool is_wait)
{
	struct measurement *measurement = context;
	struct perf_record record = *given;
	if (is_wait) {
		sample_log_switch(&measurement->sampler, &record);
		return;
	}
	if (record.type == PERF_RECORD_SAMPLE)
		record.period = perf_stops_weight(&cpu->stops, &record, measurement->tick_ns);
	else if (record.type == PERF_RECORD_THROTTLE)
		perf_stops_add(&cpu->stops, &record);
	sample_log_record(&measurement->sampler, &record);
}

static enum attached_end follow(struct measurement *measurement)
{
	struct pollfd polls[] = {{interrupted, POLLIN, 0}, {measurement->process, POLLIN, 0}};
	const uint64_t until = span_until(measurement->span);
	for (;;) {
		poll(polls, 2, POLL_MS);
		const uint64_t now = clock_now_ns();
		attached_threads_read(&measurement->threads, take, measurement);
		sample_log_complete_until(&measurement->sampler, now);
		if (polls[0].revents & POLLIN)
			return ATTACHED_INTERRUPTED;
		if (polls[1].revents & POLLIN)
			return ATTACHED_PROCESS_ENDED;
		if (now >= until)
			return ATTACHED_TIME_OVER;
	}
}

/* ---- from the beginning to the end ---- */

static struct rf_error *begin(struct measurement *measurement)
{
	const struct attached_options *options = measurement->options;
	const bool is_short = options->duration_s > 0 && options->duration_s <= SHORT_S;
	const uint64_t start = clock_now_ns();
	measurement->tick_ns = sampler_event_tick();
	measurement->process = (int)syscall(SYS_pidfd_open, options->pid, 0);
	if (measurement->process < 0)
		return rf_error_errno(RF_EINPUT, errno, NULL, "process %d", (int)options->pid);
	span_released(measurement->span, start);
	const uint64_t period =
		sampler_event_period(is_short ? SHORT_PERIOD_NS : LONG_PERIOD_NS,
				     sampler_event_max_rate(), measurement->tick_ns);
	struct rf_error *error =
		attached_threads_open(&measurement->threads, options->pid, !options->no_children,
				      period, take, measurement);
	if (error)
		return error;
	measurement->sampler.skips_kernel = !measurement->threads.sees_kernel;
	existing_tell(&measurement->sampler, options->pid, measurement->threads.tids,
		      measurement->threads.n_tids, start);
	return NULL;
}

static struct rf_error *end(struct measurement *measurement, struct profile *profile)
{
	struct sampler *sampler = &measurement->sampler;
	const bool sees_kernel = measurement->threads.sees_kernel;
	struct perf_event_attr attr = sampler_event_attributes(measurement->threads.period_ns);
	attr.exclude_kernel = attr.exclude_callchain_kernel = !sees_kernel;
	attr.context_switch = 0;
	attached_threads_stop(&measurement->threads);
	sampler->end_ns = clock_now_ns();
	span_ends(measurement->span, sampler->end_ns);
	attached_threads_read(&measurement->threads, take, measurement);
	for (size_t i = 0; i < measurement->threads.n_cpus; i++)
		sample_log_lost(sampler->log, measurement->threads.cpus[i].ring.broken);
	if (!sees_kernel)
		profile_set_fact(
			profile, "no_kernel_samples",
			"kernel.perf_event_paranoid is 2 or more, and there is no CAP_PERFMON");
	profile_set_fact(profile, "sample_cost_ns", "%" PRIu64, sample_cost_ns(&attr, false));
	return sample_log_finish(sampler, "perf cpu-clock, attached",
				 measurement->threads.period_ns);
}

static struct rf_error *measure(struct measurement *measurement, struct profile *profile,
				struct attached_result *result)
{
	struct sigaction before[N_ENDING];
	struct rf_error *error = begin(measurement);
	if (error)
		return error;
	take_signals(before);
	result->end = follow(measurement);
	give_signals_back(before);
	result->n_threads = measurement->threads.n_tids;
	error = end(measurement, profile);
	result->wall_s =
		(double)(span_until(measurement->span) - span_from(measurement->span)) * 1e-9;
	return error;
}

struct rf_error *attached_measure(const struct attached_options *options, struct profile *profile,
				  struct attached_result *result)
{
	const struct span_options span = {.duration_s = options->duration_s};
	struct measurement measurement = {.options = options,
					  .span = span_create(&span),
					  .process = -1,
					  .sampler = {.tells_switches = true,
						      .first_only = options->no_children,
						      .first_pid = options->pid}};
	interrupted = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	measurement.sampler.span = measurement.span;
	if (options->no_children)
		measurement.sampler.only_pid = (uint32_t)options->pid;
	struct rf_error *error =
		measurement.span && sampler_init(&measurement.sampler, profile, options->kept)
			? measure(&measurement, profile, result)
			: rf_error_no_memory();
	sampler_deinit(&measurement.sampler);
	attached_threads_close(&measurement.threads);
	span_destroy(measurement.span);
	if (measurement.process >= 0)
		close(measurement.process);
	close(interrupted);
	return error;
}

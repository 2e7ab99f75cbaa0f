/* What all samplers have: a log, and a thread that reads rings into it until it is stopped. */
#include "tracer/timed/sampler.h"

#include "base/thread.h"
#include "tracer/timed/sample_log.h"

#include <errno.h>
#include <sys/eventfd.h>
#include <unistd.h>

bool sampler_init(struct sampler *sampler, struct profile *profile, struct kept_store *kept)
{
	sampler->profile = profile;
	sampler->stop = -1;
	sampler->log = sample_log_create(profile, kept);
	return sampler->log;
}

struct rf_error *sampler_start_reader(struct sampler *sampler, pid_t pid, void *(*run)(void *))
{
	sampler->first_pid = pid;
	if (sampler->first_only)
		sampler->only_pid = (uint32_t)pid;
	sampler->stop = eventfd(0, EFD_CLOEXEC);
	if (sampler->stop < 0)
		return rf_error_errno(RF_EINTERNAL, errno, NULL, "cannot make an event descriptor");
	const int errnum = thread_start(&sampler->reader, run, sampler);
	if (errnum)
		return rf_error_errno(RF_EINTERNAL, errnum, NULL, "cannot start a thread");
	sampler->reading = true;
	return NULL;
}

void sampler_stop_reader(struct sampler *sampler)
{
	if (!sampler->reading)
		return;
	eventfd_write(sampler->stop, 1);
	pthread_join(sampler->reader, NULL);
	sampler->reading = false;
}

void sampler_ran_on(struct sampler *sampler, int cpu)
{
	if (cpu < SAMPLER_CPUS)
		__atomic_fetch_or(&sampler->ran_on[cpu / 64], 1ull << cpu % 64, __ATOMIC_RELAXED);
}

void sampler_deinit(struct sampler *sampler)
{
	sampler_stop_reader(sampler);
	if (sampler->stop >= 0)
		close(sampler->stop);
	sample_log_destroy(sampler->log);
}

/* How the event is opened that samples, and how often it may. */
#pragma once

#include <linux/perf_event.h>
#include <stdint.h>
#include <sys/types.h>

/* The period in ns, not below `wanted_ns`, at which the kernel does not throttle a sampler_perf:
 * `max_rate` is its limit in samples a second (kernel.perf_event_max_sample_rate; 0: not known),
 * `tick_ns` the length of its ticks.  Where the limit is one sample a tick, each is followed by a
 * stop, and the period is two ticks. */
uint64_t sampler_event_period(uint64_t wanted_ns, uint64_t max_rate, uint64_t tick_ns);

/* What sampler_perf opens: the attributes of its event of such a period, which starts with
 * PERF_EVENT_IOC_ENABLE or an execve; perf_event_open of that or a similar event, of which is taken
 * back what this kernel does not know, or does not allow (the kernel's part); the kernel's limit in
 * samples a second, 0: not known; the length of its ticks, ns. */
struct perf_event_attr sampler_event_attributes(uint64_t period);
int sampler_event_open(struct perf_event_attr *attr, pid_t pid, int cpu);
uint64_t sampler_event_max_rate(void);
uint64_t sampler_event_tick(void);

/* Attributes that several events have. */
#include "tracer/perf/event_records.h"

#include <time.h>

void event_records_have_times(struct perf_event_attr *attr)
{
	attr->sample_id_all = 1;
	attr->use_clockid = 1;
	attr->clockid = CLOCK_MONOTONIC;
}

void event_records_tell_mappings(struct perf_event_attr *attr)
{
	attr->mmap = 1;
	attr->mmap2 = 1;
	attr->build_id = 1;
	attr->comm = 1;
	attr->comm_exec = 1;
}

/* Records of events that were sampled by overflow: which event, where and by whom.
 *
 * The events of a CPU share a ring (PERF_EVENT_IOC_SET_OUTPUT), so each sample and each other
 * record carries the id of its event: first in a sample, last in the others
 * (PERF_SAMPLE_IDENTIFIER; perf_event_open(2), "sample_id").  The ring itself is read by
 * tracer/perf/perf_ring.h. */
#pragma once

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What each sample holds; records of other types end with its TID, TIME and IDENTIFIER
 * (attr.sample_id_all).  Not PERF_SAMPLE_PERIOD: the period is the one that was set, and with it a
 * software event would make a sample of each single event, whatever its period (perf_swevent_event
 * in kernel/events/core.c). */
#define COUNTER_SAMPLE_TYPE \
	(PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_IP | PERF_SAMPLE_TID | PERF_SAMPLE_TIME)

struct counter_record {
	uint32_t type; /* PERF_RECORD_* */
	uint16_t misc;
	uint32_t pid, tid;
	uint64_t time; /* CLOCK_MONOTONIC, ns */
	uint64_t id;   /* of the event that was opened (of the parent's, where it was inherited) */
	uint64_t ip;   /* PERF_RECORD_SAMPLE */
	uint64_t lost; /* PERF_RECORD_LOST, PERF_RECORD_LOST_SAMPLES */
};

/* Parses the record at `bytes`, of which `size` bytes are readable.  False when it is truncated or
 * shorter than its type must be; *record is then untouched.  Types not listed above parse with
 * their header and trailer. */
bool counter_record_parse(const void *bytes, size_t size, struct counter_record *record);

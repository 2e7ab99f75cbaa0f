/* Parsing the records of sampled counters. */
#include "tracer/pmu/counter_ring.h"

#include <string.h>

/* The trailer of every record but samples: u32 pid, tid; u64 time; u64 id. */
enum { HEADER = sizeof(struct perf_event_header), TRAILER = 24, SAMPLE = 32 };
_Static_assert(HEADER == 8, "records are made of 64-bit words");

static uint64_t word(const uint8_t *bytes, size_t number)
{
	uint64_t value;
	memcpy(&value, bytes + 8 * number, sizeof(value));
	return value;
}

/* u64 id, ip; u32 pid, tid; u64 time. */
static bool parse_sample(const uint8_t *body, size_t size, struct counter_record *record)
{
	if (size < SAMPLE)
		return false;
	record->id = word(body, 0);
	record->ip = word(body, 1);
	record->pid = (uint32_t)word(body, 2);
	record->tid = (uint32_t)(word(body, 2) >> 32);
	record->time = word(body, 3);
	return true;
}

/* LOST: u64 id, lost.  LOST_SAMPLES: u64 lost. */
static bool parse_lost(const uint8_t *body, size_t size, struct counter_record *record)
{
	const size_t at = record->type == PERF_RECORD_LOST ? 1 : 0;
	if (record->type != PERF_RECORD_LOST && record->type != PERF_RECORD_LOST_SAMPLES)
		return true;
	if (size < 8 * (at + 1))
		return false;
	record->lost = word(body, at);
	return true;
}

static bool parse_other(const uint8_t *body, size_t size, struct counter_record *record)
{
	if (size < TRAILER)
		return false;
	const uint8_t *trailer = body + size - TRAILER;
	record->pid = (uint32_t)word(trailer, 0);
	record->tid = (uint32_t)(word(trailer, 0) >> 32);
	record->time = word(trailer, 1);
	record->id = word(trailer, 2);
	return parse_lost(body, size - TRAILER, record);
}

bool counter_record_parse(const void *bytes, size_t size, struct counter_record *record)
{
	struct perf_event_header header;
	if (size < HEADER)
		return false;
	memcpy(&header, bytes, HEADER);
	if (header.size < HEADER || header.size > size)
		return false;
	struct counter_record parsed = {.type = header.type, .misc = header.misc};
	const uint8_t *body = (const uint8_t *)bytes + HEADER;
	const size_t body_size = header.size - (size_t)HEADER;
	bool whole = header.type == PERF_RECORD_SAMPLE ? parse_sample(body, body_size, &parsed)
						       : parse_other(body, body_size, &parsed);
	if (whole)
		*record = parsed;
	return whole;
}

/* What lies between switches, against a slow search. */
#include "tests/unit/splitmix.h"
#include "tracer/calls/switch_log.h"

#include <criterion/criterion.h>

enum { RECORDS = 300, THREADS = 3 };

static uint64_t between_slowly(const struct switch_record *records, uint32_t tid, uint64_t from,
			       uint64_t until)
{
	const struct switch_record *first = NULL, *last = NULL;
	for (size_t i = 0; i < RECORDS; i++) {
		if (records[i].tid != tid || records[i].time <= from || records[i].time > until)
			continue;
		first = first ? first : &records[i];
		last = &records[i];
	}
	return first && !first->is_out && last->is_out ? last->time - first->time : 0;
}

Test(switch_log, between)
{
	struct switch_record records[RECORDS];
	uint64_t state = 5, time = 0, known = 0;
	for (size_t i = 0; i < RECORDS;
	     i++) { /* of each thread its own times, some of them equal */
		time = i % (RECORDS / THREADS) ? time + random_number(&state) % 5 : 0;
		records[i] = (struct switch_record){time, (uint32_t)(i / (RECORDS / THREADS)) * 7,
						    random_number(&state) % 4 ? i % 2 : !(i % 2)};
	}
	for (int i = 0; i < 20000; i++) {
		const uint32_t tid = (uint32_t)(random_number(&state) % (THREADS + 1)) * 7;
		const uint64_t from = random_number(&state) % 220,
			       until = from + random_number(&state) % 60;
		const uint64_t ns = switch_log_between(records, RECORDS, tid, from, until);
		cr_assert_eq(ns, between_slowly(records, tid, from, until));
		known += ns > 0;
	}
	cr_assert(known > 1000);
	cr_assert_eq(switch_log_between(NULL, 0, 7, 0, 9), 0);
}

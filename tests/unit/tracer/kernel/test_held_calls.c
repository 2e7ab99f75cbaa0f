/* What is held while kernels are called: copies, in their order, up to so many bytes. */
#include "tracer/kernel/held_calls.h"

#include <criterion/criterion.h>
#include <string.h>

static bool add(struct held_calls *held, enum held_kind kind, void *thread, void *records, size_t n)
{
	const struct held_event event = {
		.kind = kind, .thread = thread, .records = records, .n = n};
	return held_calls_add(held, &event, 1);
}

Test(held_calls, calls_end_where_their_threads_leave)
{
	struct held_calls held;
	char a, b, records[] = "records";
	held_calls_init(&held, 1000);
	cr_assert(add(&held, HELD_ENTER, &a, NULL, 0));
	cr_assert(add(&held, HELD_ENTER, &b, NULL, 0));
	cr_assert(add(&held, HELD_RECORDS, &a, records, sizeof(records)));
	memset(records, 0, sizeof(records));
	cr_assert_str_eq(held.events[2].records, "records");
	cr_assert_eq(held.n_open, 2);
	cr_assert(add(&held, HELD_LEAVE, &a, NULL, 0));
	cr_assert_eq(held.n_open, 1);
	cr_assert_eq(held_calls_end(&held, 0), 3);
	cr_assert_eq(held_calls_end(&held, 1), held.n_events);
	held_calls_clear(&held);
	cr_assert_eq(held.n_cut, 1);
	cr_assert_eq(held.n_entered, 2);
	cr_assert(!held.n_open && !held.n_events && !held.bytes);
	held_calls_deinit(&held);
}

Test(held_calls, no_more_than_so_many_bytes)
{
	struct held_calls held;
	char thread, records[100] = {0};
	held_calls_init(&held, 250);
	cr_assert(add(&held, HELD_ENTER, &thread, NULL, 0));
	cr_assert(add(&held, HELD_RECORDS, &thread, records, sizeof(records)));
	cr_assert(add(&held, HELD_RECORDS, &thread, records, sizeof(records)));
	cr_assert_not(add(&held, HELD_RECORDS, &thread, records, sizeof(records)));
	cr_assert_eq(held.n_events, 3);
	cr_assert(add(&held, HELD_RECORDS, &thread, records, 50));
	held_calls_clear(&held);
	cr_assert(add(&held, HELD_RECORDS, &thread, records, sizeof(records)));
	held_calls_deinit(&held);
}

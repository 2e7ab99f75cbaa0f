/* Adds up waits, and shares out those that were not sampled. */
#include "tracer/timed/wait_rows.h"

#include "base/array.h"

void wait_rows_deinit(struct wait_rows *rows)
{
	u64_map_deinit(&rows->of_key);
	free(rows->late);
	free(rows->row_of_wait);
	*rows = (struct wait_rows){0};
}

/* The row with that thread, frame and cause; PROFILE_NONE: no memory. */
static uint32_t row_of(struct wait_rows *rows, struct profile *profile,
		       const struct profile_wait *row)
{
	const uint64_t key =
		((uint64_t)row->thread << 36 | (uint64_t)row->frame << 4 | row->cause) + 1;
	const uint32_t *known = u64_map_find(&rows->of_key, key);
	if (known)
		return *known;
	const struct wait_late late = {.thread = UINT32_MAX};
	const uint32_t number = (uint32_t)profile->n_waits;
	if (!rf_array_push(rows->late, rows->n_late, rows->cap_late, late) ||
	    !rf_array_push(profile->waits, profile->n_waits, profile->cap_waits, *row) ||
	    !u64_map_set(&rows->of_key, key, number))
		return PROFILE_NONE;
	return number;
}

uint32_t wait_rows_add(struct wait_rows *rows, struct profile *profile, uint32_t wait,
		       const struct profile_wait *row)
{
	const uint32_t number = row_of(rows, profile, row);
	if (number == PROFILE_NONE || !rf_array_reach((void **)&rows->row_of_wait,
						      &rows->n_row_of_wait, wait, sizeof(number)))
		return PROFILE_NONE;
	rows->row_of_wait[wait] = number + 1;
	return number;
}

static void add_up(struct profile_wait *to, struct wait_late *late,
		   const struct schedule_wait *wait)
{
	to->n++;
	to->time_ns += wait->time_ns;
	to->alone_ns += wait->alone_ns;
	to->others_ns += wait->others_ns;
	late->thread = wait->thread;
	if (!wait->late)
		return;
	late->time_ns += wait->time_ns;
	late->alone_ns += wait->alone_ns;
	late->others_ns += wait->others_ns;
}

static uint64_t part(uint64_t all, uint64_t of, uint64_t sum)
{
	return (uint64_t)((double)all * (double)of / (double)sum);
}

/* Shares out the unknown waits of a thread; false: it has no late ones. */
static bool share_out(const struct wait_rows *rows, struct profile *profile, uint32_t thread,
		      const struct schedule_thread *unknown)
{
	uint64_t sum = 0;
	for (size_t i = 0; i < rows->n_late; i++)
		sum += rows->late[i].thread == thread ? rows->late[i].time_ns : 0;
	for (size_t i = 0; sum && i < rows->n_late; i++) {
		const uint64_t of = rows->late[i].time_ns;
		struct profile_wait *to = &profile->waits[i];
		if (rows->late[i].thread != thread)
			continue;
		to->time_ns += part(unknown->unknown_ns, of, sum);
		to->alone_ns += part(unknown->unknown_alone_ns, of, sum);
		to->others_ns += part(unknown->unknown_others_ns, of, sum);
	}
	return sum > 0;
}

struct rf_error *wait_rows_finish(struct wait_rows *rows, struct profile *profile,
				  const struct schedule *schedule)
{
	size_t n;
	const struct schedule_thread *threads = schedule_threads(schedule, &n);
	struct rf_error *error = NULL;
	for (uint32_t i = 0; i < rows->n_row_of_wait; i++) {
		const uint32_t row = rows->row_of_wait[i];
		const struct schedule_wait *wait = schedule_get_wait(schedule, i);
		if (row && wait && wait->time_ns) /* else it did not come to wait */
			add_up(&profile->waits[row - 1], &rows->late[row - 1], wait);
	}
	for (uint32_t i = 0; !error && i < n; i++) {
		const struct schedule_thread *of = &threads[i];
		if (!of->unknown_ns || share_out(rows, profile, i, of))
			continue;
		const struct profile_wait row = {
			.thread =
				profile_thread(profile, RUN_TIMED, (int)of->pid, (int)of->tid, ""),
			.frame = PROFILE_NONE,
			.time_ns = of->unknown_ns,
			.alone_ns = of->unknown_alone_ns,
			.others_ns = of->unknown_others_ns,
		};
		error = row.thread == PROFILE_NONE ? rf_error_no_memory()
						   : rf_array_add(profile->waits, profile->n_waits,
								  profile->cap_waits, row);
	}
	return error;
}

/* The rows of a model while it is built, and the sums in them.
 *
 * A row is a place (profile/function_index.h: a function, other code of a module, code of no
 * module) or, where the model has groups, one of these.  All rows stand there once more: such a
 * second part has the time of what is counted elsewhere and ran natively here.
 *
 * Sums are all that is known of a row: of struct model_function `tally`, `threads`, `quantities`
 * and `concurrency`; of its traffic `objects`, `strides` and `capacities`; and the lines and times
 * below.  They are made from the profile's blocks, counters, traffic and samples, or read from its
 * tables of sums (model_sums_read.h, model_sums_write.h).  What comes behind sees only them. */
#pragma once

#include "base/sort_by.h"
#include "report/model/model.h"

/* Lines by class of sets and event, packed as in struct profile_sum_traffic. */
struct packed_lines {
	uint8_t *bytes; /* NULL: none moved */
	uint32_t size;
};

/* Time of a thread in a row. */
struct model_time_sum {
	uint32_t row, thread;
	bool uncounted; /* the counted run did not count this */
	uint64_t samples;
	uint64_t time_ns; /* less what the samples cost */
	/* of it: by then the counted run's thread may have gone on natively */
	uint64_t native_ns;
};

/* A part of a block that lies in one row: bytes [from, to). */
struct model_piece {
	uint32_t row, block, from, to;
	uint32_t first; /* of its instructions; `to`: none begins there */
};

struct model_rows {
	const struct profile *profile;
	const struct model_groups *groups; /* NULL: rows are places */
	struct model_choice choice;
	bool saved;     /* the sums are the profile's own, not made from what these sum up */
	size_t n_named; /* rows before those of unknown code */
	size_t n_places;
	size_t n_rows; /* twice n_places */
	struct model_function *rows;
	bool *has_part;             /* per place: whether the second of its rows is used */
	size_t *quantity_of;        /* per counter of the profile: in model->quantities */
	struct packed_lines *lines; /* per place; the profile's own where `saved` */
	struct model_time_sum *times;
	size_t n_times, cap_times;
	struct model_piece *pieces; /* of all blocks, one after another */
	size_t n_pieces, cap_pieces;
	struct by_key pieces_of; /* by row */
	/* per place and timed run, where these are several (model_runs.h), or NULL */
	struct model_run_time *run_times;
};

/* Fails only when memory is short; deinit in any case. */
struct rf_error *model_rows_init(struct model_rows *rows, const struct profile *profile,
				 const struct model_choice *choice);
void model_rows_deinit(struct model_rows *rows);
/* Frees what a function has. */
void model_function_deinit(struct model_function *function);

/* Row of the code at (module, offset); *end (may be NULL) gets the offset up to which it holds. */
size_t model_row_at(const struct model_rows *rows, uint32_t module, uint64_t offset, uint64_t *end);
/* Finds the pieces.  Fails only when memory is short. */
struct rf_error *model_find_pieces(struct model_rows *rows);
/* Where part `part` of `n_parts` begins, of rows of which each part has about as many pieces. */
size_t model_part_of_rows(const struct model_rows *rows, size_t part, size_t n_parts);
/* The name of a place's module; "" for code of no module. */
const char *model_place_module(const struct profile *profile, size_t place);
/* Gives a row its name, module and number. */
struct rf_error *model_name_row(const struct model_rows *rows, size_t row);
/* Takes the rows with a name out of `rows`. */
void model_take_rows(struct model_rows *rows, struct model *model);

/* Finds or adds the part of a thread; NULL when memory is short. */
struct profile_sum_thread *model_thread_of(struct model_function *function, uint32_t thread);

/* Whether anything may be in a row.  Most have no second part: these stay as they were allocated,
 * untouched. */
static inline bool model_is_used(const struct model_rows *rows, size_t row)
{
	return row < rows->n_places || rows->has_part[row - rows->n_places];
}

/* Whether the report tells of the row, when times and counters are known: it took time, was
 * executed, or has events of a counter, which may be there without a sample of time.  The others,
 * mostly many, are to stay untouched: then they take no memory. */
static inline bool model_is_told(const struct model_rows *rows, size_t row)
{
	return model_is_used(rows, row) &&
	       (rows->rows[row].time_ns != 0 || rows->rows[row].tally.instructions != 0 ||
		rows->rows[row].quantities != NULL);
}

/* Row of what `thread` did for `kernel` (struct profile_count) in code whose row is `row`. */
static inline size_t model_row_of_work(const struct model_rows *rows, size_t row, uint32_t thread,
				       uint32_t kernel)
{
	const struct model_groups *groups = rows->groups;
	if (!groups || !groups->by_owner || row >= groups->n_kinds)
		return row;
	const size_t owner = !groups->kernel_of_sample   ? thread
			     : kernel < groups->n_owners ? kernel
							 : 0;
	return groups->by_owner[row * groups->n_owners + owner];
}

/* The row that a time belongs to: the second part where another part was counted. */
static inline size_t model_row_of_time(const struct model_rows *rows,
				       const struct model_time_sum *time)
{
	const bool apart = time->uncounted && rows->rows[time->row].tally.instructions > 0;
	return time->row + (apart ? rows->n_places : 0);
}

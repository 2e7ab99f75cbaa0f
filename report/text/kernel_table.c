/* Prints what calls of kernels did. */
#include "report/text/kernel_table.h"

#include "base/text.h"
#include "report/rows/kernel_sums.h"
#include "report/text/cells.h"
#include "report/text/text_table.h"

enum {
	NAME,
	CALLS,
	THREADS,
	TIME,
	BY,
	PER_CALL,
	MEDIAN,
	SPEED,
	FLOP,
	LOADED,
	READ,
	WRITTEN,
	N_COLUMNS
};

/* What the time comes from, and of calls that were timed the middle ones. */
static void put_calls(const struct profile *profile, const struct profile_kernel_sum *sum,
		      struct text_table *table)
{
	const struct profile_kernel_time *time = kernel_time_of(profile, sum->kernel);
	const uint64_t calls = profile->kernels[sum->kernel].calls;
	if (!sum->by_call)
		text_table_text(table, BY, "samples");
	else if (time->calls >= calls)
		text_table_text(table, BY, "calls");
	else
		text_table_put(table, BY, STYLE_PLAIN, "%llu calls",
			       (unsigned long long)time->calls);
	if (time)
		text_table_put(table, MEDIAN, STYLE_PLAIN, "%s [%s, %s]",
			       REPORT_NUMBER(time->median_s), REPORT_NUMBER(time->q1_s),
			       REPORT_NUMBER(time->q3_s));
}

static void put_time(const struct profile_kernel_sum *sum, struct text_table *table)
{
	text_table_put(table, TIME, STYLE_PLAIN, "%s ± %s s",
		       REPORT_NUMBER((double)sum->calls_ns * 1e-9),
		       REPORT_NUMBER(sum->halfwidth_s));
}

/* All that is known of one in a process that ran already. */
static void put_sampled(const struct profile_kernel_sum *sum, struct text_table *table)
{
	if (!sum->samples || !sum->calls_ns)
		return;
	text_table_text(table, BY, "samples");
	put_time(sum, table);
}

static void put_row(const struct profile *profile, const struct profile_kernel_sum *sum,
		    struct text_table *table)
{
	const struct profile_kernel *kernel = &profile->kernels[sum->kernel];
	const double calls = kernel->calls ? (double)kernel->calls : 1;
	const double time_s = (double)sum->calls_ns * 1e-9;
	char cell[64];
	text_table_row(table);
	text_table_text(table, NAME, kernel->name);
	if (!kernel_calls_known(profile)) {
		put_sampled(sum, table);
		return;
	}
	text_table_put(table, CALLS, STYLE_PLAIN, "%llu", (unsigned long long)kernel->calls);
	if (!kernel->calls)
		return;
	text_table_put(table, THREADS, STYLE_PLAIN, "%u", kernel->threads);
	if ((sum->samples || sum->by_call) && time_s > 0) {
		put_calls(profile, sum, table);
		put_time(sum, table);
		text_table_put(table, PER_CALL, STYLE_PLAIN, "%s s", REPORT_NUMBER(time_s / calls));
		text_table_text(table, SPEED, REPORT_NUMBER((double)sum->flop / time_s * 1e-9));
	}
	text_table_text(table, FLOP, REPORT_NUMBER((double)sum->flop / calls));
	text_table_text(table, LOADED,
			report_put_bytes(cell,
					 ((double)sum->load_bytes + (double)sum->store_bytes) /
						 calls));
	if (!sum->traced)
		return;
	text_table_text(table, READ, report_put_bytes(cell, sum->mem_read / calls));
	text_table_text(table, WRITTEN, report_put_bytes(cell, sum->mem_write / calls));
}

struct rf_error *report_kernels(const struct report_view *view, FILE *stream)
{
	const char *caches = profile_get_fact(view->profile, "traffic_caches");
	char read[64];
	snprintf(read, sizeof(read), "%s%sread/call", caches ? caches : "", caches ? " " : "");
	const struct text_column columns[N_COLUMNS] = {
		[NAME] = {"kernel", false},
		[CALLS] = {"calls", true},
		[THREADS] = {"threads", true, 1},
		[TIME] = {"time", true},
		[BY] = {"by", true, 3},
		[PER_CALL] = {"a call", true},
		[MEDIAN] = {"median [q1, q3]", true, 4},
		[SPEED] = {"Gflop/s", true},
		[FLOP] = {"flop/call", true},
		[LOADED] = {"LS/call", true, 2},
		[READ] = {read, true},
		[WRITTEN] = {caches ? "written" : "written/call", true}};
	const struct profile *profile = view->profile;
	if (!profile->n_kernel_sums)
		return NULL;
	struct text_table table = TEXT_TABLE(view->terminal, columns, NAME, 16);
	for (size_t i = 0; i < profile->n_kernel_sums; i++)
		put_row(profile, &profile->kernel_sums[i], &table);
	fputc('\n', stream);
	return text_table_end(&table, stream);
}

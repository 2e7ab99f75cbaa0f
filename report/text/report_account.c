/* The account of the run in the terminal. */
#include "report/text/report_account.h"

#include "base/search.h"
#include "base/text.h"
#include "profile/kernel_names.h"
#include "report/account/account.h"
#include "report/account/account_words.h"
#include "report/account/groups.h"
#include "report/text/cells.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LEAST_PART 0.01  /* of all threads' lives */
#define LEAST_STRIP 0.05 /* s: shorter runs are over before one could look */
#define STRIP_COLUMNS 48

/* ---- the head ---- */

static void put_part(FILE *stream, const struct account *account, double s, const char *word,
		     bool *any)
{
	if (!(s >= LEAST_PART * account->lives_s))
		return;
	fprintf(stream, "%s%s s %s", *any ? ", " : ": ", REPORT_NUMBER(s), word);
	*any = true;
}

/* With several runs the median of their wall times; the parts are of the one that is shown. */
void report_put_account(const struct report_view *view, FILE *stream)
{
	const struct account *account = view->account;
	const struct model *model = view->model;
	bool any = false;
	if (model->runs.n)
		fprintf(stream, " · %zu runs:", model->runs.n);
	else
		fputs(" ·", stream);
	fprintf(stream, " %s s wall",
		REPORT_NUMBER(model->wall.n ? model->wall.s.median : account->wall_s));
	if (profile_get_fact(view->profile, "run_s"))
		fprintf(stream, " of %s s, from %s s on",
			REPORT_NUMBER(profile_number_fact(view->profile, "run_s", NAN)),
			REPORT_NUMBER(profile_number_fact(view->profile, "span_start_s", NAN)));
	if (model->runs.n)
		fprintf(stream, ", %s s CPU (%s … %s)",
			REPORT_NUMBER((double)model->time_ns * 1e-9),
			REPORT_NUMBER(model->runs.s.least), REPORT_NUMBER(model->runs.s.most));
	if (account->known && account->usable_processors > 0)
		fprintf(stream, ", %.1f of %.0f processor%s busy", account->busy_processors,
			account->usable_processors, account->usable_processors == 1 ? "" : "s");
	if (isnan(account->user_s)) /* an old profile: there are but the samples, of user time then
				     */
		fprintf(stream, ", %s s user", REPORT_NUMBER((double)model->time_ns * 1e-9));
	put_part(stream, account, account->user_s, "user", &any);
	put_part(stream, account, account->kernel_s, "kernel", &any);
	put_part(stream, account, account->waiting_s, "waiting", &any);
	put_part(stream, account, account->runnable_s, "ready", &any);
}

/* ---- the strip ---- */

/* One of eight heights for a part of all processors; only nothing is blank. */
static const char *bar(double part, bool ascii)
{
	static const char *const blocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
	static const char *const signs[] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};
	const int height = part <= 0.005 ? 0 : (int)fmin(8, fmax(1, ceil(8 * part - 0.05)));
	return ascii ? signs[height] : blocks[height];
}

struct rf_error *report_strip(const struct report_view *view, FILE *stream)
{
	const struct account *account = view->account;
	const size_t width = view->terminal->columns, most = width > 24 ? width - 20 : 4;
	const int n_bars = most < STRIP_COLUMNS ? (int)most : STRIP_COLUMNS;
	char *line = NULL;
	size_t size;
	if (!account->has_strip || !(account->usable_processors > 0) ||
	    account->wall_s < LEAST_STRIP)
		return NULL;
	FILE *text = open_memstream(&line, &size);
	if (!text)
		return rf_error_no_memory();
	fputs("busy ", text);
	for (int i = 0; i < n_bars; i++) {
		const double from = (double)i * ACCOUNT_STRIP / n_bars;
		const int bin = (int)from;
		const double rest = from - bin;
		const double next = bin + 1 < ACCOUNT_STRIP ? account->strip[bin + 1] : 0;
		const double busy = account->strip[bin] * (1 - rest) + next * rest;
		fputs(bar(busy / account->usable_processors, view->terminal->ascii), text);
	}
	fprintf(text, " %s s", REPORT_NUMBER(account->wall_s));
	struct rf_error *error = fclose(text) == 0 ? NULL : rf_error_no_memory();
	if (!error) /* as it is: a sentence would be broken at its blanks */
		fprintf(stream, "  %s\n", line);
	free(line);
	return error;
}

/* ---- waits ---- */

enum { TIME, WALL, CAUSE, FUNCTION, CALL, COUNT, THREADS, OTHERS, MEANWHILE, N_COLUMNS };

static const struct text_column columns[N_COLUMNS] = {
	[TIME] = {"waiting", true},
	[WALL] = {"alone", true, 3},
	[CAUSE] = {"for", false},
	[FUNCTION] = {"function", false},
	[CALL] = {"call", false, 4},
	[COUNT] = {"times", true, 2},
	[THREADS] = {"threads", true, 1},
	[OTHERS] = {"others run", true, 5},
	[MEANWHILE] = {"meanwhile", false, 6},
};

static int compare_waits(const void *a, const void *b)
{
	const struct profile_sum_wait *const *x = a, *const *y = b;
	return rf_compare((*y)->time_ns, (*x)->time_ns) ?: rf_compare(*x, *y);
}

static void put_wait(const struct report_view *view, const struct profile_sum_wait *wait,
		     struct text_table *table)
{
	const double s = (double)wait->time_ns * 1e-9;
	const double longest = view->account->wall_s;
	const struct profile_sum_runner *runner = account_runner(view->profile, wait);
	char name[64], cell[128];
	kernel_name(wait->call, name, sizeof(name));
	text_table_row(table);
	text_table_text(table, TIME, report_put_time(cell, s, longest));
	text_table_text(table, WALL, report_put_time(cell, (double)wait->alone_ns * 1e-9, longest));
	text_table_text(table, CAUSE, account_wait_word(wait->kind));
	text_table_text(table, FUNCTION,
			account_function(view->profile, wait->function, wait->module));
	text_table_text(table, CALL, wait->call ? name : "–");
	if (wait->n)
		text_table_put(table, COUNT, STYLE_PLAIN, "%llu", (unsigned long long)wait->n);
	text_table_put(table, THREADS, STYLE_PLAIN, "%u", wait->threads);
	text_table_put(table, OTHERS, STYLE_PLAIN, "%.1f",
		       s > 0 ? (double)wait->others_ns * 1e-9 / s : 0);
	if (!runner)
		return;
	account_runner_words(view->profile, runner, cell, sizeof(cell));
	text_table_text(table, MEANWHILE, cell);
}

struct rf_error *report_waits(const struct report_view *view, FILE *stream)
{
	const struct profile *profile = view->profile;
	const size_t n = profile->n_sum_waits, top = view->options->top ? view->options->top : 20;
	struct text_table table = TEXT_TABLE(view->terminal, columns, FUNCTION, 16);
	const struct profile_sum_wait **order = malloc((n + 1) * sizeof(*order));
	if (!order)
		return rf_error_no_memory();
	table.hidden[MEANWHILE] = !profile->n_sum_runners;
	for (size_t i = 0; i < n; i++)
		order[i] = &profile->sum_waits[i];
	qsort(order, n, sizeof(*order), compare_waits);
	for (size_t i = 0; i < n && i < top; i++)
		put_wait(view, order[i], &table);
	free(order);
	if (table.n_rows)
		return text_table_end(&table, stream);
	fputs(view->account->known ? "  no thread waited\n"
				   : "  what threads waited for is not known\n",
	      stream);
	return NULL;
}

/* ---- groups ---- */

/* Behind those of functions: the kernel's work, and what is left. */
enum { PAGE_FAULTS = N_ACCOUNT_GROUPS, SYSTEM_CALLS, OTHER_KERNEL, N_GROUPS };

struct group_sum {
	uint64_t time_ns;
	const struct model_function *most; /* of its functions */
	size_t n;                          /* functions */
};

enum {
	GROUP_TIME,
	GROUP_SHARE,
	GROUP_NAME,
	GROUP_FUNCTIONS,
	GROUP_MOST,
	GROUP_CALLER,
	N_GROUP_COLUMNS
};

static const struct text_column group_columns[N_GROUP_COLUMNS] = {
	[GROUP_TIME] = {"time", true},        [GROUP_SHARE] = {"%", true},
	[GROUP_NAME] = {"group", false},      [GROUP_FUNCTIONS] = {"functions", true, 2},
	[GROUP_MOST] = {"most of it", false}, [GROUP_CALLER] = {"called most from", false, 1},
};

static int group_of(const struct model_function *f)
{
	if (f->place.bound != BOUND_KERNEL)
		return (int)account_group_of(f->name, f->module);
	return strcmp(f->name, "[page faults]") == 0 ? PAGE_FAULTS
	       : strcmp(f->name, "[kernel]") == 0 || strcmp(f->name, "[interrupts]") == 0 ||
			       strcmp(f->name, "[exit]") == 0
		       ? OTHER_KERNEL
		       : SYSTEM_CALLS;
}

static void put_group(const struct report_view *view, int group, const struct group_sum *sum,
		      struct text_table *table)
{
	static const char *const names[N_GROUPS] = {
		[GROUP_NONE] = "code of no group",
		[GROUP_ALLOCATION] = "allocation",
		[GROUP_STRINGS] = "string functions",
		[GROUP_MEMORY] = "memory functions",
		[GROUP_COLLECTION] = "garbage collection",
		[GROUP_LINKER] = "dynamic linker, start-up",
		[PAGE_FAULTS] = "page faults",
		[SYSTEM_CALLS] = "system calls",
		[OTHER_KERNEL] = "other work of the kernel",
	};
	const double s = (double)sum->time_ns * 1e-9, all = (double)view->model->time_ns * 1e-9;
	const char *caller =
		group > GROUP_NONE && group < N_ACCOUNT_GROUPS
			? account_group_caller(view->profile, (enum account_group)group)
			: NULL;
	char cell[64];
	text_table_row(table);
	text_table_text(table, GROUP_TIME, report_put_time(cell, s, all));
	text_table_text(table, GROUP_SHARE, report_put_share(cell, all > 0 ? s / all : 0));
	text_table_text(table, GROUP_NAME, names[group]);
	text_table_put(table, GROUP_FUNCTIONS, STYLE_PLAIN, "%zu", sum->n);
	text_table_text(table, GROUP_MOST, sum->most->name);
	text_table_text(table, GROUP_CALLER, caller ? caller : "");
}

struct rf_error *report_groups(const struct report_view *view, FILE *stream)
{
	struct group_sum sums[N_GROUPS] = {0};
	struct text_table table = TEXT_TABLE(view->terminal, group_columns, GROUP_MOST, 16);
	for (size_t i = 0; i < view->model->n_functions; i++) {
		const struct model_function *f = &view->model->functions[i];
		struct group_sum *sum = &sums[group_of(f)];
		if (!f->time_ns)
			continue;
		sum->time_ns += f->time_ns;
		sum->n++;
		sum->most = !sum->most || f->time_ns > sum->most->time_ns ? f : sum->most;
	}
	for (;;) {
		int longest = -1;
		for (int g = 0; g < N_GROUPS; g++)
			if (sums[g].n && (longest < 0 || sums[g].time_ns > sums[longest].time_ns))
				longest = g;
		if (longest < 0)
			break;
		put_group(view, longest, &sums[longest], &table);
		sums[longest].n = 0;
	}
	if (table.n_rows)
		return text_table_end(&table, stream);
	fputs("  no function took any time\n", stream);
	return NULL;
}

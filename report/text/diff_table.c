/* The comparison for a terminal. */
#include "report/text/diff_table.h"

#include "base/text.h"
#include "report/account/account.h"
#include "report/reasons/diff_notes.h"
#include "report/rows/view.h"
#include "report/text/cells.h"
#include "report/text/text_table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Less of a part, in s, says nothing. */
#define LEAST_PART 0.005

#define DEFAULT_TOP 20
#define MINOR_SHARE 0.005 /* of all time: rows with less that did not change do not tell */
#define NAME_COLUMNS 40

enum {
	TIME_A,
	TIME_B,
	CHANGE,
	SPREAD,
	VERDICT,
	NAME,
	FLOP,
	BYTES,
	OF_ROOF_A,
	OF_ROOF_B,
	N_COLUMNS
};

static const struct text_column columns[N_COLUMNS] = {
	[TIME_A] = {"time A", true},
	[TIME_B] = {"time B", true},
	[CHANGE] = {"change", true},
	[SPREAD] = {"±", true, 1},
	[VERDICT] = {"", false},
	[NAME] = {"function", false},
	[FLOP] = {"flop", true, 5},
	[BYTES] = {"bytes", true, 4},
	[OF_ROOF_A] = {"of roof A", true, 2},
	[OF_ROOF_B] = {"of roof B", true, 3},
};
#define LEAST_NAME 12

/* "+12.3 %" of A; "=" where nothing changed, or no more than the noise. */
static const char *put_change(char *cell, const struct diff_value *value, bool noise)
{
	const double percent = 100 * (value->b - value->a) / value->a;
	if (isnan(value->a) || isnan(value->b))
		snprintf(cell, 64, "–");
	else if (value->a == value->b)
		snprintf(cell, 64, "=");
	else if (noise && value->same)
		snprintf(cell, 64, "≈");
	else if (!(value->a > 0))
		snprintf(cell, 64, "new");
	else if (percent > 9999.5)
		snprintf(cell, 64, "×%.0f", value->b / value->a);
	else
		snprintf(cell, 64, fabs(percent) < 9.95 ? "%+.1f %%" : "%+.0f %%", percent);
	return cell;
}

/* function NULL: the sums. */
static void put_line(const struct diff *diff, const struct diff_function *function, double longest,
		     struct text_table *table)
{
	const struct diff_value time = diff_value(diff, function, DIFF_TIME);
	const struct diff_value flop = diff_value(diff, function, DIFF_FLOP);
	const struct diff_value bytes = diff_value(diff, function, DIFF_BYTES);
	const struct diff_value distance = diff_value(diff, function, DIFF_DISTANCE);
	char cell[64];
	text_table_row(table);
	text_table_text(table, TIME_A,
			report_put_time(cell, function && !function->a ? NAN : time.a, longest));
	text_table_text(table, TIME_B,
			report_put_time(cell, function && !function->b ? NAN : time.b, longest));
	text_table_text(table, CHANGE, put_change(cell, &time, false));
	if (time.a > 0)
		text_table_put(table, SPREAD, STYLE_PLAIN, "%.1f %%",
			       fmin(999, 100 * time.halfwidth / time.a));
	text_table_text(table, VERDICT, diff_verdict(diff, function));
	text_table_text(table, NAME, function ? diff_name(function) : "all");
	text_table_text(table, FLOP, put_change(cell, &flop, true));
	text_table_text(table, BYTES, put_change(cell, &bytes, true));
	text_table_text(table, OF_ROOF_A, report_put_of_roof(cell, "", distance.a));
	text_table_text(table, OF_ROOF_B, report_put_of_roof(cell, "", distance.b));
}

/* The rows stand in an order in which those that do not tell are the last: so many do. */
static size_t n_telling(const struct diff *diff, size_t top)
{
	const struct diff_value all = diff_value(diff, NULL, DIFF_TIME);
	const double least = MINOR_SHARE * fmax(all.a, all.b);
	size_t n = 0;
	for (; n < diff->n_functions && n < top; n++) {
		const struct diff_value time = diff_value(diff, &diff->functions[n], DIFF_TIME);
		if (!(fmax(time.a, time.b) >= least) && (time.same || !(fmax(time.a, time.b) > 0)))
			break;
	}
	return n;
}

static void put_lines(const struct diff *diff, size_t n, struct text_table *table)
{
	double longest = 0;
	for (size_t i = 0; i < n; i++) {
		const struct diff_value time = diff_value(diff, &diff->functions[i], DIFF_TIME);
		longest = fmax(longest, fmax(time.a, time.b));
	}
	for (size_t i = 0; i < n; i++)
		put_line(diff, &diff->functions[i], longest, table);
	put_line(diff, NULL, longest, table);
}

/* ", with half the flop", ", with the same flop": why, as far as counts say it. */
static void print_cause(const struct diff *diff, const struct diff_function *f, FILE *text)
{
	const struct diff_value flop = diff_value(diff, f, DIFF_FLOP),
				bytes = diff_value(diff, f, DIFF_BYTES);
	char change[64];
	if (flop.a > 0 && flop.b > 0 && flop.a != flop.b)
		fprintf(text, ", flop %s", put_change(change, &flop, true));
	if (bytes.a > 0 && bytes.b > 0 && !bytes.same && bytes.a != bytes.b)
		fprintf(text, ", bytes %s", put_change(change, &bytes, true));
	if ((flop.a == flop.b || !(flop.a > 0)) && (bytes.same || bytes.a == bytes.b))
		fputs(", for the same work", text);
}

/* What changed most, in words. */
static struct rf_error *print_words(const struct diff *diff, const struct terminal *terminal,
				    FILE *stream)
{
	const struct diff_function *f = diff->n_functions ? &diff->functions[0] : NULL;
	const struct diff_value time = f ? diff_value(diff, f, DIFF_TIME) : (struct diff_value){0};
	char *line = NULL, cell[64];
	size_t size;
	FILE *text = open_memstream(&line, &size);
	if (!text)
		return rf_error_no_memory();
	if (!f || (f->a && f->b && time.same))
		fputs("no function's time changed by more than the noise", text);
	else {
		const double longest = fmax(f->a ? time.a : 0, f->b ? time.b : 0);
		fprintf(text, "%s: %.60s", diff_verdict(diff, f), diff_name(f));
		if (f->a)
			fprintf(text, ", %s", report_put_time(cell, time.a, longest));
		if (f->b)
			fprintf(text, "%s %s", f->a ? " →" : ",",
				report_put_time(cell, time.b, longest));
		if (f->a && f->b)
			print_cause(diff, f, text);
	}
	const bool made = fclose(text) == 0;
	char *clean = made ? text_clean(line) : NULL;
	struct rf_error *error =
		clean ? terminal_sentence(terminal, stream, STYLE_HEAD, "→ ", clean)
		      : rf_error_no_memory();
	free(clean);
	free(line);
	return error;
}

static struct rf_error *print_rows(const struct diff *diff, const struct terminal *terminal,
				   size_t n, FILE *stream)
{
	struct text_table table =
		TEXT_TABLE(terminal, columns, NAME, LEAST_NAME, .most = NAME_COLUMNS);
	put_lines(diff, n, &table);
	return text_table_end(&table, stream);
}

static struct rf_error *print_head(const struct diff *diff, const char *const names[2],
				   FILE *stream)
{
	const struct diff_value wall = diff_value(diff, NULL, DIFF_WALL);
	char a[TEXT_NUMBER], b[TEXT_NUMBER], change[64];
	char *clean[2] = {text_clean(names[0]), text_clean(names[1])};
	put_change(change, &wall, false);
	if (clean[0] && clean[1])
		fprintf(stream, "rfprof diff: A %s · B %s · wall %s s → %s s (%s)\n", clean[0],
			clean[1], text_number(a, wall.a), text_number(b, wall.b), change);
	const bool done = clean[0] && clean[1];
	free(clean[0]);
	free(clean[1]);
	return done ? NULL : rf_error_no_memory();
}

static void print_part(const char *word, double a, double b, const char **between, FILE *stream)
{
	char before[TEXT_NUMBER], after[TEXT_NUMBER];
	if (isnan(a) || isnan(b) || fmax(a, b) < LEAST_PART)
		return;
	fprintf(stream, "%s%s %s s → %s s", *between, word, text_number(before, a),
		text_number(after, b));
	*between = " · ";
}

/* The parts of the threads' lives, where both runs know them. */
static void print_account(const struct diff *diff, FILE *stream)
{
	const struct account a = account_of(diff->a.profile, &diff->a.model);
	const struct account b = account_of(diff->b.profile, &diff->b.model);
	const char *between = "  ";
	if (!a.known || !b.known)
		return;
	print_part("user", a.user_s, b.user_s, &between, stream);
	print_part("kernel", a.kernel_s, b.kernel_s, &between, stream);
	print_part("waiting", a.waiting_s, b.waiting_s, &between, stream);
	print_part("ready", a.runnable_s, b.runnable_s, &between, stream);
	putc('\n', stream);
}

static struct rf_error *print_all(const struct diff *diff, const char *const names[2], size_t top,
				  FILE *stream)
{
	const struct report_options none = {0};
	const struct terminal terminal = terminal_of(stream, &none);
	const size_t n = n_telling(diff, top);
	struct diff_notes notes = diff_notes(diff);
	struct rf_error *error = print_head(diff, names, stream);
	if (!error)
		print_account(diff, stream);
	error = error ?: print_words(diff, &terminal, stream) ?: print_rows(diff, &terminal, n, stream);
	if (!error && diff->n_functions > n)
		fprintf(stream, "  (%zu more functions)\n", diff->n_functions - n);
	for (size_t i = 0; !error && i < notes.n; i++)
		error = terminal_sentence(&terminal, stream, STYLE_DIM, "· ", notes.texts[i]);
	return error;
}

struct rf_error *diff_table(const struct diff *diff, const char *const names[2], size_t top,
			    FILE *stream)
{
	const struct utf8_locale locale = utf8_locale_begin();
	struct rf_error *error = print_all(diff, names, top ? top : DEFAULT_TOP, stream);
	utf8_locale_end(locale);
	return error;
}

/* --fail-on: what must not be. */
#include "report/diff/diff_conditions.h"

#include "base/text.h"
#include "base/words.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HINT                                                                                 \
	"[FUNCTION:]METRIC OP NUMBER[%][s], such as time>5%, wall>2s, 'triad:distance>=3', " \
	"'*:headroom>+0.1s'; "                                                               \
	"METRIC: time, headroom, distance, flop, bytes, wall; OP: < <= > >="

static const struct rf_word metric_words[] = {
	{"time", DIFF_TIME}, {"headroom", DIFF_HEADROOM}, {"distance", DIFF_DISTANCE},
	{"flop", DIFF_FLOP}, {"bytes", DIFF_BYTES},       {"wall", DIFF_WALL},
	{NULL, 0},
};

static struct rf_error *refuse(const char *text, const char *why)
{
	return rf_error_create(RF_EINPUT, HINT, "--fail-on: %.80s: %s", text, why);
}

static bool in_seconds(enum diff_metric metric)
{
	return metric == DIFF_TIME || metric == DIFF_HEADROOM || metric == DIFF_WALL;
}

/* "5%", "+0.5s", "3". */
static struct rf_error *parse_number(const char *text, struct diff_condition *condition)
{
	const char *number = text + strspn(text, " ");
	char *end;
	condition->change = *number == '+' || *number == '-';
	condition->number = strtod(number, &end);
	if (end == number || !isfinite(condition->number) ||
	    strspn(number, "+-.0123456789eE") < (size_t)(end - number))
		return refuse(condition->text, "no number");
	end += strspn(end, " ");
	condition->percent = *end == '%';
	const bool seconds = *end == 's';
	end += condition->percent || seconds;
	end += strspn(end, " ");
	if (*end)
		return refuse(condition->text, "what follows the number is not understood");
	if (seconds && !in_seconds(condition->metric))
		return refuse(condition->text, "that is not measured in seconds");
	return NULL;
}

/* "triad:time " → function and metric.  A name may have colons and more: the metric is behind the
 * last one. */
static struct rf_error *parse_what(char *what, struct diff_condition *condition)
{
	for (size_t n = strlen(what); n && what[n - 1] == ' ';)
		what[--n] = '\0';
	char *colon = strrchr(what, ':'), *word = colon ? colon + 1 : what;
	int metric;
	word += strspn(word, " ");
	if (!rf_word_find(metric_words, word, &metric))
		return refuse(condition->text, "no such metric");
	condition->metric = (enum diff_metric)metric;
	if (!colon)
		return NULL;
	*colon = '\0';
	if (!*what)
		return refuse(condition->text, "no function before the colon");
	if (condition->metric == DIFF_WALL)
		return refuse(condition->text, "a function has no wall time");
	condition->function = strdup(what);
	return condition->function ? NULL : rf_error_no_memory();
}

struct rf_error *diff_condition_parse(const char *text, struct diff_condition *condition)
{
	struct diff_condition parsed = {.text = text};
	size_t at = strlen(text);
	while (at && !strchr("<>=", text[at - 1])) /* the last one: a name may have some, too */
		at--;
	size_t op = at;
	while (op && strchr("<>=", text[op - 1]) && at - op < 2)
		op--;
	if (at - op == 2 && text[op + 1] != '=')
		op++;
	if (op == at || strchr("=", text[op]))
		return refuse(text, "no comparison");
	memcpy(parsed.op, text + op, at - op);
	char *what = strndup(text, op);
	struct rf_error *error = what ? parse_what(what, &parsed) : rf_error_no_memory();
	free(what);
	if (!error)
		error = parse_number(text + at, &parsed);
	if (error)
		diff_condition_deinit(&parsed);
	else
		*condition = parsed;
	return error;
}

void diff_condition_deinit(struct diff_condition *condition)
{
	free(condition->function);
	condition->function = NULL;
}

/* What is compared with the number; a change within the noise is none. */
static double left_side(const struct diff_condition *condition, const struct diff_value *value)
{
	const double change = value->same ? 0 : value->b - value->a;
	if (!condition->percent)
		return condition->change ? change : value->b;
	if (isnan(change))
		return NAN;
	return change == 0 ? 0 : 100 * change / value->a; /* from nothing: infinite */
}

static bool compare(const char *op, double left, double right)
{
	const bool equal = op[1] == '=' && left == right;
	return equal || (op[0] == '<' ? left < right : left > right);
}

static void tell(const struct diff_condition *condition, const char *name,
		 const struct diff_value *value, FILE *stream)
{
	char a[TEXT_NUMBER], b[TEXT_NUMBER], *clean = text_clean(name),
					     *text = text_clean(condition->text);
	const char *unit = in_seconds(condition->metric)        ? " s"
			   : condition->metric == DIFF_DISTANCE ? "×"
								: "";
	fprintf(stream, "rfprof: --fail-on %s: %s: %s %s%s → %s%s", text ? text : "",
		clean ? clean : "", rf_word_of(metric_words, (int)condition->metric),
		text_number(a, value->a), unit, text_number(b, value->b), unit);
	if (value->a > 0 && isfinite(value->b))
		fprintf(stream, " (%+.1f %%)", 100 * (value->b - value->a) / value->a);
	putc('\n', stream);
	free(clean);
	free(text);
}

/* Whether the figure is known; if so, whether it meets the condition. */
static bool test_one(const struct diff *diff, const struct diff_condition *condition,
		     const struct diff_function *function, FILE *stream, bool *met)
{
	const struct diff_value value = diff_value(diff, function, condition->metric);
	const double left = left_side(condition, &value);
	if (isnan(left))
		return false;
	if (!compare(condition->op, left, condition->number))
		return true;
	*met = true;
	tell(condition, function ? diff_name(function) : "the program", &value, stream);
	return true;
}

struct rf_error *diff_condition_test(const struct diff *diff,
				     const struct diff_condition *condition, FILE *stream,
				     bool *met)
{
	const bool any = condition->function && strcmp(condition->function, "*") == 0;
	size_t known = 0, named = 0;
	if (!condition->function)
		known = test_one(diff, condition, NULL, stream, met);
	for (size_t i = 0; condition->function && i < diff->n_functions; i++) {
		const struct diff_function *function = &diff->functions[i];
		if (!any && strcmp(diff_name(function), condition->function) != 0)
			continue;
		named++;
		known += test_one(diff, condition, function, stream, met);
	}
	if (known || any)
		return NULL;
	if (condition->function && !named)
		return refuse(condition->text, "no such function in A or B");
	return refuse(condition->text, "that is not known in both profiles");
}

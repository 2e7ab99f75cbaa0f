/* --focus and --ignore: rows by an expression. */
#include "report/rows/filter.h"

#include <stdlib.h>

static struct rf_error *compile(const char *option, const char *pattern, regex_t **out)
{
	regex_t *expression = pattern ? calloc(1, sizeof(*expression)) : NULL;
	*out = NULL;
	if (!pattern)
		return NULL;
	const int status =
		expression ? regcomp(expression, pattern, REG_EXTENDED | REG_NOSUB) : REG_ESPACE;
	if (status == 0) {
		*out = expression;
		return NULL;
	}
	char why[128];
	regerror(status, expression, why, sizeof(why));
	free(expression);
	return rf_error_create(RF_EINPUT, "extended regular expressions, as of grep -E, are taken",
			       "%s %s: %s", option, pattern, why);
}

static void discard(regex_t *expression)
{
	if (expression)
		regfree(expression);
	free(expression);
}

struct rf_error *report_pattern_check(const char *option, const char *pattern)
{
	regex_t *expression;
	struct rf_error *error = compile(option, pattern, &expression);
	discard(expression);
	return error;
}

struct rf_error *report_filter_init(struct report_filter *filter,
				    const struct report_options *options)
{
	*filter = (struct report_filter){0};
	return compile("--focus", options->focus, &filter->focus)
		       ?: compile("--ignore", options->ignore, &filter->ignore);
}

void report_filter_deinit(struct report_filter *filter)
{
	discard(filter->focus);
	discard(filter->ignore);
	*filter = (struct report_filter){0};
}

static bool is_in(const regex_t *expression, const char *name, const char *module)
{
	return regexec(expression, name, 0, NULL, 0) == 0 ||
	       (module != name && regexec(expression, module, 0, NULL, 0) == 0);
}

enum report_kind report_filter_kind(const struct report_filter *filter, const char *name,
				    const char *module)
{
	if (filter->ignore && is_in(filter->ignore, name, module))
		return KIND_IGNORED;
	return !filter->focus || is_in(filter->focus, name, module) ? KIND_IN : KIND_BEHIND;
}

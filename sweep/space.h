/* The parameter space of a sweep, and the command of each of its points. */
#pragma once

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define MOST_POINTS 100000

struct parameter {
	char *name;
	char **values; /* texts; of a derived one one for each point */
	size_t n_values;
	const char *formula; /* NULL: it is not derived; not owned */
};

struct space {
	struct parameter *parameters; /* the last one varies fastest */
	size_t n_parameters, cap_parameters;
	char **command; /* with {NAME} for values, {{NAME}} for {NAME}; NULL at the end; not owned
			 */
	size_t n_points;
};

/* `words`: parameters, NAME=VALUE[,VALUE...] or NAME=FIRST:LAST[:STEP] in whole numbers (what
 * does not begin with a number is one value, whatever colons it has), or NAME:=FORMULA (formula.h)
 * of those before it, and
 * from the first word that is none of these the command; NULL at the end.  RF_EINPUT: there is no
 * command, a parameter makes no sense or is in no word of the command and no formula, a word or
 * formula has one that there is not, a formula's value is no number, or there are more than
 * MOST_POINTS points.  To be freed by space_deinit, after an error,
 * too. */
struct rf_error *space_init(struct space *space, const char **words);
void space_deinit(struct space *space);

/* The value of a parameter at a point. */
const char *space_value(const struct space *space, size_t point, size_t parameter);
/* The command of a point, NULL at the end; to be freed by space_free_command.  NULL: no memory. */
char **space_command(const struct space *space, size_t point);
void space_free_command(char **command);

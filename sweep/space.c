/* Reads parameters, and puts their values into the words of a command. */
#include "sweep/space.h"

#include "base/array.h"
#include "sweep/formula.h"

#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct rf_error *refuse(const char *word, const char *why)
{
	return rf_error_create(
		RF_EINPUT,
		"parameters are such as n=100:1000:100 or lib=naive,blas, and behind "
		"-- stands the command",
		"%s: %s", word, why);
}

static struct rf_error *add_value(struct parameter *parameter, const char *text, size_t length)
{
	char *value = strndup(text, length);
	char **grown = value ? realloc(parameter->values,
				       (parameter->n_values + 1) * sizeof(*parameter->values))
			     : NULL;
	if (!grown) {
		free(value);
		return rf_error_no_memory();
	}
	parameter->values = grown;
	grown[parameter->n_values++] = value;
	return NULL;
}

static struct rf_error *add_list(struct parameter *parameter, const char *word, const char *list)
{
	struct rf_error *error = NULL;
	for (size_t n; !error; list += n + 1) {
		n = strcspn(list, ",");
		if (!n)
			return refuse(word, "a value is empty");
		error = add_value(parameter, list, n);
		if (!list[n])
			break;
	}
	return error;
}

/* FIRST:LAST[:STEP] */
static bool read_range(const char *text, long long numbers[3], int *n)
{
	char *end;
	for (*n = 0; *n < 3; text = end + 1) {
		errno = 0;
		numbers[(*n)++] = strtoll(text, &end, 10);
		if (end == text || errno || (*end && *end != ':'))
			return false;
		if (!*end)
			return true;
	}
	return false;
}

static struct rf_error *add_range(struct parameter *parameter, const char *word, const char *text)
{
	long long numbers[3] = {0, 0, 1};
	int n;
	char value[32];
	struct rf_error *error = NULL;
	if (!read_range(text, numbers, &n) || n < 2)
		return refuse(word, "FIRST:LAST[:STEP] in whole numbers is wanted");
	const bool down = numbers[2] < 0;
	const unsigned long long first = (unsigned long long)numbers[0],
				 last = (unsigned long long)numbers[1],
				 step = down ? 0 - (unsigned long long)numbers[2]
					     : (unsigned long long)numbers[2],
				 width = down ? first - last : last - first;
	if (!step || (down ? numbers[1] > numbers[0] : numbers[1] < numbers[0]) ||
	    width / step >= MOST_POINTS)
		return refuse(word, "the range has no value, or too many (downwards with a "
				    "negative step: 9:1:-2)");
	for (unsigned long long i = 0; !error && i <= width / step; i++) {
		snprintf(value, sizeof(value), "%lld", numbers[0] + (long long)i * numbers[2]);
		error = add_value(parameter, value, strlen(value));
	}
	return error;
}

static bool is_name(const char *text, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if (!isalnum((unsigned char)text[i]) && text[i] != '_')
			return false;
	return length > 0;
}

static struct parameter *find(const struct space *space, const char *name, size_t length)
{
	for (size_t i = 0; i < space->n_parameters; i++)
		if (strncmp(space->parameters[i].name, name, length) == 0 &&
		    !space->parameters[i].name[length])
			return &space->parameters[i];
	return NULL;
}

/* A list of one value may have a colon, as of two directories: a range begins with a number. */
static bool is_range(const char *values)
{
	char *end;
	(void)strtod(values, &end);
	return end != values && *end == ':' && !strchr(values, ',');
}

/* The length of the name that the word begins with; 0: it is no parameter. */
static size_t name_length(const char *word)
{
	const char *values = strchr(word, '=');
	const size_t n = !values ? 0 : (size_t)(values - word), derived = n && word[n - 1] == ':';
	return is_name(word, n - derived) ? n - derived : 0;
}

static struct rf_error *add_parameter(struct space *space, const char *word)
{
	const size_t length = name_length(word);
	const char *values = strchr(word, '=');
	if (find(space, word, length))
		return refuse(word, "this parameter is there already");
	struct parameter parameter = {.name = strndup(word, length),
				      .formula = word[length] == ':' ? values + 1 : NULL};
	if (!parameter.name || !rf_array_push(space->parameters, space->n_parameters,
					      space->cap_parameters, parameter)) {
		free(parameter.name);
		return rf_error_no_memory();
	}
	struct parameter *new = &space->parameters[space->n_parameters - 1];
	if (new->formula)
		return NULL;
	return is_range(values + 1) ? add_range(new, word, values + 1)
				    : add_list(new, word, values + 1);
}

/* ---- the command ---- */

/* {{NAME}} is the word {NAME}, as of a shell or awk; its length, or 0. */
static size_t quoted_at(const char *text)
{
	const size_t n = text[0] == '{' && text[1] == '{' ? strcspn(text + 2, "}") : 0;
	return n && text[n + 2] == '}' && text[n + 3] == '}' && is_name(text + 2, n) ? n + 4 : 0;
}

/* The parameter whose {NAME} begins there, with the length of that; NULL: none is meant. */
static struct parameter *named_at(const struct space *space, const char *text, size_t *length,
				  bool *unknown)
{
	const size_t n = *text == '{' ? strcspn(text + 1, "}") : 0;
	*unknown = false;
	if (!n || text[n + 1] != '}' || !is_name(text + 1, n))
		return NULL;
	struct parameter *parameter = find(space, text + 1, n);
	*length = n + 2;
	*unknown = !parameter;
	return parameter;
}

/* Notes which parameters a word has. */
static struct rf_error *check_word(const struct space *space, const char *word, bool *used)
{
	size_t length;
	bool unknown;
	for (const char *c = word; *c; c++) {
		if (quoted_at(c)) {
			c += quoted_at(c) - 1;
			continue;
		}
		const struct parameter *parameter = named_at(space, c, &length, &unknown);
		if (unknown)
			return refuse(word, "there is no parameter of that name ({{NAME}} stands "
					    "for {NAME} itself)");
		if (parameter)
			used[parameter - space->parameters] = true;
	}
	return NULL;
}

/* ---- derived values ---- */

struct derivation {
	struct space *space;
	size_t point, parameter; /* that is derived */
	bool *used;
};

static bool value_of(void *context, const char *name, double *value)
{
	const struct derivation *derivation = context;
	const struct parameter *parameter = find(derivation->space, name, strlen(name));
	const size_t i = parameter ? (size_t)(parameter - derivation->space->parameters) : 0;
	char *end;
	if (!parameter || i >= derivation->parameter)
		return false;
	const char *text = space_value(derivation->space, derivation->point, i);
	*value = strtod(text, &end);
	derivation->used[i] = true;
	return end != text && !*end;
}

static struct rf_error *derive(struct space *space, size_t parameter, bool *used)
{
	struct parameter *derived = &space->parameters[parameter];
	struct derivation derivation = {space, 0, parameter, used};
	struct rf_error *error = NULL;
	for (; !error && derivation.point < space->n_points; derivation.point++) {
		char text[32];
		double value;
		error = formula_value(derived->formula, value_of, &derivation, &value);
		if (!error && !isfinite(value))
			error = refuse(derived->formula, "its value is no number");
		if (error)
			break;
		snprintf(text, sizeof(text), "%.15g", value);
		error = add_value(derived, text, strlen(text));
	}
	return error;
}

/* ---- all of it ---- */

static struct rf_error *check_command(struct space *space)
{
	bool *used = calloc(space->n_parameters + 1, sizeof(*used));
	struct rf_error *error = used ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < space->n_parameters; i++)
		error = space->parameters[i].formula ? derive(space, i, used) : NULL;
	for (char **word = space->command; !error && *word; word++)
		error = check_word(space, *word, used);
	for (size_t i = 0; !error && i < space->n_parameters; i++)
		if (!used[i])
			error = refuse(space->parameters[i].name,
				       "this parameter is in no word of the command, and in no "
				       "formula");
	free(used);
	return error;
}

struct rf_error *space_init(struct space *space, const char **words)
{
	*space = (struct space){.n_points = 1};
	struct rf_error *error = NULL;
	for (; !error && *words && name_length(*words); words++)
		error = add_parameter(space, *words);
	if (error)
		return error;
	if (!*words)
		return refuse("rfprof sweep", "there is no command");
	space->command = (char **)words;
	for (size_t i = 0; i < space->n_parameters; i++) {
		space->n_points *= space->parameters[i].formula ? 1 : space->parameters[i].n_values;
		if (space->n_points > MOST_POINTS)
			return refuse("rfprof sweep", "there are too many points");
	}
	return check_command(space);
}

void space_deinit(struct space *space)
{
	for (size_t i = 0; i < space->n_parameters; i++) {
		for (size_t k = 0; k < space->parameters[i].n_values; k++)
			free(space->parameters[i].values[k]);
		free(space->parameters[i].values);
		free(space->parameters[i].name);
	}
	free(space->parameters);
	*space = (struct space){0};
}

const char *space_value(const struct space *space, size_t point, size_t parameter)
{
	const struct parameter *of = &space->parameters[parameter];
	if (of->formula)
		return of->values[point];
	for (size_t i = space->n_parameters; i-- > parameter + 1;)
		point /= space->parameters[i].formula ? 1 : space->parameters[i].n_values;
	return of->values[point % of->n_values];
}

static char *fill_word(const struct space *space, size_t point, const char *word)
{
	char *text = NULL;
	size_t size, length;
	bool unknown;
	FILE *out = open_memstream(&text, &size);
	while (out && *word) {
		const size_t quoted = quoted_at(word);
		const struct parameter *parameter =
			quoted ? NULL : named_at(space, word, &length, &unknown);
		if (quoted)
			fwrite(word + 1, 1, quoted - 2, out);
		else if (parameter)
			fputs(space_value(space, point, (size_t)(parameter - space->parameters)),
			      out);
		else
			fputc(*word, out);
		word += quoted ? quoted : parameter ? length : 1;
	}
	if (out && fclose(out) != 0) {
		free(text);
		return NULL;
	}
	return text;
}

char **space_command(const struct space *space, size_t point)
{
	size_t n = 0;
	while (space->command[n])
		n++;
	char **command = calloc(n + 1, sizeof(*command));
	for (size_t i = 0; command && i < n; i++) {
		command[i] = fill_word(space, point, space->command[i]);
		if (!command[i]) {
			space_free_command(command);
			return NULL;
		}
	}
	return command;
}

void space_free_command(char **command)
{
	for (char **word = command; word && *word; word++)
		free(*word);
	free(command);
}

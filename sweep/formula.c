/* Reads formulas by recursive descent, and computes them on the way. */
#include "sweep/formula.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_DEPTH 100 /* of brackets and signs: the stack is finite */
#define NAME_SIZE 64

struct reader {
	const char *at;
	formula_names *names;
	void *context;
	int depth;
	const char *wrong; /* what is, or NULL */
	char name[NAME_SIZE];
};

static double sum(struct reader *reader);

static char next(struct reader *reader)
{
	while (isspace((unsigned char)*reader->at))
		reader->at++;
	return *reader->at;
}

static bool take(struct reader *reader, char wanted)
{
	if (next(reader) != wanted)
		return false;
	reader->at++;
	return true;
}

static double fail(struct reader *reader, const char *wrong)
{
	if (!reader->wrong)
		reader->wrong = wrong;
	return NAN;
}

static double call(struct reader *reader)
{
	static const struct {
		const char *name;
		double (*one)(double);
		double (*two)(double, double);
	} functions[] = {{"log2", log2, NULL}, {"log10", log10, NULL}, {"ln", log, NULL},
			 {"sqrt", sqrt, NULL}, {"ceil", ceil, NULL},   {"floor", floor, NULL},
			 {"min", NULL, fmin},  {"max", NULL, fmax}};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (strcmp(reader->name, functions[i].name) != 0)
			continue;
		const double first = sum(reader);
		if (functions[i].two && !take(reader, ','))
			return fail(reader, "this function is one of two values");
		const double second = functions[i].two ? sum(reader) : 0;
		if (!take(reader, ')'))
			return fail(reader, "a bracket is not closed");
		return functions[i].two ? functions[i].two(first, second) : functions[i].one(first);
	}
	return fail(reader, "there is no such function");
}

static double named(struct reader *reader)
{
	size_t n = 0;
	double value;
	while (isalnum((unsigned char)reader->at[n]) || reader->at[n] == '_')
		n++;
	if (n >= NAME_SIZE)
		return fail(reader, "a name is too long");
	memcpy(reader->name, reader->at, n);
	reader->name[n] = '\0';
	reader->at += n;
	if (take(reader, '('))
		return call(reader);
	if (!reader->names || !reader->names(reader->context, reader->name, &value))
		return fail(reader, "it has a name that there is not, or whose value is no number");
	return value;
}

static double atom(struct reader *reader)
{
	const char c = next(reader);
	if (take(reader, '(')) {
		const double value = sum(reader);
		return take(reader, ')') ? value : fail(reader, "a bracket is not closed");
	}
	if (isalpha((unsigned char)c) || c == '_')
		return named(reader);
	if (!isdigit((unsigned char)c) && c != '.')
		return fail(reader, "a number or a name is missing");
	char *end;
	const double value = strtod(reader->at, &end);
	if (end == reader->at)
		return fail(reader, "a number is missing");
	reader->at = end;
	return value;
}

/* A sign binds less than a power: -n^2 is -(n^2). */
static double signed_power(struct reader *reader)
{
	if (++reader->depth > MOST_DEPTH)
		return fail(reader, "it is too deep");
	double value;
	if (take(reader, '-')) {
		value = -signed_power(reader);
	} else {
		value = atom(reader);
		if (take(reader, '^'))
			value = pow(value, signed_power(reader));
	}
	reader->depth--;
	return value;
}

static double product(struct reader *reader)
{
	double value = signed_power(reader);
	while (!reader->wrong) {
		if (take(reader, '*'))
			value *= signed_power(reader);
		else if (take(reader, '/'))
			value /= signed_power(reader);
		else
			break;
	}
	return value;
}

static double sum(struct reader *reader)
{
	double value = product(reader);
	while (!reader->wrong) {
		if (take(reader, '+'))
			value += product(reader);
		else if (take(reader, '-'))
			value -= product(reader);
		else
			break;
	}
	return value;
}

struct rf_error *formula_value(const char *text, formula_names *names, void *context, double *out)
{
	struct reader reader = {.at = text, .names = names, .context = context};
	const double value = sum(&reader);
	if (!reader.wrong && next(&reader))
		fail(&reader, "there is more behind its end");
	if (reader.wrong)
		return rf_error_create(RF_EINPUT, "write it as in 5*n*log2(n)", "\"%s\": %s", text,
				       reader.wrong);
	*out = value;
	return NULL;
}

/* Facts of a profile: setting them, and reading each as what it is. */
#include "profile/facts.h"

#include "base/array.h"
#include "profile/profile.h"

#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE "note."

const struct fact_kind fact_kinds[] = {
#define FACT(key, type, unit, meaning) {#key, FACT_##type, unit, meaning},
#include "profile/facts.def"
#undef FACT
};
const size_t n_fact_kinds = sizeof(fact_kinds) / sizeof(*fact_kinds);

const struct fact_kind *fact_kind(const char *key)
{
	static const struct fact_kind note = {NOTE "1", FACT_TEXT, "",
					      "a sentence to show under the table"};
	for (size_t i = 0; i < n_fact_kinds; i++)
		if (strcmp(fact_kinds[i].key, key) == 0)
			return &fact_kinds[i];
	const char *number = strncmp(key, NOTE, strlen(NOTE)) == 0 ? key + strlen(NOTE) : "";
	return number[0] && number[strspn(number, "0123456789")] == '\0' ? &note : NULL;
}

static bool has_type(const char *key, enum fact_type type)
{
	const struct fact_kind *kind = fact_kind(key);
	return kind && kind->type == type;
}

static bool read_number(const char *text, double *number)
{
	char *end;
	*number = strtod(text, &end);
	return end != text && isfinite(*number);
}

/* Whether the fact exists and can have that value. */
static bool may_be(const char *key, const char *value)
{
	double number;
	if (has_type(key, FACT_COUNT) || has_type(key, FACT_REAL))
		return read_number(value, &number);
	return has_type(key, FACT_TEXT) || (has_type(key, FACT_FLAG) && strcmp(value, "1") == 0);
}

static struct profile_fact *find_fact(const struct profile *profile, const char *key)
{
	for (size_t i = 0; i < profile->n_facts; i++)
		if (strcmp(profile->facts[i].key, key) == 0)
			return &profile->facts[i];
	return NULL;
}

void profile_set_fact(struct profile *profile, const char *key, const char *format, ...)
{
	char *value = NULL;
	va_list arguments;
	va_start(arguments, format);
	if (vasprintf(&value, format, arguments) < 0)
		value = NULL;
	va_end(arguments);
	if (!value)
		return;
	assert(may_be(key, value));
	struct profile_fact *old = find_fact(profile, key);
	if (old) {
		free(old->value);
		old->value = value;
		return;
	}
	struct profile_fact fact = {strdup(key), value};
	if (fact.key && rf_array_push(profile->facts, profile->n_facts, profile->cap_facts, fact))
		return;
	free(fact.key);
	free(value);
}

const char *profile_get_fact(const struct profile *profile, const char *key)
{
	const struct profile_fact *fact = find_fact(profile, key);
	return fact ? fact->value : NULL;
}

bool profile_fact_is(const struct profile *profile, const char *key, const char *text)
{
	const char *value = profile_get_fact(profile, key);
	return value && strcmp(value, text) == 0;
}

bool profile_flag_fact(const struct profile *profile, const char *key)
{
	assert(has_type(key, FACT_FLAG));
	return profile_fact_is(profile, key, "1");
}

double profile_number_fact(const struct profile *profile, const char *key, double otherwise)
{
	const char *text = profile_get_fact(profile, key);
	double number;
	assert(has_type(key, FACT_COUNT) || has_type(key, FACT_REAL));
	return text && read_number(text, &number) ? number : otherwise;
}

bool profile_count_fact(const struct profile *profile, const char *key, long long *count)
{
	const char *text = profile_get_fact(profile, key);
	char *end;
	assert(has_type(key, FACT_COUNT));
	*count = text ? strtoll(text, &end, 10) : 0;
	return text && end != text && !*end;
}

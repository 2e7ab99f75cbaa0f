/* Facts of a profile: setting them, and reading each as what it is. */
#include "profile/facts.h"

#include "base/array.h"
#include "base/text.h"
#include "profile/profile.h"

#include <assert.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOTE "note."

/* What a number can be at most: more is no figure of any run, and views need not mind it. */
static const double most[] = {
	[FACT_TEXT] = -1,   [FACT_COUNT] = 0x1p60, [FACT_FEW] = INT_MAX,
	[FACT_REAL] = 1e18, [FACT_FLAG] = -1,
};

const struct fact_kind fact_kinds[] = {
#define FACT(key, type, unit, meaning) {#key, FACT_##type, unit, meaning},
#include "profile/facts.def"
#undef FACT
};
const size_t n_fact_kinds = sizeof(fact_kinds) / sizeof(*fact_kinds);

/* Most keys differ in their first letter, and accounts of many loops ask for many facts. */
static bool is_same(const char *key, const char *other)
{
	return key[0] == other[0] && strcmp(key, other) == 0;
}

const struct fact_kind *fact_kind(const char *key)
{
	static const struct fact_kind note = {NOTE "1", FACT_TEXT, "",
					      "a sentence to show under the table"};
	for (size_t i = 0; i < n_fact_kinds; i++)
		if (is_same(fact_kinds[i].key, key))
			return &fact_kinds[i];
	const char *number = strncmp(key, NOTE, strlen(NOTE)) == 0 ? key + strlen(NOTE) : "";
	return number[0] && number[strspn(number, "0123456789")] == '\0' ? &note : NULL;
}

static enum fact_type type_of(const char *key)
{
	const struct fact_kind *kind = fact_kind(key);
	assert(kind);
	return kind->type;
}

static bool is_number(enum fact_type type)
{
	return most[type] >= 0;
}

static bool read_number(const char *text, enum fact_type type, double *number)
{
	char *end;
	*number = strtod(text, &end);
	return end != text && *number >= 0 && *number <= most[type];
}

/* Whether the fact exists and can have that value. */
static bool may_be(const char *key, const char *value)
{
	const enum fact_type type = type_of(key);
	double number;
	if (is_number(type))
		return read_number(value, type, &number);
	return type == FACT_TEXT || strcmp(value, "1") == 0;
}

static struct profile_fact *find_fact(const struct profile *profile, const char *key)
{
	for (size_t i = 0; i < profile->n_facts; i++)
		if (is_same(profile->facts[i].key, key))
			return &profile->facts[i];
	return NULL;
}

/* Takes `value`; NULL: memory is short. */
static void set_fact(struct profile *profile, const char *key, char *value)
{
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

void profile_remove_fact(struct profile *profile, const char *key)
{
	struct profile_fact *fact = find_fact(profile, key);
	if (!fact)
		return;
	free(fact->key);
	free(fact->value);
	*fact = profile->facts[--profile->n_facts];
}

static char *make_text(const char *format, va_list arguments)
{
	char *text;
	return vasprintf(&text, format, arguments) < 0 ? NULL : text;
}

void profile_set_fact(struct profile *profile, const char *key, const char *format, ...)
{
	va_list arguments;
	va_start(arguments, format);
	set_fact(profile, key, make_text(format, arguments));
	va_end(arguments);
}

void profile_add_note(struct profile *profile, const char *format, ...)
{
	size_t n = 1;
	char key[32];
	va_list arguments;
	for (size_t i = 0; i < profile->n_facts; i++)
		n += strncmp(profile->facts[i].key, NOTE, strlen(NOTE)) == 0;
	snprintf(key, sizeof(key), NOTE "%zu", n);
	va_start(arguments, format);
	set_fact(profile, key, make_text(format, arguments));
	va_end(arguments);
}

void profile_note_unread(struct profile *profile, const char *path, const char *why)
{
	static const char beginning[] = "names are missing: ";
	enum { MAX_UNREAD = 8 };
	size_t n = 0;
	bool is_said = false;
	char *clean = text_clean(path), *text;
	if (asprintf(&text, "%s%s: %s", beginning, clean ? clean : "?", why) < 0)
		text = NULL;
	free(clean);
	for (size_t i = 0; text && i < profile->n_facts; i++) {
		n += strncmp(profile->facts[i].value, beginning, strlen(beginning)) == 0;
		is_said |= strcmp(profile->facts[i].value, text) == 0;
	}
	if (text && !is_said && n < MAX_UNREAD)
		profile_add_note(profile, "%s", text);
	else if (text && !is_said && n == MAX_UNREAD)
		profile_add_note(profile, "%smore files could not be read", beginning);
	free(text);
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
	assert(type_of(key) == FACT_FLAG);
	return profile_fact_is(profile, key, "1");
}

double profile_number_fact(const struct profile *profile, const char *key, double otherwise)
{
	const char *text = profile_get_fact(profile, key);
	const enum fact_type type = type_of(key);
	double number;
	assert(is_number(type));
	return text && read_number(text, type, &number) ? number : otherwise;
}

bool profile_count_fact(const struct profile *profile, const char *key, long long *count)
{
	const char *text = profile_get_fact(profile, key);
	const enum fact_type type = type_of(key);
	char *end;
	assert(type == FACT_COUNT || type == FACT_FEW);
	*count = text ? strtoll(text, &end, 10) : 0;
	return text && end != text && !*end && *count >= 0 && (double)*count <= most[type];
}

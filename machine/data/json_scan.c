/* One function for each kind of token. */
#include "machine/data/json_scan.h"

#include "base/text.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void json_scan_init(struct json_scan *scan, const char *text, size_t size)
{
	*scan = (struct json_scan){.at = text, .end = text + size, .first = true};
}

static void skip_blanks(struct json_scan *scan)
{
	scan->at += strspn(scan->at, " \n\t\r");
}

static void expect(struct json_scan *scan, char wanted)
{
	skip_blanks(scan);
	if (*scan->at == wanted)
		scan->at++;
	else
		scan->differs = true;
}

static bool take_word(struct json_scan *scan, const char *word)
{
	const size_t length = strlen(word);
	skip_blanks(scan);
	if (strncmp(scan->at, word, length) != 0)
		return false;
	scan->at += length;
	return true;
}

/* ---- objects and arrays ---- */

void json_scan_open(struct json_scan *scan, char bracket)
{
	expect(scan, bracket);
	scan->first = true;
}

void json_scan_close(struct json_scan *scan)
{
	expect(scan, '}');
	scan->first = false;
}

static void separate(struct json_scan *scan)
{
	if (!scan->first)
		expect(scan, ',');
	scan->first = false;
}

bool json_scan_next(struct json_scan *scan)
{
	if (scan->differs)
		return false;
	if (take_word(scan, "]")) {
		scan->first = false;
		return false;
	}
	separate(scan);
	return !scan->differs;
}

void json_scan_name(struct json_scan *scan, const char *name)
{
	separate(scan);
	expect(scan, '"');
	const size_t length = strlen(name);
	if (strncmp(scan->at, name, length) != 0 || scan->at[length] != '"') {
		scan->differs = true;
		return;
	}
	scan->at += length + 1;
	expect(scan, ':');
}

/* ---- numbers ---- */

static const char *skip_digits(const char *at)
{
	while (isdigit((unsigned char)*at))
		at++;
	return at;
}

/* Where the number ends that begins at `at`, NULL where there is none; *whole: it has no point and
 * no exponent (RFC 8259, section 6). */
static const char *number_end(const char *at, bool *whole)
{
	at += *at == '-';
	const char *end = *at == '0' ? at + 1 : skip_digits(at);
	if (end == at)
		return NULL;
	*whole = *end != '.' && *end != 'e' && *end != 'E';
	if (*end == '.') {
		const char *fraction = end + 1;
		if ((end = skip_digits(fraction)) == fraction)
			return NULL;
	}
	if (*end == 'e' || *end == 'E') {
		const char *exponent = end + 1 + (end[1] == '-' || end[1] == '+');
		if ((end = skip_digits(exponent)) == exponent)
			return NULL;
	}
	return end;
}

int64_t json_scan_whole(struct json_scan *scan)
{
	bool whole = false;
	skip_blanks(scan);
	const char *end = number_end(scan->at, &whole);
	errno = 0;
	const int64_t value = end && whole ? strtoll(scan->at, NULL, 10) : 0;
	scan->differs |= !end || !whole || errno;
	if (end)
		scan->at = end;
	return value;
}

int json_scan_int(struct json_scan *scan)
{
	const int64_t value = json_scan_whole(scan);
	scan->differs |= value < INT_MIN || value > INT_MAX;
	return (int)value;
}

double json_scan_number(struct json_scan *scan)
{
	bool whole = false;
	char *after;
	skip_blanks(scan);
	const char *end = number_end(scan->at, &whole);
	if (!end || whole)
		return (double)json_scan_whole(scan);
	const double value = strtod(scan->at, &after);
	/* the user's locale may have another point */
	scan->differs |= after != end || !isfinite(value);
	scan->at = end;
	return value;
}

/* ---- other values ---- */

bool json_scan_bool(struct json_scan *scan)
{
	const bool value = take_word(scan, "true");
	scan->differs |= !value && !take_word(scan, "false");
	return value;
}

bool json_scan_null(struct json_scan *scan)
{
	return take_word(scan, "null");
}

/* The bytes of a text, which are followed by '"'. */
static size_t text_length(struct json_scan *scan)
{
	expect(scan, '"');
	const size_t length = strcspn(scan->at, "\"\\");
	scan->differs |= scan->at[length] != '"';
	return length;
}

const char *json_scan_text(struct json_scan *scan, char *to, size_t size)
{
	const size_t length = text_length(scan);
	to[0] = '\0';
	scan->differs |= length >= size;
	if (scan->differs)
		return to;
	memcpy(to, scan->at, length);
	to[length] = '\0';
	/* well-formed, and without control characters */
	scan->differs |= !text_is_clean(to);
	scan->at += length + 1;
	return to;
}

char *json_scan_new_text(struct json_scan *scan)
{
	const char *before = scan->at;
	const size_t length = text_length(scan);
	char *text = scan->differs ? NULL : malloc(length + 1);
	scan->at = before;
	scan->differs |= !text;
	if (text)
		json_scan_text(scan, text, length + 1);
	if (!scan->differs)
		return text;
	free(text);
	return NULL;
}

bool json_scan_ends(struct json_scan *scan)
{
	skip_blanks(scan);
	return !scan->differs && scan->at == scan->end;
}

/* JSON as it comes: into a buffer, which goes to the stream when it is full, or grows where it is
 * to become a part of another writer's. */
#include "report/json/json_writer.h"

#include "base/text.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BUFFER 65536
#define MAX_DEPTH 24
#define MAX_KEY 64 /* bytes */
#define MAX_NUMBER 40
#define KNOWN_REALS 1024 /* a power of two */
#define EXACT 1e15       /* whole numbers below have all their digits in any precision from 15 on */

/* A real that was written before: the same figure stands in several members. */
struct known_real {
	uint64_t bits;
	unsigned char length; /* 0: none */
	char text[MAX_NUMBER];
};

struct json_writer {
	FILE *stream;
	enum json_style style;
	int digits, depth;
	bool is_array[MAX_DEPTH], has_items[MAX_DEPTH];
	bool failed;
	bool is_part;
	size_t n, room;
	char *buffer;
	struct known_real known[KNOWN_REALS];
};

struct json_writer *json_writer_create(FILE *stream, enum json_style style)
{
	struct json_writer *writer = calloc(1, sizeof(*writer));
	char *buffer = malloc(BUFFER);
	if (!writer || !buffer) {
		free(writer);
		free(buffer);
		return NULL;
	}
	writer->stream = stream;
	writer->style = style;
	writer->digits = 17;
	writer->buffer = buffer;
	writer->room = BUFFER;
	return writer;
}

struct json_writer *json_writer_create_part(const struct json_writer *whole)
{
	struct json_writer *part = json_writer_create(NULL, whole->style);
	if (!part)
		return NULL;
	part->is_part = true;
	part->digits = whole->digits;
	part->depth = whole->depth;
	memcpy(part->is_array, whole->is_array, sizeof(part->is_array));
	return part;
}

void json_writer_set_digits(struct json_writer *writer, int digits)
{
	assert(digits >= 1 && digits <= 17);
	writer->digits = digits;
}

static void flush(struct json_writer *writer)
{
	if (writer->stream)
		fwrite(writer->buffer, 1, writer->n, writer->stream);
	writer->n = 0;
}

bool json_writer_destroy(struct json_writer *writer)
{
	if (!writer)
		return false;
	flush(writer);
	const bool done = !writer->failed;
	free(writer->buffer);
	free(writer);
	return done;
}

/* What a part has is lost where memory is short. */
static void grow(struct json_writer *part, size_t n)
{
	const size_t room = 2 * part->room + n;
	char *grown = realloc(part->buffer, room);
	if (grown) {
		part->buffer = grown;
		part->room = room;
	} else {
		part->failed = true;
		part->n = 0;
	}
}

static inline void make_room(struct json_writer *writer, size_t n)
{
	if (n <= writer->room - writer->n)
		return;
	if (writer->is_part)
		grow(writer, n);
	else
		flush(writer);
}

static inline void put(struct json_writer *writer, const char *text, size_t n)
{
	make_room(writer, n);
	if (n > writer->room) {
		if (writer->stream)
			fwrite(text, 1, n, writer->stream);
		return;
	}
	memcpy(writer->buffer + writer->n, text, n);
	writer->n += n;
}

static void put_byte(struct json_writer *writer, char byte)
{
	put(writer, &byte, 1);
}

void json_writer_join(struct json_writer *whole, struct json_writer *part)
{
	const int depth = whole->depth;
	assert(part->is_part && part->depth == depth);
	if (part->n && depth) {
		if (whole->has_items[depth - 1])
			put_byte(whole, ',');
		whole->has_items[depth - 1] = true;
		part->has_items[depth - 1] = false;
	}
	put(whole, part->buffer, part->n);
	whole->failed |= part->failed;
	part->n = 0;
}

void json_writer_put_between(struct json_writer *writer, const char *text)
{
	assert(writer->depth == 0);
	put(writer, text, strlen(text));
}

/* ---- where a value stands ---- */

/* What stands before a value, or an end, on a line of its own; returns behind it. */
static char *new_line(const struct json_writer *writer, char *to)
{
	if (writer->style != JSON_LINES)
		return to;
	*to++ = '\n';
	memset(to, ' ', MAX_DEPTH); /* a number that the compiler knows */
	return to + writer->depth;
}

/* What stands before a value. */
static void begin(struct json_writer *writer, const char *key)
{
	const int depth = writer->depth;
	const size_t length = key ? strlen(key) : 0;
	if (depth == 0)
		return;
	assert(!key == writer->is_array[depth - 1] && length <= MAX_KEY);
	make_room(writer, MAX_KEY + MAX_DEPTH + 8);
	char *to = writer->buffer + writer->n;
	if (writer->has_items[depth - 1])
		*to++ = ',';
	writer->has_items[depth - 1] = true;
	to = new_line(writer, to);
	if (key) {
		*to++ = '"';
		to = (char *)memcpy(to, key, length) + length;
		*to++ = '"';
		*to++ = ':';
		if (writer->style == JSON_LINES)
			*to++ = ' ';
	}
	writer->n = (size_t)(to - writer->buffer);
}

static void open_level(struct json_writer *writer, const char *key, bool array)
{
	begin(writer, key);
	assert(writer->depth < MAX_DEPTH);
	writer->is_array[writer->depth] = array;
	writer->has_items[writer->depth++] = false;
	put_byte(writer, array ? '[' : '{');
}

void put_object(struct json_writer *writer, const char *key)
{
	open_level(writer, key, false);
}

void put_array(struct json_writer *writer, const char *key)
{
	open_level(writer, key, true);
}

void put_end(struct json_writer *writer)
{
	assert(writer->depth > 0);
	const int depth = --writer->depth;
	make_room(writer, MAX_DEPTH + 2);
	if (writer->has_items[depth])
		writer->n = (size_t)(new_line(writer, writer->buffer + writer->n) - writer->buffer);
	put_byte(writer, writer->is_array[depth] ? ']' : '}');
}

/* ---- numbers ---- */

void put_null(struct json_writer *writer, const char *key)
{
	begin(writer, key);
	put(writer, "null", 4);
}

void put_flag(struct json_writer *writer, const char *key, bool value)
{
	begin(writer, key);
	put(writer, value ? "true" : "false", value ? 4 : 5);
}

/* Writes the digits from the end of the text on; their first. */
static char *digits_before(char *end, uint64_t value)
{
	do
		*--end = (char)('0' + value % 10);
	while (value /= 10);
	return end;
}

void put_integer(struct json_writer *writer, const char *key, int64_t value)
{
	char text[MAX_NUMBER], *end = text + sizeof(text);
	char *first = digits_before(end, value < 0 ? -(uint64_t)value : (uint64_t)value);
	if (value < 0)
		*--first = '-';
	begin(writer, key);
	put(writer, first, (size_t)(end - first));
}

void put_count(struct json_writer *writer, const char *key, uint64_t value)
{
	put_integer(writer, key, value > INT64_MAX ? INT64_MAX : (int64_t)value);
}

void put_known(struct json_writer *writer, const char *key, bool known, int64_t value)
{
	if (known)
		put_integer(writer, key, value);
	else
		put_null(writer, key);
}

/* As jansson does: a point or an exponent in any case, and that without '+' and leading zeros. */
static size_t print_real(char text[static MAX_NUMBER], double value, int digits)
{
	int n = snprintf(text, MAX_NUMBER, "%.*g", digits, value);
	char *comma = strchr(text, ','), *exponent = strchr(text, 'e');
	if (comma) /* the locale's */
		*comma = '.';
	if (!exponent)
		return strchr(text, '.') ? (size_t)n : (size_t)(n + sprintf(text + n, ".0"));
	char *from = exponent + 1, *to = from + (*from == '-');
	from += *from == '-' || *from == '+';
	while (*from == '0')
		from++;
	memmove(to, from, strlen(from) + 1);
	return strlen(text);
}

static void put_whole(struct json_writer *writer, double value)
{
	char text[MAX_NUMBER], *end = text + sizeof(text) - 2;
	char *first = digits_before(end, (uint64_t)fabs(value));
	memcpy(end, ".0", 2);
	if (signbit(value))
		*--first = '-';
	put(writer, first, (size_t)(end + 2 - first));
}

static const struct known_real *known_real(struct json_writer *writer, double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	struct known_real *known =
		&writer->known[bits * 0x9e3779b97f4a7c15u >> 54 & (KNOWN_REALS - 1)];
	if (!known->length || known->bits != bits) {
		known->bits = bits;
		known->length = (unsigned char)print_real(known->text, value, writer->digits);
	}
	return known;
}

void put_real(struct json_writer *writer, const char *key, double value)
{
	if (!isfinite(value)) {
		put_null(writer, key);
		return;
	}
	begin(writer, key);
	if (writer->digits > 15 && fabs(value) < EXACT && value == trunc(value)) {
		put_whole(writer, value);
		return;
	}
	const struct known_real *known = known_real(writer, value);
	put(writer, known->text, known->length);
}

/* ---- texts ---- */

/* Whether a character stands for itself in any style. */
static bool is_plain(unsigned char c)
{
	return c >= ' ' && c < 0x7f && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

/* One of valid UTF-8; *length gets its bytes. */
static uint32_t code_point(const char *text, size_t *length)
{
	const unsigned char *s = (const unsigned char *)text;
	*length = s[0] < 0x80 ? 1 : s[0] >= 0xf0 ? 4 : s[0] >= 0xe0 ? 3 : 2;
	uint32_t code = *length == 1 ? s[0] : s[0] & (0x7fu >> *length);
	for (size_t i = 1; i < *length; i++)
		code = code << 6 | (s[i] & 0x3f);
	return code;
}

/* By its number: two of 16 bits where it has more. */
static void put_number_of(struct json_writer *writer, uint32_t code)
{
	char text[16];
	const int n = code < 0x10000 ? snprintf(text, sizeof(text), "\\u%04X", code)
				     : snprintf(text, sizeof(text), "\\u%04X\\u%04X",
						0xd800 | (code - 0x10000) >> 10,
						0xdc00 | ((code - 0x10000) & 0x3ff));
	put(writer, text, (size_t)n);
}

/* Text that is clean: valid UTF-8 without control characters. */
static void put_escaped(struct json_writer *writer, const char *text, size_t n)
{
	const bool page = writer->style == JSON_PAGE;
	for (size_t i = 0, length; i < n; i += length) {
		const uint32_t code = code_point(text + i, &length);
		if (code == '"' || code == '\\')
			put_byte(writer, '\\');
		if (page && (code >= 0x7f || code == '<' || code == '>' || code == '&'))
			put_number_of(writer, code);
		else
			put(writer, text + i, length);
	}
}

/* What cannot be copied as it stands. */
static bool put_odd(struct json_writer *writer, const char *text)
{
	char *clean = text_clean(text), *cut = NULL;
	const bool is_long = clean && writer->style == JSON_PAGE && strlen(clean) > JSON_LONG_TEXT;
	if (is_long)
		cut = text_without_middle(clean, JSON_LONG_TEXT);
	const char *shown = is_long ? cut : clean;
	if (shown)
		put_escaped(writer, shown, strlen(shown));
	free(clean);
	free(cut);
	return shown != NULL;
}

void put_text(struct json_writer *writer, const char *key, const char *text)
{
	size_t n = 0;
	if (!text) {
		put_null(writer, key);
		return;
	}
	begin(writer, key);
	put_byte(writer, '"');
	while (is_plain((unsigned char)text[n]))
		n++;
	if (!text[n] && n <= JSON_LONG_TEXT)
		put(writer, text, n);
	else
		writer->failed |= !put_odd(writer, text);
	put_byte(writer, '"');
}

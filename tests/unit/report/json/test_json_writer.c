/* The writer against jansson: random values of all kinds, as a tree of jansson's and as they come.
 */
#include "report/json/json_writer.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NEST 6

/* A real of any kind: whole, of few digits, of any bits. */
static double random_real(uint64_t *state)
{
	const uint64_t bits = random_number(state);
	double value;
	switch (random_number(state) % 4) {
	case 0:
		return (double)(int64_t)bits / (double)(1ull << bits % 64);
	case 1:
		return (double)(int32_t)bits;
	case 2:
		return (double)(int32_t)bits / 1000;
	default:
		memcpy(&value, &bits, sizeof(value));
		return isfinite(value) ? value : 0;
	}
}

static const char *random_text(uint64_t *state)
{
	static const char *const texts[] = {"",  "main", "a\"b\\c/d",   "std::vector<int>&",
					    "é", "漢字", "\U0001f600 x"};
	return texts[random_number(state) % (sizeof(texts) / sizeof(*texts))];
}

/* Writes a random value, and returns the same of jansson's. */
static json_t *both(struct json_writer *out, const char *key, uint64_t *state, int depth)
{
	const bool array = random_number(state) % 2;
	double real;
	const char *text;
	switch (random_number(state) % (depth < MAX_NEST ? 8 : 5)) {
	case 0:
		put_null(out, key);
		return json_null();
	case 1:
		put_flag(out, key, array);
		return json_boolean(array);
	case 2: {
		const int64_t n = (int64_t)(random_number(state) >> random_number(state) % 64);
		put_integer(out, key, array ? n : -n);
		return json_integer(array ? n : -n);
	}
	case 3:
		real = random_real(state);
		put_real(out, key, real);
		return json_real(real);
	case 4:
		text = random_text(state);
		put_text(out, key, text);
		return json_string(text);
	default:
		break;
	}
	json_t *value = array ? json_array() : json_object();
	(array ? put_array : put_object)(out, key);
	for (uint64_t i = random_number(state) % 8; i-- > 0;) {
		char name[16];
		snprintf(name, sizeof(name), "key_%d", (int)i);
		json_t *item = both(out, array ? NULL : name, state, depth + 1);
		if (array)
			json_array_append_new(value, item);
		else
			json_object_set_new(value, name, item);
	}
	put_end(out);
	return value;
}

static char *written(json_t **value, uint64_t *state, enum json_style style)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	struct json_writer *out = json_writer_create(stream, style);
	cr_assert(out != NULL);
	*value = both(out, NULL, state, 0);
	cr_assert(json_writer_destroy(out));
	fclose(stream);
	return text;
}

Test(json_writer, lines_are_those_of_jansson)
{
	uint64_t state = 1;
	for (int i = 0; i < 20000; i++) {
		json_t *value;
		char *text = written(&value, &state, JSON_LINES);
		char *expected = json_dumps(value, JSON_INDENT(1) | JSON_ENCODE_ANY);
		cr_assert_str_eq(text, expected);
		free(text);
		free(expected);
		json_decref(value);
	}
}

Test(json_writer, a_page_has_the_same_values_and_no_markup)
{
	uint64_t state = 2;
	for (int i = 0; i < 20000; i++) {
		json_t *value;
		char *text = written(&value, &state, JSON_PAGE);
		json_t *read = json_loads(text, JSON_DECODE_ANY, NULL);
		cr_assert(json_equal(read, value), "%s", text);
		cr_assert(strcspn(text, "<>&\n") == strlen(text));
		for (const char *c = text; *c; c++)
			cr_assert((unsigned char)*c < 0x80);
		free(text);
		json_decref(read);
		json_decref(value);
	}
}

/* In a page its middle is left out, between whole characters. */
Test(json_writer, a_page_shortens_long_texts)
{
	char *text = NULL, *long_text = calloc(1, 3 * JSON_LONG_TEXT + 1);
	size_t size;
	for (int i = 0; i < JSON_LONG_TEXT; i++)
		memcpy(long_text + 3 * i, "漢", 3);
	FILE *stream = open_memstream(&text, &size);
	struct json_writer *out = json_writer_create(stream, JSON_PAGE);
	put_text(out, NULL, long_text);
	cr_assert(json_writer_destroy(out));
	fclose(stream);
	json_t *read = json_loads(text, JSON_DECODE_ANY, NULL);
	const char *shown = json_string_value(read);
	cr_assert(shown != NULL && strlen(shown) <= JSON_LONG_TEXT && strstr(shown, "漢 … 漢"));
	json_decref(read);
	free(text);
	free(long_text);
}

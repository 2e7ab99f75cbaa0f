/* Items that several threads write against the same ones written one after another. */
#include "report/json/json_items.h"
#include "tests/unit/assert_ok.h"
#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

#define LONG_TEXT 200000 /* longer than any buffer */

static char long_text[LONG_TEXT + 1];

/* Two texts, each with its writer. */
struct outputs {
	char *text[2];
	size_t size[2];
	FILE *stream[2];
	struct json_writer *to[2];
};

/* What is random about it follows from its number; some write nothing to the first. */
static struct rf_error *put_item(struct json_writer *const *to, size_t i, void *context)
{
	uint64_t state = i;
	for (uint64_t n = random_number(&state) % 3; n-- > 0;) {
		put_object(to[0], NULL);
		put_count(to[0], "number", i);
		put_real(to[0], "real", (double)random_number(&state) / 1e6);
		put_text(to[0], "text", random_number(&state) % 500 ? "a<b>" : long_text);
		put_end(to[0]);
	}
	json_writer_put_between(to[1], "<item>");
	put_array(to[1], NULL);
	for (uint64_t n = random_number(&state) % 5; n-- > 0;)
		put_integer(to[1], NULL, (int64_t)random_number(&state));
	put_end(to[1]);
	json_writer_put_between(to[1], "</item>\n");
	return NULL;
}

/* The first writer is in an array of an object, the second between values. */
static void begin(struct outputs *out)
{
	for (int w = 0; w < 2; w++) {
		out->stream[w] = open_memstream(&out->text[w], &out->size[w]);
		out->to[w] = json_writer_create(out->stream[w], w ? JSON_PAGE : JSON_LINES);
	}
	put_object(out->to[0], NULL);
	put_array(out->to[0], "items");
}

static void end(struct outputs *out)
{
	put_end(out->to[0]);
	put_end(out->to[0]);
	for (int w = 0; w < 2; w++) {
		cr_expect(json_writer_destroy(out->to[w]));
		fclose(out->stream[w]);
	}
}

Test(json_items, are_as_if_written_one_after_another)
{
	static const size_t numbers[] = {0, 1, 2, 799, 800, 801, 2000, 6001};
	memset(long_text, 'x', LONG_TEXT);
	for (size_t k = 0; k < sizeof(numbers) / sizeof(*numbers); k++) {
		struct outputs fast, slow;
		begin(&fast);
		begin(&slow);
		assert_ok(json_put_items(fast.to, 2, numbers[k], put_item, NULL, NULL));
		for (size_t i = 0; i < numbers[k]; i++)
			assert_ok(put_item(slow.to, i, NULL));
		end(&fast);
		end(&slow);
		for (int w = 0; w < 2; w++) {
			cr_assert_eq(fast.size[w], slow.size[w]);
			cr_assert(memcmp(fast.text[w], slow.text[w], slow.size[w]) == 0);
			free(fast.text[w]);
			free(slow.text[w]);
		}
	}
}

static struct rf_error *fail_late(struct json_writer *const *to, size_t i, void *context)
{
	return i >= 2500 ? rf_error_create(RF_EINPUT, NULL, "item %zu", i) : NULL;
}

Test(json_items, the_error_of_the_first_item_is_told)
{
	struct outputs out;
	begin(&out);
	struct rf_error *error = json_put_items(out.to, 2, 6001, fail_late, NULL, NULL);
	cr_assert_not_null(error);
	cr_expect_str_eq(error->message, "item 2500");
	rf_error_destroy(error);
	end(&out);
	free(out.text[0]);
	free(out.text[1]);
}

/* Items are written in rounds: each thread writes some of them to writers of its own, which are
 * then joined in their order. */
#include "report/json/json_items.h"

#include "base/parallel.h"

#include <assert.h>

/* So many are short enough to take little memory, and take long enough to start a thread for them:
 * of functions some megabytes and milliseconds. */
#define AT_ONCE 200

struct round {
	size_t n_writers, first, n;
	json_put_item *put;
	void *context;
	const struct report_view *view; /* or NULL */
	struct json_writer *parts[PARALLEL_MOST][JSON_MOST_WRITERS];
};

static void tell(const struct round *round, size_t n_done)
{
	if (round->view)
		report_tell_written(round->view, n_done < round->n ? n_done : round->n, round->n);
}

static struct rf_error *put_part(size_t part, void *context)
{
	const struct round *round = context;
	const size_t first = round->first + part * AT_ONCE;
	struct rf_error *error = NULL;
	for (size_t i = first; !error && i < first + AT_ONCE && i < round->n; i++)
		error = round->put(round->parts[part], i, round->context);
	return error;
}

static struct rf_error *put_rounds(struct round *round, struct json_writer *const *to,
				   size_t n_parts)
{
	struct rf_error *error = NULL;
	for (; !error && round->first < round->n; round->first += n_parts * AT_ONCE) {
		error = parallel_run(n_parts, put_part, round);
		for (size_t part = 0; !error && part < n_parts; part++)
			for (size_t w = 0; w < round->n_writers; w++)
				json_writer_join(to[w], round->parts[part][w]);
		tell(round, round->first + n_parts * AT_ONCE);
	}
	return error;
}

static struct rf_error *put_in_parts(struct round *round, struct json_writer *const *to,
				     size_t n_parts)
{
	struct rf_error *error = NULL;
	for (size_t part = 0; part < n_parts; part++)
		for (size_t w = 0; w < round->n_writers; w++) {
			round->parts[part][w] = json_writer_create_part(to[w]);
			if (!round->parts[part][w])
				error = rf_error_no_memory();
		}
	error = error ?: put_rounds(round, to, n_parts);
	for (size_t part = 0; part < n_parts; part++)
		for (size_t w = 0; w < round->n_writers; w++)
			json_writer_destroy(round->parts[part][w]);
	return error;
}

struct rf_error *json_put_items(struct json_writer *const *to, size_t n_writers, size_t n,
				json_put_item *put, void *context, const struct report_view *view)
{
	struct round round = {
		.n_writers = n_writers, .n = n, .put = put, .context = context, .view = view};
	const size_t n_parts = parallel_parts(n, AT_ONCE);
	struct rf_error *error = NULL;
	assert(n_writers <= JSON_MOST_WRITERS);
	if (n_parts > 1)
		return put_in_parts(&round, to, n_parts);
	for (size_t i = 0; !error && i < n; i++) {
		error = put(to, i, context);
		tell(&round, i + 1);
	}
	return error;
}

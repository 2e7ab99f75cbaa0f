/* Many values of one array, written by all processors. */
#pragma once

#include "base/error.h"
#include "report/json/json_writer.h"
#include "report/rows/view.h"

#define JSON_MOST_WRITERS 2

/* Writes item i, from several threads at one time. */
typedef struct rf_error *json_put_item(struct json_writer *const *to, size_t i, void *context);

/* Writes the items 0 to n - 1 to `to`, n_writers, where each is as if they were written one after
 * another.  When it fails, some are missing.  view: is told how many are written, or NULL. */
struct rf_error *json_put_items(struct json_writer *const *to, size_t n_writers, size_t n,
				json_put_item *put, void *context, const struct report_view *view);

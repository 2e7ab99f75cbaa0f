/* Traffic of functions, loops and the run as JSON. */
#pragma once

#include "report/rows/view.h"

struct json_t;

/* Of a function or a loop; NULL where it was not traced. */
void report_json_traffic(struct json_t *object, const struct report_view *view,
			 const struct model_function *f);
struct json_t *report_json_loops(const struct report_view *view, const struct model_function *f);
struct json_t *report_json_run_traffic(const struct report_view *view);
struct json_t *report_json_metrics(const struct report_view *view, const struct model_function *f);

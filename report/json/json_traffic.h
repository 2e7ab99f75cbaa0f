/* Traffic of functions, loops and the run as JSON. */
#pragma once

#include "report/ecm/loop_account.h"
#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* The data object of that row, or null for PROFILE_NONE. */
void report_json_object(struct json_writer *out, const char *key, const struct profile *profile,
			uint32_t object);
/* Members of a function; `listed`: see json_function.h. */
void report_json_traffic(struct json_writer *listed, struct json_writer *out,
			 const struct report_view *view, const struct model_function *f);
/* `ecm`: their accounts, or NULL.  Errors: memory is short. */
struct rf_error *report_json_loops(struct json_writer *out, const char *key,
				   const struct report_view *view, const struct model_function *f,
				   const struct ecm_function *ecm);
void report_json_run_traffic(struct json_writer *out, const char *key,
			     const struct report_view *view);
void report_json_metrics(struct json_writer *out, const char *key, const struct report_view *view,
			 const struct model_function *f);

/* Time accounts as JSON. */
#pragma once

#include "machine/data/loop_replay.h"
#include "report/ecm/loop_account.h"
#include "report/json/json_writer.h"
#include "report/rows/view.h"

/* Which links and which rule of overlap were found; null where no bandwidth was measured. */
void report_json_ecm_machine(struct json_writer *out, const char *key,
			     const struct report_view *view);
/* Parts and times of a function or a loop; null where there is no prediction.  `account` may be
 * NULL, as may `replay`, of a loop. */
void report_json_ecm(struct json_writer *out, const char *key, const struct report_view *view,
		     const struct ecm_account *account, const struct loop_replay *replay);
/* What changes of its loops would save the program, [{change, saved_s, function,
 * function_saved_s}], the most first; none without a prediction.  Fails only when memory is short.
 */
struct rf_error *report_json_potentials(struct json_writer *out, const char *key,
					const struct report_view *view);
/* The branches of a function whose outcomes were seen, the worst first, at most MOST_JSON_BRANCHES.
 */
#define MOST_JSON_BRANCHES 20
void report_json_branches(struct json_writer *out, const char *key, const struct report_view *view,
			  const struct model_function *f);
/* The parts that add up to its time, [{part, seconds}]; none where there is no prediction or no
 * time. */
void report_json_time_account(struct json_writer *out, const char *key,
			      const struct ecm_account *account);
/* Of a loop together with the short functions that it calls; null where there are none, or there is
 * no prediction.  `account` may be NULL. */
void report_json_ecm_with_calls(struct json_writer *out, const char *key,
				const struct ecm_account *account);

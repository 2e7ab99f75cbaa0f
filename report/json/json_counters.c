/* What hardware counters say, as JSON. */
#include "report/json/json_counters.h"

#include "report/json/json.h"
#include "report/json/json_values.h"
#include "report/model/model_counters.h"

#include <jansson.h>
#include <math.h>

json_t *report_json_counters(const struct report_view *view)
{
	static const char *const uses[N_COUNTER_USES] = {[COUNTER_UNUSED] = "unused",
							 [COUNTER_USED] = "exact",
							 [COUNTER_IN_TURNS] = "in turns",
							 [COUNTER_BELOW] = "lower bound"};
	json_t *array = json_array();
	for (size_t i = 0; i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		json_t *object = json_object();
		set_text(object, "quantity", counter->quantity);
		set_text(object, "event", counter->event);
		set_real(object, "multiplier", counter->multiplier);
		set_text(object, "use", uses[counter->use]);
		set_real(object, "events", counter->events);
		set_real(object, "counted_share", counter->share);
		set_real(object, "missing_share", counter->missing);
		set_count(object, "samples", counter->samples);
		set_text(object, "why", counter->why);
		json_array_append_new(array, object);
	}
	return array;
}

json_t *report_json_quantities(const struct report_view *view, const struct model_function *f)
{
	json_t *array = json_array();
	for (size_t i = 0; f->quantities && i < view->model->n_quantities; i++) {
		const struct model_quantity *quantity = &f->quantities[i];
		if (quantity->samples == 0)
			continue;
		json_t *object = json_object();
		set_text(object, "quantity", quantity->name);
		set_real(object, "value", quantity->value);
		set_real(object, "stderr", sqrt(quantity->variance));
		set_count(object, "samples", quantity->samples);
		json_array_append_new(array, object);
	}
	return array;
}

void report_json_ratios(json_t *object, const struct report_view *view,
			const struct model_function *f)
{
	const bool both = model_has_both(view->profile);
	set_real(object, "pmu_per_counted_flop", both ? model_flop_ratio(view->model, f) : NAN);
	set_real(object, "pmu_per_counted_instructions",
		 both ? model_instruction_ratio(view->model, f) : NAN);
}

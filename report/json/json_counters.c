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
		json_object_set_new(object, "quantity", report_json_string(counter->quantity));
		json_object_set_new(object, "event", report_json_string(counter->event));
		json_object_set_new(object, "multiplier", report_json_real(counter->multiplier));
		json_object_set_new(object, "use", json_string(uses[counter->use]));
		json_object_set_new(object, "events", report_json_real(counter->events));
		json_object_set_new(object, "counted_share", report_json_real(counter->share));
		json_object_set_new(object, "missing_share", report_json_real(counter->missing));
		json_object_set_new(object, "samples", report_json_count(counter->samples));
		json_object_set_new(object, "why", report_json_string(counter->why));
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
		json_object_set_new(object, "quantity", report_json_string(quantity->name));
		json_object_set_new(object, "value", report_json_real(quantity->value));
		json_object_set_new(object, "stderr", report_json_real(sqrt(quantity->variance)));
		json_object_set_new(object, "samples", report_json_count(quantity->samples));
		json_array_append_new(array, object);
	}
	return array;
}

void report_json_ratios(json_t *object, const struct report_view *view,
			const struct model_function *f)
{
	const bool both = model_has_both(view->profile);
	json_object_set_new(object, "pmu_per_counted_flop",
			    report_json_real(both ? model_flop_ratio(view->model, f) : NAN));
	json_object_set_new(object, "pmu_per_counted_instructions",
			    report_json_real(both ? model_instruction_ratio(view->model, f) : NAN));
}

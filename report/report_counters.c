/* What hardware counters say: sentences under the table, and JSON. */
#include "report/report_parts.h"

#include "report/text.h"

#include <jansson.h>
#include <math.h>
#include <string.h>

#define FEW_SAMPLES 100 /* a ratio of a function from fewer says little */

static double pmu_flop(const struct model *model, const struct model_quantity *quantities)
{
	double flop = 0;
	for (size_t i = 0; i < model->n_quantities; i++)
		if (!strncmp(model->quantities[i].name, "flop_", 5))
			flop += quantities[i].value;
	return flop;
}

static const struct model_quantity *quantity_named(const struct model *model,
						   const struct model_quantity *quantities,
						   const char *name)
{
	for (size_t i = 0; i < model->n_quantities; i++)
		if (!strcmp(model->quantities[i].name, name) && model->quantities[i].used)
			return &quantities[i];
	return NULL;
}

/* A PMU counts all lanes, so does the other side of the ratio.  NAN where one of them has nothing.
 */
static double flop_ratio(const struct model *model, const struct model_function *f)
{
	const double flop = f->quantities ? pmu_flop(model, f->quantities) : 0;
	return flop > 0 && f->tally.flop_unmasked ? flop / (double)f->tally.flop_unmasked : NAN;
}

static double instruction_ratio(const struct model *model, const struct model_function *f)
{
	const struct model_quantity *counted =
		f->quantities ? quantity_named(model, f->quantities, "instructions") : NULL;
	return counted && counted->value > 0 && f->tally.instructions
		       ? counted->value / (double)f->tally.instructions
		       : NAN;
}

static bool has_both(const struct report_view *view)
{
	const char *source = profile_get_fact(view->profile, "work_source");
	return source && !strcmp(source, "counted execution and PMU");
}

/* ---- sentences ---- */

static bool note_unused(struct report_view *view)
{
	for (size_t i = 0; i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		if (counter->use == COUNTER_UNUSED &&
		    !report_note(view, "the event %s (%s) is not used: %s", counter->event,
				 counter->quantity, counter->why))
			return false;
	}
	return true;
}

static bool note_totals(struct report_view *view)
{
	for (size_t i = 0; i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		char number[TEXT_NUMBER];
		if (counter->use == COUNTER_UNUSED)
			continue;
		if (!report_note(view, "%s by the PMU: %s (%s × %g, %llu samples; %s%s%s)",
				 counter->quantity,
				 text_number(number, counter->multiplier * counter->events),
				 counter->event, counter->multiplier,
				 (unsigned long long)counter->samples,
				 counter->use == COUNTER_USED       ? "all of the time"
				 : counter->use == COUNTER_IN_TURNS ? "estimated"
								    : "a lower bound",
				 counter->why[0] ? "; " : "", counter->why))
			return false;
	}
	return true;
}

static uint64_t samples_of(const struct model *model, const struct model_function *f)
{
	uint64_t n = 0;
	for (size_t i = 0; f->quantities && i < model->n_quantities; i++)
		n = f->quantities[i].samples > n ? f->quantities[i].samples : n;
	return n;
}

static bool note_ratios(struct report_view *view)
{
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const double flop = flop_ratio(view->model, f),
			     instructions = instruction_ratio(view->model, f);
		char of_flop[32] = "", of_instructions[40] = "";
		if (samples_of(view->model, f) < FEW_SAMPLES ||
		    (isnan(flop) && isnan(instructions)))
			continue;
		if (!isnan(flop))
			snprintf(of_flop, sizeof(of_flop), " flop %.3f", flop);
		if (!isnan(instructions))
			snprintf(of_instructions, sizeof(of_instructions), "%s instructions %.3f",
				 isnan(flop) ? "" : ",", instructions);
		if (!report_note(view, "%s: PMU/counted:%s%s", f->name, of_flop, of_instructions))
			return false;
	}
	return true;
}

bool report_note_counters(struct report_view *view)
{
	const char *lost = profile_get_fact(view->profile, "counter_samples_lost");
	if (lost && !report_note(view,
				 "%s samples of hardware counters were lost: the shares of "
				 "functions are less sure",
				 lost))
		return false;
	return note_totals(view) && note_unused(view) && (!has_both(view) || note_ratios(view));
}

/* ---- memory ---- */

static bool note_unknown_level(struct report_view *view)
{
	const char *level = view->options ? view->options->level : NULL;
	return !level || strcmp(level, "DRAM") == 0 || strcmp(level, "L1") == 0 ||
	       report_note(view,
			   "--level=%s: the PMU tells what moved to and from memory only (DRAM), "
			   "and loads and stores (L1)",
			   level);
}

static void put_total(char *text, size_t size, const struct model_estimate *mem)
{
	char both[64], read[64], written[64];
	report_put_bytes(both, mem[DIRECTION_BOTH].bytes);
	report_put_bytes(read, mem[DIRECTION_READ].bytes);
	report_put_bytes(written, mem[DIRECTION_WRITE].bytes);
	if (isnan(mem[DIRECTION_WRITE].bytes))
		snprintf(text, size, "%s%s", both,
			 isnan(mem[DIRECTION_READ].bytes) ? ", read or written" : " read");
	else
		snprintf(text, size, "%s read, %s written", read, written);
}

bool report_note_memory(struct report_view *view)
{
	bool at_least = false, unsure = false;
	char total[160];
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const struct model_level *memory =
			f->traffic ? model_level(f->traffic, "DRAM") : NULL;
		at_least |= memory && memory->at_least;
		unsure |= memory && !(memory->moved[DIRECTION_BOTH].halfwidth <=
				      REPORT_SURE * memory->moved[DIRECTION_BOTH].bytes);
	}
	put_total(total, sizeof(total), view->model->bytes.mem);
	return report_note(view, "memory traffic: %s; the program's: %s%s",
			   model_memory_words(view->model->memory), at_least ? "at least " : "",
			   total) &&
	       report_note(view,
			   "flop/B, memory and GB/s: bytes at memory (DRAM)%s%s; a roof of DRAM "
			   "stands on them, one of a cache "
			   "(~) on loads and stores",
			   unsure ? " (≈: the samples leave more than ±10 %)" : "",
			   at_least ? "; ≥: a lower bound, then flop/B, roof, \"below\" and "
				      "headroom are at most what they say (≤)"
				    : "") &&
	       note_unknown_level(view);
}

/* ---- JSON ---- */

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
	const bool both = has_both(view);
	json_object_set_new(object, "pmu_per_counted_flop",
			    report_json_real(both ? flop_ratio(view->model, f) : NAN));
	json_object_set_new(object, "pmu_per_counted_instructions",
			    report_json_real(both ? instruction_ratio(view->model, f) : NAN));
}

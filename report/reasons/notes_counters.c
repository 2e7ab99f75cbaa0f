/* The sentences about hardware counters. */
#include "report/reasons/notes_counters.h"

#include "base/text.h"
#include "report/model/model_counters.h"
#include "report/reasons/words.h"

#include <math.h>
#include <string.h>

#define FEW_SAMPLES 100 /* a ratio of a function from fewer says little */

static struct rf_error *note_unused(struct report_view *view)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		if (counter->use == COUNTER_UNUSED)
			error = report_note(view, "the event %s (%s) is not used: %s",
					    counter->event, counter->quantity, counter->why);
	}
	return error;
}

static struct rf_error *note_totals(struct report_view *view)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < view->profile->n_counters; i++) {
		const struct profile_counter *counter = &view->profile->counters[i];
		char number[TEXT_NUMBER];
		if (counter->use == COUNTER_UNUSED)
			continue;
		error = report_note(view, "%s by the PMU: %s (%s × %g, %llu samples; %s%s%s)",
				    counter->quantity,
				    text_number(number, counter->multiplier * counter->events),
				    counter->event, counter->multiplier,
				    (unsigned long long)counter->samples,
				    counter->use == COUNTER_USED       ? "all of the time"
				    : counter->use == COUNTER_IN_TURNS ? "estimated"
								       : "a lower bound",
				    counter->why[0] ? "; " : "", counter->why);
	}
	return error;
}

static uint64_t samples_of(const struct model *model, const struct model_function *f)
{
	uint64_t n = 0;
	for (size_t i = 0; f->quantities && i < model->n_quantities; i++)
		n = f->quantities[i].samples > n ? f->quantities[i].samples : n;
	return n;
}

static struct rf_error *note_ratios(struct report_view *view)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const double flop = model_flop_ratio(view->model, f),
			     instructions = model_instruction_ratio(view->model, f);
		char of_flop[32] = "", of_instructions[40] = "";
		if (samples_of(view->model, f) < FEW_SAMPLES ||
		    (isnan(flop) && isnan(instructions)))
			continue;
		if (!isnan(flop))
			snprintf(of_flop, sizeof(of_flop), " flop %.3f", flop);
		if (!isnan(instructions))
			snprintf(of_instructions, sizeof(of_instructions), "%s instructions %.3f",
				 isnan(flop) ? "" : ",", instructions);
		error = report_note(view, "%s: PMU/counted:%s%s", f->name, of_flop,
				    of_instructions);
	}
	return error;
}

struct rf_error *report_note_counters(struct report_view *view)
{
	const char *lost = profile_get_fact(view->profile, "counter_samples_lost");
	struct rf_error *error = NULL;
	if (lost)
		error = report_note(view,
				    "%s samples of hardware counters were lost: the shares of "
				    "functions are less sure",
				    lost);
	if (!error)
		error = note_totals(view);
	if (!error)
		error = note_unused(view);
	if (!error && model_has_both(view->profile))
		error = note_ratios(view);
	return error;
}

/* ---- memory ---- */

static struct rf_error *note_unknown_level(struct report_view *view)
{
	const char *level = view->options ? view->options->level : NULL;
	if (!level || strcmp(level, "DRAM") == 0 || strcmp(level, "L1") == 0)
		return NULL;
	return report_note(view,
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

struct rf_error *report_note_memory(struct report_view *view)
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
	struct rf_error *error = report_note(view, "memory traffic: %s; the program's: %s%s",
					     report_memory_words(view->model->memory),
					     at_least ? "at least " : "", total);
	if (!error)
		error = report_note(
			view,
			"flop/B, memory and GB/s: bytes at memory (DRAM)%s%s; a roof of DRAM "
			"stands on them, one of a cache (~) on loads and stores",
			unsure ? " (≈: the samples leave more than ±10 %)" : "",
			at_least ? "; ≥: a lower bound, then flop/B, roof, \"below\" and headroom "
				   "are at most what they say (≤)"
				 : "");
	return error ? error : note_unknown_level(view);
}

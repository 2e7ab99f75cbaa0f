/* Puts the model's evidence about a function into words: what keeps it below its roof. */
#include "report/reasons/reasons.h"

#include "base/array.h"
#include "base/text.h"
#include "insn/dataflow.h"
#include "report/ecm/mispredictions.h"
#include "report/model/model_roofs.h"
#include "report/reasons/above.h"
#include "report/reasons/evidence.h"
#include "report/reasons/kernel_remedy.h"
#include "report/rows/code_names.h"
#include "report/rows/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define SHARING_TEXT 1200
#define NEAR 1.1 /* times below its roof: not worth a reason */

/* What the list writes more than once. */
#define WAITING                                                                                \
	"look at those that it waits for: share the work out more evenly (schedule(dynamic), " \
	"smaller pieces), meet less often, hold locks for a shorter time"
#define REUSE                                                                               \
	"use what is loaded more often before it leaves %s (block loops, join passes over " \
	"the same data), or move less (smaller types)"

static char *words(const char *format, ...) __attribute__((format(printf, 1, 2)));
static char *words(const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	const int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	return length < 0 ? NULL : text;
}

/* The level above the one that the function's roof stands on. */
static const char *nearer_than(const struct model_function *f)
{
	const struct model_traffic *traffic = f->traffic;
	if (strcmp(f->place.level, "L1") == 0)
		return "the registers";
	for (size_t i = 1; i < traffic->n_levels; i++)
		if (strcmp(traffic->levels[i].name, f->place.level) == 0)
			return traffic->levels[i - 1].name;
	return "a nearer cache";
}

/* Takes the texts; NULL: no memory. */
static struct rf_error *add(struct reasons *reasons, char *name, char *what, char *try)
{
	const struct reason reason = {.name = name, .what = what, .try = try};
	if (name && what && try &&
	    rf_array_push(reasons->items, reasons->n_items, reasons->cap_items, reason))
		return NULL;
	free(name);
	free(what);
	free(try);
	return rf_error_no_memory();
}

/* ---- chains ---- */

static double chain_cycles(const struct model_function *f)
{
	return (double)f->code.chain_cycles / (double)f->code.chain_turns;
}

/* What most of its chain is. */
static const char *chain_words(const struct model_function *f)
{
	static const char *const of[STEP_KINDS] = {
		[STEP_INTEGER] = "integer operations",
		[STEP_ADD] = "additions",
		[STEP_MULTIPLY] = "multiplications",
		[STEP_FMA] = "fused multiply-adds",
		[STEP_DIVIDE] = "divisions or square roots",
		[STEP_LOAD] = "loads, each of which brings the address of the next",
	};
	return of[f->code.chain_kind < STEP_KINDS ? f->code.chain_kind : STEP_INTEGER];
}

static const char *chain_advice(const struct model_function *f)
{
	switch (f->code.chain_kind) {
	case STEP_ADD:
	case STEP_FMA:
	case STEP_MULTIPLY:
		return "several sums at once that are joined at the end (-ffast-math does so, in "
		       "vectors, where their order may change)";
	case STEP_LOAD:
		return "several chains side by side, an array instead of a list, nodes that hold "
		       "more";
	default:
		return "several chains side by side, or another way to compute it";
	}
}

/* ---- lines that threads share ---- */

/* Whose the line is that costs most, and who touches it. */
static const char *sharing_words(const struct report_view *view, const struct model_function *f,
				 const struct model_evidence *e, enum sharing_kind kind,
				 char text[static SHARING_TEXT])
{
	sharing_line_words(view->profile, e->sharing[kind].line, f, text, SHARING_TEXT);
	return text;
}

/* ---- the list ---- */

/* A cause is told where it is worth this part of the function's time. */
#define REASONS_LEAST 0.05

/* A branch that goes the wrong way less often is as the end of a long loop: no order of the data
   would change it. */
#define LEAST_MISPREDICTED 0.005

/* Those that could save most come first. */
static struct rf_error *add_cause(struct reasons *reasons, size_t first,
				  const struct model_function *f, double saved_s, char *name,
				  char *what, char *try)
{
	char *full = what ? words("%s (up to %s of its %s s)", what, REPORT_NUMBER(saved_s),
				  REPORT_NUMBER(f->elapsed_s))
			  : NULL;
	free(what);
	struct rf_error *error = add(reasons, name, full, try);
	if (error)
		return error;
	struct reason added = reasons->items[reasons->n_items - 1];
	size_t i = reasons->n_items - 1;
	added.saved_s = saved_s;
	for (; i > first && reasons->items[i - 1].saved_s < saved_s; i--)
		reasons->items[i] = reasons->items[i - 1];
	reasons->items[i] = added;
	reasons->n_holding = reasons->n_items;
	return NULL;
}

/* Whether what it executes needs half of its time or more, wherever its data come from. */
static bool needs_core(const struct model_evidence *e, double elapsed_s)
{
	double most = 0;
	for (int need = NEED_ARITHMETIC; need < N_MODEL_NEEDS; need++)
		most = fmax(most, e->needs[need]);
	return most >= 0.5 * elapsed_s;
}

struct rf_error *report_reasons(const struct report_view *view, const struct model_function *f,
				struct reasons *reasons)
{
	const struct model_place *place = &f->place;
	const struct model_evidence evidence = model_evidence(view->profile, f), *e = &evidence;
	const bool untimed = !f->time_ns && f->tally.instructions,
		   unseen = !untimed &&
			    (place->bound == BOUND_UNCOUNTED || place->bound == BOUND_UNKNOWN);
	const bool x87 = e->precision[PRECISION_X87] > 50;
	const bool looked_at = !view->shaped || view->options->by == BY_FUNCTION; /* its code */
	const bool in_core = needs_core(e, f->elapsed_s);
	const double least = REASONS_LEAST * f->elapsed_s;
	struct rf_error *error = NULL;
	size_t first = 0; /* of the causes */
	*reasons = (struct reasons){0};
#define CAUSE(known, cause, name, what, try)                                                  \
	if (!error && (known) && e->saved[cause] > 0 && e->saved[cause] >= least)             \
		error = add_cause(reasons, first, f, e->saved[cause], words name, words what, \
				  words try);
#define LIMIT(holds, name, what, try) \
	if (!error && (holds))        \
		error = add(reasons, words name, words what, words try);
#define STATE(holds, name, what, try) \
	LIMIT(holds, name, what, try) \
	first = reasons->n_items;     \
	reasons->n_holding = reasons->n_items;
#include "report/reasons/reasons.def"
#undef CAUSE
#undef STATE
#undef LIMIT
	return error;
}

const char *report_held_by(const struct model_function *f, const struct reasons *reasons)
{
	return reasons->n_holding          ? reasons->items[0].name
	       : f->place.distance <= NEAR ? "at its roof"
					   : NULL;
}

const char *report_no_reason(const struct model_function *f)
{
	return f->place.distance <= NEAR
		       ? "nothing to gain here but by other work: fewer operations, or fewer bytes"
		       : "nothing in the counts says why: other programs on the machine, or page "
			 "faults, may";
}

static struct rf_error *join(const struct reasons *reasons, char **text)
{
	size_t size;
	if (!reasons->n_items) { /* as of most functions of a large program */
		*text = strdup("");
		return *text ? NULL : rf_error_no_memory();
	}
	FILE *stream = open_memstream(text, &size);
	if (!stream)
		return rf_error_no_memory();
	for (size_t i = 0; i < reasons->n_items; i++)
		fprintf(stream, "%s%s", i ? "; " : "", reasons->items[i].what);
	return fclose(stream) == 0 ? NULL : rf_error_no_memory();
}

struct rf_error *report_reasons_text(const struct report_view *view, const struct model_function *f,
				     char **text, char **held_by)
{
	struct reasons reasons = {0};
	struct rf_error *error = f->time_ns ? report_reasons(view, f, &reasons) : NULL;
	const char *held = held_by && !error && f->time_ns ? report_held_by(f, &reasons) : NULL;
	*text = NULL;
	if (held_by)
		*held_by = NULL;
	error = error ?: join(&reasons, text);
	if (!error && held) {
		*held_by = strdup(held);
		error = *held_by ? NULL : rf_error_no_memory();
	}
	reasons_deinit(&reasons);
	return error;
}

void reasons_deinit(struct reasons *reasons)
{
	for (size_t i = 0; i < reasons->n_items; i++) {
		free(reasons->items[i].name);
		free(reasons->items[i].what);
		free(reasons->items[i].try);
	}
	free(reasons->items);
	*reasons = (struct reasons){0};
}

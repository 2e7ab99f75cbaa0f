/* Puts the model's evidence about a function into words: what keeps it below its roof. */
#include "report/reasons/reasons.h"

#include "base/array.h"
#include "base/text.h"
#include "report/model/model_evidence.h"
#include "report/model/model_roofs.h"
#include "report/rows/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define NEAR 1.1 /* times below its roof: not worth a reason */

/* What the list writes more than once. */
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

/* Takes both texts; NULL: no memory. */
static struct rf_error *add(struct reasons *reasons, char *what, char *try)
{
	const struct reason reason = {what, try};
	if (what && try &&
	    rf_array_push(reasons->items, reasons->n_items, reasons->cap_items, reason))
		return NULL;
	free(what);
	free(try);
	return rf_error_no_memory();
}

struct rf_error *report_reasons(const struct report_view *view, const struct model_function *f,
				struct reasons *reasons)
{
	const struct model_place *place = &f->place;
	const struct model_evidence evidence = model_evidence(view->profile, f), *e = &evidence;
	const bool unseen = place->bound == BOUND_UNCOUNTED || place->bound == BOUND_UNKNOWN;
	/* far enough below its roof for the reasons to matter */
	const bool below = !unseen && (place->distance > NEAR || isnan(place->distance));
	/* for the results of instructions rather than for a bandwidth or an execution unit */
	const bool waits =
		below && (place->bound == BOUND_LATENCY || place->axis == AXIS_INSTRUCTIONS);
	const bool by_memory = place->bound == BOUND_MEMORY;
	const bool memory = below && place->level[0] && f->traffic &&
			    (by_memory || place->bound == BOUND_BALANCED || waits);
	const bool at_level = e->level && (below ? memory : by_memory);
	const bool arithmetic = below && place->axis == AXIS_FLOP && !by_memory;
	const bool scalar = e->main_width == WIDTH_SCALAR && e->width[WIDTH_SCALAR] > 50;
	struct rf_error *error = NULL;
	*reasons = (struct reasons){0};
#define REASON(holds, what, try) \
	if (!error && (holds))   \
		error = add(reasons, words what, words try);
#include "report/reasons/reasons.def"
#undef REASON
	return error;
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
	FILE *stream = open_memstream(text, &size);
	if (!stream)
		return rf_error_no_memory();
	for (size_t i = 0; i < reasons->n_items; i++)
		fprintf(stream, "%s%s", i ? "; " : "", reasons->items[i].what);
	return fclose(stream) == 0 ? NULL : rf_error_no_memory();
}

struct rf_error *report_reasons_text(const struct report_view *view, const struct model_function *f,
				     char **text)
{
	struct reasons reasons = {0};
	struct rf_error *error = f->time_ns ? report_reasons(view, f, &reasons) : NULL;
	*text = NULL;
	error = error ?: join(&reasons, text);
	reasons_deinit(&reasons);
	return error;
}

void reasons_deinit(struct reasons *reasons)
{
	for (size_t i = 0; i < reasons->n_items; i++) {
		free(reasons->items[i].what);
		free(reasons->items[i].try);
	}
	free(reasons->items);
	*reasons = (struct reasons){0};
}

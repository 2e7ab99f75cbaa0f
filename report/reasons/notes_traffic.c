/* The sentences about memory traffic: what was traced or counted, and how sure it is. */
#include "report/reasons/notes_traffic.h"

#include "report/reasons/notes_counters.h"
#include "report/reasons/notes_data.h"

#include <math.h>
#include <string.h>

/* "machine" → words. */
static const char *geometry_words(const char *source)
{
	static const char *const words[][2] = {
		{"machine", "this machine's"},
		{"given", "as given by --cache"},
		{"file", "from the file of --cache"},
		{"assumed", "ASSUMED, since this machine does not tell"},
	};
	for (size_t i = 0; source && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(source, words[i][0]) == 0)
			return words[i][1];
	return source ? source : "of unknown origin";
}

/* Why there is no traffic, in one line. */
static struct rf_error *note_untraced(struct report_view *view)
{
	const char *why = profile_get_fact(view->profile, "traffic_why");
	const struct report_options *options = view->options;
	struct rf_error *error = NULL;
	if (!view->model->counted)
		return NULL;
	if (options && (options->levels || options->level || options->direction != DIRECTION_BOTH))
		error = report_note(view, "--levels, --level and --direction have nothing to show: "
					  "this profile has no memory traffic");
	return error ? error
		     : report_note(view, "memory traffic: none (%s)",
				   why ? why : "this profile was recorded without it");
}

/* What was simulated, and how sure it is. */
static struct rf_error *note_simulation(struct report_view *view)
{
	const struct profile *profile = view->profile;
	const char *geometry = profile_get_fact(profile, "traffic_geometry");
	const char *source = profile_get_fact(profile, "traffic_geometry_source");
	const char *policy = profile_get_fact(profile, "traffic_policy");
	const unsigned n = view->model->traced_classes;
	char sample[128];
	if (n >= CACHE_CLASSES)
		snprintf(sample, sizeof(sample), "all sets");
	else
		snprintf(sample, sizeof(sample), "%u/%d of the sets, chosen at random%s", n,
			 CACHE_CLASSES, n < 2 ? "; too few for an error" : "");
	return report_note(view,
			   "memory traffic: traced, caches simulated: %s (%s%s%s), %s; hardware "
			   "prefetches are not in it",
			   geometry ? geometry : "unknown caches", geometry_words(source),
			   policy ? "; " : "", policy ? policy : "", sample);
}

static void put_estimate(char *cell, size_t size, const struct model_estimate *estimate)
{
	char bytes[64], spread[64];
	report_put_bytes(bytes, estimate->bytes);
	report_put_bytes(spread, estimate->halfwidth);
	if (estimate->halfwidth > 0)
		snprintf(cell, size, "%s ± %s", bytes, spread);
	else
		snprintf(cell, size, "%s", bytes);
}

static struct rf_error *note_total(struct report_view *view)
{
	const struct model_bytes *bytes = &view->model->bytes;
	char read[160], written[160], left[64], evadable[64];
	put_estimate(read, sizeof(read), &bytes->mem[DIRECTION_READ]);
	put_estimate(written, sizeof(written), &bytes->mem[DIRECTION_WRITE]);
	report_put_bytes(left, bytes->events[TRAFFIC_MEM_LEFT].bytes);
	report_put_bytes(evadable, bytes->events[TRAFFIC_MEM_EVADABLE].bytes);
	struct rf_error *error = report_note(
		view,
		"the program's memory traffic: %s read, %s written%s; %s more was changed and "
		"still in the caches at its end",
		read, written,
		view->model->traced_classes < CACHE_CLASSES ? " (± 95 % interval)" : "", left);
	const double reads = bytes->mem[DIRECTION_READ].bytes;
	if (!error && bytes->events[TRAFFIC_MEM_EVADABLE].bytes > 0.05 * reads)
		error = report_note(view,
				    "of what was read %s is for lines that are then overwritten "
				    "whole: a processor that notices reads that much less",
				    evadable);
	return error;
}

/* Share of the load and store instructions. */
static double share_of_accesses(const struct model *model, double n)
{
	double all = 0;
	for (size_t i = 0; i < model->n_functions; i++)
		all += (double)model->functions[i].tally.loads +
		       (double)model->functions[i].tally.stores;
	return all > 0 ? n / all : 0;
}

static struct rf_error *note_doubts(struct report_view *view)
{
	const struct profile *profile = view->profile;
	const char *halved = profile_get_fact(profile, "traffic_halved");
	const char *source = profile_get_fact(profile, "traffic_geometry_source");
	const double untraced = profile_number_fact(profile, "untraced_accesses", 0);
	const double share = share_of_accesses(view->model, untraced);
	struct rf_error *error = halved ? report_note(view, "%s", halved) : NULL;
	if (!error && untraced > 0)
		error = report_note(view,
				    "%.0f accesses to memory (%s%.3g %%) could not be traced: "
				    "their traffic is missing",
				    untraced, share < 1e-4 ? "less than " : "",
				    100 * fmax(share, 1e-4));
	if (!error && source && (strcmp(source, "given") == 0 || strcmp(source, "file") == 0))
		error = report_note(view, "the roofs are this machine's, the caches are not: "
					  "\"roof\" and \"below\" mix both");
	return error;
}

static struct rf_error *note_how_to_read(struct report_view *view)
{
	const struct report_options *options = view->options;
	const char *level = options && options->level ? options->level : "DRAM";
	static const char *const whats[] = {[DIRECTION_BOTH] = "bytes to and from",
					    [DIRECTION_READ] = "bytes read from",
					    [DIRECTION_WRITE] = "bytes written to"};
	bool unsure = false;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const struct model_level *at = report_level(view, f);
		const struct model_estimate *moved = at ? report_moved(view, at) : NULL;
		unsure |= moved && !(moved->halfwidth <= REPORT_SURE * moved->bytes);
	}
	return report_note(view,
			   "flop/B, %s and GB/s: %s %s%s; bound names the level whose roof is %s",
			   options && options->level ? options->level : "memory",
			   whats[options ? options->direction : DIRECTION_BOTH], level,
			   unsure ? " (≈: the sample leaves more than ±10 %)" : "",
			   options && options->level ? "asked for" : "the lowest");
}

/* Where hardly anything moves to memory the column has little to tell: say where else to look. */
static struct rf_error *note_in_cache(struct report_view *view)
{
	double all = 0, there = 0;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const struct model_level *memory =
			f->traffic ? model_level(f->traffic, "DRAM") : NULL;
		if (!memory || !f->tally.flop)
			continue;
		all += (double)f->time_ns;
		there += memory->intensity <= MODEL_IN_CACHE ? (double)f->time_ns : 0;
	}
	if (!(all > 0) || there >= 0.2 * all ||
	    (view->options && (view->options->level || view->options->levels)))
		return NULL;
	return report_note(view, "the data of most functions fit in the caches, hence flop/B ∞: "
				 "--levels shows what moves between the caches, --level=L3 (or L2) "
				 "places by that");
}

static struct rf_error *note_traced(struct report_view *view)
{
	static struct rf_error *(*const notes[])(struct report_view * view) = {
		note_simulation, note_how_to_read, note_in_cache,
		note_total,      report_note_data, note_doubts,
	};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < sizeof(notes) / sizeof(*notes); i++)
		error = notes[i](view);
	return error;
}

struct rf_error *report_note_traffic(struct report_view *view)
{
	if (view->model->traced)
		return note_traced(view);
	return view->model->memory != MEMORY_UNKNOWN ? report_note_memory(view)
						     : note_untraced(view);
}

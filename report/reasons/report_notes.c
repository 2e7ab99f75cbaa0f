/* The sentences under the table: how each figure was obtained, and what it leaves out. */

#include "base/array.h"

#include "base/text.h"
#include "report/reasons/notes_counters.h"
#include "report/reasons/report_notes.h"
#include "report/rows/view.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#define MAX_REASONS 5 /* of each kind */
#define MAX_MASKED 3
#define MAX_DATA 3
#define MAX_OBJECTS 3 /* of a function */

bool report_note(struct report_view *view, const char *format, ...)
{
	char *text = NULL;
	va_list arguments;
	va_start(arguments, format);
	int length = vasprintf(&text, format, arguments);
	va_end(arguments);
	char *clean = length < 0 ? NULL : text_clean(text);
	if (length >= 0)
		free(text);
	if (clean && rf_array_push(view->notes, view->n_notes, view->cap_notes, clean))
		return true;
	free(clean);
	return false;
}

static bool note_sources(struct report_view *view)
{
	const char *time = profile_get_fact(view->profile, "time_source");
	const char *work = profile_get_fact(view->profile, "work_source");
	unsigned long long n = view->model->n_samples;
	char number[TEXT_NUMBER], every[128] = "";
	double cost_us = 1e-3 * profile_number_fact(view->profile, "sample_cost_ns", 0);
	char cost[TEXT_NUMBER];
	if (n > 0 && cost_us >= 0.1)
		snprintf(every, sizeof(every),
			 ", one per %s ms of CPU time, their own %s us each taken off",
			 text_number(number, 1e-6 * view->model->time_ns / n),
			 text_number(cost, cost_us));
	else if (n > 0)
		snprintf(every, sizeof(every), ", one per %s ms of CPU time",
			 text_number(number, 1e-6 * view->model->time_ns / n));
	const char *incomplete = profile_get_fact(view->profile, "counts_incomplete");
	if (incomplete && view->model->counted &&
	    !report_note(view,
			 "INCOMPLETE COUNTS (%s): work, bytes and speeds are lower bounds, "
			 "distances and "
			 "headroom upper bounds",
			 incomplete))
		return false;
	if (!report_note(view, "time: %s, %llu sample%s%s; work and bytes: %s%s",
			 time ? time : "unknown source", n, n == 1 ? "" : "s", every,
			 work ? work : "unknown source",
			 !view->model->counted                ? ""
			 : incomplete                         ? " (incomplete)"
			 : model_from_counters(view->profile) ? " (sampled)"
							      : " (exact)"))
		return false;
	bool inferred = false;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_place *place = &view->model->functions[view->rank[i]].place;
		inferred |= place->level[0] && !place->traced;
	}
	return !inferred ||
	       report_note(view,
			   "~LEVEL: not measured but inferred, the slowest level whose roof is not "
			   "below "
			   "the point; \"below\" and \"headroom\" are the least that they can be");
}

/* The causes of uncounted time, each with its share. */
static bool note_uncounted_time(struct report_view *view)
{
	const struct model *model = view->model;
	char number[TEXT_NUMBER];
	if (model->uncounted_ns > 0 &&
	    !report_note(view,
			 "not counted: %s s of CPU time (%.1f %%), in all; what was done in that "
			 "time is not "
			 "known",
			 text_number(number, (double)model->uncounted_ns * 1e-9),
			 100 * (double)model->uncounted_ns / (double)model->time_ns))
		return false;
	for (size_t i = 0; i < model->n_uncounted && i < MAX_REASONS; i++) {
		const struct model_uncounted *part = &model->uncounted[i];
		if (!report_note(view, "not counted, %.1f %% of the time: %s%s%s%s%s",
				 100 * (double)part->time_ns / (double)model->time_ns,
				 part->name[0] ? part->kind : "", part->name[0] ? " " : "",
				 part->name, part->name[0] ? ": " : "", part->reason))
			return false;
	}
	return model->n_uncounted <= MAX_REASONS ||
	       report_note(view, "and %zu more (\"uncounted\" in the JSON report)",
			   model->n_uncounted - MAX_REASONS);
}

bool report_has_time(const struct model *model, const char *reason)
{
	for (size_t i = 0; i < model->n_uncounted; i++)
		if (strcmp(model->uncounted[i].reason, reason) == 0)
			return true;
	return false;
}

/* Reasons for which no time was seen. */
static bool note_reasons(struct report_view *view)
{
	const struct profile *profile = view->profile;
	size_t n = 0;
	for (size_t i = 0; i < profile->n_uncounted; i++) {
		const struct profile_uncounted *row = &profile->uncounted[i];
		bool has_module = row->module != PROFILE_NONE;
		if (report_has_time(view->model, row->reason) || n++ >= MAX_REASONS)
			continue;
		if (!report_note(view, "not counted: %s%s%s",
				 has_module ? profile->modules[row->module].name : "",
				 has_module ? ": " : "", row->reason))
			return false;
	}
	return n <= MAX_REASONS ||
	       report_note(view, "and %zu more reasons (table \"uncounted\" of the profile)",
			   n - MAX_REASONS);
}

static bool note_uncounted(struct report_view *view)
{
	const struct model *model = view->model;
	if (!note_uncounted_time(view) || !note_reasons(view))
		return false;
	if (model->unreadable_blocks &&
	    !report_note(view,
			 "%zu blocks end early: they hold an instruction that rfprof cannot decode",
			 model->unreadable_blocks))
		return false;
	return !model->unmatched_units ||
	       report_note(view,
			   "%zu run-time counts belong to no counted instruction and were left out",
			   model->unmatched_units);
}

static bool note_run(struct report_view *view)
{
	const struct profile *profile = view->profile;
	const char *status = profile_get_fact(profile, "exit_status");
	const char *out = profile_get_fact(profile, "stdout_same");
	const char *exits = profile_get_fact(profile, "exit_same");
	const char *once = profile_get_fact(profile, "once");
	double lost = profile_number_fact(profile, "lost_samples", 0);
	const char *no_children = profile_get_fact(profile, "no_children");
	if (no_children && strcmp(no_children, "1") == 0 &&
	    !report_note(view, "--no-children: processes that the program started are neither "
			       "timed nor counted"))
		return false;
	if (once && strcmp(once, "1") == 0 &&
	    !report_note(view, "one counted run (--once): the times include the counting"))
		return false;
	if (status && strcmp(status, "0") != 0 &&
	    !report_note(view, "the program ended with %s%s",
			 strncmp(status, "signal", 6) == 0 ? "" : "exit status ", status))
		return false;
	if (out && strcmp(out, "same") != 0 &&
	    !report_note(view, "%s%s",
			 strcmp(out, "different") == 0
				 ? "the two runs wrote different output: time and work may not "
				   "belong together"
				 : "standard output of the two runs was not compared: ",
			 strncmp(out, "unknown: ", 9) == 0 ? out + 9 : ""))
		return false;
	if (exits && strcmp(exits, "different") == 0 &&
	    !report_note(view,
			 "the two runs ended differently: time and work may not belong together"))
		return false;
	double unsampled = profile_number_fact(profile, "unsampled_threads", 0);
	if (unsampled > 0 &&
	    !report_note(view, "%.0f threads could not be sampled: their time is missing",
			 unsampled))
		return false;
	return !(lost > 0) ||
	       report_note(view, "%.0f samples were lost: times are that much too short", lost);
}

/* Active and all lanes where they differ by more than 1 % (MODEL, "Work"). */
static bool note_masked(struct report_view *view)
{
	size_t noted = 0;
	for (size_t i = 0; i < view->n_shown && noted < MAX_MASKED; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		double active = (double)f->tally.flop, all = (double)f->tally.flop_unmasked;
		char a[TEXT_NUMBER], b[TEXT_NUMBER];
		if (all <= 1.01 * active)
			continue;
		noted++;
		if (!report_note(view,
				 "%.60s: %s Gflop in active lanes, %s Gflop in all lanes (what a "
				 "hardware "
				 "counter shows)",
				 f->name, text_number(a, active * 1e-9),
				 text_number(b, all * 1e-9)))
			return false;
	}
	return true;
}

struct marks {
	size_t few, above, borrowed;
	const char *precision;
};

static struct marks count_marks(const struct report_view *view)
{
	struct marks marks = {0};
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		marks.few += f->n_samples > 0 && f->n_samples < MODEL_FEW_SAMPLES;
		marks.above += f->place.above;
		if (f->place.borrowed && !marks.borrowed++)
			marks.precision = f->place.borrowed;
	}
	return marks;
}

static bool note_marks(struct report_view *view)
{
	struct marks marks = count_marks(view);
	if (marks.few &&
	    !report_note(view, "≈: fewer than %d samples, the time is rough", MODEL_FEW_SAMPLES))
		return false;
	if (marks.above && !report_note(view, "above roof!: a fault of the roofs or of the times, "
					      "not a feat; measure the roofs "
					      "again, and check that both runs did the same work"))
		return false;
	if (marks.borrowed &&
	    !report_note(view,
			 "*: no roof of this precision was measured, %s precision's stands in",
			 marks.precision))
		return false;
	return view->profile->n_roofs > 0 ||
	       report_note(view, "no roofs in this profile: no distances can be given");
}

/* Functions whose roof is not of a measured count of threads. */
struct interpolated {
	size_t n;
	double fewest, most;
};

static struct interpolated count_interpolated(const struct report_view *view)
{
	struct interpolated found = {0};
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if (!f->place.interpolated)
			continue;
		found.fewest = found.n ? fmin(found.fewest, f->concurrency) : f->concurrency;
		found.most = fmax(found.most, f->concurrency);
		found.n++;
	}
	return found;
}

/* The measured counts next to `threads`; 0: none on that side. */
static void neighbours(const struct profile *profile, double threads, int *below, int *above)
{
	*below = *above = 0;
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const struct roof *roof = &profile->roofs[i];
		if (roof->by_node)
			continue;
		if (roof->threads <= threads && roof->threads > *below)
			*below = roof->threads;
		if (roof->threads >= threads && (!*above || roof->threads < *above))
			*above = roof->threads;
	}
}

static bool note_interpolated(struct report_view *view)
{
	struct interpolated found = count_interpolated(view);
	char fewest[TEXT_NUMBER], most[TEXT_NUMBER], range[2 * TEXT_NUMBER + 8];
	int first, last, after_fewest, before_most;
	if (!found.n)
		return true;
	text_number(fewest, found.fewest);
	text_number(most, found.most);
	bool one = strcmp(fewest, most) == 0;
	snprintf(range, sizeof(range), "%s%s%s", fewest, one ? "" : " to ", one ? "" : most);
	neighbours(view->profile, found.fewest, &first, &after_fewest);
	neighbours(view->profile, found.most, &before_most, &last);
	if (!first || !last)
		return report_note(
			view,
			"roofs at %s threads (%zu row%s) are those of the nearest measured counts, "
			"or interpolated between them",
			range, found.n, found.n == 1 ? "" : "s");
	return report_note(
		view,
		"roofs at %s threads (%zu row%s) are interpolated between the measured counts "
		"%d %s %d",
		range, found.n, found.n == 1 ? "" : "s", first, first == before_most ? "and" : "to",
		last);
}

/* (q3 - q1) / median */
static double spread_of(const struct roof *roof)
{
	return roof->median > 0 ? (roof->q3 - roof->q1) / roof->median : 0;
}

/* The noisiest row behind a roof that is shown; *n gets how many there are.  False: no memory. */
static bool find_noisy(const struct report_view *view, const struct roof **worst, size_t *n)
{
	const struct roof *roofs = view->profile->roofs;
	bool *used = calloc(view->profile->n_roofs + 1, sizeof(*used));
	*worst = NULL;
	*n = 0;
	for (size_t i = 0; used && i < view->n_shown; i++) {
		const struct roof *row = view->model->functions[view->rank[i]].place.noisy;
		if (!row || used[row - roofs])
			continue;
		used[row - roofs] = true;
		++*n;
		if (!*worst || spread_of(row) > spread_of(*worst))
			*worst = row;
	}
	bool done = used != NULL;
	free(used);
	return done;
}

static bool note_noisy(struct report_view *view)
{
	const struct roof *row;
	size_t n;
	char name[64], others[48] = "";
	if (!find_noisy(view, &row, &n))
		return false;
	if (!row)
		return true;
	if (row->kind == ROOF_BANDWIDTH)
		snprintf(name, sizeof(name), "%s %s", roof_level_name(row->level),
			 roof_op_name(row->op));
	else
		snprintf(name, sizeof(name), "%s %s %s", roof_isa_name(row->isa),
			 roof_precision_name(row->precision), roof_op_name(row->op));
	if (n > 1)
		snprintf(others, sizeof(others), ", and %zu more", n - 1);
	return report_note(view, "the %s roof at %d thread%s is noisy (quartiles %.0f %% apart)%s",
			   name, row->threads, row->threads == 1 ? "" : "s", 100 * spread_of(row),
			   others);
}

/* ---- traffic ---- */

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
static bool note_untraced(struct report_view *view)
{
	const char *why = profile_get_fact(view->profile, "traffic_why");
	const struct report_options *options = view->options;
	if (!view->model->counted)
		return true;
	if (options &&
	    (options->levels || options->level || options->direction != DIRECTION_BOTH) &&
	    !report_note(view, "--levels, --level and --direction have nothing to show: this "
			       "profile has no memory traffic"))
		return false;
	return report_note(view, "memory traffic: none (%s)",
			   why ? why : "this profile was recorded without it");
}

/* What was simulated, and how sure it is. */
static bool note_simulation(struct report_view *view)
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

static bool note_total(struct report_view *view)
{
	const struct model_bytes *bytes = &view->model->bytes;
	char read[160], written[160], left[64], evadable[64];
	put_estimate(read, sizeof(read), &bytes->mem[DIRECTION_READ]);
	put_estimate(written, sizeof(written), &bytes->mem[DIRECTION_WRITE]);
	report_put_bytes(left, bytes->events[TRAFFIC_MEM_LEFT].bytes);
	report_put_bytes(evadable, bytes->events[TRAFFIC_MEM_EVADABLE].bytes);
	if (!report_note(view,
			 "the program's memory traffic: %s read, %s written%s; %s more was changed "
			 "and still in the "
			 "caches at its end",
			 read, written,
			 view->model->traced_classes < CACHE_CLASSES ? " (± 95 % interval)" : "",
			 left))
		return false;
	const double reads = bytes->mem[DIRECTION_READ].bytes;
	return !(bytes->events[TRAFFIC_MEM_EVADABLE].bytes > 0.05 * reads) ||
	       report_note(view,
			   "of what was read %s is for lines that are then overwritten whole: a "
			   "processor that "
			   "notices reads that much less",
			   evadable);
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

static bool note_doubts(struct report_view *view)
{
	const struct profile *profile = view->profile;
	const char *halved = profile_get_fact(profile, "traffic_halved");
	double untraced = profile_number_fact(profile, "untraced_accesses", 0);
	const char *source = profile_get_fact(profile, "traffic_geometry_source");
	if (halved && !report_note(view, "%s", halved))
		return false;
	const double share = share_of_accesses(view->model, untraced);
	if (untraced > 0 &&
	    !report_note(view,
			 "%.0f accesses to memory (%s%.3g %%) could not be traced: their traffic "
			 "is missing",
			 untraced, share < 1e-4 ? "less than " : "", 100 * fmax(share, 1e-4)))
		return false;
	return !source || (strcmp(source, "given") != 0 && strcmp(source, "file") != 0) ||
	       report_note(view, "the roofs are this machine's, the caches are not: \"roof\" and "
				 "\"below\" mix both");
}

static bool note_how_to_read(struct report_view *view)
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
static bool note_in_cache(struct report_view *view)
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
		return true;
	return report_note(view, "the data of most functions fit in the caches, hence flop/B ∞: "
				 "--levels shows what moves "
				 "between the caches, --level=L3 (or L2) places by that");
}

/* "the 96.0 MB that main allocates (mesh.c:88)" */
void report_object_words(const struct profile *profile, const struct profile_object *object,
			 char *text, size_t size)
{
	char bytes[64], place[160] = "";
	report_put_bytes(bytes, (double)object->bytes);
	const char *slash = strrchr(object->file, '/');
	if (object->file[0])
		snprintf(place, sizeof(place), " (%.100s:%u)", slash ? slash + 1 : object->file,
			 object->line);
	else if (object->module != PROFILE_NONE && object->kind == OBJECT_STATIC)
		snprintf(place, sizeof(place), " of %.80s", profile->modules[object->module].name);
	else if (object->module != PROFILE_NONE)
		snprintf(place, sizeof(place), " (%.80s+0x%llx)",
			 profile->modules[object->module].name, (unsigned long long)object->offset);
	const char *name = object->name[0] ? object->name : "unknown code";
	if ((object->kind == OBJECT_HEAP || object->kind == OBJECT_MAPPING) &&
	    object->module == PROFILE_NONE) {
		snprintf(text, size, "%.80s",
			 object->name[0] ? object->name : "memory of unknown origin");
		return;
	}
	switch (object->kind) {
	case OBJECT_HEAP:
		snprintf(text, size, "%s that %.80s%s allocates", bytes, name, place);
		break;
	case OBJECT_MAPPING:
		snprintf(text, size, "%s that %.80s%s maps", bytes, name, place);
		break;
	case OBJECT_STATIC:
		snprintf(text, size, "the variable %.80s%s, %s", name, place, bytes);
		break;
	case OBJECT_STACK:
		snprintf(text, size, "the stack");
		break;
	case OBJECT_CODE:
		snprintf(text, size, "code");
		break;
	default:
		snprintf(text, size, "data of unknown origin");
	}
}

/* The objects with most of its traffic, until nine tenths of it have a name. */
static void objects_words(const struct report_view *view, const struct model_traffic *traffic,
			  char *text, size_t size)
{
	double all = 0, said = 0;
	size_t used = 0;
	for (size_t i = 0; i < traffic->n_objects; i++)
		all += traffic->objects[i].read + traffic->objects[i].write;
	for (size_t i = 0; i < traffic->n_objects && i < MAX_OBJECTS && said < 0.9 * all; i++) {
		const struct model_object *part = &traffic->objects[i];
		const double bytes = part->read + part->write;
		char words[320];
		if (bytes < 0.05 * all)
			break;
		report_object_words(view->profile, &view->profile->objects[part->object], words,
				    sizeof(words));
		int n = snprintf(text + used, size - used,
				 used ? ", %.0f %% %s" : "%.0f %% of its memory traffic is %s",
				 100 * bytes / all, words);
		used += n > 0 && (size_t)n < size - used ? (size_t)n : size - used - 1;
		said += bytes;
	}
}

/* "moves 8.10 GB now, 0.200 GB with a last cache of 3.10 MB" */
static void working_set_words(const struct model_traffic *traffic, char *text, size_t size)
{
	char now[64], fits[64], then[64];
	*text = '\0';
	if (!(traffic->fits_in > 0) || !(traffic->moves_now > 0))
		return;
	report_put_bytes(now, traffic->moves_now);
	report_put_bytes(fits, traffic->fits_in);
	report_put_bytes(then, traffic->moves_then);
	if (traffic->moves_then < 0.8 * traffic->moves_now)
		snprintf(text, size, "moves %s now, %s with a last cache of %s", now, then, fits);
	else
		snprintf(text, size, "what it uses again fits in %s of cache", fits);
}

/* The functions with most memory traffic: whose data it is, and what would fit. */
static bool note_data(struct report_view *view)
{
	const double all = view->model->bytes.mem[DIRECTION_BOTH].bytes;
	size_t said = 0;
	for (size_t i = 0; i < view->n_shown && said < MAX_DATA; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		char objects[1200] = "", working_set[256];
		if (!f->traffic || f->traffic->bytes.mem[DIRECTION_BOTH].bytes < 0.05 * all ||
		    all <= 0)
			continue;
		objects_words(view, f->traffic, objects, sizeof(objects));
		working_set_words(f->traffic, working_set, sizeof(working_set));
		if (!objects[0] && !working_set[0])
			continue;
		said++;
		if (!report_note(view, "%.60s: %s%s%s", f->name, objects,
				 objects[0] && working_set[0] ? "; " : "", working_set))
			return false;
	}
	return true;
}

static bool note_traffic(struct report_view *view)
{
	if (!view->model->traced && view->model->memory != MEMORY_UNKNOWN)
		return report_note_memory(view);
	if (!view->model->traced)
		return note_untraced(view);
	return note_simulation(view) && note_how_to_read(view) && note_in_cache(view) &&
	       note_total(view) && note_data(view) && note_doubts(view);
}

static bool note_facts(struct report_view *view)
{
	for (size_t i = 0; i < view->profile->n_facts; i++)
		if (strncmp(view->profile->facts[i].key, "note.", 5) == 0 &&
		    !report_note(view, "%s", view->profile->facts[i].value))
			return false;
	return true;
}

struct rf_error *report_notes(struct report_view *view)
{
	bool done = note_sources(view) && report_note_counters(view) && note_traffic(view) &&
		    note_uncounted(view) && note_run(view) && note_masked(view) &&
		    note_marks(view) && note_interpolated(view) && note_noisy(view) &&
		    note_facts(view);
	return done ? NULL : report_no_memory();
}

void report_notes_deinit(struct report_view *view)
{
	for (size_t i = 0; i < view->n_notes; i++)
		free(view->notes[i]);
	free(view->notes);
	view->notes = NULL;
	view->n_notes = view->cap_notes = 0;
}

/* The sentences about memory traffic: what was traced or counted, and how sure it is; whose data
 * move, and what would fit. */
#include "report/reasons/notes_traffic.h"

#include "report/ecm/page_walks.h"
#include "report/reasons/words.h"

#include <math.h>
#include <string.h>

#define MUCH_LONGER 3 /* that the counted run took than the program */
#define MAX_DATA 3    /* functions */
#define MAX_OBJECTS 3 /* of a function */

/* "machine" → words. */
static const char *geometry_words(const char *source)
{
	static const char *const words[][2] = {
		{"machine", "this machine's"},
		{"given", "as given by --cache"},
		{"file", "from the file of --cache"},
		{"effective", "this machine's, but the last no larger than one thread was seen to "
			      "have of it (rfprof machine); --cache=nominal: as reported"},
		{"assumed", "ASSUMED, since this machine does not tell"},
	};
	for (size_t i = 0; source && i < sizeof(words) / sizeof(*words); i++)
		if (strcmp(source, words[i][0]) == 0)
			return words[i][1];
	return source ? source : "of unknown origin";
}

/* Why there is no traffic, in one line. */
static void note_untraced(const struct report_view *view, FILE *notes)
{
	const char *why = profile_get_fact(view->profile, "traffic_why");
	const struct report_options *options = view->options;
	if (!view->model->counted)
		return;
	if (options && (options->levels || options->level || options->direction != DIRECTION_BOTH))
		note(notes, "--levels, --level and --direction have nothing to show: this profile "
			    "has no memory traffic");
	if (why && strncmp(why, "--", 2) != 0) /* nobody asked for it */
		putc(NOTE_FIRST, notes);
	note(notes, "memory traffic: none (%s)",
	     why ? why : "this profile was recorded without it");
}

/* ---- traced ---- */

/* What was simulated, and how sure it is. */
static void note_simulation(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const char *geometry = profile_get_fact(profile, "traffic_geometry");
	const char *source = profile_get_fact(profile, "traffic_geometry_source");
	const char *policy = profile_get_fact(profile, "traffic_policy");
	const unsigned n = view->model->traced_classes;
	char sample[128] = "all sets";
	if (n < CACHE_CLASSES)
		snprintf(sample, sizeof(sample), "%u/%d of the sets, chosen at random%s", n,
			 CACHE_CLASSES, n < 2 ? "; too few for an error" : "");
	note(notes,
	     "memory traffic: traced, caches simulated: %s (%s%s%s), %s; hardware prefetches are "
	     "not in it",
	     geometry ? geometry : "unknown caches", geometry_words(source), policy ? "; " : "",
	     policy ? policy : "", sample);
}

static void put_estimate(char *cell, size_t size, const struct model_estimate *estimate)
{
	const bool spread = estimate->halfwidth > 0;
	snprintf(cell, size, "%s%s%s", REPORT_BYTES(estimate->bytes), spread ? " ± " : "",
		 spread ? REPORT_BYTES(estimate->halfwidth) : "");
}

static void note_total(const struct report_view *view, FILE *notes)
{
	const struct model_bytes *bytes = &view->model->bytes;
	const double evadable = bytes->events[TRAFFIC_MEM_EVADABLE].bytes;
	char read[160], written[160];
	put_estimate(read, sizeof(read), &bytes->mem[DIRECTION_READ]);
	put_estimate(written, sizeof(written), &bytes->mem[DIRECTION_WRITE]);
	note(notes,
	     "the program's memory traffic: %s read, %s written%s; %s more was changed and still "
	     "in the caches at its end",
	     read, written, view->model->traced_classes < CACHE_CLASSES ? " (± 95 % interval)" : "",
	     REPORT_BYTES(bytes->events[TRAFFIC_MEM_LEFT].bytes));
	if (evadable > 0.05 * bytes->mem[DIRECTION_READ].bytes)
		note(notes,
		     "of what was read %s is for lines that are then overwritten whole: a "
		     "processor that notices reads that much less",
		     REPORT_BYTES(evadable));
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

/* Calls of the counted run for which the timed one has not flushed: of kernels that were looked out
 * for, but by a child, by a thread that blocks SIGTRAP, or in code that was loaded later. */
static double calls_unflushed(const struct profile *profile, double seen)
{
	double calls = 0;
	for (uint32_t i = 0; i < profile->n_kernels; i++)
		calls += (double)profile->kernels[i].calls;
	return calls - seen;
}

/* What the machine's own caches were in the timed run with --caches=cold. */
static void note_flushes(const struct profile *profile, FILE *notes)
{
	const char *why = profile_get_fact(profile, "flush_why");
	const char *missing = profile_get_fact(profile, "flush_missing");
	const double calls = profile_number_fact(profile, "flush_calls", NAN);
	const double failed = profile_number_fact(profile, "flush_failed", 0);
	const double others = isnan(calls) ? 0 : calls_unflushed(profile, calls + failed);
	if (calls > 0)
		note(notes,
		     "in the timed run the machine's caches were flushed at %.0f calls of kernels: "
		     "their times are those of cold caches. That took %.3g s of the wall time, "
		     "which is told as not counted ([rfprof]), and is in no kernel's time",
		     calls, profile_number_fact(profile, "flush_s", 0));
	if (why)
		note(notes, "times of kernels are those of caches as they were: %s", why);
	if (missing)
		note(notes,
		     "times of these kernels are those of caches as they were, since their calls "
		     "were not looked out for in the timed run: %s (at most three functions, of "
		     "the program and the libraries that it starts with)",
		     missing);
	else if (others > 0 && !why)
		note(notes,
		     "at %.0f calls of kernels the machine's caches were as they were: child "
		     "processes, threads that block SIGTRAP and libraries that are loaded later "
		     "are not looked out for",
		     others);
	if (failed > 0)
		note(notes, "at %.0f calls of kernels the machine's caches could not be flushed",
		     failed);
}

/* What calls of kernels have found, where that was not what was there. */
static void note_caches(const struct profile *profile, FILE *notes)
{
	const double cut = profile_number_fact(profile, "traffic_warm_cut", 0);
	if (profile_fact_is(profile, "traffic_caches", "cold"))
		note(notes, "the simulated caches were emptied at each call of a kernel "
			    "(--caches=cold): what moves is that of cold caches");
	note_flushes(profile, notes);
	if (profile_fact_is(profile, "traffic_caches", "warm"))
		note(notes,
		     "the simulated caches had at each call of a kernel what the same call leaves "
		     "there (--caches=warm): what moves is that of a second call; times are those "
		     "of caches as they were");
	if (cut > 0)
		note(notes,
		     "%.0f calls of kernels were too long to be looked ahead to their end: their "
		     "caches were warm with what they use at first, and they may have moved more "
		     "or "
		     "less, at the most what the caches hold",
		     cut);
}

/* Said once, whichever of them has asked for it. */
static void note_cost(const struct profile *profile, FILE *notes)
{
	const double native = profile_number_fact(profile, "wall_s", 0),
		     counted = profile_number_fact(profile, "counted_wall_s", 0);
	const char *caches = profile_get_fact(profile, "traffic_caches");
	const char *const whys[] = {
		profile_get_fact(profile, "other_geometry") ? "another machine's caches" : NULL,
		page_walks_known(profile) ? "the TLB" : NULL,
		caches && strcmp(caches, "as-is") != 0 ? "caches that are cold or warm at calls"
						       : NULL};
	char text[160] = "";
	for (size_t i = 0; i < sizeof(whys) / sizeof(*whys); i++)
		if (whys[i])
			snprintf(text + strlen(text), sizeof(text) - strlen(text), "%s%s",
				 *text ? " and " : "", whys[i]);
	if (!*text || !(native > 0) || !(counted > MUCH_LONGER * native))
		return;
	note(notes,
	     "all accesses were traced, and none in windows of time, for %s: the counted run took "
	     "%.3g s, %.3g times as long as the program; fewer turns or smaller data ask the same",
	     text, counted, counted / native);
}

static void note_walks(const struct profile *profile, FILE *notes)
{
	const struct page_walks all = page_walks_of_all(profile);
	if (!page_walks_known(profile) || !(all.accesses > 0))
		return;
	note(notes,
	     "the simulated TLB (%s): of %.4g accesses, one for each page that one lies in, %.2g "
	     "%% "
	     "missed its nearest level, and %.2g %% all; tlb in JSON has them by function",
	     profile_get_fact(profile, "tlb"), all.accesses, 100 * all.near_misses / all.accesses,
	     100 * all.walks / all.accesses);
}

static void note_doubts(const struct report_view *view, FILE *notes)
{
	const struct profile *profile = view->profile;
	const char *halved = profile_get_fact(profile, "traffic_halved");
	const double untraced = profile_number_fact(profile, "untraced_accesses", 0);
	const double share = share_of_accesses(view->model, untraced);
	const char *windows = profile_get_fact(profile, "traffic_windows");
	const char *other = profile_get_fact(profile, "other_geometry");
	note_caches(profile, notes);
	if (halved)
		note(notes, "%s", halved);
	if (windows)
		note(notes, "%s", windows);
	if (untraced > 0)
		note(notes,
		     "%.0f accesses to memory (%s%.3g %%) could not be traced: their traffic is "
		     "missing",
		     untraced, share < 1e-4 ? "less than " : "", 100 * fmax(share, 1e-4));
	if (other)
		note(notes,
		     "what would move in another machine's caches (%s) has a table of its own here "
		     "and "
		     "other_caches in JSON; no other figure is about them",
		     other);
	note_walks(profile, notes);
	note_cost(profile, notes);
	if (profile_fact_is(profile, "traffic_geometry_source", "given") ||
	    profile_fact_is(profile, "traffic_geometry_source", "file"))
		note(notes, "the roofs are this machine's, the caches are not: \"roof\" and "
			    "\"below\" mix both");
}

static void note_how_to_read(const struct report_view *view, FILE *notes)
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
	note(notes, "flop/B, %s and GB/s: %s %s%s; bound names the level whose roof is %s",
	     options && options->level ? options->level : "memory",
	     whats[options ? options->direction : DIRECTION_BOTH], level,
	     unsure ? " (≈: the sample leaves more than ±10 %)" : "",
	     options && options->level ? "asked for" : "the lowest");
}

/* Where hardly anything moves to memory the column has little to tell: say where else to look. */
static void note_in_cache(const struct report_view *view, FILE *notes)
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
		return;
	note(notes, "the data of most functions fit in the caches, hence flop/B ∞: --levels shows "
		    "what moves between the caches, --level=L3 (or L2) places by that");
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
		const struct profile_sum_object *part = &traffic->objects[i];
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

/* "moves 8.10 GB now, 0.200 GB with a last cache of 3.10 MB": of caches without sets */
static void working_set_words(const struct model_traffic *traffic, char *text, size_t size)
{
	*text = '\0';
	if (!(traffic->fits_in > 0) || !(traffic->moves_now > 0))
		return;
	if (traffic->moves_then < 0.8 * traffic->moves_now)
		snprintf(text, size, "moves %s now%s, %s with a last cache of %s",
			 REPORT_BYTES(traffic->moves_now),
			 traffic->conflicts.share >= 0.05 ? " without conflicts of sets" : "",
			 REPORT_BYTES(traffic->moves_then), REPORT_BYTES(traffic->fits_in));
	else
		snprintf(text, size, "what it uses again fits in %s of cache",
			 REPORT_BYTES(traffic->fits_in));
}

/* Of the functions with most memory traffic. */
static void note_data(const struct report_view *view, FILE *notes)
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
		note(notes, "%.60s: %s%s%s", f->name, objects,
		     objects[0] && working_set[0] ? "; " : "", working_set);
	}
}

static void note_traced(const struct report_view *view, FILE *notes)
{
	note_simulation(view, notes);
	note_how_to_read(view, notes);
	note_in_cache(view, notes);
	note_total(view, notes);
	note_data(view, notes);
	note_doubts(view, notes);
}

/* ---- by the PMU ---- */

static void put_total(char *text, size_t size, const struct model_estimate *mem)
{
	if (isnan(mem[DIRECTION_WRITE].bytes))
		snprintf(text, size, "%s%s", REPORT_BYTES(mem[DIRECTION_BOTH].bytes),
			 isnan(mem[DIRECTION_READ].bytes) ? ", read or written" : " read");
	else
		snprintf(text, size, "%s read, %s written", REPORT_BYTES(mem[DIRECTION_READ].bytes),
			 REPORT_BYTES(mem[DIRECTION_WRITE].bytes));
}

static void note_memory(const struct report_view *view, FILE *notes)
{
	const char *chosen = view->options ? view->options->level : NULL;
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
	note(notes, "memory traffic: %s; the program's: %s%s",
	     report_memory_words(view->model->memory), at_least ? "at least " : "", total);
	note(notes,
	     "flop/B, memory and GB/s: bytes at memory (DRAM)%s%s; a roof of DRAM stands on them, "
	     "one of a cache (~) on loads and stores",
	     unsure ? " (≈: the samples leave more than ±10 %)" : "",
	     at_least ? "; ≥: a lower bound, then flop/B, roof, \"below\" and headroom are at most "
			"what they say (≤)"
		      : "");
	if (chosen && strcmp(chosen, "DRAM") != 0 && strcmp(chosen, "L1") != 0)
		note(notes,
		     "--level=%s: the PMU tells what moved to and from memory only (DRAM), and "
		     "loads and stores (L1)",
		     chosen);
}

void report_note_traffic(const struct report_view *view, FILE *notes)
{
	if (view->model->traced)
		note_traced(view, notes);
	else if (view->model->memory != MEMORY_UNKNOWN)
		note_memory(view, notes);
	else
		note_untraced(view, notes);
}

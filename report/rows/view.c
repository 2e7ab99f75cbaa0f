/* What every view of a report is given, and the few things that all of them do with it. */
#include "report/rows/view.h"

#include "base/progress.h"
#include "base/text.h"
#include "base/whole_file.h"
#include "profile/profile_open.h"
#include "report/account/account.h"
#include "report/ecm/ecm_machine.h"
#include "report/ecm/far_lines.h"
#include "report/ecm/replays.h"
#include "report/in_core/measured_core.h"
#include "report/rows/ranking.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *report_program(const struct profile *profile)
{
	const char *command = profile_get_fact(profile, "command");
	if (!command || !*command)
		command = profile_get_fact(profile, "program");
	char *word = strdup(command ? command : "?"), *to = word;
	bool quoted = false;
	for (const char *from = word; word && *from && (quoted || *from != ' '); from++) {
		if (*from == '\'')
			quoted = !quoted;
		else if (*from == '\\' && !quoted && from[1])
			*to++ = *++from;
		else
			*to++ = *from;
	}
	if (!word)
		return NULL;
	*to = '\0';
	char *clean = text_clean(word);
	free(word);
	return clean;
}

const char *report_isa_name(enum roof_isa isa)
{
	static const char *const names[ROOF_ISAS] = {
		[ROOF_ISA_SCALAR] = "scalar", [ROOF_ISA_SSE2] = "SSE2",
		[ROOF_ISA_AVX2] = "AVX2",     [ROOF_ISA_AVX] = "AVX",
		[ROOF_ISA_FMA] = "AVX2",      [ROOF_ISA_AVX512F] = "AVX-512",
	};
	return names[isa] ? names[isa] : "other";
}

const char *report_op_name(enum roof_op op)
{
	return op == ROOF_OP_FMA ? "FMA" : roof_op_name(op);
}

const char *report_precision_short(const char *precision)
{
	if (strcmp(precision, "double") == 0)
		return "DP";
	return strcmp(precision, "single") == 0 ? "SP" : precision;
}

const char *report_main_precision(const struct model *model)
{
	double sums[FLOP_PRECISIONS] = {0};
	enum flop_precision best = PRECISION_DOUBLE;
	for (size_t i = 0; i < model->n_functions; i++)
		sums[model->functions[i].precision] += (double)model->functions[i].tally.flop;
	for (int p = 0; p < FLOP_PRECISIONS; p++)
		if (sums[p] > sums[best])
			best = (enum flop_precision)p;
	return model_precision_name(best);
}

/* ---- what moved ---- */

const struct model_level *report_level(const struct report_view *view,
				       const struct model_function *f)
{
	const char *chosen = view->options ? view->options->level : NULL;
	return f->traffic ? model_level(f->traffic, chosen ? chosen : "DRAM") : NULL;
}

const struct model_estimate *report_moved(const struct report_view *view,
					  const struct model_level *level)
{
	return &level->moved[view->options ? view->options->direction : DIRECTION_BOTH];
}

double report_intensity_at(const struct model_function *f, const char *level)
{
	const struct model_level *at = f->traffic && level ? model_level(f->traffic, level) : NULL;
	return at ? at->intensity : f->intensity;
}

double report_intensity(const struct report_view *view, const struct model_function *f)
{
	const char *chosen = view->options ? view->options->level : NULL;
	return report_intensity_at(f, chosen ? chosen : "DRAM");
}

const char *report_put_intensity(char *cell, double intensity)
{
	if (isfinite(intensity) && intensity > MODEL_IN_CACHE)
		snprintf(cell, 64, ">%g", MODEL_IN_CACHE);
	else
		snprintf(cell, 64, "%s", REPORT_NUMBER(intensity));
	return cell;
}

const char *report_put_bytes(char *cell, double bytes)
{
	static const char *const units[] = {"B", "kB", "MB", "GB", "TB", "PB", "EB"};
	size_t unit = 0;
	for (; unit + 1 < sizeof(units) / sizeof(*units) && bytes >= 999.5; unit++)
		bytes /= 1000;
	if (isnan(bytes))
		snprintf(cell, 64, "–");
	else if (unit == 0)
		snprintf(cell, 64, "%.0f B", bytes);
	else
		snprintf(cell, 64, "%s %s", REPORT_NUMBER(bytes), units[unit]);
	return cell;
}

/* What is above its roof never reads as on it, nor what is far below as nothing. */
const char *report_put_of_roof(char *cell, const char *mark, double distance)
{
	const double percent = 100 / distance;
	if (isnan(distance))
		snprintf(cell, 64, "–");
	else if (distance < 1)
		snprintf(cell, 64, "%.0f %%!", ceil(percent));
	else if (percent < 1)
		snprintf(cell, 64, "%s%.1g %%", mark, fmax(0.01, percent));
	else
		snprintf(cell, 64, "%s%.0f %%", mark, percent);
	return cell;
}

/* ---- roofs that are shown ---- */

const char *report_mix_words(enum traffic_direction direction)
{
	static const char *const words[] = {[DIRECTION_BOTH] = "fastest mix",
					    [DIRECTION_READ] = "reading",
					    [DIRECTION_WRITE] = "writing"};
	return words[direction];
}

int report_roof_threads(const struct report_view *view)
{
	const struct profile *profile = view->profile;
	double most = 1;
	int enough = 0, greatest = 0;
	for (size_t i = 0; i < view->n_shown; i++)
		most = fmax(most, view->model->functions[view->rank[i]].concurrency);
	for (size_t i = 0; i < profile->n_roofs; i++) {
		const int threads = profile->roofs[i].threads;
		if (profile->roofs[i].by_node)
			continue;
		greatest = threads > greatest ? threads : greatest;
		if (threads >= round(most) && (!enough || threads < enough))
			enough = threads;
	}
	return enough ? enough : greatest;
}

/* Share of the time of the rows with flop that moves something at a level. */
static double share_at(const struct report_view *view, const char *name)
{
	double all = 0, there = 0;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		const struct model_level *level = f->traffic ? model_level(f->traffic, name) : NULL;
		if (f->place.axis != AXIS_FLOP)
			continue;
		all += (double)f->time_ns;
		there += level && level->intensity > 0 && level->intensity <= MODEL_IN_CACHE
				 ? (double)f->time_ns
				 : 0;
	}
	return all > 0 ? there / all : 1;
}

/* Time of the rows that a level's roof binds: of those with flop, or of the others. */
static double bound_at(const struct report_view *view, const char *name, bool flop)
{
	double there = 0;
	for (size_t i = 0; i < view->n_shown; i++) {
		const struct model_function *f = &view->model->functions[view->rank[i]];
		if ((f->place.axis == AXIS_FLOP) == flop && strcmp(f->place.level, name) == 0)
			there += (double)f->time_ns;
	}
	return there;
}

/* The level that binds most time, where points of that time are not all beside the picture; what
 * has no flop decides where nothing with flop is bound by a level. */
const char *report_picture_level(const struct report_view *view)
{
	static const char *const levels[] = {"DRAM", "L3", "L2", "L1"};
	if (view->model->memory == MEMORY_UNKNOWN || !view->options)
		return NULL;
	if (view->options->level)
		return view->options->level;
	const char *best = NULL;
	double most = 0;
	for (int flop = 1; flop >= 0 && !best; flop--)
		for (size_t k = 0; k < MODEL_LEVELS; k++) {
			const double there = bound_at(view, levels[k], flop);
			if (there > most && share_at(view, levels[k]) >= 0.2) {
				most = there;
				best = levels[k];
			}
		}
	if (best)
		return best;
	for (size_t k = 0; k < MODEL_LEVELS; k++)
		if (share_at(view, levels[k]) >= 0.2)
			return levels[k];
	return "DRAM";
}

/* ---- files ---- */

#define MOST_TEXT 4200 /* of a line that tells the progress: a path and some words */
#define WRITE_HINT "choose another file or make room there"

static struct rf_error *write_stdout(const struct report_view *view, report_format *format)
{
	struct rf_error *error = format(view, stdout);
	errno = 0;
	const bool failed = fflush(stdout) != 0 || ferror(stdout);
	return error || !failed ? error
				: rf_error_errno(RF_EACCESS, errno ? errno : EIO, WRITE_HINT,
						 "cannot write standard output");
}

/* One format, with the line of a terminal that says how far it is. */
static struct rf_error *write_told(const struct report_view *view, report_format *format,
				   FILE *stream, const char *path)
{
	struct progress progress = progress_begin(view->options ? view->options->progress : NULL);
	struct report_view told = *view;
	told.progress = &progress;
	told.path = path;
	struct rf_error *error = format(&told, stream);
	progress_end(&progress);
	return error;
}

struct rf_error *report_write_file(const struct report_view *view, report_format *format,
				   const char *path)
{
	const struct whole_file_wish wish = {path, "cannot write", WRITE_HINT, 0};
	struct whole_file file;
	if (!path)
		return NULL;
	if (report_is_stdout(path))
		return write_stdout(view, format);
	struct rf_error *error = profile_file_spare(path) ?: whole_file_stream(&wish, &file);
	return error ? error : whole_file_close(&file, write_told(view, format, file.stream, path));
}

void report_tell_written(const struct report_view *view, size_t done, size_t all)
{
	char text[MOST_TEXT];
	if (!view->progress || !view->progress->stream || !all)
		return;
	snprintf(text, sizeof(text), "%zu of %zu rows of %s are written", done, all, view->path);
	progress_show(view->progress, (double)done / (double)all, text);
}

struct rf_error *report_with_view(const struct profile *profile,
				  const struct report_options *options,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context)
{
	struct model model;
	const bool merged = profile->n_ranks > 0; /* there are sums and nothing else */
	const bool accounts = !merged && report_has_accounts(options);
	const struct model_choice choice = {.level = options->level,
					    .direction = options->direction,
					    .sums = merged || report_from_sums(options),
					    .loops = !merged &&
						     (accounts || options->by == BY_LOOP)};
	struct rf_error *error = model_build_as(profile, &choice, &model);
	if (error)
		return error;
	struct report_view view = {
		.profile = profile, .model = &model, .options = options, .sort = options->sort};
	const struct account account = account_of(profile, &model);
	size_t *rank = report_rank(&view);
	double *kernel = account_kernel_times(profile), *waits = account_wait_times(profile),
	       *faults = account_page_faults(profile);
	struct measured_core core = {0};
	struct far_accesses far = {0};
	struct loop_replays replays = {0};
	struct ecm_machine machine = {0};
	if (accounts) {
		machine = ecm_machine_of(profile);
		machine.core = &core;
		view.ecm = &machine;
		machine.far = &far;
		machine.replays = &replays;
		error = measured_core_init(profile, &core)
				?: far_accesses_init(profile, &model, &far)
				?: replays_of(profile, &replays);
	}
	view.rank = rank;
	view.account = &account;
	view.kernel_times = kernel;
	view.wait_times = waits;
	view.page_faults = faults;
	if (!error)
		error = rank && kernel && waits && faults ? use(&view, context)
							  : rf_error_no_memory();
	free(rank);
	free(kernel);
	free(waits);
	free(faults);
	measured_core_deinit(&core);
	far_accesses_deinit(&far);
	loop_replays_deinit(&replays);
	model_deinit(&model);
	return error;
}

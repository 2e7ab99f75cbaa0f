/* What every view of a report is given, and the few things that all of them do with it. */
#include "report/rows/view.h"

#include "base/text.h"
#include "report/rows/ranking.h"

#include <errno.h>
#include <math.h>
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

/* ---- files ---- */

static struct rf_error *write_failed(const char *path, int errnum)
{
	return rf_error_errno(RF_EACCESS, errnum, "choose another file or make room there",
			      "cannot write %s", path);
}

struct rf_error *report_write_file(const struct report_view *view, report_format *format,
				   const char *path)
{
	const bool to_stdout = report_is_stdout(path);
	FILE *stream = to_stdout ? stdout : path ? fopen(path, "we") : NULL;
	if (!path)
		return NULL;
	if (!stream)
		return write_failed(path, errno);
	path = to_stdout ? "standard output" : path;
	struct rf_error *error = format(view, stream);
	errno = 0;
	bool failed = fflush(stream) != 0 || ferror(stream);
	int errnum = errno ? errno : EIO;
	if (!to_stdout && fclose(stream) != 0 && !failed) {
		failed = true;
		errnum = errno;
	}
	return error ? error : failed ? write_failed(path, errnum) : NULL;
}

struct rf_error *report_with_view(const struct profile *profile,
				  const struct report_options *options,
				  struct rf_error *(*use)(struct report_view *view, void *context),
				  void *context)
{
	struct model model;
	const struct model_choice choice = {.level = options->level,
					    .direction = options->direction,
					    .sums = report_from_sums(options),
					    .loops = options->json_path || options->html_path ||
						     options->function || options->by == BY_LOOP};
	struct rf_error *error = model_build_as(profile, &choice, &model);
	if (error)
		return error;
	struct report_view view = {
		.profile = profile, .model = &model, .options = options, .sort = options->sort};
	size_t *rank = report_rank(&view);
	view.rank = rank;
	error = rank ? use(&view, context) : rf_error_no_memory();
	free(rank);
	model_deinit(&model);
	return error;
}

/* Has rfprof measure a command, and takes its profile. */
#include "sweep/measure.h"

#include "sweep/scratch.h"
#include "tracer/process/own_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_OPTIONS 16

/* `texts` are freed by the caller. */
static char **arguments_of(const struct measure_options *options, char *const *command, bool traced,
			   const char *save, char *texts[MOST_OPTIONS])
{
	const bool tlb = traced && options->tlb_pages;
	const struct {
		const char *format, *value;
	} all[] = {{"--quiet%s", ""},
		   {"--keep-roofs%s", ""},
		   {"--no-source%s", ""},
		   {"--output=%s", "/dev/null"},
		   {"--save=%s", save},
		   {"--kernel=%s", options->kernels},
		   {"--cache=%s", options->cache},
		   {"--cache-sample=%s", options->cache_sample},
		   {"--slowdown=%s", options->slowdown},
		   {"--caches=%s", options->caches},
		   {"--tlb%s", tlb ? "" : NULL},
		   {"--tlb-pages=%s", tlb && *options->tlb_pages ? options->tlb_pages : NULL},
		   {"--other-caches=%s", traced ? options->other_caches : NULL},
		   {"--traffic=%s", traced ? NULL : "none"}};
	_Static_assert(sizeof(all) / sizeof(*all) <= MOST_OPTIONS, "each has a text");
	size_t n = 0, n_words = 0;
	while (command[n_words])
		n_words++;
	char **arguments = calloc(n_words + MOST_OPTIONS + OWN_WORDS + 1, sizeof(*arguments));
	bool ok = arguments != NULL;
	if (ok)
		n = own_words(arguments);
	for (size_t i = 0; ok && i < sizeof(all) / sizeof(*all); i++) {
		if (!all[i].value)
			continue;
		if (asprintf(&texts[i], all[i].format, all[i].value) < 0)
			texts[i] = NULL;
		ok = texts[i] != NULL;
		arguments[n++] = texts[i];
	}
	if (!ok) {
		free(arguments);
		return NULL;
	}
	memcpy(&arguments[n], command, n_words * sizeof(*command));
	return arguments;
}

static struct rf_error *run(const struct measure_options *options, char *const *command,
			    bool traced, const char *save, double limit_s, struct one_run_end *end)
{
	char *texts[MOST_OPTIONS] = {NULL};
	char **arguments = arguments_of(options, command, traced, save, texts);
	struct rf_error *error =
		arguments ? one_run(arguments, limit_s, end) : rf_error_no_memory();
	for (size_t i = 0; i < MOST_OPTIONS; i++)
		free(texts[i]);
	free(arguments);
	return error;
}

struct rf_error *measure(const struct measure_options *options, char *const *command, bool traced,
			 double limit_s, struct one_run_end *end, struct profile **out)
{
	struct scratch scratch;
	*out = NULL;
	struct rf_error *error = scratch_init(&scratch);
	if (error)
		return error;
	error = run(options, command, traced, scratch.file, limit_s, end);
	if (!error && end->status == 0 && !end->interrupted)
		error = profile_load_parts(scratch.file, traced ? 0 : PROFILE_SUMS, out);
	scratch_deinit(&scratch);
	return error;
}

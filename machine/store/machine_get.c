/* The roofs of this machine: from their cache file, or measured now and saved. */
#include "machine/store/machine_get.h"

#include "machine/roofs/roofs.h"
#include "machine/store/kept_machine.h"
#include "machine/store/roof_cache.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than a measurement takes: then the other process is stuck. */
#define LOCK_WAIT_MS 60000

/* Keeps the first warning; later ones are its consequences. */
static void warn(struct rf_error **warning, struct rf_error *error)
{
	if (error && warning && !*warning)
		*warning = error;
	else
		rf_error_destroy(error);
}

/* What is asked for: thread counts and where the roofs come from. */
struct request {
	const struct topology *topology;
	const struct machine_options *options;
	int *counts; /* thread counts wanted, ascending */
	size_t n_counts;
};

/* Wants 1, 2, 4, … and all, or what the options say. */
static struct rf_error *request_init(struct request *request, const struct topology *topology,
				     const struct machine_options *options)
{
	int all = topology->usable_threads;
	*request = (struct request){topology, options};
	request->counts = calloc(options->n_threads + 64, sizeof(*request->counts));
	if (!request->counts)
		return rf_error_no_memory();
	for (size_t i = 0; i < options->n_threads; i++) {
		if (options->threads[i] > all)
			return rf_error_create(
				RF_EINPUT, "ask for no more threads than that",
				"%d threads are asked for; %d hardware thread%s can be used here",
				options->threads[i], all, all == 1 ? "" : "s");
		request->counts[request->n_counts++] = options->threads[i];
	}
	for (int n = 1; !options->n_threads && n < all; n *= 2)
		request->counts[request->n_counts++] = n;
	if (!options->n_threads)
		request->counts[request->n_counts++] = all;
	return NULL;
}

/* Completes new rows with what is kept.  What is measured anew on the user's demand has no history:
 * that is how one gets rid of a roof that this machine has no longer. */
static struct rf_error *merge(const struct request *request, struct machine *newer,
			      struct machine *older)
{
	for (size_t i = 0; i < newer->n_roofs && request->options->refresh; i++) {
		struct roof *before = machine_row(older, &newer->roofs[i]);
		if (before)
			before->n_measured = 0;
	}
	struct rf_error *error = machine_merge(newer, older);
	roofs_mark_levels(newer->roofs, newer->n_roofs);
	return error;
}

/* Measures at all wanted counts, which `older` (may be NULL) then completes. */
static struct rf_error *measure(const struct request *request, struct machine *older,
				struct machine *out)
{
	const struct topology *topology = request->topology;
	struct machine machine = {
		.cpu_model = strdup(topology->cpu_model),
		.usable_threads = topology->usable_threads,
		.n_caches = topology->n_caches,
	};
	const struct machine_options *options = request->options;
	const struct roofs_wish wish = {
		.counts = request->counts,
		.n_counts = request->n_counts,
		.quick = options->quick,
		.effort = options->quick ? roofs_effort_quick : roofs_effort_full,
		.progress = options->progress,
		.progress_context = options->progress_context,
	};
	memcpy(machine.caches, topology->caches, sizeof(machine.caches));
	struct rf_error *error =
		machine.cpu_model ? roofs_measure(topology, &wish, &machine) : rf_error_no_memory();
	if (!error && older)
		error = merge(request, &machine, older);
	if (error) {
		machine_deinit(&machine);
		return error;
	}
	*out = machine;
	return NULL;
}

/* Reads the file, unless what was read of it before is kept. */
static struct rf_error *load(const char *path, json_t *key, struct kept_store *store,
			     struct machine *machine)
{
	char *text = store ? json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
	const struct file_stamp stamp = file_stamp_of_path(path);
	struct rf_error *error = NULL;
	if (!text || !kept_machine_load(store, path, text, machine)) {
		error = roof_cache_load(path, key, machine);
		if (!error && text)
			kept_machine_save(store, path, &stamp, text, machine);
	}
	free(text);
	return error;
}

/* Reads the roofs that the cache has; true when they may be used and are all that are asked for.  A
 * corrupt file is a warning, and so is one of another user. */
static bool load_enough(const char *path, json_t *key, const struct request *request,
			struct machine *machine, struct rf_error **warning)
{
	struct rf_error *error = load(path, key, request->options->kept, machine);
	machine->from_cache = !error;
	warn(error && error->code != RF_EUNAVAILABLE ? warning : NULL, error);
	bool enough = machine->from_cache && !request->options->refresh;
	for (size_t i = 0; i < request->n_counts && enough; i++)
		enough = machine_has_count(machine, request->counts[i], request->options->quick);
	return enough;
}

/* Measures and writes the file, unless another process has done so while this one waited for the
 * lock. */
static struct rf_error *measure_and_save(const char *directory, const char *path, json_t *key,
					 const struct request *request, struct machine *machine,
					 struct rf_error **warning)
{
	struct rf_error *no_cache = keep_place_prepare(&roof_cache_place, directory);
	if (no_cache) {
		warn(warning, no_cache);
		return measure(request, NULL, machine);
	}
	struct machine cached = {0};
	int lock = keep_file_lock(directory, LOCK_WAIT_MS);
	struct rf_error *error = NULL;
	if (load_enough(path, key, request, &cached, NULL)) {
		*machine = cached;
	} else {
		error = measure(request, &cached, machine);
		if (!error)
			warn(warning, roof_cache_save(path, key, machine));
		machine_deinit(&cached);
	}
	if (lock >= 0)
		close(lock);
	return error;
}

static struct rf_error *get_with_request(const struct request *request, struct machine *machine,
					 struct rf_error **warning)
{
	char *directory = NULL;
	struct rf_error *homeless = keep_place_directory(&roof_cache_place, &directory);
	if (homeless) {
		warn(warning, homeless);
		return measure(request, NULL, machine);
	}
	json_t *key = roof_cache_key(request->topology);
	char *path = key ? roof_cache_path(directory, key) : NULL;
	struct machine cached = {0};
	struct rf_error *error = NULL;
	if (!path) {
		error = rf_error_no_memory();
	} else if (load_enough(path, key, request, &cached, warning)) {
		*machine = cached;
		cached = (struct machine){0};
	} else {
		error = measure_and_save(directory, path, key, request, machine, warning);
	}
	machine_deinit(&cached);
	free(path);
	free(directory);
	json_decref(key);
	return error;
}

static bool kept_for(const struct request *request, struct machine *machine)
{
	char *directory = NULL;
	rf_error_destroy(keep_place_directory(&roof_cache_place, &directory));
	json_t *key = directory ? roof_cache_key(request->topology) : NULL;
	char *path = key ? roof_cache_path(directory, key) : NULL;
	const bool enough = path && load_enough(path, key, request, machine, NULL);
	free(path);
	free(directory);
	json_decref(key);
	return enough;
}

bool machine_kept(const struct machine_options *options, struct machine *machine)
{
	struct topology topology;
	struct request request = {0};
	struct machine found = {0};
	struct rf_error *error = topology_read(&topology);
	if (error) {
		rf_error_destroy(error);
		return false;
	}
	error = request_init(&request, &topology, options);
	const bool enough = !error && kept_for(&request, &found);
	if (enough)
		*machine = found;
	else
		machine_deinit(&found);
	rf_error_destroy(error);
	free(request.counts);
	topology_deinit(&topology);
	return enough;
}

struct rf_error *machine_get(const struct machine_options *options, struct machine *machine,
			     struct rf_error **warning)
{
	struct topology topology;
	struct request request = {0};
	if (warning)
		*warning = NULL;
	struct rf_error *error = topology_read(&topology);
	if (error)
		return error;
	error = request_init(&request, &topology, options);
	if (!error)
		error = get_with_request(&request, machine, warning);
	free(request.counts);
	topology_deinit(&topology);
	return error;
}

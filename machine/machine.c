#include "machine/machine.h"

#include "machine/roof_cache.h"
#include "machine/roofs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Longer than a measurement takes: then the other process is stuck. */
#define LOCK_WAIT_MS 15000

void machine_deinit(struct machine *machine)
{
	for (size_t i = 0; i < machine->n_notes; i++)
		free(machine->notes[i]);
	free(machine->notes);
	free(machine->cpu_model);
	free(machine->microarchitecture);
	free(machine->custom_roofs);
	free(machine->roofs);
	*machine = (struct machine){ 0 };
}

/* Keeps the first warning; later ones are its consequences. */
static void warn(struct rf_error **warning, struct rf_error *error)
{
	if (error && warning && !*warning)
		*warning = error;
	else
		rf_error_destroy(error);
}

/* Fills in what is known without measuring, then measures. */
static struct rf_error *measure(const struct topology *topology,
				const struct machine_options *options, struct machine *out)
{
	struct machine machine = {
		.cpu_model = strdup(topology->cpu_model),
		.usable_threads = topology->usable_threads,
		.n_caches = topology->n_caches,
	};
	memcpy(machine.caches, topology->caches, sizeof(machine.caches));
	struct rf_error *error =
		machine.cpu_model ? roofs_measure(topology, &measure_effort_default, options, &machine)
				  : rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	if (error) {
		machine_deinit(&machine);
		return error;
	}
	*out = machine;
	return NULL;
}

/* True when the file has a valid set of roofs; a corrupt file is a warning. */
static bool load(const char *path, json_t *key, struct machine *machine, struct rf_error **warning)
{
	struct rf_error *error = roof_cache_load(path, key, machine);
	if (!error) {
		machine->from_cache = true;
		return true;
	}
	if (error->code == RF_EFORMAT)
		warn(warning, error);
	else
		rf_error_destroy(error);
	return false;
}

/* Measures, unless another process has done so while this one waited for the lock, and writes the
 * file. */
static struct rf_error *measure_and_save(const char *directory, const char *path, json_t *key,
					 const struct topology *topology,
					 const struct machine_options *options,
					 struct machine *machine, struct rf_error **warning)
{
	struct rf_error *no_cache = roof_cache_prepare(directory);
	if (no_cache) {
		warn(warning, no_cache);
		return measure(topology, options, machine);
	}
	int lock = roof_cache_lock(directory, LOCK_WAIT_MS);
	struct rf_error *error = NULL;
	if (options->refresh || !load(path, key, machine, NULL)) {
		error = measure(topology, options, machine);
		if (!error)
			warn(warning, roof_cache_save(path, key, machine));
	}
	if (lock >= 0)
		close(lock);
	return error;
}

static struct rf_error *get_with_topology(const struct topology *topology,
					  const struct machine_options *options,
					  struct machine *machine, struct rf_error **warning)
{
	char *directory = NULL;
	struct rf_error *homeless = roof_cache_directory(&directory);
	if (homeless) {
		warn(warning, homeless);
		return measure(topology, options, machine);
	}
	json_t *key = roof_cache_key(topology);
	char *path = key ? roof_cache_path(directory, key) : NULL;
	struct rf_error *error = NULL;
	if (!path)
		error = rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	else if (options->refresh || !load(path, key, machine, warning))
		error = measure_and_save(directory, path, key, topology, options, machine, warning);
	free(path);
	free(directory);
	json_decref(key);
	return error;
}

struct rf_error *machine_get(const struct machine_options *options, struct machine *machine,
			     struct rf_error **warning)
{
	struct topology topology;
	if (warning)
		*warning = NULL;
	struct rf_error *error = topology_read(&topology);
	if (error)
		return error;
	error = get_with_topology(&topology, options, machine, warning);
	topology_deinit(&topology);
	return error;
}

static bool matches(const char *wanted, const char *value)
{
	return !wanted || !strcmp(wanted, value);
}

double machine_roof(const struct roof *roofs, size_t n_roofs, enum roof_kind kind, const char *isa,
		    const char *precision, const char *op, const char *level, double threads)
{
	/* The nearest measured thread counts on both sides and the best rows there. */
	int below = 0, above = 0;
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < n_roofs; i++) {
		const struct roof *roof = &roofs[i];
		if (roof->kind != kind || roof->by_node || !matches(isa, roof->isa) ||
		    !matches(precision, roof->precision) || !matches(op, roof->op) ||
		    !matches(level, roof->level))
			continue;
		if (roof->threads <= threads && roof->threads >= below) {
			at_below = roof->threads > below ? roof->best : fmax(at_below, roof->best);
			below = roof->threads;
		}
		if (roof->threads >= threads && (!above || roof->threads <= above)) {
			at_above = roof->threads != above ? roof->best : fmax(at_above, roof->best);
			above = roof->threads;
		}
	}
	/* Outside of the measured counts the nearest one holds. */
	if (!below || !above || below == above)
		return below ? at_below : at_above;
	return at_below + (at_above - at_below) * (threads - below) / (above - below);
}

bool machine_roof_interpolated(const struct roof *roofs, size_t n_roofs, double threads)
{
	for (size_t i = 0; i < n_roofs; i++)
		if (!roofs[i].by_node && fabs(roofs[i].threads - threads) < 0.02 * threads)
			return false;
	return n_roofs > 0;
}

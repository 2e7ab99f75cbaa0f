/* Measures kept roofs again, behind a program's run. */
#include "machine/store/machine_again.h"

#include "base/small_file.h"
#include "machine/roofs/roofs_again.h"
#include "machine/store/roof_cache.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

/* Looks at who runs, apart: a task that wakes up now and then is no load. */
#define LOOKS 3
#define LOOK_NS 1000000

int machine_idle_threads(const char *running, int online)
{
	int tasks;
	if (sscanf(running, "%*f %*f %*f %d/", &tasks) != 1 || tasks < 1)
		return online;
	return tasks - 1 < online ? online - (tasks - 1) : 0;
}

static int idle_threads(void)
{
	const struct timespec pause = {.tv_nsec = LOOK_NS};
	const int online = get_nprocs();
	int most = 0;
	for (int i = 0; i < LOOKS && most < online; i++) {
		char line[128];
		if (i)
			nanosleep(&pause, NULL);
		small_file_line("/proc", "loadavg", line, sizeof(line));
		const int idle = machine_idle_threads(line, online);
		most = idle > most ? idle : most;
	}
	return most;
}

/* Under the lock: reads the file again, since other runs may have added to it, measures, and
 * writes it. */
static struct rf_error *measure_kept(const struct topology *topology, uint64_t budget_ns,
				     const char *path, json_t *key, struct machine *machine)
{
	const struct roofs_again again = {.budget_ns = budget_ns, .n_idle = idle_threads()};
	struct machine kept = {0};
	size_t n = 0;
	if (!again.n_idle) /* as long as the machine is busy this is asked behind each run */
		return NULL;
	struct rf_error *absent = roof_cache_load(path, key, &kept);
	if (absent) {
		rf_error_destroy(absent);
		return NULL;
	}
	struct rf_error *error = roofs_measure_again(topology, &again, &kept, &n);
	/* A file that cannot be written was warned of when the roofs were measured. */
	if (n)
		rf_error_destroy(roof_cache_save(path, key, &kept));
	for (size_t i = 0; i < machine->n_roofs; i++) {
		const struct roof *row = machine_row(&kept, &machine->roofs[i]);
		if (row)
			machine->roofs[i] = *row;
	}
	machine_deinit(&kept);
	return error;
}

struct rf_error *machine_measure_again(uint64_t budget_ns, struct machine *machine)
{
	struct topology topology;
	char *directory = NULL;
	struct rf_error *homeless = keep_place_directory(&roof_cache_place, &directory);
	struct rf_error *unknown = homeless ? NULL : topology_read(&topology), *error = NULL;
	const int lock = homeless || unknown ? -1 : keep_file_lock(directory, 0);
	if (lock >= 0) {
		json_t *key = roof_cache_key(&topology);
		char *path = key ? roof_cache_path(directory, key) : NULL;
		error = path ? measure_kept(&topology, budget_ns, path, key, machine)
			     : rf_error_no_memory();
		free(path);
		json_decref(key);
		close(lock);
	}
	if (!homeless && !unknown)
		topology_deinit(&topology);
	free(directory);
	rf_error_destroy(homeless);
	rf_error_destroy(unknown);
	return error;
}

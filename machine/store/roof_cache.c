/* The file of measured roofs: its key, its name, reading and writing it. */
#include "machine/store/roof_cache.h"

#include "machine/data/machine_json.h"

#include <stdlib.h>

const struct keep_place roof_cache_place = {"XDG_CACHE_HOME", ".cache", "measured roofs"};

static json_t *cpu_to_json(const struct topology_cpu *cpu)
{
	json_t *caches = json_array();
	for (int i = 0; i < TOPOLOGY_LEVELS; i++)
		json_array_append_new(caches, json_pack("[I, i]", (json_int_t)cpu->caches[i].bytes,
							cpu->caches[i].id));
	return json_pack("{s:i, s:i, s:i, s:o}", "cpu", cpu->os_index, "core", cpu->core, "node",
			 cpu->numa_node, "caches", caches);
}

json_t *roof_cache_key(const struct topology *topology)
{
	json_t *cpus = json_array();
	for (int i = 0; i < topology->n_cpus; i++)
		json_array_append_new(cpus, cpu_to_json(&topology->cpus[i]));
	/* JSON has no unsigned 64-bit integers: no limit is 0. */
	json_int_t memory = topology->limits.memory_limit == UINT64_MAX
				    ? 0
				    : (json_int_t)topology->limits.memory_limit;
	return json_pack("{s:i, s:s, s:s, s:s, s:o, s:f, s:I}", "version", ROOF_CACHE_VERSION,
			 "cpu_model", topology->cpu_model, "microcode", topology->microcode,
			 "kernel", topology->kernel, "cpus", cpus, "cpu_quota",
			 topology->limits.cpus, "memory_limit", memory);
}

/* FNV-1a, 64 bits. */
static uint64_t hash_text(const char *text)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);
	for (; *text; text++)
		hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return hash;
}

char *roof_cache_path(const char *directory, json_t *key)
{
	char *text = json_dumps(key, JSON_COMPACT | JSON_SORT_KEYS), *path;
	if (!text)
		return NULL;
	int length = asprintf(&path, "%s/roofs-%016llx.json", directory,
			      (unsigned long long)hash_text(text));
	free(text);
	return length < 0 ? NULL : path;
}

struct rf_error *roof_cache_load(const char *path, json_t *key, struct machine *machine)
{
	json_t *json = NULL;
	struct rf_error *error = keep_file_read(path, JSON_REJECT_DUPLICATES, &json);
	json_t *file_key = json_object_get(json, "key");
	if (!error && !json_is_object(file_key))
		error = rf_error_create(RF_EFORMAT, NULL, "%s is corrupt: it has no key", path);
	else if (!error && !json_equal(file_key, key))
		error = rf_error_create(RF_EUNAVAILABLE, NULL, "%s is of another machine", path);
	if (!error) {
		struct rf_error *inner =
			machine_from_json(json_object_get(json, "machine"), machine);
		if (inner)
			error = rf_error_create(inner->code, NULL, "%s is corrupt: %s", path,
						inner->message);
		rf_error_destroy(inner);
	}
	json_decref(json);
	return error;
}

struct rf_error *roof_cache_save(const char *path, json_t *key, const struct machine *machine)
{
	json_t *content;
	struct rf_error *error = machine_to_json(machine, &content);
	if (error)
		return error;
	json_t *json = json_pack("{s:O, s:o}", "key", key, "machine", content);
	error = json ? keep_file_save(&roof_cache_place, path, json) : rf_error_no_memory();
	json_decref(json);
	return error;
}

/* The file of facts about the core: { "key": { … }, "core": { … core_json.h … } }, of one kind of
 * processor, whatever its caches, limits and numbers of threads are. */
#include "machine/store/core_store.h"

#include "machine/core/core_measure.h"
#include "machine/data/core_json.h"
#include "machine/store/keep_file.h"
#include "machine/store/roof_cache.h"
#include "machine/topology/topology.h"

#include <stdlib.h>
#include <string.h>

/* Goes up with each change to what is measured, or how. */
#define CORE_VERSION 5
#define BUDGET_NS UINT64_C(10000000000)

static json_t *key_here(void)
{
	struct topology topology;
	struct rf_error *error = topology_read(&topology);
	json_t *key = error ? NULL
			    : json_pack("{s:i, s:s, s:s}", "version", CORE_VERSION, "cpu_model",
					topology.cpu_model, "microcode", topology.microcode);
	if (!error)
		topology_deinit(&topology);
	rf_error_destroy(error);
	return key;
}

/* Heap; NULL: there is no home directory. */
static char *path_here(char **directory)
{
	char *path = NULL;
	struct rf_error *homeless = keep_place_directory(&roof_cache_place, directory);
	if (homeless || asprintf(&path, "%s/core.json", *directory) < 0)
		path = NULL;
	rf_error_destroy(homeless);
	return path;
}

void core_store_read(struct core_facts *facts)
{
	char *directory = NULL, *path = path_here(&directory);
	json_t *json = NULL, *key = path ? key_here() : NULL;
	struct rf_error *error = key ? keep_file_read(path, JSON_REJECT_DUPLICATES, &json) : NULL;
	*facts = (struct core_facts){0};
	if (json && json_equal(json_object_get(json, "key"), key))
		error = core_facts_from_json(json_object_get(json, "core"), facts);
	rf_error_destroy(error); /* what does not hold is measured again */
	json_decref(json);
	json_decref(key);
	free(path);
	free(directory);
}

void core_store_save(const struct core_facts *facts)
{
	char *directory = NULL, *path = path_here(&directory);
	json_t *key = path ? key_here() : NULL;
	json_t *json =
		key ? json_pack("{s:O, s:o}", "key", key, "core", core_facts_to_json(facts)) : NULL;
	struct rf_error *error = json ? keep_place_prepare(&roof_cache_place, directory) : NULL;
	if (json && !error)
		error = keep_file_save(&roof_cache_place, path, json);
	rf_error_destroy(error);
	json_decref(json);
	json_decref(key);
	free(path);
	free(directory);
}

struct rf_error *core_store_get(bool refresh, struct core_facts *facts)
{
	double alone[CORE_RATES]; /* which takes programs to see */
	core_store_read(facts);
	if (!refresh && core_facts_known(facts))
		return NULL;
	memcpy(alone, facts->alone, sizeof(alone));
	core_facts_deinit(facts);
	struct rf_error *error = core_measure(BUDGET_NS, facts);
	memcpy(facts->alone, alone, sizeof(alone));
	if (!error && core_facts_known(facts))
		core_store_save(facts);
	return error;
}

static uint64_t looks_at_all(const struct core_facts *facts)
{
	uint64_t looks = facts->looks;
	for (size_t i = 0; i < facts->n_forms; i++)
		looks += facts->forms[i].looks;
	return looks;
}

struct rf_error *core_store_more(const struct insn_form *forms, size_t n, uint64_t budget_ns,
				 struct core_facts *facts)
{
	const uint64_t before = looks_at_all(facts);
	struct rf_error *error = core_measure_more(forms, n, budget_ns, facts);
	if (!error && looks_at_all(facts) > before)
		core_store_save(facts);
	return error;
}

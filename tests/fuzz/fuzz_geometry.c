/* Fuzz target: any text as a geometry of caches.  What is accepted is possible, printed so that it
 * is read back, and can be simulated when it is small. */
#include "cache/hierarchy.h"

#include <stdlib.h>
#include <string.h>

#define SIMULATED (UINT64_C(1) << 20) /* bytes of the largest level */

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static void check_level(const struct cache_level *level)
{
	require(level->ways >= 1 && level->ways <= CACHE_WAYS && level->sets >= 1);
	require((uint64_t)level->ways * level->sets * CACHE_LINE == level->bytes &&
		level->bytes <= CACHE_BYTES);
	require(level->replacement == CACHE_LRU || (level->ways & (level->ways - 1)) == 0);
}

static void check_text(const struct geometry *geometry)
{
	struct geometry again;
	char *text = geometry_print(geometry);
	require(text != NULL);
	struct rf_error *error = geometry_parse(text, &again);
	require(!error && again.n_levels == geometry->n_levels);
	for (int i = 0; i < geometry->n_levels; i++)
		require(!memcmp(&again.levels[i], &geometry->levels[i], sizeof(again.levels[i])));
	free(text);
}

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	uint64_t *events = context;
	require(event < N_TRAFFIC && who < 3);
	events[event]++;
}

/* Each change is written once, or left. */
static void simulate(const struct geometry *geometry)
{
	uint64_t events[N_TRAFFIC] = {0};
	struct hierarchy *h =
		hierarchy_create(geometry, 1, UINT64_MAX, geometry->n_levels == 2, count, events);
	require(h != NULL);
	for (unsigned i = 0; i < 200; i++)
		hierarchy_access(h, i % 2, i * 7919, i % 3 ? CACHE_LOAD : CACHE_STORE, 0, 8, i % 3);
	hierarchy_finish(h);
	require(events[TRAFFIC_MEM_WRITE_BACK] + events[TRAFFIC_MEM_LEFT] == 67);
	hierarchy_destroy(h);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct geometry geometry = {.n_levels = 0};
	char *text = malloc(size + 1);
	require(text != NULL);
	memcpy(text, bytes, size);
	text[size] = '\0';
	struct rf_error *error = geometry_parse(text, &geometry);
	free(text);
	if (error) {
		require(error->message && error->hint && geometry.n_levels == 0);
		rf_error_destroy(error);
		return 0;
	}
	require(geometry.n_levels >= 1 && geometry.n_levels <= CACHE_LEVELS &&
		!geometry.levels[0].shared);
	uint64_t largest = 0;
	for (int i = 0; i < geometry.n_levels; i++) {
		check_level(&geometry.levels[i]);
		largest = geometry.levels[i].bytes > largest ? geometry.levels[i].bytes : largest;
	}
	check_text(&geometry);
	if (largest <= SIMULATED)
		simulate(&geometry);
	return 0;
}

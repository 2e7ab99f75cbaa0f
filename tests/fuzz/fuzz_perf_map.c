/* Fuzz target: any bytes as a perf-PID.map file.  Its ranges are in order, and the names lie in the
 * text. */
#include "tests/unit/symbols/perf_map_text.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct perf_map *map = perf_map_of((const char *)bytes, size);
	if (!map)
		return 0;
	for (size_t i = 0; i + 8 <= size; i += 3) {
		uint64_t address, start = 0;
		memcpy(&address, bytes + i, sizeof(address));
		address = i % 2 ? address : address & 0xffff;
		const char *name = perf_map_find(map, address, &start);
		if (name && (start > address || !*name || strlen(name) > PERF_MAP_MAX_NAME))
			abort();
	}
	/* each line adds one piece and cuts another in two at most */
	if (perf_map_n_ranges(map) > size)
		abort();
	perf_map_destroy(map);
	return 0;
}

/* Fuzz target: any bytes as a jit-PID.dump file.  Names are no longer than they may be, functions
 * begin where they are looked for or before. */
#include "tests/unit/symbols/jit_dump_file.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct jit_dump *dump = jit_dump_of(bytes, size, false);
	if (!dump)
		return 0;
	for (size_t i = 0; i + 16 <= size; i += 4) {
		uint64_t address, time, start = 0;
		memcpy(&address, bytes + i, sizeof(address));
		memcpy(&time, bytes + i + 8, sizeof(time));
		const char *name = jit_dump_find(dump, address, time, &start);
		if (name && (start > address || !*name || strlen(name) > JIT_DUMP_MAX_NAME))
			abort();
	}
	if (jit_dump_unused(dump) > JIT_DUMP_ALL_UNUSED)
		abort();
	jit_dump_destroy(dump);
	return 0;
}

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
		uint64_t address, time;
		struct jit_code code;
		memcpy(&address, bytes + i, sizeof(address));
		memcpy(&time, bytes + i + 8, sizeof(time));
		if (!jit_dump_find(dump, address, time, &code))
			continue;
		if (code.start > address || address - code.start >= code.size || !*code.name ||
		    strlen(code.name) > JIT_DUMP_MAX_NAME)
			abort();
		for (size_t k = 1; k < code.n_lines; k++)
			if (code.lines[k].offset <= code.lines[k - 1].offset)
				abort();
	}
	if (jit_dump_unused(dump) > JIT_DUMP_ALL_UNUSED)
		abort();
	jit_dump_destroy(dump);
	return 0;
}

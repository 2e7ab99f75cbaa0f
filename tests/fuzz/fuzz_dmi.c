/* Fuzz target: any bytes as a table of SMBIOS structures.  What is taken from it makes sense. */
#include "machine/topology/dmi.h"

#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	struct dmi_memory memory = {0};
	struct rf_error *error = dmi_memory_parse(bytes, size, &memory);
	if (error)
		require(error->message && memory.devices == 0);
	else
		require(memory.gbs > 0 && memory.mts > 0 && memory.channels > 0 &&
			memory.channels <= memory.devices);
	rf_error_destroy(error);
	return 0;
}

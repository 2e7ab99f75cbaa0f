/* Fuzz target: arbitrary bytes as `.eh_frame` and `.eh_frame_hdr`.  Every FDE that is reported
 * covers something.  Built with -fsanitize=fuzzer, or as a plain program with replay.c over a
 * folder of inputs. */
#include "symbols/eh_frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

static struct rf_error *check_fde(void *context, uint64_t start, uint64_t end)
{
	size_t *n = context;
	++*n;
	require(start < end);
	return NULL;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	/* A copy of exactly this size, so that the sanitizer sees each byte read beyond it. */
	uint8_t *bytes = malloc(size ? size : 1);
	if (!bytes)
		return 0;
	if (size)
		memcpy(bytes, data, size);
	struct elf_bytes section = {bytes, size, 0x400000};
	size_t n = 0;
	uint64_t vaddr;
	require(!eh_frame_walk(&section, check_fde, &n) && n <= size / 4);
	eh_frame_hdr_target(&section, &vaddr);
	free(bytes);
	return 0;
}

/* Fuzz target: arbitrary bytes as `.eh_frame`, `.debug_frame` and `.eh_frame_hdr`.  Every FDE that
 * is reported lies in the section and covers something.  Built with -fsanitize=fuzzer, or as a
 * plain program with replay.c over a folder of inputs. */
#include "symbols/eh_frame.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool condition)
{
	if (!condition)
		abort();
}

struct seen {
	const struct elf_bytes *section;
	size_t next;
};

static bool check_fde(void *context, const struct eh_frame_fde *fde)
{
	struct seen *seen = context;
	require(fde->start < fde->end);
	require(fde->offset >= seen->next && fde->offset < fde->instructions);
	require(fde->instructions <= fde->end_offset && fde->end_offset <= seen->section->size);
	require(fde->cie->offset < seen->section->size);
	require(fde->cie->instructions <= fde->cie->end && fde->cie->end <= seen->section->size);
	seen->next = fde->end_offset;
	return true;
}

static void check_header(const struct elf_bytes *section)
{
	uint64_t vaddr, n_entries;
	eh_frame_hdr_target(section, &vaddr);
	if (eh_frame_hdr_table(section, &vaddr, &n_entries))
		require(n_entries && vaddr - section->vaddr + n_entries * 8 <= section->size);
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
	struct seen eh_frame = {&section, 0}, debug_frame = {&section, 0};
	eh_frame_walk(&section, EH_FRAME, check_fde, &eh_frame);
	eh_frame_walk(&section, DEBUG_FRAME, check_fde, &debug_frame);
	check_header(&section);
	free(bytes);
	return 0;
}

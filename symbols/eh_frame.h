/* Call frame information in `.eh_frame`: which functions there are.
 * Format: LSB Core 5.0 section 10.6. */
#pragma once

#include "symbols/elf_file.h"

#include <stdbool.h>
#include <stdint.h>

/* A function [start, end), in virtual addresses; an error ends the walk. */
typedef struct rf_error *eh_frame_visit_fn(void *context, uint64_t start, uint64_t end);

/* Calls `visit` for every FDE that covers at least one byte, in the order of the section.  What
 * cannot be understood is passed over; the walk ends at a damaged length. */
struct rf_error *eh_frame_walk(const struct elf_bytes *section, eh_frame_visit_fn *visit,
			       void *context);

/* Where the `.eh_frame` section is that an `.eh_frame_hdr` belongs to. */
bool eh_frame_hdr_target(const struct elf_bytes *header, uint64_t *vaddr);

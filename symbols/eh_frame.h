/* Call frame information in `.eh_frame` and `.debug_frame`: which functions there are.
 * Format: LSB Core 5.0 section 10.6; DWARF 5 section 6.4.1 (.debug_frame). */
#pragma once

#include "symbols/elf_file.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct eh_frame_cie {
	size_t offset; /* of its length field, in the section */
	uint64_t code_align, return_register;
	int64_t data_align;
	uint8_t address_encoding;   /* DW_EH_PE_… of the FDEs' addresses */
	bool has_augmentation_data; /* FDEs carry a length and that many bytes */
	bool signal_frame;
	size_t instructions, end; /* in the section */
};

struct eh_frame_fde {
	uint64_t start, end;             /* virtual addresses [start, end) */
	size_t offset;                   /* of its length field, in the section */
	size_t instructions, end_offset; /* in the section */
	const struct eh_frame_cie *cie;  /* valid during the call */
};

/* Returns false to stop the walk. */
typedef bool eh_frame_visit_fn(void *context, const struct eh_frame_fde *fde);

enum eh_frame_kind { EH_FRAME, DEBUG_FRAME };

/* Calls `visit` for every FDE that covers at least one byte, in the order of the section.  What
 * cannot be understood is passed over; the walk ends at a damaged length. */
void eh_frame_walk(const struct elf_bytes *section, enum eh_frame_kind kind,
		   eh_frame_visit_fn *visit, void *context);

/* Where the `.eh_frame` section is that an `.eh_frame_hdr` belongs to. */
bool eh_frame_hdr_target(const struct elf_bytes *header, uint64_t *vaddr);

/* The binary search table of an `.eh_frame_hdr`: its address and number of entries of two
 * 4-byte offsets from the start of the header.  False when there is none of that usual form. */
bool eh_frame_hdr_table(const struct elf_bytes *header, uint64_t *vaddr, uint64_t *n_entries);

/* Reading call frame information: libdw takes the entries apart, but not what their addresses are.
 * The section may be damaged: every read is within bounds, and what is beyond them fails the entry.
 */
#include "symbols/eh_frame.h"

#include <elfutils/libdw.h>
#include <string.h>

/* Pointer encodings: LSB Core 5.0, 10.5.1. */
enum {
	PE_ABSPTR = 0x00,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
};

/* A place in the section; every read moves it on, and fails it for good at the end. */
struct reader {
	const struct elf_bytes *section;
	const uint8_t *at, *end;
	bool failed;
};

static uint64_t read_fixed(struct reader *reader, size_t size)
{
	uint64_t value = 0;
	if (reader->failed || (size_t)(reader->end - reader->at) < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->at, size);
	reader->at += size;
	return value;
}

static uint64_t read_format(struct reader *reader, uint8_t encoding)
{
	switch (encoding & PE_FORMAT) {
	case PE_ABSPTR:
	case PE_UDATA8:
	case PE_SDATA8:
		return read_fixed(reader, 8);
	case PE_UDATA4:
		return read_fixed(reader, 4);
	case PE_SDATA4:
		return (int64_t)(int32_t)read_fixed(reader, 4);
	case PE_UDATA2:
		return read_fixed(reader, 2);
	case PE_SDATA2:
		return (int64_t)(int16_t)read_fixed(reader, 2);
	}
	reader->failed = true;
	return 0;
}

/* A pointer; `data_base` is what DW_EH_PE_datarel counts from. */
static uint64_t read_pointer(struct reader *reader, uint8_t encoding, uint64_t data_base)
{
	uint64_t here = reader->section->vaddr + (uint64_t)(reader->at - reader->section->bytes);
	uint64_t value = read_format(reader, encoding);
	switch (encoding & ~PE_FORMAT) {
	case PE_ABSPTR:
		return value;
	case PE_PCREL:
		return value + here;
	case PE_DATAREL:
		return value + data_base;
	}
	reader->failed = true;
	return 0;
}

/* The DW_EH_PE_… of the addresses in the FDEs of a CIE; false: it cannot be told. */
static bool address_encoding(const struct elf_bytes *section, const Dwarf_CIE *cie,
			     uint8_t *encoding)
{
	struct reader reader = {section, cie->augmentation_data,
				cie->augmentation_data + cie->augmentation_data_size, false};
	*encoding = PE_ABSPTR;
	if (cie->augmentation[0] != 'z')
		return true;
	for (const char *letter = cie->augmentation + 1; *letter && !reader.failed; letter++) {
		if (*letter == 'R')
			*encoding = read_fixed(&reader, 1);
		else if (*letter == 'P')
			read_format(&reader, read_fixed(&reader, 1));
		else if (*letter == 'L')
			read_fixed(&reader, 1);
		else if (*letter != 'S' && *letter != 'B')
			break;
	}
	return !reader.failed;
}

/* Consecutive FDEs share a CIE, so the last one's encoding is kept. */
struct cie {
	Dwarf_Off offset;
	bool known;
	uint8_t encoding;
};

/* 1: the section ends, -1: what is at `at` cannot be understood; see dwarf_next_cfi. */
static int next_entry(const struct elf_bytes *section, Dwarf_Off at, Dwarf_Off *next,
		      Dwarf_CFI_Entry *entry)
{
	static const unsigned char ident[EI_NIDENT] = {
		[EI_CLASS] = ELFCLASS64, [EI_DATA] = ELFDATA2LSB};
	Elf_Data data = {.d_buf = (void *)section->bytes,
			 .d_type = ELF_T_BYTE,
			 .d_version = EV_CURRENT,
			 .d_size = section->size};
	return dwarf_next_cfi(ident, &data, true, at, next, entry);
}

static bool find_cie(const struct elf_bytes *section, Dwarf_Off offset, struct cie *cie)
{
	Dwarf_CFI_Entry entry;
	Dwarf_Off next;
	if (cie->known && cie->offset == offset)
		return true;
	cie->offset = offset;
	cie->known = offset < section->size && next_entry(section, offset, &next, &entry) == 0 &&
		     dwarf_cfi_cie_p(&entry) &&
		     address_encoding(section, &entry.cie, &cie->encoding);
	return cie->known;
}

struct rf_error *eh_frame_walk(const struct elf_bytes *section, eh_frame_visit_fn *visit,
			       void *context)
{
	struct cie cie = {.known = false};
	struct rf_error *error = NULL;
	int result;
	for (Dwarf_Off at = 0, next = 0; !error; at = next) {
		Dwarf_CFI_Entry entry;
		result = next_entry(section, at, &next, &entry);
		if (result > 0 || next <= at || next > section->size)
			break;
		if (result < 0 || dwarf_cfi_cie_p(&entry) ||
		    !find_cie(section, entry.fde.CIE_pointer, &cie))
			continue;
		struct reader reader = {section, entry.fde.start, entry.fde.end, false};
		const uint64_t start = read_pointer(&reader, cie.encoding, 0);
		const uint64_t end = start + read_format(&reader, cie.encoding);
		if (!reader.failed && start < end)
			error = visit(context, start, end);
	}
	return error;
}

/* Reads the fixed part of an `.eh_frame_hdr`: LSB Core 5.0, 10.6.2. */
bool eh_frame_hdr_target(const struct elf_bytes *header, uint64_t *vaddr)
{
	struct reader reader = {header, header->bytes, header->bytes + header->size, false};
	const uint8_t version = read_fixed(&reader, 1), encoding = read_fixed(&reader, 1);
	(void)read_fixed(&reader, 2); /* encodings of what follows */
	*vaddr = read_pointer(&reader, encoding, header->vaddr);
	return version == 1 && !reader.failed;
}

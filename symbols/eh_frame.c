/* Reading call frame information.  The sections may be damaged: every read is within bounds, and
 * what is beyond them fails the entry. */
#include "symbols/eh_frame.h"

#include <string.h>

/* Pointer encodings: LSB Core 5.0, 10.5.1. */
enum {
	PE_ABSPTR = 0x00,
	PE_ULEB128 = 0x01,
	PE_UDATA2 = 0x02,
	PE_UDATA4 = 0x03,
	PE_UDATA8 = 0x04,
	PE_SLEB128 = 0x09,
	PE_SDATA2 = 0x0a,
	PE_SDATA4 = 0x0b,
	PE_SDATA8 = 0x0c,
	PE_FORMAT = 0x0f,
	PE_PCREL = 0x10,
	PE_DATAREL = 0x30,
	PE_APPLICATION = 0x70,
	PE_OMIT = 0xff,
};

/* A place in the section; every read moves it on, and fails it for good at the end. */
struct reader {
	const struct elf_bytes *section;
	size_t position, end;
	bool failed;
};

static uint64_t read_fixed(struct reader *reader, size_t size)
{
	uint64_t value = 0;
	if (reader->failed || reader->end - reader->position < size) {
		reader->failed = true;
		return 0;
	}
	memcpy(&value, reader->section->bytes + reader->position, size);
	reader->position += size;
	return value;
}

static uint64_t read_uleb(struct reader *reader)
{
	uint64_t value = 0;
	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = read_fixed(reader, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return value;
	}
}

static int64_t read_sleb(struct reader *reader)
{
	uint64_t value = 0;
	for (unsigned int shift = 0;; shift += 7) {
		uint8_t byte = read_fixed(reader, 1);
		if (shift < 64)
			value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if ((byte & 0x40) && shift + 7 < 64)
			value |= ~(uint64_t)0 << (shift + 7);
		return (int64_t)value;
	}
}

static void skip(struct reader *reader, uint64_t n)
{
	if (reader->failed || n > reader->end - reader->position)
		reader->failed = true;
	else
		reader->position += n;
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
	case PE_ULEB128:
		return read_uleb(reader);
	case PE_SLEB128:
		return read_sleb(reader);
	}
	reader->failed = true;
	return 0;
}

/* A pointer; `data_base` is what DW_EH_PE_datarel counts from. */
static uint64_t read_pointer(struct reader *reader, uint8_t encoding, uint64_t data_base)
{
	uint64_t here = reader->section->vaddr + reader->position;
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

/* The header of a CIE or FDE. */
struct entry {
	size_t offset;    /* of the length field */
	size_t id_offset; /* of the CIE id or pointer */
	uint64_t id;
	size_t body; /* after it */
	size_t end;
	bool is_cie;
};

/* Reads the header at `offset`; false at the terminator, the end, or a damaged length. */
static bool read_entry(const struct elf_bytes *section, enum eh_frame_kind kind, size_t offset,
		       struct entry *entry)
{
	struct reader reader = {section, offset, section->size, false};
	uint64_t length = read_fixed(&reader, 4);
	size_t id_size = 4;
	if (length == UINT32_MAX) {
		length = read_fixed(&reader, 8);
		id_size = 8;
	}
	if (reader.failed || length < id_size || length > reader.end - reader.position)
		return false;
	entry->offset = offset;
	entry->id_offset = reader.position;
	entry->end = reader.position + length;
	entry->id = read_fixed(&reader, id_size);
	entry->body = reader.position;
	uint64_t cie_id = kind == EH_FRAME ? 0 : id_size == 4 ? UINT32_MAX : UINT64_MAX;
	entry->is_cie = entry->id == cie_id;
	return true;
}

/* Augmentation data of a CIE with a "z…" string: only the address encoding matters here. */
static void read_augmentation(struct reader *reader, const char *letters, struct eh_frame_cie *cie)
{
	cie->has_augmentation_data = true;
	uint64_t length = read_uleb(reader);
	size_t start = reader->position;
	for (; *letters && !reader->failed; letters++) {
		if (*letters == 'R')
			cie->address_encoding = read_fixed(reader, 1);
		else if (*letters == 'P')
			read_format(reader, read_fixed(reader, 1));
		else if (*letters == 'L')
			read_fixed(reader, 1);
		else if (*letters == 'S')
			cie->signal_frame = true;
		else if (*letters != 'B')
			break;
	}
	reader->position = start;
	skip(reader, length);
}

static bool read_cie(const struct elf_bytes *section, const struct entry *entry,
		     struct eh_frame_cie *cie)
{
	struct reader reader = {section, entry->body, entry->end, false};
	*cie = (struct eh_frame_cie){.offset = entry->offset, .end = entry->end};
	uint8_t version = read_fixed(&reader, 1);
	const char *letters = (const char *)section->bytes + reader.position;
	if (!memchr(letters, '\0', reader.end - reader.position))
		return false;
	skip(&reader, strlen(letters) + 1);
	if (version >= 4)
		skip(&reader, 2); /* sizes of addresses and segment selectors */
	if (strcmp(letters, "eh") == 0)
		skip(&reader, 8); /* GCC 2: a pointer to exception data */
	cie->code_align = read_uleb(&reader);
	cie->data_align = read_sleb(&reader);
	cie->return_register = version == 1 ? read_fixed(&reader, 1) : read_uleb(&reader);
	if (letters[0] == 'z')
		read_augmentation(&reader, letters + 1, cie);
	cie->instructions = reader.position;
	return !reader.failed && (version == 1 || version == 3 || version == 4);
}

/* Finds the CIE of an FDE; consecutive FDEs share one, so the last is kept in *cie. */
static bool find_cie(const struct elf_bytes *section, enum eh_frame_kind kind,
		     const struct entry *fde, struct eh_frame_cie *cie, bool *have_cie)
{
	uint64_t offset = kind == EH_FRAME ? fde->id_offset - fde->id : fde->id;
	if (*have_cie && cie->offset == offset)
		return true;
	struct entry entry;
	*have_cie = offset < section->size && read_entry(section, kind, offset, &entry) &&
		    entry.is_cie && read_cie(section, &entry, cie);
	return *have_cie;
}

static bool read_fde(const struct elf_bytes *section, const struct entry *entry,
		     const struct eh_frame_cie *cie, struct eh_frame_fde *fde)
{
	struct reader reader = {section, entry->body, entry->end, false};
	uint64_t start = read_pointer(&reader, cie->address_encoding, 0);
	uint64_t size = read_format(&reader, cie->address_encoding & PE_FORMAT);
	if (cie->has_augmentation_data)
		skip(&reader, read_uleb(&reader));
	*fde = (struct eh_frame_fde){
		.start = start,
		.end = start + size,
		.offset = entry->offset,
		.instructions = reader.position,
		.end_offset = entry->end,
		.cie = cie,
	};
	return !reader.failed && fde->end > fde->start;
}

void eh_frame_walk(const struct elf_bytes *section, enum eh_frame_kind kind,
		   eh_frame_visit_fn *visit, void *context)
{
	struct eh_frame_cie cie;
	bool have_cie = false;
	struct entry entry;
	for (size_t at = 0; read_entry(section, kind, at, &entry); at = entry.end) {
		struct eh_frame_fde fde;
		if (entry.is_cie || !find_cie(section, kind, &entry, &cie, &have_cie) ||
		    !read_fde(section, &entry, &cie, &fde))
			continue;
		if (!visit(context, &fde))
			return;
	}
}

/* Reads the fixed part of an `.eh_frame_hdr`: LSB Core 5.0, 10.6.2. */
static bool read_hdr(const struct elf_bytes *header, uint8_t *table_encoding, uint64_t *target,
		     uint64_t *n_entries, size_t *table)
{
	struct reader reader = {header, 0, header->size, false};
	if (read_fixed(&reader, 1) != 1)
		return false;
	uint8_t target_encoding = read_fixed(&reader, 1);
	uint8_t count_encoding = read_fixed(&reader, 1);
	*table_encoding = read_fixed(&reader, 1);
	*target = read_pointer(&reader, target_encoding, header->vaddr);
	if (reader.failed)
		return false;
	*n_entries = count_encoding == PE_OMIT ? 0 : read_pointer(&reader, count_encoding, 0);
	if (reader.failed)
		*n_entries = 0;
	*table = reader.position;
	return true;
}

bool eh_frame_hdr_target(const struct elf_bytes *header, uint64_t *vaddr)
{
	uint8_t encoding;
	uint64_t n_entries;
	size_t table;
	return read_hdr(header, &encoding, vaddr, &n_entries, &table);
}

bool eh_frame_hdr_table(const struct elf_bytes *header, uint64_t *vaddr, uint64_t *n_entries)
{
	uint8_t encoding;
	uint64_t target;
	size_t table;
	if (!read_hdr(header, &encoding, &target, n_entries, &table))
		return false;
	*vaddr = header->vaddr + table;
	return encoding == (PE_DATAREL | PE_SDATA4) && *n_entries > 0 &&
	       *n_entries <= (header->size - table) / 8;
}

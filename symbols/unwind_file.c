/* A mapped file for the unwinder: it is opened, its search table is found, and where it has none
 * one is made.  Where memory is short a table stays unmade: walks end at that file's code. */
#include "symbols/unwind_file.h"

#include "base/array.h"
#include "symbols/eh_frame.h"
#include "symbols/vdso.h"

#include <stdlib.h>
#include <string.h>

/* Pointer encodings of what is written here: LSB Core 5.0, 10.5.1. */
enum { PE_PCREL_SDATA8 = 0x1c };

static struct rf_error *open_elf(const char *path, struct elf_file *elf)
{
	const void *image;
	size_t size;
	if (strcmp(path, "[vdso]") == 0 && vdso_image(&image, &size))
		return elf_file_open_image(path, image, size, elf);
	if (path[0] != '/')
		return rf_error_create(RF_EUNAVAILABLE, NULL, "%s is no file", path);
	return elf_file_open(path, elf);
}

struct unwind_file *unwind_file_create(const char *path, size_t index)
{
	struct unwind_file *file = calloc(1, sizeof(*file));
	if (!file || !(file->path = strdup(path))) {
		free(file);
		return NULL;
	}
	struct rf_error *error = open_elf(path, &file->elf);
	file->usable = !error;
	rf_error_destroy(error);
	/* Bits 48 up to 62: no user address has them, so a made table never hides a real one. */
	file->made_vaddr = (uint64_t)(index + 1) << 48;
	struct elf_bytes header;
	if (!file->usable || !elf_file_eh_frame_hdr(&file->elf, &header))
		return file;
	file->header_vaddr = header.vaddr;
	if (!eh_frame_hdr_table(&header, &file->table_vaddr, &file->n_entries))
		file->n_entries = 0;
	return file;
}

void unwind_file_destroy(struct unwind_file *file)
{
	if (!file)
		return;
	if (file->usable)
		elf_file_close(&file->elf);
	free(file->path);
	free(file->made);
	free(file);
}

struct table_entry {
	int32_t function, fde;
};

/* The table in the making: CIEs and FDEs gather in `frames`; the entries, of which nobody knows
 * how many there will be, are put in front of them at the end. */
struct table_maker {
	struct unwind_file *file;
	const struct elf_bytes *section;
	struct table_entry *entries;
	size_t n_entries, cap_entries;
	size_t cie_source, cie; /* the last CIE: its offset in the section and in `frames` */
	bool have_cie;
	uint8_t *frames;
	size_t n_frames, cap_frames;
};

static bool put(struct table_maker *maker, const void *bytes, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (!rf_array_push(maker->frames, maker->n_frames, maker->cap_frames,
				   ((const uint8_t *)bytes)[i]))
			return false;
	return true;
}

static bool put_byte(struct table_maker *maker, uint8_t byte)
{
	return put(maker, &byte, 1);
}

static bool put_uleb(struct table_maker *maker, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		if (!put_byte(maker, value | 0x80))
			return false;
	return put_byte(maker, value);
}

static bool put_sleb(struct table_maker *maker, int64_t value)
{
	for (; value < -64 || value > 63; value >>= 7)
		if (!put_byte(maker, (value & 0x7f) | 0x80))
			return false;
	return put_byte(maker, value & 0x7f);
}

/* Begins a CIE or FDE with a length to be filled in, and ends it. */
static bool put_length(struct table_maker *maker)
{
	uint32_t unknown = 0;
	return put(maker, &unknown, sizeof(unknown));
}

static void fill_length(struct table_maker *maker, size_t start)
{
	uint32_t length = maker->n_frames - start - sizeof(length);
	memcpy(maker->frames + start, &length, sizeof(length));
}

static bool put_cie(struct table_maker *maker, const struct eh_frame_cie *cie)
{
	if (maker->have_cie && maker->cie_source == cie->offset)
		return true;
	uint32_t id = 0;
	const char *letters = cie->signal_frame ? "zRS" : "zR";
	size_t start = maker->n_frames;
	bool ok =
		put_length(maker) && put(maker, &id, sizeof(id)) && put_byte(maker, 1) &&
		put(maker, letters, strlen(letters) + 1) && put_uleb(maker, cie->code_align) &&
		put_sleb(maker, cie->data_align) && put_byte(maker, cie->return_register) &&
		put_uleb(maker, 1) && put_byte(maker, PE_PCREL_SDATA8) &&
		put(maker, maker->section->bytes + cie->instructions, cie->end - cie->instructions);
	if (!ok)
		return false;
	fill_length(maker, start);
	maker->have_cie = true;
	maker->cie_source = cie->offset;
	maker->cie = start;
	return true;
}

/* Writes one FDE.  Its address is not known yet (the entries come before it), so the pc-relative
 * start is written as a plain address, and made relative by finish_table. */
static bool add_fde(void *context, const struct eh_frame_fde *fde)
{
	struct table_maker *maker = context;
	uint64_t function = fde->start - maker->file->elf.low;
	if (fde->start < maker->file->elf.low || function > INT32_MAX ||
	    fde->cie->return_register > UINT8_MAX || maker->n_frames > INT32_MAX / 2)
		return true;
	if (!put_cie(maker, fde->cie))
		return false;
	size_t start = maker->n_frames;
	struct table_entry entry = {function, start};
	uint32_t to_cie = start + sizeof(uint32_t) - maker->cie;
	uint64_t size = fde->end - fde->start;
	if (!put_length(maker) || !put(maker, &to_cie, sizeof(to_cie)) ||
	    !put(maker, &fde->start, sizeof(fde->start)) || !put(maker, &size, sizeof(size)) ||
	    !put_uleb(maker, 0) ||
	    !put(maker, maker->section->bytes + fde->instructions,
		 fde->end_offset - fde->instructions))
		return false;
	fill_length(maker, start);
	return rf_array_push(maker->entries, maker->n_entries, maker->cap_entries, entry);
}

static int compare_entries(const void *left, const void *right)
{
	const struct table_entry *a = left, *b = right;
	return a->function < b->function ? -1 : a->function > b->function;
}

/* Puts the sorted entries in front of the frames and settles all addresses. */
static void finish_table(struct table_maker *maker)
{
	struct unwind_file *file = maker->file;
	size_t entries_size = maker->n_entries * sizeof(*maker->entries);
	uint8_t *made = malloc(entries_size + maker->n_frames);
	if (!made)
		return;
	qsort(maker->entries, maker->n_entries, sizeof(*maker->entries), compare_entries);
	memcpy(made + entries_size, maker->frames, maker->n_frames);
	for (size_t i = 0; i < maker->n_entries; i++) {
		struct table_entry *entry = &maker->entries[i];
		entry->fde += entries_size;
		uint8_t *field = made + entry->fde + 2 * sizeof(uint32_t);
		uint64_t start;
		memcpy(&start, field, sizeof(start));
		start -= file->made_vaddr + (field - made);
		memcpy(field, &start, sizeof(start));
	}
	memcpy(made, maker->entries, entries_size);
	file->made = made;
	file->made_size = entries_size + maker->n_frames;
	file->n_made = maker->n_entries;
}

void unwind_file_make_table(struct unwind_file *file)
{
	if (file->made_done || !file->usable)
		return;
	file->made_done = true;
	struct table_maker maker = {.file = file};
	struct elf_bytes section;
	maker.section = &section;
	if (!file->n_entries && elf_file_eh_frame(&file->elf, &section))
		eh_frame_walk(&section, EH_FRAME, add_fde, &maker);
	maker.have_cie = false;
	if (elf_file_section(&file->elf, ".debug_frame", &section))
		eh_frame_walk(&section, DEBUG_FRAME, add_fde, &maker);
	if (maker.n_entries)
		finish_table(&maker);
	free(maker.entries);
	free(maker.frames);
}

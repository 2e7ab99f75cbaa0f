/* ELF by pread: neither a mapping, which ends with SIGBUS when the file is cut meanwhile, nor a
 * library that believes what the file says. */
#include "tracer/process/file_headers.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* More than any linker writes; the kernel's own limit is 64 KiB of them. */
#define MAX_PROGRAM_HEADERS 512
/* Of the notes of one segment that many bytes are looked at. */
#define MAX_NOTES 4096

static bool read_at(int fd, uint64_t offset, void *to, size_t size)
{
	return offset <= INT64_MAX && pread(fd, to, size, (off_t)offset) == (ssize_t)size;
}

/* ---- one form for both classes ---- */

struct table {
	bool is_32_bit;
	uint64_t offset;
	size_t n;
};

static bool find_table(int fd, struct table *table)
{
	Elf64_Ehdr wide;
	Elf32_Ehdr narrow;
	if (!read_at(fd, 0, &narrow, sizeof(narrow)) ||
	    memcmp(narrow.e_ident, ELFMAG, SELFMAG) != 0 || narrow.e_ident[EI_DATA] != ELFDATA2LSB)
		return false;
	table->is_32_bit = narrow.e_ident[EI_CLASS] == ELFCLASS32;
	table->offset = narrow.e_phoff;
	table->n = narrow.e_phnum;
	if (table->is_32_bit)
		return narrow.e_phentsize == sizeof(Elf32_Phdr);
	if (narrow.e_ident[EI_CLASS] != ELFCLASS64 || !read_at(fd, 0, &wide, sizeof(wide)))
		return false;
	table->offset = wide.e_phoff;
	table->n = wide.e_phnum;
	return wide.e_phentsize == sizeof(Elf64_Phdr);
}

static bool read_header(int fd, const struct table *table, size_t i, Elf64_Phdr *header)
{
	Elf32_Phdr narrow;
	if (!table->is_32_bit)
		return read_at(fd, table->offset + i * sizeof(*header), header, sizeof(*header));
	if (!read_at(fd, table->offset + i * sizeof(narrow), &narrow, sizeof(narrow)))
		return false;
	*header = (Elf64_Phdr){
		.p_type = narrow.p_type,
		.p_flags = narrow.p_flags,
		.p_offset = narrow.p_offset,
		.p_vaddr = narrow.p_vaddr,
		.p_filesz = narrow.p_filesz,
		.p_memsz = narrow.p_memsz,
		.p_align = narrow.p_align,
	};
	return true;
}

/* ---- what they say ---- */

static void add_load(struct file_headers *headers, const Elf64_Phdr *header)
{
	if (header->p_vaddr + header->p_memsz < header->p_vaddr)
		return;
	if (header->p_vaddr < headers->low)
		headers->low = header->p_vaddr;
	if (header->p_vaddr + header->p_memsz > headers->high)
		headers->high = header->p_vaddr + header->p_memsz;
	if (header->p_flags & PF_X)
		headers->segments[headers->n_segments++] =
			(struct module_segment){header->p_offset, header->p_filesz,
						header->p_vaddr};
}

/* `size` rounded up to the alignment of notes, 4 or 8. */
static size_t aligned(size_t size, uint64_t align)
{
	const size_t unit = align == 8 ? 8 : 4;
	return (size + unit - 1) & ~(unit - 1);
}

/* Notes: a header, a name and a description, each of them aligned (ELF gABI, "Note Section"). */
static void find_build_id(struct file_headers *headers, const uint8_t *notes, size_t size,
			  uint64_t align)
{
	Elf64_Nhdr note;
	for (size_t at = 0; size - at >= sizeof(note);) {
		memcpy(&note, notes + at, sizeof(note));
		at += sizeof(note);
		if (note.n_namesz > size - at)
			return;
		const size_t description = at + aligned(note.n_namesz, align);
		if (description > size || note.n_descsz > size - description)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    memcmp(notes + at, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) == 0) {
			const size_t n =
				note.n_descsz < MAX_BUILD_ID ? note.n_descsz : MAX_BUILD_ID;
			memcpy(headers->build_id, notes + description, n);
			headers->build_id_size = n;
			return;
		}
		at = description + aligned(note.n_descsz, align);
		if (at > size)
			return;
	}
}

static void read_notes(int fd, struct file_headers *headers, const Elf64_Phdr *header)
{
	uint8_t notes[MAX_NOTES];
	const size_t size = header->p_filesz < MAX_NOTES ? header->p_filesz : MAX_NOTES;
	if (!headers->build_id_size && read_at(fd, header->p_offset, notes, size))
		find_build_id(headers, notes, size, header->p_align);
}

bool file_headers_read(int fd, struct file_headers *out)
{
	struct table table;
	struct file_headers headers = {.low = UINT64_MAX};
	if (!find_table(fd, &table) || !table.n || table.n > MAX_PROGRAM_HEADERS)
		return false;
	headers.segments = calloc(table.n, sizeof(*headers.segments));
	for (size_t i = 0; headers.segments && i < table.n; i++) {
		Elf64_Phdr header;
		if (!read_header(fd, &table, i, &header))
			continue;
		if (header.p_type == PT_LOAD)
			add_load(&headers, &header);
		else if (header.p_type == PT_NOTE)
			read_notes(fd, &headers, &header);
	}
	*out = headers;
	return headers.segments;
}

/* Reading ELF files: how they are opened, which part of virtual memory their bytes are for, their
 * sections, and their build id.  The files may be damaged: nothing that they say is believed. */
#include "symbols/elf_file.h"

#include "base/crash.h"
#include "base/search.h"
#include "symbols/eh_frame.h"

#include <assert.h>
#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

/* More program headers than any linker writes; keeps look-ups in a damaged file short. */
#define MAX_PROGRAM_HEADERS 512

static struct rf_error *format_error(const char *name, const char *what)
{
	return rf_error_create(RF_EFORMAT, NULL, "%s: %s", name, what);
}

static bool is_x86_64(const uint8_t *bytes, size_t size)
{
	Elf64_Ehdr header;
	if (!bytes || size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return memcmp(header.e_ident, ELFMAG, SELFMAG) == 0 &&
	       header.e_ident[EI_CLASS] == ELFCLASS64 && header.e_ident[EI_DATA] == ELFDATA2LSB &&
	       header.e_machine == EM_X86_64;
}

static void add_segment(struct elf_file *file, const GElf_Phdr *phdr)
{
	if (phdr->p_vaddr + phdr->p_memsz < phdr->p_vaddr)
		return;
	struct elf_segment segment = {
		.vaddr = phdr->p_vaddr,
		.memory_size = phdr->p_memsz,
		.offset = phdr->p_offset,
		.executable = phdr->p_flags & PF_X,
	};
	if (phdr->p_offset < file->size) {
		uint64_t left = file->size - phdr->p_offset;
		segment.file_size = phdr->p_filesz < left ? phdr->p_filesz : left;
		if (segment.file_size > segment.memory_size)
			segment.file_size = segment.memory_size;
	}
	if (!file->n_segments || segment.vaddr < file->low)
		file->low = segment.vaddr;
	if (!file->n_segments || segment.vaddr + segment.memory_size > file->high)
		file->high = segment.vaddr + segment.memory_size;
	file->segments[file->n_segments++] = segment;
}

static struct rf_error *read_segments(const char *name, struct elf_file *file)
{
	size_t n;
	if (elf_getphdrnum(file->elf, &n) != 0 || n > MAX_PROGRAM_HEADERS)
		return format_error(name, "its program headers cannot be read");
	file->segments = calloc(n + 1, sizeof(*file->segments));
	if (!file->segments)
		return rf_error_no_memory();
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;
		if (gelf_getphdr(file->elf, i, &phdr) && phdr.p_type == PT_LOAD)
			add_segment(file, &phdr);
	}
	return NULL;
}

static int compare_edges(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return *a < *b ? -1 : *a > *b;
}

static struct rf_error *read_edges(struct elf_file *file)
{
	size_t n = 0;
	if (elf_getshdrnum(file->elf, &n) != 0)
		n = 0;
	file->edges = calloc(2 * (n + file->n_segments) + 1, sizeof(*file->edges));
	if (!file->edges)
		return rf_error_no_memory();
	for (size_t i = 0; i < file->n_segments; i++) {
		file->edges[file->n_edges++] = file->segments[i].vaddr;
		file->edges[file->n_edges++] =
			file->segments[i].vaddr + file->segments[i].memory_size;
	}
	for (size_t i = 0; i < n; i++) {
		GElf_Shdr header;
		Elf_Scn *section = elf_getscn(file->elf, i);
		/* .tbss takes no place where its address says */
		if (!section || !gelf_getshdr(section, &header) || !(header.sh_flags & SHF_ALLOC) ||
		    (header.sh_flags & SHF_TLS && header.sh_type == SHT_NOBITS))
			continue;
		file->edges[file->n_edges++] = header.sh_addr;
		file->edges[file->n_edges++] = header.sh_addr + header.sh_size;
	}
	qsort(file->edges, file->n_edges, sizeof(*file->edges), compare_edges);
	return NULL;
}

/* The common end of both ways to open: `file->elf` is set. */
static struct rf_error *finish_open(const char *name, struct elf_file *file, struct elf_file *out)
{
	struct rf_error *error = NULL;
	if (!file->elf)
		error = format_error(name, elf_errmsg(-1));
	if (!error && elf_kind(file->elf) == ELF_K_ELF)
		file->bytes = (const uint8_t *)elf_rawfile(file->elf, &file->size);
	if (!error && !is_x86_64(file->bytes, file->size))
		error = format_error(name, "not a 64-bit x86-64 ELF file");
	if (!error)
		error = read_segments(name, file);
	if (!error)
		error = read_edges(file);
	if (error) {
		elf_file_close(file);
		return error;
	}
	*out = *file;
	return NULL;
}

struct rf_error *elf_file_descriptor(const char *path, int *out)
{
	struct stat status;
	/* Opening a FIFO or a device by a stale path must neither block nor act on it. */
	const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return rf_error_errno(RF_EACCESS, errno, NULL, "cannot open %s", path);
	if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) {
		close(fd);
		return format_error(path, "not a regular file");
	}
	*out = fd;
	return NULL;
}

struct rf_error *elf_file_read(const char *name, int fd, struct elf_file *out)
{
	elf_version(EV_CURRENT);
	struct elf_file file = {.fd = fd, .elf = elf_begin(fd, ELF_C_READ_MMAP, NULL)};
	return finish_open(name, &file, out);
}

struct rf_error *elf_file_open(const char *path, struct elf_file *out)
{
	int fd;
	return elf_file_descriptor(path, &fd) ?: elf_file_read(path, fd, out);
}

struct rf_error *elf_file_open_image(const char *name, const void *image, size_t size,
				     struct elf_file *out)
{
	elf_version(EV_CURRENT);
	struct elf_file file = {.fd = -1, .copy = malloc(size + 1)};
	if (!file.copy)
		return rf_error_no_memory();
	memcpy(file.copy, image, size);
	file.elf = elf_memory(file.copy, size);
	return finish_open(name, &file, out);
}

void elf_file_close(struct elf_file *file)
{
	if (file->elf)
		elf_end(file->elf);
	if (file->fd >= 0)
		close(file->fd);
	free(file->copy);
	if (file->mapping)
		munmap(file->mapping, file->size);
	free(file->segments);
	free(file->edges);
	*file = (struct elf_file){.fd = -1};
}

Dwarf *elf_file_dwarf(const struct elf_file *file)
{
	Dwarf *dwarf = dwarf_begin_elf(file->elf, DWARF_C_READ, NULL);
	if (dwarf)
		dwarf_new_oom_handler(dwarf, crash_no_memory); /* its own ends with status 1 */
	return dwarf;
}

struct rf_error *elf_file_open_mapping(const char *name, void *mapping, size_t size,
				       struct elf_file *out)
{
	elf_version(EV_CURRENT);
	struct elf_file file = {
		.fd = -1,
		.mapping = mapping,
		.size = size,
		.elf = elf_memory(mapping, size),
	};
	return finish_open(name, &file, out);
}

bool vdso_image(const void **image, size_t *size)
{
	const Elf64_Ehdr *header = (const void *)(uintptr_t)getauxval(AT_SYSINFO_EHDR);
	if (!header)
		return false;
	/* The section headers are its last part (vdso(7); the kernel's vdso2c keeps them there),
	 * else what the segments take from the file. */
	uint64_t end = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
	const Elf64_Phdr *phdr = (const void *)((const char *)header + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++)
		if (phdr[i].p_type == PT_LOAD && phdr[i].p_offset + phdr[i].p_filesz > end)
			end = phdr[i].p_offset + phdr[i].p_filesz;
	*image = header;
	*size = end;
	return true;
}

static bool find_offset(const struct elf_file *file, uint64_t offset, bool executable,
			bool page_head, uint64_t *vaddr)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *segment = &file->segments[i];
		uint64_t head = page_head ? segment->offset & 4095 : 0;
		uint64_t first = segment->offset - head;
		if (segment->executable != executable || offset < first ||
		    offset - first >= segment->file_size + head)
			continue;
		*vaddr = segment->vaddr - head + (offset - first);
		return true;
	}
	return false;
}

uint64_t elf_file_vaddr(const struct elf_file *file, uint64_t offset)
{
	uint64_t vaddr;
	/* The kernel maps whole pages, so a mapping starts up to a page before its segment, and
	 * linkers (lld, mold) let one page of the file belong to two segments.  Code decides:
	 * the mappings of interest are executable. */
	if (find_offset(file, offset, true, false, &vaddr) ||
	    find_offset(file, offset, true, true, &vaddr) ||
	    find_offset(file, offset, false, false, &vaddr) ||
	    find_offset(file, offset, false, true, &vaddr))
		return vaddr;
	return UINT64_MAX;
}

const struct elf_segment *elf_file_segment(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->n_segments; i++) {
		const struct elf_segment *segment = &file->segments[i];
		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memory_size)
			return segment;
	}
	return NULL;
}

bool elf_file_stretch(const struct elf_file *file, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	if (!elf_file_segment(file, vaddr))
		return false;
	const size_t n_before = rf_search(file->n_edges, i, file->edges[i] <= vaddr);
	/* The segment's own edges enclose it, so there is one on each side. */
	assert(n_before > 0 && n_before < file->n_edges);
	*start = file->edges[n_before - 1];
	*end = file->edges[n_before];
	return true;
}

bool elf_file_region(const struct elf_file *file, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	const struct elf_segment *segment = elf_file_segment(file, vaddr);
	return segment && segment->executable && elf_file_stretch(file, vaddr, start, end);
}

bool elf_file_at(const struct elf_file *file, uint64_t vaddr, struct elf_bytes *out)
{
	const struct elf_segment *segment = elf_file_segment(file, vaddr);
	if (!segment || vaddr - segment->vaddr >= segment->file_size)
		return false;
	uint64_t into = vaddr - segment->vaddr;
	out->bytes = file->bytes + segment->offset + into;
	out->size = segment->file_size - into;
	out->vaddr = vaddr;
	return true;
}

static bool section_contents(Elf_Scn *section, const GElf_Shdr *header, struct elf_bytes *out)
{
	if (header->sh_type == SHT_NOBITS)
		return false;
	if (header->sh_flags & SHF_COMPRESSED)
		elf_compress(section, 0, 0);
	Elf_Data *data = elf_rawdata(section, NULL);
	if (!data || !data->d_buf || data->d_size == 0)
		return false;
	*out = (struct elf_bytes){data->d_buf, data->d_size, header->sh_addr};
	return true;
}

static Elf_Scn *find_section(const struct elf_file *file, const char *name, GElf_Shdr *header)
{
	size_t strings;
	if (elf_getshdrstrndx(file->elf, &strings) != 0)
		return NULL;
	Elf_Scn *section = NULL;
	while ((section = elf_nextscn(file->elf, section))) {
		if (!gelf_getshdr(section, header))
			continue;
		const char *found = elf_strptr(file->elf, strings, header->sh_name);
		if (found && strcmp(found, name) == 0)
			return section;
	}
	return NULL;
}

bool elf_file_section(const struct elf_file *file, const char *name, struct elf_bytes *out)
{
	GElf_Shdr header;
	Elf_Scn *section = find_section(file, name, &header);
	return section && section_contents(section, &header, out);
}

bool elf_file_has_dwarf(const struct elf_file *file)
{
	GElf_Shdr header;
	return find_section(file, ".debug_info", &header) ||
	       find_section(file, ".zdebug_info", &header);
}

/* `.eh_frame_hdr` by PT_GNU_EH_FRAME. */
static bool find_eh_frame_hdr(const struct elf_file *file, struct elf_bytes *out)
{
	size_t n;
	if (elf_getphdrnum(file->elf, &n) != 0)
		return false;
	for (size_t i = 0; i < n; i++) {
		GElf_Phdr phdr;
		if (!gelf_getphdr(file->elf, i, &phdr) || phdr.p_type != PT_GNU_EH_FRAME)
			continue;
		if (!elf_file_at(file, phdr.p_vaddr, out))
			return false;
		if (out->size > phdr.p_memsz)
			out->size = phdr.p_memsz;
		return true;
	}
	return false;
}

bool elf_file_eh_frame(const struct elf_file *file, struct elf_bytes *out)
{
	if (elf_file_section(file, ".eh_frame", out))
		return true;
	struct elf_bytes header;
	uint64_t vaddr;
	/* No sections: the header knows where `.eh_frame` starts; it ends with its terminator or
	 * where its segment does. */
	return find_eh_frame_hdr(file, &header) && eh_frame_hdr_target(&header, &vaddr) &&
	       elf_file_at(file, vaddr, out);
}

char *elf_file_hex(const uint8_t *bytes, size_t n)
{
	char *text = malloc(2 * n + 1);
	if (!text)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		text[2 * i] = "0123456789abcdef"[bytes[i] >> 4];
		text[2 * i + 1] = "0123456789abcdef"[bytes[i] & 15];
	}
	text[2 * n] = '\0';
	return text;
}

char *elf_file_build_id(const struct elf_file *file)
{
	const void *id;
	const ssize_t size = dwelf_elf_gnu_build_id(file->elf, &id);
	return elf_file_hex(id, size > 0 ? (size_t)size : 0);
}

/* Finding an interpreter in a process.  Everything is the process's own memory: it may be anything,
 * and change meanwhile. */
#include "tracer/python/python_runtime.h"

#include "tracer/python/python_memory.h"

#include <elf.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

enum { MAX_HEADERS = 64, MAX_DYNAMIC = 128, CHAIN_PART = 32, MAX_CHAIN = 1024 };

struct image {
	pid_t pid;
	uint64_t low, high; /* addresses that its segments span at run time */
	uint64_t bias;
	uint64_t hash, symbols, strings;
};

/* ld.so of glibc replaces the addresses of a dynamic section by those at run time, musl does not.
 */
static uint64_t at_run_time(const struct image *image, uint64_t value)
{
	return value >= image->low && value < image->high ? value : value + image->bias;
}

static void take_dynamic(struct image *image, const Elf64_Dyn *dynamic, size_t n)
{
	for (size_t i = 0; i < n && dynamic[i].d_tag != DT_NULL; i++) {
		const uint64_t address = at_run_time(image, dynamic[i].d_un.d_ptr);
		if (dynamic[i].d_tag == DT_GNU_HASH)
			image->hash = address;
		else if (dynamic[i].d_tag == DT_SYMTAB)
			image->symbols = address;
		else if (dynamic[i].d_tag == DT_STRTAB)
			image->strings = address;
	}
}

/* Takes the span of the segments; returns the dynamic one, or NULL. */
static const Elf64_Phdr *take_segments(struct image *image, uint64_t start,
				       const Elf64_Phdr *headers, size_t n)
{
	const Elf64_Phdr *dynamic = NULL;
	bool any = false;
	for (size_t i = 0; i < n; i++) {
		const Elf64_Phdr *header = &headers[i];
		if (header->p_type == PT_DYNAMIC)
			dynamic = header;
		if (header->p_type != PT_LOAD)
			continue;
		if (!any) /* the first one has the file's beginning */
			image->bias = start - (header->p_vaddr - header->p_offset);
		any = true;
		image->low = start;
		image->high = image->bias + header->p_vaddr + header->p_memsz;
	}
	return any ? dynamic : NULL;
}

static enum python_runtime_result open_image(struct image *image, uint64_t start)
{
	Elf64_Ehdr header;
	Elf64_Phdr headers[MAX_HEADERS];
	Elf64_Dyn dynamic[MAX_DYNAMIC];
	if (!python_read(image->pid, start, &header, sizeof(header)))
		return RUNTIME_UNREADABLE;
	const size_t n = header.e_phnum;
	if (memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(*headers) ||
	    n > MAX_HEADERS)
		return RUNTIME_NONE;
	if (!python_read(image->pid, start + header.e_phoff, headers, n * sizeof(*headers)))
		return RUNTIME_UNREADABLE;
	const Elf64_Phdr *found = take_segments(image, start, headers, n);
	if (!found)
		return RUNTIME_NONE;
	size_t entries = found->p_memsz / sizeof(*dynamic);
	entries = entries < MAX_DYNAMIC ? entries : MAX_DYNAMIC;
	if (!python_read(image->pid, image->bias + found->p_vaddr, dynamic,
			 entries * sizeof(*dynamic)))
		return RUNTIME_UNREADABLE;
	take_dynamic(image, dynamic, entries);
	return image->hash && image->symbols && image->strings ? RUNTIME_FOUND : RUNTIME_NONE;
}

static uint32_t gnu_hash(const char *name)
{
	uint32_t hash = 5381;
	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* Whether symbol number `index` is defined and has that name; *address gets where it is. */
static bool is_symbol(const struct image *image, uint32_t index, const char *name,
		      uint64_t *address)
{
	Elf64_Sym symbol;
	char text[32];
	const size_t size = strlen(name) + 1;
	if (size > sizeof(text) ||
	    !python_read(image->pid, image->symbols + (uint64_t)index * sizeof(symbol), &symbol,
			 sizeof(symbol)) ||
	    symbol.st_shndx == SHN_UNDEF ||
	    !python_read(image->pid, image->strings + symbol.st_name, text, size) ||
	    memcmp(text, name, size) != 0)
		return false;
	*address = image->bias + symbol.st_value;
	return true;
}

/* The address of a symbol at run time; 0: it is not there, or could not be read (errno). */
static uint64_t find_symbol(const struct image *image, const char *name)
{
	struct {
		uint32_t n_buckets, first_symbol, bloom_words, bloom_shift;
	} head;
	const uint32_t hash = gnu_hash(name);
	uint32_t index, chain[CHAIN_PART];
	uint64_t address;
	if (!python_read(image->pid, image->hash, &head, sizeof(head)) || !head.n_buckets)
		return 0;
	const uint64_t buckets = image->hash + sizeof(head) + 8 * (uint64_t)head.bloom_words;
	const uint64_t chains = buckets + 4 * (uint64_t)head.n_buckets;
	if (!python_read(image->pid, buckets + 4 * (uint64_t)(hash % head.n_buckets), &index,
			 sizeof(index)) ||
	    index < head.first_symbol)
		return 0;
	for (uint32_t i = 0; i < MAX_CHAIN; i++, index++) {
		if (i % CHAIN_PART == 0 &&
		    !python_read(image->pid, chains + 4 * (uint64_t)(index - head.first_symbol),
				 chain, sizeof(chain)))
			return 0;
		const uint32_t have = chain[i % CHAIN_PART];
		if ((have | 1) == (hash | 1) && is_symbol(image, index, name, &address))
			return address;
		if (have & 1) /* the last one of its bucket */
			break;
	}
	return 0;
}

/* "libpython3.11.so.1.0" → 0x030b0000; 0: it says nothing. */
static uint64_t version_of_name(const char *name)
{
	unsigned major, minor;
	const char *found = strstr(name, "python");
	if (!found || sscanf(found, "python%1u.%2u", &major, &minor) != 2)
		return 0;
	return (uint64_t)major << 24 | (uint64_t)minor << 16;
}

enum python_runtime_result python_runtime_find(pid_t pid, uint64_t image, const char *name,
					       struct python_runtime *out)
{
	struct image opened = {.pid = pid};
	uint8_t head[PYTHON_DEBUG_OFFSETS];
	uint64_t version = 0;
	const enum python_runtime_result result = open_image(&opened, image);
	if (result != RUNTIME_FOUND)
		return result;
	errno = 0;
	out->address = find_symbol(&opened, "_PyRuntime");
	if (!out->address)
		return errno ? RUNTIME_UNREADABLE : RUNTIME_NONE;
	out->code_type = find_symbol(&opened, "PyCode_Type");
	const uint64_t at = find_symbol(&opened, "Py_Version");
	if (!at || !python_read(pid, at, &version, sizeof(version)))
		version = version_of_name(name);
	if (!out->code_type || !python_read(pid, out->address, head, sizeof(head)))
		return RUNTIME_UNREADABLE;
	return python_layout_find(version, head, &out->layout) ? RUNTIME_FOUND : RUNTIME_NONE;
}

/* Names for the stubs of the procedure linkage table.  A stub's target is the relocation of the GOT
 * slot that it jumps through.  Shapes of stubs: psABI x86-64 1.0, section 5.2 (lazy PLT) and 13.2
 * (IBT: .plt pushes an index, .plt.sec jumps). */
#include "symbols/plt.h"

#include "base/array.h"
#include "base/search.h"

#include <string.h>

struct slot {
	uint64_t address;
	const char *name;
};

struct slots {
	struct slot *items;
	size_t n_items, cap_items;
};

static const char *const stub_sections[] = {".plt", ".plt.sec", ".plt.got", ".iplt"};

static Elf_Data *section_data(const struct elf_file *file, size_t index, GElf_Shdr *header)
{
	Elf_Scn *section = elf_getscn(file->elf, index);
	return section && gelf_getshdr(section, header) ? elf_getdata(section, NULL) : NULL;
}

static const char *target_name(const struct elf_file *file, const GElf_Rela *rela,
			       Elf_Data *symbols, uint32_t strings,
			       const struct function_map *known)
{
	uint32_t type = GELF_R_TYPE(rela->r_info);
	if (type == R_X86_64_IRELATIVE) {
		struct function_range *target = function_map_find(known, rela->r_addend, NULL);
		return target && target->start == (uint64_t)rela->r_addend ? target->raw : NULL;
	}
	if (type != R_X86_64_JUMP_SLOT && type != R_X86_64_GLOB_DAT)
		return NULL;
	GElf_Sym symbol;
	if (!symbols || !gelf_getsym(symbols, GELF_R_SYM(rela->r_info), &symbol))
		return NULL;
	const char *name = elf_strptr(file->elf, strings, symbol.st_name);
	return name && name[0] ? name : NULL;
}

static struct rf_error *read_relocations(const struct elf_file *file, Elf_Scn *section,
					 const GElf_Shdr *header, const struct function_map *known,
					 struct slots *slots)
{
	GElf_Shdr symbols_header = {0};
	Elf_Data *symbols = section_data(file, header->sh_link, &symbols_header);
	if (symbols_header.sh_type != SHT_DYNSYM && symbols_header.sh_type != SHT_SYMTAB)
		symbols = NULL; /* a static program's IRELATIVE slots have no symbols */
	Elf_Data *data = elf_getdata(section, NULL);
	int n = data && data->d_buf ? data->d_size / sizeof(Elf64_Rela) : 0;
	for (int i = 0; i < n; i++) {
		GElf_Rela rela;
		if (!gelf_getrela(data, i, &rela))
			continue;
		const char *name = target_name(file, &rela, symbols, symbols_header.sh_link, known);
		struct slot slot = {rela.r_offset, name};
		if (name && !rf_array_push(slots->items, slots->n_items, slots->cap_items, slot))
			return rf_error_no_memory();
	}
	return NULL;
}

static int compare_slots(const void *left, const void *right)
{
	const struct slot *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

static const char *slot_name(const struct slots *slots, uint64_t address)
{
	const size_t at = rf_search(slots->n_items, i, slots->items[i].address < address);
	return at < slots->n_items && slots->items[at].address == address ? slots->items[at].name
									  : NULL;
}

/* The GOT slot that the stub at `bytes` jumps through: jmp [rip+disp32], after an optional
 * endbr64 and an optional bnd prefix.  0 when it does not. */
static uint64_t stub_slot(const uint8_t *bytes, size_t size, uint64_t vaddr)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	size_t at = 0;
	if (size >= sizeof(endbr64) && memcmp(bytes, endbr64, sizeof(endbr64)) == 0)
		at = sizeof(endbr64);
	if (at < size && bytes[at] == 0xf2)
		at++;
	if (size < at + 6 || bytes[at] != 0xff || bytes[at + 1] != 0x25)
		return 0;
	int32_t displacement;
	memcpy(&displacement, bytes + at + 2, sizeof(displacement));
	return vaddr + at + 6 + (int64_t)displacement;
}

/* The entry of .rela.plt that a lazy stub of an IBT program pushes: endbr64, push imm32. */
static bool stub_index(const uint8_t *bytes, size_t size, uint32_t *index)
{
	static const uint8_t prefix[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x68};
	if (size < sizeof(prefix) + 4 || memcmp(bytes, prefix, sizeof(prefix)) != 0)
		return false;
	memcpy(index, bytes + sizeof(prefix), sizeof(*index));
	return true;
}

static const char *lazy_name(const struct elf_bytes *rela_plt, const struct slots *slots,
			     uint32_t index)
{
	Elf64_Rela entry;
	if (index >= rela_plt->size / sizeof(entry))
		return NULL;
	memcpy(&entry, rela_plt->bytes + index * sizeof(entry), sizeof(entry));
	return slot_name(slots, entry.r_offset);
}

/* Stubs are 16 bytes, or 8 in a .plt.got that needs no endbr64. */
static size_t stub_size(const struct elf_bytes *section, const char *name)
{
	bool short_stubs =
		strcmp(name, ".plt.got") == 0 && section->size >= 8 && section->bytes[0] == 0xff;
	return short_stubs ? 8 : 16;
}

static struct rf_error *read_stubs(const struct elf_file *file, const struct slots *slots,
				   const char *name, struct function_map *stubs)
{
	struct elf_bytes section, rela_plt;
	uint64_t start, end;
	if (!elf_file_section(file, ".rela.plt", &rela_plt))
		rela_plt.size = 0;
	if (!elf_file_section(file, name, &section) ||
	    !elf_file_region(file, section.vaddr, &start, &end))
		return NULL;
	size_t size = stub_size(&section, name);
	struct rf_error *error = NULL;
	for (size_t at = 0; !error && at < section.size; at += size) {
		size_t left = section.size - at < size ? section.size - at : size;
		uint64_t vaddr = section.vaddr + at;
		uint32_t index;
		const char *target = slot_name(slots, stub_slot(section.bytes + at, left, vaddr));
		if (!target && stub_index(section.bytes + at, left, &index))
			target = lazy_name(&rela_plt, slots, index);
		if (target && vaddr < end)
			error = function_map_append(stubs, vaddr, vaddr + left, target, "@plt",
						    RANK_LOCAL);
	}
	return error;
}

struct rf_error *plt_read(const struct elf_file *file, const struct function_map *known,
			  struct function_map *stubs)
{
	struct slots slots = {0};
	struct rf_error *error = NULL;
	Elf_Scn *section = NULL;
	while (!error && (section = elf_nextscn(file->elf, section))) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA &&
		    (header.sh_flags & SHF_ALLOC))
			error = read_relocations(file, section, &header, known, &slots);
	}
	if (slots.n_items)
		qsort(slots.items, slots.n_items, sizeof(*slots.items), compare_slots);
	for (size_t i = 0; !error && i < sizeof(stub_sections) / sizeof(*stub_sections); i++)
		error = read_stubs(file, &slots, stub_sections[i], stubs);
	free(slots.items);
	return error;
}

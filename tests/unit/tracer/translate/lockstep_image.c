/* Code and data for lockstep runs. */
#include "tests/unit/splitmix.h"
#include "tests/unit/tracer/translate/lockstep.h"
#include "tests/unit/tracer/translate/lockstep_trace.h"

#include "tracer/gate/protocol.h"

#include <Zydis/Zydis.h>
#include <cpuid.h>
#include <elf.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_SIZE (8u << 20)
#define SLOT_ADDRESS 0x230000000000ull
#define TRAPS_ADDRESS 0x231000000000ull
#define PAGE 4096ull
#define MAX_WRITABLE (1u << 20) /* of a segment; it is compared in each run */

static const struct {
	uint64_t image, arena;
} addresses[LAYOUTS] = {
	[LAYOUT_NEAR] = {0x210000000000, 0x210040000000},
	[LAYOUT_FAR] = {0x210000000000, 0x310000000000},
	[LAYOUT_LOW] = {0x10000000, 0x40000000},
	[LAYOUT_LOW_FAR] = {0x10000000, 0x310000000000},
};

uint64_t lockstep_random(struct lockstep *lockstep)
{
	return random_number(&lockstep->random);
}

/* ---- mappings ---- */

/* Shared with the child, readable and writable here. */
static uint8_t *map_at(uint64_t address, size_t size)
{
	uint8_t *memory =
		mmap((void *)address, size, PROT_READ | PROT_WRITE,
		     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
	return memory == MAP_FAILED ? NULL : memory;
}

static bool add_writable(struct lockstep *lockstep, uint64_t start, uint64_t end)
{
	size_t i = lockstep->n_writable, size = end - start;
	if (i == sizeof(lockstep->writable) / sizeof(lockstep->writable[0]))
		return false;
	lockstep->writable[i] = (struct range){start, end};
	lockstep->initial[i] = malloc(size);
	lockstep->native[i] = malloc(size);
	lockstep->translated[i] = malloc(size);
	lockstep->n_writable++;
	return lockstep->initial[i] && lockstep->native[i] && lockstep->translated[i];
}

static size_t read_code(void *context, uint64_t pc, uint8_t *buffer, size_t size, const char **why)
{
	size_t n = lockstep_code_at(context, pc);
	if (!n) {
		*why = "no code there";
		return 0;
	}
	n = n < size ? n : size;
	memcpy(buffer, (void *)pc, n);
	return n;
}

static void locate_code(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	const struct lockstep *lockstep = context;
	*module = 7;
	*offset = pc - lockstep->image.start;
}

/* The data that both runs start from. */
static bool read_value(void *context, uint64_t address, uint64_t *value)
{
	const struct lockstep *lockstep = context;
	for (size_t i = 0; i < lockstep->n_writable; i++)
		if (in_range(&lockstep->writable[i], address) &&
		    in_range(&lockstep->writable[i], address + 7)) {
			memcpy(value,
			       lockstep->initial[i] + (address - lockstep->writable[i].start), 8);
			return true;
		}
	return false;
}

/* Everything but the image: arena, slot with its gate entries, scratch area, stack. */
static bool map_surroundings(struct lockstep *lockstep)
{
	const uint64_t arena = addresses[lockstep->layout].arena;
	lockstep->arena = map_at(arena, ARENA_SIZE);
	static uint8_t *slot; /* kept: its jump table is half a megabyte of pages */
	if (!slot)
		slot = map_at(SLOT_ADDRESS, SLOT_STRIDE);
	lockstep->slot = slot;
	lockstep->traps = map_at(TRAPS_ADDRESS, TRAPS_SIZE);
	if (!lockstep->arena || !lockstep->slot || !lockstep->traps ||
	    !map_at(SCRATCH_ADDRESS, SCRATCH_SIZE) || !map_at(STACK_ADDRESS, STACK_SIZE))
		return false;
	memset(lockstep->traps, 0xcc, TRAPS_SIZE);
	static const struct {
		uint16_t entry, trap;
	} gate[] = {
		{G_AT_MISS, TRAP_MISS},       {G_AT_INDIRECT, TRAP_INDIRECT},
		{G_AT_COLLIDE, TRAP_COLLIDE}, {G_AT_SYSCALL, TRAP_SYSCALL},
		{G_AT_RETURN, TRAP_RETURN},
	};
	for (size_t i = 0; i < sizeof(gate) / sizeof(gate[0]); i++)
		*lockstep_slot_word(lockstep, gate[i].entry) = TRAPS_ADDRESS + gate[i].trap;
	*lockstep_slot_word(lockstep, G_SELF) = SLOT_ADDRESS;
	for (size_t i = 0; i < 65536; i++) {
		*lockstep_slot_word(lockstep, SLOT_JUMPS + 8 * i) = TRAPS_ADDRESS + TRAP_INDIRECT;
		*lockstep_slot_word(lockstep, SLOT_RETURNS + 8 * i) = TRAPS_ADDRESS + TRAP_RETURN;
	}
	lockstep_trace_place_gate(lockstep);
	code_cache_add_arena(&lockstep->translator.cache, arena, lockstep->arena, ARENA_SIZE);
	lockstep->translator.source = (struct code_source){
		.context = lockstep, .read = read_code, .locate = locate_code, .value = read_value};
	return add_writable(lockstep, SCRATCH_ADDRESS, SCRATCH_ADDRESS + SCRATCH_SIZE) &&
	       add_writable(lockstep, STACK_ADDRESS, STACK_ADDRESS + STACK_SIZE);
}

void lockstep_close(struct lockstep *lockstep)
{
	lockstep_stop_child(lockstep);
	if (lockstep->image.start)
		munmap((void *)lockstep->image.start, lockstep->image.end - lockstep->image.start);
	if (lockstep->arena)
		munmap(lockstep->arena, ARENA_SIZE);
	if (lockstep->slot)
		memset(lockstep->slot + SLOT_COUNTERS, 0,
		       8ul * lockstep->translator.cache.n_counters);
	if (lockstep->traps)
		munmap(lockstep->traps, TRAPS_SIZE);
	munmap((void *)SCRATCH_ADDRESS, SCRATCH_SIZE);
	munmap((void *)STACK_ADDRESS, STACK_SIZE);
	for (size_t i = 0; i < lockstep->n_writable; i++) {
		free(lockstep->initial[i]);
		free(lockstep->native[i]);
		free(lockstep->translated[i]);
	}
	code_cache_deinit(&lockstep->translator.cache);
	hot_code_deinit(&lockstep->translator.hot);
	free(lockstep->translator.new_entries);
	trace_config_destroy(lockstep->translator.trace);
	*lockstep = (struct lockstep){0};
}

/* ---- images ---- */

size_t lockstep_code_at(const struct lockstep *lockstep, uint64_t pc)
{
	for (size_t i = 0; i < lockstep->n_exec; i++)
		if (in_range(&lockstep->exec[i], pc))
			return lockstep->exec[i].end - pc;
	return 0;
}

static bool open_image(struct lockstep *lockstep, size_t size, enum lockstep_layout layout,
		       uint64_t seed)
{
	*lockstep = (struct lockstep){.layout = layout, .random = seed};
	const uint64_t start = addresses[layout].image;
	if (!map_surroundings(lockstep) || !map_at(start, size))
		return false;
	lockstep->image = (struct range){start, start + size};
	return true;
}

uint64_t lockstep_plausible_word(struct lockstep *lockstep)
{
	const uint64_t random = lockstep_random(lockstep), kind = random % 16;
	if (kind < 7)
		return SCRATCH_ADDRESS + SCRATCH_SIZE / 4 +
		       (random >> 8) % (SCRATCH_SIZE / 2 / 64) * 64;
	if (kind < 9)
		return lockstep_random_pc(lockstep);
	if (kind < 12)
		return (random >> 8) % 64;
	if (kind < 14) { /* a double near 1 */
		const double value = (double)(int64_t)random / 4e18;
		uint64_t word;
		memcpy(&word, &value, sizeof(word));
		return word;
	}
	return random >> 4;
}

static void fill_memory(struct lockstep *lockstep)
{
	for (size_t i = 0; i < lockstep->n_writable; i++) {
		const size_t n = (lockstep->writable[i].end - lockstep->writable[i].start) / 8;
		uint64_t *words = (uint64_t *)lockstep->initial[i];
		for (size_t j = 0; j < n; j++)
			words[j] = lockstep_plausible_word(lockstep);
	}
}

bool lockstep_open_code(struct lockstep *lockstep, const void *code, size_t size,
			enum lockstep_layout layout)
{
	const uint64_t start = addresses[layout].image, data = start + LOCKSTEP_DATA;
	if (size > LOCKSTEP_DATA || !open_image(lockstep, LOCKSTEP_DATA + PAGE, layout, 1))
		return false;
	memset((void *)start, 0xc3, LOCKSTEP_DATA); /* ret: no run of instructions goes on there */
	memcpy((void *)start, code, size);
	lockstep->exec[lockstep->n_exec++] = (struct range){start, data};
	lockstep->code[lockstep->n_code++] = (struct range){start, start + size};
	if (!add_writable(lockstep, data, data + PAGE))
		return false;
	fill_memory(lockstep);
	return true;
}

static bool map_segments(struct lockstep *lockstep, const uint8_t *file, size_t size, uint64_t bias)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(file + header->e_phoff);
	for (int i = 0; i < header->e_phnum; i++) {
		const Elf64_Phdr *segment = &segments[i];
		const uint64_t start = (bias + segment->p_vaddr) & ~(PAGE - 1);
		const uint64_t end =
			(bias + segment->p_vaddr + segment->p_memsz + PAGE - 1) & ~(PAGE - 1);
		if (segment->p_type != PT_LOAD)
			continue;
		if (segment->p_offset + segment->p_filesz > size)
			return false;
		memcpy((void *)(bias + segment->p_vaddr), file + segment->p_offset,
		       segment->p_filesz);
		const uint64_t limit = start + MAX_WRITABLE < end ? start + MAX_WRITABLE : end;
		if (segment->p_flags & PF_W && !add_writable(lockstep, start, limit))
			return false;
		if (segment->p_flags & PF_X && lockstep->n_exec < 8)
			lockstep->exec[lockstep->n_exec++] = (struct range){start, end};
	}
	return true;
}

static void note_code_sections(struct lockstep *lockstep, const uint8_t *file, uint64_t bias)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	const Elf64_Shdr *sections = (const Elf64_Shdr *)(file + header->e_shoff);
	for (int i = 0; i < header->e_shnum && lockstep->n_code < 16; i++)
		if (sections[i].sh_flags & SHF_EXECINSTR && sections[i].sh_size > 4 * PAGE)
			lockstep->code[lockstep->n_code++] =
				(struct range){bias + sections[i].sh_addr,
					       bias + sections[i].sh_addr + sections[i].sh_size};
}

static bool load_file(struct lockstep *lockstep, const uint8_t *file, size_t size,
		      enum lockstep_layout layout, uint64_t seed)
{
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)file;
	if (size < sizeof(*header) || memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
	    header->e_machine != EM_X86_64)
		return false;
	const Elf64_Phdr *segments = (const Elf64_Phdr *)(file + header->e_phoff);
	uint64_t lowest = UINT64_MAX, highest = 0;
	for (int i = 0; i < header->e_phnum; i++) {
		if (segments[i].p_type != PT_LOAD)
			continue;
		uint64_t end = segments[i].p_vaddr + segments[i].p_memsz;
		lowest = segments[i].p_vaddr < lowest ? segments[i].p_vaddr : lowest;
		highest = end > highest ? end : highest;
	}
	lowest &= ~(PAGE - 1);
	if (!open_image(lockstep, (highest - lowest + PAGE - 1) & ~(PAGE - 1), layout, seed) ||
	    !map_segments(lockstep, file, size, lockstep->image.start - lowest))
		return false;
	note_code_sections(lockstep, file, lockstep->image.start - lowest);
	fill_memory(lockstep);
	return lockstep->n_code > 0;
}

bool lockstep_open_file(struct lockstep *lockstep, const char *path, enum lockstep_layout layout,
			uint64_t seed)
{
	struct stat status;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool ok = fstat(fd, &status) == 0;
	uint8_t *file =
		ok ? mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0) : MAP_FAILED;
	close(fd);
	if (file == MAP_FAILED)
		return false;
	ok = load_file(lockstep, file, (size_t)status.st_size, layout, seed);
	munmap(file, (size_t)status.st_size);
	return ok;
}

/* ---- places in it ---- */

/* Decoding from a little before the place falls into step with the true instructions. */
uint64_t lockstep_random_pc(struct lockstep *lockstep)
{
	uint64_t total = 0;
	for (size_t i = 0; i < lockstep->n_code; i++)
		total += lockstep->code[i].end - lockstep->code[i].start;
	uint64_t at = lockstep_random(lockstep) % total;
	size_t i = 0;
	while (at >= lockstep->code[i].end - lockstep->code[i].start) {
		at -= lockstep->code[i].end - lockstep->code[i].start;
		i++;
	}
	const struct range *code = &lockstep->code[i];
	uint64_t pc = code->start + (at > 80 ? at - 80 : 0);
	ZydisDecoder decoder;
	ZydisDecodedInstruction insn;
	ZydisDecoderInit(&decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	while (pc < code->start + at) {
		bool ok = ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(&decoder, NULL, (void *)pc,
								     code->end - pc, &insn));
		pc += ok ? insn.length : 1;
	}
	return pc < code->end ? pc : code->start;
}

uint32_t lockstep_component(unsigned number)
{
	uint32_t size = 0, offset = 0, c, d;
	if (number > 1 && !__get_cpuid_count(0xd, number, &size, &offset, &c, &d))
		return 0;
	return size ? offset : 0;
}

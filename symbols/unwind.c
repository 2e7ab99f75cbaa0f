/* Stacks of samples, unwound by the call frame information of the mapped files, which libdw reads:
 * the registers and the stack's bytes come from the sample, everything else from the files. */
#include "symbols/unwind.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "symbols/elf_file.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <ucontext.h>
#include <unistd.h>

/* A frame without unwind information is believed only up to this size. */
#define MAX_GUESSED_FRAME 0x10000
/* Places of a file whose rules are kept; then they are forgotten, and read again. */
#define MAX_KEPT_RULES 65536
/* Values that an expression may have on its stack. */
#define MAX_VALUES 32

/* Registers by their numbers in DWARF (psABI x86-64 1.0, figure 3.36). */
enum { DWARF_RBX = 3, DWARF_RBP = 6, DWARF_RSP = 7, DWARF_R12 = 12, DWARF_RIP = 16, N_REGISTERS };

/* Those that a sample has, and that a caller expects to find unchanged. */
static const int kept_registers[] = {DWARF_RBX,     DWARF_RBP,     DWARF_RSP,     DWARF_R12,
				     DWARF_R12 + 1, DWARF_R12 + 2, DWARF_R12 + 3, DWARF_RIP};
enum { N_KEPT = sizeof(kept_registers) / sizeof(*kept_registers) };

struct registers {
	uint64_t values[N_REGISTERS];
	uint32_t known; /* bit n: register n is */
};

/* A mapped file, and the rules that were asked for, by the addresses that they are for. */
struct unwind_file {
	char *path;
	void *mapping; /* the whole file, of which nothing is read yet; or NULL */
	size_t size;
	bool read;   /* as far as that is possible */
	bool usable; /* `elf` is open */
	struct elf_file elf;
	Dwarf_CFI *eh_frame, *debug_frame; /* or NULL */
	Dwarf *dwarf;                      /* `debug_frame` is part of it */
	bool debug_frame_opened;
	struct u64_map rule_at; /* address + 1 → index; NULL there: it has none */
	Dwarf_Frame **rules;
	size_t n_rules, cap_rules;
};

/* Mappings of one number are mostly of one file, sample after sample. */
#define N_RECENT 256

struct unwinder {
	struct unwind_file **files;
	size_t n_files, cap_files;
	struct unwind_file *recent[N_RECENT]; /* by the number of the mapping */
};

/* One walk, and where it is. */
struct walk {
	struct unwinder *unwinder;
	const struct unwind_mapping *mappings;
	size_t n_mappings;
	const uint8_t *stack;
	uint64_t stack_start;
	size_t stack_size;
	struct registers registers;
	Dwarf_Frame *rules;   /* of the frame; NULL: there are none */
	bool is_signal_frame; /* the code that a signal handler returns to */
};

/* ---- files ---- */

/* No descriptor stays open: there can be more files than descriptors. */
static void map_file(struct unwind_file *file)
{
	struct stat status;
	int fd;
	struct rf_error *error = elf_file_descriptor(file->path, &fd);
	if (error) {
		rf_error_destroy(error);
		return;
	}
	if (fstat(fd, &status) == 0 && status.st_size > 0) {
		file->size = (size_t)status.st_size;
		file->mapping = mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
		if (file->mapping == MAP_FAILED)
			file->mapping = NULL;
	}
	close(fd);
}

static struct rf_error *open_elf(struct unwind_file *file)
{
	const void *image;
	size_t size;
	void *mapping = file->mapping;
	if (strcmp(file->path, "[vdso]") == 0 && vdso_image(&image, &size))
		return elf_file_open_image(file->path, image, size, &file->elf);
	if (!mapping)
		return rf_error_create(RF_EUNAVAILABLE, NULL, "%s is no file", file->path);
	file->mapping = NULL;
	return elf_file_open_mapping(file->path, mapping, file->size, &file->elf);
}

/* Reads a file when a stack leads there. */
static void read_file(struct unwind_file *file)
{
	if (file->read)
		return;
	file->read = true;
	struct rf_error *error = open_elf(file);
	file->usable = !error;
	rf_error_destroy(error);
	if (file->usable)
		file->eh_frame = dwarf_getcfi_elf(file->elf.elf);
}

static void forget_rules(struct unwind_file *file)
{
	for (size_t i = 0; i < file->n_rules; i++)
		free(file->rules[i]);
	file->n_rules = 0;
	u64_map_deinit(&file->rule_at);
}

static void file_destroy(struct unwind_file *file)
{
	if (!file)
		return;
	forget_rules(file);
	free(file->rules);
	dwarf_cfi_end(file->eh_frame);
	dwarf_end(file->dwarf);
	if (file->usable)
		elf_file_close(&file->elf);
	if (file->mapping)
		munmap(file->mapping, file->size);
	free(file->path);
	free(file);
}

/* One that cannot be opened is still a file, but not usable; NULL: no memory. */
static struct unwind_file *file_create(const char *path)
{
	struct unwind_file *file = calloc(1, sizeof(*file));
	if (!file || !(file->path = strdup(path))) {
		free(file);
		return NULL;
	}
	if (path[0] == '/')
		map_file(file);
	return file;
}

static struct unwind_file *find_file(struct unwinder *unwinder, const char *path)
{
	for (size_t i = 0; i < unwinder->n_files; i++)
		if (strcmp(unwinder->files[i]->path, path) == 0)
			return unwinder->files[i];
	struct unwind_file *file = file_create(path);
	if (file && rf_array_push(unwinder->files, unwinder->n_files, unwinder->cap_files, file))
		return file;
	file_destroy(file);
	return NULL;
}

/* Some compilers leave .eh_frame out, and programs in assembly have it here alone. */
static Dwarf_CFI *debug_frame_of(struct unwind_file *file)
{
	struct elf_bytes section;
	if (!file->debug_frame_opened && elf_file_section(&file->elf, ".debug_frame", &section)) {
		file->dwarf = elf_file_dwarf(&file->elf);
		file->debug_frame = file->dwarf ? dwarf_getcfi(file->dwarf) : NULL;
	}
	file->debug_frame_opened = true;
	return file->debug_frame;
}

/* The rules of the code at `vaddr`, or NULL. */
static Dwarf_Frame *find_rules(struct unwind_file *file, uint64_t vaddr)
{
	const uint32_t *known = u64_map_find(&file->rule_at, vaddr + 1);
	if (known)
		return file->rules[*known];
	Dwarf_Frame *rules;
	if (dwarf_cfi_addrframe(file->eh_frame, vaddr, &rules) != 0 &&
	    dwarf_cfi_addrframe(debug_frame_of(file), vaddr, &rules) != 0)
		rules = NULL;
	if (file->n_rules == MAX_KEPT_RULES)
		forget_rules(file);
	if (!rf_array_push(file->rules, file->n_rules, file->cap_rules, rules)) {
		free(rules);
		return NULL;
	}
	/* without memory it is only read again */
	(void)u64_map_set(&file->rule_at, vaddr + 1, (uint32_t)(file->n_rules - 1));
	return rules;
}

struct unwinder *unwinder_create(void)
{
	return calloc(1, sizeof(struct unwinder));
}

void unwinder_destroy(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; i < unwinder->n_files; i++)
		file_destroy(unwinder->files[i]);
	free(unwinder->files);
	free(unwinder);
}

void unwinder_open(struct unwinder *unwinder, const char *path)
{
	(void)find_file(unwinder, path);
}

/* ---- the place of a frame ---- */

static const struct unwind_mapping *find_mapping(const struct walk *walk, uint64_t address)
{
	const size_t n = rf_search(walk->n_mappings, i, walk->mappings[i].start <= address);
	return n && address < walk->mappings[n - 1].end ? &walk->mappings[n - 1] : NULL;
}

static struct unwind_file *file_of(const struct walk *walk, const struct unwind_mapping *mapping)
{
	struct unwind_file **recent =
		&walk->unwinder->recent[(size_t)(mapping - walk->mappings) % N_RECENT];
	const char *path = mapping->path ? mapping->path : "";
	if (!*recent || strcmp((*recent)->path, path) != 0)
		*recent = find_file(walk->unwinder, path);
	return *recent;
}

/* The code that a signal handler returns to: mov $15 (rt_sigreturn), %rax; syscall.  GDB knows it
 * by the same bytes. */
static bool is_sigreturn(const struct elf_file *elf, uint64_t vaddr)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	struct elf_bytes bytes;
	return elf_file_at(elf, vaddr, &bytes) && bytes.size >= sizeof(code) &&
	       memcmp(bytes.bytes, code, sizeof(code)) == 0;
}

/* Finds the rules of the frame that the walk has come to.  `back` is 1 for a caller: its call may
 * be the last instruction of its function. */
static void find_frame(struct walk *walk, unsigned back)
{
	const uint64_t ip = walk->registers.values[DWARF_RIP];
	const struct unwind_mapping *mapping = find_mapping(walk, ip - back);
	struct unwind_file *file = mapping ? file_of(walk, mapping) : NULL;
	walk->rules = NULL;
	walk->is_signal_frame = false;
	if (file)
		read_file(file);
	if (!file || !file->usable)
		return;
	const uint64_t start = elf_file_vaddr(&file->elf, mapping->file_offset);
	if (start == UINT64_MAX)
		return;
	const uint64_t vaddr = ip - mapping->start + start;
	walk->rules = find_rules(file, vaddr - back);
	walk->is_signal_frame = is_sigreturn(&file->elf, vaddr);
	if (walk->rules && !walk->is_signal_frame)
		(void)dwarf_frame_info(walk->rules, NULL, NULL, &walk->is_signal_frame);
}

/* ---- expressions (DWARF 5, 2.5) ---- */

static bool read_stack(const struct walk *walk, uint64_t address, uint64_t *value)
{
	uint64_t into = address - walk->stack_start;
	if (walk->stack_size < sizeof(*value) || into > walk->stack_size - sizeof(*value))
		return false;
	memcpy(value, walk->stack + into, sizeof(*value));
	return true;
}

static bool read_register(const struct walk *walk, uint64_t number, uint64_t *value)
{
	if (number >= N_REGISTERS || !(walk->registers.known >> number & 1))
		return false;
	*value = walk->registers.values[number];
	return true;
}

struct values {
	uint64_t items[MAX_VALUES];
	size_t n;
};

/* a OP b; false: not one of these operations. */
static bool combine(uint8_t operation, uint64_t a, uint64_t b, uint64_t *value)
{
	switch (operation) {
	case DW_OP_and:
		return *value = a & b, true;
	case DW_OP_or:
		return *value = a | b, true;
	case DW_OP_xor:
		return *value = a ^ b, true;
	case DW_OP_plus:
		return *value = a + b, true;
	case DW_OP_minus:
		return *value = a - b, true;
	case DW_OP_mul:
		return *value = a * b, true;
	case DW_OP_shl:
		return *value = b < 64 ? a << b : 0, true;
	case DW_OP_shr:
		return *value = b < 64 ? a >> b : 0, true;
	case DW_OP_shra:
		return *value = (uint64_t)((int64_t)a >> (b < 64 ? b : 63)), true;
	case DW_OP_eq:
		return *value = a == b, true;
	case DW_OP_ne:
		return *value = a != b, true;
	case DW_OP_lt:
		return *value = (int64_t)a < (int64_t)b, true;
	case DW_OP_le:
		return *value = (int64_t)a <= (int64_t)b, true;
	case DW_OP_gt:
		return *value = (int64_t)a > (int64_t)b, true;
	case DW_OP_ge:
		return *value = (int64_t)a >= (int64_t)b, true;
	}
	return false;
}

/* Operations that put one more value on the stack; false: not one of them, or not known. */
static bool fetch(const struct walk *walk, const Dwarf_Op *op, uint64_t cfa, uint64_t *value)
{
	if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		return *value = op->atom - DW_OP_lit0, true;
	if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
		return *value = op->number, true;
	if (op->atom == DW_OP_call_frame_cfa)
		return *value = cfa, true;
	const bool is_any = op->atom == DW_OP_bregx;
	if (!is_any && (op->atom < DW_OP_breg0 || op->atom > DW_OP_breg31))
		return false;
	if (!read_register(walk, is_any ? op->number : op->atom - DW_OP_breg0, value))
		return false;
	*value += is_any ? op->number2 : op->number;
	return true;
}

/* One operation; false: it cannot be done. */
static bool operate(const struct walk *walk, const Dwarf_Op *op, uint64_t cfa,
		    struct values *values)
{
	uint64_t *top = values->n ? &values->items[values->n - 1] : NULL, value;
	if (values->n < MAX_VALUES && fetch(walk, op, cfa, &value)) {
		values->items[values->n++] = value;
		return true;
	}
	if (!top)
		return false;
	switch (op->atom) {
	case DW_OP_plus_uconst:
		*top += op->number;
		return true;
	case DW_OP_deref:
		return read_stack(walk, *top, top);
	case DW_OP_dup:
		if (values->n == MAX_VALUES)
			return false;
		values->items[values->n++] = *top;
		return true;
	case DW_OP_drop:
		values->n--;
		return true;
	case DW_OP_nop:
		return true;
	}
	if (values->n < 2 || !combine(op->atom, top[-1], top[0], &top[-1]))
		return false;
	values->n--;
	return true;
}

/* What a register's rule gives: a value, or what is there in memory or in another register. */
static bool evaluate(const struct walk *walk, const Dwarf_Op *ops, size_t n, uint64_t cfa,
		     bool is_value, uint64_t *value)
{
	struct values values = {.n = 0};
	if (n == 1 && ops[0].atom == DW_OP_regx)
		return read_register(walk, ops[0].number, value);
	if (n && ops[n - 1].atom == DW_OP_stack_value) {
		is_value = true;
		n--;
	}
	for (size_t i = 0; i < n; i++)
		if (!operate(walk, &ops[i], cfa, &values))
			return false;
	if (!values.n)
		return false;
	*value = values.items[values.n - 1];
	return is_value || read_stack(walk, *value, value);
}

/* ---- the walk ---- */

/* One frame up by its rules. */
static bool step_by_rules(struct walk *walk)
{
	struct registers caller = {.known = 0};
	Dwarf_Op *ops, memory[3];
	size_t n;
	uint64_t cfa;
	if (dwarf_frame_cfa(walk->rules, &ops, &n) != 0 || !evaluate(walk, ops, n, 0, true, &cfa))
		return false;
	for (size_t i = 0; i < N_KEPT; i++) {
		const int number = kept_registers[i];
		uint64_t *value = &caller.values[number];
		if (dwarf_frame_register(walk->rules, number, memory, &ops, &n) != 0)
			return false;
		/* no operations: as it is, or not known any more */
		if (n ? evaluate(walk, ops, n, cfa, false, value)
		      : !ops && read_register(walk, number, value))
			caller.known |= 1u << number;
	}
	walk->registers = caller;
	return true;
}

/* One frame up from a signal handler of a library without rules for it (musl): the kernel's frame
 * has a ucontext on top. */
static bool step_by_signal(struct walk *walk)
{
	static const int saved[N_KEPT] = {REG_RBX, REG_RBP, REG_RSP, REG_R12,
					  REG_R13, REG_R14, REG_R15, REG_RIP};
	struct registers caller = {.known = 0};
	for (size_t i = 0; i < N_KEPT; i++) {
		const size_t at = offsetof(ucontext_t, uc_mcontext.gregs) + 8 * (size_t)saved[i];
		if (read_stack(walk, walk->registers.values[DWARF_RSP] + at,
			       &caller.values[kept_registers[i]]))
			caller.known |= 1u << kept_registers[i];
	}
	walk->registers = caller;
	return true;
}

/* One frame up without unwind information (generated code): the saved rbp and the return address
 * above it. */
static bool step_by_frame_pointer(struct walk *walk)
{
	uint64_t *values = walk->registers.values, caller_bp, ip;
	const uint64_t sp = values[DWARF_RSP], bp = values[DWARF_RBP];
	if (bp < sp || bp - sp > MAX_GUESSED_FRAME || bp % 8 || !read_stack(walk, bp, &caller_bp) ||
	    !read_stack(walk, bp + 8, &ip))
		return false;
	values[DWARF_RIP] = ip;
	values[DWARF_RSP] = bp + 16;
	values[DWARF_RBP] = caller_bp;
	walk->registers.known |= 1u << DWARF_RIP | 1u << DWARF_RSP | 1u << DWARF_RBP;
	return true;
}

static bool step(struct walk *walk)
{
	const uint32_t needed = 1u << DWARF_RIP | 1u << DWARF_RSP;
	const bool stepped = walk->rules             ? step_by_rules(walk)
			     : walk->is_signal_frame ? step_by_signal(walk)
						     : step_by_frame_pointer(walk);
	return stepped && (walk->registers.known & needed) == needed;
}

/* Walks from walk->registers on; addresses[0] is there already. */
static size_t walk_frames(struct walk *walk, uint64_t *addresses, size_t max)
{
	const uint64_t *values = walk->registers.values;
	size_t n = 1;
	uint64_t last_sp = values[DWARF_RSP];
	find_frame(walk, 0);
	while (n < max) {
		const bool interrupted = walk->is_signal_frame;
		if (!step(walk))
			break;
		const uint64_t ip = values[DWARF_RIP], sp = values[DWARF_RSP];
		/* Only a signal can have come from another stack, and stacks only grow down: a
		 * frame that is not above the last one is no frame. */
		if (!find_mapping(walk, interrupted ? ip : ip - 1) ||
		    (sp <= last_sp && !interrupted))
			break;
		find_frame(walk, !interrupted);
		/* The interrupted instruction, and the code that the kernel makes handlers
		 * return to, were not called: their addresses are exact. */
		addresses[n++] = interrupted || walk->is_signal_frame ? ip : ip - 1;
		last_sp = sp;
	}
	return n;
}

size_t unwinder_walk(struct unwinder *unwinder, const struct unwind_regs *regs,
		     const uint8_t *stack, size_t stack_size, const struct unwind_mapping *mappings,
		     size_t n_mappings, uint64_t *addresses, size_t max)
{
	if (!max)
		return 0;
	addresses[0] = regs->ip;
	struct walk walk = {
		.unwinder = unwinder,
		.mappings = mappings,
		.n_mappings = n_mappings,
		.stack = stack,
		.stack_start = regs->sp,
		.stack_size = stack_size,
	};
	const uint64_t values[N_KEPT] = {regs->bx,  regs->bp,  regs->sp,  regs->r12,
					 regs->r13, regs->r14, regs->r15, regs->ip};
	for (size_t i = 0; i < N_KEPT; i++) {
		walk.registers.values[kept_registers[i]] = values[i];
		walk.registers.known |= 1u << kept_registers[i];
	}
	return walk_frames(&walk, addresses, max);
}

/* libunwind's remote interface over one sample: registers and stack bytes come from the sample,
 * everything else from the mapped files. */
#include "symbols/unwind.h"

#include "base/array.h"
#include "base/search.h"
#include "symbols/unwind_file.h"

#include <libunwind.h>
#include <stdlib.h>
#include <string.h>

/* Exported by libunwind for callers that find tables by themselves, but in no public header. */
extern int UNW_OBJ(dwarf_search_unwind_table)(unw_addr_space_t space, unw_word_t ip,
					      unw_dyn_info_t *info, unw_proc_info_t *proc,
					      int need_unwind_info, void *context);

/* Address spaces kept: one per set of mappings.  Old ones matter while samples of several
 * processes alternate. */
#define MAX_SPACES 16
/* Words that libunwind may read for one walk.  A cold frame takes about a hundred; this is what
 * ends a walk through damaged unwind information, whatever its instructions say. */
#define MAX_READS 200000
/* A frame without unwind information is believed only up to this size. */
#define MAX_GUESSED_FRAME 0x10000
/* Unwind rules that libunwind keeps for each address space (a power of two is what it makes). */
#define CACHED_RULES 4096

struct unwind_module {
	uint64_t start, end, bias; /* run-time addresses [start, end) of all its segments */
	struct unwind_file *file;
};

/* A set of mappings, and what libunwind has learned about it. */
struct unwind_space {
	unw_addr_space_t handle;
	struct unwind_mapping *mappings; /* a copy */
	size_t n_mappings;
	struct unwind_module *modules; /* sorted by start */
	size_t n_modules, cap_modules;
	uint64_t last_used;
};

struct unwinder {
	struct unwind_file **files;
	size_t n_files, cap_files;
	struct unwind_space *spaces[MAX_SPACES];
	uint64_t clock;
};

/* One walk: the context of libunwind's callbacks. */
struct walk {
	const struct unwind_space *space;
	const struct unwind_module *module; /* of the last read */
	struct unwind_regs regs;
	const uint8_t *stack;
	uint64_t stack_start;
	size_t stack_size;
	size_t reads_left;
};

/* --- Memory and registers --- */

static const struct unwind_module *find_module(struct walk *walk, uint64_t address)
{
	const struct unwind_space *space = walk->space;
	if (walk->module && address >= walk->module->start && address < walk->module->end)
		return walk->module;
	const size_t n = rf_search(space->n_modules, i, space->modules[i].start <= address);
	if (!n || address >= space->modules[n - 1].end)
		return NULL;
	return walk->module = &space->modules[n - 1];
}

static bool read_stack(const struct walk *walk, uint64_t address, uint64_t *value)
{
	uint64_t into = address - walk->stack_start;
	if (walk->stack_size < sizeof(*value) || into > walk->stack_size - sizeof(*value))
		return false;
	memcpy(value, walk->stack + into, sizeof(*value));
	return true;
}

/* Copies a word out of `bytes`; past their end it is filled up with zeros (libunwind reads whole
 * aligned words where it needs a byte). */
static bool read_word(const uint8_t *bytes, size_t left, uint64_t *value)
{
	*value = 0;
	memcpy(value, bytes, left < sizeof(*value) ? left : sizeof(*value));
	return left > 0;
}

/* The table that unwind_file_make_table made lies at the module's bias plus made_vaddr. */
static bool read_made(const struct walk *walk, uint64_t address, uint64_t *value)
{
	for (size_t i = 0; i < walk->space->n_modules; i++) {
		const struct unwind_module *module = &walk->space->modules[i];
		uint64_t into = address - module->bias - module->file->made_vaddr;
		if (into < module->file->made_size)
			return read_word(module->file->made + into, module->file->made_size - into,
					 value);
	}
	return false;
}

static bool read_memory(struct walk *walk, uint64_t address, uint64_t *value)
{
	if (read_stack(walk, address, value))
		return true;
	if (address >> 48)
		return read_made(walk, address, value);
	const struct unwind_module *module = find_module(walk, address);
	struct elf_bytes bytes;
	return module && elf_file_at(&module->file->elf, address - module->bias, &bytes) &&
	       read_word(bytes.bytes, bytes.size, value);
}

static int access_mem(unw_addr_space_t handle, unw_word_t address, unw_word_t *value, int write,
		      void *context)
{
	struct walk *walk = context;
	if (write || !walk->reads_left)
		return -UNW_EINVAL;
	walk->reads_left--;
	return read_memory(walk, address, value) ? 0 : -UNW_EINVAL;
}

static uint64_t *register_of(struct unwind_regs *regs, unw_regnum_t number)
{
	switch (number) {
	case UNW_X86_64_RIP:
		return &regs->ip;
	case UNW_X86_64_RSP:
		return &regs->sp;
	case UNW_X86_64_RBP:
		return &regs->bp;
	case UNW_X86_64_RBX:
		return &regs->bx;
	case UNW_X86_64_R12:
		return &regs->r12;
	case UNW_X86_64_R13:
		return &regs->r13;
	case UNW_X86_64_R14:
		return &regs->r14;
	case UNW_X86_64_R15:
		return &regs->r15;
	}
	return NULL;
}

static int access_reg(unw_addr_space_t handle, unw_regnum_t number, unw_word_t *value, int write,
		      void *context)
{
	struct walk *walk = context;
	uint64_t *saved = register_of(&walk->regs, number);
	if (write || !saved)
		return -UNW_EBADREG;
	*value = *saved;
	return 0;
}

static int access_fpreg(unw_addr_space_t handle, unw_regnum_t number, unw_fpreg_t *value, int write,
			void *context)
{
	return -UNW_EBADREG;
}

static int get_dyn_info_list_addr(unw_addr_space_t handle, unw_word_t *list, void *context)
{
	return -UNW_ENOINFO;
}

static int resume(unw_addr_space_t handle, unw_cursor_t *cursor, void *context)
{
	return -UNW_EINVAL;
}

static int get_proc_name(unw_addr_space_t handle, unw_word_t ip, char *name, size_t size,
			 unw_word_t *offset, void *context)
{
	return -UNW_EINVAL;
}

/* --- Unwind tables --- */

/* libunwind frees what it made of the tables by itself. */
static void put_unwind_info(unw_addr_space_t handle, unw_proc_info_t *proc, void *context)
{
}

static int search_own(unw_addr_space_t handle, const struct unwind_module *module, unw_word_t ip,
		      unw_proc_info_t *proc, int need_unwind_info, void *context)
{
	const struct unwind_file *file = module->file;
	if (!file->n_entries)
		return -UNW_ENOINFO;
	unw_dyn_info_t info = {
		.start_ip = module->start,
		.end_ip = module->end,
		.format = UNW_INFO_FORMAT_REMOTE_TABLE,
		.u.rti =
			{
				.segbase = module->bias + file->header_vaddr,
				.table_len = file->n_entries, /* in words; an entry is one */
				.table_data = module->bias + file->table_vaddr,
			},
	};
	return UNW_OBJ(dwarf_search_unwind_table)(handle, ip, &info, proc, need_unwind_info,
						  context);
}

static int search_made(unw_addr_space_t handle, const struct unwind_module *module, unw_word_t ip,
		       unw_proc_info_t *proc, int need_unwind_info, void *context)
{
	unwind_file_make_table(module->file);
	if (!module->file->n_made)
		return -UNW_ENOINFO;
	unw_dyn_info_t info = {
		.start_ip = module->start,
		.end_ip = module->end,
		.format = UNW_INFO_FORMAT_IP_OFFSET,
		.u.rti =
			{
				.segbase = module->bias + module->file->made_vaddr,
				.table_len = module->file->n_made,
				.table_data = module->bias + module->file->made_vaddr,
			},
	};
	return UNW_OBJ(dwarf_search_unwind_table)(handle, ip, &info, proc, need_unwind_info,
						  context);
}

/* The code that a signal handler returns to: mov $15 (rt_sigreturn), %rax; syscall.  GDB and
 * libunwind know it by the same bytes. */
static bool is_sigreturn(struct walk *walk, uint64_t ip)
{
	static const uint8_t code[] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	uint64_t words[2];
	return read_memory(walk, ip, &words[0]) && read_memory(walk, ip + 8, &words[1]) &&
	       memcmp(words, code, sizeof(code)) == 0;
}

static int find_proc_info(unw_addr_space_t handle, unw_word_t ip, unw_proc_info_t *proc,
			  int need_unwind_info, void *context)
{
	struct walk *walk = context;
	const struct unwind_module *module = find_module(walk, ip);
	int result = -UNW_ENOINFO;
	memset(proc, 0, sizeof(*proc));
	if (module)
		result = search_own(handle, module, ip, proc, need_unwind_info, context);
	if (module && result == -UNW_ENOINFO)
		result = search_made(handle, module, ip, proc, need_unwind_info, context);
	if (result != -UNW_ENOINFO)
		return result;
	/* On "no info" libunwind goes on by itself: right for a signal frame (its caller looks up
	 * ip - 1), but its other guesses are made better by step_by_frame_pointer. */
	return is_sigreturn(walk, ip) || is_sigreturn(walk, ip + 1) ? -UNW_ENOINFO
								    : -UNW_EINVALIDIP;
}

static unw_accessors_t accessors = {
	.find_proc_info = find_proc_info,
	.put_unwind_info = put_unwind_info,
	.get_dyn_info_list_addr = get_dyn_info_list_addr,
	.access_mem = access_mem,
	.access_reg = access_reg,
	.access_fpreg = access_fpreg,
	.resume = resume,
	.get_proc_name = get_proc_name,
};

/* --- Files and address spaces --- */

static struct unwind_file *find_file(struct unwinder *unwinder, const char *path)
{
	for (size_t i = 0; i < unwinder->n_files; i++)
		if (strcmp(unwinder->files[i]->path, path) == 0)
			return unwinder->files[i];
	if (unwinder->n_files >= INT16_MAX - 1)
		return NULL;
	struct unwind_file *file = unwind_file_create(path, unwinder->n_files);
	if (file && rf_array_push(unwinder->files, unwinder->n_files, unwinder->cap_files, file))
		return file;
	unwind_file_destroy(file);
	return NULL;
}

/* A file's mappings share one bias; each (file, bias) is one module. */
static void add_module(struct unwinder *unwinder, struct unwind_space *space,
		       const struct unwind_mapping *mapping)
{
	struct unwind_file *file = find_file(unwinder, mapping->path);
	uint64_t vaddr = file && file->usable ? elf_file_vaddr(&file->elf, mapping->file_offset)
					      : UINT64_MAX;
	if (vaddr == UINT64_MAX)
		return;
	uint64_t bias = mapping->start - vaddr;
	struct unwind_module module = {bias + file->elf.low, bias + file->elf.high, bias, file};
	for (size_t i = 0; i < space->n_modules; i++)
		if (space->modules[i].file == file && space->modules[i].bias == bias)
			return;
	if (module.start < module.end)
		(void)rf_array_push(space->modules, space->n_modules, space->cap_modules, module);
}

static int compare_modules(const void *left, const void *right)
{
	const struct unwind_module *a = left, *b = right;
	return a->start < b->start ? -1 : a->start > b->start;
}

static void space_destroy(struct unwind_space *space)
{
	if (!space)
		return;
	if (space->handle)
		unw_destroy_addr_space(space->handle);
	for (size_t i = 0; space->mappings && i < space->n_mappings; i++)
		free((char *)space->mappings[i].path);
	free(space->mappings);
	free(space->modules);
	free(space);
}

static bool copy_mappings(struct unwind_space *space, const struct unwind_mapping *mappings,
			  size_t n)
{
	space->mappings = calloc(n + 1, sizeof(*mappings));
	if (!space->mappings)
		return false;
	space->n_mappings = n;
	for (size_t i = 0; i < n; i++) {
		space->mappings[i] = mappings[i];
		space->mappings[i].path = strdup(mappings[i].path ? mappings[i].path : "");
		if (!space->mappings[i].path)
			return false;
	}
	return true;
}

static struct unwind_space *space_create(struct unwinder *unwinder,
					 const struct unwind_mapping *mappings, size_t n)
{
	struct unwind_space *space = calloc(1, sizeof(*space));
	if (!space || !copy_mappings(space, mappings, n) ||
	    !(space->handle = unw_create_addr_space(&accessors, 0))) {
		space_destroy(space);
		return NULL;
	}
	unw_set_caching_policy(space->handle, UNW_CACHE_GLOBAL);
	unw_set_cache_size(space->handle, CACHED_RULES, 0);
	for (size_t i = 0; i < n; i++)
		add_module(unwinder, space, &space->mappings[i]);
	if (space->n_modules)
		qsort(space->modules, space->n_modules, sizeof(*space->modules), compare_modules);
	return space;
}

static bool same_mappings(const struct unwind_space *space, const struct unwind_mapping *mappings,
			  size_t n)
{
	if (!space || space->n_mappings != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct unwind_mapping *mine = &space->mappings[i];
		if (mine->start != mappings[i].start || mine->end != mappings[i].end ||
		    mine->file_offset != mappings[i].file_offset ||
		    strcmp(mine->path, mappings[i].path ? mappings[i].path : "") != 0)
			return false;
	}
	return true;
}

/* The address space of these mappings; the one that was used longest ago makes room. */
static struct unwind_space *find_space(struct unwinder *unwinder,
				       const struct unwind_mapping *mappings, size_t n)
{
	struct unwind_space **slot = &unwinder->spaces[0];
	for (size_t i = 0; i < MAX_SPACES; i++) {
		struct unwind_space *space = unwinder->spaces[i];
		if (same_mappings(space, mappings, n)) {
			space->last_used = ++unwinder->clock;
			return space;
		}
		if (*slot && (!space || space->last_used < (*slot)->last_used))
			slot = &unwinder->spaces[i];
	}
	space_destroy(*slot);
	*slot = space_create(unwinder, mappings, n);
	if (*slot)
		(*slot)->last_used = ++unwinder->clock;
	return *slot;
}

struct unwinder *unwinder_create(void)
{
	return calloc(1, sizeof(struct unwinder));
}

void unwinder_destroy(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	for (size_t i = 0; i < MAX_SPACES; i++)
		space_destroy(unwinder->spaces[i]);
	for (size_t i = 0; i < unwinder->n_files; i++)
		unwind_file_destroy(unwinder->files[i]);
	free(unwinder->files);
	free(unwinder);
}

/* --- The walk --- */

static bool is_executable(const struct unwind_space *space, uint64_t address)
{
	const size_t n = rf_search(space->n_mappings, i, space->mappings[i].start <= address);
	return n && address < space->mappings[n - 1].end;
}

static uint64_t cursor_register(unw_cursor_t *cursor, int number, uint64_t otherwise)
{
	unw_word_t value;
	return unw_get_reg(cursor, number, &value) == 0 ? value : otherwise;
}

/* One frame up without unwind information (generated code): the saved rbp and the return address
 * above it.  The walk starts anew from there. */
static bool step_by_frame_pointer(struct walk *walk, unw_cursor_t *cursor)
{
	uint64_t sp = cursor_register(cursor, UNW_X86_64_RSP, 0);
	uint64_t bp = cursor_register(cursor, UNW_X86_64_RBP, 0);
	uint64_t caller_bp, ip;
	if (bp < sp || bp - sp > MAX_GUESSED_FRAME || bp % 8 || !read_stack(walk, bp, &caller_bp) ||
	    !read_stack(walk, bp + 8, &ip))
		return false;
	walk->regs = (struct unwind_regs){
		.ip = ip,
		.sp = bp + 16,
		.bp = caller_bp,
		.bx = cursor_register(cursor, UNW_X86_64_RBX, 0),
		.r12 = cursor_register(cursor, UNW_X86_64_R12, 0),
		.r13 = cursor_register(cursor, UNW_X86_64_R13, 0),
		.r14 = cursor_register(cursor, UNW_X86_64_R14, 0),
		.r15 = cursor_register(cursor, UNW_X86_64_R15, 0),
	};
	return unw_init_remote(cursor, walk->space->handle, walk) == 0;
}

static bool step(struct walk *walk, unw_cursor_t *cursor)
{
	int result = unw_step(cursor);
	return result > 0 || (result == -UNW_EINVALIDIP && step_by_frame_pointer(walk, cursor));
}

/* Walks from walk->regs on; addresses[0] is there already. */
static size_t walk_frames(struct walk *walk, uint64_t *addresses, size_t max)
{
	unw_cursor_t cursor;
	size_t n = 1;
	uint64_t last_sp = walk->regs.sp;
	if (unw_init_remote(&cursor, walk->space->handle, walk) != 0)
		return n;
	bool signal_frame = unw_is_signal_frame(&cursor) > 0;
	while (n < max && step(walk, &cursor)) {
		uint64_t ip = cursor_register(&cursor, UNW_REG_IP, 0);
		uint64_t sp = cursor_register(&cursor, UNW_REG_SP, 0);
		bool interrupted = signal_frame;
		/* Only a signal can have come from another stack, and stacks only grow down: a
		 * frame that is not above the last one is no frame. */
		if (!is_executable(walk->space, interrupted ? ip : ip - 1) ||
		    (sp <= last_sp && !interrupted))
			break;
		/* The interrupted instruction, and the code that the kernel makes handlers
		 * return to, were not called: their addresses are exact. */
		signal_frame = unw_is_signal_frame(&cursor) > 0;
		addresses[n++] = interrupted || signal_frame ? ip : ip - 1;
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
		.space = find_space(unwinder, mappings, n_mappings),
		.regs = *regs,
		.stack = stack,
		.stack_start = regs->sp,
		.stack_size = stack_size,
		.reads_left = MAX_READS,
	};
	return walk.space ? walk_frames(&walk, addresses, max) : 1;
}

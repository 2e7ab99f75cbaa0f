/* The memory of a counted program: its regions as /proc/PID/maps tells them, copies of its code by
 * page, and plain access through /proc/PID/mem. */
#include "tracer/process/program_memory.h"

#include "base/array.h"
#include "base/search.h"
#include "insn/decode.h"
#include "profile/system_modules.h"
#include "tracer/process/allocators.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

#define PAGE 4096ull
#define TRIES 16 /* while the kernel has no page to copy through */

static void drop_regions(struct program_memory *memory)
{
	for (size_t i = 0; i < memory->n_regions; i++)
		free(memory->regions[i].path);
	memory->n_regions = 0;
}

struct rf_error *program_memory_init(struct program_memory *memory, pid_t pid,
				     struct module_files *files, struct profile *profile)
{
	char path[64];
	program_memory_init_regions(memory, pid, files, profile);
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
	memory->mem_fd = open(path, O_RDWR | O_CLOEXEC);
	if (memory->mem_fd < 0)
		return rf_error_errno(RF_EACCESS, errno, NULL, "cannot open %s", path);
	return NULL;
}

void program_memory_init_regions(struct program_memory *memory, pid_t pid,
				 struct module_files *files, struct profile *profile)
{
	*memory = (struct program_memory){
		.pid = pid, .mem_fd = -1, .files = files, .profile = profile};
	program_memory_refresh(memory);
}

void program_memory_deinit(struct program_memory *memory)
{
	drop_regions(memory);
	free(memory->regions);
	for (size_t i = 0; i < memory->n_pages; i++)
		free(memory->pages[i].bytes);
	free(memory->pages);
	u64_map_deinit(&memory->page_index);
	if (memory->mem_fd >= 0)
		close(memory->mem_fd);
	*memory = (struct program_memory){.mem_fd = -1};
}

static bool parse_line(char *line, struct memory_region *region)
{
	char permissions[8];
	int path_at = 0;
	*region = (struct memory_region){.module = PROFILE_NONE};
	if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %7s %" SCNx64 " %x:%x %" SCNu64 " %n",
		   &region->start, &region->end, permissions, &region->file_offset, &region->major,
		   &region->minor, &region->inode, &path_at) < 7)
		return false;
	region->writable = permissions[1] == 'w';
	region->executable = permissions[2] == 'x';
	region->shared = permissions[3] == 's';
	char *path = line + path_at;
	path[strcspn(path, "\n")] = 0;
	region->path = strdup(path);
	return region->path;
}

/* The gate asks about memory calls in units of 16 MB where code is, or was. */
static void note_code_units(struct program_memory *memory, const struct memory_region *region)
{
	for (uint64_t unit = region->start >> 24; unit <= (region->end - 1) >> 24; unit++)
		memory->code_units[unit & 0xffff] = 1;
}

void program_memory_refresh(struct program_memory *memory)
{
	char path[64], *line = NULL;
	size_t line_size = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)memory->pid);
	FILE *maps = fopen(path, "re");
	memory->lacks_descriptor = !maps && errno == EMFILE;
	if (!maps)
		return;
	drop_regions(memory);
	memory->stale = false;
	while (getline(&line, &line_size, maps) > 0) {
		struct memory_region region;
		if (!parse_line(line, &region))
			continue;
		if (!rf_array_push(memory->regions, memory->n_regions, memory->cap_regions, region))
			free(region.path);
		else if (region.executable && memory->code_units)
			note_code_units(memory, &region);
	}
	free(line);
	fclose(maps);
}

void program_memory_changes(struct program_memory *memory, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < memory->n_regions; i++)
		if (memory->regions[i].executable && memory->regions[i].start < end &&
		    start < memory->regions[i].end)
			memory->stale = true;
}

bool program_memory_forget(struct program_memory *memory, uint64_t start, uint64_t end)
{
	size_t kept = 0;
	for (size_t i = 0; i < memory->n_pages; i++) {
		struct code_page page = memory->pages[i];
		if (page.address >= end || page.address + PAGE <= start) {
			memory->pages[kept++] = page;
			continue;
		}
		u64_map_remove(&memory->page_index, page.address);
		free(page.bytes);
	}
	if (kept == memory->n_pages)
		return false;
	memory->n_pages = kept;
	for (size_t i = 0; i < kept; i++)
		(void)u64_map_set(&memory->page_index, memory->pages[i].address, (uint32_t)i);
	return true;
}

struct memory_region *program_memory_region(struct program_memory *memory, uint64_t address)
{
	const size_t n = rf_search(memory->n_regions, i, memory->regions[i].start <= address);
	struct memory_region *last = n ? &memory->regions[n - 1] : NULL;
	return last && address < last->end ? last : NULL;
}

bool program_memory_read(const struct program_memory *memory, uint64_t address, void *buffer,
			 size_t size)
{
	ssize_t n;
	int tries = 0;
	do
		n = pread(memory->mem_fd, buffer, size, (off_t)address);
	while (n < 0 && errno == ENOMEM && ++tries < TRIES);
	return n == (ssize_t)size;
}

bool program_memory_write(const struct program_memory *memory, uint64_t address, const void *buffer,
			  size_t size)
{
	ssize_t n;
	int tries = 0;
	do
		n = pwrite(memory->mem_fd, buffer, size, (off_t)address);
	while (n < 0 && errno == ENOMEM && ++tries < TRIES);
	return n == (ssize_t)size;
}

const char why_not_executable[] = "a jump to memory that is not executable";

/* Why the code of a region cannot be translated, or NULL.  Code that can change without a system
 * call would run stale when translated. */
static const char *refusal(const struct memory_region *region)
{
	if (!region || !region->executable)
		return why_not_executable;
	if (region->writable)
		return "code in writable memory (made at run time)";
	if (region->shared)
		return "code in shared memory (it may change from outside)";
	if (strcmp(region->path, "[vsyscall]") == 0)
		return "the old vsyscall page";
	return NULL;
}

static struct code_page *code_page(struct program_memory *memory, uint64_t address)
{
	const uint32_t *known = u64_map_find(&memory->page_index, address);
	if (known)
		return &memory->pages[*known];
	struct code_page page = {.address = address, .bytes = malloc(PAGE)};
	if (page.bytes && program_memory_read(memory, address, page.bytes, PAGE) &&
	    u64_map_set(&memory->page_index, address, (uint32_t)memory->n_pages) &&
	    rf_array_push(memory->pages, memory->n_pages, memory->cap_pages, page))
		return &memory->pages[memory->n_pages - 1];
	u64_map_remove(&memory->page_index, address);
	free(page.bytes);
	return NULL;
}

/* The copy of the page around an address, made now if need be.  NULL: its code cannot be
 * translated, and *refused says why; or, when that is only what lies behind an instruction that is
 * whole already
 * (`behind`), it is looked at again when control gets there. */
static const struct code_page *readable_page(struct program_memory *memory, uint64_t address,
					     bool behind, const char **refused)
{
	const uint64_t start = address & ~(PAGE - 1);
	const uint32_t *known = u64_map_find(&memory->page_index, start);
	if (known)
		return &memory->pages[*known];
	*refused = refusal(program_memory_region(memory, address));
	if (!memory->stale && *refused && behind)
		return NULL;
	if (memory->stale || *refused) {
		program_memory_refresh(memory);
		*refused =
			memory->lacks_descriptor
				? "code of which nothing is known: rfprof has reached its limit of "
				  "open files (ulimit -n)"
				: refusal(program_memory_region(memory, address));
	}
	const struct code_page *page = *refused ? NULL : code_page(memory, start);
	if (!page && !*refused)
		*refused = "code that cannot be read";
	return page;
}

size_t program_memory_code(void *context, uint64_t pc, uint8_t *buffer, size_t size,
			   const char **why)
{
	struct program_memory *memory = context;
	for (size_t done = 0; done < size;) {
		const char *refused = NULL;
		const struct code_page *page =
			readable_page(memory, pc + done, done >= LONGEST_INSN, &refused);
		if (!page) {
			if (!done)
				*why = refused;
			return done;
		}
		const size_t inside = (size_t)(pc + done - page->address);
		size_t n = PAGE - inside;
		n = n < size - done ? n : size - done;
		memcpy(buffer + done, page->bytes + inside, n);
		done += n;
	}
	return size;
}

/* The region that holds an address, with its file where it has one; or NULL. */
static struct memory_region *region_with_file(struct program_memory *memory, uint64_t address)
{
	struct memory_region *region = program_memory_region(memory, address);
	if (!region || region->file)
		return region;
	const struct perf_record record = {
		.type = PERF_RECORD_MMAP2,
		.pid = (uint32_t)memory->pid,
		.tid = (uint32_t)memory->pid,
		.start = region->start,
		.length = region->end - region->start,
		.file_offset = region->file_offset,
		.path = *region->path ? region->path : "//anon",
		.has_inode = true,
		.major = region->major,
		.minor = region->minor,
		.inode = region->inode,
	};
	region->file = module_files_get(memory->files, &record);
	if (region->file)
		region->module =
			profile_module(memory->profile, region->file->path, region->file->build_id);
	return region;
}

bool program_memory_value(void *context, uint64_t address, uint64_t *value)
{
	return program_memory_read(context, address, value, sizeof(*value));
}

void program_memory_locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	struct program_memory *memory = context;
	const struct memory_region *region = region_with_file(memory, pc);
	*module = region ? region->module : PROFILE_NONE;
	*offset = pc;
	if (!region || !region->file)
		return;
	const struct mapping mapping = {region->start, region->end, region->file_offset,
					region->file};
	*offset = mapping_offset(&mapping, pc);
}

bool program_memory_is_own(void *context, uint64_t pc)
{
	struct program_memory *memory = context;
	const struct memory_region *region = region_with_file(memory, pc);
	if (!region || !region->file || !region->file->has_file)
		return false;
	const char *slash = strrchr(region->file->path, '/');
	return !profile_is_system_module(slash ? slash + 1 : region->file->path);
}

const struct module_file *program_memory_file(struct program_memory *memory, uint64_t pc,
					      uint64_t *vaddr)
{
	const struct memory_region *region = region_with_file(memory, pc);
	if (!region || !region->file || !region->file->has_file)
		return NULL;
	*vaddr = module_file_vaddr(region->file, region->file_offset + (pc - region->start));
	return region->file;
}

int program_memory_allocator(void *context, uint64_t pc)
{
	struct program_memory *memory = context;
	uint64_t vaddr;
	const struct module_file *file =
		memory->allocators ? program_memory_file(memory, pc, &vaddr) : NULL;
	return file ? named_functions_at(memory->allocators, file, vaddr) : -1;
}

bool program_memory_mapping(void *context, uint64_t address, uint64_t *start, uint64_t *end)
{
	const struct program_memory *memory = context;
	char path[64], line[512];
	bool found = false, begins = true;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)memory->pid);
	FILE *maps = fopen(path, "re");
	while (!found && maps && fgets(line, sizeof(line), maps)) {
		found = begins && sscanf(line, "%" SCNx64 "-%" SCNx64, start, end) == 2 &&
			address >= *start && address < *end;
		begins = strchr(line, '\n') != NULL; /* long paths come in pieces */
	}
	if (maps)
		fclose(maps);
	return found;
}

int program_memory_mark(void *context, uint64_t pc)
{
	struct program_memory *memory = context;
	const struct memory_region *region = memory->marks ? region_with_file(memory, pc) : NULL;
	for (int mark = 0; region && region->file && mark < N_MARKS; mark++) {
		const uint64_t vaddr = marks_vaddr(memory->marks, region->file, mark);
		if (vaddr && vaddr == module_file_vaddr(region->file,
							region->file_offset + (pc - region->start)))
			return mark;
	}
	return -1;
}

uint64_t program_memory_find_mark(struct program_memory *memory, enum mark mark)
{
	for (size_t i = 0; i < memory->n_regions; i++) {
		const struct memory_region *region = &memory->regions[i];
		if (!region->executable || !region_with_file(memory, region->start))
			continue;
		const uint64_t vaddr = marks_vaddr(memory->marks, region->file, mark);
		const uint64_t first =
			vaddr ? module_file_vaddr(region->file, region->file_offset) : 0;
		if (vaddr && vaddr >= first && vaddr - first < region->end - region->start)
			return region->start + (vaddr - first);
	}
	return 0;
}

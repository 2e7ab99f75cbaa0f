/* The functions of one module: which source names which part of it.  See symbol_find in symbols.h.
 */
#include "symbols/symbols.h"

#include "base/array.h"
#include "symbols/debug_file.h"
#include "symbols/demangle.h"
#include "symbols/dwarf_inlines.h"
#include "symbols/dwarf_names.h"
#include "symbols/eh_frame.h"
#include "symbols/elf_file.h"
#include "symbols/elf_symtab.h"
#include "symbols/function_map.h"
#include "symbols/plt.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct symbol_module {
	struct module_files files;
	char *path;
	char *name;                    /* base name, for functions without a symbol */
	struct function_map functions; /* symbols, stubs and FDEs */
	bool complete;                 /* with DWARF's functions, and the gaps between all */
	bool looked_for_ada, ada;      /* a program in Ada, whose names are its own */
	struct dwarf_names *dwarf;
	bool dwarf_opened;
	const struct symbol_fetcher *fetcher; /* or NULL */
	struct dwarf_inlines *inlines;
	bool failed;  /* memory was short somewhere */
	char **names; /* every name that was handed out */
	size_t n_names, cap_names;
};

struct fde_layer {
	const struct elf_file *image;
	struct function_map *functions;
};

static struct rf_error *add_fde(void *context, uint64_t start, uint64_t end)
{
	const struct fde_layer *layer = context;
	const struct elf_segment *segment = elf_file_segment(layer->image, start);
	if (!segment || !segment->executable)
		return NULL;
	const uint64_t limit = segment->vaddr + segment->memory_size;
	return function_map_append(layer->functions, start, end < limit ? end : limit, NULL, "",
				   RANK_LOCAL);
}

static struct rf_error *read_fdes(const struct elf_file *image, struct function_map *functions)
{
	struct elf_bytes section;
	struct fde_layer layer = {image, functions};
	return elf_file_eh_frame(image, &section) ? eh_frame_walk(&section, add_fde, &layer) : NULL;
}

/* A symbol without a size ends where the FDE of the same start ends, else at the next FDE: hidden
 * functions that follow it in a stripped file are not its own. */
static void size_by_fdes(struct function_map *unsized, const struct function_map *fdes)
{
	for (size_t i = 0; i < unsized->n_ranges; i++) {
		struct function_range *range = &unsized->ranges[i];
		size_t next;
		const struct function_range *fde = function_map_find(fdes, range->start, &next);
		uint64_t end = next < fdes->n_ranges ? fdes->ranges[next].start : range->end;
		if (fde && fde->start == range->start)
			end = fde->end;
		if (end < range->end)
			range->end = end;
	}
}

/* The lists of which the map of functions is made. */
struct layers {
	struct function_map unsized, stubs, fdes;
};

/* The layers, most trusted last in, while the map is empty: sized, unsized, stubs, FDEs. */
static struct rf_error *merge_layers(struct symbol_module *module, struct layers *layers)
{
	struct function_map *sized = &module->functions;
	const struct elf_file *image = &module->files.items[0];
	struct rf_error *error = elf_symtab_read(&module->files, sized, &layers->unsized)
					 ?: function_map_settle(sized)
					 ?: function_map_settle(&layers->unsized)
					 ?: read_fdes(image, &layers->fdes)
					 ?: function_map_settle(&layers->fdes);
	if (error)
		return error;
	size_by_fdes(&layers->unsized, &layers->fdes);
	return function_map_add_layer(sized, &layers->unsized)
		       ?: plt_read(image, sized, &layers->stubs)
		       ?: function_map_settle(&layers->stubs)
		       ?: function_map_add_layer(sized, &layers->stubs)
		       ?: function_map_add_layer(sized, &layers->fdes);
}

static struct rf_error *build_functions(struct symbol_module *module)
{
	struct layers layers = {0};
	struct rf_error *error = merge_layers(module, &layers);
	function_map_deinit(&layers.unsized);
	function_map_deinit(&layers.stubs);
	function_map_deinit(&layers.fdes);
	return error;
}

/* What its debug file shares with others, where that is not here. */
static void fetch_shared_part(struct symbol_module *module)
{
	struct elf_file fetched;
	char *build_id =
		module->dwarf && module->fetcher ? dwarf_names_missing_part(module->dwarf) : NULL;
	if (build_id && debug_file_fetch(module->fetcher, module->name, build_id, &fetched))
		dwarf_names_take_part(module->dwarf, &fetched);
	free(build_id);
}

/* Goes on after the files are open; takes them over. */
static struct rf_error *create_module(const char *path, struct module_files *files,
				      const struct symbol_fetcher *fetcher,
				      struct symbol_module **out)
{
	struct symbol_module *module = calloc(1, sizeof(*module));
	const char *slash = strrchr(path, '/');
	if (!module) {
		module_files_close(files);
		return rf_error_no_memory();
	}
	module->files = *files;
	module->path = strdup(path);
	module->name = strdup(slash ? slash + 1 : path);
	module->fetcher = fetcher;
	struct rf_error *error =
		module->name && module->path ? build_functions(module) : rf_error_no_memory();
	if (error)
		symbol_module_close(module);
	else
		*out = module;
	return error;
}

struct rf_error *symbol_module_read(const char *path, int fd, const struct symbol_fetcher *fetcher,
				    struct symbol_module **out)
{
	struct module_files files;
	return module_files_open(path, fd, fetcher, &files)
		       ?: create_module(path, &files, fetcher, out);
}

struct rf_error *symbol_module_open_image(const char *name, const void *image, size_t size,
					  struct symbol_module **out)
{
	struct module_files files;
	return module_files_open_image(name, image, size, &files)
		       ?: create_module(name, &files, NULL, out);
}

void symbol_module_close(struct symbol_module *module)
{
	if (!module)
		return;
	function_map_deinit(&module->functions);
	for (size_t i = 0; i < module->n_names; i++)
		free(module->names[i]);
	free(module->names);
	dwarf_inlines_destroy(module->inlines);
	dwarf_names_destroy(module->dwarf);
	module_files_close(&module->files);
	free(module->name);
	free(module->path);
	free(module);
}

const char *symbol_module_build_id(const struct symbol_module *module)
{
	return module->files.build_id;
}

/* The file that a debug file is one with others in is looked for beside it. */
static void note_shared_part(struct symbol_module *module)
{
	const char *path = module->path;
	for (size_t i = 0; i < module->files.n_places; i++)
		if (module->files.places[i].used && module->files.n > 1 &&
		    !elf_file_has_dwarf(&module->files.items[0]))
			path = module->files.places[i].path;
	module_files_note_part(&module->files, dwarf_names_dwarf(module->dwarf), path);
}

/* The DWARF of the file, or of its debug file, opened when first asked for. */
static struct dwarf_names *module_dwarf(struct symbol_module *module)
{
	if (module->dwarf_opened)
		return module->dwarf;
	module->dwarf_opened = true;
	for (size_t i = 0; i < module->files.n && !module->dwarf; i++)
		module->dwarf = dwarf_names_create(&module->files.items[i],
						   module_files_shift(&module->files, i));
	if (module->dwarf)
		note_shared_part(module);
	fetch_shared_part(module);
	return module->dwarf;
}

/* DWARF names what no symbol names, before the FDEs do; so a range that is only an FDE makes way
 * for it.  Done once, before the first answer that no symbol gives: later answers must not
 * contradict it. */
static struct rf_error *merge_dwarf(struct symbol_module *module)
{
	struct function_map subprograms = {0}, unnamed = {0}, named = {0};
	struct rf_error *error = dwarf_names_functions(module->dwarf, &subprograms)
					 ?: function_map_settle(&subprograms);
	for (size_t i = 0; !error && i < module->functions.n_ranges; i++) {
		const struct function_range *range = &module->functions.ranges[i];
		struct function_map *layer = range->raw ? &named : &unnamed;
		error = rf_array_add(layer->ranges, layer->n_ranges, layer->cap_ranges, *range);
	}
	error = error ?: function_map_add_layer(&named, &subprograms);
	error = error ?: function_map_add_layer(&named, &unnamed);
	if (!error) {
		struct function_map old = module->functions;
		module->functions = named;
		named = old;
	}
	function_map_deinit(&subprograms);
	function_map_deinit(&unnamed);
	function_map_deinit(&named);
	return error;
}

/* What lies between the functions of one executable region. */
static struct rf_error *add_gaps(const struct symbol_module *module, uint64_t start, uint64_t end,
				 struct function_map *gaps)
{
	const struct function_map *functions = &module->functions;
	size_t next;
	const struct function_range *first = function_map_find(functions, start, &next);
	if (first)
		start = first->end;
	struct rf_error *error = NULL;
	for (; !error && start < end && next < functions->n_ranges; next++) {
		const struct function_range *range = &functions->ranges[next];
		if (range->start >= end)
			break;
		error = function_map_append(gaps, start, range->start, NULL, "", RANK_LOCAL);
		start = range->end;
	}
	return error ? error : function_map_append(gaps, start, end, NULL, "", RANK_LOCAL);
}

/* Adds every gap as a range of its own, so that each byte of each executable segment is in one. */
static struct rf_error *merge_gaps(struct symbol_module *module)
{
	const struct elf_file *image = &module->files.items[0];
	struct function_map gaps = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < image->n_segments; i++) {
		const struct elf_segment *segment = &image->segments[i];
		uint64_t at = segment->vaddr, start, end;
		for (; !error && at - segment->vaddr < segment->memory_size; at = end) {
			if (!elf_file_region(image, at, &start, &end))
				break;
			error = add_gaps(module, start, end, &gaps);
		}
	}
	error = error ?: function_map_settle(&gaps);
	error = error ?: function_map_add_layer(&module->functions, &gaps);
	function_map_deinit(&gaps);
	return error;
}

/* Where memory is short the answer is that of the symbols alone. */
static struct function_range *find_range(struct symbol_module *module, uint64_t vaddr)
{
	struct function_range *range = function_map_find(&module->functions, vaddr, NULL);
	if ((range && range->raw) || module->complete)
		return range;
	module->complete = true;
	struct rf_error *error =
		(module_dwarf(module) ? merge_dwarf(module) : NULL) ?: merge_gaps(module);
	module->failed |= error != NULL;
	rf_error_destroy(error);
	return error ? range : function_map_find(&module->functions, vaddr, NULL);
}

/* What the binder of Ada's programs makes is in each of them, and in no other. */
static bool is_ada(struct symbol_module *module)
{
	for (size_t i = 0; !module->looked_for_ada && i < module->functions.n_ranges; i++) {
		const char *raw = module->functions.ranges[i].raw;
		module->ada |= raw && strcmp(raw, "adainit") == 0;
	}
	module->looked_for_ada = true;
	return module->ada;
}

static char *make_name(struct symbol_module *module, const struct function_range *range)
{
	char *name = NULL;
	if (!range->raw) {
		if (asprintf(&name, "%s+0x%llx", module->name, (unsigned long long)range->start) <
		    0)
			return NULL;
		return name;
	}
	char *readable =
		is_ada(module) ? symbol_demangle_ada(range->raw) : symbol_demangle(range->raw);
	if (!readable || !range->suffix[0])
		return readable;
	if (asprintf(&name, "%s%s", readable, range->suffix) < 0)
		name = NULL;
	free(readable);
	return name;
}

/* Completes a range that is asked for: its name, and its line where there is DWARF. */
static void look_up(struct symbol_module *module, struct function_range *range)
{
	char *name = make_name(module, range);
	if (name && rf_array_push(module->names, module->n_names, module->cap_names, name))
		range->name = name;
	else
		free(name);
	module->failed |= !range->name;
	if (module_dwarf(module))
		dwarf_names_line(module->dwarf, range->start, &range->file, &range->line);
}

bool symbol_find(struct symbol_module *module, uint64_t vaddr, struct symbol *symbol)
{
	struct function_range *range = find_range(module, vaddr);
	if (!range)
		return false;
	if (!range->name)
		look_up(module, range);
	*symbol = (struct symbol){
		.start = range->start,
		.end = range->end,
		.name = range->name ? range->name : module->name,
		.file = range->file ? range->file : "",
		.line = range->line,
	};
	return true;
}

bool symbol_line(struct symbol_module *module, uint64_t vaddr, const char **file, uint32_t *line)
{
	return module_dwarf(module) && dwarf_names_line(module->dwarf, vaddr, file, line);
}

const char *symbol_directory(struct symbol_module *module, uint64_t vaddr)
{
	return module_dwarf(module) ? dwarf_names_directory(module->dwarf, vaddr) : NULL;
}

void symbol_row(struct symbol_module *module, uint64_t vaddr, uint64_t *start, uint64_t *end)
{
	*start = 0;
	*end = UINT64_MAX;
	if (module_dwarf(module))
		dwarf_names_row(module->dwarf, vaddr, start, end);
}

const char *symbol_module_place(const struct symbol_module *module, size_t i, bool *used)
{
	if (i >= module->files.n_places)
		return NULL;
	*used = module->files.places[i].used;
	return module->files.places[i].path;
}

bool symbol_module_is_lasting(const struct symbol_module *module)
{
	return !module->failed && !module->files.forgets && !module->fetcher &&
	       (!module->inlines || !dwarf_inlines_failed(module->inlines)) &&
	       (!module->dwarf || !dwarf_names_is_split(module->dwarf));
}

const struct dwarf_inline *symbol_inlined(struct symbol_module *module, uint64_t vaddr,
					  uint64_t *end)
{
	*end = UINT64_MAX;
	if (!module->inlines && module_dwarf(module))
		module->inlines = dwarf_inlines_create(module->dwarf);
	module->failed |= module->dwarf && !module->inlines;
	return module->inlines ? dwarf_inlines_find(module->inlines, vaddr, end) : NULL;
}

static bool is_system_header(const char *file)
{
	return strncmp(file, "/usr/", 5) == 0;
}

bool symbol_caller_line(struct symbol_module *module, uint64_t vaddr, const char **file,
			uint32_t *line)
{
	uint64_t end;
	if (!symbol_line(module, vaddr, file, line))
		return false;
	if (!is_system_header(*file))
		return true;
	const struct dwarf_inline *call = symbol_inlined(module, vaddr, &end);
	for (; call && is_system_header(*file); call = call->caller)
		if (call->call_file[0] && call->call_line) {
			*file = call->call_file;
			*line = call->call_line;
		}
	return true;
}

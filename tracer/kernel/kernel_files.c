/* The names of kernels. */
#include "tracer/kernel/kernel_files.h"

#include "base/array.h"
#include "symbols/demangle.h"
#include "tracer/process/named_functions.h"

#include <stdlib.h>
#include <string.h>

struct kernel_files {
	struct profile *profile; /* not owned */
	struct named_functions *functions;
};

/* ---- names ---- */

/* Where the list of parameters of a demangled name begins, or its end. */
static size_t parameters_at(const char *name)
{
	const char *const end = strrchr(name, ')');
	int depth = 0;
	for (const char *c = end; c && c >= name; c--) {
		depth += (*c == ')') - (*c == '(');
		if (!depth)
			/* the brackets of operator() are its name */
			return c - name >= 8 && c[1] == ')' && strncmp(c - 8, "operator", 8) == 0
				       ? strlen(name)
				       : (size_t)(c - name);
	}
	return strlen(name);
}

/* Length of a symbol's name without its version and the marks of compilers' copies. */
static size_t plain_length(const char *symbol)
{
	static const char *const marks[] = {".constprop.", ".isra."};
	size_t n = symbol[0] ? 1 + strcspn(symbol + 1, "@") : 0;
	for (size_t i = 0; i < sizeof(marks) / sizeof(marks[0]); i++) {
		const char *mark = strstr(symbol, marks[i]);
		if (mark && (size_t)(mark - symbol) < n)
			n = (size_t)(mark - symbol);
	}
	return n;
}

/* The last part of a name must stand in every mangled form of it, but for operators. */
static bool may_be(const char *symbol, const char *wanted)
{
	char part[64];
	const size_t end = strchr(wanted, '(') ? parameters_at(wanted) : strlen(wanted);
	size_t from = end;
	while (from && (wanted[from - 1] == '_' || (wanted[from - 1] | 32) - 'a' < 26u ||
			(unsigned)(wanted[from - 1] - '0') < 10))
		from--;
	if (end - from == 0 || end - from >= sizeof(part))
		return true;
	memcpy(part, wanted + from, end - from);
	part[end - from] = 0;
	return strstr(symbol, part) || strstr(wanted, "operator");
}

bool kernel_is_named(const char *symbol, const char *wanted)
{
	const size_t n = plain_length(symbol);
	if (strncmp(symbol, wanted, n) == 0 && !wanted[n])
		return true;
	if (symbol[0] != '_' || !may_be(symbol, wanted))
		return false;
	char *raw = strndup(symbol, n), *name = raw ? symbol_demangle(raw) : NULL;
	const size_t without = name ? parameters_at(name) : 0;
	const bool is = name && (strcmp(name, wanted) == 0 ||
				 (strncmp(name, wanted, without) == 0 && !wanted[without]));
	free(name);
	free(raw);
	return is;
}

/* Where a name of the list ends: at a comma outside of all brackets. */
static size_t name_length(const char *list)
{
	int depth = 0;
	size_t n = 0;
	for (; list[n] && (list[n] != ',' || depth > 0); n++)
		depth += (list[n] == '(' || list[n] == '<') - (list[n] == ')' || list[n] == '>');
	return n;
}

static struct rf_error *add_kernel(struct profile *profile, const char *name, size_t length)
{
	struct profile_kernel kernel = {.name = strndup(name, length)};
	if (!kernel.name)
		return rf_error_no_memory();
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_kernels; i++)
		if (strcmp(profile->kernels[i].name, kernel.name) == 0)
			error = rf_error_create(RF_EINPUT, NULL, "--kernel names %s twice",
						kernel.name);
	if (!error && (!length || profile->n_kernels >= MOST_KERNELS))
		error = rf_error_create(RF_EINPUT, NULL,
					length ? "--kernel names more than %d functions"
					       : "--kernel: a name is empty (at most %d)",
					MOST_KERNELS);
	if (!error)
		error = rf_array_add(profile->kernels, profile->n_kernels, profile->cap_kernels,
				     kernel);
	if (error)
		free(kernel.name);
	return error;
}

static bool is_named(const void *context, int number, const char *symbol)
{
	const struct profile *profile = context;
	return kernel_is_named(symbol, profile->kernels[number].name);
}

struct rf_error *kernel_files_create(const char *list, struct profile *profile,
				     struct kernel_files **out)
{
	struct kernel_files *files = calloc(1, sizeof(*files));
	struct rf_error *error = files ? NULL : rf_error_no_memory();
	for (size_t at = 0, n; !error; at += n + 1) {
		n = name_length(list + at);
		error = add_kernel(profile, list + at, n);
		if (!list[at + n])
			break;
	}
	if (error) {
		free(files);
		return error;
	}
	const struct function_names names = {.n = (int)profile->n_kernels,
					     .is_named = is_named,
					     .context = profile};
	files->profile = profile;
	files->functions = named_functions_create(&names);
	if (!files->functions) {
		free(files);
		return rf_error_no_memory();
	}
	*out = files;
	return NULL;
}

struct rf_error *kernel_files_check(const char *list)
{
	struct profile *profile = profile_create();
	struct kernel_files *files = NULL;
	struct rf_error *error =
		profile ? kernel_files_create(list, profile, &files) : rf_error_no_memory();
	kernel_files_destroy(files);
	profile_destroy(profile);
	return error;
}

void kernel_files_destroy(struct kernel_files *files)
{
	if (files)
		named_functions_destroy(files->functions);
	free(files);
}

void kernel_files_note_unread(const struct kernel_files *files, struct profile *profile)
{
	named_functions_note_unread(files->functions, profile);
}

static void note_place(struct program_memory *memory, uint32_t kernel, uint64_t pc)
{
	struct profile *profile = memory->profile;
	struct profile_kernel_place place = {.kernel = kernel};
	program_memory_locate(memory, pc, &place.module, &place.offset);
	for (size_t i = 0; i < profile->n_kernel_places; i++)
		if (profile->kernel_places[i].module == place.module &&
		    profile->kernel_places[i].offset == place.offset)
			return;
	/* without it times of the kernel are missing, which the report says */
	(void)rf_array_push(profile->kernel_places, profile->n_kernel_places,
			    profile->cap_kernel_places, place);
}

int kernel_files_at(void *context, uint64_t pc)
{
	struct program_memory *memory = context;
	uint64_t vaddr;
	const struct module_file *file =
		memory->kernels ? program_memory_file(memory, pc, &vaddr) : NULL;
	const int kernel = file ? named_functions_at(memory->kernels->functions, file, vaddr) : -1;
	if (kernel >= 0)
		note_place(memory, (uint32_t)kernel, pc);
	return kernel;
}

size_t kernel_files_find(void *context, struct kernel_entry *entries, size_t most)
{
	struct program_memory *memory = context;
	size_t n = 0;
	for (size_t r = 0; r < memory->n_regions; r++) {
		const uint64_t start = memory->regions[r].start, end = memory->regions[r].end;
		uint64_t first, vaddr, size;
		const struct module_file *file =
			memory->regions[r].executable ? program_memory_file(memory, start, &first)
						      : NULL;
		int kernel;
		for (size_t i = 0; file && named_functions_place(memory->kernels->functions, file,
								 i, &vaddr, &kernel, &size);
		     i++) {
			if (vaddr < first || vaddr - first >= end - start)
				continue;
			if (n < most)
				entries[n] = (struct kernel_entry){start + (vaddr - first),
								   (uint32_t)kernel, size};
			n++;
		}
	}
	return n;
}

/* Reads the symbol tables of files for the names of kernels. */
#include "tracer/kernel/kernel_files.h"

#include "base/array.h"
#include "base/confined.h"
#include "symbols/demangle.h"
#include "symbols/elf_file.h"

#include <string.h>
#include <unistd.h>

/* For the reader of one file's symbol tables. */
#define READER_SECONDS 60

struct place {
	uint64_t vaddr;
	uint32_t kernel;
};

struct known_file {
	const struct module_file *file;
	const struct profile *profile;
	struct place *places;
	size_t n_places, cap_places;
	char *trouble; /* why they are not known, or NULL */
};

struct kernel_files {
	struct profile *profile; /* not owned */
	struct known_file *items;
	size_t n_items, cap_items;
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
	files->profile = profile;
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
	for (size_t i = 0; files && i < files->n_items; i++) {
		free(files->items[i].places);
		free(files->items[i].trouble);
	}
	if (files)
		free(files->items);
	free(files);
}

/* ---- a file's tables, in a child (base/confined.h) ---- */

static void put_places(const struct known_file *known, FILE *answer, const GElf_Sym *symbol,
		       const char *name)
{
	if (!name || symbol->st_shndx == SHN_UNDEF || !symbol->st_value ||
	    GELF_ST_TYPE(symbol->st_info) != STT_FUNC)
		return;
	for (uint32_t k = 0; k < known->profile->n_kernels; k++)
		if (kernel_is_named(name, known->profile->kernels[k].name)) {
			confined_put_tag(answer, 1);
			confined_put_number(answer, symbol->st_value);
			confined_put_number(answer, k);
			return;
		}
}

static void read_table(const struct known_file *known, FILE *answer, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++)
		put_places(known, answer, &symbol,
			   elf_strptr(elf, header->sh_link, symbol.st_name));
}

static void read_file(void *context, FILE *answer)
{
	const struct known_file *known = context;
	struct elf_file file;
	struct rf_error *error = elf_file_read(known->file->open_path, CONFINED_FD, &file);
	if (error) {
		rf_error_destroy(error);
		return;
	}
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file.elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			read_table(known, answer, file.elf, section, &header);
	}
	elf_file_close(&file);
}

/* ---- what is known ---- */

/* A function may stand in both tables, or have several names. */
static bool add_place(struct known_file *known, struct place place)
{
	for (size_t i = 0; i < known->n_places; i++)
		if (known->places[i].vaddr == place.vaddr)
			return true;
	return rf_array_push(known->places, known->n_places, known->cap_places, place);
}

static void read_in_child(struct known_file *known, int fd)
{
	const struct confined_job job = {fd, NULL, read_file, known, READER_SECONDS};
	struct confined *child;
	bool makes_sense = true;
	struct rf_error *error = confined_create(&job, &child);
	if (error) {
		known->trouble = strdup(error->message);
		rf_error_destroy(error);
		return;
	}
	for (uint8_t tag; makes_sense && (tag = confined_next(child));) {
		struct place place = {.vaddr = confined_number(child)};
		place.kernel = (uint32_t)confined_number(child);
		makes_sense = tag == 1 && place.kernel < known->profile->n_kernels &&
			      add_place(known, place);
	}
	const char *failure =
		makes_sense ? confined_failure(child) : "its reader's answer makes no sense";
	known->trouble = failure ? strdup(failure) : NULL;
	confined_destroy(child);
}

void kernel_files_note_unread(const struct kernel_files *files, struct profile *profile)
{
	for (size_t i = 0; i < files->n_items; i++)
		if (files->items[i].trouble)
			profile_note_unread(profile, files->items[i].file->path,
					    files->items[i].trouble);
}

static const struct known_file *know(struct kernel_files *files, const struct module_file *file)
{
	for (size_t i = files->n_items; i-- > 0;)
		if (files->items[i].file == file)
			return &files->items[i];
	struct known_file new = {.file = file, .profile = files->profile};
	int fd = -1;
	struct rf_error *error = file->has_file && file->open_path
					 ? elf_file_descriptor(file->open_path, &fd)
					 : NULL;
	if (fd >= 0) {
		read_in_child(&new, fd);
		close(fd);
	}
	rf_error_destroy(error);
	if (rf_array_push(files->items, files->n_items, files->cap_items, new))
		return &files->items[files->n_items - 1];
	free(new.places);
	free(new.trouble);
	return NULL;
}

static int find(struct kernel_files *files, const struct module_file *file, uint64_t vaddr)
{
	const struct known_file *known = know(files, file);
	for (size_t i = 0; known && i < known->n_places; i++)
		if (known->places[i].vaddr == vaddr)
			return (int)known->places[i].kernel;
	return -1;
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
	const int kernel = file ? find(memory->kernels, file, vaddr) : -1;
	if (kernel >= 0)
		note_place(memory, (uint32_t)kernel, pc);
	return kernel;
}

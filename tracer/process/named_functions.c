/* Reads the symbol tables of files, in a child, for functions of given names. */
#include "tracer/process/named_functions.h"

#include "base/array.h"
#include "base/confined.h"
#include "symbols/elf_file.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For the reader of one file's symbol tables. */
#define READER_SECONDS 60

struct place {
	uint64_t vaddr, number, size; /* size: bytes of code; 0: not known */
};

struct known_file {
	const struct function_names *names;
	const struct module_file *file;
	struct place *places;
	size_t n_places, cap_places;
	char *trouble; /* why they are not known, or NULL */
	bool is_whole; /* all tables have been read */
};

struct named_functions {
	struct function_names names;
	struct known_file *items;
	size_t n_items, cap_items;
};

struct named_functions *named_functions_create(const struct function_names *names)
{
	struct named_functions *functions = calloc(1, sizeof(*functions));
	if (functions)
		functions->names = *names;
	return functions;
}

static void free_known(struct known_file *known)
{
	free(known->places);
	free(known->trouble);
}

void named_functions_destroy(struct named_functions *functions)
{
	for (size_t i = 0; functions && i < functions->n_items; i++)
		free_known(&functions->items[i]);
	if (functions)
		free(functions->items);
	free(functions);
}

/* A function may stand in both tables of a file, and have several names. */
static bool add_place(struct known_file *known, struct place place)
{
	for (size_t i = 0; i < known->n_places; i++)
		if (known->places[i].vaddr == place.vaddr &&
		    known->places[i].number == place.number) {
			if (known->places[i].size < place.size)
				known->places[i].size = place.size;
			return true;
		}
	return place.number < (uint64_t)known->names->n &&
	       rf_array_push(known->places, known->n_places, known->cap_places, place);
}

/* ---- in a child (base/confined.h) ---- */

enum { PLACE = 1, WHOLE }; /* address, number, size; nothing */

static void look_at_symbol(struct known_file *known, const GElf_Sym *symbol, const char *name)
{
	const struct function_names *names = known->names;
	const int type = GELF_ST_TYPE(symbol->st_info);
	if (!name || symbol->st_shndx == SHN_UNDEF || !symbol->st_value ||
	    (type != STT_FUNC && !(names->untyped && type == STT_NOTYPE)))
		return;
	for (int i = 0; i < names->n; i++)
		if (names->is_named(names->context, i, name))
			(void)add_place(known, (struct place){symbol->st_value, (uint64_t)i,
							      symbol->st_size});
}

static void read_table(struct known_file *known, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	known->is_whole &= data != NULL;
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++)
		look_at_symbol(known, &symbol, elf_strptr(elf, header->sh_link, symbol.st_name));
}

static void read_file(void *context, FILE *answer)
{
	struct known_file *known = context;
	struct elf_file file;
	struct rf_error *error = elf_file_read(known->file->open_path, CONFINED_FD, &file);
	if (error) {
		rf_error_destroy(error);
		return;
	}
	known->is_whole = true;
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file.elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			read_table(known, file.elf, section, &header);
	}
	for (size_t i = 0; i < known->n_places; i++) {
		confined_put_tag(answer, PLACE);
		confined_put_number(answer, known->places[i].vaddr);
		confined_put_number(answer, known->places[i].number);
		confined_put_number(answer, known->places[i].size);
	}
	if (known->is_whole)
		confined_put_tag(answer, WHOLE);
	elf_file_close(&file);
}

/* ---- its answer ---- */

static bool take_place(struct confined *child, struct known_file *known)
{
	const uint64_t vaddr = confined_number(child), number = confined_number(child),
		       size = confined_number(child);
	return add_place(known, (struct place){vaddr, number, size});
}

static void read_in_child(struct known_file *known, int fd)
{
	const struct confined_job job = {fd, NULL, read_file, known, READER_SECONDS};
	struct confined *child;
	uint8_t tag;
	struct rf_error *error = confined_create(&job, &child);
	if (error) {
		known->trouble = strdup(error->message);
		rf_error_destroy(error);
		return;
	}
	while ((tag = confined_next(child)) == WHOLE || (tag == PLACE && take_place(child, known)))
		known->is_whole = tag == WHOLE;
	const char *failure = tag ? "its reader's answer makes no sense" : confined_failure(child);
	known->trouble = failure ? strdup(failure) : NULL;
	confined_destroy(child);
}

/* ---- what is kept ---- */

static bool load(const struct kept_key *key, struct known_file *known)
{
	struct kept_store *kept = known->names->kept;
	struct kept_bytes file;
	if (!kept_store_load(kept, key, &file))
		return false;
	bool holds = file.size % sizeof(struct place) == 0;
	for (size_t i = 0; i < file.size / sizeof(struct place) && holds; i++) {
		struct place place;
		memcpy(&place, file.bytes + i * sizeof(place), sizeof(place));
		holds = add_place(known, place);
	}
	kept_bytes_release(&file);
	if (!holds) {
		kept_store_is_broken(kept, key);
		known->n_places = 0;
	}
	return holds;
}

static void ask(struct known_file *known, int fd)
{
	struct kept_store *kept = known->names->kept;
	struct stat status;
	struct kept_key key = {known->file->open_path, known->file->build_id,
			       .kind = known->names->kind};
	if (fstat(fd, &status) == 0)
		key.stamp = file_stamp_of(&status);
	known->is_whole = kept && load(&key, known);
	if (known->is_whole)
		return;
	read_in_child(known, fd);
	if (kept && known->is_whole && !known->trouble)
		kept_store_save(kept, &key, known->places,
				known->n_places * sizeof(*known->places));
}

static const struct known_file *know(struct named_functions *functions,
				     const struct module_file *file)
{
	for (size_t i = functions->n_items; i-- > 0;)
		if (functions->items[i].file == file)
			return &functions->items[i];
	struct known_file new = {.names = &functions->names, .file = file};
	int fd = -1;
	struct rf_error *error = file->has_file && file->open_path
					 ? elf_file_descriptor(file->open_path, &fd)
					 : NULL;
	if (fd >= 0) {
		ask(&new, fd);
		close(fd);
	}
	rf_error_destroy(error);
	if (rf_array_push(functions->items, functions->n_items, functions->cap_items, new))
		return &functions->items[functions->n_items - 1];
	free_known(&new);
	return NULL;
}

/* ---- for others ---- */

int named_functions_at(struct named_functions *functions, const struct module_file *file,
		       uint64_t vaddr)
{
	const struct known_file *known = know(functions, file);
	for (size_t i = 0; known && i < known->n_places; i++)
		if (known->places[i].vaddr == vaddr)
			return (int)known->places[i].number;
	return -1;
}

uint64_t named_functions_vaddr(struct named_functions *functions, const struct module_file *file,
			       int number)
{
	const struct known_file *known = know(functions, file);
	for (size_t i = 0; known && i < known->n_places; i++)
		if (known->places[i].number == (uint64_t)number)
			return known->places[i].vaddr;
	return 0;
}

bool named_functions_place(struct named_functions *functions, const struct module_file *file,
			   size_t i, uint64_t *vaddr, int *number, uint64_t *size)
{
	const struct known_file *known = know(functions, file);
	if (!known || i >= known->n_places)
		return false;
	*vaddr = known->places[i].vaddr;
	*number = (int)known->places[i].number;
	*size = known->places[i].size;
	return true;
}

bool named_functions_all_read(const struct named_functions *functions)
{
	bool all = true;
	for (size_t i = 0; i < functions->n_items; i++)
		all &= functions->items[i].is_whole && !functions->items[i].trouble;
	return all;
}

void named_functions_note_unread(const struct named_functions *functions, struct profile *profile)
{
	for (size_t i = 0; i < functions->n_items; i++)
		if (functions->items[i].trouble)
			profile_note_unread(profile, functions->items[i].file->path,
					    functions->items[i].trouble);
}

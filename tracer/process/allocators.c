/* The names of functions that allocate memory, and where the symbol tables of a file have them. */
#include "tracer/process/allocators.h"

#include "base/array.h"
#include "base/confined.h"
#include "symbols/elf_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* For the reader of one file's symbol tables. */
#define READER_SECONDS 60

#define NO NO_ARGUMENT
/* clang-format off */
#define GIVES(name, n, size, times) {name, ALLOCATOR_GIVES, n, NO, size, times, false}
#define TAKES(name) {name, ALLOCATOR_TAKES, 1, 0, NO, NO, false}
#define WRAPS(name) {name, ALLOCATOR_WRAPS, 0, NO, NO, NO, false}
/* clang-format on */

/* ISO C and POSIX; the Itanium C++ ABI's names of operators new and delete; Linux. */
const struct allocator allocators[] = {
	GIVES("malloc", 1, 0, NO),
	GIVES("calloc", 2, 0, 1),
	GIVES("aligned_alloc", 2, 1, NO),
	GIVES("memalign", 2, 1, NO),
	GIVES("valloc", 1, 0, NO),
	GIVES("pvalloc", 1, 0, NO),
	{"posix_memalign", ALLOCATOR_GIVES, 3, NO, 2, NO, true},
	{"realloc", ALLOCATOR_CHANGES, 2, 0, 1, NO, false},
	{"reallocarray", ALLOCATOR_CHANGES, 3, 0, 1, 2, false},
	TAKES("free"),
	TAKES("cfree"),
	GIVES("_Znwm", 1, 0, NO), /* new */
	GIVES("_Znam", 1, 0, NO), /* new[] */
	GIVES("_ZnwmRKSt9nothrow_t", 1, 0, NO),
	GIVES("_ZnamRKSt9nothrow_t", 1, 0, NO),
	GIVES("_ZnwmSt11align_val_t", 1, 0, NO),
	GIVES("_ZnamSt11align_val_t", 1, 0, NO),
	GIVES("_ZnwmSt11align_val_tRKSt9nothrow_t", 1, 0, NO),
	GIVES("_ZnamSt11align_val_tRKSt9nothrow_t", 1, 0, NO),
	TAKES("_ZdlPv"), /* delete */
	TAKES("_ZdaPv"), /* delete[] */
	TAKES("_ZdlPvm"),
	TAKES("_ZdaPvm"),
	TAKES("_ZdlPvSt11align_val_t"),
	TAKES("_ZdaPvSt11align_val_t"),
	TAKES("_ZdlPvmSt11align_val_t"),
	TAKES("_ZdaPvmSt11align_val_t"),
	{"mmap", ALLOCATOR_MAPS, 2, NO, 1, NO, false},
	{"mmap64", ALLOCATOR_MAPS, 2, NO, 1, NO, false},
	{"munmap", ALLOCATOR_UNMAPS, 2, 0, 1, NO, false},
	{"mremap", ALLOCATOR_REMAPS, 3, 0, 1, 2, false},
	WRAPS("strdup"),
	WRAPS("strndup"),
	WRAPS("wcsdup"),
	WRAPS("asprintf"),
	WRAPS("vasprintf"),
	WRAPS("getline"),
	WRAPS("getdelim"),
};
const size_t n_allocators = sizeof(allocators) / sizeof(allocators[0]);

struct place {
	uint64_t vaddr;
	int number;
};

struct known_file {
	const struct module_file *file;
	struct place *places;
	size_t n_places, cap_places;
	char *trouble; /* why they are not known, or NULL */
	bool is_whole; /* all tables have been read */
};

struct allocator_files {
	struct known_file *items;
	size_t n_items, cap_items;
	struct kept_store *kept; /* or NULL */
};

struct allocator_files *allocator_files_create(struct kept_store *kept)
{
	struct allocator_files *files = calloc(1, sizeof(*files));
	if (files)
		files->kept = kept;
	return files;
}

static void free_known(struct known_file *known)
{
	free(known->places);
	free(known->trouble);
}

void allocator_files_destroy(struct allocator_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->n_items; i++)
		free_known(&files->items[i]);
	free(files->items);
	free(files);
}

static int number_of(const char *name, size_t length)
{
	for (size_t i = 0; i < n_allocators; i++)
		if (strncmp(allocators[i].name, name, length) == 0 && !allocators[i].name[length])
			return (int)i;
	return -1;
}

static void add_place(struct known_file *known, const GElf_Sym *symbol, const char *name)
{
	const int type = GELF_ST_TYPE(symbol->st_info);
	if (!name || symbol->st_shndx == SHN_UNDEF || !symbol->st_value ||
	    (type != STT_FUNC && type != STT_NOTYPE))
		return;
	const int number = number_of(name, strcspn(name, "@"));
	const struct place place = {symbol->st_value, number};
	/* it may have another name, or stand in the other table as well */
	for (size_t i = 0; i < known->n_places; i++)
		if (known->places[i].vaddr == place.vaddr)
			return;
	if (number >= 0)
		(void)rf_array_push(known->places, known->n_places, known->cap_places, place);
}

static void read_table(struct known_file *known, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	known->is_whole &= data != NULL;
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return;
	GElf_Sym symbol;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++)
		add_place(known, &symbol, elf_strptr(elf, header->sh_link, symbol.st_name));
}

enum { PLACE = 1, WHOLE }; /* address, number; nothing */

/* In a child (base/confined.h). */
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
		confined_put_number(answer, (uint64_t)known->places[i].number);
	}
	if (known->is_whole)
		confined_put_tag(answer, WHOLE);
	elf_file_close(&file);
}

static bool add_known(struct known_file *known, uint64_t vaddr, uint64_t number)
{
	const struct place place = {vaddr, (int)number};
	return number < n_allocators &&
	       rf_array_push(known->places, known->n_places, known->cap_places, place);
}

static bool take_place(struct confined *child, struct known_file *known)
{
	const uint64_t vaddr = confined_number(child), number = confined_number(child);
	return add_known(known, vaddr, number);
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

struct kept_place {
	uint64_t vaddr, number;
};

static bool load(struct kept_store *kept, const struct kept_key *key, struct known_file *known)
{
	struct kept_bytes file;
	if (!kept_store_load(kept, key, &file))
		return false;
	bool holds = file.size % sizeof(struct kept_place) == 0;
	for (size_t i = 0; i < file.size / sizeof(struct kept_place) && holds; i++) {
		struct kept_place place;
		memcpy(&place, file.bytes + i * sizeof(place), sizeof(place));
		holds = add_known(known, place.vaddr, place.number);
	}
	kept_bytes_release(&file);
	if (!holds) {
		kept_store_is_broken(kept, key);
		known->n_places = 0;
	}
	return holds;
}

static void save(struct kept_store *kept, const struct kept_key *key,
		 const struct known_file *known)
{
	struct kept_place *places = calloc(known->n_places + 1, sizeof(*places));
	for (size_t i = 0; i < known->n_places && places; i++)
		places[i] = (struct kept_place){known->places[i].vaddr,
						(uint64_t)known->places[i].number};
	if (places)
		kept_store_save(kept, key, places, known->n_places * sizeof(*places));
	free(places);
}

static void ask(struct kept_store *kept, struct known_file *known, int fd)
{
	struct stat status;
	struct kept_key key = {known->file->open_path, known->file->build_id,
			       .kind = KEPT_ALLOCATORS};
	if (fstat(fd, &status) == 0)
		key.stamp = file_stamp_of(&status);
	known->is_whole = kept && load(kept, &key, known);
	if (known->is_whole)
		return;
	read_in_child(known, fd);
	if (kept && known->is_whole && !known->trouble)
		save(kept, &key, known);
}

/* ---- for others ---- */

bool allocator_files_all_read(const struct allocator_files *files)
{
	bool all = true;
	for (size_t i = 0; i < files->n_items; i++)
		all &= files->items[i].is_whole && !files->items[i].trouble;
	return all;
}

void allocator_files_note_unread(const struct allocator_files *files, struct profile *profile)
{
	for (size_t i = 0; i < files->n_items; i++)
		if (files->items[i].trouble)
			profile_note_unread(profile, files->items[i].file->path,
					    files->items[i].trouble);
}

static const struct known_file *know(struct allocator_files *files, const struct module_file *file)
{
	for (size_t i = files->n_items; i-- > 0;)
		if (files->items[i].file == file)
			return &files->items[i];
	struct known_file new = {.file = file};
	int fd = -1;
	struct rf_error *error = file->has_file && file->open_path
					 ? elf_file_descriptor(file->open_path, &fd)
					 : NULL;
	if (fd >= 0) {
		ask(files->kept, &new, fd);
		close(fd);
	}
	rf_error_destroy(error);
	if (rf_array_push(files->items, files->n_items, files->cap_items, new))
		return &files->items[files->n_items - 1];
	free_known(&new);
	return NULL;
}

int allocator_files_find(struct allocator_files *files, const struct module_file *file,
			 uint64_t vaddr)
{
	const struct known_file *known = know(files, file);
	for (size_t i = 0; known && i < known->n_places; i++)
		if (known->places[i].vaddr == vaddr)
			return known->places[i].number;
	return -1;
}

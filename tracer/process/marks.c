/* Looks for functions by their names in the symbol tables of files. */
#include "tracer/process/marks.h"

#include "base/array.h"
#include "base/confined.h"
#include "symbols/demangle.h"
#include "symbols/elf_file.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* For the reader of one file's symbol tables. */
#define READER_SECONDS 60

enum { FOUND = 1 }; /* mark, address */

void marks_deinit(struct marks *marks)
{
	free(marks->files);
	*marks = (struct marks){.names = {marks->names[MARK_START], marks->names[MARK_STOP]}};
}

/* ---- in the child ---- */

static bool is_called(const char *raw, const char *name)
{
	const size_t length = strcspn(raw, "@");
	if (strncmp(raw, name, length) == 0 && !name[length])
		return true;
	if (raw[0] != '_' || !strpbrk(raw + 1, "ZR")) /* nothing mangled */
		return false;
	char *text = symbol_demangle(raw);
	const size_t whole = text ? strlen(text) : 0, bare = text ? strcspn(text, "(") : 0;
	const size_t wanted = strlen(name);
	const bool is =
		text && (wanted == whole || wanted == bare) && strncmp(text, name, wanted) == 0;
	free(text);
	return is;
}

static void look_at_symbol(struct marked_file *found, const struct marks *marks,
			   const GElf_Sym *symbol, const char *raw)
{
	if (!raw || GELF_ST_TYPE(symbol->st_info) != STT_FUNC || symbol->st_shndx == SHN_UNDEF)
		return;
	for (int mark = 0; mark < N_MARKS; mark++)
		if (marks->names[mark] && !found->vaddrs[mark] &&
		    is_called(raw, marks->names[mark]))
			found->vaddrs[mark] = symbol->st_value;
}

struct reading {
	const struct marks *marks;
	struct marked_file *found;
};

static void read_table(const struct reading *reading, Elf *elf, Elf_Scn *section,
		       const GElf_Shdr *header)
{
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Sym symbol;
	if (!data || !data->d_buf || header->sh_entsize != sizeof(Elf64_Sym))
		return;
	for (int i = 0; gelf_getsym(data, i, &symbol); i++)
		look_at_symbol(reading->found, reading->marks, &symbol,
			       elf_strptr(elf, header->sh_link, symbol.st_name));
}

static void read_file(void *context, FILE *answer)
{
	const struct reading *reading = context;
	struct elf_file file;
	struct rf_error *error = elf_file_read(reading->found->file->open_path, CONFINED_FD, &file);
	if (error) {
		rf_error_destroy(error);
		return;
	}
	for (Elf_Scn *section = NULL; (section = elf_nextscn(file.elf, section));) {
		GElf_Shdr header;
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_SYMTAB || header.sh_type == SHT_DYNSYM))
			read_table(reading, file.elf, section, &header);
	}
	for (int mark = 0; mark < N_MARKS; mark++) {
		confined_put_tag(answer, FOUND);
		confined_put_number(answer, reading->found->vaddrs[mark]);
	}
	elf_file_close(&file);
}

/* ---- in rfprof ---- */

/* What cannot be read has no function. */
static void read_in_child(const struct marks *marks, struct marked_file *found)
{
	struct reading reading = {marks, found};
	struct confined_job job = {.read = read_file,
				   .context = &reading,
				   .seconds = READER_SECONDS};
	struct confined *child = NULL;
	struct rf_error *error = elf_file_descriptor(found->file->open_path, &job.fd);
	if (!error) {
		error = confined_create(&job, &child);
		close(job.fd);
	}
	for (int mark = 0; !error && mark < N_MARKS && confined_next(child) == FOUND; mark++)
		found->vaddrs[mark] = confined_number(child);
	confined_destroy(child);
	rf_error_destroy(error);
}

uint64_t marks_vaddr(struct marks *marks, const struct module_file *file, enum mark mark)
{
	struct marked_file fresh = {.file = file};
	if (!file || !file->has_file || !file->open_path)
		return 0;
	for (size_t i = 0; i < marks->n_files; i++)
		if (marks->files[i].file == file)
			return marks->files[i].vaddrs[mark];
	read_in_child(marks, &fresh);
	(void)rf_array_push(marks->files, marks->n_files, marks->cap_files, fresh);
	return fresh.vaddrs[mark];
}

/* Finding the debug files of a module.  The places are those of GDB: "Debugging Information in
 * Separate Files" in its manual. */
#include "symbols/debug_file.h"

#include "base/array.h"

#include <elfutils/libdwelf.h>
#include <limits.h>
#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DEBUG_ROOT "/usr/lib/debug"

/* .gnu_debugdata of a very large program is a few MiB; a damaged one must not take all memory. */
#define MAX_DEBUG_DATA ((uint64_t)256 << 20)

static bool same_build_id(const struct elf_file *file, const char *build_id)
{
	char *id = elf_file_build_id(file);
	bool same = id && strcmp(id, build_id) == 0;
	free(id);
	return same;
}

/* Keeps a candidate when it belongs to the file; `crc` is looked at only without a build id. */
static bool keep_right(struct elf_file *candidate, const char *build_id, const uint32_t *crc,
		       struct elf_file *out)
{
	bool right = false;
	if (build_id[0])
		right = same_build_id(candidate, build_id);
	else if (crc)
		/* The reflected CRC-32 of zlib, which .gnu_debuglink is defined with. */
		right = lzma_crc32(candidate->bytes, candidate->size, 0) == *crc;
	if (right)
		*out = *candidate;
	else
		elf_file_close(candidate);
	return right;
}

static void note_place(struct module_files *files, const char *path, bool used)
{
	const struct debug_place place = {strdup(path), used};
	if (place.path && rf_array_push(files->places, files->n_places, files->cap_places, place))
		return;
	free(place.path);
	files->forgets = true;
}

static bool try_candidate(struct module_files *files, const char *path, const uint32_t *crc,
			  struct elf_file *out)
{
	struct elf_file candidate;
	struct rf_error *error = elf_file_open(path, &candidate);
	rf_error_destroy(error);
	const bool right = !error && keep_right(&candidate, files->build_id, crc, out);
	note_place(files, path, right);
	return right;
}

static bool path_by_build_id(const char *build_id, char *path, size_t size)
{
	if (strlen(build_id) < 3 || strlen(build_id) > 128)
		return false;
	snprintf(path, size, DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	return true;
}

static bool open_by_build_id(struct module_files *files, struct elf_file *out)
{
	char path[PATH_MAX];
	return path_by_build_id(files->build_id, path, sizeof(path)) &&
	       try_candidate(files, path, NULL, out);
}

static bool open_by_debuglink(struct module_files *files, const char *path, struct elf_file *out)
{
	const struct elf_file *file = &files->items[0];
	/* What comes before and after the file's folder. */
	static const char *const places[][2] = {{"", ""}, {"", "/.debug"}, {DEBUG_ROOT, ""}};
	GElf_Word crc;
	const char *name = dwelf_elf_gnu_debuglink(file->elf, &crc);
	char real[PATH_MAX], candidate[2 * PATH_MAX];
	if (!name || !*name || strchr(name, '/') || !realpath(path, real))
		return false;
	*strrchr(real, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		int n = snprintf(candidate, sizeof(candidate), "%s%s%s/%s", places[i][0], real,
				 places[i][1], name);
		if (n > 0 && (size_t)n < sizeof(candidate) &&
		    try_candidate(files, candidate, &crc, out))
			return true;
	}
	return false;
}

/* As libdw does: by its build id, else by its name, beside the file where that is relative. */
void module_files_note_part(struct module_files *files, Dwarf *dwarf, const char *path)
{
	const char *name;
	const void *id;
	char candidate[2 * PATH_MAX], real[PATH_MAX];
	const ssize_t length = dwelf_dwarf_gnu_debugaltlink(dwarf, &name, &id);
	if (length <= 0)
		return;
	char *hex = elf_file_hex(id, (size_t)length);
	files->forgets |= !hex;
	if (hex && path_by_build_id(hex, candidate, sizeof(candidate)))
		note_place(files, candidate, false);
	free(hex);
	if (name[0] == '/') {
		note_place(files, name, false);
	} else if (realpath(path, real)) {
		*strrchr(real, '/') = '\0';
		snprintf(candidate, sizeof(candidate), "%s/%s", real, name);
		note_place(files, candidate, false);
	}
}

bool debug_file_fetch(const struct symbol_fetcher *fetcher, const char *module,
		      const char *build_id, struct elf_file *out)
{
	const char *path;
	struct elf_file candidate;
	const int fd = fetcher ? fetcher->fetch(fetcher->context, module, build_id, &path) : -1;
	if (fd < 0)
		return false;
	struct rf_error *error = elf_file_read(path, fd, &candidate);
	rf_error_destroy(error);
	if (!error && keep_right(&candidate, build_id, NULL, out)) {
		if (elf_file_has_dwarf(out))
			return true;
		elf_file_close(out);
	}
	fetcher->refuse(fetcher->context, module, path);
	return false;
}

/* Decompresses one xz stream into `out`, doubling it until it fits. */
static bool decompress(const struct elf_bytes *packed, uint8_t **out, size_t *size)
{
	for (size_t room = packed->size * 4; room <= MAX_DEBUG_DATA; room *= 2) {
		uint64_t memory_limit = MAX_DEBUG_DATA;
		size_t in_position = 0;
		uint8_t *bytes = malloc(room);
		if (!bytes)
			return false;
		*size = 0;
		lzma_ret result =
			lzma_stream_buffer_decode(&memory_limit, 0, NULL, packed->bytes,
						  &in_position, packed->size, bytes, size, room);
		*out = bytes;
		if (result == LZMA_OK)
			return true;
		free(bytes);
		if (result != LZMA_BUF_ERROR)
			return false;
	}
	return false;
}

/* The small symbol table that some distributions put, xz-compressed, into .gnu_debugdata. */
static bool open_debug_data(const struct elf_file *file, struct elf_file *out)
{
	struct elf_bytes packed;
	uint8_t *bytes;
	size_t size;
	if (!elf_file_section(file, ".gnu_debugdata", &packed) ||
	    !decompress(&packed, &bytes, &size))
		return false;
	struct rf_error *error = elf_file_open_image(".gnu_debugdata", bytes, size, out);
	bool opened = !error;
	rf_error_destroy(error);
	free(bytes);
	return opened;
}

/* ---- the set of files ---- */

/* A debug file from elsewhere takes the place of one without DWARF. */
static void open_debug_file(struct module_files *files, const char *path,
			    const struct symbol_fetcher *fetcher)
{
	const struct elf_file *file = &files->items[0];
	struct elf_file *debug = &files->items[1], fetched;
	const bool here = open_by_build_id(files, debug) || open_by_debuglink(files, path, debug);
	const char *slash = strrchr(path, '/');
	files->n += here;
	if (!files->build_id[0] || elf_file_has_dwarf(file) ||
	    (here && elf_file_has_dwarf(debug)) ||
	    !debug_file_fetch(fetcher, slash ? slash + 1 : path, files->build_id, &fetched))
		return;
	if (here)
		elf_file_close(debug);
	*debug = fetched;
	files->n = 2;
}

/* Goes on after the module's own file is open; path: NULL for an image. */
static struct rf_error *open_others(struct module_files *files, const char *path,
				    const struct symbol_fetcher *fetcher)
{
	files->n = 1;
	files->places = NULL;
	files->n_places = files->cap_places = 0;
	files->forgets = false;
	files->build_id = elf_file_build_id(&files->items[0]);
	if (!files->build_id) {
		module_files_close(files);
		return rf_error_no_memory();
	}
	if (path)
		open_debug_file(files, path, fetcher);
	files->n += open_debug_data(&files->items[0], &files->items[files->n]);
	return NULL;
}

struct rf_error *module_files_open(const char *path, int fd, const struct symbol_fetcher *fetcher,
				   struct module_files *files)
{
	return elf_file_read(path, fd, &files->items[0]) ?: open_others(files, path, fetcher);
}

struct rf_error *module_files_open_image(const char *name, const void *image, size_t size,
					 struct module_files *files)
{
	return elf_file_open_image(name, image, size, &files->items[0])
		       ?: open_others(files, NULL, NULL);
}

void module_files_close(struct module_files *files)
{
	while (files->n)
		elf_file_close(&files->items[--files->n]);
	for (size_t i = 0; i < files->n_places; i++)
		free(files->places[i].path);
	free(files->places);
	free(files->build_id);
}

uint64_t module_files_shift(const struct module_files *files, size_t file)
{
	const struct elf_file *own = &files->items[0], *debug = &files->items[file];
	/* A debug file without program headers was never moved. */
	return own->n_segments && debug->n_segments ? own->low - debug->low : 0;
}

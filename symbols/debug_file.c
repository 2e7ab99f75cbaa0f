/* Finding the debug file of a file.  The places are those of GDB: "Debugging Information in
 * Separate Files" in its manual. */
#include "symbols/debug_file.h"

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

/* Opens a candidate and keeps it when it belongs to the file; `crc` is looked at only without a
 * build id. */
static bool try_candidate(const char *path, const char *build_id, const uint32_t *crc,
			  struct elf_file *out)
{
	struct elf_file candidate;
	struct rf_error *error = elf_file_open(path, &candidate);
	if (error) {
		rf_error_destroy(error);
		return false;
	}
	bool right = false;
	if (build_id[0])
		right = same_build_id(&candidate, build_id);
	else if (crc)
		/* The reflected CRC-32 of zlib, which .gnu_debuglink is defined with. */
		right = lzma_crc32(candidate.bytes, candidate.size, 0) == *crc;
	if (right)
		*out = candidate;
	else
		elf_file_close(&candidate);
	return right;
}

static bool open_by_build_id(const char *build_id, struct elf_file *out)
{
	char path[PATH_MAX];
	if (strlen(build_id) < 3 || strlen(build_id) > 128)
		return false;
	snprintf(path, sizeof(path), DEBUG_ROOT "/.build-id/%.2s/%s.debug", build_id, build_id + 2);
	return try_candidate(path, build_id, NULL, out);
}

static bool open_by_debuglink(const struct elf_file *file, const char *path, const char *build_id,
			      struct elf_file *out)
{
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
		    try_candidate(candidate, build_id, &crc, out))
			return true;
	}
	return false;
}

bool debug_file_open(const struct elf_file *file, const char *path, const char *build_id,
		     struct elf_file *out)
{
	return open_by_build_id(build_id, out) || open_by_debuglink(file, path, build_id, out);
}

bool debug_file_take(const char *path, const char *build_id, struct elf_file *out)
{
	struct elf_file candidate;
	if (!build_id[0] || !try_candidate(path, build_id, NULL, &candidate))
		return false;
	if (elf_file_has_dwarf(&candidate)) {
		*out = candidate;
		return true;
	}
	elf_file_close(&candidate);
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

bool debug_data_open(const struct elf_file *file, struct elf_file *out)
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

uint64_t debug_file_shift(const struct elf_file *file, const struct elf_file *debug)
{
	/* A debug file without program headers was never moved. */
	return file->n_segments && debug->n_segments ? file->low - debug->low : 0;
}

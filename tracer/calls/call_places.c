/* Reads the functions of kernels, and looks for their returns. */
#include "tracer/calls/call_places.h"

#include "insn/decode.h"
#include "tracer/process/program_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_FOUND 256
#define MOST_BYTES (1u << 20) /* of a function that is read */

size_t call_places_returns(const uint8_t *bytes, size_t size, uint64_t address, uint64_t *returns,
			   size_t most)
{
	size_t n = 0, at = 0;
	while (at < size) {
		struct decoded insn;
		decode_any(bytes + at, size - at, address + at, &insn);
		if (insn.flow == FLOW_RETURN) {
			if (n < most)
				returns[n] = address + at;
			n++;
		}
		at += insn.length ? insn.length : 1;
	}
	return n;
}

static bool has_alone(const struct call_places *places)
{
	for (size_t i = 0; i < places->n; i++)
		if (places->items[i].kind == PLACE_ENTRY_ALONE)
			return true;
	return false;
}

bool call_places_add(struct call_places *places, uint64_t entry, const uint64_t *returns,
		     size_t n_returns)
{
	const uint32_t kernel = (uint32_t)places->n_kernels;
	const size_t room = MOST_CALL_PLACES - places->n;
	struct call_place *next = &places->items[places->n];
	if (n_returns && 1 + n_returns + has_alone(places) <= room) {
		*next++ = (struct call_place){entry, kernel, PLACE_ENTRY};
		for (size_t i = 0; i < n_returns; i++)
			*next++ = (struct call_place){returns[i], kernel, PLACE_RETURN};
	} else if (room >= 2) { /* one is for where it returns to */
		*next++ = (struct call_place){entry, kernel, PLACE_ENTRY_ALONE};
	} else {
		return false;
	}
	places->n = (size_t)(next - places->items);
	return true;
}

void call_places_fill(struct call_places *places)
{
	while (has_alone(places) && places->n < MOST_CALL_PLACES)
		places->items[places->n++] = (struct call_place){.kind = PLACE_BACK};
}

/* Adds a function; why it cannot be (static text), or NULL. */
static const char *add_function(const struct program_memory *memory,
				const struct kernel_entry *entry, struct call_places *places)
{
	uint64_t returns[MOST_CALL_PLACES];
	size_t n = 0;
	uint8_t *bytes = entry->size && entry->size <= MOST_BYTES ? malloc(entry->size) : NULL;
	if (bytes && program_memory_read(memory, entry->address, bytes, entry->size))
		n = call_places_returns(bytes, entry->size, entry->address, returns,
					MOST_CALL_PLACES);
	free(bytes);
	return call_places_add(places, entry->address, returns, n)
		       ? NULL
		       : "the processor's four breakpoints do not suffice";
}

void call_places_say_missing(struct call_places *places, const char *name, const char *why)
{
	const size_t n = strlen(places->missing);
	snprintf(places->missing + n, sizeof(places->missing) - n, "%s%s", n ? ", " : "", name);
	places->why = why;
}

/* All of a kernel's functions, or none. */
static void add_kernel(const struct program_memory *memory, const struct kernel_entry *found,
		       size_t n_found, uint32_t kernel, const char *name,
		       struct call_places *places)
{
	const size_t before = places->n;
	const char *why =
		places->n_kernels < MOST_TIMED_KERNELS
			? NULL
			: "the processor's four breakpoints are taken by the kernels before it";
	for (size_t i = 0; i < n_found && !why; i++)
		if (found[i].kernel == kernel)
			why = add_function(memory, &found[i], places);
	if (!why && places->n == before)
		why = "it is in no file that the program starts with";
	if (why) {
		places->n = before;
		call_places_say_missing(places, name, why);
		return;
	}
	snprintf(places->names[places->n_kernels], sizeof(places->names[0]), "%s", name);
	places->kernels[places->n_kernels++] = kernel;
}

static struct rf_error *find_all(struct program_memory *memory, const char *list,
				 struct profile *scratch, struct call_places *places)
{
	struct kernel_entry found[MOST_FOUND];
	struct kernel_files *files;
	struct rf_error *error = kernel_files_create(list, scratch, &files);
	if (error)
		return error;
	memory->kernels = files;
	const size_t n = kernel_files_find(memory, found, MOST_FOUND);
	for (uint32_t k = 0; k < scratch->n_kernels; k++)
		add_kernel(memory, found, n < MOST_FOUND ? n : MOST_FOUND, k,
			   scratch->kernels[k].name, places);
	call_places_fill(places);
	memory->kernels = NULL;
	kernel_files_destroy(files);
	return NULL;
}

struct rf_error *call_places_find(pid_t pid, const char *list, struct call_places *places)
{
	struct module_files *files = module_files_create();
	struct profile *scratch = profile_create();
	struct program_memory memory;
	struct rf_error *error = files && scratch ? NULL : rf_error_no_memory();
	*places = (struct call_places){0};
	if (!error)
		error = program_memory_init(&memory, pid, files, scratch);
	if (!error) {
		error = find_all(&memory, list, scratch, places);
		program_memory_deinit(&memory);
	}
	if (files)
		module_files_destroy(files);
	if (scratch)
		profile_destroy(scratch);
	return error;
}

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

/* Adds a function; why it cannot be (static text), or NULL. */
static const char *add_function(const struct program_memory *memory,
				const struct kernel_entry *entry, struct call_places *places)
{
	uint64_t returns[MOST_CALL_PLACES];
	if (!entry->size || entry->size > MOST_BYTES)
		return "the symbol tables do not say where its code ends";
	uint8_t *bytes = malloc(entry->size);
	size_t n = 0;
	if (bytes && program_memory_read(memory, entry->address, bytes, entry->size))
		n = call_places_returns(bytes, entry->size, entry->address, returns,
					MOST_CALL_PLACES);
	free(bytes);
	if (!n)
		return "it is left by jumps to other functions alone";
	if (places->n + 1 + n > MOST_CALL_PLACES)
		return "its entry and its returns need more breakpoints than the processor's four";
	const uint32_t kernel = (uint32_t)places->n_kernels;
	places->items[places->n++] = (struct call_place){entry->address, kernel, false};
	for (size_t i = 0; i < n; i++)
		places->items[places->n++] = (struct call_place){returns[i], kernel, true};
	return NULL;
}

static void say_missing(struct call_places *places, const char *name, const char *why)
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
		say_missing(places, name, why);
		return;
	}
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

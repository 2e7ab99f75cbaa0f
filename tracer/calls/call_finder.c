/* Looks into the files that a process maps, by their symbol tables, and reads the functions. */
#include "tracer/calls/call_finder.h"

#include "insn/decode.h"
#include "tracer/kernel/kernel_files.h"
#include "tracer/process/program_memory.h"

#include <stdlib.h>

#define MOST_FOUND 256
#define MOST_BYTES (1u << 20) /* of a function that is read */

enum kernel_state { NOT_FOUND, IS_FOUND, IS_MISSING };

struct call_finder {
	struct module_files *files;
	struct profile *scratch; /* has the kernels' names */
	struct program_memory memory;
	enum kernel_state states[MOST_KERNELS];
};

struct rf_error *call_finder_create(pid_t pid, const char *list, struct call_finder **out)
{
	struct call_finder *finder = calloc(1, sizeof(*finder));
	if (!finder)
		return rf_error_no_memory();
	finder->files = module_files_create();
	finder->scratch = profile_create();
	finder->memory.mem_fd = -1;
	struct rf_error *error = finder->files && finder->scratch ? NULL : rf_error_no_memory();
	if (!error)
		error = program_memory_init(&finder->memory, pid, finder->files, finder->scratch);
	if (!error)
		error = kernel_files_create(list, finder->scratch, &finder->memory.kernels);
	if (error)
		call_finder_destroy(finder);
	else
		*out = finder;
	return error;
}

void call_finder_destroy(struct call_finder *finder)
{
	if (!finder)
		return;
	kernel_files_destroy(finder->memory.kernels);
	program_memory_deinit(&finder->memory);
	if (finder->files)
		module_files_destroy(finder->files);
	if (finder->scratch)
		profile_destroy(finder->scratch);
	free(finder);
}

static bool is_among(uint64_t entry, const struct kernel_entry *found, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (found[i].address == entry)
			return true;
	return false;
}

static void drop_what_is_gone(struct call_finder *finder, const struct kernel_entry *found,
			      size_t n_found, struct call_places *places)
{
	for (size_t i = 0; i < places->n; i++) {
		struct call_place *place = &places->items[i];
		if (place->kind != PLACE_BACK && !is_among(place->entry, found, n_found))
			call_places_drop(places, place->entry);
		else if (place->address && !program_memory_region(&finder->memory, place->address))
			*place = (struct call_place){.kind = PLACE_BACK};
	}
}

static struct call_function read_function(const struct program_memory *memory,
					  const struct kernel_entry *entry)
{
	struct call_function function = {.entry = entry->address, .row = entry->kernel};
	uint8_t *bytes = entry->size && entry->size <= MOST_BYTES ? malloc(entry->size) : NULL;
	if (bytes && program_memory_read(memory, entry->address, bytes, entry->size))
		call_places_read(bytes, entry->size, &function);
	free(bytes);
	return function;
}

/* Functions of a kernel that are not watched yet. */
static void add_kernel(struct call_finder *finder, const struct kernel_entry *found, size_t n_found,
		       uint32_t kernel, struct call_places *places)
{
	struct call_function functions[MOST_CALL_PLACES];
	const char *name = finder->scratch->kernels[kernel].name;
	size_t n = 0;
	for (size_t i = 0; i < n_found && n < MOST_CALL_PLACES; i++)
		if (found[i].kernel == kernel && !call_places_has(places, found[i].address))
			functions[n++] = read_function(&finder->memory, &found[i]);
	if (!n || finder->states[kernel] == IS_MISSING)
		return;
	const char *why = call_places_add(places, name, functions, n);
	finder->states[kernel] = why ? IS_MISSING : IS_FOUND;
	if (why)
		call_places_say_missing(places, name, why);
}

void call_finder_look(struct call_finder *finder, struct call_places *places)
{
	struct kernel_entry found[MOST_FOUND];
	program_memory_refresh(&finder->memory);
	const size_t all = kernel_files_find(&finder->memory, found, MOST_FOUND),
		     n = all < MOST_FOUND ? all : MOST_FOUND;
	drop_what_is_gone(finder, found, n, places);
	for (uint32_t k = 0; k < finder->scratch->n_kernels; k++)
		add_kernel(finder, found, n, k, places);
}

/* Where a stub of the procedure linkage table leads; 0: it is none. */
static uint64_t stub_target(const struct program_memory *memory, uint64_t stub)
{
	struct decoded insn;
	uint8_t bytes[32];
	uint64_t at = 0, target = 0;
	if (!program_memory_read(memory, stub, bytes, sizeof(bytes)))
		return 0;
	decode_any(bytes, sizeof(bytes), stub, &insn);
	if (insn.flow == FLOW_NEXT && insn.length < LONGEST_INSN) { /* endbr64 */
		at = insn.length;
		decode_any(bytes + at, sizeof(bytes) - at, stub + at, &insn);
	}
	if (insn.flow != FLOW_JUMP_INDIRECT || !insn.rip_relative)
		return 0;
	return program_memory_read(memory, insn.target, &target, sizeof(target)) ? target : 0;
}

bool call_finder_call(const struct call_finder *finder, uint64_t entry, uint64_t back,
		      uint64_t *call)
{
	enum { CALL_BYTES = 5 }; /* e8 and a distance */
	struct decoded insn;
	uint8_t bytes[CALL_BYTES];
	const uint64_t at = back - CALL_BYTES;
	if (!program_memory_read(&finder->memory, at, bytes, sizeof(bytes)))
		return false;
	decode_any(bytes, sizeof(bytes), at, &insn);
	if (insn.flow != FLOW_CALL || insn.length != CALL_BYTES ||
	    (insn.target != entry && stub_target(&finder->memory, insn.target) != entry))
		return false;
	*call = at;
	return true;
}

bool call_finder_lacks(const struct call_finder *finder)
{
	for (size_t k = 0; k < finder->scratch->n_kernels; k++)
		if (finder->states[k] == NOT_FOUND)
			return true;
	return false;
}

void call_finder_say_missing(const struct call_finder *finder, struct call_places *places)
{
	for (size_t k = 0; k < finder->scratch->n_kernels; k++)
		if (finder->states[k] == NOT_FOUND)
			call_places_say_missing(places, finder->scratch->kernels[k].name,
						"it is in no file that the process has mapped");
}

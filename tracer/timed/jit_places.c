/* Gives code that was made at run time offsets in [jit]. */
#include "tracer/timed/jit_places.h"

#include "base/array.h"

#include <assert.h>

void jit_places_deinit(struct jit_places *places)
{
	u64_map_deinit(&places->of_code);
	u64_map_deinit(&places->of_name);
	free(places->starts);
	*places = (struct jit_places){0};
}

/* Lines from `start` on; those beyond the function's offsets are left out. */
static bool add_lines(struct profile *profile, uint32_t module, const struct jit_code *code,
		      uint64_t start, uint64_t limit)
{
	for (size_t i = 0; i < code->n_lines; i++) {
		const uint64_t next =
			i + 1 < code->n_lines ? code->lines[i + 1].offset : code->size;
		struct profile_line row = {.module = module,
					   .start = start + code->lines[i].offset,
					   .end = start + next,
					   .line = code->lines[i].line};
		if (code->lines[i].offset >= next || next > code->size || row.end > limit)
			continue;
		row.file = strdup(code->lines[i].file);
		if (!row.file ||
		    !rf_array_push(profile->lines, profile->n_lines, profile->cap_lines, row)) {
			free(row.file);
			return false;
		}
	}
	return true;
}

/* The function is where its first line is. */
static bool place_function(struct profile_function *function, const struct jit_code *code)
{
	if (!code->n_lines || *function->file)
		return true;
	char *file = strdup(code->lines->file);
	if (!file)
		return false;
	free(function->file);
	function->file = file;
	function->line = code->lines->line;
	return true;
}

/* Where new code of a function begins: behind that which it had; when there is no room left, at its
 * beginning, without lines.  UINT64_MAX: no memory. */
static uint64_t begin(struct jit_places *places, struct profile *profile, uint32_t module,
		      uint64_t function, const struct jit_code *code)
{
	const size_t row = function / PROFILE_JIT_STRIDE - 1;
	const uint32_t *used = u64_map_find(&places->of_name, row + 1);
	const uint64_t from = used ? *used : 0, limit = function + PROFILE_JIT_STRIDE;
	assert(row < profile->n_functions && profile->functions[row].start == function);
	if (from + code->size > PROFILE_JIT_STRIDE)
		return function;
	const bool done = u64_map_set(&places->of_name, row + 1, (uint32_t)(from + code->size)) &&
			  place_function(&profile->functions[row], code) &&
			  add_lines(profile, module, code, function + from, limit);
	return done ? function + from : UINT64_MAX;
}

uint32_t jit_place(struct jit_places *places, struct profile *profile, uint32_t pid,
		   const struct jit_code *code, uint64_t address, uint64_t *offset)
{
	/* the finaliser of splitmix64 (Steele, Lea, Flood 2014), chained */
	const uint64_t half = (code->time ^ (uint64_t)pid << 40) * 0xbf58476d1ce4e5b9u;
	const uint64_t key = (((half ^ half >> 29) + code->start) * 0x94d049bb133111ebu) | 1;
	const uint64_t inside = address - code->start;
	uint32_t module;
	const uint64_t function = profile_jit_function(profile, code->name, &module);
	if (module == PROFILE_NONE)
		return PROFILE_NONE;
	const uint32_t *known = code->time ? u64_map_find(&places->of_code, key) : NULL;
	uint64_t start = known ? places->starts[*known] : function;
	if (code->time && !known) {
		start = begin(places, profile, module, function, code);
		if (start == UINT64_MAX ||
		    !rf_array_push(places->starts, places->n_starts, places->cap_starts, start) ||
		    !u64_map_set(&places->of_code, key, (uint32_t)places->n_starts - 1))
			return PROFILE_NONE;
	}
	const uint64_t last = function + PROFILE_JIT_STRIDE - 1;
	*offset = start + inside < last ? start + inside : last;
	return module;
}

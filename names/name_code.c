/* From places in the code of a module to rows: each byte of code that ran is looked up once. */
#include "names/name_code.h"

#include "base/array.h"
#include "base/search.h"
#include "symbols/elf_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BYTES 4096

/* Adds a row, cut so that it begins where the last one ended at the earliest.  Takes `name`. */
static struct rf_error *add_function(struct module_work *work, uint64_t start, uint64_t end,
				     char *name, const char *file, uint32_t line)
{
	struct profile *profile = work->profile;
	struct profile_function function = {
		.module = work->module,
		.start = start < work->covered ? work->covered : start,
		.end = end,
		.name = name,
		.file = strdup(file),
		.line = line,
	};
	if (name && function.file &&
	    rf_array_push(profile->functions, profile->n_functions, profile->cap_functions,
			  function)) {
		work->covered = end;
		return NULL;
	}
	free(name);
	free(function.file);
	return rf_error_no_memory();
}

/* Code without a file or segment: rows of a page each, cut before `limit`. */
static struct rf_error *add_page(struct module_work *work, uint64_t offset, uint64_t limit)
{
	const char *module = work->profile->modules[work->module].name;
	bool bracketed = module[0] == '[';
	uint64_t start = offset & ~(uint64_t)(PAGE_BYTES - 1);
	uint64_t end = start + PAGE_BYTES;
	char *name;
	/* The last page of memory ends at 2^64, which a row cannot say. */
	if (end < start)
		end = UINT64_MAX;
	if (strcmp(module, PROFILE_OWN_MODULE) == 0) { /* which has no addresses */
		name = strdup(module);
	} else if (asprintf(&name, bracketed ? "%s+0x%" PRIx64 : "[%s]+0x%" PRIx64, module, start) <
		   0) {
		name = NULL;
	}
	if (!name)
		return rf_error_no_memory();
	return add_function(work, start, end < limit ? end : limit, name, "", 0);
}

/* The function that holds an offset, or NULL. */
static const struct fact_function *function_at(const struct module_work *work, uint64_t offset)
{
	const struct fact_function *function =
		name_facts_function(work->facts, offset - work->bias);
	return function && function->name != FACT_NONE ? function : NULL;
}

/* A page row must end before the next function in the page that has a row of its own. */
static uint64_t page_limit(const struct module_work *work, size_t i)
{
	uint64_t last = work->places[i].offset | (PAGE_BYTES - 1);
	for (i++; i < work->n_places && work->places[i].offset <= last; i++) {
		const struct fact_function *function = function_at(work, work->places[i].offset);
		if (function)
			return function->start + work->bias;
	}
	return UINT64_MAX;
}

static struct rf_error *add_functions(struct module_work *work)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < work->n_places; i++) {
		uint64_t offset = work->places[i].offset;
		if (offset < work->covered)
			continue;
		const struct fact_function *function = function_at(work, offset);
		if (function)
			error = add_function(work, function->start + work->bias,
					     function->end + work->bias,
					     strdup(name_facts_text(work->facts, function->name)),
					     name_facts_text(work->facts, function->file),
					     function->line);
		else
			error = add_page(work, offset, page_limit(work, i));
	}
	return error;
}

/* One more row, or a longer last one. */
static struct rf_error *add_line(struct module_work *work, uint64_t start, uint64_t end,
				 const char *file, uint32_t line)
{
	struct profile *profile = work->profile;
	struct profile_line *last = profile->n_lines ? &profile->lines[profile->n_lines - 1] : NULL;
	if (last && last->module == work->module && last->end == start && last->line == line &&
	    strcmp(last->file, file) == 0) {
		last->end = end;
		return NULL;
	}
	struct profile_line row = {work->module, start, end, strdup(file), line};
	if (row.file && rf_array_push(profile->lines, profile->n_lines, profile->cap_lines, row))
		return NULL;
	free(row.file);
	return rf_error_no_memory();
}

/* What is known of the code from `at` on, up to `end` at the most: adds it, and gives in *next how
 * far it goes. */
typedef struct rf_error *add_code(struct module_work *work, uint64_t at, uint64_t end,
				  uint64_t *next);

static struct rf_error *add_line_at(struct module_work *work, uint64_t at, uint64_t end,
				    uint64_t *next)
{
	uint64_t next_known;
	const struct fact_line *row = name_facts_line(work->facts, at, &next_known);
	*next = row ? row->end : next_known;
	*next = *next < end ? *next : end;
	if (!row)
		return NULL;
	const bool is_head = at == row->start;
	const uint32_t file = is_head ? row->head_file : row->file;
	return file == FACT_NONE ? NULL
				 : add_line(work, at, *next, name_facts_text(work->facts, file),
					    is_head ? row->head_line : row->line);
}

/* One row for each call, with those that it stands in; PROFILE_NONE: no memory.  It calls itself as
 * deep as calls are inlined in each other: callers come first. */
static uint32_t call_row(struct module_work *work, uint32_t number)
{
	const struct name_facts *facts = work->facts;
	const uint32_t *known = u64_map_find(&work->calls, number + UINT64_C(1));
	if (known)
		return *known;
	const struct fact_call *call = &facts->calls[number];
	const bool is_inner = call->caller != FACT_NONE;
	const uint32_t caller = is_inner ? call_row(work, call->caller) : PROFILE_NONE;
	uint32_t row = PROFILE_NONE;
	if (!is_inner || caller != PROFILE_NONE)
		row = profile_inlined_function(work->profile, work->module,
					       name_facts_text(facts, call->name),
					       name_facts_text(facts, call->file), call->line);
	if (row != PROFILE_NONE)
		row = profile_inlined_call(work->profile, caller, row,
					   name_facts_text(facts, call->call_file),
					   call->call_line);
	return row != PROFILE_NONE && u64_map_set(&work->calls, number + UINT64_C(1), row)
		       ? row
		       : PROFILE_NONE;
}

/* One more row, or a longer last one. */
static struct rf_error *add_inlined_at(struct module_work *work, uint64_t at, uint64_t end,
				       uint64_t *next)
{
	struct profile *profile = work->profile;
	uint64_t next_known;
	const struct fact_inlined *fact = name_facts_inlined(work->facts, at, &next_known);
	*next = fact ? fact->end : next_known;
	*next = *next < end ? *next : end;
	if (!fact || fact->call == FACT_NONE)
		return NULL;
	const uint32_t row = call_row(work, fact->call);
	struct profile_inlined_code *last =
		profile->n_inlined_code ? &profile->inlined_code[profile->n_inlined_code - 1]
					: NULL;
	if (last && last->module == work->module && last->end == at && last->call == row) {
		last->end = *next;
		return NULL;
	}
	const struct profile_inlined_code code = {work->module, at, *next, row};
	return row == PROFILE_NONE ? rf_error_no_memory()
				   : rf_array_add(profile->inlined_code, profile->n_inlined_code,
						  profile->cap_inlined_code, code);
}

/* Goes through the code that was executed or sampled, in order and each byte once. */
static struct rf_error *add_to_code(struct module_work *work, add_code *add)
{
	uint64_t done = 0;
	struct rf_error *error = NULL;
	for (size_t i = 0; i < work->n_places; i++) {
		const struct place *place = &work->places[i];
		const uint64_t end = place->offset + place->size;
		for (uint64_t at = place->offset > done ? place->offset : done, next; at < end;
		     at = next) {
			error = add(work, at, end, &next);
			if (error)
				return error;
			done = next;
		}
	}
	return NULL;
}

/* How well the vdso fits at `bias`: places in named functions, and blocks whose bytes are there. */
static size_t score_vdso(const struct module_work *work, const uint8_t *image, size_t size,
			 uint64_t bias)
{
	size_t score = 0;
	for (size_t i = 0; i < work->n_places; i++) {
		uint64_t at = work->places[i].offset - bias;
		uint32_t block = work->places[i].block;
		const struct fact_function *function = name_facts_function(work->facts, at);
		score += function && function->name != FACT_NONE &&
			 !strchr(name_facts_text(work->facts, function->name), '+');
		if (block == PROFILE_NONE || at >= size)
			continue;
		const struct profile_block *code = &work->profile->blocks[block];
		if (code->bytes && code->size <= size - at)
			score += 2 * (memcmp(image + at, code->bytes, code->size) == 0);
	}
	return score;
}

/* Rows for places of the vdso.  Their offsets are run-time addresses, and each run (and each
 * process) has the image elsewhere: places within one image's length are taken together, and the
 * page-aligned bias that fits them best is theirs. */
static struct rf_error *add_vdso_functions(struct module_work *all)
{
	const void *image;
	size_t size;
	if (!vdso_image(&image, &size))
		return add_functions(all);
	size_t pages = (size + PAGE_BYTES - 1) / PAGE_BYTES;
	struct rf_error *error = NULL;
	for (size_t i = 0, n; !error && i < all->n_places; i += n) {
		struct module_work work = *all;
		uint64_t first_page = all->places[i].offset & ~(uint64_t)(PAGE_BYTES - 1);
		work.places = all->places + i;
		for (n = 1; i + n < all->n_places; n++)
			if (work.places[n].offset - first_page >= pages * PAGE_BYTES)
				break;
		work.n_places = n;
		size_t best_score = 0;
		for (size_t page = 0; page < pages; page++) {
			uint64_t bias = first_page - page * PAGE_BYTES;
			size_t score = score_vdso(&work, image, size, bias);
			if (score > best_score)
				best_score = score, work.bias = bias;
		}
		error = add_functions(&work);
		all->covered = work.covered;
	}
	return error;
}

bool name_is_vdso(const struct module_work *work)
{
	return strcmp(work->profile->modules[work->module].path, "[vdso]") == 0;
}

struct rf_error *name_code(struct module_work *work)
{
	struct rf_error *error = NULL;
	if (name_is_vdso(work) && work->facts->n_functions)
		error = add_vdso_functions(work);
	else
		error = add_functions(work)
				?: add_to_code(work, add_line_at)
				?: add_to_code(work, add_inlined_at);
	u64_map_deinit(&work->calls);
	return error;
}

/* The source line of an instruction, in the place of "" and 0; lines are by (module, start). */
static struct rf_error *name_line(const struct profile *profile, uint32_t module, uint64_t offset,
				  char **file, uint32_t *number)
{
	const struct profile_line *lines = profile->lines;
	const size_t n = rf_search(profile->n_lines, k,
				   lines[k].module < module ||
					   (lines[k].module == module && lines[k].start <= offset));
	const struct profile_line *line = n ? &lines[n - 1] : NULL;
	if (!line || line->module != module || offset >= line->end)
		return NULL;
	char *copy = strdup(line->file);
	if (!copy)
		return rf_error_no_memory();
	free(*file);
	*file = copy;
	*number = line->line;
	return NULL;
}

struct rf_error *name_lone_places(struct profile *profile)
{
	struct rf_error *error = NULL;
	for (size_t i = 0; i < profile->n_shared_places && !error; i++) {
		struct profile_shared_place *place = &profile->shared_places[i];
		error = name_line(profile, place->module, place->offset, &place->file,
				  &place->source_line);
	}
	for (size_t i = 0; i < profile->n_branches && !error; i++) {
		struct profile_branch *branch = &profile->branches[i];
		error = name_line(profile, branch->module, branch->offset, &branch->file,
				  &branch->source_line);
	}
	return error;
}

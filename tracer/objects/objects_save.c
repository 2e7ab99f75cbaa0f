/* At the end of a run: gives the objects of an address space their names (the function and line
 * that allocated a block, the place where a variable is declared), and adds them and their traffic
 * to the profile. */
#include "tracer/objects/objects_save.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "symbols/call_sites.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Of a variable with so large a part of all lines, and with so many, it is looked up where it is
 * declared. */
#define DECLARED_SHARE 0.001
#define DECLARED_LINES 256

/* What is being saved. */
struct name_source {
	struct profile *profile;
	const struct objects_rows *rows;
	size_t n_old;        /* objects of other processes */
	struct sites *sites; /* by profile module */
	uint32_t *row_of;    /* by object: its row, or PROFILE_NONE */
};

/* Where memory was asked for in one module, sorted by address. */
struct sites {
	struct call_site *items;
	size_t n_items, cap_items;
};

/* ---- who asked for memory ---- */

static bool has_site(const struct object *object)
{
	return (object->kind == OBJECT_HEAP || object->kind == OBJECT_MAPPING) && object->offset;
}

static uint32_t module_of(const struct name_source *names, const struct object *object)
{
	return object->module == PROFILE_NONE
		       ? PROFILE_NONE
		       : names->rows->module(names->rows->context, object->module);
}

static bool is_saved(const struct object *object)
{
	return object->is_touched || object->n;
}

static int compare_sites(const void *left, const void *right)
{
	const struct call_site *a = left, *b = right;
	return rf_compare(a->address, b->address);
}

/* The call before the address that it returns to. */
static struct rf_error *collect_sites(struct name_source *names, const struct objects *objects,
				      size_t n_modules)
{
	size_t n;
	const struct object *object = objects_all(objects, &n);
	for (size_t i = 0; i < n; i++) {
		const struct call_site site = {.address = object[i].offset - 1};
		const uint32_t module = is_saved(&object[i]) && has_site(&object[i])
						? module_of(names, &object[i])
						: PROFILE_NONE;
		struct sites *sites = module < n_modules ? &names->sites[module] : NULL;
		if (sites && !rf_array_push(sites->items, sites->n_items, sites->cap_items, site))
			return rf_error_no_memory();
	}
	return NULL;
}

static void name_sites(struct name_source *names, size_t n_modules)
{
	for (uint32_t i = 0; i < n_modules; i++) {
		struct sites *sites = &names->sites[i];
		if (!sites->n_items || names->profile->modules[i].path[0] == '[')
			continue;
		qsort(sites->items, sites->n_items, sizeof(*sites->items), compare_sites);
		call_sites_name(names->profile, i, names->rows->kept, sites->items, sites->n_items);
	}
}

static void free_sites(struct name_source *names, size_t n_modules)
{
	for (size_t i = 0; names->sites && i < n_modules; i++) {
		for (size_t j = 0; j < names->sites[i].n_items; j++) {
			free(names->sites[i].items[j].name);
			free(names->sites[i].items[j].file);
		}
		free(names->sites[i].items);
	}
	free(names->sites);
}

/* The function and line of the call before a call site; a function without a symbol has no name. */
static void name_site(struct name_source *names, uint64_t call_site, struct profile_object *row)
{
	const struct sites *sites = row->module == PROFILE_NONE ? NULL : &names->sites[row->module];
	const size_t at =
		sites ? rf_search(sites->n_items, i, sites->items[i].address < call_site - 1) : 0;
	if (!sites || at == sites->n_items || sites->items[at].address != call_site - 1 ||
	    !sites->items[at].name)
		return;
	free(row->name);
	free(row->file);
	row->name = strdup(sites->items[at].name);
	row->file = strdup(sites->items[at].file);
	row->line = sites->items[at].line;
}

/* ---- rows ---- */

static bool same_object(const struct profile_object *row, const struct object *object,
			uint32_t module)
{
	return row->kind == object->kind && row->module == module &&
	       row->offset == object->offset &&
	       (object->kind != OBJECT_HEAP || row->module != PROFILE_NONE ||
		strcmp(row->name, object->name ? object->name : "") == 0);
}

static struct rf_error *add_object(struct name_source *names, const struct object *object,
				   uint32_t module, uint32_t *index)
{
	struct profile *profile = names->profile;
	struct profile_object row = {
		.kind = object->kind,
		.module = module,
		.offset = object->offset,
		.name = strdup(object->name ? object->name : ""),
		.file = strdup(object->file ? object->file : ""),
		.line = object->line,
		.bytes = object->most,
		.n = object->n,
	};
	if (has_site(object))
		name_site(names, object->offset, &row);
	*index = (uint32_t)profile->n_objects;
	if (row.name && row.file &&
	    rf_array_push(profile->objects, profile->n_objects, profile->cap_objects, row))
		return NULL;
	free(row.name);
	free(row.file);
	return rf_error_no_memory();
}

/* Adds an object to the row that another process has of it, or makes one. */
static struct rf_error *save_object(struct name_source *names, const struct object *object,
				    uint32_t *index)
{
	struct profile *profile = names->profile;
	const uint32_t module = module_of(names, object);
	for (size_t i = 0; i < names->n_old; i++) {
		struct profile_object *row = &profile->objects[i];
		if (!same_object(row, object, module))
			continue;
		row->n += object->n;
		row->bytes = row->bytes > object->most ? row->bytes : object->most;
		*index = (uint32_t)i;
		return NULL;
	}
	return add_object(names, object, module, index);
}

/* Adds lines to the row of that object and instruction. */
static struct rf_error *save_lines(struct profile *profile, struct u64_map *row_of,
				   const struct profile_object_traffic *add)
{
	const uint64_t key =
		(add->offset * 0x9e3779b97f4a7c15u ^ (uint64_t)add->module << 40) + add->object;
	const uint32_t *index = u64_map_find(row_of, key);
	struct profile_object_traffic *row = index ? &profile->object_traffic[*index] : NULL;
	if (row && row->object == add->object && row->module == add->module &&
	    row->offset == add->offset) {
		row->read += add->read;
		row->write_allocate += add->write_allocate;
		row->write += add->write;
		return NULL;
	}
	if (!rf_array_push(profile->object_traffic, profile->n_object_traffic,
			   profile->cap_object_traffic, *add) ||
	    (!row && !u64_map_set(row_of, key, (uint32_t)profile->n_object_traffic - 1)))
		return rf_error_no_memory();
	return NULL;
}

static uint64_t times(uint64_t lines, double factor)
{
	return factor != 1 ? (uint64_t)llround((double)lines * factor) : lines;
}

static struct rf_error *save_traffic(const struct name_source *names, const struct objects *objects)
{
	size_t n;
	const struct object_lines *lines = objects_lines(objects, &n);
	struct u64_map row_of = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++) {
		const struct objects_rows *rows = names->rows;
		const double in = rows->factor(rows->context, lines[i].who, false);
		const double out = rows->factor(rows->context, lines[i].who, true);
		struct profile_object_traffic row = {
			.object = names->row_of[lines[i].object],
			.module = PROFILE_NONE,
			.read = times(lines[i].read, in),
			.write_allocate = times(lines[i].write_allocate, in),
			.write = times(lines[i].write, out),
		};
		names->rows->place(names->rows->context, lines[i].who, &row.module, &row.offset);
		error = save_lines(names->profile, &row_of, &row);
	}
	u64_map_deinit(&row_of);
	return error;
}

/* Finds out where the variables are declared that are worth the reading of all DWARF. */
static struct rf_error *declare_variables(struct objects *objects)
{
	size_t n, n_lines;
	const struct object *object = objects_all(objects, &n);
	const struct object_lines *lines = objects_lines(objects, &n_lines);
	uint64_t all = 0, *of = calloc(n, sizeof(*of));
	bool *wanted = calloc(n, sizeof(*wanted));
	if (!of || !wanted) {
		free(of);
		free(wanted);
		return rf_error_no_memory();
	}
	for (size_t i = 0; i < n_lines; i++) {
		const uint64_t moved = lines[i].read + lines[i].write_allocate + lines[i].write;
		of[lines[i].object] += moved;
		all += moved;
	}
	for (size_t i = 0; i < n; i++)
		wanted[i] = object[i].is_wanted || (object[i].n && of[i] >= DECLARED_LINES &&
						    (double)of[i] >= DECLARED_SHARE * (double)all);
	struct rf_error *error = objects_declare(objects, wanted);
	free(of);
	free(wanted);
	return error;
}

static struct rf_error *save_all(struct name_source *names, const struct objects *objects)
{
	size_t n;
	const struct object *object = objects_all(objects, &n);
	/* all modules of objects have a row before there is an array of them */
	for (size_t i = 0; i < n; i++)
		if (object[i].module != PROFILE_NONE)
			(void)names->rows->module(names->rows->context, object[i].module);
	const size_t n_modules = names->profile->n_modules;
	names->sites = calloc(n_modules + 1, sizeof(*names->sites));
	names->row_of = calloc(n, sizeof(*names->row_of));
	struct rf_error *error = names->sites && names->row_of
					 ? collect_sites(names, objects, n_modules)
					 : rf_error_no_memory();
	if (!error)
		name_sites(names, n_modules);
	for (size_t i = 0; i < n && !error; i++) {
		names->row_of[i] = PROFILE_NONE;
		if (is_saved(&object[i]))
			error = save_object(names, &object[i], &names->row_of[i]);
		if (!error && names->row_of[i] != PROFILE_NONE && names->rows->saved)
			names->rows->saved(names->rows->context, (uint32_t)i, names->row_of[i]);
	}
	if (!error)
		error = save_traffic(names, objects);
	free_sites(names, n_modules);
	free(names->row_of);
	return error;
}

struct rf_error *objects_save(struct objects *objects, struct profile *profile,
			      const struct objects_rows *rows)
{
	struct name_source names = {.profile = profile, .rows = rows, .n_old = profile->n_objects};
	objects_note_unread(objects, profile);
	struct rf_error *error = declare_variables(objects);
	return error ? error : save_all(&names, objects);
}

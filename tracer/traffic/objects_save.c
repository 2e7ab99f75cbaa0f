/* At the end of a run: gives the objects of an address space their names (the function and line
 * that allocated a block, the place where a variable is declared), and adds them and their traffic
 * to the profile. */
#include "tracer/traffic/objects_save.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "symbols/symbols.h"

#include <stdlib.h>
#include <string.h>

/* Of a variable with so large a part of all lines, and with so many, it is looked up where it is
 * declared. */
#define DECLARED_SHARE 0.001
#define DECLARED_LINES 256

/* What is being saved, with the symbols of modules that have been opened for it. */
struct name_source {
	struct profile *profile;
	const struct objects_rows *rows;
	size_t n_old; /* objects of other processes */
	struct save_module {
		struct symbol_module *symbols; /* NULL: not opened, or cannot be */
		bool tried;
	} * modules;      /* by profile module */
	uint32_t *row_of; /* by object: its row, or PROFILE_NONE */
};

static struct symbol_module *symbols_of(struct name_source *names, uint32_t number)
{
	const struct profile_module *row = &names->profile->modules[number];
	struct save_module *module = &names->modules[number];
	if (module->tried || row->path[0] == '[')
		return module->symbols;
	module->tried = true;
	rf_error_destroy(symbol_module_open(row->path, NULL, &module->symbols));
	if (module->symbols && row->build_id[0] &&
	    strcmp(symbol_module_build_id(module->symbols), row->build_id) != 0) {
		symbol_module_close(module->symbols); /* replaced since the run */
		module->symbols = NULL;
	}
	return module->symbols;
}

/* The function and line of the call before a call site; a function without a symbol has no name. */
static void name_site(struct name_source *names, uint64_t call_site, struct profile_object *row)
{
	struct symbol_module *module =
		row->module < names->profile->n_modules ? symbols_of(names, row->module) : NULL;
	struct symbol symbol;
	const char *file = NULL;
	if (!module || !call_site || !symbol_find(module, call_site - 1, &symbol))
		return;
	row->line = 0;
	(void)symbol_caller_line(module, call_site - 1, &file, &row->line);
	free(row->name);
	free(row->file);
	row->name = strdup(strstr(symbol.name, "+0x") ? "" : symbol.name);
	row->file = strdup(file ? file : "");
}

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
	if (object->kind == OBJECT_HEAP || object->kind == OBJECT_MAPPING)
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
	const uint32_t module = object->module == PROFILE_NONE
					? PROFILE_NONE
					: names->rows->module(names->rows->context, object->module);
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

static struct rf_error *save_traffic(const struct name_source *names, const struct objects *objects)
{
	size_t n;
	const struct object_lines *lines = objects_lines(objects, &n);
	struct u64_map row_of = {0};
	struct rf_error *error = NULL;
	for (size_t i = 0; i < n && !error; i++) {
		struct profile_object_traffic row = {
			.object = names->row_of[lines[i].object],
			.module = PROFILE_NONE,
			.read = lines[i].read,
			.write_allocate = lines[i].write_allocate,
			.write = lines[i].write,
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
	if (!of)
		return rf_error_no_memory();
	for (size_t i = 0; i < n_lines; i++) {
		const uint64_t moved = lines[i].read + lines[i].write_allocate + lines[i].write;
		of[lines[i].object] += moved;
		all += moved;
	}
	for (size_t i = 0; i < n; i++)
		if (object[i].n && of[i] >= DECLARED_LINES &&
		    (double)of[i] >= DECLARED_SHARE * (double)all)
			objects_declare(objects, i);
	free(of);
	return NULL;
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
	names->modules = calloc(n_modules + 1, sizeof(*names->modules));
	names->row_of = calloc(n, sizeof(*names->row_of));
	struct rf_error *error = names->modules && names->row_of ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < n && !error; i++) {
		names->row_of[i] = PROFILE_NONE;
		if (object[i].is_touched || object[i].n)
			error = save_object(names, &object[i], &names->row_of[i]);
	}
	if (!error)
		error = save_traffic(names, objects);
	for (size_t i = 0; names->modules && i < n_modules; i++)
		symbol_module_close(names->modules[i].symbols);
	free(names->modules);
	free(names->row_of);
	return error;
}

struct rf_error *objects_save(struct objects *objects, struct profile *profile,
			      const struct objects_rows *rows)
{
	struct name_source names = {.profile = profile, .rows = rows, .n_old = profile->n_objects};
	struct rf_error *error = declare_variables(objects);
	return error ? error : save_all(&names, objects);
}

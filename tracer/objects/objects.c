/* Knows what lies where in one address space: heap blocks and mappings, as allocators and the
 * kernel are called, and for the rest what the system shows: stacks, files, and the variables that
 * modules' symbols name.  Counts by object the lines that move to and from memory. */
#include "tracer/objects/objects.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "symbols/data_symbols.h"

#include <assert.h>
#include <string.h>

/* Numbers of objects, as the maps hold them. */
#define FREED 0x80000000u   /* in the map of blocks: no longer live */
#define STATICS 0x80000000u /* in the map of regions: the number is that of a static_module */
#define HEADER 16           /* bytes that allocators keep in front of a block */
#define REGION_PAGE 4096ull

/* Data of a module, as its symbols say. */
struct static_module {
	uint32_t module;
	uint64_t bias;
	struct data_symbols *symbols; /* or NULL */
};

struct objects {
	struct objects_source source;
	struct object *items;
	size_t n_items, cap_items;
	struct u64_map of_site;     /* call site × 2, + 1 for mappings → object */
	struct u64_map of_variable; /* variable_key → object */
	struct interval_map blocks, mappings, regions;
	struct static_module *statics;
	size_t n_statics, cap_statics;
	struct object_lines *moved;
	size_t n_moved, cap_moved;
	struct u64_map moved_of; /* object and who → index + 1 */
	uint32_t other, stack, allocator;
};

/* ---- objects by what they are ---- */

static uint32_t add_object(struct objects *objects, enum object_kind kind, uint32_t module,
			   uint64_t offset, const char *name)
{
	const struct object new = {.kind = kind,
				   .module = module,
				   .offset = offset,
				   .name = name ? strdup(name) : NULL};
	if (objects->n_items < FREED &&
	    rf_array_push(objects->items, objects->n_items, objects->cap_items, new))
		return (uint32_t)objects->n_items - 1;
	free(new.name);
	return objects->other;
}

struct objects *objects_create(const struct objects_source *source)
{
	struct objects *objects = calloc(1, sizeof(*objects));
	if (!objects)
		return NULL;
	objects->source = *source;
	objects->other = add_object(objects, OBJECT_OTHER, PROFILE_NONE, 0, NULL);
	objects->stack = add_object(objects, OBJECT_STACK, PROFILE_NONE, 0, "stack");
	objects->allocator =
		add_object(objects, OBJECT_HEAP, PROFILE_NONE, 0, "heap outside of blocks");
	if (objects->n_items == 3)
		return objects;
	objects_destroy(objects);
	return NULL;
}

void objects_destroy(struct objects *objects)
{
	if (!objects)
		return;
	for (size_t i = 0; i < objects->n_items; i++)
		free(objects->items[i].name);
	for (size_t i = 0; i < objects->n_statics; i++)
		data_symbols_close(objects->statics[i].symbols);
	interval_map_deinit(&objects->blocks);
	interval_map_deinit(&objects->mappings);
	interval_map_deinit(&objects->regions);
	u64_map_deinit(&objects->of_site);
	u64_map_deinit(&objects->of_variable);
	u64_map_deinit(&objects->moved_of);
	free(objects->items);
	free(objects->statics);
	free(objects->moved);
	free(objects);
}

static uint32_t object_of_site(struct objects *objects, enum object_kind kind, uint64_t call_site)
{
	const uint64_t key = call_site << 1 | (kind == OBJECT_MAPPING);
	const uint32_t *known = u64_map_find(&objects->of_site, key);
	if (known)
		return *known;
	uint32_t module;
	uint64_t offset;
	objects->source.locate(objects->source.context, call_site, &module, &offset);
	const uint32_t new = add_object(objects, kind, module, offset, NULL);
	(void)u64_map_set(&objects->of_site, key, new);
	return new;
}

static void grew(struct object *object, uint64_t size)
{
	object->n++;
	object->live += size;
	if (object->live > object->most)
		object->most = object->live;
}

static void shrank(struct object *object, uint64_t size)
{
	object->live -= object->live < size ? object->live : size;
}

/* ---- what happens to memory ---- */

/* A live block that is there though its memory is used again was freed unseen.  Returns how many
 * bytes before `start` an older block begins that reaches into the range. */
static uint64_t take_live_blocks(struct objects *objects, uint64_t start, uint64_t end)
{
	struct interval *old;
	uint64_t before = 0;
	for (uint64_t at = start; at < end && (old = interval_map_next(&objects->blocks, at, end));
	     at = old->end) {
		before = old->start < start ? start - old->start : before;
		if (!(old->value & FREED))
			shrank(&objects->items[old->value], old->end - old->start);
		old->value |= FREED;
	}
	return before;
}

void objects_allocated(struct objects *objects, uint64_t address, uint64_t size, uint64_t call_site)
{
	const uint32_t object = object_of_site(objects, OBJECT_HEAP, call_site);
	if (!size || address + size < address)
		size = 1; /* it has an address of its own all the same */
	struct interval *old = interval_map_next(&objects->blocks, address, address + size);
	if (old && old->start == address && old->end == address + size && old->value & FREED) {
		old->value = object;
		grew(&objects->items[object], size);
		return;
	}
	/* the words of the allocator in front of it are no longer in a block */
	const uint64_t before = old ? take_live_blocks(objects, address, address + size) : 0;
	if (before)
		(void)interval_map_remove(&objects->blocks,
					  address - (before < HEADER ? before : HEADER), address);
	if (interval_map_set(&objects->blocks, address, address + size, object))
		grew(&objects->items[object], size);
}

static struct interval *live_block(struct objects *objects, uint64_t address)
{
	struct interval *block = interval_map_find(&objects->blocks, address);
	return block && block->start == address && !(block->value & FREED) ? block : NULL;
}

struct interval objects_freed(struct objects *objects, uint64_t address)
{
	struct interval *block = live_block(objects, address);
	if (!block)
		return (struct interval){0};
	const struct interval freed = *block;
	shrank(&objects->items[block->value], block->end - block->start);
	block->value |= FREED;
	return freed;
}

void objects_not_freed(struct objects *objects, const struct interval *block)
{
	struct interval *old = interval_map_find(&objects->blocks, block->start);
	if (!old || old->value != (block->value | FREED))
		return; /* its memory is somebody else's by now */
	old->value = block->value;
	objects->items[block->value].live += old->end - old->start;
}

void objects_unmapped(struct objects *objects, uint64_t address, uint64_t size)
{
	const uint64_t end = (address + size + REGION_PAGE - 1) & ~(REGION_PAGE - 1);
	if (end <= address)
		return;
	(void)take_live_blocks(objects, address, end);
	struct interval *old;
	for (uint64_t at = address;
	     at < end && (old = interval_map_next(&objects->mappings, at, end)); at = old->end) {
		const uint64_t from = old->start > address ? old->start : address;
		shrank(&objects->items[old->value], (old->end < end ? old->end : end) - from);
	}
	(void)interval_map_remove(&objects->blocks, address, end);
	(void)interval_map_remove(&objects->mappings, address, end);
	(void)interval_map_remove(&objects->regions, address, end);
}

static void map_object(struct objects *objects, uint64_t address, uint64_t size, uint32_t object)
{
	const uint64_t end = (address + size + REGION_PAGE - 1) & ~(REGION_PAGE - 1);
	objects_unmapped(objects, address, size);
	if (address < end && interval_map_set(&objects->mappings, address, end, object))
		grew(&objects->items[object], end - address);
}

void objects_mapped(struct objects *objects, uint64_t address, uint64_t size, uint64_t call_site)
{
	map_object(objects, address, size,
		   call_site ? object_of_site(objects, OBJECT_MAPPING, call_site)
			     : objects->allocator);
}

uint32_t objects_mapping(struct objects *objects, uint64_t address)
{
	const struct interval *mapping = interval_map_find(&objects->mappings, address);
	return mapping ? mapping->value : objects->allocator;
}

void objects_moved(struct objects *objects, uint32_t object, uint64_t old, uint64_t old_size,
		   uint64_t address, uint64_t size)
{
	objects_unmapped(objects, old, old_size);
	map_object(objects, address, size, object);
}

/* ---- what the system shows ---- */

/* Gives the value of its region. */
static uint32_t statics_of(struct objects *objects, const struct object_region *region)
{
	for (size_t i = 0; i < objects->n_statics; i++)
		if (objects->statics[i].module == region->module &&
		    objects->statics[i].bias == region->bias)
			return STATICS | (uint32_t)i;
	struct static_module new = {.module = region->module, .bias = region->bias};
	struct rf_error *error =
		data_symbols_open(region->path, objects->source.kept, &new.symbols);
	if (error) { /* then its data has no names */
		rf_error_destroy(error);
		new.symbols = NULL;
	}
	if (rf_array_push(objects->statics, objects->n_statics, objects->cap_statics, new))
		return STATICS | (uint32_t)(objects->n_statics - 1);
	data_symbols_close(new.symbols);
	return objects->other;
}

static uint32_t value_of_region(struct objects *objects, const struct object_region *region)
{
	switch (region->kind) {
	case OBJECT_STACK:
		return objects->stack;
	case OBJECT_HEAP:
		return objects->allocator;
	case OBJECT_STATIC:
		return statics_of(objects, region);
	case OBJECT_CODE:
	case OBJECT_MAPPING:
		for (size_t i = 0; i < objects->n_items; i++)
			if (objects->items[i].kind == region->kind &&
			    objects->items[i].module == region->module && !objects->items[i].offset)
				return (uint32_t)i;
		return add_object(objects, region->kind, region->module, 0, NULL);
	default:
		return objects->other;
	}
}

/* What the system shows there.  A page that it does not know either is not asked about again. */
static struct interval *find_region(struct objects *objects, uint64_t address)
{
	struct interval *there = interval_map_find(&objects->regions, address);
	if (there)
		return there;
	struct object_region region = {.start = address & ~(REGION_PAGE - 1),
				       .kind = OBJECT_OTHER,
				       .module = PROFILE_NONE};
	region.end = region.start + REGION_PAGE;
	if (objects->source.region)
		(void)objects->source.region(objects->source.context, address, &region);
	return interval_map_set(&objects->regions, region.start, region.end,
				value_of_region(objects, &region))
		       ? interval_map_find(&objects->regions, address)
		       : NULL;
}

void objects_stack(struct objects *objects, uint64_t stack_pointer)
{
	if (interval_map_find(&objects->blocks, stack_pointer))
		return; /* a block stays what it is */
	struct interval *mapping = interval_map_find(&objects->mappings, stack_pointer);
	if (mapping && mapping->value != objects->stack) {
		shrank(&objects->items[mapping->value], mapping->end - mapping->start);
		grew(&objects->items[objects->stack], mapping->end - mapping->start);
		mapping->value = objects->stack;
	}
	struct interval *region = mapping ? NULL : find_region(objects, stack_pointer);
	if (!region || region->value & STATICS)
		return;
	const enum object_kind kind = objects->items[region->value].kind;
	if (kind == OBJECT_MAPPING || kind == OBJECT_OTHER)
		region->value = objects->stack;
}

/* ---- variables ---- */

static uint32_t object_of_variable(struct objects *objects, uint32_t statics, uint64_t address)
{
	struct static_module *module = &objects->statics[statics];
	struct data_symbol symbol = {.start = 0, .name = ""};
	if (module->symbols)
		(void)data_symbols_find(module->symbols, address - module->bias, &symbol);
	const uint64_t key = (uint64_t)statics << 48 ^ symbol.start;
	const uint32_t *known = u64_map_find(&objects->of_variable, key);
	if (known)
		return *known;
	const uint32_t new =
		add_object(objects, OBJECT_STATIC, module->module, symbol.start, symbol.name);
	struct object *object = &objects->items[new];
	if (new != objects->other) {
		object->statics = statics;
		object->live = object->most = symbol.end - symbol.start;
		object->n = !symbol.is_section;
	}
	(void)u64_map_set(&objects->of_variable, key, new);
	return new;
}

/* ---- whose data ---- */

/* The block at an address.  Between blocks there are the allocator's few bytes, which may be what
 * is left of an older block: they move with the first block in their line, a live one if there is
 * any. */
static const struct interval *find_block_at(struct objects *objects, uint64_t address)
{
	const uint64_t line = address & ~(uint64_t)(CACHE_LINE - 1), end = line + CACHE_LINE;
	const struct interval *there = interval_map_find(&objects->blocks, address), *beside;
	if (there && !(there->value & FREED))
		return there;
	for (uint64_t at = line;
	     at < end && (beside = interval_map_next(&objects->blocks, at, end)); at = beside->end)
		if (!(beside->value & FREED))
			return beside;
	return there ? there : interval_map_next(&objects->blocks, line, end);
}

static uint32_t object_at(struct objects *objects, uint64_t address)
{
	const struct interval *there = find_block_at(objects, address);
	if (there)
		return there->value & ~FREED;
	there = interval_map_find(&objects->mappings, address);
	if (!there)
		there = find_region(objects, address);
	if (!there)
		return objects->other;
	return there->value & STATICS
		       ? object_of_variable(objects, there->value & ~STATICS, address)
		       : there->value;
}

const struct object *objects_at(struct objects *objects, uint64_t address)
{
	return &objects->items[object_at(objects, address)];
}

/* Where the variable at an address begins, or its section. */
static bool variable_start(const struct objects *objects, uint32_t statics, uint64_t address,
			   uint64_t *start)
{
	const struct static_module *module = &objects->statics[statics];
	struct data_symbol symbol;
	if (!module->symbols ||
	    !data_symbols_find(module->symbols, address - module->bias, &symbol))
		return false;
	*start = symbol.start + module->bias;
	return true;
}

bool objects_place(struct objects *objects, uint64_t address, uint32_t *object, uint64_t *offset)
{
	const struct interval *there = find_block_at(objects, address);
	const bool is_block = there;
	uint64_t start;
	*object = object_at(objects, address);
	*offset = 0;
	if (!there)
		there = interval_map_find(&objects->mappings, address);
	if (!there)
		there = find_region(objects, address);
	if (!there || *object == objects->stack || *object == objects->other ||
	    *object == objects->allocator)
		return false;
	start = there->start;
	if (!is_block && there->value & STATICS &&
	    !variable_start(objects, there->value & ~STATICS, address, &start))
		return false;
	*offset = address - start;
	return address >= start;
}

void objects_want(struct objects *objects, uint32_t object)
{
	if (object >= objects->n_items)
		return;
	objects->items[object].is_touched = true;
	objects->items[object].is_wanted = true;
}

static struct object_lines *moved_by(struct objects *objects, uint32_t object, uint32_t who)
{
	const uint64_t key = ((uint64_t)object << 32 | who) + 1;
	const uint32_t *index = u64_map_find(&objects->moved_of, key);
	if (index)
		return &objects->moved[*index];
	const struct object_lines new = {.object = object, .who = who};
	if (!rf_array_push(objects->moved, objects->n_moved, objects->cap_moved, new) ||
	    !u64_map_set(&objects->moved_of, key, (uint32_t)objects->n_moved - 1))
		return NULL;
	return &objects->moved[objects->n_moved - 1];
}

void objects_note(struct objects *objects, uint64_t address, enum traffic event, uint32_t who)
{
	if (event != TRAFFIC_MEM_READ && event != TRAFFIC_MEM_WRITE_ALLOCATE &&
	    event != TRAFFIC_MEM_WRITE_BACK && event != TRAFFIC_MEM_NON_TEMPORAL)
		return;
	const uint32_t object = object_at(objects, address);
	struct object_lines *moved = moved_by(objects, object, who);
	if (!moved)
		return;
	objects->items[object].is_touched = true;
	moved->read += event == TRAFFIC_MEM_READ;
	moved->write_allocate += event == TRAFFIC_MEM_WRITE_ALLOCATE;
	moved->write += event == TRAFFIC_MEM_WRITE_BACK || event == TRAFFIC_MEM_NON_TEMPORAL;
}

/* ---- what is known ---- */

static int compare_addresses(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;
	return rf_compare(*a, *b);
}

const struct object *objects_all(const struct objects *objects, size_t *n)
{
	*n = objects->n_items;
	return objects->items;
}

const struct object_lines *objects_lines(const struct objects *objects, size_t *n)
{
	*n = objects->n_moved;
	return objects->moved;
}

/* The variables of one module's symbols that are wanted. */
static struct rf_error *declare_of(struct objects *objects, uint32_t statics, const bool *wanted)
{
	struct data_symbols *symbols = objects->statics[statics].symbols;
	uint64_t *vaddrs = NULL;
	size_t n = 0, cap = 0;
	for (size_t i = 0; symbols && i < objects->n_items; i++) {
		const struct object *object = &objects->items[i];
		if (wanted[i] && object->kind == OBJECT_STATIC && object->statics == statics &&
		    !rf_array_push(vaddrs, n, cap, object->offset)) {
			free(vaddrs);
			return rf_error_no_memory();
		}
	}
	if (n) {
		qsort(vaddrs, n, sizeof(*vaddrs), compare_addresses);
		data_symbols_declare(symbols, vaddrs, n);
	}
	free(vaddrs);
	return NULL;
}

static void take_declaration(struct objects *objects, struct object *object)
{
	struct data_symbol symbol;
	const struct data_symbols *symbols =
		object->kind == OBJECT_STATIC ? objects->statics[object->statics].symbols : NULL;
	if (!symbols || !data_symbols_find(symbols, object->offset, &symbol) ||
	    symbol.start != object->offset || symbol.is_section)
		return;
	object->file = symbol.file[0] ? symbol.file : NULL;
	object->line = symbol.line;
	char *name = strdup(symbol.name);
	free(name ? object->name : NULL);
	object->name = name ? name : object->name;
}

struct rf_error *objects_declare(struct objects *objects, const bool *wanted)
{
	struct rf_error *error = NULL;
	for (uint32_t i = 0; !error && i < objects->n_statics; i++)
		error = declare_of(objects, i, wanted);
	for (size_t i = 0; !error && i < objects->n_items; i++)
		if (wanted[i])
			take_declaration(objects, &objects->items[i]);
	return error;
}

void objects_note_unread(const struct objects *objects, struct profile *profile)
{
	for (size_t i = 0; i < objects->n_statics; i++) {
		const struct data_symbols *symbols = objects->statics[i].symbols;
		const char *why = symbols ? data_symbols_trouble(symbols) : NULL;
		if (why)
			profile_note_unread(profile, data_symbols_path(symbols), why);
	}
}

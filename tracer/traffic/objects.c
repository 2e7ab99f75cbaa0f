#include "tracer/traffic/objects.h"

#include "base/array.h"
#include "base/u64_map.h"
#include "symbols/data_symbols.h"
#include "symbols/symbols.h"
#include "tracer/process/allocators.h"
#include "tracer/traffic/interval_map.h"

#include <string.h>

/* Numbers of objects, as the maps hold them. */
#define FREED 0x80000000u /* in the map of blocks: no longer live */
#define MAX_PENDING 16    /* calls of allocators within each other */
#define MAX_NESTED \
	64        /* calls that may come out of one; with more it has been left by an exception */
#define HEADER 16 /* bytes that allocators keep in front of a block */
#define REGION_PAGE 4096ull
/* Of a variable with so large a part of all lines, and with so many, it is looked up where it is
 * declared. */
#define DECLARED_SHARE 0.001
#define DECLARED_LINES 256

struct object {
	enum object_kind kind;
	uint32_t module;
	uint64_t offset;
	char *name;       /* or NULL */
	const char *file; /* borrowed from the module's symbols, or NULL */
	uint32_t line;
	uint64_t live, most, n;
	bool is_touched;  /* has traffic */
	uint32_t statics; /* of a variable: whose module's symbols */
};

struct pending {
	struct allocator_call call;
	uint64_t call_site; /* behind the outermost call */
	bool is_inner;      /* another one gives the block */
	unsigned n_nested;
	struct interval moved; /* realloc, mremap: what was there before, and its object */
	bool has_moved;
};

struct thread_calls {
	struct pending pending[MAX_PENDING];
	int n;
};

/* Data of a module, as its symbols say. */
struct static_module {
	uint32_t module;
	uint64_t bias;
	struct data_symbols *symbols; /* or NULL */
};

/* What is mapped, as the system showed it. */
struct known_region {
	enum object_kind kind;
	uint32_t object;  /* unless STATIC */
	uint32_t statics; /* STATIC: index */
};

struct moved_lines {
	uint32_t object, who;
	uint64_t read, write_allocate, write;
};

struct objects {
	struct objects_source source;
	struct object *items;
	size_t n_items, cap_items;
	struct u64_map of_call_site; /* call site → heap object */
	struct u64_map of_mapping_site;
	struct u64_map of_variable; /* variable_key → object */
	struct interval_map *blocks, *mappings, *regions;
	struct known_region *known_regions;
	size_t n_known_regions, cap_known_regions;
	struct static_module *statics;
	size_t n_statics, cap_statics;
	struct thread_calls **threads;
	size_t n_threads, cap_threads;
	struct moved_lines *moved;
	size_t n_moved, cap_moved;
	struct u64_map moved_of; /* object and who → index + 1 */
	uint64_t unseen;
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
	objects->blocks = interval_map_create();
	objects->mappings = interval_map_create();
	objects->regions = interval_map_create();
	objects->other = add_object(objects, OBJECT_OTHER, PROFILE_NONE, 0, NULL);
	objects->stack = add_object(objects, OBJECT_STACK, PROFILE_NONE, 0, "stack");
	objects->allocator =
		add_object(objects, OBJECT_HEAP, PROFILE_NONE, 0, "heap outside of blocks");
	if (objects->blocks && objects->mappings && objects->regions && objects->n_items == 3)
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
	for (size_t i = 0; i < objects->n_threads; i++)
		free(objects->threads[i]);
	interval_map_destroy(objects->blocks);
	interval_map_destroy(objects->mappings);
	interval_map_destroy(objects->regions);
	u64_map_deinit(&objects->of_call_site);
	u64_map_deinit(&objects->of_mapping_site);
	u64_map_deinit(&objects->of_variable);
	u64_map_deinit(&objects->moved_of);
	free(objects->items);
	free(objects->known_regions);
	free(objects->statics);
	free(objects->threads);
	free(objects->moved);
	free(objects);
}

/* The regions are looked at anew, and so are modules' symbols. */
struct objects *objects_fork(const struct objects *parent, const struct objects_source *source)
{
	struct objects *objects = objects_create(source);
	bool ok = objects;
	for (size_t i = objects ? objects->n_items : 0; ok && i < parent->n_items; i++) {
		const struct object *item = &parent->items[i];
		ok = add_object(objects, item->kind, item->module, item->offset, item->name) == i;
		if (ok)
			objects->items[i].live = objects->items[i].most = item->live;
	}
	for (size_t i = 0; ok && i < parent->of_call_site.n_cells; i++)
		if (parent->of_call_site.cells[i].key)
			ok = u64_map_set(&objects->of_call_site, parent->of_call_site.cells[i].key,
					 parent->of_call_site.cells[i].value);
	for (size_t i = 0; ok && i < parent->of_mapping_site.n_cells; i++)
		if (parent->of_mapping_site.cells[i].key)
			ok = u64_map_set(&objects->of_mapping_site,
					 parent->of_mapping_site.cells[i].key,
					 parent->of_mapping_site.cells[i].value);
	if (ok) {
		interval_map_destroy(objects->blocks);
		interval_map_destroy(objects->mappings);
		objects->blocks = interval_map_copy(parent->blocks);
		objects->mappings = interval_map_copy(parent->mappings);
	}
	if (ok && objects->blocks && objects->mappings)
		return objects;
	objects_destroy(objects);
	return NULL;
}

static uint32_t object_of_site(struct objects *objects, struct u64_map *map, enum object_kind kind,
			       uint64_t call_site)
{
	const uint32_t *known = u64_map_find(map, call_site);
	if (known)
		return *known;
	uint32_t module;
	uint64_t offset;
	objects->source.locate(objects->source.context, call_site, &module, &offset);
	const uint32_t new = add_object(objects, kind, module, offset, NULL);
	(void)u64_map_set(map, call_site, new);
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
	struct interval old;
	uint64_t before = 0;
	for (uint64_t at = start; at < end && interval_map_next(objects->blocks, at, end, &old);
	     at = old.end) {
		before = old.start < start ? start - old.start : before;
		if (!(old.value & FREED)) {
			shrank(&objects->items[old.value], old.end - old.start);
			(void)interval_map_change(objects->blocks, old.start, old.value | FREED,
						  &old);
		}
	}
	return before;
}

void objects_allocated(struct objects *objects, uint64_t address, uint64_t size, uint64_t call_site)
{
	const uint32_t object =
		object_of_site(objects, &objects->of_call_site, OBJECT_HEAP, call_site);
	if (!size || address + size < address)
		size = 1; /* it has an address of its own all the same */
	if (interval_map_set_over(objects->blocks, address, address + size, object, FREED)) {
		grew(&objects->items[object], size);
		return;
	}
	/* the words of the allocator in front of it are no longer in a block */
	const uint64_t before = take_live_blocks(objects, address, address + size);
	if (before)
		(void)interval_map_remove(objects->blocks,
					  address - (before < HEADER ? before : HEADER), address);
	if (interval_map_set(objects->blocks, address, address + size, object))
		grew(&objects->items[object], size);
}

/* The block that begins at address and is live. */
static bool find_block(const struct objects *objects, uint64_t address, struct interval *block)
{
	return interval_map_find(objects->blocks, address, block) && block->start == address &&
	       !(block->value & FREED);
}

void objects_freed(struct objects *objects, uint64_t address)
{
	struct interval block;
	if (!interval_map_mark(objects->blocks, address, FREED, &block) || block.value & FREED)
		return;
	shrank(&objects->items[block.value], block.end - block.start);
}

void objects_unmapped(struct objects *objects, uint64_t address, uint64_t size)
{
	const uint64_t end = (address + size + REGION_PAGE - 1) & ~(REGION_PAGE - 1);
	struct interval old;
	if (end <= address)
		return;
	(void)take_live_blocks(objects, address, end);
	for (uint64_t at = address; at < end && interval_map_next(objects->mappings, at, end, &old);
	     at = old.end) {
		const uint64_t from = old.start > address ? old.start : address;
		shrank(&objects->items[old.value], (old.end < end ? old.end : end) - from);
	}
	(void)interval_map_remove(objects->blocks, address, end);
	(void)interval_map_remove(objects->mappings, address, end);
	(void)interval_map_remove(objects->regions, address, end);
}

static void map_object(struct objects *objects, uint64_t address, uint64_t size, uint32_t object)
{
	const uint64_t end = (address + size + REGION_PAGE - 1) & ~(REGION_PAGE - 1);
	objects_unmapped(objects, address, size);
	if (address < end && interval_map_set(objects->mappings, address, end, object))
		grew(&objects->items[object], end - address);
}

void objects_mapped(struct objects *objects, uint64_t address, uint64_t size, uint64_t call_site)
{
	map_object(objects, address, size,
		   call_site ? object_of_site(objects, &objects->of_mapping_site, OBJECT_MAPPING,
					      call_site)
			     : objects->allocator);
}

/* ---- what the system shows ---- */

static uint32_t statics_of(struct objects *objects, const struct object_region *region)
{
	for (size_t i = 0; i < objects->n_statics; i++)
		if (objects->statics[i].module == region->module &&
		    objects->statics[i].bias == region->bias)
			return (uint32_t)i;
	struct static_module new = {.module = region->module, .bias = region->bias};
	struct rf_error *error = data_symbols_open(region->path, &new.symbols);
	if (error) { /* then its data has no names */
		rf_error_destroy(error);
		new.symbols = NULL;
	}
	if (rf_array_push(objects->statics, objects->n_statics, objects->cap_statics, new))
		return (uint32_t)objects->n_statics - 1;
	data_symbols_close(new.symbols);
	return UINT32_MAX;
}

static uint32_t object_of_region(struct objects *objects, const struct object_region *region)
{
	switch (region->kind) {
	case OBJECT_STACK:
		return objects->stack;
	case OBJECT_HEAP:
		return objects->allocator;
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

/* Asks the system.  A page that it does not know either is not asked about again. */
static bool add_region(struct objects *objects, uint64_t address, struct interval *out)
{
	struct object_region region = {.start = address & ~(REGION_PAGE - 1),
				       .kind = OBJECT_OTHER,
				       .module = PROFILE_NONE};
	region.end = region.start + REGION_PAGE;
	if (objects->source.region)
		(void)objects->source.region(objects->source.context, address, &region);
	struct known_region known = {.kind = region.kind};
	if (region.kind == OBJECT_STATIC)
		known.statics = statics_of(objects, &region);
	else
		known.object = object_of_region(objects, &region);
	return rf_array_push(objects->known_regions, objects->n_known_regions,
			     objects->cap_known_regions, known) &&
	       interval_map_set(objects->regions, region.start, region.end,
				(uint32_t)objects->n_known_regions - 1) &&
	       interval_map_find(objects->regions, address, out);
}

static bool find_region(struct objects *objects, uint64_t address, struct interval *out)
{
	return interval_map_find(objects->regions, address, out) ||
	       add_region(objects, address, out);
}

void objects_stack(struct objects *objects, uint64_t stack_pointer)
{
	struct interval there;
	if (interval_map_find(objects->blocks, stack_pointer, &there))
		return; /* a block stays what it is */
	if (interval_map_change(objects->mappings, stack_pointer, objects->stack, &there)) {
		if (there.value != objects->stack) {
			shrank(&objects->items[there.value], there.end - there.start);
			grew(&objects->items[objects->stack], there.end - there.start);
		}
		return;
	}
	if (!find_region(objects, stack_pointer, &there))
		return;
	struct known_region *known = &objects->known_regions[there.value];
	if (known->kind == OBJECT_MAPPING || known->kind == OBJECT_OTHER)
		*known = (struct known_region){.kind = OBJECT_STACK, .object = objects->stack};
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
static bool find_block_at(const struct objects *objects, uint64_t address, struct interval *out)
{
	const uint64_t line = address & ~(uint64_t)(CACHE_LINE - 1), end = line + CACHE_LINE;
	struct interval beside;
	const bool is_in = interval_map_find(objects->blocks, address, out);
	if (is_in && !(out->value & FREED))
		return true;
	for (uint64_t at = line; at < end && interval_map_next(objects->blocks, at, end, &beside);
	     at = beside.end)
		if (!(beside.value & FREED)) {
			*out = beside;
			return true;
		}
	return is_in || interval_map_next(objects->blocks, line, end, out);
}

static uint32_t object_at(struct objects *objects, uint64_t address)
{
	struct interval there;
	if (find_block_at(objects, address, &there))
		return there.value & ~FREED;
	if (interval_map_find(objects->mappings, address, &there))
		return there.value;
	if (!find_region(objects, address, &there))
		return objects->other;
	const struct known_region *region = &objects->known_regions[there.value];
	if (region->kind != OBJECT_STATIC)
		return region->object;
	return region->statics == UINT32_MAX
		       ? objects->other
		       : object_of_variable(objects, region->statics, address);
}

struct object_view objects_at(struct objects *objects, uint64_t address)
{
	const struct object *object = &objects->items[object_at(objects, address)];
	return (struct object_view){object->kind,   object->module,
				    object->offset, object->name ? object->name : "",
				    object->live,   object->most,
				    object->n};
}

static struct moved_lines *moved_by(struct objects *objects, uint32_t object, uint32_t who)
{
	const uint64_t key = ((uint64_t)object << 32 | who) + 1;
	const uint32_t *index = u64_map_find(&objects->moved_of, key);
	if (index)
		return &objects->moved[*index];
	const struct moved_lines new = {.object = object, .who = who};
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
	struct moved_lines *moved = moved_by(objects, object, who);
	if (!moved)
		return;
	objects->items[object].is_touched = true;
	moved->read += event == TRAFFIC_MEM_READ;
	moved->write_allocate += event == TRAFFIC_MEM_WRITE_ALLOCATE;
	moved->write += event == TRAFFIC_MEM_WRITE_BACK || event == TRAFFIC_MEM_NON_TEMPORAL;
}

/* ---- calls of allocators ---- */

static struct thread_calls *calls_of(struct objects *objects, uint32_t thread)
{
	while (objects->n_threads <= thread)
		if (!rf_array_push(objects->threads, objects->n_threads, objects->cap_threads,
				   NULL))
			return NULL;
	if (!objects->threads[thread])
		objects->threads[thread] = calloc(1, sizeof(*objects->threads[thread]));
	return objects->threads[thread];
}

void objects_thread_ended(struct objects *objects, uint32_t thread)
{
	if (thread < objects->n_threads && objects->threads[thread])
		objects->threads[thread]->n = 0;
}

static bool awaits_result(const struct pending *pending)
{
	return allocators[pending->call.function].action != ALLOCATOR_WRAPS;
}

/* Frames that are gone: the stack has been unwound past them.  One at the very same place has made
 * way for what it jumped to at its end. */
static void drop_gone(struct objects *objects, struct thread_calls *calls, uint64_t stack_pointer)
{
	while (calls->n && calls->pending[calls->n - 1].call.stack_pointer <= stack_pointer) {
		const struct pending *gone = &calls->pending[--calls->n];
		objects->unseen += gone->call.stack_pointer < stack_pointer && !gone->is_inner &&
				   awaits_result(gone);
	}
}

static uint64_t argument(const struct allocator_call *call, uint8_t number)
{
	return number == NO_ARGUMENT ? 1 : call->arguments[number];
}

static uint64_t size_wanted(const struct allocator_call *call)
{
	const struct allocator *function = &allocators[call->function];
	uint64_t size;
	if (__builtin_mul_overflow(argument(call, function->size), argument(call, function->times),
				   &size))
		return 0;
	return size;
}

/* What is there before it moves. */
static void remember_moved(struct objects *objects, struct pending *pending)
{
	const struct allocator *function = &allocators[pending->call.function];
	const uint64_t address = argument(&pending->call, function->pointer);
	if (function->action == ALLOCATOR_CHANGES) {
		pending->has_moved = find_block(objects, address, &pending->moved);
		objects_freed(objects, address);
	} else if (function->action == ALLOCATOR_REMAPS) {
		pending->has_moved = interval_map_find(objects->mappings, address, &pending->moved);
		pending->moved.start = address;
		pending->moved.end = address + argument(&pending->call, function->size);
	}
}

/* What happens when the function begins: memory that is given back may be somebody else's before it
 * returns. */
static void begin_call(struct objects *objects, struct pending *pending)
{
	const struct allocator *function = &allocators[pending->call.function];
	const uint64_t address = argument(&pending->call, function->pointer);
	if (function->action == ALLOCATOR_TAKES)
		objects_freed(objects, address);
	else if (function->action == ALLOCATOR_UNMAPS)
		objects_unmapped(objects, address, argument(&pending->call, function->size));
	else if (!pending->is_inner || function->action == ALLOCATOR_REMAPS)
		remember_moved(objects, pending);
}

/* Whether a call comes out of the one that is pending: it is deeper on the same stack.  Handlers
 * and callbacks of the program that allocate in there are taken for it. */
static bool comes_out_of(struct pending *outer, const struct allocator_call *call)
{
	return outer->call.stack_pointer > call->stack_pointer &&
	       outer->call.stack_pointer - call->stack_pointer < 1u << 16 &&
	       outer->n_nested++ < MAX_NESTED;
}

void objects_enter(struct objects *objects, const struct allocator_call *call)
{
	struct thread_calls *calls = calls_of(objects, call->thread);
	if (!calls || call->function >= n_allocators)
		return;
	struct pending new = {.call = *call, .call_site = call->return_address};
	/* the call that jumped here at its end is no longer, but who called it is */
	if (calls->n && calls->pending[calls->n - 1].call.stack_pointer == call->stack_pointer) {
		const struct pending *same = &calls->pending[calls->n - 1];
		if (same->call.return_address == call->return_address) {
			new.is_inner = same->is_inner;
			new.call_site = same->call_site;
		}
	}
	drop_gone(objects, calls, call->stack_pointer);
	if (calls->n && comes_out_of(&calls->pending[calls->n - 1], call)) {
		const struct pending *outer = &calls->pending[calls->n - 1];
		new.call_site = outer->call_site;
		new.is_inner = outer->is_inner ||
			       allocators[outer->call.function].action != ALLOCATOR_WRAPS;
	}
	begin_call(objects, &new);
	if (!allocator_returns(&allocators[call->function]))
		return;
	if (calls->n == MAX_PENDING)
		calls->n = 0;
	calls->pending[calls->n++] = new;
}

static void end_change(struct objects *objects, const struct pending *pending, uint64_t result)
{
	const uint64_t size = size_wanted(&pending->call);
	if (result) {
		objects_allocated(objects, result, size, pending->call_site);
	} else if (pending->has_moved && size) { /* refused: the old block is still there */
		struct interval old;
		if (interval_map_find(objects->blocks, pending->moved.start, &old) &&
		    old.value == (pending->moved.value | FREED)) {
			(void)interval_map_change(objects->blocks, old.start, pending->moved.value,
						  &old);
			objects->items[pending->moved.value].live += old.end - old.start;
		}
	}
}

static void end_remap(struct objects *objects, const struct pending *pending, uint64_t result)
{
	const struct allocator_call *call = &pending->call;
	if ((int64_t)result < 0 && (int64_t)result >= -4096)
		return;
	/* blocks go with their mapping: the allocator that asked for it will say so itself */
	const uint32_t object = pending->has_moved ? pending->moved.value : objects->allocator;
	objects_unmapped(objects, call->arguments[0], call->arguments[1]);
	map_object(objects, result, call->arguments[2], object);
}

static void end_call(struct objects *objects, const struct pending *pending, uint64_t result)
{
	const struct allocator *function = &allocators[pending->call.function];
	const bool failed = (int64_t)result < 0 && (int64_t)result >= -4096;
	if (function->action == ALLOCATOR_MAPS && !failed)
		objects_mapped(objects, result, argument(&pending->call, function->size),
			       pending->is_inner ? 0 : pending->call_site);
	else if (function->action == ALLOCATOR_REMAPS)
		end_remap(objects, pending, result);
	else if (pending->is_inner)
		return;
	else if (function->action == ALLOCATOR_GIVES && result)
		objects_allocated(objects, result, size_wanted(&pending->call), pending->call_site);
	else if (function->action == ALLOCATOR_CHANGES)
		end_change(objects, pending, result);
}

void objects_leave(struct objects *objects, uint32_t thread, uint64_t stack_pointer,
		   uint64_t result)
{
	struct thread_calls *calls = calls_of(objects, thread);
	if (!calls || !stack_pointer)
		return;
	drop_gone(objects, calls, stack_pointer - 1);
	if (!calls->n || calls->pending[calls->n - 1].call.stack_pointer != stack_pointer)
		return;
	const struct pending pending = calls->pending[--calls->n];
	end_call(objects, &pending, result);
}

uint64_t objects_unseen(const struct objects *objects)
{
	return objects->unseen;
}

/* ---- the profile ---- */

/* Files whose symbols have been opened for this. */
struct name_source {
	struct profile *profile;
	const struct objects_rows *rows;
	size_t n_old;                   /* objects of other processes */
	struct symbol_module **modules; /* by profile module; NULL: not opened, or cannot be */
	bool *tried;
};

static struct symbol_module *symbols_of(struct name_source *names, uint32_t module)
{
	const struct profile_module *row = &names->profile->modules[module];
	if (names->tried[module])
		return names->modules[module];
	names->tried[module] = true;
	if (row->path[0] == '[')
		return NULL;
	struct rf_error *error = symbol_module_open(row->path, &names->modules[module]);
	if (error)
		names->modules[module] = NULL;
	rf_error_destroy(error);
	if (names->modules[module] && row->build_id[0] &&
	    strcmp(symbol_module_build_id(names->modules[module]), row->build_id) != 0) {
		symbol_module_close(names->modules[module]); /* replaced since the run */
		names->modules[module] = NULL;
	}
	return names->modules[module];
}

/* The function and line of the call before a call site; a function without a symbol has no name. */
static void name_site(struct name_source *names, const struct object *object,
		      struct profile_object *row)
{
	struct symbol_module *module =
		row->module < names->profile->n_modules ? symbols_of(names, row->module) : NULL;
	struct symbol symbol;
	const char *file = NULL;
	uint32_t line = 0;
	if (!module || !object->offset || !symbol_find(module, object->offset - 1, &symbol))
		return;
	(void)symbol_caller_line(module, object->offset - 1, &file, &line);
	free(row->name);
	free(row->file);
	row->name = strdup(strstr(symbol.name, "+0x") ? "" : symbol.name);
	row->file = strdup(file ? file : "");
	row->line = line;
}

static bool same_object(const struct profile_object *row, const struct object *object,
			uint32_t module)
{
	return row->kind == object->kind && row->module == module &&
	       row->offset == object->offset &&
	       (object->kind != OBJECT_HEAP || row->module != PROFILE_NONE ||
		strcmp(row->name, object->name ? object->name : "") == 0);
}

static uint32_t save_object(struct name_source *names, const struct object *object)
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
		return (uint32_t)i;
	}
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
		name_site(names, object, &row);
	if (row.name && row.file &&
	    rf_array_push(profile->objects, profile->n_objects, profile->cap_objects, row))
		return (uint32_t)profile->n_objects - 1;
	free(row.name);
	free(row.file);
	return PROFILE_NONE;
}

/* Adds lines to the row of that object and instruction. */
static void save_traffic(struct profile *profile, struct u64_map *row_of,
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
		return;
	}
	if (rf_array_push(profile->object_traffic, profile->n_object_traffic,
			  profile->cap_object_traffic, *add) &&
	    !row)
		(void)u64_map_set(row_of, key, (uint32_t)profile->n_object_traffic - 1);
}

static void save_moved(struct objects *objects, struct profile *profile,
		       const uint32_t *row_of_object, const struct objects_rows *rows)
{
	struct u64_map row_of = {0};
	for (size_t i = 0; i < objects->n_moved; i++) {
		const struct moved_lines *moved = &objects->moved[i];
		struct profile_object_traffic row = {
			.object = row_of_object[moved->object],
			.module = PROFILE_NONE,
			.read = moved->read,
			.write_allocate = moved->write_allocate,
			.write = moved->write,
		};
		rows->place(rows->context, moved->who, &row.module, &row.offset);
		if (row.object != PROFILE_NONE)
			save_traffic(profile, &row_of, &row);
	}
	u64_map_deinit(&row_of);
}

/* All modules of objects have a row before there are arrays by module. */
static void make_module_rows(const struct objects *objects, const struct objects_rows *rows)
{
	for (size_t i = 0; i < objects->n_items; i++)
		if (objects->items[i].module != PROFILE_NONE)
			(void)rows->module(rows->context, objects->items[i].module);
}

/* Finds out where the variables are declared that are worth the reading of all DWARF. */
static void declare_variables(struct objects *objects)
{
	uint64_t all = 0, *of = calloc(objects->n_items, sizeof(*of));
	for (size_t i = 0; of && i < objects->n_moved; i++) {
		const struct moved_lines *moved = &objects->moved[i];
		const uint64_t lines = moved->read + moved->write_allocate + moved->write;
		of[moved->object] += lines;
		all += lines;
	}
	for (size_t i = 0; of && i < objects->n_items; i++) {
		struct object *object = &objects->items[i];
		struct data_symbols *symbols = object->kind == OBJECT_STATIC
						       ? objects->statics[object->statics].symbols
						       : NULL;
		struct data_symbol symbol;
		if (!symbols || of[i] < DECLARED_LINES ||
		    (double)of[i] < DECLARED_SHARE * (double)all || !object->n ||
		    !data_symbols_find(symbols, object->offset, &symbol) ||
		    symbol.start != object->offset)
			continue;
		data_symbols_declare(symbols, &symbol);
		object->file = symbol.file[0] ? symbol.file : NULL;
		object->line = symbol.line;
		char *name = strdup(symbol.name);
		free(name ? object->name : NULL);
		object->name = name ? name : object->name;
	}
	free(of);
}

void objects_save(struct objects *objects, struct profile *profile, const struct objects_rows *rows)
{
	declare_variables(objects);
	make_module_rows(objects, rows);
	struct name_source names = {
		.profile = profile,
		.rows = rows,
		.n_old = profile->n_objects,
		.modules = calloc(profile->n_modules + 1, sizeof(*names.modules)),
		.tried = calloc(profile->n_modules + 1, sizeof(*names.tried)),
	};
	uint32_t *row_of_object = malloc(objects->n_items * sizeof(*row_of_object));
	for (size_t i = 0; names.modules && names.tried && row_of_object && i < objects->n_items;
	     i++)
		row_of_object[i] = objects->items[i].is_touched || objects->items[i].n
					   ? save_object(&names, &objects->items[i])
					   : PROFILE_NONE;
	if (names.modules && names.tried && row_of_object)
		save_moved(objects, profile, row_of_object, rows);
	for (size_t i = 0; names.modules && i < profile->n_modules; i++)
		symbol_module_close(names.modules[i]);
	free(names.modules);
	free(names.tried);
	free(row_of_object);
}

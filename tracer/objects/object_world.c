/* Looks at a process from outside: its mappings, and which of them belong to the data of a file. */
#include "tracer/objects/object_world.h"

#include "base/array.h"
#include "base/clock.h"
#include "tracer/process/program_memory.h"

#include <pthread.h>
#include <string.h>

/* Unknown addresses are looked for at most so often, and known ones are taken for what they were
 * for so long. */
#define LOOK_AGAIN_NS 1000000
#define OLD_NS 10000000

/* Where the data of a mapped file lies: all of its segments, with what is zero at first. */
struct image {
	uint64_t low, high, bias;
	uint32_t module;
};

struct object_world {
	pthread_mutex_t lock;
	struct program_memory memory; /* its rows are those of `modules` */
	struct profile *modules;
	struct module_files *files;
	struct image *images;
	size_t n_images, cap_images;
	uint64_t looked_at;
	bool frozen;
};

static void identify(struct object_world *world);

struct object_world *object_world_create(pid_t pid)
{
	struct object_world *world = calloc(1, sizeof(*world));
	if (!world)
		return NULL;
	world->memory.mem_fd = -1;
	world->modules = profile_create();
	world->files = module_files_create();
	pthread_mutex_init(&world->lock, NULL);
	if (world->modules && world->files) {
		program_memory_init_regions(&world->memory, pid, world->files, world->modules);
		identify(world);
		return world;
	}
	object_world_destroy(world);
	return NULL;
}

void object_world_destroy(struct object_world *world)
{
	if (!world)
		return;
	program_memory_deinit(&world->memory);
	module_files_destroy(world->files);
	profile_destroy(world->modules);
	pthread_mutex_destroy(&world->lock);
	free(world->images);
	free(world);
}

/* ---- mapped files ---- */

/* The place of the file's whole image, from the mapping of its code. */
static void add_image(struct object_world *world, const struct memory_region *region)
{
	const struct module_file *file = region->file;
	if (!file || !file->has_file || !file->n_segments)
		return;
	const uint64_t bias = region->start - module_file_vaddr(file, region->file_offset);
	for (size_t i = 0; i < world->n_images; i++)
		if (world->images[i].module == region->module && world->images[i].bias == bias)
			return;
	const struct image new = {file->low + bias, file->high + bias, bias, region->module};
	(void)rf_array_push(world->images, world->n_images, world->cap_images, new);
}

static const struct image *find_image(const struct object_world *world, uint64_t address)
{
	for (size_t i = world->n_images; i-- > 0;) /* the newest */
		if (address >= world->images[i].low && address < world->images[i].high)
			return &world->images[i];
	return NULL;
}

/* ---- looking ---- */

/* What locate() needs of each region of code, while the process can still be seen. */
static void identify(struct object_world *world)
{
	for (size_t i = 0; i < world->memory.n_regions; i++) {
		struct memory_region *region = &world->memory.regions[i];
		uint32_t module;
		uint64_t offset;
		if (!region->executable)
			continue;
		program_memory_locate(&world->memory, region->start, &module, &offset);
		add_image(world, region);
	}
}

static void look(struct object_world *world)
{
	struct program_memory *memory = &world->memory;
	struct program_memory before = *memory;
	if (world->frozen)
		return;
	memory->regions = NULL;
	memory->n_regions = memory->cap_regions = 0;
	program_memory_refresh(memory);
	if (!memory->n_regions) { /* it is gone */
		free(memory->regions);
		memory->regions = before.regions;
		memory->n_regions = before.n_regions;
		memory->cap_regions = before.cap_regions;
		return;
	}
	for (size_t i = 0; i < before.n_regions; i++)
		free(before.regions[i].path);
	free(before.regions);
	identify(world);
}

void object_world_look(struct object_world *world)
{
	if (!world)
		return;
	pthread_mutex_lock(&world->lock);
	look(world);
	pthread_mutex_unlock(&world->lock);
}

void object_world_freeze(struct object_world *world)
{
	if (!world)
		return;
	pthread_mutex_lock(&world->lock);
	world->frozen = true;
	pthread_mutex_unlock(&world->lock);
}

static struct memory_region *find(struct object_world *world, uint64_t address)
{
	struct memory_region *region = program_memory_region(&world->memory, address);
	const uint64_t now = clock_now_ns();
	if (now - world->looked_at < (region ? OLD_NS : LOOK_AGAIN_NS))
		return region;
	look(world);
	world->looked_at = clock_now_ns();
	return program_memory_region(&world->memory, address);
}

/* ---- struct objects_source ---- */

static void locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	struct object_world *world = context;
	pthread_mutex_lock(&world->lock);
	(void)find(world, pc);
	program_memory_locate(&world->memory, pc, module, offset);
	pthread_mutex_unlock(&world->lock);
}

static void describe(struct object_world *world, struct memory_region *region,
		     struct object_region *out)
{
	const struct image *image = find_image(world, region->start);
	*out = (struct object_region){region->start, region->end, OBJECT_MAPPING,
				      PROFILE_NONE,  0,           NULL};
	const bool is_in_file = region->path[0] == '/';
	uint64_t offset;
	if (strncmp(region->path, "[stack", 6) == 0) {
		out->kind = OBJECT_STACK;
	} else if (strcmp(region->path, "[heap]") == 0) {
		out->kind = OBJECT_HEAP;
	} else if (image && (is_in_file || !region->path[0])) {
		out->module = image->module;
		out->bias = image->bias;
		out->kind = region->executable ? OBJECT_CODE : OBJECT_STATIC;
		out->path = world->modules->modules[image->module].path;
		if (out->end > image->high && !is_in_file)
			out->end = (image->high + 4095) & ~4095ull;
	} else if (is_in_file || region->executable) {
		program_memory_locate(&world->memory, region->start, &out->module, &offset);
		out->kind = region->executable ? OBJECT_CODE : OBJECT_MAPPING;
	} else if (region->path[0] == '[') {
		out->kind = OBJECT_OTHER; /* of the kernel */
	}
}

static bool find_region(void *context, uint64_t address, struct object_region *out)
{
	struct object_world *world = context;
	pthread_mutex_lock(&world->lock);
	struct memory_region *region = find(world, address);
	if (region)
		describe(world, region, out);
	pthread_mutex_unlock(&world->lock);
	return region;
}

struct objects_source object_world_source(struct object_world *world)
{
	return (struct objects_source){world, locate, find_region};
}

bool object_world_bias(struct object_world *world, const struct profile *profile, uint32_t module,
		       uint64_t *bias)
{
	const struct profile_module *wanted = &profile->modules[module];
	bool found = false;
	pthread_mutex_lock(&world->lock);
	for (size_t i = world->n_images; i-- > 0 && !found;) {
		const struct profile_module *row =
			&world->modules->modules[world->images[i].module];
		found = strcmp(row->path, wanted->path) == 0 &&
			strcmp(row->build_id, wanted->build_id) == 0;
		*bias = world->images[i].bias;
	}
	pthread_mutex_unlock(&world->lock);
	return found;
}

uint32_t object_world_module(struct object_world *world, uint32_t module, struct profile *profile)
{
	if (module >= world->modules->n_modules)
		return PROFILE_NONE;
	const struct profile_module *row = &world->modules->modules[module];
	return profile_module(profile, row->path, row->build_id);
}

#include "tracer/objects/allocator_calls.h"
#include "tracer/objects/objects_save.h"

#include "tracer/process/allocators.h"

#include "tests/unit/splitmix.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static uint64_t any(uint64_t below)
{
	static uint64_t state;
	return random_number(&state) % below;
}

/* ---- a program that has no files: code is one module, call sites are offsets in it ---- */

#define CODE 0x400000ull
#define HEAP 0x10000000ull
#define STACK 0x7ffff0000000ull
#define LINKER 0x7f0000000000ull

static unsigned n_asked;

static void locate(void *context, uint64_t pc, uint32_t *module, uint64_t *offset)
{
	*module = 0;
	*offset = pc - CODE;
}

static bool region(void *context, uint64_t address, struct object_region *out)
{
	static const struct object_region known[] = {
		{CODE, CODE + 0x10000, OBJECT_CODE, 0, 0, NULL},
		{HEAP, HEAP + 0x1000000, OBJECT_HEAP, PROFILE_NONE, 0, NULL},
		{STACK, STACK + 0x100000, OBJECT_STACK, PROFILE_NONE, 0, NULL},
		{LINKER, LINKER + 0x100000, OBJECT_MAPPING, PROFILE_NONE, 0, NULL},
	};
	n_asked++;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (address >= known[i].start && address < known[i].end) {
			*out = known[i];
			return true;
		}
	return false;
}

static const struct objects_source source = {NULL, locate, region};

static uint32_t function(const char *name)
{
	for (size_t i = 0; i < n_allocators; i++)
		if (strcmp(allocators[i].name, name) == 0)
			return (uint32_t)i;
	cr_assert(false, "%s", name);
	return 0;
}

static struct allocator_calls calls;

static void enter_in(struct objects *objects, uint32_t thread, const char *name, uint64_t sp,
		     uint64_t site, uint64_t a, uint64_t b, uint64_t c)
{
	const struct allocator_call call = {thread, function(name), CODE + site, sp, {a, b, c}};
	calls.objects = objects;
	allocator_calls_enter(&calls, &call);
}

static void enter(struct objects *objects, const char *name, uint64_t sp, uint64_t site, uint64_t a,
		  uint64_t b, uint64_t c)
{
	enter_in(objects, 1, name, STACK + sp, site, a, b, c);
}

static void leave(struct objects *objects, uint64_t sp, uint64_t result)
{
	allocator_calls_leave(&calls, 1, STACK + sp, result);
}

static void assert_heap(struct objects *objects, uint64_t address, uint64_t site)
{
	const struct object *view = objects_at(objects, address);
	cr_assert_eq(view->kind, OBJECT_HEAP, "kind %d", view->kind);
	cr_assert_eq(view->module, 0);
	cr_assert_eq(view->offset, site, "site %#lx", (long)view->offset);
}

/* ---- against one cell for each byte ---- */

#define SIZE 0x20000u
#define SITES 6

struct cell {
	uint32_t site, block;
	bool live;
}; /* site 0: none */
static struct cell cells[SIZE];
static uint32_t n_blocks;
static uint64_t live_of[SITES + 1], most_of[SITES + 1], n_of[SITES + 1];

static void reference_kill(uint64_t at)
{
	const struct cell first = cells[at];
	uint64_t size = 0;
	for (uint64_t i = 0; i < SIZE; i++)
		if (cells[i].site && cells[i].block == first.block) {
			cells[i].live = false;
			size++;
		}
	live_of[first.site] -= size;
}

static void reference_allocated(uint64_t at, uint64_t size, uint32_t site)
{
	for (uint64_t i = at; i < at + size; i++)
		if (cells[i].live)
			reference_kill(i);
	if (at && cells[at].site && cells[at - 1].site && cells[at - 1].block == cells[at].block)
		for (uint64_t i = at - 16; i < at; i++)
			if (cells[i].block == cells[at].block)
				cells[i] = (struct cell){0};
	n_blocks++;
	for (uint64_t i = at; i < at + size; i++)
		cells[i] = (struct cell){site, n_blocks, true};
	n_of[site]++;
	live_of[site] += size;
	if (live_of[site] > most_of[site])
		most_of[site] = live_of[site];
}

static void reference_freed(uint64_t at)
{
	if (cells[at].live && (!at || cells[at - 1].block != cells[at].block))
		reference_kill(at);
}

/* The site whose data an address is: of the live block there, else of the first live one in its
 * line, else of the freed one there, else of the first in its line. */
static uint32_t reference_site(uint64_t at)
{
	if (cells[at].live)
		return cells[at].site;
	for (uint64_t i = at & ~63ull; i < (at | 63) + 1 && i < SIZE; i++)
		if (cells[i].live)
			return cells[i].site;
	if (cells[at].site)
		return cells[at].site;
	for (uint64_t i = at & ~63ull; i < (at | 63) + 1 && i < SIZE; i++)
		if (cells[i].site)
			return cells[i].site;
	return 0;
}

static void assert_same(struct objects *objects, uint64_t at)
{
	const uint32_t site = reference_site(at);
	const struct object *view = objects_at(objects, HEAP + at);
	cr_assert_eq(view->kind, OBJECT_HEAP);
	cr_assert_eq(view->module, site ? 0 : PROFILE_NONE, "byte %#lx", (long)at);
	if (!site)
		return;
	cr_assert_eq(view->offset, site, "byte %#lx", (long)at);
	cr_assert_eq(view->live, live_of[site]);
	cr_assert_eq(view->most, most_of[site]);
	cr_assert_eq(view->n, n_of[site]);
}

Test(objects, agree_with_an_array_of_bytes)
{
	struct objects *objects = objects_create(&source);
	for (int i = 0; i < 4000; i++) {
		const uint64_t at = any(SIZE) & ~15ull, end = at + 1 + any(any(20) ? 300 : 20000);
		const uint32_t site = 1 + (uint32_t)any(SITES);
		if (any(3)) {
			const uint64_t size = (end < SIZE ? end : SIZE) - at;
			objects_allocated(objects, HEAP + at, size, CODE + site);
			reference_allocated(at, size, site);
		} else {
			uint64_t block = at;
			while (any(4) && block &&
			       (!cells[block].live || cells[block - 1].block == cells[block].block))
				block--;
			objects_freed(objects, HEAP + block);
			reference_freed(block);
		}
		for (int check = 0; check < 8; check++)
			assert_same(objects, any(SIZE));
		assert_same(objects, at);
	}
	for (uint64_t at = 0; at < SIZE; at++)
		assert_same(objects, at);
	objects_destroy(objects);
}

/* ---- calls as the cache records them ---- */

Test(objects, the_outermost_call_gives_the_site)
{
	struct objects *objects = objects_create(&source);
	enter(objects, "_Znwm", 0x1000, 0x10, 100, 0, 0); /* new calls malloc */
	enter(objects, "malloc", 0xfe0, 0x20, 100, 0, 0);
	leave(objects, 0xfe0, HEAP + 0x100);
	leave(objects, 0x1000, HEAP + 0x100);
	assert_heap(objects, HEAP + 0x100, 0x10);
	cr_assert_eq(objects_at(objects, HEAP + 0x100)->n, 1);
	cr_assert_eq(objects_at(objects, HEAP + 0x100)->live, 100);

	enter(objects, "strdup", 0x1000, 0x30, 0, 0, 0); /* its size is malloc's */
	enter(objects, "malloc", 0xfe0, 0x40, 6, 0, 0);
	leave(objects, 0xfe0, HEAP + 0x200);
	leave(objects, 0x1000, HEAP + 0x200);
	assert_heap(objects, HEAP + 0x200, 0x30);
	cr_assert_eq(objects_at(objects, HEAP + 0x200)->live, 6);

	enter(objects, "_Znam", 0x1000, 0x50, 48, 0,
	      0); /* new[] jumps to new, which jumps to malloc */
	enter(objects, "_Znwm", 0x1000, 0x50, 48, 0, 0);
	enter(objects, "malloc", 0x1000, 0x50, 48, 0, 0);
	leave(objects, 0x1000, HEAP + 0x300);
	assert_heap(objects, HEAP + 0x300, 0x50);
	cr_assert_eq(objects_at(objects, HEAP + 0x300)->n, 1);

	enter(objects, "strdup", 0x1000, 0x60, 0, 0, 0); /* one that jumps to malloc */
	enter(objects, "malloc", 0x1000, 0x60, 7, 0, 0);
	leave(objects, 0x1000, HEAP + 0x400);
	assert_heap(objects, HEAP + 0x400, 0x60);
	cr_assert_eq(calls.n_unseen, 0);
	objects_destroy(objects);
}

Test(objects, sizes_are_those_of_the_function)
{
	struct objects *objects = objects_create(&source);
	enter(objects, "calloc", 0x1000, 1, 10, 12, 0);
	leave(objects, 0x1000, HEAP);
	cr_assert_eq(objects_at(objects, HEAP)->live, 120);
	enter(objects, "aligned_alloc", 0x1000, 2, 64, 256, 0);
	leave(objects, 0x1000, HEAP + 0x1000);
	cr_assert_eq(objects_at(objects, HEAP + 0x1000)->live, 256);
	enter(objects, "posix_memalign", 0x1000, 3, STACK, 64, 320);
	leave(objects, 0x1000, HEAP + 0x2000); /* as the gate reads it where rdi pointed */
	cr_assert_eq(objects_at(objects, HEAP + 0x2000)->live, 320);
	enter(objects, "malloc", 0x1000, 4, 1000, 0, 0); /* refused */
	leave(objects, 0x1000, 0);
	enter(objects, "malloc", 0x1000, 5, 0, 0, 0); /* has an address of its own all the same */
	leave(objects, 0x1000, HEAP + 0x3000);
	assert_heap(objects, HEAP + 0x3000, 5);
	enter(objects, "free", 0x1000, 6, HEAP, 0, 0);
	cr_assert_eq(objects_at(objects, HEAP)->live, 0);
	assert_heap(objects, HEAP, 1); /* until it is used again */
	enter(objects, "free", 0x1000, 6, 0, 0, 0);
	enter(objects, "_ZdlPv", 0x1000, 6, HEAP + 0x1000, 0, 0);
	enter(objects, "free", 0x1000, 6, HEAP + 0x1000, 0,
	      0); /* delete calls free: once is enough */
	cr_assert_eq(objects_at(objects, HEAP + 0x1000)->live, 0);
	cr_assert_eq(objects_at(objects, HEAP + 0x1000)->most, 256);
	objects_destroy(objects);
}

Test(objects, realloc_moves)
{
	struct objects *objects = objects_create(&source);
	enter(objects, "malloc", 0x1000, 1, 100, 0, 0);
	leave(objects, 0x1000, HEAP);
	enter(objects, "realloc", 0x1000, 2, HEAP, 5000, 0);
	enter(objects, "malloc", 0xf00, 3, 5000, 0, 0);
	leave(objects, 0xf00, HEAP + 0x1000);
	enter_in(objects, 2, "malloc", STACK + 0x80000, 4, 80, 0,
		 0); /* another thread takes what realloc freed */
	allocator_calls_leave(&calls, 2, STACK + 0x80000, HEAP);
	leave(objects, 0x1000, HEAP + 0x1000);
	assert_heap(objects, HEAP, 4);
	cr_assert_eq(objects_at(objects, HEAP)->live, 80);
	assert_heap(objects, HEAP + 0x1000 + 4999, 2);
	enter(objects, "realloc", 0x1000, 5, HEAP + 0x1000, 1ull << 60, 0); /* refused: it stays */
	leave(objects, 0x1000, 0);
	assert_heap(objects, HEAP + 0x1000, 2);
	cr_assert_eq(objects_at(objects, HEAP + 0x1000)->live, 5000);
	enter(objects, "realloc", 0x1000, 5, HEAP + 0x1000, 0, 0); /* frees */
	leave(objects, 0x1000, 0);
	cr_assert_eq(objects_at(objects, HEAP + 0x1000)->live, 0);
	objects_destroy(objects);
}

Test(objects, leaving_otherwise_does_not_confuse_for_good)
{
	struct objects *objects = objects_create(&source);
	enter(objects, "_Znwm", 0x1000, 1, 100, 0, 0); /* throws */
	enter(objects, "malloc", 0x2000, 2, 64, 0, 0); /* further up: new is gone */
	leave(objects, 0x2000, HEAP);
	assert_heap(objects, HEAP, 2);
	cr_assert_eq(calls.n_unseen, 1);
	enter(objects, "_Znwm", 0x1000, 3, 100, 0, 0); /* throws, and all goes on deeper */
	for (int i = 0; i < 100; i++) {
		enter(objects, "malloc", 0x800, 4, 64, 0, 0);
		leave(objects, 0x800, HEAP + 0x1000 + 64 * i);
	}
	assert_heap(objects, HEAP + 0x1000 + 64 * 99, 4);
	leave(objects, 0x5000, HEAP + 0x9000); /* a return that nobody waits for */
	for (int i = 0; i < 1000; i++)         /* without end */
		enter(objects, "malloc", 0x5000 - 16 * (uint64_t)i, 5, 64, 0, 0);
	enter(objects, "malloc", 0x6000, 6, 64, 0, 0);
	leave(objects, 0x6000, HEAP + 0x8000);
	assert_heap(objects, HEAP + 0x8000, 6);
	objects_destroy(objects);
}

Test(objects, mappings_and_stacks)
{
	const uint64_t big = 0x7e0000000000ull;
	struct objects *objects = objects_create(&source);
	enter(objects, "mmap", 0x1000, 1, 0, 1 << 20, 0);
	leave(objects, 0x1000, big);
	cr_assert_eq(objects_at(objects, big + 5000)->kind, OBJECT_MAPPING);
	cr_assert_eq(objects_at(objects, big + 5000)->offset, 1);
	enter(objects, "mmap", 0x1000, 2, 0, 1 << 20, 0);
	leave(objects, 0x1000, (uint64_t)-12);
	enter(objects, "malloc", 0x1000, 3, 1 << 20, 0, 0); /* which maps what it gives */
	enter(objects, "mmap", 0xf00, 4, 0, (1 << 20) + 4096, 0);
	leave(objects, 0xf00, big + 0x400000);
	leave(objects, 0x1000, big + 0x400010);
	assert_heap(objects, big + 0x400010, 3);
	assert_heap(objects, big + 0x400000, 3); /* the allocator's words in the same line */
	cr_assert_str_eq(objects_at(objects, big + 0x500100)->name, "heap outside of blocks");
	enter(objects, "mremap", 0x1000, 9, big, 1 << 20, 2 << 20);
	leave(objects, 0x1000, big + 0x800000);
	cr_assert_eq(objects_at(objects, big + 0x900000)->offset, 1);
	cr_assert_eq(objects_at(objects, big)->kind, OBJECT_OTHER);
	enter(objects, "munmap", 0x1000, 9, big + 0x800000, 4096, 0);
	cr_assert_eq(objects_at(objects, big + 0x800000)->kind, OBJECT_OTHER);
	cr_assert_eq(objects_at(objects, big + 0x801000)->kind, OBJECT_MAPPING);
	objects_stack(objects, big + 0x801000);
	cr_assert_eq(objects_at(objects, big + 0x901000)->kind, OBJECT_STACK);
	cr_assert_eq(objects_at(objects, STACK + 8)->kind, OBJECT_STACK);
	cr_assert_eq(objects_at(objects, LINKER + 8)->kind, OBJECT_MAPPING);
	objects_stack(objects, LINKER + 64);
	cr_assert_eq(objects_at(objects, LINKER + 8)->kind, OBJECT_STACK);
	cr_assert_eq(objects_at(objects, CODE + 8)->kind, OBJECT_CODE);
	objects_destroy(objects);
}

Test(objects, the_system_is_asked_once_for_a_page)
{
	struct objects *objects = objects_create(&source);
	n_asked = 0;
	for (uint64_t i = 0; i < 4096; i++)
		cr_assert_eq(objects_at(objects, 0x1230000 + i)->kind, OBJECT_OTHER);
	for (uint64_t i = 0; i < 4096; i++)
		cr_assert_eq(objects_at(objects, STACK + i * 16)->kind, OBJECT_STACK);
	cr_assert_eq(n_asked, 2);
	objects_destroy(objects);
}

/* ---- forks, traffic, rows ---- */

static void place(void *context, uint32_t who, uint32_t *module, uint64_t *offset)
{
	*module = 0;
	*offset = who / 2; /* two threads */
}

static uint32_t same_module(void *context, uint32_t module)
{
	return module;
}

static double as_they_are(void *context, uint32_t who, bool written)
{
	return 1;
}

static const struct objects_rows rows = {NULL, same_module, place, as_they_are};

static const struct profile_object *row_of(const struct profile *profile, uint64_t site)
{
	for (size_t i = 0; i < profile->n_objects; i++)
		if (profile->objects[i].kind == OBJECT_HEAP && profile->objects[i].offset == site)
			return &profile->objects[i];
	return NULL;
}

Test(objects, traffic_goes_to_the_profile)
{
	struct profile *profile = profile_create();
	cr_assert_eq(profile_module(profile, "/nowhere/app", ""), 0);
	struct objects *objects = objects_create(&source);
	objects_allocated(objects, HEAP, 4096, CODE + 0x12a0);
	objects_note(objects, HEAP + 64, TRAFFIC_MEM_READ, 10);
	objects_note(objects, HEAP + 128, TRAFFIC_MEM_READ, 11);
	objects_note(objects, HEAP + 128, TRAFFIC_MEM_WRITE_ALLOCATE, 12);
	objects_freed(objects, HEAP);
	objects_note(objects, HEAP + 128, TRAFFIC_MEM_WRITE_BACK, 12);
	objects_note(objects, HEAP + 128, TRAFFIC_MEM_EVADABLE, 12);
	objects_note(objects, HEAP + 128, TRAFFIC_L2_READ, 12);
	struct objects *child = objects_create(&source);
	objects_allocated(child, HEAP, 100, CODE + 0x12a0);
	objects_note(child, HEAP + 64, TRAFFIC_MEM_NON_TEMPORAL, 12);
	objects_note(child, HEAP + 0x5000, TRAFFIC_MEM_READ, 12);
	cr_assert_null(objects_save(objects, profile, &rows));
	cr_assert_null(objects_save(child, profile, &rows));
	const struct profile_object *row = row_of(profile, 0x12a0);
	cr_assert(row && row->module == 0 && row->n == 2 && row->bytes == 4096);
	uint64_t read = 0, write_allocate = 0, write = 0;
	for (size_t i = 0; i < profile->n_object_traffic; i++) {
		const struct profile_object_traffic *traffic = &profile->object_traffic[i];
		if (&profile->objects[traffic->object] != row)
			continue;
		cr_assert(traffic->offset == 5 || traffic->offset == 6);
		read += traffic->read;
		write_allocate += traffic->write_allocate;
		write += traffic->write;
	}
	cr_assert(read == 2 && write_allocate == 1 && write == 2);
	cr_assert_eq(profile->objects[profile->object_traffic[profile->n_object_traffic - 1].object]
			     .kind,
		     OBJECT_HEAP); /* between blocks */
	objects_destroy(objects);
	objects_destroy(child);
	profile_destroy(profile);
}

/* ---- variables of this very program ---- */

static double first_array[1000];
int second_array[500] = {1};

static bool own_region(void *context, uint64_t address, struct object_region *out)
{
	const uint64_t *bias = context;
	*out = (struct object_region){.start = address & ~4095ull,
				      .end = (address & ~4095ull) + 4096,
				      .kind = OBJECT_STATIC,
				      .module = 0,
				      .bias = *bias,
				      .path = "/proc/self/exe"};
	return true;
}

extern const char __executable_start[];

Test(objects, variables_have_names)
{
	uint64_t bias = (uint64_t)(uintptr_t)__executable_start;
	if (bias < 0x1000000)
		bias = 0;
	const struct objects_source own = {&bias, locate, own_region};
	struct objects *objects = objects_create(&own);
	for (size_t i = 0; i < 1000; i += 7) {
		const struct object *view =
			objects_at(objects, (uint64_t)(uintptr_t)&first_array[i]);
		cr_assert_eq(view->kind, OBJECT_STATIC);
		cr_assert_str_eq(view->name, "first_array");
		cr_assert_eq(view->most, sizeof(first_array));
	}
	cr_assert_str_eq(objects_at(objects, (uint64_t)(uintptr_t)&second_array[3])->name,
			 "second_array");
	struct profile *profile = profile_create();
	cr_assert_eq(profile_module(profile, "/proc/self/exe", ""), 0);
	for (int i = 0; i < 256; i++) /* fewer lines are not worth the reading of DWARF */
		objects_note(objects, (uint64_t)(uintptr_t)&first_array[i], TRAFFIC_MEM_READ, 0);
	cr_assert_null(objects_save(objects, profile, &rows));
	bool found = false;
	for (size_t i = 0; i < profile->n_objects; i++)
		if (strcmp(profile->objects[i].name, "first_array") == 0) {
			found = true;
			cr_assert(strstr(profile->objects[i].file, "test_objects.c"));
			cr_assert_neq(profile->objects[i].line, 0);
		}
	cr_assert(found);
	profile_destroy(profile);
	objects_destroy(objects);
}

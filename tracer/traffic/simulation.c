/* Takes accesses to lines, and counts what they move: for whom (accounts), whose data it is
 * (objects), how much of it is used (strides), and what a smaller cache would have moved (working
 * sets). */
#include "tracer/traffic/simulation.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>

/* One line in so many is a full one: where classes are a sample, and where all are simulated. */
#define FULL_OF 256
#define FULL_OF_ALL 16
/* Lines that working sets follow: in a sample, where more would take too long with lines that do
 * not come again, and of all lines. */
#define FOLLOWED_LINES (1 << 14)
#define FOLLOWED_OF_ALL (1 << 16)
/* The same to tell conflicts: a share is known to 2 % and to 1 %. */
#define CONFLICT_LINES (1 << 11)
#define CONFLICT_LINES_OF_ALL (1 << 13)
#define OBJECT_BITS 3 /* one in eight lines of added classes tells its object */

/* ---- what crosses borders ---- */

/* Of a line that the access at hand brings in or writes past the caches the place in it is known.
 */
static void note_object(const struct simulation *simulation, enum traffic event, uint32_t who,
			uint64_t line)
{
	const struct space *space = simulation_space(simulation, (uint32_t)(line >> SPACE_SHIFT));
	if (event < TRAFFIC_MEM_READ || !space)
		return;
	const bool is_here = simulation->at_line == line && event != TRAFFIC_MEM_WRITE_BACK;
	const uint64_t start = (line & ((1ull << SPACE_SHIFT) - 1)) * CACHE_LINE;
	objects_note(space->objects, is_here ? simulation->at_address : start, event, who);
}

/* Classes that have been added are those of instructions that the kept ones may know nothing of:
 * some of their lines are enough to tell whose data these move. */
static bool is_of_few(const struct simulation *simulation, uint64_t line)
{
	return simulation->stages.added >> line % CACHE_CLASSES & 1 &&
	       (uint32_t)line * FULL_FACTOR >> (32 - OBJECT_BITS) == 0;
}

static void note_conflict(const struct simulation *simulation, enum traffic event, uint32_t who,
			  uint64_t line)
{
	const struct conflict conflict =
		conflicts_event(simulation->conflicts, simulation->geometry.n_levels, event, who,
				line);
	if (conflict.moved || conflict.conflicts)
		accounts_conflict(simulation->accounts, &conflict, line % CACHE_CLASSES);
}

/* Behind gaps it matters which accesses found caches that were not known. */
static void note_touch(struct simulation *simulation, enum traffic event, uint32_t who,
		       uint64_t line)
{
	const bool comes_in = event == TRAFFIC_L2_READ || event == TRAFFIC_L2_WRITE_ALLOCATE;
	const bool into_l2 = event == TRAFFIC_L3_READ || event == TRAFFIC_L3_WRITE_ALLOCATE;
	const bool from_memory = event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE;
	if (comes_in) {
		simulation->touch = first_touches_note(simulation->first_touches, line);
		simulation->touch_line = line;
		accounts_touch(simulation->accounts, who, &simulation->touch);
	} else if ((into_l2 || from_memory) && line == simulation->touch_line) {
		accounts_crossed(simulation->accounts, who, &simulation->touch,
				 from_memory ? GAP_LAST : GAP_PRIVATE);
	}
}

/* Of the future nothing counts, but lines that it uses are no new ones when they are used then:
 * what larger and smaller caches would have of them is known, and whether they miss for conflicts.
 */
static void note_future(struct simulation *simulation, enum traffic event, uint32_t who,
			uint64_t line)
{
	const int n_levels = simulation->geometry.n_levels;
	const unsigned class = line % CACHE_CLASSES;
	const bool is_write = event == TRAFFIC_MEM_WRITE_BACK;
	if (event >= TRAFFIC_L2_READ_OPEN)
		return;
	if (class_stages_few(&simulation->stages) >> class & 1 && conflicts_hear(n_levels, event) &&
	    !is_write)
		(void)conflicts_event(simulation->conflicts, n_levels, event, who, line);
	if (class_stages_kept(&simulation->stages) >> class & 1)
		working_set_future(simulation->working_set, n_levels, event, line);
}

static void note(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct simulation *simulation = context;
	const unsigned class = line % CACHE_CLASSES;
	if (simulation->looks_ahead) {
		note_future(simulation, event, who, line);
		return;
	}
	if (event >= TRAFFIC_L2_READ_OPEN) {
		accounts_count(simulation->accounts, who, event, line, false);
		return;
	}
	if (class_stages_few(&simulation->stages) >> class & 1 &&
	    conflicts_hear(simulation->geometry.n_levels, event))
		note_conflict(simulation, event, who, line);
	if (event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE)
		strides_fetched(simulation->strides, line, who);
	const bool is_kept = class_stages_kept(&simulation->stages) >> class & 1;
	if (is_kept && simulation->first_touches)
		note_touch(simulation, event, who, line);
	if (is_kept)
		working_set_event(simulation->working_set, simulation->geometry.n_levels, event,
				  who, line);
	if (is_kept || is_of_few(simulation, line))
		note_object(simulation, event, who, line);
	const bool is_full = line_sample_has(&simulation->full, line);
	if (event == TRAFFIC_MEM_EVADABLE && !is_full)
		return; /* what else was written to it is not known */
	accounts_count(simulation->accounts, who, event, line, is_full);
}

/* ---- accesses ---- */

void simulation_run(struct simulation *simulation, struct access_filter *filter)
{
	if (simulation->running && simulation->running != filter)
		access_filter_end(simulation->running);
	simulation->running = filter;
}

void simulation_access_other(struct simulation *simulation, const struct access *access)
{
	assert(!access->later);
	for (unsigned rest = access->kinds; rest; rest &= rest - 1)
		other_caches_access(simulation->other, access->filter->core,
				    (unsigned)(access->line >> SPACE_SHIFT), access->address,
				    access->n, (enum cache_access)__builtin_ctz(rest), access->who);
}

void simulation_page(struct simulation *simulation, uint32_t who, enum tlb_found found)
{
	if (!rf_array_reach((void **)&simulation->walks, &simulation->n_walks, who,
			    sizeof(*simulation->walks))) {
		simulation->walks_lost = true;
		return;
	}
	struct tlb_counts *counts = &simulation->walks[who];
	counts->accesses++;
	counts->near_misses += found != TLB_NEAR;
	counts->walks += found == TLB_WALK;
}

void simulation_gap(struct simulation *simulation, uint64_t window)
{
	if (!simulation->first_touches || window <= simulation->window)
		return; /* another thread has come to it before */
	simulation->window = window;
	first_touches_begin(simulation->first_touches);
}

void simulation_empty(struct simulation *simulation)
{
	if (simulation->running)
		access_filter_end(simulation->running);
	hierarchy_empty(simulation->hierarchy);
	if (simulation->other)
		other_caches_empty(simulation->other);
	working_set_empty(simulation->working_set);
	conflicts_empty(simulation->conflicts);
}

void simulation_look_ahead(struct simulation *simulation)
{
	simulation_empty(simulation);
	if (simulation->other)
		other_caches_look_ahead(simulation->other);
	simulation->looks_ahead = true;
}

void simulation_look_back(struct simulation *simulation)
{
	simulation_run(simulation, NULL);
	hierarchy_finish(simulation->hierarchy);
	if (simulation->other)
		other_caches_look_back(simulation->other);
	simulation->looks_ahead = false;
}

bool simulation_add_classes(struct simulation *simulation)
{
	struct class_stages *stages = &simulation->stages;
	const unsigned sampled = (unsigned)__builtin_popcountll(class_stages_sample(stages));
	const int wanted =
		concentration_wants(simulation->concentration, class_stages_now(stages), sampled);
	if (wanted < 0)
		return false;
	const uint64_t classes =
		geometry_classes(&simulation->geometry, 1ull << wanted, !simulation->by_line);
	return class_stages_add(stages, classes) &&
	       accounts_add_classes(simulation->accounts, classes);
}

/* ---- address spaces ---- */

struct data_place simulation_place(void *context, uint32_t number, uint64_t address)
{
	const struct simulation *simulation = context;
	struct space *space = simulation_space(simulation, number);
	struct data_place place = {.object = PROFILE_NONE};
	if (space)
		place.has_offset =
			objects_place(space->objects, address, &place.object, &place.offset);
	return place;
}

struct rf_error *simulation_add_space(struct simulation *simulation, struct object_world *world,
				      uint32_t *number)
{
	struct space space = {.world = world};
	if (world) {
		struct objects_source source = object_world_source(world);
		source.kept = simulation->kept;
		space.calls.objects = space.objects = objects_create(&source);
	}
	if (!rf_array_push(simulation->spaces, simulation->n_spaces, simulation->cap_spaces,
			   space)) {
		objects_destroy(space.objects);
		object_world_destroy(world);
		return rf_error_no_memory();
	}
	*number = (uint32_t)(simulation->n_spaces - 1) & ((1u << (64 - SPACE_SHIFT)) - 1);
	return NULL;
}

struct space *simulation_space(const struct simulation *simulation, uint32_t number)
{
	return number < simulation->n_spaces && simulation->spaces[number].objects
		       ? &simulation->spaces[number]
		       : NULL;
}

/* ---- the whole ---- */

/* The lines of which more is known than caches need.  They are spread over all classes that are
 * kept in any case, by a hash of their numbers: an instruction that meets every second line only,
 * or one class, has its share of them, and steps over lines do not look like steps from line to
 * line. */
static void choose_full(struct simulation *simulation)
{
	const uint64_t kept = class_stages_kept(&simulation->stages);
	const bool all = kept == UINT64_MAX;
	unsigned one_in =
		all ? FULL_OF_ALL : FULL_OF * (unsigned)__builtin_popcountll(kept) / CACHE_CLASSES;
	simulation->full = (struct line_sample){.classes = kept};
	for (; one_in > 1; one_in /= 2)
		simulation->full.bits = simulation->full.bits >> 1 | 1u << 31;
}

static struct strides *make_strides(const struct simulation *simulation)
{
	const struct geometry *geometry = &simulation->geometry;
	const struct cache_level *last = &geometry->levels[geometry->n_levels - 1];
	const uint64_t n_classes = (uint64_t)__builtin_popcountll(simulation->full.classes);
	const uint64_t lines = last->bytes / CACHE_LINE / CACHE_CLASSES * n_classes;
	return strides_create(&simulation->full, lines / line_sample_one_in(&simulation->full));
}

struct rf_error *simulation_init(struct simulation *simulation, const struct geometry *geometry,
				 const struct traffic_options *options)
{
	*simulation =
		(struct simulation){.geometry = *geometry,
				    .by_line = !options->cache_prefetch,
				    .tlb_pages = {options->tlb_pages[0], options->tlb_pages[1]},
				    .kept = options->kept};
	class_stages_init(&simulation->stages, geometry, options);
	choose_full(simulation);
	const uint64_t first = class_stages_first(&simulation->stages);
	const uint64_t kept = class_stages_kept(&simulation->stages);
	simulation->hierarchy = hierarchy_create(geometry, 1, UINT64_MAX, options->cache_prefetch,
						 note, simulation);
	if (options->other)
		simulation->other = other_caches_create(options->other);
	if (first != UINT64_MAX && simulation->hierarchy)
		hierarchy_tell_open(simulation->hierarchy);
	simulation->accounts = accounts_create(first, kept);
	simulation->strides = make_strides(simulation);
	simulation->store_pairs = store_pairs_create();
	simulation->concentration = concentration_create();
	simulation->sharing = sharing_create(simulation_place, simulation);
	const struct cache_level *last = &geometry->levels[geometry->n_levels - 1];
	simulation->conflicts =
		conflicts_create(last->bytes / CACHE_LINE, kept,
				 kept == UINT64_MAX ? CONFLICT_LINES_OF_ALL : CONFLICT_LINES);
	simulation->working_set =
		working_set_create(kept == UINT64_MAX ? FOLLOWED_OF_ALL : FOLLOWED_LINES,
				   (unsigned)__builtin_popcountll(kept));
	const bool in_windows = options->slowdown > 1 && geometry->n_levels > 1;
	if (in_windows)
		simulation->first_touches = first_touches_create(geometry, kept);
	const bool complete = (!options->other || simulation->other) &&
			      (!in_windows || simulation->first_touches) && simulation->hierarchy &&
			      simulation->accounts && simulation->strides &&
			      simulation->store_pairs && simulation->concentration &&
			      simulation->sharing && simulation->conflicts &&
			      simulation->working_set;
	return complete ? NULL : rf_error_no_memory();
}

void simulation_deinit(struct simulation *simulation)
{
	for (size_t i = 0; i < simulation->n_spaces; i++) {
		free(simulation->spaces[i].rows);
		allocator_calls_deinit(&simulation->spaces[i].calls);
		objects_destroy(simulation->spaces[i].objects);
		object_world_destroy(simulation->spaces[i].world);
	}
	free(simulation->spaces);
	free(simulation->walks);
	hierarchy_destroy(simulation->hierarchy);
	other_caches_destroy(simulation->other);
	accounts_destroy(simulation->accounts);
	strides_destroy(simulation->strides);
	store_pairs_destroy(simulation->store_pairs);
	concentration_destroy(simulation->concentration);
	first_touches_destroy(simulation->first_touches);
	conflicts_destroy(simulation->conflicts);
	sharing_destroy(simulation->sharing);
	working_set_destroy(simulation->working_set);
}

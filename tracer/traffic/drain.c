#include "tracer/traffic/drain.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/u64_map.h"
#include "cache/class_sample.h"
#include "cache/geometry_machine.h"
#include "cache/hierarchy.h"
#include "cache/working_set.h"
#include "tracer/process/allocators.h"
#include "tracer/traffic/access_filter.h"
#include "tracer/traffic/allocation_records.h"
#include "tracer/traffic/group_lines.h"
#include "tracer/traffic/objects.h"
#include "tracer/traffic/strides.h"
#include "tracer/traffic/trace_expand.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#define IDLE_NS 100000       /* between looks when there is nothing to do, at first … */
#define IDLE_MOST_NS 1000000 /* … and after a while */
#define SPACE_SHIFT 51       /* of the address space in a line (cache/hierarchy.h) */
#define WHO_PAGE 256
#define MAX_CORES 1024
#define LEAST_CLASSES 2
#define MAX_STAGES 8
#define LATE_CHUNKS 1024 /* a million records */
#define MANY_CLASSES \
	4 /* with more, the checks alone slow the program down: so many for a while only, … */
#define PATIENCE_NS 4000000000ull /* … which is this divided by their number */
#define FULL_OF 16                /* one class in so many has full lines, … */
#define FULL_BITS 0xc0000000      /* … a quarter of its lines, where classes are a sample */
#define FOLLOWED_LINES                                                                             \
	(1 << 14) /* by the working sets of a sample: more would take too long, with lines that do \
		     not come again … */
#define FOLLOWED_OF_ALL (1 << 16) /* … and of all lines */

/* One of those on whose account lines move: an instruction in a thread. */
struct who {
	uint32_t module, thread;
	uint64_t offset;
	uint32_t first_cell;
};
#define NO_CELL UINT32_MAX

struct drain_source {
	struct trace_ring ring;
	struct trace_config *config;
	uint32_t thread, space, core;
	struct access_filter filter;
	uint32_t **who; /* by an instruction's number: page, then its number plus 1 */
	uint32_t n_pages;
	struct trace_expansion expansion;
	struct group_lines_cache *lines; /* NULL before the first record of several operands */
	struct drain *drain;
	struct allocation_reader allocation;
	uint64_t stack_pointer; /* not yet told; or 0 */
	uint32_t n_chunks;      /* taken */
	bool in_burst;          /* the steps of its accesses are looked at */
	bool repeats;           /* of the record at hand … */
	uint32_t line; /* … this line alone is to be looked at: the low half of its number */
};

/* The events of an instruction, in a thread, in a class. */
struct row {
	struct profile_traffic traffic;
	uint64_t full_allocates; /* write-allocates of full lines: of these it is known which were
				    evadable */
};

/* One address space. */
struct space {
	struct object_world *world;
	struct objects *objects; /* NULL: not asked */
};

struct drain {
	struct profile *profile;
	struct hierarchy *hierarchy;
	struct geometry geometry;
	uint64_t
		stages[MAX_STAGES]; /* the classes that are simulated at first, … and in any case */
	unsigned stage, n_stages;
	uint64_t classes;  /* those of this stage */
	uint64_t kept;     /* those of the last one */
	uint64_t began_ns; /* the first chunk was taken; 0: none yet */
	unsigned n_late;   /* chunks in this stage that were taken when their thread had no other to
			      fill */
	struct line_sample full; /* lines of these of which a thread's accesses are all recorded */
	uint8_t rank[CACHE_CLASSES]; /* of a class among those simulated at first */
	unsigned n_classes;          /* at first */
	bool by_line;         /* records are taken line by line: no line brings another one in */
	pthread_mutex_t lock; /* of all that follows */
	struct drain_source **sources;
	struct drain_source *current; /* whose records were taken last */
	size_t n_sources, cap_sources;
	struct who *whos;
	size_t n_whos, cap_whos;
	struct u64_map places; /* module and offset → number */
	struct u64_map who_of; /* number of a place, thread → who */
	uint32_t n_places;
	struct row *rows; /* for each who and class that had an event together */
	size_t n_rows, cap_rows;
	uint32_t
		*cells; /* for each who that had an event n_classes numbers of rows, plus 1; or 0 */
	size_t n_cells, cap_cells;
	struct space *spaces;
	size_t n_spaces, cap_spaces;
	struct allocator_files *allocators;
	struct strides *strides;
	struct working_set *working_set;
	uint64_t address; /* of the access at hand */
	uint8_t core_used[MAX_CORES];
	uint64_t n_records, n_unknown;
	double spent_s; /* processor time of the thread */
	bool memory_short;
	pthread_t thread;
	bool runs, stop;
};

/* ---- events ---- */

static bool make_cells(struct drain *drain, struct who *who)
{
	const size_t first = drain->n_cells;
	for (unsigned c = 0; c < drain->n_classes; c++)
		if (!rf_array_push(drain->cells, drain->n_cells, drain->cap_cells, 0)) {
			drain->n_cells = first;
			return false;
		}
	who->first_cell = (uint32_t)first;
	return true;
}

/* The row of an instruction and a class; NULL when memory is short. */
static struct row *row_of(struct drain *drain, struct who *who, unsigned rank)
{
	if (who->first_cell == NO_CELL && !make_cells(drain, who))
		return NULL;
	uint32_t *cell = &drain->cells[who->first_cell + rank];
	const struct row row = {{.module = who->module,
				 .offset = who->offset,
				 .thread = who->thread,
				 .class = rank},
				0};
	if (!*cell && rf_array_push(drain->rows, drain->n_rows, drain->cap_rows, row))
		*cell = (uint32_t)drain->n_rows;
	return *cell ? &drain->rows[*cell - 1] : NULL;
}

/* Of a line that the access at hand brings in or writes past the caches, the place in it is known.
 */
static void note_object(struct drain *drain, enum traffic event, uint32_t number, uint64_t line)
{
	const uint64_t space = line >> SPACE_SHIFT;
	const uint64_t address = (line & ((1ull << SPACE_SHIFT) - 1)) * CACHE_LINE;
	if (event < TRAFFIC_MEM_READ || space >= drain->n_spaces || !drain->spaces[space].objects)
		return;
	const bool is_here = drain->address / CACHE_LINE == address / CACHE_LINE &&
			     event != TRAFFIC_MEM_WRITE_BACK;
	objects_note(drain->spaces[space].objects, is_here ? drain->address : address, event,
		     number);
}

static void note(void *context, enum traffic event, uint32_t number, uint64_t line)
{
	struct drain *drain = context;
	if (event == TRAFFIC_MEM_READ || event == TRAFFIC_MEM_WRITE_ALLOCATE)
		strides_fetched(drain->strides, line, number);
	if (drain->kept >> line % CACHE_CLASSES & 1) {
		working_set_event(drain->working_set, drain->geometry.n_levels, event, number,
				  line);
		note_object(drain, event, number, line);
	}
	const bool is_full = line_sample_has(&drain->full, line);
	if (event == TRAFFIC_MEM_EVADABLE && !is_full)
		return; /* what else was written to it is not known */
	struct row *row = row_of(drain, &drain->whos[number], drain->rank[line % CACHE_CLASSES]);
	if (!row) {
		drain->memory_short = true;
		return;
	}
	row->traffic.lines[event]++;
	row->full_allocates += event == TRAFFIC_MEM_WRITE_ALLOCATE && is_full;
}

/* ---- whose it is ---- */

static uint32_t new_who(struct drain *drain, const struct drain_source *source,
			const struct trace_operand *operand)
{
	const uint64_t place = ((uint64_t)operand->module << 48 | operand->offset) + 1;
	const uint32_t *known = u64_map_find(&drain->places, place);
	const uint32_t number = known ? *known : drain->n_places;
	if (!known && u64_map_set(&drain->places, place, number))
		drain->n_places++;
	const uint64_t key = ((uint64_t)number << 24 | (source->thread & 0xffffff)) + 1;
	const uint32_t *who = u64_map_find(&drain->who_of, key);
	if (who)
		return *who;
	const struct who new = {operand->module, source->thread, operand->offset, NO_CELL};
	if (!rf_array_push(drain->whos, drain->n_whos, drain->cap_whos, new))
		return UINT32_MAX;
	(void)u64_map_set(&drain->who_of, key, (uint32_t)drain->n_whos - 1);
	return (uint32_t)drain->n_whos - 1;
}

static bool grow_pages(struct drain_source *source, uint32_t page)
{
	if (page < source->n_pages)
		return true;
	const uint32_t n = page * 2 + 16;
	uint32_t **pages = realloc(source->who, n * sizeof(*pages));
	if (!pages)
		return false;
	memset(pages + source->n_pages, 0, (n - source->n_pages) * sizeof(*pages));
	source->who = pages;
	source->n_pages = n;
	return true;
}

/* The number of an instruction in this thread; UINT32_MAX when memory is short. */
static uint32_t who_of(struct drain *drain, struct drain_source *source,
		       const struct trace_operand *operand)
{
	const uint32_t page = operand->number / WHO_PAGE;
	if (page < source->n_pages && source->who[page] &&
	    source->who[page][operand->number % WHO_PAGE])
		return source->who[page][operand->number % WHO_PAGE] - 1;
	if (!grow_pages(source, page) ||
	    (!source->who[page] && !(source->who[page] = calloc(WHO_PAGE, sizeof(**source->who)))))
		return UINT32_MAX;
	const uint32_t who = new_who(drain, source, operand);
	source->who[page][operand->number % WHO_PAGE] = who + 1;
	return who;
}

/* ---- accesses ---- */

/* The kinds of one operand, loads first. */
static inline void simulate_line(struct drain_source *source, uint64_t line, unsigned first,
				 unsigned n, uint8_t access, uint32_t who)
{
	static const struct {
		uint8_t bit, kind;
	} kinds[] = {
		{OPERAND_LOAD, CACHE_LOAD},
		{OPERAND_STORE, CACHE_STORE},
		{OPERAND_NON_TEMPORAL, CACHE_NON_TEMPORAL},
		{OPERAND_FLUSH, CACHE_FLUSH},
		{OPERAND_CLEAN, CACHE_CLEAN},
		{OPERAND_LINE_ZERO, CACHE_LINE_ZERO},
	};
	const uint64_t tagged = line | (uint64_t)source->space << SPACE_SHIFT;
	if (access == OPERAND_LOAD || access == OPERAND_STORE) { /* nearly all */
		access_filter_access(&source->filter, tagged,
				     access == OPERAND_LOAD ? CACHE_LOAD : CACHE_STORE, first, n,
				     who);
		return;
	}
	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		if (access & kinds[i].bit)
			access_filter_access(&source->filter, tagged, kinds[i].kind, first, n, who);
}

static inline void access_line(struct drain *drain, struct drain_source *source, uint64_t line,
			       unsigned first, unsigned n, uint8_t access, uint32_t who)
{
	simulate_line(source, line, first, n, access, who);
	if (access & (OPERAND_LOAD | OPERAND_STORE))
		strides_touched(drain->strides, line | (uint64_t)source->space << SPACE_SHIFT,
				first, n);
}

#define BURST_FIRST 8 /* chunks of a thread whose steps are looked at: the first, and then … */
#define BURST_OF 16   /* … one in so many */

static void begin_chunk(struct drain_source *source)
{
	const uint32_t n = source->n_chunks++;
	source->in_burst = n < BURST_FIRST || n % BURST_OF == 0;
}

static void note_step(struct drain *drain, const struct drain_source *source, uint64_t address,
		      uint64_t bytes, uint8_t access, uint32_t who)
{
	const uint32_t burst = source->n_chunks <= BURST_FIRST ? 0 : source->n_chunks;
	if (source->in_burst && access & (OPERAND_LOAD | OPERAND_STORE | OPERAND_NON_TEMPORAL))
		strides_note(drain->strides, who, !(access & OPERAND_LOAD), burst, address,
			     (uint32_t)bytes);
}

static void access_bytes(void *context, const struct trace_operand *operand, uint64_t address,
			 uint64_t bytes)
{
	struct drain_source *source = context;
	struct drain *drain = source->drain;
	const uint64_t begin = address;
	uint32_t who = UINT32_MAX;
	while (bytes) {
		const uint64_t line = address / CACHE_LINE;
		const unsigned first = address % CACHE_LINE;
		const unsigned n =
			bytes < CACHE_LINE - first ? (unsigned)bytes : CACHE_LINE - first;
		if (drain->classes >> line % CACHE_CLASSES & 1 && !(line >> SPACE_SHIFT) &&
		    (!source->repeats || (uint32_t)line == source->line)) {
			if (who == UINT32_MAX)
				who = who_of(drain, source, operand);
			drain->address = address;
			if (who == UINT32_MAX)
				drain->memory_short = true;
			else
				access_line(drain, source, line, first, n, operand->access, who);
			if (who != UINT32_MAX && address == begin && !source->repeats)
				note_step(drain, source, address, bytes, operand->access, who);
		}
		address += n;
		bytes -= n;
	}
}

/* The who of a number that a record of the thread had before. */
static inline bool known_who(const struct drain_source *source, uint32_t number, uint32_t *who)
{
	const uint32_t page = number / WHO_PAGE;
	if (page >= source->n_pages || !source->who[page] || !source->who[page][number % WHO_PAGE])
		return false;
	*who = source->who[page][number % WHO_PAGE] - 1;
	return true;
}

/* A record of one operand, as most are, on one line. */
static bool take_simple(struct drain *drain, struct drain_source *source,
			const struct trace_record *record)
{
	const struct trace_group *group =
		trace_config_group(source->config, record->word & ((1u << TRACE_GROUP_BITS) - 1));
	if (!group || group->n != 1 || group->form != OPERAND_PLAIN || trace_record_repeats(record))
		return false;
	const struct trace_operand *operand = &group->operands[0];
	const uint64_t address = record->address + (uint64_t)operand->at,
		       line = address / CACHE_LINE;
	const unsigned first = address % CACHE_LINE;
	uint32_t who;
	if (first + operand->bytes > CACHE_LINE || line >> SPACE_SHIFT ||
	    !known_who(source, operand->number, &who))
		return false;
	drain->address = address;
	if (drain->classes >> line % CACHE_CLASSES & 1) {
		access_line(drain, source, line, first, operand->bytes, operand->access, who);
		note_step(drain, source, address, operand->bytes, operand->access, who);
	}
	return true;
}

/* False, and nothing is done, where one of the instructions has no who yet. */
static bool take_part(struct drain *drain, struct drain_source *source, uint64_t line,
		      const struct line_part *part)
{
	const uint64_t tagged = line | (uint64_t)source->space << SPACE_SHIFT;
	struct filter_rest rest = {.loaded = part->loaded,
				   .stored = part->stored,
				   .loads = part->loads,
				   .stores = part->stores};
	uint32_t who;
	if (!known_who(source, part->who, &who) ||
	    (rest.loads && !known_who(source, part->load_who, &rest.load_who)) ||
	    (rest.stores && !known_who(source, part->store_who, &rest.store_who)))
		return false;
	drain->address = line * CACHE_LINE + part->first;
	access_filter_access(&source->filter, tagged, (enum cache_access)part->kind, part->first,
			     part->n, who);
	if (rest.loads || rest.stores)
		access_filter_rest(&source->filter, tagged, &rest);
	strides_touched_bytes(drain->strides, tagged, part->touched);
	return true;
}

/* Operand by operand, what a record does to one line. */
static void take_line(struct drain_source *source, const struct trace_record *record, uint64_t line)
{
	source->repeats = true;
	source->line = (uint32_t)line;
	(void)trace_expand(source->config, &source->expansion, record, access_bytes, source);
}

static inline uint64_t rotate_right(uint64_t bits, unsigned n)
{
	return bits >> n % 64 | bits << (64 - n) % 64;
}

/* A record of several operands, line by line.  False where each operand has to be looked at. */
static bool take_lines(struct drain *drain, struct drain_source *source,
		       const struct trace_record *record)
{
	const uint32_t number = record->word & ((1u << TRACE_GROUP_BITS) - 1);
	const struct trace_group *group = trace_config_group(source->config, number);
	const uint64_t line = record->address / CACHE_LINE;
	if (!group || source->in_burst || !drain->by_line || !source->filter.on ||
	    trace_record_repeats(record) ||
	    line - FARTHEST_LINE >= (1ull << SPACE_SHIFT) - 2 * FARTHEST_LINE)
		return false;
	if (!source->lines && !(source->lines = calloc(1, sizeof(*source->lines))))
		return false;
	const struct group_lines *lines =
		group_lines_get(source->lines, source->config, number, group, record->address);
	if (!lines->n)
		return false;
	uint64_t todo = lines->lines & rotate_right(drain->classes, line % CACHE_CLASSES);
	for (; todo; todo &= todo - 1) {
		const unsigned k = (unsigned)__builtin_ctzll(todo);
		const uint64_t at = k <= FARTHEST_LINE ? line + k : line + k - CACHE_CLASSES;
		if (!take_part(drain, source, at, &lines->parts[lines->part[k]]))
			take_line(source, record, at);
	}
	return true;
}

static struct objects *objects_of(struct drain *drain, const struct drain_source *source)
{
	return source->space < drain->n_spaces ? drain->spaces[source->space].objects : NULL;
}

static void take_allocation(struct drain *drain, struct drain_source *source,
			    const struct trace_record *record)
{
	struct objects *objects = objects_of(drain, source);
	if (objects)
		allocation_record_take(&source->allocation, objects, source->thread, record);
}

/* Only now what the parent has mapped for it is known. */
static void tell_stack(struct drain *drain, struct drain_source *source)
{
	struct objects *objects = objects_of(drain, source);
	if (objects && source->stack_pointer)
		objects_stack(objects, source->stack_pointer);
	source->stack_pointer = 0;
}

static void take_other(struct drain *drain, struct drain_source *source,
		       const struct trace_record *record)
{
	source->repeats = trace_record_repeats(record);
	source->line = record->extra;
	drain->n_unknown +=
		!trace_expand(source->config, &source->expansion, record, access_bytes, source);
}

static void take_all(struct drain *drain, struct drain_source *source,
		     const struct trace_record *records, size_t n)
{
	size_t i;
	if (drain->current && drain->current != source)
		access_filter_end(&drain->current->filter);
	drain->current = source;
	begin_chunk(source);
	tell_stack(drain, source);
	for (i = 0; i < n && !is_end_of_chunk(&records[i]); i++)
		if (is_allocation_record(&records[i]))
			take_allocation(drain, source, &records[i]);
		else if (!take_simple(drain, source, &records[i]) &&
			 !take_lines(drain, source, &records[i]))
			take_other(drain, source, &records[i]);
	drain->n_records += i;
}

/* ---- rings ---- */

/* Of the chunks that wait the one that was handed over first. */
static struct drain_source *earliest(struct drain *drain)
{
	struct drain_source *found = NULL;
	uint64_t first = UINT64_MAX, stamp;
	for (size_t i = 0; i < drain->n_sources; i++)
		if (trace_ring_pending(&drain->sources[i]->ring, &stamp) &&
		    (!found || stamp < first)) {
			found = drain->sources[i];
			first = stamp;
		}
	return found;
}

/* Threads wait for the drain: it goes on with half of the classes.  What it has counted of the
 * others is left out at the end. */
static void thin(struct drain *drain)
{
	drain->classes = drain->stages[++drain->stage];
	drain->n_late = 0;
	for (size_t i = 0; i < drain->n_sources; i++)
		trace_ring_set_classes(&drain->sources[i]->ring, drain->classes);
}

/* Whether fewer classes must do. */
static bool is_slow(struct drain *drain)
{
	const unsigned n = (unsigned)__builtin_popcountll(drain->classes);
	if (drain->stage + 1 >= drain->n_stages)
		return false;
	if (!drain->began_ns)
		drain->began_ns = clock_now_ns();
	return drain->n_late > LATE_CHUNKS ||
	       (n > MANY_CLASSES && clock_now_ns() - drain->began_ns > PATIENCE_NS / n);
}

static bool take_chunk(struct drain *drain)
{
	struct drain_source *source = earliest(drain);
	size_t n;
	if (!source)
		return false;
	drain->n_late += trace_ring_is_full(&source->ring);
	if (is_slow(drain))
		thin(drain);
	const struct trace_record *records = trace_ring_chunk(&source->ring, &n);
	take_all(drain, source, records, n);
	trace_ring_release(&source->ring);
	return true;
}

static void *run(void *argument)
{
	struct drain *drain = argument;
	long idle = IDLE_NS;
	pthread_mutex_lock(&drain->lock);
	while (!drain->stop) {
		const bool any = take_chunk(drain);
		pthread_mutex_unlock(&drain->lock);
		if (!any)
			nanosleep(&(struct timespec){.tv_nsec = idle}, NULL);
		idle = any ? IDLE_NS : idle * 2 < IDLE_MOST_NS ? idle * 2 : IDLE_MOST_NS;
		pthread_mutex_lock(&drain->lock);
	}
	pthread_mutex_unlock(&drain->lock);
	struct timespec spent;
	if (clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) == 0)
		drain->spent_s = (double)spent.tv_sec + (double)spent.tv_nsec * 1e-9;
	return NULL;
}

/* ---- threads ---- */

/* Threads that run one after another have one core after another; that is what a scheduler does
 * that keeps caches warm. */
static uint32_t take_core(struct drain *drain)
{
	for (uint32_t core = 0; core < MAX_CORES; core++)
		if (!drain->core_used[core]) {
			drain->core_used[core] = 1;
			return core;
		}
	return MAX_CORES - 1;
}

uint32_t drain_new_space(struct drain *drain, struct object_world *world)
{
	struct space space = {.world = world};
	if (world) {
		const struct objects_source source = object_world_source(world);
		space.objects = objects_create(&source);
	}
	pthread_mutex_lock(&drain->lock);
	if (!rf_array_push(drain->spaces, drain->n_spaces, drain->cap_spaces, space)) {
		objects_destroy(space.objects);
		object_world_destroy(world);
		drain->memory_short = true;
	}
	const size_t number = drain->n_spaces - 1;
	pthread_mutex_unlock(&drain->lock);
	return number & ((1u << (64 - SPACE_SHIFT)) - 1);
}

struct allocator_files *drain_allocators(struct drain *drain)
{
	return drain->allocators;
}

void drain_set_stack(struct drain_source *source, uint64_t stack_pointer)
{
	if (source)
		source->stack_pointer = stack_pointer;
}

struct drain_source *drain_add_thread(struct drain *drain, struct trace_config *config,
				      uint8_t *slot, uint64_t slot_address, uint32_t thread,
				      uint32_t space)
{
	struct drain_source *source = calloc(1, sizeof(*source));
	if (source)
		*source = (struct drain_source){
			.drain = drain, .config = config, .thread = thread, .space = space};
	pthread_mutex_lock(&drain->lock);
	if (source) {
		trace_ring_init(&source->ring, slot, slot_address, drain->classes, &drain->full,
				access_filter_lines(&drain->geometry));
		source->core = take_core(drain);
		access_filter_init(&source->filter, drain->hierarchy, source->core,
				   access_filter_suits(&drain->geometry));
	}
	if (!source ||
	    !rf_array_push(drain->sources, drain->n_sources, drain->cap_sources, source)) {
		free(source);
		source = NULL;
	}
	if (source && !drain->runs)
		drain->runs = pthread_create(&drain->thread, NULL, run, drain) == 0;
	pthread_mutex_unlock(&drain->lock);
	return source;
}

static void take_rest(struct drain *drain, struct drain_source *source)
{
	uint64_t stamp;
	size_t n;
	while (trace_ring_pending(&source->ring, &stamp))
		take_chunk(drain);
	const struct trace_record *records = trace_ring_rest(&source->ring, &n);
	take_all(drain, source, records, n);
}

void drain_add_records(struct drain *drain, struct drain_source *source,
		       const struct trace_record *records, size_t n)
{
	pthread_mutex_lock(&drain->lock);
	for (size_t i = 0; i < n; i++)
		if (!trace_ring_add(&source->ring, &records[i])) {
			take_rest(drain, source);
			trace_ring_rewind(&source->ring);
			(void)trace_ring_add(&source->ring, &records[i]);
		}
	pthread_mutex_unlock(&drain->lock);
}

void drain_remove_thread(struct drain *drain, struct drain_source *source)
{
	if (!source)
		return;
	pthread_mutex_lock(&drain->lock);
	take_rest(drain, source);
	access_filter_end(&source->filter);
	drain->current = drain->current == source ? NULL : drain->current;
	drain->core_used[source->core] = 0;
	for (size_t i = 0; i < drain->n_sources; i++)
		if (drain->sources[i] == source)
			drain->sources[i] = drain->sources[--drain->n_sources];
	pthread_mutex_unlock(&drain->lock);
	for (uint32_t i = 0; i < source->n_pages; i++)
		free(source->who[i]);
	free(source->who);
	free(source->lines);
	free(source);
}

/* ---- the whole ---- */

/* A sample of n classes, and its halves down to LEAST_CLASSES, if each of them can do without the
 * others. */
static unsigned choose_halves(const struct geometry *geometry, bool prefetch, unsigned n,
			      uint64_t stages[])
{
	unsigned n_stages = 0;
	for (uint64_t classes = class_sample(n);; classes = class_sample_half(classes, n), n /= 2) {
		if (geometry_classes(geometry, classes, prefetch) != classes)
			return 0;
		stages[n_stages++] = classes;
		if (n <= LEAST_CLASSES)
			return n_stages;
	}
}

/* The classes to begin with, and those to go on with when threads wait.  Returns the number of
 * stages. */
static unsigned choose_stages(const struct geometry *geometry,
			      const struct traffic_options *options, uint64_t stages[MAX_STAGES])
{
	const unsigned sample = options->cache_sample;
	const unsigned n = !sample                  ? TRAFFIC_FEWEST
			   : sample < CACHE_CLASSES ? CACHE_CLASSES / sample
						    : 1;
	const unsigned n_stages =
		sample ? 0 : choose_halves(geometry, options->cache_prefetch, TRAFFIC_MOST, stages);
	if (n_stages)
		return n_stages;
	stages[0] = geometry_classes(geometry, class_sample(n), options->cache_prefetch);
	return 1;
}

static void set_facts(struct drain *drain)
{
	struct profile *profile = drain->profile;
	char *text = geometry_print(&drain->geometry);
	profile_set_fact(profile, "traffic_source", "traced");
	profile_set_fact(profile, "traffic_geometry", "%s", text ? text : "");
	profile_set_fact(profile, "traffic_geometry_source", "%s",
			 geometry_source_name(drain->geometry.source));
	profile_set_fact(profile, "traffic_policy", "%s", drain->geometry.policy);
	free(text);
}

static void set_untraced(struct profile *profile, const char *why)
{
	profile_set_fact(profile, "traffic_source", "none");
	profile_set_fact(profile, "traffic_why", "%s", why);
}

static void make_strides(struct drain *drain)
{
	const struct cache_level *last = &drain->geometry.levels[drain->geometry.n_levels - 1];
	const uint64_t n_classes = (uint64_t)__builtin_popcountll(drain->full.classes);
	drain->strides = strides_create(&drain->full, &drain->full,
					last->bytes / CACHE_LINE / CACHE_CLASSES * n_classes /
						line_sample_one_in(&drain->full));
}

static void set_classes(struct drain *drain)
{
	drain->classes = hierarchy_classes(drain->hierarchy);
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		if (drain->classes >> k & 1)
			drain->rank[k] = (uint8_t)drain->n_classes++;
}

/* The lines of which more is known than caches need, of classes that are kept in any case. */
static void choose_full(struct drain *drain)
{
	unsigned n = 0;
	for (uint64_t rest = drain->kept; rest; rest &= rest - 1)
		if (n++ % FULL_OF == 0)
			drain->full.classes |= rest & -rest;
	drain->full.bits = drain->classes == UINT64_MAX ? 0 : FULL_BITS;
}

struct rf_error *drain_create(const struct traffic_options *options, struct profile *profile,
			      struct drain **out)
{
	const char *why = trace_config_objection();
	struct geometry geometry;
	*out = NULL;
	struct rf_error *error = options->cache ? geometry_given(options->cache, &geometry) : NULL;
	if (error)
		return error;
	if (!options->cache)
		geometry_of_machine(&geometry);
	if (why) {
		set_untraced(profile, why);
		return NULL;
	}
	struct drain *drain = calloc(1, sizeof(*drain));
	if (drain) {
		drain->n_stages = choose_stages(&geometry, options, drain->stages);
		drain->hierarchy = hierarchy_create(&geometry, 1, drain->stages[0],
						    options->cache_prefetch, note, drain);
	}
	if (!drain || !drain->hierarchy) {
		free(drain);
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	}
	drain->profile = profile;
	drain->geometry = geometry;
	drain->by_line = !options->cache_prefetch;
	drain->allocators = allocator_files_create();
	pthread_mutex_init(&drain->lock, NULL);
	set_classes(drain);
	drain->kept = drain->stages[drain->n_stages - 1];
	choose_full(drain);
	make_strides(drain);
	drain->working_set =
		working_set_create(drain->kept == UINT64_MAX ? FOLLOWED_OF_ALL : FOLLOWED_LINES,
				   (unsigned)__builtin_popcountll(drain->kept));
	if (!drain->strides || !drain->working_set || !drain->allocators) {
		drain_destroy(drain);
		return rf_error_create(RF_EINTERNAL, NULL, "out of memory");
	}
	set_facts(drain);
	*out = drain;
	return NULL;
}

uint64_t drain_classes(const struct drain *drain)
{
	return drain->classes;
}

/* How many classes the counts are of; objects are counted in those alone that are kept in any case.
 */
static void set_class_facts(struct drain *drain)
{
	struct profile *profile = drain->profile;
	const unsigned n = (unsigned)__builtin_popcountll(drain->classes);
	profile_set_fact(profile, "traffic_classes", "%u", n);
	profile_set_fact(profile, "object_classes", "%u",
			 (unsigned)__builtin_popcountll(drain->kept));
	if (n < drain->n_classes)
		profile_set_fact(profile, "traffic_halved",
				 "%u/%d of the sets were simulated instead of %u/%d, for more "
				 "would have slowed the "
				 "program down (--cache-sample=%d simulates those all the same)",
				 n, CACHE_CLASSES, drain->n_classes, CACHE_CLASSES,
				 CACHE_CLASSES / (int)drain->n_classes);
}

static bool has_lines(const struct profile_traffic *row)
{
	for (int event = 0; event < N_TRAFFIC; event++)
		if (row->lines[event])
			return true;
	return false;
}

/* The share of evadable ones among the write-allocates of full lines is taken for that of all. */
static void spread_evadable(struct drain *drain, const struct who *who)
{
	uint64_t evadable = 0, full = 0;
	uint32_t *const cells = &drain->cells[who->first_cell];
	for (unsigned c = 0; c < drain->n_classes; c++)
		if (cells[c]) {
			evadable += drain->rows[cells[c] - 1].traffic.lines[TRAFFIC_MEM_EVADABLE];
			full += drain->rows[cells[c] - 1].full_allocates;
		}
	for (unsigned c = 0; c < drain->n_classes && full; c++)
		if (cells[c]) {
			uint64_t *lines = drain->rows[cells[c] - 1].traffic.lines;
			lines[TRAFFIC_MEM_EVADABLE] =
				(uint64_t)((double)lines[TRAFFIC_MEM_WRITE_ALLOCATE] *
						   (double)evadable / (double)full +
					   0.5);
		}
}

/* Their classes get numbers without gaps. */
static void save_rows(struct drain *drain)
{
	struct profile *profile = drain->profile;
	uint32_t number[CACHE_CLASSES], n = 0;
	memset(number, 0xff, sizeof(number));
	for (unsigned k = 0; k < CACHE_CLASSES; k++)
		if (drain->classes >> k & 1)
			number[drain->rank[k]] = n++;
	for (size_t i = 0; i < drain->n_whos; i++)
		if (drain->whos[i].first_cell != NO_CELL)
			spread_evadable(drain, &drain->whos[i]);
	for (size_t i = 0; i < drain->n_rows; i++) {
		struct profile_traffic row = drain->rows[i].traffic;
		row.class = number[row.class];
		if (row.class != UINT32_MAX && has_lines(&row))
			drain->memory_short |= !rf_array_push(profile->traffic, profile->n_traffic,
							      profile->cap_traffic, row);
	}
}

/* ---- objects ---- */

struct space_rows {
	struct drain *drain;
	struct object_world *world;
};

static uint32_t module_row(void *context, uint32_t module)
{
	const struct space_rows *rows = context;
	return object_world_module(rows->world, module, rows->drain->profile);
}

static void instruction(void *context, uint32_t number, uint32_t *module, uint64_t *offset)
{
	const struct space_rows *rows = context;
	*module = rows->drain->whos[number].module;
	*offset = rows->drain->whos[number].offset;
}

static void save_strides(struct drain *drain)
{
	struct space_rows context = {.drain = drain};
	if (drain->strides)
		strides_save(drain->strides, drain->profile, instruction, &context);
}

static void add_working_set(void *context, const struct working_set_row *row)
{
	struct drain *drain = context;
	const struct who *who = &drain->whos[row->who];
	const struct profile_working_set new = {who->module, who->offset, row->capacity, row->reads,
						row->writes};
	drain->memory_short |=
		!rf_array_push(drain->profile->working_sets, drain->profile->n_working_sets,
			       drain->profile->cap_working_sets, new);
}

static void save_objects(struct drain *drain)
{
	uint64_t unseen = 0;
	for (size_t i = 0; i < drain->n_spaces; i++) {
		struct space_rows context = {drain, drain->spaces[i].world};
		const struct objects_rows rows = {&context, module_row, instruction};
		if (!drain->spaces[i].objects)
			continue;
		objects_save(drain->spaces[i].objects, drain->profile, &rows);
		unseen += objects_unseen(drain->spaces[i].objects);
	}
	if (unseen)
		profile_set_fact(drain->profile, "allocations_unseen", "%llu",
				 (unsigned long long)unseen);
}

void drain_finish(struct drain *drain)
{
	if (!drain)
		return;
	pthread_mutex_lock(&drain->lock);
	drain->stop = true;
	pthread_mutex_unlock(&drain->lock);
	if (drain->runs)
		pthread_join(drain->thread, NULL);
	hierarchy_finish(drain->hierarchy);
	set_class_facts(drain);
	save_rows(drain);
	save_objects(drain);
	save_strides(drain);
	working_set_rows(drain->working_set, add_working_set, drain);
	profile_set_fact(drain->profile, "traffic_records", "%llu",
			 (unsigned long long)drain->n_records);
	profile_set_fact(drain->profile, "traffic_simulation_s", "%.3f", drain->spent_s);
	if (drain->n_unknown || drain->memory_short || hierarchy_lost(drain->hierarchy))
		profile_set_fact(drain->profile, "traffic_incomplete",
				 "%llu records of no known instruction, "
				 "%llu accesses not simulated%s",
				 (unsigned long long)drain->n_unknown,
				 (unsigned long long)hierarchy_lost(drain->hierarchy),
				 drain->memory_short ? ", and rfprof was out of memory" : "");
}

void drain_destroy(struct drain *drain)
{
	if (!drain)
		return;
	hierarchy_destroy(drain->hierarchy);
	pthread_mutex_destroy(&drain->lock);
	u64_map_deinit(&drain->places);
	u64_map_deinit(&drain->who_of);
	for (size_t i = 0; i < drain->n_spaces; i++) {
		objects_destroy(drain->spaces[i].objects);
		object_world_destroy(drain->spaces[i].world);
	}
	allocator_files_destroy(drain->allocators);
	strides_destroy(drain->strides);
	working_set_destroy(drain->working_set);
	free(drain->spaces);
	free(drain->sources);
	free(drain->whos);
	free(drain->rows);
	free(drain->cells);
	free(drain);
}

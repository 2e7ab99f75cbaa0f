/* What moved in the simulated caches, summed up by row: lines by class of sets, how addresses
 * follow each other, and working sets.  Lines → bytes of each row and level, with their
 * uncertainty; and the intensities, rates and roofs of these. */
#include "report/model/model_traffic.h"

#include "base/array.h"
#include "base/leb128.h"
#include "base/parallel.h"
#include "base/search.h"
#include "report/model/model_bandwidths.h"
#include "report/model/model_mix.h"
#include "report/model/model_objects.h"
#include "report/model/model_roofs.h"
#include "report/model/model_rows.h"
#include "statistics/student.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BIT(event) (1u << (event))
#define L2_READS (BIT(TRAFFIC_L2_READ) | BIT(TRAFFIC_L2_WRITE_ALLOCATE))
#define L3_READS (BIT(TRAFFIC_L3_READ) | BIT(TRAFFIC_L3_WRITE_ALLOCATE))
#define MEM_READS (BIT(TRAFFIC_MEM_READ) | BIT(TRAFFIC_MEM_WRITE_ALLOCATE))
#define MEM_WRITES (BIT(TRAFFIC_MEM_WRITE_BACK) | BIT(TRAFFIC_MEM_NON_TEMPORAL))

#define MOST_UNKNOWN 0.5  /* of the lines, where the share of conflicts is told */
#define LEAST_PLACES 4000 /* for which a thread is worth while */

/* Hardly more: this share of what a larger cache could spare. */
#define FITS 0.05

const struct model_bytes model_no_bytes;

/* ---- lines ---- */

/* Sums of lines by class of sets, exact. */
struct line_sums {
	uint64_t (*by_class)[N_TRAFFIC];
	size_t n_classes; /* up to the last that has any row; of 64 most profiles have few */
};

static struct rf_error *pack(const struct line_sums *sums, struct packed_lines *packed)
{
	uint8_t bytes[CACHE_CLASSES * N_TRAFFIC * LEB128_MOST], *end = bytes;
	for (size_t k = 0; k < sums->n_classes; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			end = leb128_put(end, sums->by_class[k][e]);
	packed->size = (uint32_t)(end - bytes);
	assert(packed->size > 0 && packed->size <= sizeof(bytes));
	packed->bytes = malloc(packed->size);
	if (!packed->bytes)
		return rf_error_no_memory();
	memcpy(packed->bytes, bytes, packed->size);
	return NULL;
}

/* The lines of the first `n_classes` classes; 0 for those that are not there. */
static void unpack_lines(const struct packed_lines *packed, unsigned n_classes,
			 struct traffic_lines *lines)
{
	size_t at = 0;
	for (unsigned k = 0; k < n_classes; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			lines->by_class[k][e] =
				(double)leb128_get(packed->bytes, packed->size, &at);
}

void model_add_lines(struct traffic_lines *lines, const struct profile_traffic *row)
{
	assert(row->class < CACHE_CLASSES);
	for (int e = 0; e < N_TRAFFIC; e++)
		lines->by_class[row->class][e] += (double)row->lines[e];
}

static struct rf_error *add_to_row(const struct model_rows *rows, const struct profile_traffic *row,
				   struct line_sums *sums)
{
	const size_t at =
		model_row_of_work(rows, model_row_at(rows, row->module, row->offset, NULL),
				  row->thread, row->kernel);
	if (row->class >= CACHE_CLASSES)
		return NULL;
	if (!rf_array_extend((void **)&sums[at].by_class, &sums[at].n_classes, row->class + 1,
			     sizeof(*sums[at].by_class)))
		return rf_error_no_memory();
	for (int e = 0; e < N_TRAFFIC; e++)
		sums[at].by_class[row->class][e] += row->lines[e];
	return NULL;
}

static struct rf_error *sum_lines(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	struct line_sums *sums = calloc(rows->n_places, sizeof(*sums));
	struct rf_error *error = sums ? NULL : rf_error_no_memory();
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while (!error && (row = packed_reader_next(&reader)))
		error = add_to_row(rows, row, sums);
	for (size_t place = 0; sums && place < rows->n_places; place++) {
		if (!error && sums[place].n_classes)
			error = pack(&sums[place], &rows->lines[place]);
		free(sums[place].by_class);
	}
	free(sums);
	return error;
}

/* ---- sums of strides, working sets ---- */

static struct model_traffic *traffic_of(const struct model_rows *rows, size_t row)
{
	if (rows->groups && rows->groups->by_owner) /* it is not known whose it is */
		return NULL;
	return rows->rows[row].traffic;
}

struct model_traffic *model_traffic_at(const struct model_rows *rows, uint32_t module,
				       uint64_t offset)
{
	return traffic_of(rows, model_row_at(rows, module, offset, NULL));
}

static struct rf_error *sum_strides(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	uint64_t *most = calloc(rows->n_places, sizeof(*most));
	if (!most)
		return rf_error_no_memory();
	for (size_t i = 0; i < profile->n_strides; i++) {
		const struct profile_stride *row = &profile->strides[i];
		size_t at = model_row_at(rows, row->module, row->offset, NULL);
		struct model_traffic *traffic = traffic_of(rows, at);
		if (!traffic)
			continue;
		struct model_strides *sum = &traffic->strides;
		sum->unit += (double)row->unit;
		sum->constant += (double)row->constant;
		sum->random += (double)row->random;
		sum->fetched += (double)row->fetched;
		sum->used += (double)row->used;
		if (row->constant > most[at]) {
			most[at] = row->constant;
			sum->step = row->step;
		}
	}
	free(most);
	return NULL;
}

static struct rf_error *sum_capacities(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < profile->n_working_sets; i++) {
		const struct profile_working_set *row = &profile->working_sets[i];
		struct model_traffic *traffic = model_traffic_at(rows, row->module, row->offset);
		const struct profile_sum_working_set capacity = {
			.capacity = row->capacity,
			.reads = (double)row->reads * CACHE_LINE,
			.writes = (double)row->writes * CACHE_LINE};
		if (traffic)
			error = rf_array_add(traffic->capacities, traffic->n_capacities,
					     traffic->cap_capacities, capacity);
	}
	return error;
}

void model_set_traced(const struct profile *profile, struct model *model)
{
	const double classes = profile_number_fact(profile, "traffic_classes", 0);
	const unsigned n = classes >= 1 && classes <= CACHE_CLASSES ? (unsigned)classes : 0;
	model->traced = model->counted && n && profile_fact_is(profile, "traffic_source", "traced");
	model->traced_classes = model->traced ? n : 0;
}

struct creation {
	struct model_rows *rows;
	size_t n_parts;
};

static struct rf_error *create_part(size_t part, void *context)
{
	const struct creation *creation = context;
	struct model_rows *rows = creation->rows;
	const size_t of_part = rows->n_places / creation->n_parts + 1, first = part * of_part;
	for (size_t place = first; place < first + of_part && place < rows->n_places; place++) {
		struct model_function *function = &rows->rows[place];
		if (function->tally.instructions == 0)
			continue;
		function->traffic = calloc(1, sizeof(*function->traffic));
		if (!function->traffic)
			return rf_error_no_memory();
	}
	return NULL;
}

/* By several threads: that of many rows takes a hundred megabytes, which the kernel has to clear.
 */
struct rf_error *model_create_traffic(struct model_rows *rows)
{
	struct creation creation = {rows, parallel_parts(rows->n_places, LEAST_PLACES)};
	return parallel_run(creation.n_parts, create_part, &creation);
}

struct rf_error *model_sum_moved(struct model_rows *rows, const struct model *model)
{
	return sum_lines(rows) ?: model_sum_objects(rows, model->traced_classes)
	       ?: sum_strides(rows) ?: sum_capacities(rows);
}

/* ---- estimates ---- */

static double lines_of_class(const struct traffic_lines *lines, unsigned class, unsigned events)
{
	double sum = 0;
	for (unsigned left = events; left; left &= left - 1)
		sum += lines->by_class[class][__builtin_ctz(left)];
	return sum;
}

/* Those that are open at the borders that these events cross. */
static unsigned open_events(unsigned events)
{
	const unsigned borders[][2] = {{L2_READS, BIT(TRAFFIC_L2_READ_OPEN)},
				       {BIT(TRAFFIC_L2_WRITE_BACK), BIT(TRAFFIC_L2_WRITE_OPEN)},
				       {L3_READS, BIT(TRAFFIC_L3_READ_OPEN)},
				       {BIT(TRAFFIC_L3_WRITE_BACK), BIT(TRAFFIC_L3_WRITE_OPEN)},
				       {MEM_READS, BIT(TRAFFIC_MEM_READ_OPEN)},
				       {MEM_WRITES, BIT(TRAFFIC_MEM_WRITE_OPEN)}};
	unsigned open = 0;
	for (size_t i = 0; i < sizeof(borders) / sizeof(borders[0]); i++)
		if (events & borders[i][0])
			open |= borders[i][1];
	return open;
}

struct model_estimate model_estimate(const struct traffic_lines *lines, unsigned n, unsigned events)
{
	const unsigned open_ones = open_events(events);
	double sum = 0, squares = 0, open = 0;
	for (unsigned k = 0; k < n; k++) {
		sum += lines_of_class(lines, k, events);
		open += lines_of_class(lines, k, open_ones);
	}
	const double mean = sum / n, scale = (double)CACHE_LINE * CACHE_CLASSES;
	struct model_estimate estimate = {.bytes = mean * scale};
	if (n >= CACHE_CLASSES || sum + open == 0)
		return estimate;
	for (unsigned k = 0; k < n; k++)
		squares += pow(lines_of_class(lines, k, events) - mean, 2);
	estimate.stderr_bytes = estimate.halfwidth = NAN;
	if (n < 2)
		return estimate;
	estimate.stderr_bytes =
		scale * sqrt(squares / (n - 1) / n * (1 - (double)n / CACHE_CLASSES));
	estimate.halfwidth = hypot(hypot(rf_student(n - 1) * estimate.stderr_bytes,
					 MODEL_RESOLUTION * estimate.bytes),
				   open / n * scale);
	return estimate;
}

struct model_share model_share(const struct traffic_lines *lines, unsigned n, unsigned part,
			       unsigned whole)
{
	double parts = 0, all = 0, squares = 0;
	for (unsigned k = 0; k < n; k++) {
		parts += lines_of_class(lines, k, part);
		all += lines_of_class(lines, k, whole);
	}
	if (!(all > 0))
		return (struct model_share){NAN, NAN};
	const double share = parts / all, mean = all / n;
	for (unsigned k = 0; k < n; k++)
		squares += pow(lines_of_class(lines, k, part) -
				       share * lines_of_class(lines, k, whole),
			       2);
	const double variance =
		n < 2 ? NAN : squares / (n - 1) / n * (1 - (double)n / CACHE_CLASSES);
	const double halfwidth = n >= CACHE_CLASSES
					 ? 0
					 : hypot(rf_student(n - 1) * sqrt(variance) / mean,
						 MODEL_RESOLUTION * share);
	return (struct model_share){share, isnan(halfwidth) ? NAN : fmin(halfwidth, 1)};
}

struct model_share model_conflicts(const struct traffic_lines *lines, unsigned n)
{
	const unsigned moved = MEM_READS | MEM_WRITES;
	const struct model_share unknown =
		model_share(lines, n, BIT(TRAFFIC_MEM_CONFLICT_UNKNOWN), moved);
	struct model_share share = model_share(lines, n, BIT(TRAFFIC_MEM_CONFLICT), moved);
	if (isnan(share.share) || unknown.share > MOST_UNKNOWN)
		return (struct model_share){NAN, NAN};
	/* of these all, or none, may be conflicts */
	share.share = fmin(share.share / (1 - unknown.share), 1);
	share.halfwidth = fmin(share.halfwidth / (1 - unknown.share) + unknown.share, 1);
	return share;
}

struct model_bytes model_bytes_of(const struct traffic_lines *lines, unsigned n)
{
	struct model_bytes bytes = {
		.l2 = model_estimate(lines, n, L2_READS | BIT(TRAFFIC_L2_WRITE_BACK)),
		.l3 = model_estimate(lines, n, L3_READS | BIT(TRAFFIC_L3_WRITE_BACK)),
		.mem =
			{
				[DIRECTION_BOTH] = model_estimate(lines, n, MEM_READS | MEM_WRITES),
				[DIRECTION_READ] = model_estimate(lines, n, MEM_READS),
				[DIRECTION_WRITE] = model_estimate(lines, n, MEM_WRITES),
			},
	};
	for (unsigned e = 0; e < N_TRAFFIC; e++)
		bytes.events[e] = model_estimate(lines, n, BIT(e));
	return bytes;
}

/* ---- levels ---- */

static struct model_estimate exact(double bytes)
{
	return (struct model_estimate){.bytes = bytes};
}

struct model_level *model_add_level(struct model_traffic *traffic, const char *name)
{
	struct model_level *level = &traffic->levels[traffic->n_levels++];
	*level = (struct model_level){.name = name, .misses = NAN};
	return level;
}

void model_add_registers(struct model_traffic *traffic, const struct tally *tally)
{
	const double loads = (double)tally->load_bytes, stores = (double)tally->store_bytes;
	struct model_level *level = model_add_level(traffic, "L1");
	level->moved[DIRECTION_BOTH] = exact(loads + stores);
	level->moved[DIRECTION_READ] = exact(loads);
	level->moved[DIRECTION_WRITE] = exact(stores);
}

/* The three kinds of events of a cache. */
struct cache_events {
	const char *name;
	enum traffic read, write_allocate, write_back;
};

static void add_cache(struct model_traffic *traffic, const struct traffic_lines *lines, unsigned n,
		      const struct cache_events *events)
{
	struct model_level *level = model_add_level(traffic, events->name);
	const unsigned reads = BIT(events->read) | BIT(events->write_allocate),
		       writes = BIT(events->write_back);
	if (!lines)
		return;
	level->moved[DIRECTION_BOTH] = model_estimate(lines, n, reads | writes);
	level->moved[DIRECTION_READ] = model_estimate(lines, n, reads);
	level->moved[DIRECTION_WRITE] = model_estimate(lines, n, writes);
	level->write_allocate = traffic->bytes.events[events->write_allocate].bytes;
}

/* What is the same for all rows. */
struct traced {
	unsigned n_classes;
	bool has_l2, has_l3;
	bool conflicts; /* are known */
	double cache;   /* bytes of the last one */
};

/* Whether a cache of that name was simulated. */
static bool has_cache(const struct profile *profile, const char *name)
{
	const char *geometry = profile_get_fact(profile, "traffic_geometry");
	const char *at = geometry ? strstr(geometry, name) : name;
	return at && (at == geometry || !geometry || at[-1] == ',' || at[-1] == ' ');
}

/* The share of load and store instructions that missed the first level: of how many is known, of
 * the lines an estimate.  NAN where that leaves half of the scale open, and where the instructions
 * touch more lines than there are instructions (gathers; accesses across two lines): there is no
 * telling how many of them missed. */
static double first_misses(const struct model_estimate *missed, double accesses)
{
	const double lines = missed->bytes / CACHE_LINE, open = missed->halfwidth / CACHE_LINE;
	return accesses > 0 && open <= accesses / 2 && lines - open <= accesses
		       ? fmin(lines / accesses, 1)
		       : NAN;
}

/* Every line that comes from a level was missed in the one above, in the same classes of sets; but
 * for lines that were prefetched, of which nobody knows the share.  A repeated string instruction
 * is one that makes many accesses; their number is not known here. */
static void set_misses(struct model_traffic *traffic, const struct tally *tally)
{
	struct model_level *levels = traffic->levels;
	const bool strings = 2 * (double)tally->string_bytes >
			     (double)tally->load_bytes + (double)tally->store_bytes;
	const double accesses = strings ? 0 : (double)tally->loads + (double)tally->stores;
	levels[0].misses = first_misses(&levels[1].moved[DIRECTION_READ], accesses);
	for (size_t i = 1; i + 1 < traffic->n_levels; i++) {
		const double asked = levels[i].moved[DIRECTION_READ].bytes,
			     missed = levels[i + 1].moved[DIRECTION_READ].bytes;
		levels[i].misses = asked > 0 && missed <= asked ? missed / asked : NAN;
	}
}

/* lines: NULL where none moved, as in most rows; bytes are those of the lines. */
static void fill_levels(const struct traced *traced, const struct traffic_lines *lines,
			const struct tally *tally, struct model_traffic *traffic)
{
	static const struct cache_events l2 = {"L2", TRAFFIC_L2_READ, TRAFFIC_L2_WRITE_ALLOCATE,
					       TRAFFIC_L2_WRITE_BACK},
					 l3 = {"L3", TRAFFIC_L3_READ, TRAFFIC_L3_WRITE_ALLOCATE,
					       TRAFFIC_L3_WRITE_BACK};
	const unsigned n = traced->n_classes;
	traffic->source = MEMORY_TRACED;
	if (lines)
		traffic->bytes = model_bytes_of(lines, n);
	model_add_registers(traffic, tally);
	if (traced->has_l2)
		add_cache(traffic, lines, n, &l2);
	if (traced->has_l3)
		add_cache(traffic, lines, n, &l3);
	struct model_level *level = model_add_level(traffic, "DRAM");
	memcpy(level->moved, traffic->bytes.mem, sizeof(level->moved));
	level->write_allocate = traffic->bytes.events[TRAFFIC_MEM_WRITE_ALLOCATE].bytes;
	set_misses(traffic, tally);
	traffic->conflicts = lines && traced->conflicts ? model_conflicts(lines, n)
							: (struct model_share){NAN, NAN};
}

const struct model_level *model_level(const struct model_traffic *traffic, const char *name)
{
	for (size_t i = 0; i < traffic->n_levels; i++)
		if (strcmp(traffic->levels[i].name, name) == 0)
			return &traffic->levels[i];
	return NULL;
}

/* ---- rates and roofs ---- */

void model_trace_rates(const struct profile *profile, const struct model_choice *choice,
		       struct model_function *function)
{
	struct model_traffic *traffic = function->traffic;
	const double flop = (double)function->tally.flop;
	struct model_lack lack;
	const bool timed =
		function->time_ns > 0; /* for the many that are not, roofs are never looked at */
	const double top = flop > 0 && timed ? model_top(profile, function, &lack).value : 0;
	for (size_t i = 0; i < traffic->n_levels; i++) {
		struct model_level *level = &traffic->levels[i];
		const double bytes = level->moved[choice->direction].bytes;
		level->intensity = isnan(bytes) ? NAN
				   : flop <= 0  ? 0
				   : bytes > 0  ? flop / bytes
						: INFINITY;
		level->rate = function->elapsed_s > 0 ? bytes * 1e-9 / function->elapsed_s : NAN;
		if (!timed)
			continue;
		level->bandwidth = model_rate_at(profile, function, level, choice->direction).value;
		if (level->bandwidth > 0 && top > 0)
			level->roof = fmin(top, level->bandwidth * level->intensity);
	}
}

/* ---- working sets ---- */

static int compare_capacities(const void *a, const void *b)
{
	const struct profile_sum_working_set *x = a, *y = b;
	return rf_compare(x->capacity, y->capacity);
}

/* Equal capacities become one. */
static void merge_capacities(struct model_traffic *traffic)
{
	size_t kept = 0;
	qsort(traffic->capacities, traffic->n_capacities, sizeof(*traffic->capacities),
	      compare_capacities);
	for (size_t i = 0; i < traffic->n_capacities; i++) {
		const struct profile_sum_working_set *next = &traffic->capacities[i];
		if (kept && traffic->capacities[kept - 1].capacity == next->capacity) {
			traffic->capacities[kept - 1].reads += next->reads;
			traffic->capacities[kept - 1].writes += next->writes;
		} else {
			traffic->capacities[kept++] = *next;
		}
	}
	traffic->n_capacities = kept;
}

double model_moves_at(const struct model_traffic *traffic, double capacity)
{
	double sum = 0;
	for (size_t i = 0; i < traffic->n_capacities; i++) {
		const struct profile_sum_working_set *at = &traffic->capacities[i];
		if (at->capacity == 0 || (double)at->capacity > capacity)
			sum += at->reads + at->writes;
	}
	return sum;
}

/* Bytes of the last cache of a geometry such as "L1=48K:12,L2=2M:16"; 0: not known. */
static double last_cache_bytes(const struct profile *profile)
{
	const char *geometry = profile_get_fact(profile, "traffic_geometry");
	const char *equals = geometry ? strrchr(geometry, '=') : NULL;
	char *unit;
	double value = equals ? strtod(equals + 1, &unit) : 0;
	if (!(value > 0))
		return 0;
	const char *const units = "KMG", *found = *unit ? strchr(units, *unit) : NULL;
	return found ? value * pow(1024, (double)(found - units + 1)) : value;
}

/* Where the traffic of now (or, where the data already fit, of a cache that is just large enough)
 * has come down to what no cache can spare. */
static void set_fits(struct model_traffic *traffic, double cache)
{
	if (!traffic->n_capacities)
		return;
	double least = model_moves_at(traffic, INFINITY), now = model_moves_at(traffic, cache);
	const double most = model_moves_at(traffic, 0);
	bool fits = now - least <= FITS * (most - least);
	double sum = least, limit = least + FITS * ((fits ? most : now) - least);
	traffic->moves_now = now;
	for (size_t i = traffic->n_capacities; i-- > 0 && traffic->capacities[i].capacity > 0;) {
		sum += traffic->capacities[i].reads + traffic->capacities[i].writes;
		if (sum <= limit)
			continue;
		traffic->fits_in = (double)traffic->capacities[i].capacity;
		break;
	}
	traffic->moves_then = model_moves_at(traffic, fmax(cache, traffic->fits_in));
}

/* ---- all of it ---- */

static void finish_row(struct model_traffic *traffic, double cache)
{
	model_sort_objects(traffic);
	if (traffic->n_capacities)
		merge_capacities(traffic);
	set_fits(traffic, cache);
}

void model_sum_lines(struct traffic_lines *sum, const struct traffic_lines *part, unsigned n)
{
	for (unsigned k = 0; k < n; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			sum->by_class[k][e] += part->by_class[k][e];
}

/* Functions whose instructions were counted have traffic, be it none. */
struct rf_error *model_trace(struct model_rows *rows, struct model *model)
{
	const unsigned n = model->traced_classes;
	const struct traced traced = {n, has_cache(rows->profile, "L2"),
				      has_cache(rows->profile, "L3"),
				      profile_flag_fact(rows->profile, "traffic_conflicts"),
				      last_cache_bytes(rows->profile)};
	struct traffic_lines *all = calloc(2, sizeof(*all)), *lines = all + 1;
	if (!all)
		return rf_error_no_memory();
	assert(n >= 1 && n <= CACHE_CLASSES);
	for (size_t place = 0; place < rows->n_places; place++) {
		const struct packed_lines *packed = &rows->lines[place];
		struct model_function *function = &rows->rows[place];
		if (packed->bytes) {
			unpack_lines(packed, n, lines);
			model_sum_lines(all, lines, n);
		}
		if (!function->traffic)
			continue;
		fill_levels(&traced, packed->bytes ? lines : NULL, &function->tally,
			    function->traffic);
		finish_row(function->traffic, traced.cache);
	}
	model->bytes = model_bytes_of(all, n);
	free(all);
	return NULL;
}

void model_traffic_destroy(struct model_traffic *traffic)
{
	if (!traffic)
		return;
	free(traffic->objects);
	free(traffic->capacities);
	free(traffic);
}

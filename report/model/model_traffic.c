/* Lines of the simulated classes → bytes of each row and level, with their uncertainty; and the
 * intensities, rates and roofs of these. */
#include "report/model/model_traffic.h"

#include "base/search.h"
#include "report/model/model_bandwidths.h"
#include "report/model/model_moved.h"
#include "report/model/model_roofs.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BIT(event) (1u << (event))
#define L2_READS (BIT(TRAFFIC_L2_READ) | BIT(TRAFFIC_L2_WRITE_ALLOCATE))
#define L3_READS (BIT(TRAFFIC_L3_READ) | BIT(TRAFFIC_L3_WRITE_ALLOCATE))
#define MEM_READS (BIT(TRAFFIC_MEM_READ) | BIT(TRAFFIC_MEM_WRITE_ALLOCATE))
#define MEM_WRITES (BIT(TRAFFIC_MEM_WRITE_BACK) | BIT(TRAFFIC_MEM_NON_TEMPORAL))

/* Hardly more: this share of what a larger cache could spare. */
#define FITS 0.05

/* ---- estimates ---- */

/* Two-sided 95 % quantile of Student's t. */
static double student(unsigned degrees)
{
	static const double table[] = {
		0,     12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
		2.201, 2.179,  2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
	};
	const unsigned last = sizeof(table) / sizeof(*table) - 1;
	/* beyond: 1.96 + 2.4 / degrees is right within 0.3 % */
	return degrees <= last ? table[degrees] : 1.96 + 2.4 / degrees;
}

static double lines_of_class(const struct traffic_lines *lines, unsigned class, unsigned events)
{
	double sum = 0;
	for (unsigned left = events; left; left &= left - 1)
		sum += lines->by_class[class][__builtin_ctz(left)];
	return sum;
}

struct model_estimate model_estimate(const struct traffic_lines *lines, unsigned n, unsigned events)
{
	double sum = 0, squares = 0;
	for (unsigned k = 0; k < n; k++)
		sum += lines_of_class(lines, k, events);
	const double mean = sum / n, scale = (double)CACHE_LINE * CACHE_CLASSES;
	for (unsigned k = 0; k < n; k++)
		squares += pow(lines_of_class(lines, k, events) - mean, 2);
	struct model_estimate estimate = {.bytes = mean * scale};
	if (n >= CACHE_CLASSES || sum == 0)
		return estimate;
	estimate.stderr_bytes = estimate.halfwidth = NAN;
	if (n < 2)
		return estimate;
	estimate.stderr_bytes =
		scale * sqrt(squares / (n - 1) / n * (1 - (double)n / CACHE_CLASSES));
	estimate.halfwidth =
		hypot(student(n - 1) * estimate.stderr_bytes, MODEL_RESOLUTION * estimate.bytes);
	return estimate;
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
	level->moved[DIRECTION_BOTH] = model_estimate(lines, n, reads | writes);
	level->moved[DIRECTION_READ] = model_estimate(lines, n, reads);
	level->moved[DIRECTION_WRITE] = model_estimate(lines, n, writes);
	level->write_allocate = traffic->bytes.events[events->write_allocate].bytes;
}

/* Whether a cache of that name was simulated. */
static bool has_cache(const struct profile *profile, const char *name)
{
	const char *geometry = profile_get_fact(profile, "traffic_geometry");
	const char *at = geometry ? strstr(geometry, name) : name;
	return at && (at == geometry || !geometry || at[-1] == ',' || at[-1] == ' ');
}

static double share(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* Every line that comes from a level was missed in the one above.  A repeated string instruction is
 * one that makes many accesses; their number is not known here. */
static void set_misses(struct model_traffic *traffic, const struct tally *tally)
{
	struct model_level *levels = traffic->levels;
	const bool strings = 2 * (double)tally->string_bytes >
			     (double)tally->load_bytes + (double)tally->store_bytes;
	const double accesses = strings ? 0 : (double)tally->loads + (double)tally->stores;
	levels[0].misses = share(levels[1].moved[DIRECTION_READ].bytes / CACHE_LINE, accesses);
	for (size_t i = 1; i + 1 < traffic->n_levels; i++)
		levels[i].misses = share(levels[i + 1].moved[DIRECTION_READ].bytes,
					 levels[i].moved[DIRECTION_READ].bytes);
}

/* `bytes`: those of the lines. */
static void fill_levels(const struct profile *profile, const struct traffic_lines *lines,
			unsigned n, const struct model_bytes *bytes, const struct tally *tally,
			struct model_traffic *traffic)
{
	static const struct cache_events caches[] = {
		{"L2", TRAFFIC_L2_READ, TRAFFIC_L2_WRITE_ALLOCATE, TRAFFIC_L2_WRITE_BACK},
		{"L3", TRAFFIC_L3_READ, TRAFFIC_L3_WRITE_ALLOCATE, TRAFFIC_L3_WRITE_BACK},
	};
	traffic->source = MEMORY_TRACED;
	traffic->bytes = *bytes;
	model_add_registers(traffic, tally);
	for (size_t i = 0; i < 2; i++)
		if (has_cache(profile, caches[i].name))
			add_cache(traffic, lines, n, &caches[i]);
	struct model_level *level = model_add_level(traffic, "DRAM");
	memcpy(level->moved, traffic->bytes.mem, sizeof(level->moved));
	level->write_allocate = traffic->bytes.events[TRAFFIC_MEM_WRITE_ALLOCATE].bytes;
	set_misses(traffic, tally);
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
	const char *borrowed = NULL;
	const bool timed =
		function->time_ns > 0; /* for the many that are not, roofs are never looked at */
	const double top = flop > 0 && timed ? model_top(profile, function, &borrowed).value : 0;
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

/* ---- objects, strides, working sets ---- */

static int compare_objects(const void *a, const void *b)
{
	const struct profile_sum_object *x = a, *y = b;
	return rf_compare(y->read + y->write, x->read + x->write)
		       ?: rf_compare(x->object, y->object);
}

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
	traffic->moves_then = least;
	for (size_t i = traffic->n_capacities; i-- > 0 && traffic->capacities[i].capacity > 0;) {
		sum += traffic->capacities[i].reads + traffic->capacities[i].writes;
		if (sum <= limit)
			continue;
		traffic->fits_in = (double)traffic->capacities[i].capacity;
		traffic->moves_then =
			sum - traffic->capacities[i].reads - traffic->capacities[i].writes;
		return;
	}
}

/* ---- all of it ---- */

static void finish_row(struct model_traffic *traffic, double cache)
{
	if (traffic->n_objects)
		qsort(traffic->objects, traffic->n_objects, sizeof(*traffic->objects),
		      compare_objects);
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
	static const struct traffic_lines none;
	const unsigned n = model->traced_classes;
	const double cache = last_cache_bytes(rows->profile);
	struct traffic_lines *all = calloc(2, sizeof(*all)), *lines = all + 1;
	if (!all)
		return rf_error_no_memory();
	assert(n >= 1 && n <= CACHE_CLASSES);
	for (size_t place = 0; place < rows->n_places; place++) {
		const struct packed_lines *packed = &rows->lines[place];
		struct model_function *function = &rows->rows[place];
		struct model_bytes bytes = {0};
		if (packed->bytes) {
			model_unpack_lines(packed, n, lines);
			model_sum_lines(all, lines, n);
		}
		if (!function->traffic)
			continue;
		if (packed->bytes)
			bytes = model_bytes_of(lines, n);
		fill_levels(rows->profile, packed->bytes ? lines : &none, n, &bytes,
			    &function->tally, function->traffic);
		finish_row(function->traffic, cache);
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

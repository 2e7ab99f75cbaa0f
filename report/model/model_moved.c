/* What moved in the memory hierarchy, summed up by row: lines by class of sets, data objects, how
 * addresses follow each other, and working sets. */
#include "report/model/model_moved.h"

#include "base/array.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

/* Sums of lines by class of sets, exact. */
struct line_sums {
	uint64_t by_class[CACHE_CLASSES][N_TRAFFIC];
	unsigned n_classes; /* up to the last that has any row */
};

/* Little-endian groups of 7 bits, the last with its top bit clear (DWARF 5, section 7.6). */
static uint8_t *put_number(uint8_t *to, uint64_t value)
{
	for (; value > 0x7f; value >>= 7)
		*to++ = (uint8_t)(value & 0x7f) | 0x80;
	*to++ = (uint8_t)value;
	return to;
}

static uint64_t get_number(const struct packed_lines *packed, size_t *at)
{
	uint64_t value = 0;
	for (unsigned shift = 0; *at < packed->size; shift += 7) {
		const uint8_t byte = packed->bytes[(*at)++];
		value |= shift < 64 ? (uint64_t)(byte & 0x7f) << shift : 0;
		if (!(byte & 0x80))
			break;
	}
	return value;
}

static struct rf_error *pack(const struct line_sums *sums, struct packed_lines *packed)
{
	uint8_t bytes[CACHE_CLASSES * N_TRAFFIC * 10], *end = bytes; /* 64 bits are 10 groups */
	for (unsigned k = 0; k < sums->n_classes; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			end = put_number(end, sums->by_class[k][e]);
	packed->size = (uint32_t)(end - bytes);
	assert(packed->size > 0 && packed->size <= sizeof(bytes));
	packed->bytes = malloc(packed->size);
	if (!packed->bytes)
		return rf_error_no_memory();
	memcpy(packed->bytes, bytes, packed->size);
	return NULL;
}

void model_unpack_lines(const struct packed_lines *packed, unsigned n_classes,
			struct traffic_lines *lines)
{
	size_t at = 0;
	for (unsigned k = 0; k < n_classes; k++)
		for (int e = 0; e < N_TRAFFIC; e++)
			lines->by_class[k][e] = (double)get_number(packed, &at);
}

void model_add_lines(struct traffic_lines *lines, const struct profile_traffic *row)
{
	assert(row->class < CACHE_CLASSES);
	for (int e = 0; e < N_TRAFFIC; e++)
		lines->by_class[row->class][e] += (double)row->lines[e];
}

static struct rf_error *add_to_row(const struct model_rows *rows, const struct profile_traffic *row,
				   struct line_sums **sums)
{
	const size_t at =
		model_row_of_thread(rows, model_row_at(rows, row->module, row->offset, NULL),
				    row->thread);
	if (row->class >= CACHE_CLASSES)
		return NULL;
	if (!sums[at] && !(sums[at] = calloc(1, sizeof(**sums))))
		return rf_error_no_memory();
	if (row->class >= sums[at]->n_classes)
		sums[at]->n_classes = row->class + 1;
	for (int e = 0; e < N_TRAFFIC; e++)
		sums[at]->by_class[row->class][e] += row->lines[e];
	return NULL;
}

static struct rf_error *sum_lines(struct model_rows *rows)
{
	const struct profile *profile = rows->profile;
	struct line_sums **sums = calloc(rows->n_places, sizeof(*sums));
	struct rf_error *error = sums ? NULL : rf_error_no_memory();
	for (size_t i = 0; !error && i < profile->n_traffic; i++)
		error = add_to_row(rows, &profile->traffic[i], sums);
	for (size_t place = 0; sums && place < rows->n_places; place++) {
		if (!error && sums[place])
			error = pack(sums[place], &rows->lines[place]);
		free(sums[place]);
	}
	free(sums);
	return error;
}

/* ---- objects, strides, working sets ---- */

/* NULL where it has none: no instruction of it was counted. */
static struct model_traffic *traffic_of(const struct model_rows *rows, uint32_t module,
					uint64_t offset)
{
	if (rows->groups && rows->groups->by_thread) /* it is not known whose it is */
		return NULL;
	return rows->rows[model_row_at(rows, module, offset, NULL)].traffic;
}

/* Rows of one instruction stand together, so the object is mostly the last one. */
static struct profile_sum_object *object_of(struct model_traffic *traffic, uint32_t object)
{
	for (size_t i = traffic->n_objects; i-- > 0;)
		if (traffic->objects[i].object == object)
			return &traffic->objects[i];
	struct profile_sum_object fresh = {.object = object};
	if (!rf_array_push(traffic->objects, traffic->n_objects, traffic->cap_objects, fresh))
		return NULL;
	return &traffic->objects[traffic->n_objects - 1];
}

static struct rf_error *sum_objects(struct model_rows *rows, unsigned n_classes)
{
	const struct profile *profile = rows->profile;
	const double scale = (double)CACHE_LINE * CACHE_CLASSES / n_classes;
	for (size_t i = 0; i < profile->n_object_traffic; i++) {
		const struct profile_object_traffic *row = &profile->object_traffic[i];
		struct model_traffic *traffic = traffic_of(rows, row->module, row->offset);
		if (!traffic)
			continue;
		struct profile_sum_object *object = object_of(traffic, row->object);
		if (!object)
			return rf_error_no_memory();
		object->read += ((double)row->read + (double)row->write_allocate) * scale;
		object->write += (double)row->write * scale;
	}
	return NULL;
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
		struct model_traffic *traffic = traffic_of(rows, row->module, row->offset);
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
		struct model_traffic *traffic = traffic_of(rows, row->module, row->offset);
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

/* ---- all of it ---- */

/* A number of classes that a fact tells; 0 when it makes no sense. */
static unsigned classes_in(const struct profile *profile, const char *fact)
{
	const double n = profile_number_fact(profile, fact, 0);
	return n >= 1 && n <= CACHE_CLASSES ? (unsigned)n : 0;
}

void model_set_traced(const struct profile *profile, struct model *model)
{
	const unsigned n = classes_in(profile, "traffic_classes");
	model->traced = model->counted && n && profile_fact_is(profile, "traffic_source", "traced");
	model->traced_classes = model->traced ? n : 0;
}

struct rf_error *model_create_traffic(struct model_rows *rows)
{
	for (size_t place = 0; place < rows->n_places; place++) {
		struct model_function *function = &rows->rows[place];
		if (function->tally.instructions == 0)
			continue;
		function->traffic = calloc(1, sizeof(*function->traffic));
		if (!function->traffic)
			return rf_error_no_memory();
	}
	return NULL;
}

struct rf_error *model_sum_moved(struct model_rows *rows, const struct model *model)
{
	const unsigned of_objects = classes_in(rows->profile, "object_classes");
	return sum_lines(rows)
		       ?: sum_objects(rows, of_objects ? of_objects : model->traced_classes)
		       ?: sum_strides(rows) ?: sum_capacities(rows);
}

/* Shares the memory traffic of instructions out among the data objects that it was seen at. */
#include "report/model/model_objects.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "report/model/model_rows.h"

#include <stdlib.h>

/* Lines of an instruction in the sampled classes, of all threads; and those whose object is known.
 */
struct moved {
	double read, write;
	double known_read, known_write;
};

/* All instructions with memory traffic. */
struct instructions {
	struct u64_map index; /* by place */
	struct moved *all;
	size_t n, cap;
};

/* Addresses of programs have 47 bits. */
static uint64_t key_of(uint32_t module, uint64_t offset)
{
	return ((uint64_t)module << 48 ^ offset) + 1;
}

static struct moved *find(const struct instructions *instructions, uint32_t module, uint64_t offset)
{
	const uint32_t *index = u64_map_find(&instructions->index, key_of(module, offset));
	return index ? &instructions->all[*index] : NULL;
}

static struct moved *find_or_add(struct instructions *instructions, uint32_t module,
				 uint64_t offset)
{
	struct moved *known = find(instructions, module, offset);
	if (known ||
	    !u64_map_set(&instructions->index, key_of(module, offset), (uint32_t)instructions->n))
		return known;
	return rf_array_push(instructions->all, instructions->n, instructions->cap,
			     (struct moved){0})
		       ? &instructions->all[instructions->n - 1]
		       : NULL;
}

static struct rf_error *add_traffic(const struct profile *profile,
				    struct instructions *instructions)
{
	struct packed_reader reader = packed_reader_of(&profile->traffic);
	const struct profile_traffic *row;
	while ((row = packed_reader_next(&reader))) {
		const uint64_t *lines = row->lines;
		const double read =
			(double)lines[TRAFFIC_MEM_READ] + (double)lines[TRAFFIC_MEM_WRITE_ALLOCATE];
		const double write = (double)lines[TRAFFIC_MEM_WRITE_BACK] +
				     (double)lines[TRAFFIC_MEM_NON_TEMPORAL];
		if (!(read + write > 0) || row->class >= CACHE_CLASSES)
			continue;
		struct moved *moved = find_or_add(instructions, row->module, row->offset);
		if (!moved)
			return rf_error_no_memory();
		moved->read += read;
		moved->write += write;
	}
	return NULL;
}

static double read_of(const struct profile_object_traffic *row)
{
	return (double)row->read + (double)row->write_allocate;
}

static void add_known(const struct profile *profile, const struct instructions *instructions)
{
	for (size_t i = 0; i < profile->n_object_traffic; i++) {
		const struct profile_object_traffic *row = &profile->object_traffic[i];
		struct moved *moved = find(instructions, row->module, row->offset);
		if (!moved)
			continue;
		moved->known_read += read_of(row);
		moved->known_write += (double)row->write;
	}
}

/* Find-or-add; `index` has what each row has of each object, by both. */
static struct profile_sum_object *object_of(struct u64_map *index, size_t row,
					    struct model_traffic *traffic, uint32_t object)
{
	const uint64_t key = ((uint64_t)row << 32 | object) + 1;
	const uint32_t *known = u64_map_find(index, key);
	if (known)
		return &traffic->objects[*known];
	const struct profile_sum_object fresh = {.object = object};
	if (!u64_map_set(index, key, (uint32_t)traffic->n_objects) ||
	    !rf_array_push(traffic->objects, traffic->n_objects, traffic->cap_objects, fresh))
		return NULL;
	return &traffic->objects[traffic->n_objects - 1];
}

static double part_of(double all, double part, double known)
{
	return known > 0 ? all * (part / known) : 0;
}

static struct rf_error *share_out(struct model_rows *rows, const struct instructions *instructions,
				  struct u64_map *index, double scale)
{
	const struct profile *profile = rows->profile;
	for (size_t i = 0; i < profile->n_object_traffic; i++) {
		const struct profile_object_traffic *row = &profile->object_traffic[i];
		const struct moved *moved = find(instructions, row->module, row->offset);
		struct model_traffic *traffic = model_traffic_at(rows, row->module, row->offset);
		if (!moved || !traffic)
			continue;
		const size_t at = model_row_at(rows, row->module, row->offset, NULL);
		struct profile_sum_object *object = object_of(index, at, traffic, row->object);
		if (!object)
			return rf_error_no_memory();
		object->read += part_of(moved->read, read_of(row), moved->known_read) * scale;
		object->write +=
			part_of(moved->write, (double)row->write, moved->known_write) * scale;
	}
	return NULL;
}

struct rf_error *model_sum_objects(struct model_rows *rows, unsigned n_classes)
{
	const double scale = (double)CACHE_LINE * CACHE_CLASSES / n_classes;
	struct instructions instructions = {0};
	struct u64_map index = {0};
	struct rf_error *error = add_traffic(rows->profile, &instructions);
	if (!error)
		add_known(rows->profile, &instructions);
	error = error ?: share_out(rows, &instructions, &index, scale);
	u64_map_deinit(&index);
	u64_map_deinit(&instructions.index);
	free(instructions.all);
	return error;
}

static int compare_objects(const void *a, const void *b)
{
	const struct profile_sum_object *x = a, *y = b;
	return rf_compare(y->read + y->write, x->read + x->write)
		       ?: rf_compare(x->object, y->object);
}

void model_sort_objects(struct model_traffic *traffic)
{
	if (traffic->n_objects)
		qsort(traffic->objects, traffic->n_objects, sizeof(*traffic->objects),
		      compare_objects);
}

/* The machine as JSON and back; what is read is checked, member by member. */
#include "machine/data/machine_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static json_t *cache_to_json(const struct machine_cache *cache)
{
	return json_pack("{s:i, s:I, s:I, s:i, s:i}", "level", cache->level, "size_bytes",
			 (json_int_t)cache->size_bytes, "line_bytes", (json_int_t)cache->line_bytes,
			 "ways", cache->ways, "shared_by", cache->shared_by);
}

static json_t *history_to_json(const struct roof *roof)
{
	json_t *history = json_array();
	for (int i = 0; i < roof->n_history; i++)
		json_array_append_new(history, json_pack("{s:I, s:f}", "when",
							 (json_int_t)roof->history[i].when_s,
							 "best", roof->history[i].best));
	return history;
}

static json_t *size_to_json(const struct size_point *size)
{
	return json_pack("{s:I, s:f, s:f, s:f, s:f}", "bytes", (json_int_t)size->bytes,
			 "latency_ns", size->latency_ns, "latency_median_ns",
			 size->latency_median_ns, "read_gbs", size->read_gbs, "read_median_gbs",
			 size->read_median_gbs);
}

static json_t *transfer_to_json(const struct line_transfer *transfer)
{
	return json_pack("{s:s, s:f, s:f, s:f, s:f}", "between", line_way_name(transfer->way),
			 "best_ns", transfer->best_ns, "median_ns", transfer->median_ns, "q1_ns",
			 transfer->q1_ns, "q3_ns", transfer->q3_ns);
}

static json_t *times_to_json(const double *ns, size_t n)
{
	json_t *times = json_array();
	for (size_t i = 0; i < n; i++)
		json_array_append_new(times, json_real(ns[i]));
	return times;
}

/* null: not measured. */
static json_t *pages_to_json(const struct page_costs *pages)
{
	return pages->measured
		       ? json_pack("{s:o, s:i, s:i, s:o, s:o, s:o}", "one_set_ns",
				   times_to_json(pages->one_set_ns, 3), "first_pages",
				   (int)pages->first_pages, "last_pages", (int)pages->last_pages,
				   "second_ns", times_to_json(pages->second_ns, 2), "walk_ns",
				   times_to_json(pages->walk_ns, 2), "huge_walk_ns",
				   times_to_json(pages->huge_walk_ns, 2))
		       : json_null();
}

static json_t *roof_to_json(const struct roof *roof)
{
	return json_pack(
		"{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:f, s:f, s:f, s:f, s:o, s:s, s:s, "
		"s:b, s:b, s:i, s:o}",
		"kind", roof_kind_name(roof->kind), "isa", roof_isa_name(roof->isa), "precision",
		roof_precision_name(roof->precision), "op", roof_op_name(roof->op), "level",
		roof_level_name(roof->level), "threads", roof->threads, "cpu_node",
		roof->by_node ? json_integer(roof->cpu_node) : json_null(), "memory_node",
		roof->by_node ? json_integer(roof->memory_node) : json_null(), "best", roof->best,
		"median", roof->median, "q1", roof->q1, "q3", roof->q3, "theory",
		roof->theory > 0 ? json_real(roof->theory) : json_null(), "unit", roof->unit,
		"bytes_convention", roof->bytes_convention, "distinguishable",
		roof->distinguishable, "noisy", roof->noisy, "measured", roof->n_measured,
		"history", history_to_json(roof));
}

/* json_array_append_new() and json_pack() take NULL as a failure and pass it on. */
struct rf_error *machine_to_json(const struct machine *machine, json_t **out)
{
	json_t *caches = json_array(), *counts = json_array(), *roofs = json_array();
	json_t *notes = json_array(), *sizes = json_array(), *transfers = json_array();
	int failed = 0;
	for (size_t i = 0; i < machine->n_counts; i++)
		failed |= json_array_append_new(
			counts, json_pack("{s:i, s:b}", "threads", machine->counts[i].threads,
					  "complete", machine->counts[i].complete));
	for (size_t i = 0; i < machine->n_caches; i++)
		failed |= json_array_append_new(caches, cache_to_json(&machine->caches[i]));
	for (size_t i = 0; i < machine->n_roofs; i++)
		failed |= json_array_append_new(roofs, roof_to_json(&machine->roofs[i]));
	for (size_t i = 0; i < machine->n_sizes; i++)
		failed |= json_array_append_new(sizes, size_to_json(&machine->sizes[i]));
	for (size_t i = 0; i < machine->n_transfers; i++)
		failed |=
			json_array_append_new(transfers, transfer_to_json(&machine->transfers[i]));
	for (size_t i = 0; i < machine->n_notes; i++)
		failed |= json_array_append_new(notes, json_string(machine->notes[i]));
	json_t *json =
		json_pack("{s:s, s:s?, s:i, s:f, s:f, s:o, s:o, s:o, s:o, s:b, s:o, s:o, s:o}",
			  "cpu_model", machine->cpu_model, "microarchitecture",
			  machine->microarchitecture, "usable_threads", machine->usable_threads,
			  "clock_ghz", machine->clock_ghz, "clock_fp_ghz", machine->clock_fp_ghz,
			  "counts", counts, "caches", caches, "roofs", roofs, "sizes", sizes,
			  "sizes_in_small_pages", machine->sizes_in_small_pages, "line_transfers",
			  transfers, "pages", pages_to_json(&machine->pages), "notes", notes);
	if (failed || !json) {
		json_decref(json);
		return rf_error_no_memory();
	}
	*out = json;
	return NULL;
}

static struct rf_error *format_error(const char *what, const char *why)
{
	return rf_error_create(RF_EFORMAT, NULL, "%s: %s", what, why);
}

static bool is_rate(double value)
{
	return isfinite(value) && value > 0;
}

/* Reads one element of an array into an item of it; those before are read. */
typedef struct rf_error *read_function(json_t *json, void *item);

/* Files of older versions have no history. */
static struct rf_error *read_history(json_t *json, struct roof *roof)
{
	json_t *history = json_object_get(json, "history");
	roof->n_measured = (int)json_integer_value(json_object_get(json, "measured"));
	if (json_array_size(history) > ROOF_HISTORY ||
	    roof->n_measured < (int)json_array_size(history))
		return format_error("history", "more measurements than there can be");
	for (size_t i = 0; i < json_array_size(history); i++) {
		struct roof_visit *visit = &roof->history[roof->n_history++];
		json_int_t when;
		json_error_t cause;
		if (json_unpack_ex(json_array_get(history, i), &cause, 0, "{s:I, s:F}", "when",
				   &when, "best", &visit->best))
			return format_error("history", cause.text);
		visit->when_s = when;
		if (!is_rate(visit->best) || when < 0)
			return format_error("history", "a rate or a time is not positive");
	}
	return NULL;
}

static struct rf_error *read_size(json_t *json, void *item)
{
	struct size_point *size = item;
	json_int_t bytes;
	json_error_t cause;
	if (json_unpack_ex(json, &cause, 0, "{s:I, s:F, s:F, s:F, s:F}", "bytes", &bytes,
			   "latency_ns", &size->latency_ns, "latency_median_ns",
			   &size->latency_median_ns, "read_gbs", &size->read_gbs, "read_median_gbs",
			   &size->read_median_gbs))
		return format_error("sizes", cause.text);
	size->bytes = bytes;
	if (bytes <= 0 || !is_rate(size->latency_ns) || !is_rate(size->latency_median_ns) ||
	    !is_rate(size->read_gbs) || !is_rate(size->read_median_gbs))
		return format_error("sizes", "a size or a rate is not positive");
	return NULL;
}

static struct rf_error *read_transfer(json_t *json, void *item)
{
	struct line_transfer *transfer = item;
	const char *way;
	json_error_t cause;
	if (json_unpack_ex(json, &cause, 0, "{s:s, s:F, s:F, s:F, s:F}", "between", &way, "best_ns",
			   &transfer->best_ns, "median_ns", &transfer->median_ns, "q1_ns",
			   &transfer->q1_ns, "q3_ns", &transfer->q3_ns))
		return format_error("line_transfers", cause.text);
	transfer->way = line_way_find(way);
	if (transfer->way == LINE_WAYS || !is_rate(transfer->best_ns) ||
	    !is_rate(transfer->median_ns) || !is_rate(transfer->q1_ns) || !is_rate(transfer->q3_ns))
		return format_error("line_transfers", "an unknown way, or a time is not positive");
	return NULL;
}

static bool read_times(const json_t *json, double *ns, size_t n)
{
	bool valid = json_array_size(json) == n;
	for (size_t i = 0; i < n && valid; i++) {
		ns[i] = json_number_value(json_array_get(json, i));
		valid = json_is_number(json_array_get(json, i)) && isfinite(ns[i]) && ns[i] >= 0;
	}
	return valid;
}

/* Older files have none. */
static struct rf_error *read_pages(const json_t *json, struct page_costs *pages)
{
	const json_int_t first = json_integer_value(json_object_get(json, "first_pages")),
			 last = json_integer_value(json_object_get(json, "last_pages"));
	if (!json || json_is_null(json))
		return NULL;
	if (first < 0 || first > UINT32_MAX || last < first || last > UINT32_MAX ||
	    !read_times(json_object_get(json, "one_set_ns"), pages->one_set_ns, 3) ||
	    !read_times(json_object_get(json, "second_ns"), pages->second_ns, 2) ||
	    !read_times(json_object_get(json, "walk_ns"), pages->walk_ns, 2) ||
	    !read_times(json_object_get(json, "huge_walk_ns"), pages->huge_walk_ns, 2))
		return format_error("pages", "a time or a number of pages is negative or missing");
	pages->first_pages = (uint32_t)first;
	pages->last_pages = (uint32_t)last;
	pages->measured = true;
	return NULL;
}

static struct rf_error *read_roof(json_t *json, void *item)
{
	const char *kind, *isa, *precision, *op, *level, *unit, *convention;
	struct roof *roof = item;
	json_t *cpu_node, *memory_node, *theory;
	int distinguishable, noisy;
	json_error_t cause;
	if (json_unpack_ex(json, &cause, 0,
			   "{s:s, s:s, s:s, s:s, s:s, s:i, s:o, s:o, s:F, s:F, s:F, s:F, s:o, s:s, "
			   "s:s, s:b, s:b}",
			   "kind", &kind, "isa", &isa, "precision", &precision, "op", &op, "level",
			   &level, "threads", &roof->threads, "cpu_node", &cpu_node, "memory_node",
			   &memory_node, "best", &roof->best, "median", &roof->median, "q1",
			   &roof->q1, "q3", &roof->q3, "theory", &theory, "unit", &unit,
			   "bytes_convention", &convention, "distinguishable", &distinguishable,
			   "noisy", &noisy))
		return format_error("roof", cause.text);
	roof->kind = roof_kind_find(kind);
	if (roof->kind == ROOF_KINDS)
		return format_error("roof of unknown kind", kind);
	if (!is_rate(roof->best) || !is_rate(roof->median) || !is_rate(roof->q1) ||
	    !is_rate(roof->q3) || roof->threads < 1)
		return format_error("roof", "a rate or the thread count is not positive");
	roof->distinguishable = distinguishable;
	roof->noisy = noisy;
	roof->theory = json_number_value(theory);
	roof->by_node = json_is_integer(cpu_node) && json_is_integer(memory_node);
	roof->cpu_node = (int)json_integer_value(cpu_node);
	roof->memory_node = (int)json_integer_value(memory_node);
	roof->isa = roof_isa_find(isa);
	roof->precision = roof_precision_find(precision);
	roof->op = roof_op_find(op);
	roof->level = roof_level_find(level);
	if (strlen(isa) >= ROOF_WORD_BYTES || strlen(precision) >= ROOF_WORD_BYTES ||
	    strlen(op) >= ROOF_WORD_BYTES || strlen(level) >= ROOF_WORD_BYTES ||
	    strlen(unit) >= sizeof(roof->unit) ||
	    strlen(convention) >= sizeof(roof->bytes_convention))
		return format_error("roof", "a text is too long");
	strcpy(roof->unit, unit);
	strcpy(roof->bytes_convention, convention);
	return read_history(json, roof);
}

static struct rf_error *read_count(json_t *json, void *item)
{
	struct machine_count *count = item;
	int complete;
	json_error_t cause;
	if (json_unpack_ex(json, &cause, 0, "{s:i, s:b}", "threads", &count->threads, "complete",
			   &complete))
		return format_error("counts", cause.text);
	count->complete = complete;
	return NULL;
}

static struct rf_error *read_cache(json_t *json, void *item)
{
	struct machine_cache *cache = item;
	json_int_t size, line;
	json_error_t cause;
	if (json_unpack_ex(json, &cause, 0, "{s:i, s:I, s:I, s:i, s:i}", "level", &cache->level,
			   "size_bytes", &size, "line_bytes", &line, "ways", &cache->ways,
			   "shared_by", &cache->shared_by))
		return format_error("cache", cause.text);
	cache->size_bytes = size;
	cache->line_bytes = line;
	return NULL;
}

static struct rf_error *read_note(json_t *json, void *item)
{
	const char *note = json_string_value(json);
	if (!note)
		return format_error("notes", "not all are text");
	*(char **)item = strdup(note);
	return *(char **)item ? NULL : rf_error_no_memory();
}

/* Reads an array into `items`, zero-filled and with room for all; *n counts those that are read. */
static struct rf_error *read_items(json_t *json, read_function *read, void *items, size_t size,
				   size_t *n)
{
	struct rf_error *error = items ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < json_array_size(json) && !error; i++) {
		error = read(json_array_get(json, i), (char *)items + i * size);
		*n += !error;
	}
	return error;
}

/* The same into a member of *machine, whose number is n_MEMBER. */
#define READ(read, json, machine, member)                                     \
	read_items(json, read, (machine)->member, sizeof(*(machine)->member), \
		   &(machine)->n_##member)
#define READ_NEW(read, json, machine, member)                                               \
	((machine)->member = calloc(json_array_size(json) + 1, sizeof(*(machine)->member)), \
	 READ(read, json, machine, member))

static struct rf_error *check_arrays(json_t *caches, json_t *roofs, const struct machine *machine)
{
	const size_t most = sizeof(machine->caches) / sizeof(machine->caches[0]);
	for (size_t i = 0; i < machine->n_counts; i++)
		if (machine->counts[i].threads <= (i ? machine->counts[i - 1].threads : 0))
			return format_error("counts", "the thread counts do not ascend");
	if (!json_is_array(caches) || json_array_size(caches) > most)
		return format_error("caches", "not an array of at most 8");
	return json_array_size(roofs) ? NULL : format_error("roofs", "there are none");
}

static struct rf_error *read_transfers(json_t *json, struct machine *machine)
{
	if (json_array_size(json) > LINE_WAYS)
		return format_error("line_transfers", "more than there are ways");
	return READ(read_transfer, json, machine, transfers);
}

static struct rf_error *check_sizes(const struct machine *machine)
{
	for (size_t i = 1; i < machine->n_sizes; i++)
		if (machine->sizes[i].bytes <= machine->sizes[i - 1].bytes)
			return format_error("sizes", "they do not ascend");
	return NULL;
}

struct rf_error *machine_from_json(json_t *json, struct machine *out)
{
	struct machine machine = {0};
	const char *cpu_model;
	const char *microarchitecture =
		json_string_value(json_object_get(json, "microarchitecture"));
	json_t *caches, *counts, *roofs, *notes, *sizes = json_object_get(json, "sizes");
	json_error_t cause;
	if (json_unpack_ex(json, &cause, 0, "{s:s, s:i, s:F, s:F, s:o, s:o, s:o, s:o}", "cpu_model",
			   &cpu_model, "usable_threads", &machine.usable_threads, "clock_ghz",
			   &machine.clock_ghz, "clock_fp_ghz", &machine.clock_fp_ghz, "counts",
			   &counts, "caches", &caches, "roofs", &roofs, "notes", &notes))
		return format_error("machine", cause.text);
	if (!is_rate(machine.clock_ghz) || machine.usable_threads < 1)
		return format_error("machine", "the clock or the thread count is not positive");
	machine.cpu_model = strdup(cpu_model);
	machine.microarchitecture = microarchitecture ? strdup(microarchitecture) : NULL;
	struct rf_error *error =
		machine.cpu_model && (machine.microarchitecture || !microarchitecture)
			? NULL
			: rf_error_no_memory();
	if (!error)
		error = READ_NEW(read_count, counts, &machine, counts);
	if (!error)
		error = check_arrays(caches, roofs, &machine);
	if (!error)
		error = READ(read_cache, caches, &machine, caches);
	if (!error)
		error = READ_NEW(read_roof, roofs, &machine, roofs);
	if (!error)
		error = READ_NEW(read_size, sizes, &machine, sizes);
	if (!error)
		error = check_sizes(&machine);
	if (!error)
		error = read_transfers(json_object_get(json, "line_transfers"), &machine);
	if (!error)
		error = read_pages(json_object_get(json, "pages"), &machine.pages);
	machine.sizes_in_small_pages = json_is_true(json_object_get(json, "sizes_in_small_pages"));
	if (!error)
		error = READ_NEW(read_note, notes, &machine, notes);
	if (error) {
		machine_deinit(&machine);
		return error;
	}
	*out = machine;
	return NULL;
}

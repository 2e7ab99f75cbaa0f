/* The members in the order of machine_json.c. */
#include "machine/data/machine_scan.h"

#include "base/array.h"
#include "machine/data/machine_json.h"

/* Of members with a name. */
static int named_int(struct json_scan *scan, const char *name)
{
	json_scan_name(scan, name);
	return json_scan_int(scan);
}

static double named_number(struct json_scan *scan, const char *name)
{
	json_scan_name(scan, name);
	return json_scan_number(scan);
}

static bool named_bool(struct json_scan *scan, const char *name)
{
	json_scan_name(scan, name);
	return json_scan_bool(scan);
}

static const char *named_text(struct json_scan *scan, const char *name, char *to, size_t size)
{
	json_scan_name(scan, name);
	return json_scan_text(scan, to, size);
}

static uint64_t named_size(struct json_scan *scan, const char *name)
{
	json_scan_name(scan, name);
	return (uint64_t)json_scan_whole(scan);
}

/* A node's number, or null. */
static int named_node(struct json_scan *scan, const char *name, bool *by_node)
{
	json_scan_name(scan, name);
	const bool none = json_scan_null(scan);
	*by_node &= !none;
	return none ? 0 : json_scan_int(scan);
}

/* ---- elements of arrays ---- */

static struct machine_count scan_count(struct json_scan *scan)
{
	struct machine_count count;
	json_scan_open(scan, '{');
	count.threads = named_int(scan, "threads");
	count.complete = named_bool(scan, "complete");
	json_scan_close(scan);
	return count;
}

static struct machine_cache scan_cache(struct json_scan *scan)
{
	struct machine_cache cache;
	json_scan_open(scan, '{');
	cache.level = named_int(scan, "level");
	cache.size_bytes = named_size(scan, "size_bytes");
	cache.line_bytes = named_size(scan, "line_bytes");
	cache.ways = named_int(scan, "ways");
	cache.shared_by = named_int(scan, "shared_by");
	json_scan_close(scan);
	return cache;
}

static void scan_history(struct json_scan *scan, struct roof *roof)
{
	json_scan_name(scan, "history");
	json_scan_open(scan, '[');
	while (json_scan_next(scan)) {
		if (roof->n_history == ROOF_HISTORY) {
			scan->differs = true;
			return;
		}
		struct roof_visit *visit = &roof->history[roof->n_history++];
		json_scan_open(scan, '{');
		json_scan_name(scan, "when");
		visit->when_s = json_scan_whole(scan);
		visit->best = named_number(scan, "best");
		json_scan_close(scan);
	}
}

static struct roof scan_roof(struct json_scan *scan)
{
	struct roof roof = {.by_node = true};
	char word[ROOF_WORD_BYTES];
	json_scan_open(scan, '{');
	roof.kind = roof_kind_find(named_text(scan, "kind", word, sizeof(word)));
	scan->differs |= roof.kind == ROOF_KINDS;
	roof.isa = roof_isa_find(named_text(scan, "isa", word, sizeof(word)));
	roof.precision = roof_precision_find(named_text(scan, "precision", word, sizeof(word)));
	roof.op = roof_op_find(named_text(scan, "op", word, sizeof(word)));
	roof.level = roof_level_find(named_text(scan, "level", word, sizeof(word)));
	roof.threads = named_int(scan, "threads");
	roof.cpu_node = named_node(scan, "cpu_node", &roof.by_node);
	roof.memory_node = named_node(scan, "memory_node", &roof.by_node);
	roof.best = named_number(scan, "best");
	roof.median = named_number(scan, "median");
	roof.q1 = named_number(scan, "q1");
	roof.q3 = named_number(scan, "q3");
	json_scan_name(scan, "theory");
	roof.theory = json_scan_null(scan) ? 0 : json_scan_number(scan);
	named_text(scan, "unit", roof.unit, sizeof(roof.unit));
	named_text(scan, "bytes_convention", roof.bytes_convention, sizeof(roof.bytes_convention));
	roof.distinguishable = named_bool(scan, "distinguishable");
	roof.noisy = named_bool(scan, "noisy");
	roof.n_measured = named_int(scan, "measured");
	scan_history(scan, &roof);
	json_scan_close(scan);
	return roof;
}

static struct size_point scan_size(struct json_scan *scan)
{
	struct size_point size;
	json_scan_open(scan, '{');
	json_scan_name(scan, "bytes");
	const int64_t bytes = json_scan_whole(scan);
	scan->differs |= bytes <= 0;
	size.bytes = (uint64_t)bytes;
	size.latency_ns = named_number(scan, "latency_ns");
	size.latency_median_ns = named_number(scan, "latency_median_ns");
	size.read_gbs = named_number(scan, "read_gbs");
	size.read_median_gbs = named_number(scan, "read_median_gbs");
	json_scan_close(scan);
	return size;
}

/* ---- all of it ---- */

/* The elements of a member of *machine, an array whose number is n_MEMBER. */
#define SCAN_ARRAY(scan, function, machine, member)                                       \
	for (size_t room = (json_scan_name(scan, #member), json_scan_open(scan, '['), 0); \
	     json_scan_next(scan);)                                                       \
	(scan)->differs |=                                                                \
		!rf_array_push((machine)->member, (machine)->n_##member, room, function(scan))

static void scan_caches(struct json_scan *scan, struct machine *machine)
{
	const size_t most = sizeof(machine->caches) / sizeof(machine->caches[0]);
	json_scan_name(scan, "caches");
	json_scan_open(scan, '[');
	while (json_scan_next(scan)) {
		const struct machine_cache cache = scan_cache(scan);
		if (machine->n_caches < most)
			machine->caches[machine->n_caches++] = cache;
		else
			scan->differs = true;
	}
}

static void scan_members(struct json_scan *scan, struct machine *machine)
{
	json_scan_open(scan, '{');
	json_scan_name(scan, "cpu_model");
	machine->cpu_model = json_scan_new_text(scan);
	json_scan_name(scan, "microarchitecture");
	machine->microarchitecture = json_scan_null(scan) ? NULL : json_scan_new_text(scan);
	machine->usable_threads = named_int(scan, "usable_threads");
	machine->clock_ghz = named_number(scan, "clock_ghz");
	machine->clock_fp_ghz = named_number(scan, "clock_fp_ghz");
	SCAN_ARRAY(scan, scan_count, machine, counts);
	scan_caches(scan, machine);
	SCAN_ARRAY(scan, scan_roof, machine, roofs);
	SCAN_ARRAY(scan, scan_size, machine, sizes);
	machine->sizes_in_small_pages = named_bool(scan, "sizes_in_small_pages");
	SCAN_ARRAY(scan, json_scan_new_text, machine, notes);
	json_scan_close(scan);
}

bool machine_scan(struct json_scan *scan, struct machine *out)
{
	struct machine machine = {0};
	scan_members(scan, &machine);
	struct rf_error *error = scan->differs ? NULL : machine_check(&machine);
	if (!scan->differs && !error) {
		*out = machine;
		return true;
	}
	rf_error_destroy(error);
	machine_deinit(&machine);
	return false;
}

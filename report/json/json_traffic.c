/* What moved, and what follows from it, as JSON; docs/profile-format.md is the schema. */
#include "report/json/json_traffic.h"

#include "report/json/json_values.h"
#include "report/reasons/words.h"
#include "report/rows/code_names.h"

#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MAX_OBJECTS 20
#define CURVE_POINTS 32

static double ratio(double part, double whole)
{
	return whole > 0 ? part / whole : NAN;
}

/* ---- bytes ---- */

static void add_bytes(json_t *object, const struct model_bytes *bytes, bool traced)
{
	static const struct {
		const char *key;
		enum traffic event;
	} events[] = {
		{"mem_read_bytes", TRAFFIC_MEM_READ},
		{"mem_write_allocate_bytes", TRAFFIC_MEM_WRITE_ALLOCATE},
		{"mem_write_back_bytes", TRAFFIC_MEM_WRITE_BACK},
		{"mem_non_temporal_bytes", TRAFFIC_MEM_NON_TEMPORAL},
		{"mem_evadable_bytes", TRAFFIC_MEM_EVADABLE},
		{"mem_left_bytes", TRAFFIC_MEM_LEFT},
	};
	if (traced) {
		set_real(object, "l2_bytes", bytes->l2.bytes);
		set_real(object, "l3_bytes", bytes->l3.bytes);
	}
	set_real(object, "mem_bytes", bytes->mem[DIRECTION_BOTH].bytes);
	set_real(object, "mem_write_bytes", bytes->mem[DIRECTION_WRITE].bytes);
	/* the PMU does not tell them apart */
	for (size_t i = 0; traced && i < sizeof(events) / sizeof(*events); i++)
		set_real(object, events[i].key, bytes->events[events[i].event].bytes);
	set_real(object, "mem_stderr_bytes", bytes->mem[DIRECTION_BOTH].stderr_bytes);
	set_real(object, "mem_halfwidth_bytes", bytes->mem[DIRECTION_BOTH].halfwidth);
	set_real(object, "mem_read_stderr_bytes", bytes->mem[DIRECTION_READ].stderr_bytes);
	set_real(object, "mem_write_stderr_bytes", bytes->mem[DIRECTION_WRITE].stderr_bytes);
}

static json_t *level_json(const struct model_level *level, bool traced)
{
	json_t *object = json_object();
	set_text(object, "level", level->name);
	set_flag(object, "at_least", level->at_least);
	set_real(object, "read_bytes", level->moved[DIRECTION_READ].bytes);
	set_real(object, "write_allocate_bytes", traced ? level->write_allocate : NAN);
	set_real(object, "write_bytes", level->moved[DIRECTION_WRITE].bytes);
	set_real(object, "bytes", level->moved[DIRECTION_BOTH].bytes);
	set_real(object, "stderr_bytes", level->moved[DIRECTION_BOTH].stderr_bytes);
	set_real(object, "halfwidth_bytes", level->moved[DIRECTION_BOTH].halfwidth);
	set_real(object, "read_halfwidth_bytes", level->moved[DIRECTION_READ].halfwidth);
	set_real(object, "write_halfwidth_bytes", level->moved[DIRECTION_WRITE].halfwidth);
	set_real(object, "intensity", level->intensity);
	set_real(object, "gbytes_per_s", level->rate);
	set_real(object, "bandwidth_gbytes_per_s", level->bandwidth > 0 ? level->bandwidth : NAN);
	set_real(object, "roof_gflops", level->roof > 0 ? level->roof : NAN);
	set_real(object, "miss_ratio", level->misses);
	return object;
}

static json_t *levels_json(const struct model_traffic *traffic)
{
	json_t *array = json_array();
	for (size_t i = 0; i < traffic->n_levels; i++)
		json_array_append_new(array, level_json(&traffic->levels[i],
							traffic->source == MEMORY_TRACED));
	return array;
}

/* ---- data ---- */

static json_t *object_json(const struct profile *profile, const struct profile_sum_object *part,
			   double all)
{
	static const char *const kinds[] = {
		[OBJECT_OTHER] = "other",   [OBJECT_HEAP] = "heap",   [OBJECT_MAPPING] = "mapping",
		[OBJECT_STATIC] = "static", [OBJECT_STACK] = "stack", [OBJECT_CODE] = "code",
	};
	const struct profile_object *data = &profile->objects[part->object];
	json_t *object = json_object();
	set_count(object, "object", part->object);
	set_text(object, "kind", kinds[data->kind]);
	set_text(object, "name", data->name[0] ? data->name : NULL);
	set_text(object, "module",
		 data->module == PROFILE_NONE ? NULL : profile->modules[data->module].name);
	set_text(object, "file", data->file[0] ? data->file : NULL);
	set_integer(object, "line", data->line, data->line);
	set_count(object, "size_bytes", data->bytes);
	set_count(object, "allocations", data->n);
	set_real(object, "mem_read_bytes", part->read);
	set_real(object, "mem_write_bytes", part->write);
	set_real(object, "share", ratio(part->read + part->write, all));
	return object;
}

static json_t *objects_json(const struct profile *profile, const struct model_traffic *traffic)
{
	json_t *array = json_array();
	double all = 0;
	for (size_t i = 0; i < traffic->n_objects; i++)
		all += traffic->objects[i].read + traffic->objects[i].write;
	for (size_t i = 0; i < traffic->n_objects && i < MAX_OBJECTS; i++)
		json_array_append_new(array, object_json(profile, &traffic->objects[i], all));
	return array;
}

static json_t *strides_json(const struct model_strides *strides)
{
	const double steps = strides->unit + strides->constant + strides->random;
	if (!(steps > 0))
		return json_null();
	json_t *object = json_object();
	set_real(object, "unit_share", strides->unit / steps);
	set_real(object, "constant_share", strides->constant / steps);
	set_real(object, "random_share", strides->random / steps);
	set_integer(object, "step_bytes", strides->step, strides->step);
	return object;
}

static json_t *capacity_json(const struct model_traffic *traffic, double capacity)
{
	json_t *object = json_object();
	set_real(object, "capacity_bytes", capacity);
	set_real(object, "mem_bytes", model_moves_at(traffic, capacity));
	return object;
}

/* The curve at powers of √2 between the least and the largest capacity that matters. */
static json_t *curve_json(const struct model_traffic *traffic)
{
	json_t *array = json_array();
	const struct profile_sum_working_set *all = traffic->capacities;
	const size_t n = traffic->n_capacities;
	size_t first = 0;
	while (first < n && all[first].capacity == 0)
		first++;
	if (first == n)
		return array;
	const double low = (double)all[first].capacity, high = (double)all[n - 1].capacity;
	const double step = fmax(sqrt(2), pow(high / low, 1.0 / CURVE_POINTS));
	for (double at = low / step; at < high; at *= step)
		json_array_append_new(array, capacity_json(traffic, at));
	json_array_append_new(array, capacity_json(traffic, high));
	return array;
}

static json_t *working_set_json(const struct model_traffic *traffic)
{
	if (!traffic->n_capacities)
		return json_null();
	json_t *object = json_object();
	set_real(object, "moves_now_bytes", traffic->moves_now);
	set_real(object, "fits_in_bytes", traffic->fits_in > 0 ? traffic->fits_in : NAN);
	set_real(object, "moves_then_bytes", traffic->moves_then);
	json_object_set_new(object, "curve", curve_json(traffic));
	return object;
}

static json_t *conflicts_json(const struct model_share *conflicts)
{
	if (isnan(conflicts->share))
		return json_null();
	json_t *object = json_object();
	set_real(object, "share", conflicts->share);
	set_real(object, "halfwidth", conflicts->halfwidth);
	return object;
}

void report_json_traffic(json_t *object, const struct report_view *view,
			 const struct model_function *f)
{
	static const char *const absent[] = {
		"l2_bytes",
		"l3_bytes",
		"mem_bytes",
		"mem_read_bytes",
		"mem_write_allocate_bytes",
		"mem_write_bytes",
		"mem_write_back_bytes",
		"mem_non_temporal_bytes",
		"mem_stderr_bytes",
		"mem_halfwidth_bytes",
		"mem_read_stderr_bytes",
		"mem_write_stderr_bytes",
		"mem_evadable_bytes",
		"mem_left_bytes",
		"operational_intensity",
		"levels",
		"conflicts",
		"objects",
		"strides",
		"useful_share",
		"working_set",
	};
	const struct model_traffic *traffic = f->traffic;
	const bool traced = traffic && traffic->source == MEMORY_TRACED;
	for (size_t i = 0; !traced && i < sizeof(absent) / sizeof(*absent); i++)
		json_object_set_new(object, absent[i], json_null());
	set_text(object, "mem_source", traffic ? report_memory_words(traffic->source) : NULL);
	set_integer(object, "mem_samples", traffic && !traced, traffic ? traffic->samples : 0);
	if (!traffic)
		return;
	json_object_set_new(object, "levels", levels_json(traffic));
	set_real(object, "operational_intensity",
		 ratio((double)f->tally.flop, traffic->bytes.mem[DIRECTION_BOTH].bytes));
	add_bytes(object, &traffic->bytes, traced);
	if (!traced)
		return;
	if (!model_level(traffic, "L3"))
		json_object_set_new(object, "l3_bytes", json_null());
	json_object_set_new(object, "conflicts", conflicts_json(&traffic->conflicts));
	json_object_set_new(object, "objects", objects_json(view->profile, traffic));
	json_object_set_new(object, "strides", strides_json(&traffic->strides));
	set_real(object, "useful_share", ratio(traffic->strides.used, traffic->strides.fetched));
	json_object_set_new(object, "working_set", working_set_json(traffic));
}

json_t *report_json_run_traffic(const struct report_view *view)
{
	static const char *const facts[][2] = {
		{"source", "traffic_source"},     {"why", "traffic_why"},
		{"geometry", "traffic_geometry"}, {"geometry_source", "traffic_geometry_source"},
		{"policy", "traffic_policy"},     {"halved", "traffic_halved"},
	};
	const struct model *model = view->model;
	json_t *object = json_object();
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		set_text(object, facts[i][0], profile_get_fact(view->profile, facts[i][1]));
	if (!profile_get_fact(view->profile, "traffic_source"))
		set_text(object, "source", "none");
	set_integer(object, "classes", model->traced, model->traced_classes);
	set_integer(object, "classes_of", true, CACHE_CLASSES);
	set_real(object, "untraced_accesses",
		 profile_number_fact(view->profile, "untraced_accesses", NAN));
	set_text(object, "memory", report_memory_words(model->memory));
	if (model->traced || model->memory != MEMORY_UNKNOWN)
		add_bytes(object, &model->bytes, model->traced);
	return object;
}

/* ---- metrics (Gravelle 2022, table 9) ---- */

/* Cycles are not counted, but computed as time × clock. */
static void add_performance(json_t *object, const struct report_view *view,
			    const struct model_function *f)
{
	const double clock = profile_number_fact(view->profile, "clock_ghz", NAN);
	const double cycles = (double)f->time_ns * clock;
	set_real(object, "time_s", f->elapsed_s > 0 ? f->elapsed_s : NAN);
	set_real(object, "flop_per_s", ratio((double)f->tally.flop, f->elapsed_s));
	set_real(object, "ipc", ratio((double)f->tally.instructions, cycles));
	set_text(object, "ipc_cycles", "CPU time x measured clock");
}

static double level_misses(const struct model_function *f, const char *name)
{
	const struct model_level *level = f->traffic ? model_level(f->traffic, name) : NULL;
	return level ? level->misses : NAN;
}

static double level_bytes(const struct model_function *f, const char *name)
{
	const struct model_level *level = f->traffic ? model_level(f->traffic, name) : NULL;
	return level ? level->moved[DIRECTION_BOTH].bytes : NAN;
}

static void add_movement(json_t *object, const struct model_function *f, double ls)
{
	static const char *const levels[][3] = {
		{"L2", "l2_bytes", "l2_per_ls"},
		{"L3", "l3_bytes", "l3_per_ls"},
		{"DRAM", "mem_bytes", "mem_per_ls"},
	};
	set_real(object, "ls_bytes", ls);
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		double bytes = level_bytes(f, levels[i][0]);
		set_real(object, levels[i][1], bytes);
		set_real(object, levels[i][2], ratio(bytes, ls));
	}
	set_real(object, "l1_miss_ratio", level_misses(f, "L1"));
	set_real(object, "l2_miss_ratio", level_misses(f, "L2"));
	set_real(object, "l3_miss_ratio", level_misses(f, "L3"));
}

json_t *report_json_metrics(const struct report_view *view, const struct model_function *f)
{
	const struct tally *tally = &f->tally;
	const double flop = (double)tally->flop, loads = (double)tally->loads,
		     stores = (double)tally->stores;
	const double ls = (double)tally->load_bytes + (double)tally->store_bytes;
	if (!tally->instructions)
		return json_null();
	json_t *object = json_object();
	add_performance(object, view, f);
	add_movement(object, f, ls);
	set_real(object, "flop", flop);
	set_real(object, "flop_per_fp_instruction",
		 ratio(flop, (double)tally->class_instructions[INSN_FP_ARITH]));
	set_real(object, "arithmetic_intensity", ratio(flop, ls));
	set_real(object, "load_per_store_instruction", ratio(loads, stores));
	set_real(object, "flop_per_load_instruction", ratio(flop, loads));
	set_real(object, "flop_per_store_instruction", ratio(flop, stores));
	set_real(object, "flop_per_load_byte", ratio(flop, (double)tally->load_bytes));
	set_real(object, "flop_per_store_byte", ratio(flop, (double)tally->store_bytes));
	return object;
}

/* ---- loops ---- */

static json_t *loop_json(const struct report_view *view, const struct model_loop *loop,
			 uint32_t call)
{
	const struct tally *tally = &loop->tally;
	json_t *object = json_object();
	set_integer(object, "parent", loop->parent != PROFILE_NONE, loop->parent);
	set_count(object, "start_offset", loop->start);
	set_count(object, "end_offset", loop->end);
	set_count(object, "header_offset", loop->header);
	set_integer(object, "turns", true, loop->turns);
	set_count(object, "instructions", tally->instructions);
	set_count(object, "flop", tally->flop);
	set_count(object, "load_bytes", tally->load_bytes);
	set_count(object, "store_bytes", tally->store_bytes);
	set_real(object, "time_s", (double)loop->time_ns * 1e-9);
	set_count(object, "samples", loop->n_samples);
	set_text(object, "inlined",
		 call == PROFILE_NONE ? NULL : report_inlined_name(view->profile, call));
	if (view->model->traced)
		add_bytes(object, &loop->bytes, true);
	return object;
}

json_t *report_json_loops(const struct report_view *view, const struct model_function *f)
{
	uint32_t *calls = report_calls_of_loops(view, f);
	json_t *array = calls ? json_array() : NULL;
	for (size_t i = 0; calls && i < f->n_loops; i++)
		json_array_append_new(array, loop_json(view, &f->loops[i], calls[i]));
	free(calls);
	return array;
}

/* What moved, and what follows from it, as JSON; docs/profile-format.md is the schema. */
#include "report/json/json_traffic.h"

#include "report/ecm/replays.h"
#include "report/json/json_ecm.h"

#include "report/reasons/words.h"
#include "report/rows/code_names.h"

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

/* The errors of what moves to and from memory. */
static void put_errors(struct json_writer *out, const struct model_bytes *bytes)
{
	put_real(out, "mem_stderr_bytes", bytes->mem[DIRECTION_BOTH].stderr_bytes);
	put_real(out, "mem_halfwidth_bytes", bytes->mem[DIRECTION_BOTH].halfwidth);
	put_real(out, "mem_read_stderr_bytes", bytes->mem[DIRECTION_READ].stderr_bytes);
	put_real(out, "mem_write_stderr_bytes", bytes->mem[DIRECTION_WRITE].stderr_bytes);
}

/* has_l3: false where there is no such cache, so that nothing can move there. */
static void put_bytes(struct json_writer *listed, struct json_writer *out,
		      const struct model_bytes *bytes, bool traced, bool has_l3)
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
		put_real(out, "l2_bytes", bytes->l2.bytes);
		put_real(out, "l3_bytes", has_l3 ? bytes->l3.bytes : NAN);
	}
	put_real(listed, "mem_bytes", bytes->mem[DIRECTION_BOTH].bytes);
	put_real(out, "mem_write_bytes", bytes->mem[DIRECTION_WRITE].bytes);
	/* the PMU does not tell them apart */
	for (size_t i = 0; traced && i < sizeof(events) / sizeof(*events); i++)
		put_real(out, events[i].key, bytes->events[events[i].event].bytes);
	put_errors(out, bytes);
}

static void put_level(struct json_writer *out, const struct model_level *level, bool traced)
{
	put_object(out, NULL);
	put_text(out, "level", level->name);
	put_flag(out, "at_least", level->at_least);
	put_real(out, "read_bytes", level->moved[DIRECTION_READ].bytes);
	put_real(out, "write_allocate_bytes", traced ? level->write_allocate : NAN);
	put_real(out, "write_bytes", level->moved[DIRECTION_WRITE].bytes);
	put_real(out, "bytes", level->moved[DIRECTION_BOTH].bytes);
	put_real(out, "stderr_bytes", level->moved[DIRECTION_BOTH].stderr_bytes);
	put_real(out, "halfwidth_bytes", level->moved[DIRECTION_BOTH].halfwidth);
	put_real(out, "read_halfwidth_bytes", level->moved[DIRECTION_READ].halfwidth);
	put_real(out, "write_halfwidth_bytes", level->moved[DIRECTION_WRITE].halfwidth);
	put_real(out, "intensity", level->intensity);
	put_real(out, "gbytes_per_s", level->rate);
	put_real(out, "bandwidth_gbytes_per_s", level->bandwidth > 0 ? level->bandwidth : NAN);
	put_real(out, "roof_gflops", level->roof > 0 ? level->roof : NAN);
	put_real(out, "miss_ratio", level->misses);
	put_end(out);
}

static void put_levels(struct json_writer *out, const char *key,
		       const struct model_traffic *traffic)
{
	put_array(out, key);
	for (size_t i = 0; i < traffic->n_levels; i++)
		put_level(out, &traffic->levels[i], traffic->source == MEMORY_TRACED);
	put_end(out);
}

/* ---- data ---- */

/* Members of an object that say what it is. */
static void put_identity(struct json_writer *out, const struct profile *profile, uint32_t object)
{
	static const char *const kinds[] = {
		[OBJECT_OTHER] = "other",   [OBJECT_HEAP] = "heap",   [OBJECT_MAPPING] = "mapping",
		[OBJECT_STATIC] = "static", [OBJECT_STACK] = "stack", [OBJECT_CODE] = "code",
	};
	const struct profile_object *data = &profile->objects[object];
	put_count(out, "object", object);
	put_text(out, "kind", kinds[data->kind]);
	put_text(out, "name", data->name[0] ? data->name : NULL);
	put_text(out, "module",
		 data->module == PROFILE_NONE ? NULL : profile->modules[data->module].name);
	put_text(out, "file", data->file[0] ? data->file : NULL);
	put_known(out, "line", data->line, data->line);
	put_count(out, "size_bytes", data->bytes);
	put_count(out, "allocations", data->n);
}

void report_json_object(struct json_writer *out, const char *key, const struct profile *profile,
			uint32_t object)
{
	if (object == PROFILE_NONE) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_identity(out, profile, object);
	put_end(out);
}

static void put_data(struct json_writer *out, const struct profile *profile,
		     const struct profile_sum_object *part, double all)
{
	put_object(out, NULL);
	put_identity(out, profile, part->object);
	put_real(out, "mem_read_bytes", part->read);
	put_real(out, "mem_write_bytes", part->write);
	put_real(out, "share", ratio(part->read + part->write, all));
	put_end(out);
}

static void put_objects(struct json_writer *out, const char *key, const struct profile *profile,
			const struct model_traffic *traffic)
{
	put_array(out, key);
	double all = 0;
	for (size_t i = 0; i < traffic->n_objects; i++)
		all += traffic->objects[i].read + traffic->objects[i].write;
	for (size_t i = 0; i < traffic->n_objects && i < MAX_OBJECTS; i++)
		put_data(out, profile, &traffic->objects[i], all);
	put_end(out);
}

static void put_strides(struct json_writer *out, const char *key,
			const struct model_strides *strides)
{
	const double steps = strides->unit + strides->constant + strides->random;
	if (!(steps > 0)) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_real(out, "unit_share", strides->unit / steps);
	put_real(out, "constant_share", strides->constant / steps);
	put_real(out, "random_share", strides->random / steps);
	put_known(out, "step_bytes", strides->step, strides->step);
	put_end(out);
}

static void put_capacity(struct json_writer *out, const struct model_traffic *traffic,
			 double capacity)
{
	put_object(out, NULL);
	put_real(out, "capacity_bytes", capacity);
	put_real(out, "mem_bytes", model_moves_at(traffic, capacity));
	put_end(out);
}

/* The curve at powers of √2 between the least and the largest capacity that matters. */
static void put_curve(struct json_writer *out, const char *key, const struct model_traffic *traffic)
{
	const struct profile_sum_working_set *all = traffic->capacities;
	const size_t n = traffic->n_capacities;
	size_t first = 0;
	while (first < n && all[first].capacity == 0)
		first++;
	put_array(out, key);
	if (first == n) {
		put_end(out);
		return;
	}
	const double low = (double)all[first].capacity, high = (double)all[n - 1].capacity;
	const double step = fmax(sqrt(2), pow(high / low, 1.0 / CURVE_POINTS));
	for (double at = low / step; at < high; at *= step)
		put_capacity(out, traffic, at);
	put_capacity(out, traffic, high);
	put_end(out);
}

static void put_working_set(struct json_writer *out, const char *key,
			    const struct model_traffic *traffic)
{
	if (!traffic->n_capacities) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_real(out, "moves_now_bytes", traffic->moves_now);
	put_real(out, "fits_in_bytes", traffic->fits_in > 0 ? traffic->fits_in : NAN);
	put_real(out, "moves_then_bytes", traffic->moves_then);
	put_curve(out, "curve", traffic);
	put_end(out);
}

static void put_conflicts(struct json_writer *out, const char *key,
			  const struct model_share *conflicts)
{
	if (isnan(conflicts->share)) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_real(out, "share", conflicts->share);
	put_real(out, "halfwidth", conflicts->halfwidth);
	put_end(out);
}

/* Of what was not traced: what hardware counters tell, or nothing (NULL). */
static void put_untraced(struct json_writer *listed, struct json_writer *out,
			 const struct model_traffic *traffic, double flop)
{
	static const struct model_bytes none = {
		.mem = {{NAN, NAN, NAN}, {NAN, NAN, NAN}, {NAN, NAN, NAN}}};
	static const char *const after[] = {"conflicts", "objects", "strides", "useful_share",
					    "working_set"};
	const struct model_bytes *bytes = traffic ? &traffic->bytes : &none;
	put_null(out, "l2_bytes");
	put_null(out, "l3_bytes");
	put_real(listed, "mem_bytes", bytes->mem[DIRECTION_BOTH].bytes);
	put_null(out, "mem_read_bytes");
	put_null(out, "mem_write_allocate_bytes");
	put_real(out, "mem_write_bytes", bytes->mem[DIRECTION_WRITE].bytes);
	put_null(out, "mem_write_back_bytes");
	put_null(out, "mem_non_temporal_bytes");
	put_errors(out, bytes);
	put_null(out, "mem_evadable_bytes");
	put_null(out, "mem_left_bytes");
	put_real(out, "operational_intensity", ratio(flop, bytes->mem[DIRECTION_BOTH].bytes));
	if (traffic)
		put_levels(out, "levels", traffic);
	else
		put_null(out, "levels");
	for (size_t i = 0; i < sizeof(after) / sizeof(*after); i++)
		put_null(out, after[i]);
}

static void put_source(struct json_writer *out, const struct model_traffic *traffic, bool traced)
{
	put_text(out, "mem_source", traffic ? report_memory_words(traffic->source) : NULL);
	put_known(out, "mem_samples", traffic && !traced, traffic ? traffic->samples : 0);
}

void report_json_traffic(struct json_writer *listed, struct json_writer *out,
			 const struct report_view *view, const struct model_function *f)
{
	const struct model_traffic *traffic = f->traffic;
	const bool traced = traffic && traffic->source == MEMORY_TRACED;
	const double flop = (double)f->tally.flop;
	if (!traced) {
		put_untraced(listed, out, traffic, flop);
		put_source(out, traffic, false);
		return;
	}
	put_source(out, traffic, true);
	put_levels(out, "levels", traffic);
	put_real(out, "operational_intensity",
		 ratio(flop, traffic->bytes.mem[DIRECTION_BOTH].bytes));
	put_bytes(listed, out, &traffic->bytes, true, model_level(traffic, "L3") != NULL);
	put_conflicts(out, "conflicts", &traffic->conflicts);
	put_objects(out, "objects", view->profile, traffic);
	put_strides(out, "strides", &traffic->strides);
	put_real(out, "useful_share", ratio(traffic->strides.used, traffic->strides.fetched));
	put_working_set(out, "working_set", traffic);
}

void report_json_run_traffic(struct json_writer *out, const char *key,
			     const struct report_view *view)
{
	static const char *const facts[][2] = {
		{"why", "traffic_why"},
		{"geometry", "traffic_geometry"},
		{"geometry_source", "traffic_geometry_source"},
		{"policy", "traffic_policy"},
		{"halved", "traffic_halved"},
		{"windows", "traffic_windows"},
		{"caches", "traffic_caches"},
		{"not_flushed", "flush_why"},
		{"not_watched", "flush_missing"},
		{"shared", "threads_told"},
	};
	const struct model *model = view->model;
	const char *source = profile_get_fact(view->profile, "traffic_source");
	put_object(out, key);
	put_text(out, "source", source ? source : "none");
	for (size_t i = 0; i < sizeof(facts) / sizeof(*facts); i++)
		put_text(out, facts[i][0], profile_get_fact(view->profile, facts[i][1]));
	put_real(out, "flushed_calls", profile_number_fact(view->profile, "flush_calls", NAN));
	put_real(out, "flush_s", profile_number_fact(view->profile, "flush_s", NAN));
	put_known(out, "classes", model->traced, model->traced_classes);
	put_integer(out, "classes_of", CACHE_CLASSES);
	put_real(out, "untraced_accesses",
		 profile_number_fact(view->profile, "untraced_accesses", NAN));
	put_text(out, "memory", report_memory_words(model->memory));
	if (model->traced || model->memory != MEMORY_UNKNOWN)
		put_bytes(out, out, &model->bytes, model->traced, true);
	put_end(out);
}

/* ---- metrics (Gravelle 2022, table 9) ---- */

/* Cycles are not counted, but computed as time × clock. */
static void put_performance(struct json_writer *out, const struct report_view *view,
			    const struct model_function *f)
{
	const double clock = profile_number_fact(view->profile, "clock_ghz", NAN);
	const double cycles = (double)f->time_ns * clock;
	put_real(out, "time_s", f->elapsed_s > 0 ? f->elapsed_s : NAN);
	put_real(out, "flop_per_s", ratio((double)f->tally.flop, f->elapsed_s));
	put_real(out, "ipc", ratio((double)f->tally.instructions, cycles));
	put_text(out, "ipc_cycles", "CPU time x measured clock");
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

static void put_movement(struct json_writer *out, const struct model_function *f, double ls)
{
	static const char *const levels[][3] = {
		{"L2", "l2_bytes", "l2_per_ls"},
		{"L3", "l3_bytes", "l3_per_ls"},
		{"DRAM", "mem_bytes", "mem_per_ls"},
	};
	put_real(out, "ls_bytes", ls);
	for (size_t i = 0; i < sizeof(levels) / sizeof(*levels); i++) {
		double bytes = level_bytes(f, levels[i][0]);
		put_real(out, levels[i][1], bytes);
		put_real(out, levels[i][2], ratio(bytes, ls));
	}
	put_real(out, "l1_miss_ratio", level_misses(f, "L1"));
	put_real(out, "l2_miss_ratio", level_misses(f, "L2"));
	put_real(out, "l3_miss_ratio", level_misses(f, "L3"));
}

void report_json_metrics(struct json_writer *out, const char *key, const struct report_view *view,
			 const struct model_function *f)
{
	const struct tally *tally = &f->tally;
	const double flop = (double)tally->flop, loads = (double)tally->loads,
		     stores = (double)tally->stores;
	const double ls = (double)tally->load_bytes + (double)tally->store_bytes;
	if (!tally->instructions) {
		put_null(out, key);
		return;
	}
	put_object(out, key);
	put_performance(out, view, f);
	put_movement(out, f, ls);
	put_real(out, "flop", flop);
	put_real(out, "flop_per_fp_instruction",
		 ratio(flop, (double)tally->class_instructions[INSN_FP_ARITH]));
	put_real(out, "arithmetic_intensity", ratio(flop, ls));
	put_real(out, "load_per_store_instruction", ratio(loads, stores));
	put_real(out, "flop_per_load_instruction", ratio(flop, loads));
	put_real(out, "flop_per_store_instruction", ratio(flop, stores));
	put_real(out, "flop_per_load_byte", ratio(flop, (double)tally->load_bytes));
	put_real(out, "flop_per_store_byte", ratio(flop, (double)tally->store_bytes));
	put_end(out);
}

/* ---- loops ---- */

static const struct loop_replay *replay_of(const struct report_view *view,
					   const struct model_function *f,
					   const struct model_loop *loop)
{
	return view->ecm && f->function != PROFILE_NONE
		       ? replays_find(view->ecm->replays, view->profile,
				      view->profile->functions[f->function].module, loop->header)
		       : NULL;
}

static void put_loop(struct json_writer *out, const struct report_view *view,
		     const struct model_function *f, size_t index, uint32_t call,
		     const struct ecm_function *ecm)
{
	const struct model_loop *loop = &f->loops[index];
	const struct tally_main *tally = &loop->tally;
	put_object(out, NULL);
	put_known(out, "parent", loop->parent != PROFILE_NONE, loop->parent);
	put_count(out, "start_offset", loop->start);
	put_count(out, "end_offset", loop->end);
	put_count(out, "header_offset", loop->header);
	put_integer(out, "turns", loop->turns);
	put_count(out, "instructions", tally->instructions);
	put_count(out, "flop", tally->flop);
	put_count(out, "load_bytes", tally->load_bytes);
	put_count(out, "store_bytes", tally->store_bytes);
	put_real(out, "time_s", (double)loop->time_ns * 1e-9);
	put_count(out, "samples", loop->n_samples);
	put_text(out, "inlined",
		 call == PROFILE_NONE ? NULL : report_inlined_name(view->profile, call));
	if (view->model->traced)
		put_bytes(out, out, loop->bytes, true, true);
	report_json_ecm(out, "ecm", view, ecm ? &ecm->loops[index] : NULL,
			replay_of(view, f, loop));
	report_json_ecm_with_calls(out, "ecm_with_calls", ecm ? &ecm->with_calls[index] : NULL);
	put_end(out);
}

struct rf_error *report_json_loops(struct json_writer *out, const char *key,
				   const struct report_view *view, const struct model_function *f,
				   const struct ecm_function *ecm)
{
	uint32_t *calls = report_calls_of_loops(view, f);
	put_array(out, key);
	for (size_t i = 0; calls && i < f->n_loops; i++)
		put_loop(out, view, f, i, calls[i], ecm);
	put_end(out);
	free(calls);
	return calls ? NULL : rf_error_no_memory();
}

/* The tables of a profile file. */
#include "profile/profile_schema.h"

#include <sqlite3.h>

#define AT(row, member) offsetof(struct row, member)

static const struct column module_columns[] = {
	{"path", COLUMN_TEXT, AT(profile_module, path)},
	{"name", COLUMN_TEXT, AT(profile_module, name)},
	{"build_id", COLUMN_TEXT, AT(profile_module, build_id)},
};
static const struct column thread_columns[] = {
	{"run", COLUMN_RUN, AT(profile_thread, run)},
	{"pid", COLUMN_INT, AT(profile_thread, pid)},
	{"tid", COLUMN_INT, AT(profile_thread, tid)},
	{"name", COLUMN_TEXT, AT(profile_thread, name)},
};
static const struct column function_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_function, module), .target = MODULES},
	{"start_offset", COLUMN_U64, AT(profile_function, start)},
	{"end_offset", COLUMN_U64, AT(profile_function, end)},
	{"name", COLUMN_TEXT, AT(profile_function, name)},
	{"file", COLUMN_TEXT, AT(profile_function, file)},
	{"line", COLUMN_U32, AT(profile_function, line)},
};
static const struct column block_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_block, module), .target = MODULES},
	{"start_offset", COLUMN_U64, AT(profile_block, start)},
	{"size_bytes", COLUMN_U32, AT(profile_block, size)},
	{"code", COLUMN_BLOB, AT(profile_block, bytes), AT(profile_block, size)},
};
static const struct column count_columns[] = {
	{"block_id", COLUMN_REF, AT(profile_count, block), .target = BLOCKS},
	{"thread_id", COLUMN_REF, AT(profile_count, thread), .target = THREADS},
	{"executions", COLUMN_I64, AT(profile_count, n)},
};
static const struct column unit_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_units, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_units, offset)},
	{"thread_id", COLUMN_REF, AT(profile_units, thread), .target = THREADS},
	{"units", COLUMN_U64, AT(profile_units, n)},
};
static const struct column frame_columns[] = {
	{"parent_id", COLUMN_REF_NULL, AT(profile_frame, parent), .target = FRAMES},
	{"module_id", COLUMN_REF_NULL, AT(profile_frame, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_frame, offset)},
};
static const struct column sample_columns[] = {
	{"thread_id", COLUMN_REF, AT(profile_sample, thread), .target = THREADS},
	{"time_ns", COLUMN_U64, AT(profile_sample, time_ns)},
	{"weight_ns", COLUMN_U64, AT(profile_sample, weight_ns)},
	{"frame_id", COLUMN_REF_NULL, AT(profile_sample, frame), .target = FRAMES},
};
static const struct column uncounted_columns[] = {
	{"reason", COLUMN_TEXT, AT(profile_uncounted, reason)},
	{"module_id", COLUMN_REF_NULL, AT(profile_uncounted, module), .target = MODULES},
};
static const struct column fact_columns[] = {
	{"key", COLUMN_TEXT, AT(profile_fact, key)},
	{"value", COLUMN_TEXT, AT(profile_fact, value)},
};
#define CHARS(member) COLUMN_CHARS, AT(roof, member), sizeof(((struct roof *)0)->member)
static const struct column roof_columns[] = {
	{"kind", COLUMN_ROOF_KIND, AT(roof, kind)},
	{"isa", COLUMN_ROOF_TERM, AT(roof, isa), ROOF_TERM_ISA},
	{"precision", COLUMN_ROOF_TERM, AT(roof, precision), ROOF_TERM_PRECISION},
	{"op", COLUMN_ROOF_TERM, AT(roof, op), ROOF_TERM_OP},
	{"level", COLUMN_ROOF_TERM, AT(roof, level), ROOF_TERM_LEVEL},
	{"threads", COLUMN_INT, AT(roof, threads)},
	{"best", COLUMN_DOUBLE, AT(roof, best)},
	{"median", COLUMN_DOUBLE, AT(roof, median)},
	{"q1", COLUMN_DOUBLE, AT(roof, q1)},
	{"q3", COLUMN_DOUBLE, AT(roof, q3)},
	{"unit", CHARS(unit)},
	{"bytes_convention", CHARS(bytes_convention)},
	{"distinguishable", COLUMN_BOOL, AT(roof, distinguishable)},
	{"noisy", COLUMN_BOOL, AT(roof, noisy)},
	{"theory", COLUMN_DOUBLE, AT(roof, theory)},
	{"by_node", COLUMN_BOOL, AT(roof, by_node)},
	{"cpu_node", COLUMN_INT, AT(roof, cpu_node)},
	{"memory_node", COLUMN_INT, AT(roof, memory_node)},
};
static const struct column custom_roof_columns[] = {
	{"name", COLUMN_CHARS, AT(custom_roof, name), sizeof(((struct custom_roof *)0)->name)},
	{"value", COLUMN_DOUBLE, AT(custom_roof, value)},
	{"unit", COLUMN_CHARS, AT(custom_roof, unit), sizeof(((struct custom_roof *)0)->unit)},
	{"source", COLUMN_CHARS, AT(custom_roof, source),
	 sizeof(((struct custom_roof *)0)->source)},
};

static const struct column process_columns[] = {
	{"run", COLUMN_RUN, AT(profile_process, run)},
	{"parent_id", COLUMN_REF_NULL, AT(profile_process, parent), .target = PROCESSES},
	{"twin_id", COLUMN_REF_NULL, AT(profile_process, twin), .target = PROCESSES},
	{"pid", COLUMN_INT, AT(profile_process, pid)},
	{"birth", COLUMN_BIRTH, AT(profile_process, birth)},
	{"execs", COLUMN_U32, AT(profile_process, execs)},
	{"command", COLUMN_TEXT, AT(profile_process, command)},
	{"module_id", COLUMN_REF_NULL, AT(profile_process, module), .target = MODULES},
	{"start_ns", COLUMN_U64, AT(profile_process, start_ns)},
	{"end_ns", COLUMN_U64, AT(profile_process, end_ns)},
	{"exit_status", COLUMN_INT, AT(profile_process, exit_status)},
	{"native_reason", COLUMN_TEXT, AT(profile_process, native_reason)},
};
static const struct column native_thread_columns[] = {
	{"thread_id", COLUMN_REF, AT(profile_native_thread, thread), .target = THREADS},
	{"reason", COLUMN_TEXT, AT(profile_native_thread, reason)},
};

#define EVENT_LINES(event) COLUMN_U64, AT(profile_traffic, lines) + (event) * sizeof(uint64_t)
static const struct column traffic_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_traffic, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_traffic, offset)},
	{"thread_id", COLUMN_REF, AT(profile_traffic, thread), .target = THREADS},
	{"class", COLUMN_U32, AT(profile_traffic, class)},
	{"l2_read_lines", EVENT_LINES(TRAFFIC_L2_READ)},
	{"l2_write_allocate_lines", EVENT_LINES(TRAFFIC_L2_WRITE_ALLOCATE)},
	{"l2_write_back_lines", EVENT_LINES(TRAFFIC_L2_WRITE_BACK)},
	{"l3_read_lines", EVENT_LINES(TRAFFIC_L3_READ)},
	{"l3_write_allocate_lines", EVENT_LINES(TRAFFIC_L3_WRITE_ALLOCATE)},
	{"l3_write_back_lines", EVENT_LINES(TRAFFIC_L3_WRITE_BACK)},
	{"l3_clean_victim_lines", EVENT_LINES(TRAFFIC_L3_CLEAN_VICTIM)},
	{"mem_read_lines", EVENT_LINES(TRAFFIC_MEM_READ)},
	{"mem_write_allocate_lines", EVENT_LINES(TRAFFIC_MEM_WRITE_ALLOCATE)},
	{"mem_write_back_lines", EVENT_LINES(TRAFFIC_MEM_WRITE_BACK)},
	{"mem_non_temporal_lines", EVENT_LINES(TRAFFIC_MEM_NON_TEMPORAL)},
	{"mem_evadable_lines", EVENT_LINES(TRAFFIC_MEM_EVADABLE)},
	{"mem_left_lines", EVENT_LINES(TRAFFIC_MEM_LEFT)},
};
static const struct column object_columns[] = {
	{"kind", COLUMN_OBJECT_KIND, AT(profile_object, kind)},
	{"name", COLUMN_TEXT, AT(profile_object, name)},
	{"module_id", COLUMN_REF_NULL, AT(profile_object, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_object, offset)},
	{"file", COLUMN_TEXT, AT(profile_object, file)},
	{"line", COLUMN_U32, AT(profile_object, line)},
	{"size_bytes", COLUMN_U64, AT(profile_object, bytes)},
	{"allocations", COLUMN_U64, AT(profile_object, n)},
};
static const struct column object_traffic_columns[] = {
	{"object_id", COLUMN_REF, AT(profile_object_traffic, object), .target = OBJECTS},
	{"module_id", COLUMN_REF, AT(profile_object_traffic, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_object_traffic, offset)},
	{"mem_read_lines", COLUMN_U64, AT(profile_object_traffic, read)},
	{"mem_write_allocate_lines", COLUMN_U64, AT(profile_object_traffic, write_allocate)},
	{"mem_write_lines", COLUMN_U64, AT(profile_object_traffic, write)},
};
static const struct column stride_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_stride, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_stride, offset)},
	{"unit_steps", COLUMN_U64, AT(profile_stride, unit)},
	{"constant_steps", COLUMN_U64, AT(profile_stride, constant)},
	{"random_steps", COLUMN_U64, AT(profile_stride, random)},
	{"step_bytes", COLUMN_I64, AT(profile_stride, step)},
	{"fetched_bytes", COLUMN_U64, AT(profile_stride, fetched)},
	{"used_bytes", COLUMN_U64, AT(profile_stride, used)},
};
static const struct column working_set_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_working_set, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_working_set, offset)},
	{"capacity_bytes", COLUMN_U64, AT(profile_working_set, capacity)},
	{"read_lines", COLUMN_U64, AT(profile_working_set, reads)},
	{"write_lines", COLUMN_U64, AT(profile_working_set, writes)},
};

static const struct column counter_columns[] = {
	{"quantity", COLUMN_TEXT, AT(profile_counter, quantity)},
	{"event", COLUMN_TEXT, AT(profile_counter, event)},
	{"multiplier", COLUMN_REAL, AT(profile_counter, multiplier)},
	{"use", COLUMN_COUNTER_USE, AT(profile_counter, use)},
	{"events", COLUMN_DOUBLE, AT(profile_counter, events)},
	{"counted_share", COLUMN_DOUBLE, AT(profile_counter, share)},
	{"missing_share", COLUMN_DOUBLE, AT(profile_counter, missing)},
	{"samples", COLUMN_U64, AT(profile_counter, samples)},
	{"why", COLUMN_TEXT, AT(profile_counter, why)},
};
static const struct column counter_place_columns[] = {
	{"counter_id", COLUMN_REF, AT(profile_counter_place, counter), .target = COUNTERS},
	{"thread_id", COLUMN_REF, AT(profile_counter_place, thread), .target = THREADS},
	{"module_id", COLUMN_REF_NULL, AT(profile_counter_place, module), .target = MODULES},
	{"code_offset", COLUMN_U64, AT(profile_counter_place, offset)},
	{"samples", COLUMN_U64, AT(profile_counter_place, samples)},
	{"events", COLUMN_DOUBLE, AT(profile_counter_place, events)},
};
static const struct column line_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_line, module), .target = MODULES},
	{"start_offset", COLUMN_U64, AT(profile_line, start)},
	{"end_offset", COLUMN_U64, AT(profile_line, end)},
	{"file", COLUMN_TEXT, AT(profile_line, file)},
	{"line", COLUMN_U32, AT(profile_line, line)},
};
static const struct column inlined_function_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_inlined_function, module), .target = MODULES},
	{"name", COLUMN_TEXT, AT(profile_inlined_function, name)},
	{"file", COLUMN_TEXT, AT(profile_inlined_function, file)},
	{"line", COLUMN_U32, AT(profile_inlined_function, line)},
};
static const struct column inlined_call_columns[] = {
	{"parent_id", COLUMN_REF_NULL, AT(profile_inlined_call, parent), .target = INLINED_CALLS},
	{"inlined_function_id", COLUMN_REF, AT(profile_inlined_call, function),
	 .target = INLINED_FUNCTIONS},
	{"file", COLUMN_TEXT, AT(profile_inlined_call, file)},
	{"line", COLUMN_U32, AT(profile_inlined_call, line)},
};
static const struct column inlined_code_columns[] = {
	{"module_id", COLUMN_REF, AT(profile_inlined_code, module), .target = MODULES},
	{"start_offset", COLUMN_U64, AT(profile_inlined_code, start)},
	{"end_offset", COLUMN_U64, AT(profile_inlined_code, end)},
	{"inlined_call_id", COLUMN_REF, AT(profile_inlined_code, call), .target = INLINED_CALLS},
};

static const struct column sum_columns[] = {
	{"function_id", COLUMN_REF_NULL, AT(profile_sum, function), .target = FUNCTIONS},
	{"module_id", COLUMN_REF_NULL, AT(profile_sum, module), .target = MODULES},
	{"uncounted", COLUMN_BOOL, AT(profile_sum, uncounted)},
	{"concurrency", COLUMN_DOUBLE, AT(profile_sum, concurrency)},
	{"thread_id", COLUMN_REF_NULL, AT(profile_sum, thread), .target = THREADS},
	{"flop", COLUMN_U64, AT(profile_sum, flop)},
	{"flop_unmasked", COLUMN_U64, AT(profile_sum, flop_unmasked)},
	{"load_bytes", COLUMN_U64, AT(profile_sum, load_bytes)},
	{"store_bytes", COLUMN_U64, AT(profile_sum, store_bytes)},
	{"nt_store_bytes", COLUMN_U64, AT(profile_sum, nt_store_bytes)},
	{"string_bytes", COLUMN_U64, AT(profile_sum, string_bytes)},
	{"load_instructions", COLUMN_U64, AT(profile_sum, loads)},
	{"store_instructions", COLUMN_U64, AT(profile_sum, stores)},
	{"instructions", COLUMN_U64, AT(profile_sum, instructions)},
};
static const struct column sum_classes_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_classes, sum), .target = SUMS},
#define CLASS(name, class)                                                                 \
	{                                                                                  \
		name "_instructions", COLUMN_U64,                                          \
			AT(profile_sum_classes, instructions) + (class) * sizeof(uint64_t) \
	}
	CLASS("other", INSN_OTHER),
	CLASS("move", INSN_MOVE),
	CLASS("integer", INSN_INTEGER),
	CLASS("fp_arith", INSN_FP_ARITH),
	CLASS("fp_move", INSN_FP_MOVE),
	CLASS("branch", INSN_BRANCH),
	CLASS("call", INSN_CALL),
	CLASS("return", INSN_RETURN),
	CLASS("string", INSN_STRING),
	CLASS("nop", INSN_NOP),
	CLASS("system", INSN_SYSTEM),
};
static const struct column sum_flop_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_flop, sum), .target = SUMS},
	{"kind", COLUMN_U32, AT(profile_sum_flop, kind)},
	{"precision", COLUMN_U32, AT(profile_sum_flop, precision)},
	{"width", COLUMN_U32, AT(profile_sum_flop, width)},
	{"flop", COLUMN_U64, AT(profile_sum_flop, flop)},
};
static const struct column sum_thread_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_thread, sum), .target = SUMS},
	{"thread_id", COLUMN_REF, AT(profile_sum_thread, thread), .target = THREADS},
	{"flop", COLUMN_U64, AT(profile_sum_thread, flop)},
	{"load_bytes", COLUMN_U64, AT(profile_sum_thread, load_bytes)},
	{"store_bytes", COLUMN_U64, AT(profile_sum_thread, store_bytes)},
	{"instructions", COLUMN_U64, AT(profile_sum_thread, instructions)},
};
static const struct column sum_time_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_time, sum), .target = SUMS},
	{"thread_id", COLUMN_REF, AT(profile_sum_time, thread), .target = THREADS},
	{"samples", COLUMN_U64, AT(profile_sum_time, samples)},
	{"time_ns", COLUMN_U64, AT(profile_sum_time, time_ns)},
};
static const struct column sum_traffic_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_traffic, sum), .target = SUMS},
	{"size_bytes", COLUMN_U32, AT(profile_sum_traffic, size)},
	{"lines", COLUMN_BLOB, AT(profile_sum_traffic, lines), AT(profile_sum_traffic, size)},
};
static const struct column sum_object_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_object, sum), .target = SUMS},
	{"object_id", COLUMN_REF, AT(profile_sum_object, object), .target = OBJECTS},
	{"mem_read_bytes", COLUMN_DOUBLE, AT(profile_sum_object, read)},
	{"mem_write_bytes", COLUMN_DOUBLE, AT(profile_sum_object, write)},
};
static const struct column sum_stride_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_stride, sum), .target = SUMS},
	{"unit_steps", COLUMN_U64, AT(profile_sum_stride, unit)},
	{"constant_steps", COLUMN_U64, AT(profile_sum_stride, constant)},
	{"random_steps", COLUMN_U64, AT(profile_sum_stride, random)},
	{"step_bytes", COLUMN_I64, AT(profile_sum_stride, step)},
	{"fetched_bytes", COLUMN_U64, AT(profile_sum_stride, fetched)},
	{"used_bytes", COLUMN_U64, AT(profile_sum_stride, used)},
};
static const struct column sum_working_set_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_working_set, sum), .target = SUMS},
	{"capacity_bytes", COLUMN_U64, AT(profile_sum_working_set, capacity)},
	{"read_bytes", COLUMN_DOUBLE, AT(profile_sum_working_set, reads)},
	{"write_bytes", COLUMN_DOUBLE, AT(profile_sum_working_set, writes)},
};
static const struct column sum_quantity_columns[] = {
	{"sum_id", COLUMN_REF, AT(profile_sum_quantity, sum), .target = SUMS},
	{"counter_id", COLUMN_REF, AT(profile_sum_quantity, counter), .target = COUNTERS},
	{"samples", COLUMN_U64, AT(profile_sum_quantity, samples)},
	{"value", COLUMN_REAL, AT(profile_sum_quantity, value)},
	{"events", COLUMN_DOUBLE, AT(profile_sum_quantity, events)},
	{"variance", COLUMN_DOUBLE, AT(profile_sum_quantity, variance)},
};

#define PLACE "module_id INTEGER NOT NULL REFERENCES modules(id), code_offset INTEGER NOT NULL, "
#define TABLE(name, sql, columns, row, member) NEW_TABLE(2, name, sql, columns, row, member)
#define NEW_TABLE(since, ...) ANY_TABLE(since, TABLE_PLAIN, __VA_ARGS__)
#define DETAIL(since, ...) ANY_TABLE(since, TABLE_DETAIL, __VA_ARGS__)
#define SUM(...) ANY_TABLE(6, TABLE_SUM, __VA_ARGS__)
#define ANY_TABLE(since, kind, name, sql, columns, row, member)                      \
	{                                                                            \
		name, since, kind, sql, columns, sizeof(columns) / sizeof(*columns), \
			sizeof(struct row), offsetof(struct profile, member),        \
			offsetof(struct profile, n_##member),                        \
			offsetof(struct profile, cap_##member)                       \
	}
#define ID "(id INTEGER PRIMARY KEY, "

/* The text of a table is part of the schema's version: a file whose tables read differently is
 * refused, so a view or generated column cannot stand in for a table. */
const struct table profile_tables[N_TABLES] = {
	[MODULES] = TABLE("modules",
			  ID "path TEXT NOT NULL, name TEXT NOT NULL, "
			     "build_id TEXT NOT NULL) STRICT",
			  module_columns, profile_module, modules),
	[THREADS] = TABLE("threads",
			  ID "run INTEGER NOT NULL, pid INTEGER NOT NULL, "
			     "tid INTEGER NOT NULL, name TEXT NOT NULL) STRICT",
			  thread_columns, profile_thread, threads),
	[FUNCTIONS] = TABLE(
		"functions",
		ID
		"module_id INTEGER NOT NULL REFERENCES modules(id), "
		"start_offset INTEGER NOT NULL, end_offset INTEGER NOT NULL, name TEXT NOT NULL, "
		"file TEXT NOT NULL, line INTEGER NOT NULL) STRICT",
		function_columns, profile_function, functions),
	[BLOCKS] = DETAIL(
		2, "blocks",
		ID
		"module_id INTEGER NOT NULL REFERENCES modules(id), "
		"start_offset INTEGER NOT NULL, size_bytes INTEGER NOT NULL, code BLOB NOT NULL) "
		"STRICT",
		block_columns, profile_block, blocks),
	[COUNTS] = DETAIL(
		2, "counts",
		ID
		"block_id INTEGER NOT NULL REFERENCES blocks(id), "
		"thread_id INTEGER NOT NULL REFERENCES threads(id), executions INTEGER NOT NULL) "
		"STRICT",
		count_columns, profile_count, counts),
	[UNITS] = DETAIL(
		2, "units",
		ID
		"module_id INTEGER NOT NULL REFERENCES modules(id), "
		"code_offset INTEGER NOT NULL, thread_id INTEGER NOT NULL REFERENCES threads(id), "
		"units INTEGER NOT NULL) STRICT",
		unit_columns, profile_units, units),
	[FRAMES] = DETAIL(
		2, "frames",
		ID "parent_id INTEGER REFERENCES frames(id), "
		   "module_id INTEGER REFERENCES modules(id), code_offset INTEGER NOT NULL) STRICT",
		frame_columns, profile_frame, frames),
	[SAMPLES] = DETAIL(2, "samples",
			   ID "thread_id INTEGER NOT NULL REFERENCES threads(id), "
			      "time_ns INTEGER NOT NULL, weight_ns INTEGER NOT NULL, "
			      "frame_id INTEGER REFERENCES frames(id)) STRICT",
			   sample_columns, profile_sample, samples),
	[UNCOUNTED] = TABLE("uncounted",
			    ID "reason TEXT NOT NULL, "
			       "module_id INTEGER REFERENCES modules(id)) STRICT",
			    uncounted_columns, profile_uncounted, uncounted),
	[FACTS] = TABLE("facts", ID "key TEXT NOT NULL UNIQUE, value TEXT NOT NULL) STRICT",
			fact_columns, profile_fact, facts),
	[ROOFS] =
		TABLE("roofs",
		      ID "kind INTEGER NOT NULL, isa TEXT NOT NULL, "
			 "precision TEXT NOT NULL, op TEXT NOT NULL, level TEXT NOT NULL, "
			 "threads INTEGER NOT NULL, best REAL NOT NULL, median REAL NOT NULL, "
			 "q1 REAL NOT NULL, q3 REAL NOT NULL, unit TEXT NOT NULL, "
			 "bytes_convention TEXT NOT NULL, distinguishable INTEGER NOT NULL, "
			 "noisy INTEGER NOT NULL, theory REAL NOT NULL, by_node INTEGER NOT NULL, "
			 "cpu_node INTEGER NOT NULL, memory_node INTEGER NOT NULL) STRICT",
		      roof_columns, roof, roofs),
	[CUSTOM_ROOFS] = TABLE("custom_roofs",
			       ID "name TEXT NOT NULL, value REAL NOT NULL, "
				  "unit TEXT NOT NULL, source TEXT NOT NULL) STRICT",
			       custom_roof_columns, custom_roof, custom_roofs),
	[PROCESSES] =
		NEW_TABLE(3, "processes",
			  ID
			  "run INTEGER NOT NULL, "
			  "parent_id INTEGER REFERENCES processes(id), "
			  "twin_id INTEGER REFERENCES processes(id), pid INTEGER NOT NULL, "
			  "birth INTEGER NOT NULL, execs INTEGER NOT NULL, command TEXT NOT NULL, "
			  "module_id INTEGER REFERENCES modules(id), start_ns INTEGER NOT NULL, "
			  "end_ns INTEGER NOT NULL, exit_status INTEGER NOT NULL, native_reason "
			  "TEXT NOT NULL) "
			  "STRICT",
			  process_columns, profile_process, processes),
	[NATIVE_THREADS] = NEW_TABLE(
		3, "native_threads",
		ID
		"thread_id INTEGER NOT NULL REFERENCES threads(id), reason TEXT NOT NULL) STRICT",
		native_thread_columns, profile_native_thread, native_threads),
	[TRAFFIC] = DETAIL(
		4, "traffic",
		ID PLACE
		"thread_id INTEGER NOT NULL REFERENCES threads(id), class INTEGER NOT NULL, "
		"l2_read_lines INTEGER NOT NULL, l2_write_allocate_lines INTEGER NOT NULL, "
		"l2_write_back_lines INTEGER NOT NULL, l3_read_lines INTEGER NOT NULL, "
		"l3_write_allocate_lines INTEGER NOT NULL, l3_write_back_lines INTEGER NOT NULL, "
		"l3_clean_victim_lines INTEGER NOT NULL, mem_read_lines INTEGER NOT NULL, "
		"mem_write_allocate_lines INTEGER NOT NULL, mem_write_back_lines INTEGER NOT NULL, "
		"mem_non_temporal_lines INTEGER NOT NULL, mem_evadable_lines INTEGER NOT NULL, "
		"mem_left_lines INTEGER NOT NULL) STRICT",
		traffic_columns, profile_traffic, traffic),
	[OBJECTS] =
		NEW_TABLE(4, "objects",
			  ID
			  "kind INTEGER NOT NULL, name TEXT NOT NULL, "
			  "module_id INTEGER REFERENCES modules(id), code_offset INTEGER NOT NULL, "
			  "file TEXT NOT NULL, line INTEGER NOT NULL, size_bytes INTEGER NOT NULL, "
			  "allocations INTEGER NOT NULL) STRICT",
			  object_columns, profile_object, objects),
	[OBJECT_TRAFFIC] = DETAIL(
		4, "object_traffic",
		ID "object_id INTEGER NOT NULL REFERENCES objects(id), " PLACE
		   "mem_read_lines INTEGER NOT NULL, mem_write_allocate_lines INTEGER NOT NULL, "
		   "mem_write_lines INTEGER NOT NULL) STRICT",
		object_traffic_columns, profile_object_traffic, object_traffic),
	[STRIDES] = DETAIL(4, "strides",
			   ID PLACE
			   "unit_steps INTEGER NOT NULL, constant_steps INTEGER NOT NULL, "
			   "random_steps INTEGER NOT NULL, step_bytes INTEGER NOT NULL, "
			   "fetched_bytes INTEGER NOT NULL, used_bytes INTEGER NOT NULL) STRICT",
			   stride_columns, profile_stride, strides),
	[WORKING_SETS] =
		DETAIL(4, "working_sets",
		       ID PLACE "capacity_bytes INTEGER NOT NULL, read_lines INTEGER NOT NULL, "
				"write_lines INTEGER NOT NULL) STRICT",
		       working_set_columns, profile_working_set, working_sets),
	[COUNTERS] =
		NEW_TABLE(5, "counters",
			  ID
			  "quantity TEXT NOT NULL, event TEXT NOT NULL, "
			  "multiplier REAL NOT NULL, use INTEGER NOT NULL, events REAL NOT NULL, "
			  "counted_share REAL NOT NULL, missing_share REAL NOT NULL, samples "
			  "INTEGER NOT NULL, "
			  "why TEXT NOT NULL) STRICT",
			  counter_columns, profile_counter, counters),
	[COUNTER_PLACES] = DETAIL(5, "counter_places",
				  ID "counter_id INTEGER NOT NULL REFERENCES counters(id), "
				     "thread_id INTEGER NOT NULL REFERENCES threads(id), module_id "
				     "INTEGER REFERENCES modules(id), "
				     "code_offset INTEGER NOT NULL, samples INTEGER NOT NULL, "
				     "events REAL NOT NULL) STRICT",
				  counter_place_columns, profile_counter_place, counter_places),
	[LINES] = DETAIL(
		5, "lines",
		ID
		"module_id INTEGER NOT NULL REFERENCES modules(id), "
		"start_offset INTEGER NOT NULL, end_offset INTEGER NOT NULL, file TEXT NOT NULL, "
		"line INTEGER NOT NULL) STRICT",
		line_columns, profile_line, lines),
	[INLINED_FUNCTIONS] =
		DETAIL(6, "inlined_functions",
		       ID "module_id INTEGER NOT NULL REFERENCES modules(id), name TEXT NOT NULL, "
			  "file TEXT NOT NULL, "
			  "line INTEGER NOT NULL) STRICT",
		       inlined_function_columns, profile_inlined_function, inlined_functions),
	[INLINED_CALLS] = DETAIL(6, "inlined_calls",
				 ID "parent_id INTEGER REFERENCES inlined_calls(id), "
				    "inlined_function_id INTEGER NOT NULL REFERENCES "
				    "inlined_functions(id), file TEXT NOT NULL, "
				    "line INTEGER NOT NULL) STRICT",
				 inlined_call_columns, profile_inlined_call, inlined_calls),
	[INLINED_CODE] =
		DETAIL(6, "inlined_code",
		       ID "module_id INTEGER NOT NULL REFERENCES modules(id), "
			  "start_offset INTEGER NOT NULL, end_offset INTEGER NOT NULL, "
			  "inlined_call_id INTEGER NOT NULL REFERENCES inlined_calls(id)) STRICT",
		       inlined_code_columns, profile_inlined_code, inlined_code),
	[SUMS] =
		SUM("sums",
		    ID "function_id INTEGER REFERENCES functions(id), "
		       "module_id INTEGER REFERENCES modules(id), uncounted INTEGER NOT NULL, "
		       "concurrency REAL NOT NULL, "
		       "thread_id INTEGER REFERENCES threads(id), flop INTEGER NOT NULL, "
		       "flop_unmasked INTEGER NOT NULL, "
		       "load_bytes INTEGER NOT NULL, store_bytes INTEGER NOT NULL, nt_store_bytes "
		       "INTEGER NOT NULL, "
		       "string_bytes INTEGER NOT NULL, load_instructions INTEGER NOT NULL, "
		       "store_instructions INTEGER NOT NULL, instructions INTEGER NOT NULL) STRICT",
		    sum_columns, profile_sum, sums),
	[SUM_CLASSES] = SUM(
		"sum_classes",
		ID "sum_id INTEGER NOT NULL REFERENCES sums(id), "
		   "other_instructions INTEGER NOT NULL, move_instructions INTEGER NOT NULL, "
		   "integer_instructions INTEGER NOT NULL, fp_arith_instructions INTEGER NOT NULL, "
		   "fp_move_instructions INTEGER NOT NULL, branch_instructions INTEGER NOT NULL, "
		   "call_instructions INTEGER NOT NULL, return_instructions INTEGER NOT NULL, "
		   "string_instructions INTEGER NOT NULL, nop_instructions INTEGER NOT NULL, "
		   "system_instructions INTEGER NOT NULL) STRICT",
		sum_classes_columns, profile_sum_classes, sum_classes),
	[SUM_FLOP] = SUM("sum_flop",
			 ID "sum_id INTEGER NOT NULL REFERENCES sums(id), kind INTEGER NOT NULL, "
			    "precision INTEGER NOT NULL, "
			    "width INTEGER NOT NULL, flop INTEGER NOT NULL) STRICT",
			 sum_flop_columns, profile_sum_flop, sum_flop),
	[SUM_THREADS] = SUM("sum_threads",
			    ID "sum_id INTEGER NOT NULL REFERENCES sums(id), thread_id INTEGER NOT "
			       "NULL REFERENCES threads(id), flop "
			       "INTEGER NOT NULL, load_bytes INTEGER NOT NULL, store_bytes INTEGER "
			       "NOT NULL, instructions INTEGER "
			       "NOT NULL) STRICT",
			    sum_thread_columns, profile_sum_thread, sum_threads),
	[SUM_TIMES] = SUM("sum_times",
			  ID "sum_id INTEGER NOT NULL REFERENCES sums(id), thread_id INTEGER NOT "
			     "NULL REFERENCES threads(id), "
			     "samples INTEGER NOT NULL, time_ns INTEGER NOT NULL) STRICT",
			  sum_time_columns, profile_sum_time, sum_times),
	[SUM_TRAFFIC] = SUM("sum_traffic",
			    ID "sum_id INTEGER NOT NULL REFERENCES sums(id), "
			       "size_bytes INTEGER NOT NULL, lines BLOB NOT NULL) STRICT",
			    sum_traffic_columns, profile_sum_traffic, sum_traffic),
	[SUM_OBJECTS] = SUM(
		"sum_objects",
		ID
		"sum_id INTEGER NOT NULL REFERENCES sums(id), "
		"object_id INTEGER NOT NULL REFERENCES objects(id), mem_read_bytes REAL NOT NULL, "
		"mem_write_bytes REAL NOT NULL) STRICT",
		sum_object_columns, profile_sum_object, sum_objects),
	[SUM_STRIDES] = SUM("sum_strides",
			    ID "sum_id INTEGER NOT NULL REFERENCES sums(id), "
			       "unit_steps INTEGER NOT NULL, constant_steps INTEGER NOT NULL, "
			       "random_steps INTEGER NOT NULL, "
			       "step_bytes INTEGER NOT NULL, fetched_bytes INTEGER NOT NULL, "
			       "used_bytes INTEGER NOT NULL) STRICT",
			    sum_stride_columns, profile_sum_stride, sum_strides),
	[SUM_WORKING_SETS] =
		SUM("sum_working_sets",
		    ID "sum_id INTEGER NOT NULL REFERENCES sums(id), "
		       "capacity_bytes INTEGER NOT NULL, read_bytes REAL NOT NULL, write_bytes "
		       "REAL NOT NULL) STRICT",
		    sum_working_set_columns, profile_sum_working_set, sum_working_sets),
	[SUM_QUANTITIES] = SUM("sum_quantities",
			       ID "sum_id INTEGER NOT NULL REFERENCES sums(id), "
				  "counter_id INTEGER NOT NULL REFERENCES counters(id), samples "
				  "INTEGER NOT NULL, value REAL NOT NULL, "
				  "events REAL NOT NULL, variance REAL NOT NULL) STRICT",
			       sum_quantity_columns, profile_sum_quantity, sum_quantities),
};

const char profile_views[] =
	"CREATE INDEX functions_by_place ON functions(module_id, start_offset);"
	"CREATE VIEW frame_functions AS SELECT frames.id AS frame_id, (SELECT f.id FROM functions "
	"f "
	"WHERE f.module_id = frames.module_id AND f.start_offset <= frames.code_offset "
	"ORDER BY f.start_offset DESC LIMIT 1) AS function_id FROM frames;"
	"CREATE VIEW function_times AS SELECT f.id AS function_id, f.name, m.name AS module, "
	"count(*) AS samples, sum(t.weight_ns) / 1e9 AS time_s FROM samples t "
	"JOIN frame_functions ff ON ff.frame_id = t.frame_id JOIN functions f ON f.id = "
	"ff.function_id "
	"JOIN modules m ON m.id = f.module_id GROUP BY f.id ORDER BY time_s DESC;"
	"CREATE VIEW block_executions AS SELECT b.id AS block_id, m.name AS module, "
	"b.start_offset, "
	"b.size_bytes, sum(c.executions) AS executions FROM counts c JOIN blocks b "
	"ON b.id = c.block_id JOIN modules m ON m.id = b.module_id GROUP BY b.id;";

size_t *profile_table_count(const struct profile *profile, const struct table *table)
{
	return (size_t *)((char *)profile + table->n_items);
}

void **profile_table_items(const struct profile *profile, const struct table *table)
{
	return (void **)((char *)profile + table->items);
}

char *profile_column_list(const char *head, const struct table *table, const char *tail)
{
	sqlite3_str *text = sqlite3_str_new(NULL);
	sqlite3_str_appendall(text, head);
	sqlite3_str_appendall(text, "id");
	for (size_t i = 0; i < table->n_columns; i++)
		sqlite3_str_appendf(text, ", %s", table->columns[i].name);
	sqlite3_str_appendall(text, tail);
	return sqlite3_str_finish(text);
}

/* SQLite takes ":memory:" and "file:…" for something else than a file's name. */
char *profile_sqlite_path(const char *path)
{
	return sqlite3_mprintf("%s%s", path[0] == '/' ? "" : "./", path);
}

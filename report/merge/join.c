/* What the counted run knows is appended to what the timed run knows; modules, functions and names
 * are found again. */
#include "report/merge/join.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/page_walk_order.h"
#include "report/account/account_sums.h"
#include "report/merge/rows.h"
#include "report/model/model.h"

#include <stdlib.h>
#include <string.h>

/* ---- whether they belong together ---- */

static struct rf_error *differ(const char *what, const char *time, const char *count,
			       const char *time_path, const char *count_path)
{
	return rf_error_create(RF_EINPUT, "record both of the same program, in the same way",
			       "%s and %s have another %s: %.200s, %.200s", time_path, count_path,
			       what, time, count);
}

static struct rf_error *check_fact(const struct profile *time, const char *time_path,
				   const struct profile *count, const char *count_path,
				   const char *key, const char *what)
{
	const char *a = profile_get_fact(time, key) ?: "none",
		   *b = profile_get_fact(count, key) ?: "none";
	return strcmp(a, b) == 0 ? NULL : differ(what, a, b, time_path, count_path);
}

static struct rf_error *check_kind(const struct profile *profile, const char *path,
				   const char *kind)
{
	if (profile_fact_is(profile, "run_kind", kind))
		return NULL;
	return rf_error_create(RF_EINPUT,
			       "rfprof join TIMED COUNTED, of --run=time and --run=count",
			       "%s is not of a run with --run=%s", path, kind);
}

static const struct profile_module *find_module(const struct profile *profile, const char *path)
{
	for (size_t i = 0; i < profile->n_modules; i++)
		if (strcmp(profile->modules[i].path, path) == 0)
			return &profile->modules[i];
	return NULL;
}

/* Code that both have must be the same. */
static struct rf_error *check_code(const struct profile *time, const char *time_path,
				   const struct profile *count, const char *count_path)
{
	for (size_t i = 0; i < time->n_modules; i++) {
		const struct profile_module *a = &time->modules[i],
					    *b = find_module(count, a->path);
		if (b && strcmp(a->build_id, b->build_id) != 0)
			return rf_error_create(RF_EINPUT, "record both with the same build",
					       "%s and %s are of different builds of %s: %s, %s",
					       time_path, count_path, a->path, a->build_id,
					       b->build_id);
	}
	return NULL;
}

static struct rf_error *check(const struct profile *time, const char *time_path,
			      const struct profile *count, const char *count_path)
{
	return check_kind(time, time_path, "time") ?: check_kind(count, count_path, "count")
	       ?: check_fact(time, time_path, count, count_path, "command", "command line")
	       ?: check_fact(time, time_path, count, count_path, "rank", "rank")
	       ?: check_fact(time, time_path, count, count_path, "rank_size", "number of ranks")
	       ?: check_code(time, time_path, count, count_path);
}

/* ---- rows ---- */

/* Functions of code that was made at run time are numbered in each profile by themselves. */
static struct rf_error *check_made_code(const struct profile *time, const struct profile *count)
{
	return find_module(time, "[jit]") && find_module(count, "[jit]")
		       ? rf_error_create(RF_EINPUT, "run both in one command: rfprof PROGRAM",
					 "code that the program made at run time cannot be told "
					 "again in another job")
		       : NULL;
}

/* Its own functions, as of the counted run's code; those of the timed run that lie in no other
 * stay. */
static struct rf_error *add_shared(struct row_merger *merger, const struct profile *count)
{
	return row_merger_know_table(merger, MODULES) ?: row_merger_add_table(merger, count, MODULES)
	       ?: row_merger_know_table(merger, FUNCTIONS) ?: row_merger_add_table(merger, count, FUNCTIONS)
	       ?: row_merger_know_table(merger, UNCOUNTED) ?: row_merger_add_table(merger, count, UNCOUNTED);
}

static struct rf_error *add_counted(struct row_merger *merger, const struct profile *count)
{
	static const enum table_id tables[] = {THREADS,       BLOCKS,       COUNTS,
					       UNITS,         PROCESSES,    NATIVE_THREADS,
					       TRAFFIC,       OBJECTS,      OBJECT_TRAFFIC,
					       STRIDES,       WORKING_SETS, SHARED_LINES,
					       SHARED_PLACES, SYSTEM_CALLS, OTHER_TRAFFIC,
					       PAGE_WALKS};
	struct rf_error *error = NULL;
	for (size_t i = 0; !error && i < sizeof(tables) / sizeof(*tables); i++)
		error = row_merger_append_table(merger, count, tables[i]);
	return error;
}

/* ---- lines and inlined calls: of modules that were counted, those of the counted run ---- */

/* Modules of the joined profile that have code there. */
static bool *counted_modules(const struct row_merger *merger, const struct profile *count)
{
	bool *counted = calloc(merger->into->n_modules + 1, sizeof(*counted));
	for (size_t i = 0; counted && i < count->n_blocks; i++)
		counted[merger->row_of[MODULES][count->blocks[i].module]] = true;
	return counted;
}

static int compare_inlined(const void *a, const void *b)
{
	const struct profile_inlined_code *x = a, *y = b;
	return rf_compare(x->module, y->module) ?: rf_compare(x->start, y->start);
}

static void drop_lines(struct profile *time, const bool *counted)
{
	size_t n_lines = 0, n_inlined = 0;
	for (size_t i = 0; i < time->n_lines; i++)
		if (counted[time->lines[i].module])
			free(time->lines[i].file);
		else
			time->lines[n_lines++] = time->lines[i];
	for (size_t i = 0; i < time->n_inlined_code; i++)
		if (!counted[time->inlined_code[i].module])
			time->inlined_code[n_inlined++] = time->inlined_code[i];
	time->n_lines = n_lines;
	time->n_inlined_code = n_inlined;
}

static struct rf_error *add_lines(struct row_merger *merger, struct profile *time,
				  const struct profile *count)
{
	bool *counted = counted_modules(merger, count);
	if (!counted)
		return rf_error_no_memory();
	drop_lines(time, counted);
	free(counted);
	struct rf_error *error = row_merger_append_table(merger, count, LINES)
		?: row_merger_append_table(merger, count, INLINED_FUNCTIONS)
		?: row_merger_append_table(merger, count, INLINED_CALLS)
		?: row_merger_append_table(merger, count, INLINED_CODE);
	if (!error && time->n_inlined_code)
		qsort(time->inlined_code, time->n_inlined_code, sizeof(*time->inlined_code),
		      compare_inlined);
	return error;
}

/* ---- facts ---- */

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* What the counted run says of itself. */
static bool is_counted_fact(const char *key)
{
	static const char *const starts[] = {"work_",      "traffic_",       "other_",
					     "counted_",   "counts_",        "translat",
					     "hot_blocks", "object_classes", "sharing_",
					     "untraced",   "allocations_"};
	bool is = strcmp(key, "tlb") == 0;
	for (size_t i = 0; i < sizeof(starts) / sizeof(*starts); i++)
		is |= begins_with(key, starts[i]);
	return is;
}

static void join_facts(struct profile *time, const struct profile *count)
{
	const char *kernel = profile_get_fact(time, "cpu_model"),
		   *other = profile_get_fact(count, "cpu_model");
	const char *status = profile_get_fact(time, "exit_status"),
		   *again = profile_get_fact(count, "exit_status");
	profile_set_fact(time, "exit_same", "%s",
			 status && again && strcmp(status, again) == 0 ? "same" : "different");
	for (size_t i = 0; i < count->n_facts; i++) {
		const struct profile_fact *fact = &count->facts[i];
		if (begins_with(fact->key, "note."))
			profile_add_note(time, "%s", fact->value);
		else if (is_counted_fact(fact->key) && fact_kind(fact->key))
			profile_set_fact(time, fact->key, "%s", fact->value);
	}
	if (kernel && other && strcmp(kernel, other) != 0)
		profile_add_note(time,
				 "it was counted on another processor (%s): a program may choose "
				 "other code there",
				 other);
	profile_set_fact(time, "run_kind", "joined");
}

struct rf_error *join_runs(struct profile *time, const char *time_path, const struct profile *count,
			   const char *count_path)
{
	struct row_merger merger;
	struct rf_error *error =
		check(time, time_path, count, count_path) ?: check_made_code(time, count);
	if (error)
		return error;
	row_merger_init(&merger, time);
	error = row_merger_begin(&merger, count) ?: add_shared(&merger, count) ?: add_counted(&merger, count)
		?: add_lines(&merger, time, count);
	row_merger_deinit(&merger);
	if (error)
		return error;
	join_facts(time, count);
	page_walk_order(time);
	return profile_match_processes(time) ?: model_summarise(time) ?: account_summarise(time);
}

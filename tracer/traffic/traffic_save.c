/* Turns what the simulation has counted into tables and facts of the profile. */
#include "tracer/traffic/traffic_save.h"

#include "base/array.h"
#include "base/search.h"
#include "profile/page_walk_order.h"
#include "profile/profile_kernels.h"
#include "tracer/objects/objects_save.h"
#include "tracer/traffic/account_rows.h"
#include "tracer/traffic/sharing_save.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- facts ---- */

void traffic_save_untraced(struct profile *profile, const char *why)
{
	profile_set_fact(profile, "traffic_source", "none");
	profile_set_fact(profile, "traffic_why", "%s", why);
}

void traffic_save_geometry(struct profile *profile, const struct geometry *geometry)
{
	char *text = geometry_print(geometry);
	profile_set_fact(profile, "traffic_source", "traced");
	profile_set_fact(profile, "traffic_geometry", "%s", text ? text : "");
	profile_set_fact(profile, "traffic_geometry_source", "%s",
			 geometry_source_name(geometry->source));
	profile_set_fact(profile, "traffic_policy", "%s", geometry->policy);
	free(text);
}

void traffic_save_other_geometry(struct profile *profile, const struct geometry *geometry)
{
	char *text = geometry_print(geometry);
	profile_set_fact(profile, "other_geometry", "%s", text ? text : "");
	profile_set_fact(profile, "other_machine", "%s", geometry->policy);
	profile_set_fact(profile, "other_line_bytes", "%u", geometry->line);
	if (geometry->write_through)
		profile_set_fact(profile, "other_write_through", "1");
	free(text);
}

/* How many classes the counts are of; objects are counted in those alone that are kept in any case.
 */
static void save_classes(const struct class_stages *stages, struct profile *profile)
{
	const int n = __builtin_popcountll(class_stages_sample(stages));
	const int at_first = __builtin_popcountll(class_stages_first(stages));
	profile_set_fact(profile, "traffic_classes", "%d", n);
	profile_set_fact(profile, "object_classes", "%d",
			 __builtin_popcountll(class_stages_kept(stages)));
	if (n < at_first)
		profile_set_fact(profile, "traffic_halved",
				 "%d/%d of the sets were simulated instead of %d/%d, for more "
				 "would have slowed the "
				 "program down (--cache-sample=%d simulates those all the same)",
				 n, CACHE_CLASSES, at_first, CACHE_CLASSES,
				 CACHE_CLASSES / at_first);
}

/* Where accesses were checked in windows of time: for which part of the code that ran, by bytes. */
static void save_windows(const struct simulation *simulation, const struct executions *executions,
			 struct profile *profile)
{
	double all = 0, checked = 0;
	for (size_t i = 0; i < executions->n_items && simulation->first_touches; i++) {
		const struct counted_code *code = &executions->items[i];
		all += (double)code->size * (double)code->n;
		checked += (double)code->size * (double)code->checked;
	}
	if (checked <= 0 || (!simulation->window && !executions->is_part))
		return;
	const double untraced = profile_number_fact(profile, "untraced_accesses", 0);
	if (untraced > 0) /* it is counted in windows alone */
		profile_set_fact(profile, "untraced_accesses", "%.0f", untraced * all / checked);
	if (executions->is_part)
		profile_set_fact(profile, "traffic_windows",
				 "accesses to memory were traced in the whole run, also where it "
				 "was not measured; an execution of code within the span is taken "
				 "to move as much as in the mean of all");
	else
		profile_set_fact(profile, "traffic_windows",
				 "accesses to memory were traced in %llu windows of time, for "
				 "%.2g %% of the code that ran; the rest is taken to be alike "
				 "(--slowdown=none traces all)",
				 (unsigned long long)simulation->window, 100 * checked / all);
}

static void save_effort(const struct simulation *simulation, const struct traffic_account *account,
			bool memory_short, struct profile *profile)
{
	const unsigned long long n_lost =
		hierarchy_lost(simulation->hierarchy) +
		(simulation->other ? other_caches_lost(simulation->other) : 0);
	const unsigned long long n_unknown = account->n_unknown;
	profile_set_fact(profile, "traffic_records", "%llu",
			 (unsigned long long)account->n_records);
	profile_set_fact(profile, "traffic_simulation_s", "%.3f", account->spent_s);
	if (n_unknown || n_lost || memory_short)
		profile_set_fact(profile, "traffic_incomplete",
				 "%llu records of no known instruction, "
				 "%llu accesses not simulated%s",
				 n_unknown, n_lost,
				 memory_short ? ", and rfprof was out of memory" : "");
}

/* ---- tables ---- */

struct save {
	struct simulation *simulation;
	struct profile *profile;
	const struct executions *executions;
	struct space *space; /* whose objects are saved */
	struct rf_error *error;
};

static uint32_t module_row(void *context, uint32_t module)
{
	const struct save *save = context;
	return object_world_module(save->space->world, module, save->profile);
}

static void instruction(void *context, uint32_t who, uint32_t *module, uint64_t *offset)
{
	const struct save *save = context;
	accounts_instruction(save->simulation->accounts, who, module, offset);
}

/* As in struct profile_count. */
static uint32_t kernel_of(const struct save *save, uint32_t who)
{
	const struct kernel_share *share =
		profile_share(save->profile, accounts_thread(save->simulation->accounts, who));
	return share ? share->kernel + 1 : 0;
}

static double factor_of(void *context, uint32_t who, bool written)
{
	const struct save *save = context;
	double factors[N_OPEN];
	account_rows_factors(save->simulation->accounts, save->executions, who, factors);
	return factors[accounts_open_of(written ? TRAFFIC_MEM_WRITE_BACK : TRAFFIC_MEM_READ)];
}

/* What refers to objects comes behind them. */
static void keep_row(void *context, uint32_t object, uint32_t row)
{
	const struct save *save = context;
	struct space *space = save->space;
	if (rf_array_reach((void **)&space->rows, &space->n_rows, object, sizeof(*space->rows)))
		space->rows[object] = row + 1;
}

static struct rf_error *save_objects(struct save *save)
{
	uint64_t unseen = 0;
	for (size_t i = 0; i < save->simulation->n_spaces; i++) {
		struct space *space = &save->simulation->spaces[i];
		const struct objects_rows rows = {
			save, module_row, instruction, factor_of, save->simulation->kept, keep_row};
		save->space = space;
		struct rf_error *error =
			space->objects ? objects_save(space->objects, save->profile, &rows) : NULL;
		if (error)
			return error;
		unseen += space->calls.n_unseen;
	}
	if (unseen)
		profile_set_fact(save->profile, "allocations_unseen", "%llu",
				 (unsigned long long)unseen);
	return NULL;
}

/* ---- lines that threads share ---- */

static double executions_in(void *context, uint32_t thread, uint32_t module, uint64_t offset)
{
	const struct save *save = context;
	double n = executions_of(save->executions, thread, module, offset);
	for (uint32_t i = 0; i < save->profile->n_kernel_shares; i++)
		if (save->profile->kernel_shares[i].thread == thread)
			n += executions_of(save->executions, KERNEL_SHARES + i, module, offset);
	return n;
}

static bool bias_in(void *context, uint32_t space, uint32_t module, uint64_t *bias)
{
	const struct save *save = context;
	const struct space *known = simulation_space(save->simulation, space);
	return known && known->world &&
	       object_world_bias(known->world, save->profile, module, bias);
}

static struct data_place place_in(void *context, uint32_t space, uint64_t address)
{
	const struct save *save = context;
	return simulation_place(save->simulation, space, address);
}

static uint32_t object_row(void *context, uint32_t space, uint32_t object)
{
	const struct save *save = context;
	const struct space *known = simulation_space(save->simulation, space);
	return known && object < known->n_rows ? known->rows[object] - 1 : PROFILE_NONE;
}

/* Their objects are told of in any case. */
static void want_objects(const struct save *save, const struct shared_lines *lines)
{
	for (size_t i = 0; i < lines->n_items; i++) {
		const struct shared_line *line = &lines->items[i];
		const struct space *space = simulation_space(save->simulation, line->space);
		for (size_t k = 0; space && k < line->n_places; k++)
			objects_want(space->objects, line->places[k].place.object);
	}
}

static struct rf_error *save_objects_and_sharing(struct save *save)
{
	const struct sharing_run run = {save, instruction, executions_in, bias_in, place_in};
	struct shared_lines lines;
	struct rf_error *error =
		shared_lines_find(save->simulation->sharing, save->profile, &run, &lines);
	if (error)
		return error;
	want_objects(save, &lines);
	const uint64_t lost = sharing_lost(save->simulation->sharing);
	if (lost)
		profile_set_fact(save->profile, "sharing_lost", "%llu", (unsigned long long)lost);
	error = save_objects(save) ?: sharing_save(&lines, save->profile, object_row, save);
	shared_lines_deinit(&lines);
	return error;
}

/* ---- the TLB ---- */

/* One row for all threads of an instruction in a kernel. */
static void join_walks(struct profile *profile)
{
	size_t kept = 0;
	for (size_t i = 0; i < profile->n_page_walks; i++) {
		const struct profile_page_walk *row = &profile->page_walks[i];
		struct profile_page_walk *last = kept ? &profile->page_walks[kept - 1] : NULL;
		if (!last || page_walk_compare(last, row) != 0) {
			profile->page_walks[kept++] = *row;
			continue;
		}
		last->accesses += row->accesses;
		last->near_misses += row->near_misses;
		last->walks += row->walks;
	}
	profile->n_page_walks = kept;
}

static struct rf_error *save_walks(struct save *save)
{
	const struct simulation *simulation = save->simulation;
	struct profile *profile = save->profile;
	if (!simulation->tlb_pages[0] || simulation->walks_lost)
		return NULL;
	for (uint32_t who = 0; who < simulation->n_walks; who++) {
		const struct tlb_counts *counts = &simulation->walks[who];
		struct profile_page_walk row = {.accesses = counts->accesses,
						.near_misses = counts->near_misses,
						.walks = counts->walks};
		if (!row.accesses)
			continue;
		instruction(save, who, &row.module, &row.offset);
		row.kernel = kernel_of(save, who);
		if (!rf_array_push(profile->page_walks, profile->n_page_walks,
				   profile->cap_page_walks, row))
			return rf_error_no_memory();
	}
	page_walk_order(profile);
	join_walks(profile);
	profile_set_fact(profile, "tlb", "%u and %u pages of 4 KiB, the least recently used goes",
			 simulation->tlb_pages[0], simulation->tlb_pages[1]);
	return NULL;
}

/* ---- the rest ---- */

static void add_working_set(void *context, const struct working_set_row *row)
{
	struct save *save = context;
	struct profile *profile = save->profile;
	const double in = factor_of(save, row->who, false), out = factor_of(save, row->who, true);
	struct profile_working_set new = {.capacity = row->capacity,
					  .reads = (uint64_t)llround((double)row->reads * in),
					  .writes = (uint64_t)llround((double)row->writes * out)};
	instruction(save, row->who, &new.module, &new.offset);
	if (!save->error && !rf_array_push(profile->working_sets, profile->n_working_sets,
					   profile->cap_working_sets, new))
		save->error = rf_error_no_memory();
}

static struct rf_error *save_working_sets(struct save *save)
{
	working_set_rows(save->simulation->working_set, add_working_set, save);
	return save->error;
}

/* ---- another machine's caches ---- */

static bool is_empty(const struct other_bytes *bytes)
{
	for (int event = 0; event < OTHER_EVENTS; event++)
		if (bytes->events[event])
			return false;
	return !bytes->through;
}

/* A row for each instruction in each thread; readers add up those of one instruction. */
static struct rf_error *save_other(struct save *save)
{
	const struct other_caches *other = save->simulation->other;
	struct profile *profile = save->profile;
	const uint32_t n = other ? other_caches_accounts(other) : 0;
	for (uint32_t who = 0; who < n; who++) {
		const struct other_bytes bytes = other_caches_bytes(other, who);
		struct profile_other_traffic row = {.write_through = bytes.through};
		if (is_empty(&bytes))
			continue;
		instruction(save, who, &row.module, &row.offset);
		row.kernel = kernel_of(save, who);
		memcpy(row.bytes, bytes.events, sizeof(row.bytes));
		if (!rf_array_push(profile->other_traffic, profile->n_other_traffic,
				   profile->cap_other_traffic, row))
			return rf_error_no_memory();
	}
	return NULL;
}

static struct rf_error *save_with(struct save *save)
{
	struct simulation *simulation = save->simulation;
	return account_rows_save(simulation->accounts, class_stages_sample(&simulation->stages),
				 simulation->concentration, save->executions, save->profile)
		       ?: save_objects_and_sharing(save)
		       ?: strides_save(simulation->strides, save->profile, instruction, save)
		       ?: store_pairs_save(simulation->store_pairs, save->profile, instruction, save)
		       ?: save_walks(save)
		       ?: save_working_sets(save) ?: save_other(save);
}

static struct rf_error *save_tables(struct simulation *simulation, const struct told_threads *told,
				    struct profile *profile)
{
	struct executions executions;
	struct save save = {.simulation = simulation,
			    .profile = profile,
			    .executions = &executions};
	struct rf_error *error = executions_init(&executions, profile, told);
	if (error)
		return error;
	save_windows(simulation, &executions, profile);
	error = save_with(&save);
	executions_deinit(&executions);
	return error;
}

void traffic_save(struct simulation *simulation, const struct traffic_account *account,
		  const struct told_threads *told, struct profile *profile)
{
	save_classes(&simulation->stages, profile);
	if (simulation->geometry.n_levels > 1)
		profile_set_fact(profile, "traffic_conflicts", "1");
	if (!simulation->by_line)
		profile_set_fact(profile, "traffic_prefetch", "1");
	struct rf_error *error = save_tables(simulation, told, profile);
	save_effort(simulation, account,
		    error || account->memory_short || accounts_incomplete(simulation->accounts) ||
			    working_set_lost(simulation->working_set) ||
			    conflicts_lost(simulation->conflicts),
		    profile);
	rf_error_destroy(error);
}

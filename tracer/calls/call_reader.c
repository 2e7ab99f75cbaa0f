/* From records to events, and from events to calls. */
#include "tracer/calls/call_reader.h"

#include "base/array.h"
#include "base/clock.h"
#include "base/search.h"
#include "tracer/calls/call_finder.h"
#include "tracer/calls/mapping_watch.h"
#include "tracer/schedule/kernel_sums.h"

#include <errno.h>

/* ---- breakpoints ---- */

static bool is_way_out(const struct call_place *place)
{
	return place->kind == PLACE_RETURN || place->kind == PLACE_BACK;
}

static void turn_kind(struct call_reader *reader, bool way_out, bool on)
{
	for (size_t i = 0; i < reader->places.n; i++) {
		const struct call_place *place = &reader->places.items[i];
		if (place->address && is_way_out(place) == way_out)
			call_breakpoints_turn(&reader->breakpoints, i, on);
	}
}

/* Wherever a return is seen, all entries are: one that was missed might make the return that of an
 * earlier call.  Switches between threads are seen as long as anything is. */
void call_reader_turn(struct call_reader *reader, bool on)
{
	if (on)
		call_breakpoints_turn_switches(&reader->breakpoints, true);
	turn_kind(reader, !on, on);
	turn_kind(reader, on, on);
	if (!on)
		call_breakpoints_turn_switches(&reader->breakpoints, false);
	reader->is_on = on;
}

/* ---- where calls return to ---- */

/* Moves the breakpoint of a place, and turns it on where others are. */
static bool move(struct call_reader *reader, size_t place, uint64_t address)
{
	if (!call_breakpoints_move(&reader->breakpoints, place, address))
		return false;
	if (reader->is_on)
		call_breakpoints_turn(&reader->breakpoints, place, true);
	return true;
}

static void watch_back(struct call_reader *reader, size_t number, uint64_t address)
{
	struct place_state *back = &reader->states[number];
	*back = (struct place_state){.address = address};
	back->is_refused = !move(reader, number, address);
	if (back->is_refused)
		return;
	reader->places.items[number].address = address;
	back->since = clock_now_ns();
}

/* Whether the end of a call is seen that begins at `time` and returns to that address. */
static enum call_end end_of(struct call_reader *reader, uint64_t address, uint64_t time)
{
	size_t i = 0;
	while (i < reader->places.n &&
	       (reader->places.items[i].kind != PLACE_BACK ||
		(reader->states[i].address && reader->states[i].address != address)))
		i++;
	if (i == reader->places.n || !address)
		return CALL_ENDS_UNSEEN;
	if (!reader->states[i].address)
		watch_back(reader, i, address);
	if (reader->states[i].is_refused)
		return CALL_ENDS_UNSEEN;
	return time < reader->states[i].since ? CALL_ENDS_EARLY : CALL_ENDS_SEEN;
}

bool call_reader_lacks_back(const struct call_reader *reader)
{
	bool is_wanted = false, has_one = false;
	for (size_t i = 0; i < reader->places.n; i++) {
		is_wanted |= call_place_ends_at_back(&reader->places.items[i]);
		has_one |= reader->states[i].address != 0;
	}
	return is_wanted && !has_one;
}

/* ---- records ---- */

static void add_event(struct call_reader *reader, struct call_event event)
{
	if (!rf_array_push(reader->events, reader->n_events, reader->cap_events, event))
		reader->memory_is_short = true;
}

void call_reader_mark(struct call_reader *reader, enum call_event_kind kind, uint64_t time)
{
	add_event(reader, (struct call_event){.time = time, .kind = (uint8_t)kind});
}

static void count_hit(struct call_reader *reader, uint32_t pid, uint32_t tid)
{
	reader->all_hits++;
	for (size_t i = 0; i < reader->n_hits; i++)
		if (reader->hits[i].tid == tid) {
			reader->hits[i].n++;
			return;
		}
	if (!rf_array_push(reader->hits, reader->n_hits, reader->cap_hits,
			   ((struct thread_hits){pid, tid, 1})))
		reader->memory_is_short = true;
}

/* A process's clock is exact at any moment, a thread's sum that of the last tick.  Other processes'
 * clocks are not looked at: these are taken to run all the time. */
struct call_load call_reader_load(const struct call_reader *reader, uint64_t now)
{
	struct call_load load = {0, now > reader->cleared_ns ? now - reader->cleared_ns : 0};
	bool is_first = !reader->processes.n_items;
	for (size_t i = 0; i < reader->n_hits; i++)
		if (reader->hits[i].n > load.hits) {
			load.hits = reader->hits[i].n;
			is_first = reader->hits[i].pid == (uint32_t)reader->pid;
		}
	const uint64_t ran = is_first ? kernel_sums_ran(reader->pid) : 0;
	if (ran && reader->cleared_ran_ns && ran - reader->cleared_ran_ns < load.ran_ns)
		load.ran_ns = ran - reader->cleared_ran_ns;
	return load;
}

void call_reader_clear_hits(struct call_reader *reader)
{
	reader->n_hits = 0;
	reader->cleared_ns = clock_now_ns();
	reader->cleared_ran_ns = kernel_sums_ran(reader->pid);
}

struct read_context {
	struct call_reader *reader;
	const struct call_cpu *cpu;
};

static uint64_t return_address(const struct perf_record *record)
{
	uint64_t address = 0;
	if (record->stack_size >= sizeof(address))
		memcpy(&address, record->stack, sizeof(address));
	return address;
}

/* A kernel of that place cannot be watched. */
static void give_up(struct call_reader *reader, size_t number, const char *why)
{
	const struct call_place place = reader->places.items[number];
	for (size_t i = 0; i < reader->places.n; i++)
		if (reader->places.items[i].kind != PLACE_BACK &&
		    reader->places.items[i].entry == place.entry)
			call_breakpoints_turn(&reader->breakpoints, i, false);
	call_places_drop(&reader->places, place.entry);
	call_places_say_missing(&reader->places, reader->places.names[place.kernel], why);
}

/* The first call of a function with a loop next to its entry: the breakpoint moves from there to
 * the instruction that calls it.  The call has run more slowly until then, and is told as one that
 * has begun unseen. */
static void follow_call(struct call_reader *reader, size_t number, const struct perf_record *record)
{
	struct call_place *place = &reader->places.items[number];
	const uint64_t back = return_address(record);
	uint64_t call;
	if (!call_finder_call(reader->finder, place->entry, back, &call) ||
	    end_of(reader, back, record->time) == CALL_ENDS_UNSEEN) {
		give_up(reader, number,
			"a loop lies next to its entry, and would run slower with a breakpoint "
			"there");
		return;
	}
	place->kind = PLACE_CALL;
	place->address = call;
	place->back = back;
	if (!move(reader, number, call)) {
		give_up(reader, number, "the kernel does not move breakpoints");
		return;
	}
	reader->from_one_place |= (uint8_t)(1u << place->kernel);
	reader->states[number].since = clock_now_ns();
	add_event(reader, (struct call_event){.time = reader->states[number].since,
					      .mapped = record->time,
					      .tid = record->tid,
					      .kernel = place->kernel,
					      .ends_at_back = true,
					      .kind = CALL_UNSEEN});
}

static void add_back(struct call_reader *reader, const struct call_place *place,
		     struct call_event event)
{
	event.kind = CALL_BACK;
	for (size_t i = 0; i < reader->places.n; i++)
		if (reader->places.items[i].kind == PLACE_CALL &&
		    reader->places.items[i].back == place->address) {
			event.kernel = reader->places.items[i].kernel;
			event.ends_at_back = true;
		}
	add_event(reader, event);
}

static void add_hit(struct call_reader *reader, size_t number, const struct perf_record *record)
{
	const struct call_place *place = &reader->places.items[number];
	struct call_event event = {.time = record->time,
				   .sp = record->regs.sp,
				   .return_to = place->address,
				   .tid = record->tid,
				   .pid = record->pid,
				   .place = (uint8_t)number,
				   .kernel = place->kernel};
	if (place->kind == PLACE_BACK) {
		add_back(reader, place, event);
		return;
	}
	if (record->time < reader->states[number].since)
		return;
	event.mapped = reader->states[number].mapped;
	event.kind = place->kind == PLACE_RETURN ? CALL_RETURN : CALL_ENTRY;
	event.ends_at_back = call_place_ends_at_back(place);
	if (place->kind == PLACE_CALL) {
		event.sp -= sizeof(event.return_to); /* which is not there yet */
		event.return_to = place->back;
	} else if (place->kind != PLACE_RETURN) {
		event.return_to = return_address(record);
	}
	if (place->kind == PLACE_ENTRY_ALONE)
		event.end = (uint8_t)end_of(reader, event.return_to, event.time);
	add_event(reader, event);
}

static void take_hit(struct call_reader *reader, const struct call_cpu *cpu,
		     const struct perf_record *record)
{
	count_hit(reader, record->pid, record->tid);
	for (size_t i = 0; i < reader->places.n; i++)
		if (cpu->ids[i] == record->id && record->has_regs &&
		    reader->places.items[i].address == record->ip) { /* it may have been moved */
			if (reader->places.items[i].kind == PLACE_ENTRY_NEAR)
				follow_call(reader, i, record);
			else
				add_hit(reader, i, record);
			break;
		}
}

/* That a thread waits for something is nothing that is known of its call. */
static void take_switch(struct call_reader *reader, const struct perf_record *record)
{
	const bool is_out = record->misc & PERF_RECORD_MISC_SWITCH_OUT;
	if (!is_out || record->misc & PERF_RECORD_MISC_SWITCH_OUT_PREEMPT)
		add_event(reader,
			  (struct call_event){.time = record->time,
					      .tid = record->tid,
					      .kind = is_out ? CALL_PREEMPTED : CALL_RESUMED});
}

static void take_record(void *opaque, const void *bytes, size_t size)
{
	const struct read_context *context = opaque;
	struct call_reader *reader = context->reader;
	struct perf_record record;
	if (!perf_record_parse_hit(bytes, size, &record)) {
		reader->lost++;
		return;
	}
	if (record.type == PERF_RECORD_SAMPLE)
		take_hit(reader, context->cpu, &record);
	else if (record.type == PERF_RECORD_SWITCH)
		take_switch(reader, &record);
	else if (record.type == PERF_RECORD_FORK) /* a thread, or the first one of a process */
		add_event(reader, (struct call_event){.time = record.time,
						      .tid = record.tid,
						      .pid = record.pid,
						      .parent = record.parent_pid,
						      .kernel = record.pid == record.parent_pid
									? record.parent_tid
									: 0,
						      .kind = CALL_BORN});
	else if (record.type == PERF_RECORD_EXIT)
		add_event(reader, (struct call_event){.time = record.time,
						      .tid = record.tid,
						      .kind = CALL_ENDED});
	else if (record.type == PERF_RECORD_LOST || record.type == PERF_RECORD_THROTTLE)
		reader->lost++;
}

static int compare_events(const void *a, const void *b)
{
	const struct call_event *x = a, *y = b;
	return rf_compare(x->time, y->time) ?: rf_compare(x->kind, y->kind);
}

/* Hits in code that was mapped later are calls where that code is. */
static bool is_of_kernel(const struct call_reader *reader, const struct call_event *event)
{
	return event->kind < CALL_ENTRY || !event->mapped ||
	       call_processes_share(&reader->processes, event->pid, (uint32_t)reader->pid,
				    event->mapped);
}

static void hand_over(struct call_reader *reader, const struct call_event *event)
{
	if (event->kind == CALL_BORN && event->pid != event->parent)
		call_processes_add(&reader->processes, event->pid, event->parent, event->time);
	if (is_of_kernel(reader, event))
		call_pairs_take(&reader->pairs, event);
}

static bool read_records(struct call_reader *reader)
{
	const uint64_t lost = reader->lost;
	for (size_t i = 0; i < reader->breakpoints.n_cpus; i++) {
		struct call_cpu *cpu = &reader->breakpoints.cpus[i];
		struct read_context context = {reader, cpu};
		perf_ring_read(&cpu->ring, take_record, &context);
		reader->lost += cpu->ring.broken;
		cpu->ring.broken = 0;
	}
	return reader->lost == lost;
}

static void take_events(struct call_reader *reader, uint64_t now)
{
	if (reader->n_events)
		qsort(reader->events, reader->n_events, sizeof(*reader->events), compare_events);
	const size_t n = rf_search(reader->n_events, i, reader->events[i].time < now);
	for (size_t i = 0; i < n; i++)
		hand_over(reader, &reader->events[i]);
	reader->n_events -= n;
	if (n)
		memmove(reader->events, reader->events + n,
			reader->n_events * sizeof(*reader->events));
}

/* ---- libraries that are mapped later ---- */

/* Hits where other code was mapped meanwhile. */
static void forget_hits(struct call_reader *reader, size_t place, uint64_t since)
{
	size_t kept = 0;
	for (size_t i = 0; i < reader->n_events; i++) {
		const struct call_event *event = &reader->events[i];
		if (event->kind < CALL_ENTRY || event->place != place || event->time < since)
			reader->events[kept++] = *event;
	}
	reader->n_events = kept;
}

/* Breakpoints of places that are new or gone, of one kind: entries, or ways out. */
static void move_changed(struct call_reader *reader, const struct call_places *before, bool way_out)
{
	for (size_t i = 0; i < reader->places.n; i++) {
		const struct call_place *place = &reader->places.items[i];
		if (is_way_out(place) != way_out || place->address == before->items[i].address)
			continue;
		reader->states[i] = (struct place_state){0};
		if (before->items[i].address) {
			call_breakpoints_turn(&reader->breakpoints, i, false);
			forget_hits(reader, i,
				    mapping_watch_time(reader->mappings, before->items[i].address,
						       UINT64_MAX));
		}
		if (place->address)
			reader->states[i].is_refused = !move(reader, i, place->address);
	}
}

/* From when the function was mapped to `since` its calls could not be seen. */
static void note_new(struct call_reader *reader, const struct call_places *before, uint64_t since)
{
	for (size_t i = 0; i < reader->places.n; i++) {
		const struct call_place *place = &reader->places.items[i];
		if (place->kind == PLACE_BACK || place->address == before->items[i].address)
			continue;
		reader->states[i].since = reader->states[i].mapped = since;
		if (place->kind == PLACE_RETURN)
			continue;
		const uint64_t mapped =
			mapping_watch_time(reader->mappings, place->address, reader->looked_ns);
		add_event(reader,
			  (struct call_event){.time = since,
					      .mapped = mapped,
					      .tid = (uint32_t)reader->pid,
					      .kernel = place->kernel,
					      .ends_at_back = call_place_ends_at_back(place),
					      .kind = CALL_UNSEEN});
	}
}

static void drop_refused(struct call_reader *reader)
{
	for (size_t i = 0; i < reader->places.n; i++) {
		const struct call_place place = reader->places.items[i];
		if (place.kind == PLACE_BACK || !reader->states[i].is_refused)
			continue;
		give_up(reader, i, "the kernel does not move breakpoints");
	}
}

/* What the process has mapped since the last look.  Behind read_records, so that hits in what is
 * gone are known for what they are. */
static void look_at_mappings(struct call_reader *reader)
{
	if (!reader->mappings || !mapping_watch_read(reader->mappings))
		return;
	const struct call_places before = reader->places;
	const uint64_t now = clock_now_ns();
	call_finder_look(reader->finder, &reader->places);
	mapping_watch_read(reader->mappings);
	move_changed(reader, &before, false);
	move_changed(reader, &before, true);
	note_new(reader, &before, clock_now_ns());
	drop_refused(reader);
	mapping_watch_forget(reader->mappings, now);
	reader->looked_ns = now;
}

bool call_reader_read(struct call_reader *reader, uint64_t now)
{
	const bool all = read_records(reader);
	if (!all)
		call_reader_mark(reader, CALL_FORGET, now - 1);
	look_at_mappings(reader);
	take_events(reader, now);
	return all;
}

/* ---- what to wait for ---- */

/* The caller's, those of each processor's ring, and of each processor's mappings. */
size_t call_reader_n_polls(const struct call_reader *reader)
{
	return 2 * reader->breakpoints.n_cpus + 1;
}

size_t call_reader_fill_polls(const struct call_reader *reader, struct pollfd *polls)
{
	const size_t n = reader->breakpoints.n_cpus;
	for (size_t i = 0; i < n; i++) {
		const struct call_cpu *cpu = &reader->breakpoints.cpus[i];
		polls[i + 1] = (struct pollfd){cpu->has_ended ? -1 : cpu->threads, POLLIN, 0};
	}
	return 1 + n +
	       (reader->mappings ? mapping_watch_polls(reader->mappings, polls + n + 1, n) : 0);
}

void call_reader_take_polls(struct call_reader *reader, const struct pollfd *polls)
{
	for (size_t i = 0; i < reader->breakpoints.n_cpus; i++)
		reader->breakpoints.cpus[i].has_ended |=
			(polls[i + 1].revents & (POLLHUP | POLLERR)) != 0;
}

/* ---- begin and end ---- */

int call_reader_map(struct call_reader *reader)
{
	const int errnum = call_breakpoints_map(&reader->breakpoints);
	if (errnum)
		return errnum;
	reader->mappings = mapping_watch_create(reader->pid);
	return reader->mappings ? 0 : errno;
}

void call_reader_deinit(struct call_reader *reader)
{
	call_breakpoints_deinit(&reader->breakpoints);
	mapping_watch_destroy(reader->mappings);
	call_finder_destroy(reader->finder);
	call_processes_deinit(&reader->processes);
	call_pairs_deinit(&reader->pairs);
	free(reader->events);
	free(reader->hits);
}

/* Where all kernels have been found nothing that is mapped later is looked at. */
static struct rf_error *look_first(struct call_reader *reader)
{
	struct rf_error *error = call_finder_create(reader->pid, reader->kernels, &reader->finder);
	if (error)
		return error;
	call_finder_look(reader->finder, &reader->places);
	const bool is_more_to_come = call_finder_lacks(reader->finder);
	call_places_fill(&reader->places, is_more_to_come);
	mapping_watch_read(reader->mappings);
	reader->looked_ns = clock_now_ns();
	mapping_watch_forget(reader->mappings, reader->looked_ns);
	if (!is_more_to_come) {
		mapping_watch_destroy(reader->mappings);
		reader->mappings = NULL;
	}
	return NULL;
}

struct rf_error *call_reader_begin(struct call_reader *reader, uint64_t other)
{
	struct rf_error *error = look_first(reader);
	if (!error && !reader->places.n)
		error = rf_error_create(RF_EUNAVAILABLE, NULL, "%s", reader->places.why);
	return error ?: call_breakpoints_open(&reader->breakpoints, &reader->places, other);
}

void call_reader_end(struct call_reader *reader, uint64_t now)
{
	call_pairs_end(&reader->pairs, now);
	call_finder_say_missing(reader->finder, &reader->places);
	reader->memory_is_short |=
		reader->pairs.memory_is_short | reader->processes.memory_is_short;
}

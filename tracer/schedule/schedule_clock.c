/* Adds up how many threads ran, and when. */
#include "tracer/schedule/schedule_clock.h"

#include "base/array.h"

#include <stdlib.h>

/* The first width of a slice of the strip, doubled as the run goes on. */
enum { FIRST_SLICE_NS = 1 << 20 };

/* More threads than that at once are counted as so many. */
enum { MOST_RUNNING = 4096 };

void schedule_sums_init(struct schedule_sums *sums)
{
	*sums = (struct schedule_sums){.slice_ns = FIRST_SLICE_NS};
}

void schedule_sums_deinit(struct schedule_sums *sums)
{
	free(sums->running_ns);
	free(sums->switches);
	free(sums->window);
}

/* Half as many slices of twice the width. */
static void widen_slices(struct schedule_sums *sums)
{
	for (size_t i = 0; i < SCHEDULE_STRIP; i++) {
		const bool is_there = i < SCHEDULE_STRIP / 2;
		sums->busy_ns[i] = is_there ? sums->busy_ns[2 * i] + sums->busy_ns[2 * i + 1] : 0;
		sums->switching_ns[i] =
			is_there ? sums->switching_ns[2 * i] + sums->switching_ns[2 * i + 1] : 0;
	}
	sums->slice_ns *= 2;
}

/* The slices reach until `until` then. */
static void reach(struct schedule_sums *sums, uint64_t until)
{
	while (until - sums->start > SCHEDULE_STRIP * sums->slice_ns)
		widen_slices(sums);
}

/* So many threads ran, and switches took such a part of the time. */
static void add_to_strip(struct schedule_sums *sums, uint64_t from, uint64_t until, double running,
			 double switching)
{
	reach(sums, until);
	for (uint64_t at = from; at < until;) {
		const uint64_t slice = (at - sums->start) / sums->slice_ns;
		const uint64_t end = sums->start + (slice + 1) * sums->slice_ns;
		const uint64_t next = end < until ? end : until;
		sums->busy_ns[slice] += (uint64_t)((double)(next - at) * running);
		sums->switching_ns[slice] += (double)(next - at) * switching;
		at = next;
	}
}

/* There are levels up to `running` then; false: no memory. */
static bool reach_level(struct schedule_sums *sums, size_t running)
{
	const struct schedule_switches none = {0, 0};
	while (sums->n_running <= running)
		if (!rf_array_push(sums->running_ns, sums->n_running, sums->cap_running, 0))
			return false;
	while (sums->n_switches <= running)
		if (!rf_array_push(sums->switches, sums->n_switches, sums->cap_switches, none))
			return false;
	return true;
}

/* Where a level is short of time for what switches took there, others have some left. */
enum { MOST_MOVES = 4 };

static size_t level(size_t running)
{
	return running < MOST_RUNNING ? running : MOST_RUNNING;
}

void schedule_sums_add(struct schedule_sums *sums, uint64_t from, uint64_t until, size_t running,
		       bool ready)
{
	if (!sums->start)
		sums->start = from;
	if (reach_level(sums, level(running)))
		sums->running_ns[level(running)] += until - from;
	if (!running && ready)
		sums->idle_ready_ns += until - from;
	if (running)
		add_to_strip(sums, from, until, (double)running, 0);
}

void schedule_sums_switch(struct schedule_sums *sums, uint64_t time, size_t running, bool was_ready,
			  double ns)
{
	if (!sums->start || time < sums->start || !reach_level(sums, level(running)))
		return;
	struct schedule_switches *switches = &sums->switches[level(running)];
	switches->ns += ns;
	switches->ready_ns += was_ready ? ns : 0;
	reach(sums, time + 1);
	sums->switching_ns[(time - sums->start) / sums->slice_ns] += ns;
}

/* Of a level that was reached; others have been for no time. */
static struct schedule_level level_of(const struct schedule_sums *sums, size_t k)
{
	struct schedule_level of = {0};
	of.running_ns = k < sums->n_running ? sums->running_ns[k] : 0;
	if (k < sums->n_switches)
		of.switches = sums->switches[k];
	return of;
}

static size_t n_levels(const struct schedule_sums *sums)
{
	return sums->n_running > sums->n_switches ? sums->n_running : sums->n_switches;
}

void schedule_sums_begin_window(struct schedule_sums *sums)
{
	const size_t n = n_levels(sums);
	sums->n_window = 0;
	sums->window_idle_ready_ns = sums->idle_ready_ns;
	sums->has_window = true;
	for (size_t k = 0; sums->has_window && k < n; k++)
		sums->has_window = rf_array_push(sums->window, sums->n_window, sums->cap_window,
						 level_of(sums, k));
}

bool schedule_sums_end_window(struct schedule_sums *sums)
{
	const struct schedule_level none = {0};
	if (!sums->has_window)
		return false;
	while (sums->n_window < n_levels(sums))
		if (!rf_array_push(sums->window, sums->n_window, sums->cap_window, none))
			return false;
	for (size_t k = 0; k < sums->n_window; k++) {
		const struct schedule_level now = level_of(sums, k);
		struct schedule_level *added = &sums->window[k];
		added->running_ns = now.running_ns - added->running_ns;
		added->switches.ns = now.switches.ns - added->switches.ns;
		added->switches.ready_ns = now.switches.ready_ns - added->switches.ready_ns;
	}
	sums->window_idle_ready_ns = sums->idle_ready_ns - sums->window_idle_ready_ns;
	return true;
}

void schedule_sums_repeat(struct schedule_sums *sums, uint64_t from, uint64_t until,
			  uint64_t window_ns)
{
	const double factor = (double)(until - from) / (double)window_ns;
	double running = 0, switching = 0;
	uint64_t left = until - from;
	for (size_t k = sums->n_window; k-- > 0;) {
		const struct schedule_level *added = &sums->window[k];
		const double ns = (double)added->running_ns * factor;
		const uint64_t whole = k ? schedule_lesser((uint64_t)ns, left) : left;
		if (!reach_level(sums, k))
			continue;
		sums->running_ns[k] += whole;
		sums->switches[k].ns += added->switches.ns * factor;
		sums->switches[k].ready_ns += added->switches.ready_ns * factor;
		left -= whole;
		running += (double)k * (double)added->running_ns / (double)window_ns;
		switching += added->switches.ns / (double)window_ns;
	}
	sums->idle_ready_ns += (uint64_t)((double)sums->window_idle_ready_ns * factor);
	add_to_strip(sums, from, until, running, switching);
}

static uint64_t share(uint64_t ns, double part, double all)
{
	return all > 0 ? (uint64_t)((double)ns * part / all) : 0;
}

/* Up to `ns` from each level to the next one, by what switches took there; returns what found no
 * time to be moved. */
static uint64_t move_up(struct schedule_sums *sums, uint64_t ns, double all)
{
	uint64_t left = ns;
	/* from above, so that what comes to a level does not go on to the next one */
	for (size_t k = sums->n_running - 1; k-- > 0;) {
		const struct schedule_switches *switches = &sums->switches[k];
		const uint64_t moved =
			schedule_lesser(share(ns, switches->ns, all), sums->running_ns[k]);
		const uint64_t ready =
			schedule_lesser(share(moved, switches->ready_ns, switches->ns),
					sums->idle_ready_ns);
		sums->running_ns[k] -= moved;
		sums->running_ns[k + 1] += moved;
		if (k == 0)
			sums->idle_ready_ns -= ready;
		left -= moved;
	}
	return left;
}

void schedule_sums_lengthen(struct schedule_sums *sums, uint64_t ns)
{
	double all = 0;
	if (!sums->n_switches || !reach_level(sums, level(sums->n_switches)))
		return;
	for (size_t k = 0; k < sums->n_switches; k++)
		all += sums->switches[k].ns;
	uint64_t left = ns;
	for (int i = 0; i < MOST_MOVES && left > 0; i++)
		left = move_up(sums, left, all);
	sums->idle_ready_ns = schedule_lesser(sums->idle_ready_ns, sums->running_ns[0]);
	for (size_t i = 0; i < SCHEDULE_STRIP; i++)
		sums->busy_ns[i] += share(ns, sums->switching_ns[i], all);
}

void schedule_sums_shorten(struct schedule_sums *sums, uint64_t from, uint64_t until, uint64_t ns,
			   bool ready)
{
	if (until <= from || from < sums->start || sums->n_running < 2)
		return;
	const uint64_t moved =
		schedule_lesser(schedule_lesser(ns, until - from), sums->running_ns[1]);
	sums->running_ns[1] -= moved;
	sums->running_ns[0] += moved;
	sums->idle_ready_ns += ready ? moved : 0;
	reach(sums, until);
	for (uint64_t at = from; at < until;) {
		const uint64_t slice = (at - sums->start) / sums->slice_ns;
		const uint64_t next =
			schedule_lesser(sums->start + (slice + 1) * sums->slice_ns, until);
		const uint64_t less = share(moved, (double)(next - at), (double)(until - from));
		sums->busy_ns[slice] -= schedule_lesser(less, sums->busy_ns[slice]);
		at = next;
	}
}

/* From each level in the proportion of what threads ran there. */
void schedule_sums_steal(struct schedule_sums *sums, uint64_t ns)
{
	double busy = 0;
	for (size_t k = 1; k < sums->n_running; k++)
		busy += (double)k * (double)sums->running_ns[k];
	if (!ns || !(busy > 0))
		return;
	for (size_t k = 1; k < sums->n_running; k++) {
		const double part = (double)k * (double)sums->running_ns[k];
		const uint64_t moved = schedule_lesser(share(ns, part, busy), sums->running_ns[k]);
		sums->running_ns[k] -= moved;
		sums->running_ns[k - 1] += moved;
		sums->idle_ready_ns += k == 1 ? moved : 0;
	}
	for (size_t i = 0; i < SCHEDULE_STRIP; i++)
		sums->busy_ns[i] -= schedule_lesser(share(ns, (double)sums->busy_ns[i], busy),
						    sums->busy_ns[i]);
}

void schedule_sums_ready(struct schedule_sums *sums, double share_ready)
{
	if (!sums->n_running || sums->running_ns[0] < sums->idle_ready_ns)
		return;
	sums->idle_ready_ns +=
		(uint64_t)((double)(sums->running_ns[0] - sums->idle_ready_ns) * share_ready);
}

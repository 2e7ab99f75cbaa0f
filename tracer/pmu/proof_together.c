/* Counting events together, as a run would, around loops of known truth. */
#include "tracer/pmu/proof_together.h"

#include "base/clock.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

/* Long enough for the host to give its counters to others and back (it looks at them at each of its
 * ticks), and for each group to have its turns. */
enum { LONG_ENOUGH_NS = 6000000, TURNS_NS = 20000000 };

struct opened {
	int fd;
	unsigned group;
	size_t event;
};

struct together {
	const struct perf_source *source;
	const struct together_event *events;
	size_t n;
	struct event_groups groups;
	struct opened opened[EVENT_GROUPS_MAX * 2];
	size_t n_opened;
	char *why;
	size_t size;
};

struct reading {
	uint64_t value, enabled, running;
};

/* Cycles and instructions have counters of their own on Intel, and belong to every group, for
 * ratios; flop are one sum. */
struct group_wish event_wish(enum event_quantity quantity)
{
	switch (quantity) {
	case EVENT_INSTRUCTIONS:
		return (struct group_wish){.fixed = 0, .everywhere = true};
	case EVENT_CYCLES:
		return (struct group_wish){.fixed = 1, .everywhere = true};
	case EVENT_FLOP_HP:
	case EVENT_FLOP_SP:
	case EVENT_FLOP_DP:
	case EVENT_FLOP_ANY:
		return (struct group_wish){.fixed = -1, .formula = 1};
	default:
		return (struct group_wish){.fixed = -1};
	}
}

/* ---- opening ---- */

static bool open_one(struct together *together, size_t event, unsigned group, int *leader)
{
	struct perf_event_attr attr = together->events[event].attr;
	const size_t most = sizeof(together->opened) / sizeof(*together->opened);
	attr.size = sizeof(attr);
	attr.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	attr.disabled = *leader < 0;
	attr.exclude_kernel = attr.exclude_hv = 1;
	attr.precise_ip = 0; /* where a sample points changes nothing of a count */
	attr.sample_period = together->events[event].period;
	const int fd = together->n_opened < most ? together->source->open(together->source->context,
									  &attr, 0, -1, *leader)
						 : -1;
	if (fd < 0)
		return false;
	together->opened[together->n_opened++] = (struct opened){fd, group, event};
	if (*leader < 0)
		*leader = fd;
	return true;
}

static void close_all(struct together *together)
{
	while (together->n_opened > 0)
		together->source->close(together->source->context,
					together->opened[--together->n_opened].fd);
}

static bool open_all(struct together *together)
{
	for (unsigned group = 0; group < together->groups.n; group++) {
		int leader = -1;
		for (size_t i = 0; i < together->n; i++) {
			const bool in = event_wish(together->events[i].row->quantity).everywhere ||
					together->groups.group_of[i] == group;
			if (in && !open_one(together, i, group, &leader)) {
				close_all(together);
				return false;
			}
		}
	}
	return true;
}

static void control_leaders(const struct together *together, unsigned long request)
{
	for (size_t i = 0; i < together->n_opened; i++)
		if (i == 0 || together->opened[i].group != together->opened[i - 1].group)
			together->source->control(together->source->context, together->opened[i].fd,
						  request, 0);
}

/* Each event has the counters for itself for a moment, so that they change what they count before
 * the next attempt, as they do in a run where other programs are counted too. */
static void change_roles(const struct together *together)
{
	for (size_t i = 0; i < together->n; i++) {
		struct together one = {.source = together->source,
				       .events = &together->events[i],
				       .n = 1,
				       .groups = {.n = 1}};
		if (!open_all(&one))
			continue;
		control_leaders(&one, PERF_EVENT_IOC_ENABLE);
		control_leaders(&one, PERF_EVENT_IOC_DISABLE);
		close_all(&one);
	}
}

/* ---- counting ---- */

/* Runs the loop until the time is enough; how often.  The thread gives its processor away between:
 * the kernel then takes the events off the counters and puts them back, as it does in a run.  One
 * that is prepared for each run is counted in that run alone. */
static uint64_t run_counted(const struct together *together, struct proof_loop *loop)
{
	const uint64_t enough =
		together->groups.n > 1 ? together->groups.n * TURNS_NS : LONG_ENOUGH_NS;
	const bool again = loop->memory_size != 0;
	const uint64_t start = clock_now_ns();
	uint64_t runs = 0;
	do {
		if (loop->prepare && (again || runs == 0))
			loop->prepare(loop);
		if (again || runs == 0)
			control_leaders(together, PERF_EVENT_IOC_ENABLE);
		loop->run(loop);
		nanosleep(&(struct timespec){.tv_nsec = 1}, NULL);
		if (again)
			control_leaders(together, PERF_EVENT_IOC_DISABLE);
		runs++;
	} while (clock_now_ns() - start < enough);
	if (!again)
		control_leaders(together, PERF_EVENT_IOC_DISABLE);
	return runs;
}

/* The count of an event over its groups: of those that take turns, the sum over theirs. */
static bool read_event(const struct together *together, size_t event, double *value, bool *in_turns)
{
	struct reading sum = {0};
	for (size_t i = 0; i < together->n_opened; i++) {
		struct reading one = {0};
		if (together->opened[i].event != event)
			continue;
		if (together->source->read(together->source->context, together->opened[i].fd, &one,
					   sizeof(one)) != sizeof(one))
			return false;
		if (one.running && one.running >= one.enabled) {
			sum = one;
			break;
		}
		sum.value += one.value;
		sum.running += one.running;
		if (one.enabled > sum.enabled)
			sum.enabled = one.enabled;
	}
	if (sum.running == 0)
		return false;
	const bool part = sum.running < sum.enabled;
	*in_turns |= part;
	*value = (double)sum.value * (part ? (double)sum.enabled / (double)sum.running : 1.0);
	return true;
}

/* ---- judging ---- */

/* NULL: none is counted that is to be proved. */
static const char *first_of(const struct together *together, enum event_quantity quantity)
{
	for (size_t i = 0; i < together->n; i++)
		if (together->events[i].row->quantity == quantity && !together->events[i].unproved)
			return together->events[i].row->event;
	return NULL;
}

enum attempt { RIGHT, OFF, WRONG }; /* OFF: something may have disturbed */

/* The sum of a quantity against `runs` times the loop's truth. */
static enum attempt judge(struct together *together, const struct proof_loop *loop, uint64_t runs,
			  enum event_quantity quantity)
{
	double sum = 0;
	bool in_turns = false;
	const char *name = first_of(together, quantity);
	const double truth = loop->truth[quantity] * (double)runs;
	if (!name || isnan(truth) || truth == 0)
		return RIGHT;
	for (size_t i = 0; i < together->n; i++) {
		double value;
		if (together->events[i].row->quantity != quantity)
			continue;
		if (!read_event(together, i, &value, &in_turns)) {
			snprintf(together->why, together->size,
				 "%s was given no counter beside the other events",
				 together->events[i].row->event);
			return OFF;
		}
		sum += value * together->events[i].row->multiplier;
	}
	const double off = fabs(sum - truth) / truth;
	if (off <= (in_turns ? TOGETHER_IN_TURNS : PROOF_TOLERANCE))
		return RIGHT;
	snprintf(together->why, together->size,
		 "%s is right alone, but beside other events %.3g times the truth in %s", name,
		 sum / truth, loop->name);
	return off > TOGETHER_WRONG ? WRONG : OFF;
}

static enum attempt attempt(struct together *together, struct proof_loop *loop)
{
	enum attempt worst = RIGHT;
	change_roles(together);
	if (!open_all(together)) {
		snprintf(together->why, together->size, "the kernel does not count them together");
		return WRONG;
	}
	const uint64_t runs = run_counted(together, loop);
	for (enum event_quantity quantity = 0; quantity < N_EVENT_QUANTITIES; quantity++) {
		const enum attempt one = judge(together, loop, runs, quantity);
		worst = one > worst ? one : worst;
	}
	close_all(together);
	return worst;
}

/* Some attempt is right, and none is wrong.  A loop of memory, which is dear, is tried again only
 * where it was off. */
static bool loop_agrees(struct together *together, struct proof_loop *loop)
{
	bool right = false;
	for (int i = 0; i < PROOF_ATTEMPTS && !(right && loop->memory_size); i++) {
		const enum attempt found = attempt(together, loop);
		if (found == WRONG)
			return false;
		right |= found == RIGHT;
	}
	return right;
}

/* Whether a loop says something of a quantity that is counted and that no loop before it told. */
static bool is_new(const struct together *together, const struct proof_loop *loop,
		   bool told[N_EVENT_QUANTITIES])
{
	bool any = false;
	for (enum event_quantity quantity = 0; quantity < N_EVENT_QUANTITIES; quantity++)
		if (loop->truth[quantity] > 0 && !told[quantity] && first_of(together, quantity))
			any = told[quantity] = true;
	return any;
}

bool proof_together(const struct perf_source *source, const struct together_event *events, size_t n,
		    const struct counter_limits *limits, struct proof_loop *const *loops,
		    size_t n_loops, char *why, size_t size)
{
	struct together together = {
		.source = source, .events = events, .n = n, .why = why, .size = size};
	struct group_wish wishes[EVENT_GROUPS_MAX];
	bool told[N_EVENT_QUANTITIES] = {false};
	for (size_t i = 0; i < n; i++)
		wishes[i] = event_wish(events[i].row->quantity);
	if (!event_groups_make(wishes, n, limits, &together.groups)) {
		snprintf(why, size, "the counters do not suffice for them");
		return false;
	}
	for (size_t loop = 0; loop < n_loops; loop++)
		if (is_new(&together, loops[loop], told) && !loop_agrees(&together, loops[loop]))
			return false;
	return true;
}

/* ---- choosing ---- */

struct choosing {
	const struct perf_source *source;
	const struct together_event *events;
	size_t n;
	const struct counter_limits *limits;
	struct proof_loop *const *loops;
	size_t n_loops;
	bool *used;
};

static bool used_agree(const struct choosing *choosing, char *why, size_t size)
{
	struct together_event used[EVENT_GROUPS_MAX];
	size_t n = 0;
	for (size_t i = 0; i < choosing->n; i++)
		if (choosing->used[i] && choosing->events[i].attr.type != PERF_TYPE_SOFTWARE)
			used[n++] = choosing->events[i];
	return n == 0 || proof_together(choosing->source, used, n, choosing->limits,
					choosing->loops, choosing->n_loops, why, size);
}

/* The step at which a quantity is tried: what a run is for comes first, and flop are one sum. */
static int step_of(enum event_quantity quantity)
{
	switch (quantity) {
	case EVENT_FLOP_HP:
	case EVENT_FLOP_SP:
	case EVENT_FLOP_DP:
	case EVENT_FLOP_ANY:
		return 0;
	case EVENT_INSTRUCTIONS:
		return 1;
	case EVENT_CYCLES:
		return 2;
	default:
		return 3 + (int)quantity;
	}
}

/* Adds the events of a step to those in use, unless these are then wrong. */
static void try_step(struct choosing *choosing, int step, const bool *wanted,
		     struct proof_result *results)
{
	char why[sizeof(results->why)] = "";
	bool any = false;
	for (size_t i = 0; i < choosing->n; i++)
		if (wanted[i] && step_of(choosing->events[i].row->quantity) == step)
			any = choosing->used[i] = true;
	if (!any || used_agree(choosing, why, sizeof(why)))
		return;
	for (size_t i = 0; i < choosing->n; i++)
		if (wanted[i] && step_of(choosing->events[i].row->quantity) == step) {
			choosing->used[i] = false;
			results[i].verdict = PROOF_BAD;
			memcpy(results[i].why, why, sizeof(why));
		}
}

/* In a virtual machine: of the table's events, only those that are paired. */
static void leave_pairs_alone(const struct choosing *choosing, struct proof_result *results)
{
	const struct event_row *pair = NULL;
	for (size_t i = 0; i < choosing->n; i++)
		if (choosing->used[i] && !choosing->events[i].unproved &&
		    (choosing->events[i].row->flags & EVENT_PAIRED))
			pair = choosing->events[i].row;
	for (size_t i = 0; pair && i < choosing->n; i++) {
		const struct together_event *event = &choosing->events[i];
		if (!choosing->used[i] || event->unproved || (event->row->flags & EVENT_PAIRED))
			continue;
		choosing->used[i] = false;
		results[i].verdict = PROOF_BAD;
		snprintf(results[i].why, sizeof(results[i].why),
			 "a virtual machine miscounts beside %s, which takes two counters as one",
			 pair->event);
	}
}

void proof_keep_together(const struct perf_source *source, const struct together_event *events,
			 size_t n, const struct counter_limits *limits,
			 struct proof_loop *const *loops, size_t n_loops, bool hypervisor,
			 bool *used, struct proof_result *results)
{
	struct choosing choosing = {source, events, n, limits, loops, n_loops, used};
	char why[sizeof(results->why)];
	bool wanted[EVENT_GROUPS_MAX];
	if (n > EVENT_GROUPS_MAX)
		return;
	if (hypervisor)
		leave_pairs_alone(&choosing, results);
	if (used_agree(&choosing, why, sizeof(why)))
		return;
	for (size_t i = 0; i < n; i++) {
		wanted[i] = used[i] && !events[i].unproved;
		used[i] = used[i] && events[i].unproved;
	}
	for (int step = 0; step < 3 + N_EVENT_QUANTITIES; step++)
		try_step(&choosing, step, wanted, results);
}

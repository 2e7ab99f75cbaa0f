/* Behind a misprediction the code begins anew: all that was computed before the branch is there,
 * and what comes behind it begins then.  So of each branch that is often mispredicted the code
 * behind it is followed, around the loop and back to it, with the times at which registers get
 * their values; where ways meet, with the mean of these, by how often each was gone.  A branch that
 * is mispredicted with share s, this one too, begins all of it anew in that share, and so does an
 * entry of the loop.  In the others the times go on: rounds are made until they stay the same, by
 * which a chain of L cycles a turn has come to L / s.  What the turns since then take in the core
 * by themselves, which fetches no faster, is no wait. */
#include "report/in_core/branch_waits.h"

#include "report/in_core/core_latency.h"
#include "report/model/model_code.h"

#include <stdlib.h>
#include <string.h>

#define MOST_NODES 1024
#define MOST_BRANCHES 16
#define LEAST_SHARE 0.02 /* mispredicted, of a branch's executions */
#define MOST_ROUNDS 64
#define SAME 0.001 /* of a time, from one round to the next */

/* Cycles since the code began anew at which registers are there. */
struct times {
	double at[N_REGISTERS];
	double n; /* executions that led here, but for a common factor */
};

struct follower {
	const struct core_facts *facts;
	const struct in_core_code *code;
	uint32_t members[MOST_NODES]; /* nodes of the loop, in order */
	size_t n_members;
	struct times *times; /* per member: before it */
	uint32_t header;
	double entered; /* share of the turns that begin an entry */
};

static double share_at(const struct follower *follower, uint32_t node)
{
	const struct flow_node *of = &follower->code->graph->nodes[node];
	const uint32_t module = follower->code->profile->blocks[of->block].module;
	const double wrong = model_mispredicted(follower->code->profile, module, of->offset);
	return of->kind == BRANCH_CONDITIONAL && of->n > 0 ? fmin(1, wrong / (double)of->n) : 0;
}

static double register_at(const struct times *times, uint8_t number)
{
	return number == NO_REGISTER ? 0 : times->at[number];
}

/* When what the instruction computes is there. */
static double result_at(const struct follower *follower, const struct dataflow *flow,
			const struct times *times)
{
	uint32_t latency[FORM_OPERANDS + 1];
	double result = 0;
	core_latencies(follower->facts, flow, false, latency);
	for (unsigned r = 0; r < flow->n_reads; r++)
		result = fmax(result, times->at[flow->reads[r]] +
					      latency[flow->read_as[r]] / (double)CORE_TICKS);
	if (flow->loads)
		result = fmax(result, fmax(register_at(times, flow->memory.base),
					   register_at(times, flow->memory.index)) +
					      core_load_cycles(follower->facts, flow) +
					      latency[flow->memory_as] / (double)CORE_TICKS);
	return result;
}

/* In that share of its executions the code begins here. */
static void begin_anew(struct times *times, double share)
{
	for (unsigned r = 0; r < N_REGISTERS && share > 0; r++)
		times->at[r] *= 1 - share;
}

/* The times behind an instruction. */
static void execute(const struct follower *follower, uint32_t node, struct times *times)
{
	const struct dataflow *flow = core_dataflow_at(follower->code, node);
	const double share = share_at(follower, node);
	if (!flow)
		return;
	const double result = result_at(follower, flow, times);
	for (unsigned w = 0; w < flow->n_writes; w++)
		times->at[flow->writes[w]] = result;
	begin_anew(times, share);
}

static size_t member_of(const struct follower *follower, uint32_t node)
{
	size_t low = 0, high = follower->n_members;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (follower->members[middle] < node)
			low = middle + 1;
		else
			high = middle;
	}
	return low < follower->n_members && follower->members[low] == node ? low
									   : follower->n_members;
}

/* Adds the times to those of a member; `n`: executions of what they come from. */
static void lead_to(struct times *to, const struct times *from, double n)
{
	const double all = to->n + n;
	for (unsigned r = 0; r < N_REGISTERS && all > 0; r++)
		to->at[r] += (from->at[r] - to->at[r]) * n / all;
	to->n = all;
}

/* Member `i` has been executed: both ways on, as far as they lie before the end of the round that
 * began behind member `first`. */
static void lead_on(struct follower *follower, size_t first, size_t i, const struct times *behind)
{
	const struct flow_graph *graph = follower->code->graph;
	const size_t n = follower->n_members;
	const size_t done = i == first ? 0 : (i + n - first) % n;
	for (int way = 0; way < 2; way++) {
		const uint32_t to = graph->to[2 * (size_t)follower->members[i] + (size_t)way];
		const size_t at = to == FLOW_NONE ? n : member_of(follower, to);
		const size_t next = at == first ? n : (at + n - first) % n;
		if (at < n && next > done)
			lead_to(&follower->times[at], behind,
				(double)graph->nodes[follower->members[i]].n);
	}
}

/* The times at the branch, a member, a round after those behind it. */
static struct times round_from(struct follower *follower, size_t branch, const struct times *behind)
{
	const size_t n = follower->n_members;
	memset(follower->times, 0, n * sizeof(*follower->times));
	lead_on(follower, branch, branch, behind);
	for (size_t k = 1; k < n; k++) {
		const size_t i = (branch + k) % n;
		struct times times = follower->times[i];
		if (!(times.n > 0))
			continue;
		if (follower->members[i] == follower->header)
			begin_anew(&times, follower->entered);
		execute(follower, follower->members[i], &times);
		lead_on(follower, branch, i, &times);
	}
	return follower->times[branch];
}

/* When the flags that a branch looks at are there. */
struct wait {
	double first; /* a round behind where the code began anew */
	double mean;  /* with what goes on from round to round */
};

static struct wait wait_of(struct follower *follower, size_t branch)
{
	struct times behind = {.n = 0};
	struct wait wait = {0, 0};
	for (int i = 0; i < MOST_ROUNDS; i++) {
		struct times at = round_from(follower, branch, &behind);
		const double before = wait.mean;
		wait.mean = at.at[REGISTER_FLAGS];
		if (i == 0)
			wait.first = wait.mean;
		else if (fabs(wait.mean - before) <= SAME * wait.mean)
			break;
		if (follower->members[branch] == follower->header)
			begin_anew(&at, follower->entered);
		execute(follower, follower->members[branch], &at);
		behind = at;
	}
	return wait;
}

static bool find_members(struct follower *follower, uint32_t loop)
{
	const struct flow_graph *graph = follower->code->graph;
	for (uint32_t i = 0; i < graph->n_nodes; i++) {
		if (graph->nodes[i].loop != loop || graph->nodes[i].n <= 0)
			continue;
		if (follower->n_members == MOST_NODES)
			return false;
		follower->members[follower->n_members++] = i;
	}
	return follower->n_members > 0;
}

/* The comparison with what a load brings, of the loop that was measured. */
static double measured_wait(const struct core_facts *facts)
{
	const double load = facts->load[0];
	return (isnan(load) ? LOAD_LATENCY : load) + 1;
}

/* The share of the turns in which the code begins anew. */
static double begun_anew(const struct follower *follower, double turns)
{
	double goes_on = 1 - follower->entered;
	for (size_t i = 0; i < follower->n_members; i++) {
		const uint32_t node = follower->members[i];
		const double n = (double)follower->code->graph->nodes[node].n;
		goes_on *= fmax(0, 1 - share_at(follower, node) * n / turns);
	}
	return 1 - goes_on;
}

/* The mean of max(0, first + k step) where k = 0, 1, … has the probability p (1 - p)^k, by the sums
 * of that and of k times it from one k on. */
static double mean_above_0(double first, double step, double p)
{
	const double q = 1 - p, all = step * q / p;
	if (step >= 0) {
		const double from = first < 0 && step > 0 ? ceil(-first / step) : 0;
		return first < 0 && !(step > 0) ? 0 : pow(q, from) * (first + from * step + all);
	}
	const double until = first > 0 ? ceil(first / -step) : 0, beyond = pow(q, until);
	return first + all - beyond * (first + until * step + all);
}

/* What the branch waits longer than the measured one where the code begins anew in a share of the
 * turns, so that it does so k turns before a misprediction with that probability of a geometric
 * distribution: a round more each time, and less what the core takes for one. */
static double longer(const struct follower *follower, const struct wait *wait, double anew,
		     double turn_cycles)
{
	const double first = wait->first - measured_wait(follower->facts);
	if (!(anew > 0))
		return 0;
	if (!(anew < 1))
		return fmax(0, first);
	const double more = (wait->mean - wait->first) * anew / (1 - anew);
	return mean_above_0(first, more - turn_cycles, anew);
}

/* In all turns. */
static double sum(struct follower *follower, double turns, double turn_cycles)
{
	const struct flow_node *nodes = follower->code->graph->nodes;
	const double anew = begun_anew(follower, turns);
	double cycles = 0;
	int n_branches = 0;
	for (size_t i = 0; i < follower->n_members && n_branches < MOST_BRANCHES; i++) {
		const double share = share_at(follower, follower->members[i]);
		if (share < LEAST_SHARE)
			continue;
		n_branches++;
		const struct wait wait = wait_of(follower, i);
		cycles += share * (double)nodes[follower->members[i]].n *
			  longer(follower, &wait, anew, turn_cycles);
	}
	return cycles;
}

struct rf_error *branch_waits(const struct core_facts *facts, const struct in_core_code *code,
			      uint32_t loop, double turn_cycles, double *cycles)
{
	const struct model_loop *of = &code->function->loops[loop];
	struct follower *follower = calloc(1, sizeof(*follower));
	*cycles = 0;
	if (!follower)
		return rf_error_no_memory();
	follower->facts = facts;
	follower->code = code;
	follower->header = flow_graph_node_at(code->graph, of->header);
	follower->entered = of->entries > 0 && of->turns > 0
				    ? fmin(1, (double)of->entries / (double)of->turns)
				    : 0;
	if (find_members(follower, loop))
		follower->times = calloc(follower->n_members, sizeof(*follower->times));
	if (follower->times)
		*cycles = sum(follower, (double)of->turns, turn_cycles) / (double)of->turns;
	struct rf_error *error =
		follower->n_members && follower->n_members < MOST_NODES && !follower->times
			? rf_error_no_memory()
			: NULL;
	free(follower->times);
	free(follower);
	return error;
}

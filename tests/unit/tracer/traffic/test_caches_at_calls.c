/* What calls of kernels find in the simulated caches, cold or warm: random threads that access,
 * call, return, work for others and end, against the slow simulator, which has each call of its own
 * and goes twice through what a warm one will do. */
#include "cache/geometry_machine.h"
#include "profile/profile_kernels.h"
#include "tests/reference/cache_reference.h"
#include "tests/unit/splitmix.h"
#include "tracer/traffic/drain.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#define THREADS 3
#define INSNS 4 /* loads and stores by turns */
#define ROWS (2 * THREADS)
#define WHOS (ROWS * INSNS)
#define STEPS 400
#define LINES 700 /* more than there is room for */
#define FIRST_LINE 0x10000

enum step_kind { ACCESS, TURN, ENTER, LEAVE, SHARE, END };

/* `row`: below THREADS the thread's own, from there on its work for the kernel; from this step on.
 */
struct step {
	enum step_kind kind;
	unsigned thread, row, insn;
	uint64_t line;
};

typedef uint64_t counts[N_TRAFFIC][WHOS];

static struct step steps[STEPS * 64];
static size_t n_steps;

/* ---- a random run ---- */

static unsigned own_row(unsigned thread)
{
	return thread;
}

static unsigned kernel_row(unsigned thread)
{
	return THREADS + thread;
}

static void add(struct step step)
{
	cr_assert_lt(n_steps, sizeof(steps) / sizeof(*steps));
	steps[n_steps++] = step;
}

/* Threads take turns, behind which all is handed over: so the order is known. */
static void make_steps(uint64_t seed)
{
	bool calls[THREADS] = {0}, works[THREADS] = {0};
	n_steps = 0;
	for (unsigned i = 0; i < STEPS; i++) {
		const uint64_t random = random_number(&seed);
		const unsigned thread = random % THREADS, event = random >> 8 & 15;
		const uint64_t first = (random >> 16) % LINES, n = random >> 32 & 63;
		const unsigned row =
			calls[thread] || works[thread] ? kernel_row(thread) : own_row(thread);
		for (uint64_t k = 0; k < n; k++)
			add((struct step){
				ACCESS, thread, row, (unsigned)(random_number(&seed) % INSNS),
				FIRST_LINE + (first + k * (1 + (random >> 40 & 3))) % LINES});
		add((struct step){TURN, thread, row, 0, 0});
		if (event < 6) {
			if (calls[thread] || works[thread])
				add((struct step){LEAVE, thread, own_row(thread), 0, 0});
			else
				add((struct step){ENTER, thread, kernel_row(thread), 0, 0});
			calls[thread] = !(calls[thread] || works[thread]);
			works[thread] = false;
		} else if (event < 8 && !calls[thread]) {
			works[thread] = !works[thread];
			add((struct step){SHARE, thread,
					  works[thread] ? kernel_row(thread) : own_row(thread), 0,
					  0});
		} else if (event == 9) {
			calls[thread] = works[thread] = false;
			add((struct step){END, thread, own_row(thread), 0, 0});
		}
	}
	for (unsigned thread = 0; thread < THREADS; thread++)
		add((struct step){END, thread, own_row(thread), 0, 0});
}

/* ---- the truth ---- */

struct truth {
	struct reference *caches;
	counts counts;
	bool future; /* nothing counts */
};

static void count(void *context, enum traffic event, uint32_t who, uint64_t line)
{
	struct truth *truth = context;
	(void)line;
	if (!truth->future)
		truth->counts[event][who]++;
}

static void access_line(const struct truth *truth, const struct step *step)
{
	reference_access(truth->caches, 1 + step->thread, step->line,
			 step->insn % 2 ? CACHE_STORE : CACHE_LOAD, 0, 8,
			 step->row * INSNS + step->insn);
}

static void begin_call(struct truth *truth, const struct geometry *geometry, size_t at, bool warm)
{
	reference_finish(truth->caches);
	reference_destroy(truth->caches);
	truth->caches = reference_create(geometry, false, count, truth);
	truth->future = true;
	for (size_t i = at + 1; warm && i < n_steps; i++) {
		const bool ends = steps[i].kind == LEAVE || steps[i].kind == END;
		if (ends && steps[i].thread == steps[at].thread)
			break;
		if (steps[i].kind == ACCESS && steps[i].row >= THREADS)
			access_line(truth, &steps[i]);
	}
	reference_finish(truth->caches);
	truth->future = false;
}

static void find_truth(struct truth *truth, const struct geometry *geometry, bool warm)
{
	memset(truth, 0, sizeof(*truth));
	truth->caches = reference_create(geometry, false, count, truth);
	for (size_t i = 0; i < n_steps; i++)
		if (steps[i].kind == ENTER)
			begin_call(truth, geometry, i, warm);
		else if (steps[i].kind == ACCESS)
			access_line(truth, &steps[i]);
	reference_finish(truth->caches);
	reference_destroy(truth->caches);
}

/* ---- the drain ---- */

struct run {
	struct profile *profile;
	struct trace_config *config;
	struct drain *drain;
	uint8_t *slots;
	struct drain_source *nobody, *threads[THREADS]; /* nobody: it has all handed over */
};

static struct drain_source *begin_thread(const struct run *run, unsigned thread)
{
	return drain_add_thread(run->drain, run->config, run->slots + thread * SLOT_STRIDE, 0,
				thread, thread, 0);
}

static uint32_t number_of(const struct run *run, unsigned row)
{
	return row < THREADS ? row : profile_kernel_share(run->profile, row - THREADS, 0);
}

static void take_step(struct run *run, const struct step *step)
{
	struct drain_source **source = &run->threads[step->thread];
	const uint32_t row = number_of(run, step->row);
	const struct trace_record record = {step->line * CACHE_LINE,
					    step->insn | 1 << TRACE_SPAN_SHIFT |
						    (step->insn % 2 ? TRACE_STORES : 0),
					    0};
	if (step->kind == ACCESS) {
		drain_add_records(run->drain, *source, &record, 1);
		return;
	}
	drain_leave_kernel(run->drain, run->nobody, THREADS);
	if (step->kind == ENTER)
		drain_enter_kernel(run->drain, *source, row);
	else if (step->kind == LEAVE)
		drain_leave_kernel(run->drain, *source, row);
	else if (step->kind == SHARE)
		drain_set_share(run->drain, *source, row);
	else if (step->kind == END) {
		drain_remove_thread(run->drain, *source);
		*source = begin_thread(run, step->thread);
	}
}

static void begin(struct run *run, const char *cache, enum caches_at_calls at_calls)
{
	const struct traffic_options options = {
		.trace = true, .cache = cache, .cache_sample = 1, .caches_at_calls = at_calls};
	run->profile = profile_create();
	run->profile->kernels = calloc(1, sizeof(*run->profile->kernels));
	run->profile->n_kernels = run->profile->cap_kernels = 1;
	run->profile->kernels[0].name = strdup("kernel");
	cr_assert_null(drain_create(&options, run->profile, &run->drain));
	run->config = trace_config_create(UINT64_MAX);
	for (unsigned insn = 0; insn < INSNS; insn++) {
		const struct trace_operand operand = {.offset = insn,
						      .number = insn,
						      .bytes = 8,
						      .access = insn % 2 ? OPERAND_STORE
									 : OPERAND_LOAD,
						      .n_operands = 1};
		cr_assert_eq(trace_config_add(run->config, OPERAND_PLAIN, &operand, 1), insn);
	}
	run->config->n_numbers = INSNS;
	run->slots = mmap(NULL, (THREADS + 1) * (size_t)SLOT_STRIDE, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	run->nobody = begin_thread(run, THREADS);
	for (unsigned thread = 0; thread < THREADS; thread++)
		run->threads[thread] = begin_thread(run, thread);
}

static void end(struct run *run, counts counted)
{
	memset(counted, 0, sizeof(counts));
	for (unsigned thread = 0; thread < THREADS; thread++)
		drain_remove_thread(run->drain, run->threads[thread]);
	drain_remove_thread(run->drain, run->nobody);
	drain_finish(run->drain, &(struct told_threads){0});
	struct packed_reader reader = packed_reader_of(&run->profile->traffic);
	const struct profile_traffic *row;
	while ((row = packed_reader_next(&reader))) {
		const struct kernel_share *share = profile_share(run->profile, row->thread);
		const unsigned who = (share ? THREADS + share->thread : row->thread) * INSNS +
				     (unsigned)row->offset;
		for (int event = 0; event < N_TRAFFIC; event++)
			counted[event][who] += row->lines[event];
	}
	drain_destroy(run->drain);
	trace_config_destroy(run->config);
	munmap(run->slots, (THREADS + 1) * (size_t)SLOT_STRIDE);
	profile_destroy(run->profile);
}

/* ---- both ---- */

static void compare(const char *cache, uint64_t seed, enum caches_at_calls at_calls)
{
	static struct truth truth;
	static counts counted;
	struct run run;
	struct geometry geometry;
	const struct geometry_known known = {0};
	cr_assert_null(geometry_wanted(cache, &known, &geometry));
	make_steps(seed);
	find_truth(&truth, &geometry, at_calls == CACHES_WARM);
	begin(&run, cache, at_calls);
	for (size_t i = 0; i < n_steps; i++)
		take_step(&run, &steps[i]);
	end(&run, counted);
	uint64_t n = 0;
	for (int event = 0; event <= TRAFFIC_MEM_LEFT; event++)
		for (unsigned who = 0; event != TRAFFIC_MEM_EVADABLE && who < WHOS; who++) {
			n += counted[event][who];
			cr_assert_eq(counted[event][who], truth.counts[event][who],
				     "%s, seed %llu, %s: event %d of %u: %llu, truth %llu", cache,
				     (unsigned long long)seed,
				     at_calls == CACHES_WARM ? "warm" : "cold", event, who,
				     (unsigned long long)counted[event][who],
				     (unsigned long long)truth.counts[event][who]);
		}
	cr_assert_gt(n, 1000);
}

Test(caches_at_calls, as_the_slow_simulator)
{
	static const char *const caches[] = {"L1=4K:4,L2=16K:4,L3=32K:8", "L1=8K:2,L2=32K:8",
					     "L1=16K:4,L2=32K:8,L3=64K:16"};
	if (trace_config_objection())
		cr_skip_test("%s", trace_config_objection());
	for (uint64_t seed = 0; seed < 30; seed++)
		for (enum caches_at_calls at_calls = CACHES_COLD; at_calls <= CACHES_WARM;
		     at_calls++)
			compare(caches[seed % 3], seed, at_calls);
}

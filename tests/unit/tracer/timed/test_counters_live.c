/* Counters against the kernel that runs, with events that it counts itself (page faults, the task
 * clock) and, where there is a PMU, with that. */
#include "tracer/pmu/counters_read.h"

#include "profile/profile.h"
#include "tracer/pmu/proof.h"
#include "tracer/timed/sample_log.h"
#include "tracer/timed/sampler.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static const struct counter_event page_faults = {
	.attr = {.type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_PAGE_FAULTS},
	.name = "page faults",
	.wish = {.fixed = -1},
};
static const struct counter_limits no_counters = {0, 0};

static void assert_ok(struct rf_error *error)
{
	cr_assert_null(error, "%s", error ? error->message : "");
}

/* SKIPPED, with the reason, where the kernel gives no events at all. */
static void need_perf(void)
{
	struct rf_error *error = sampler_perf.probe();
	if (error)
		cr_skip_test("%s", error->message);
}

static struct counter_limits need_pmu(void)
{
	struct counter_limits limits = {0};
	struct rf_error *error = counter_limits_find(&perf_source_kernel, &limits);
	if (error)
		cr_skip_test("%s", error->message);
	return limits;
}

static const char *program_path(void)
{
	static char path[4096];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 32);
	cr_assert(n > 0);
	path[n] = '\0';
	strcpy(strrchr(path, '/') + 1, "counted_program");
	return path;
}

/* --- a run of counted_program --- */

struct run {
	pid_t pid;
	int gate, output;
	char text[256];
};

static void start(struct run *run, const char *mode, unsigned pages)
{
	int gate[2], output[2];
	char number[16], byte;
	snprintf(number, sizeof(number), "%u", pages);
	cr_assert(pipe2(gate, O_CLOEXEC) == 0 && pipe2(output, O_CLOEXEC) == 0);
	run->pid = fork();
	if (run->pid == 0) {
		close(gate[1]); /* a test that fails must not leave us waiting */
		if (read(gate[0], &byte, 1) != 1)
			_exit(126);
		dup2(output[1], 1);
		execl(program_path(), program_path(), mode, number, NULL);
		_exit(127);
	}
	close(gate[0]);
	close(output[1]);
	run->gate = gate[1];
	run->output = output[0];
}

static void finish(struct run *run)
{
	int status;
	size_t size = 0;
	ssize_t n;
	cr_assert_eq(write(run->gate, "x", 1), 1);
	while ((n = read(run->output, run->text + size, sizeof(run->text) - 1 - size)) > 0)
		size += (size_t)n;
	run->text[size] = '\0';
	cr_assert_eq(waitpid(run->pid, &status, 0), run->pid);
	cr_assert_eq(status, 0);
	close(run->gate);
	close(run->output);
}

static unsigned cpus(void)
{
	return (unsigned)sysconf(_SC_NPROCESSORS_CONF);
}

static struct counters *open_for(const struct run *run, const struct counter_event *events,
				 size_t n, const struct counter_limits *limits, bool first_only)
{
	struct counters *counters = NULL;
	const struct counter_options options = {.pid = run->pid,
						.n_cpus = cpus(),
						.first_only = first_only};
	assert_ok(counters_open(&perf_source_kernel, events, n, limits, &options, &counters));
	return counters;
}

static struct counter_total faults_of(const char *mode, unsigned pages, uint64_t period,
				      bool first_only)
{
	struct run run;
	struct counter_total total;
	struct counter_event event = page_faults;
	event.period = period;
	start(&run, mode, pages);
	struct counters *counters = open_for(&run, &event, 1, &no_counters, first_only);
	finish(&run);
	counters_disable(counters);
	counters_drain(counters, NULL, NULL);
	assert_ok(counters_total(counters, 0, &total));
	cr_assert_eq(total.state, COUNTER_EXACT, "%s: %f", mode, total.share);
	counters_destroy(counters);
	return total;
}

/* The program's own start makes faults too, not always as many: what more pages add is exact. */
enum { FEW = 100, MANY = 2100, START_VARIES = 60 };

static void check_growth(const char *mode, uint64_t period, bool first_only, unsigned touches)
{
	const double few = faults_of(mode, FEW, period, first_only).value;
	const double many = faults_of(mode, MANY, period, first_only).value;
	const double wanted = (double)touches * 4 * (MANY - FEW);
	cr_assert(fabs(many - few - wanted) <= START_VARIES, "%s, period %d: %f of %f", mode,
		  (int)period, many - few, wanted);
}

Test(counters_live, totals_of_one_thread, .timeout = 60)
{
	need_perf();
	check_growth("one", 0, false, 1);
	check_growth("one", 50, false, 1); /* the sum over CPUs */
}

Test(counters_live, totals_of_threads, .timeout = 60)
{
	need_perf();
	check_growth("threads", 0, false, 2);
	check_growth("threads", 50, false, 2);
}

Test(counters_live, totals_of_children, .timeout = 60)
{
	need_perf();
	check_growth("children", 0, false, 2);
	check_growth("children", 50, false, 2);
}

Test(counters_live, children_can_be_left_out, .timeout = 60)
{
	need_perf();
	const struct perf_event_attr attr = {.type = PERF_TYPE_SOFTWARE,
					     .size = sizeof(attr),
					     .inherit = 1,
					     .config = PERF_COUNT_SW_DUMMY,
					     .inherit_thread = 1,
					     .exclude_kernel = 1};
	int fd = perf_source_kernel.open(NULL, &attr, 0, -1, -1);
	if (fd < 0)
		cr_skip_test("this kernel does not know inherit_thread");
	close(fd);
	check_growth("children", 0, true, 0);
	check_growth("threads", 0, true, 2);
}

/* Several in one group: each has its own total, and all have the time that the program ran. */
Test(counters_live, several_events_and_their_time, .timeout = 60)
{
	struct run run;
	struct counter_total faults, clock;
	struct counter_event events[2] = {page_faults, page_faults};
	need_perf();
	events[1].attr.config = PERF_COUNT_SW_TASK_CLOCK;
	events[0].period = 100;
	start(&run, "children", 5000);
	struct counters *counters = open_for(&run, events, 2, &no_counters, false);
	finish(&run);
	counters_disable(counters);
	assert_ok(counters_total(counters, 0, &faults));
	assert_ok(counters_total(counters, 1, &clock));
	cr_assert(faults.state == COUNTER_EXACT && clock.state == COUNTER_EXACT);
	cr_assert_eq(faults.enabled_ns, clock.enabled_ns);
	/* the kernel's clock of the task and the time that the event was there for are the same
	 * time */
	cr_assert(fabs(clock.value - (double)clock.running_ns) <= 0.2 * (double)clock.running_ns,
		  "%f %f", clock.value, (double)clock.running_ns);
	counters_destroy(counters);
}

/* --- places --- */

static void drain(void *counters, struct sampler *sampler)
{
	counters_drain(counters, sample_log_counter, sampler);
}

struct places {
	double a, b, other; /* events */
	struct counter_total total;
	struct counter_losses losses;
};

static void sum_places(const struct sample_log *log, const struct profile *profile,
		       const char *text, double scale, struct places *places)
{
	unsigned long a[2], b[2];
	size_t n;
	const struct counter_place *place = sample_log_counters(log, &n);
	cr_assert_eq(sscanf(text, "%lx %lx %lx %lx", &a[0], &a[1], &b[0], &b[1]), 4);
	for (size_t i = 0; i < n; i++, place++) {
		const bool own =
			strcmp(profile->modules[place->module].name, "counted_program") == 0;
		const double events = scale * (double)place->period;
		cr_assert(place->thread < profile->n_threads && place->event == 0);
		if (own && place->offset >= a[0] && place->offset < a[1])
			places->a += events;
		else if (own && place->offset >= b[0] && place->offset < b[1])
			places->b += events;
		else
			places->other += events;
	}
}

/* Page faults as if they were a counter's, beside the samples of time, as a run of rfprof has both.
 */
static void locate(const char *mode, unsigned pages, uint64_t period, struct places *places)
{
	struct run run;
	struct counter_event event = page_faults;
	struct profile *profile = profile_create();
	struct sampler *sampler = sampler_perf.create(profile, NULL);
	*places = (struct places){0};
	event.period = period;
	start(&run, mode, pages);
	struct counters *counters = open_for(&run, &event, 1, &no_counters, false);
	sampler->skips_faults = true;
	sampler->drain = drain;
	sampler->drain_context = counters;
	assert_ok(sampler_perf.start(sampler, run.pid));
	finish(&run);
	counters_disable(counters);
	assert_ok(sampler_perf.finish(sampler));
	assert_ok(counters_total(counters, 0, &places->total));
	places->losses = counters_losses(counters);
	const double scale = counter_weight(&places->total).scale;
	sum_places(sampler->log, profile, run.text, scale, places);
	sampler_perf.destroy(sampler);
	counters_destroy(counters);
	profile_destroy(profile);
}

/* With a period of one, each fault is a sample: the places are exact. */
Test(counters_live, each_fault_has_its_place, .timeout = 60)
{
	struct places places;
	need_perf();
	locate("one", 100, 1, &places);
	if (places.losses.lost || places.total.throttled)
		cr_skip_test("the kernel lost samples: %d lost, %d throttled",
			     (int)places.losses.lost, (int)places.total.throttled);
	cr_assert(places.total.state == COUNTER_EXACT && places.total.sampled == places.total.raw);
	cr_assert(places.a == 300 && places.b == 100, "%f %f", places.a, places.b);
	cr_assert(places.losses.broken == 0 && places.losses.unknown == 0);
}

/* The sums agree with the total, and the functions' parts with what they touch: of each stretch of
 * `period` faults one is sampled, so that a function is off by less than two periods for each
 * thread and CPU, times the scale. */
static void check_places(const char *mode, unsigned pages, unsigned touches)
{
	enum { PERIOD = 23 };
	struct places places;
	need_perf();
	locate(mode, pages, PERIOD, &places);
	const double sum = places.a + places.b + places.other, total = places.total.value;
	cr_assert(fabs(sum - total) <= 1e-9 * total, "%f of %f", sum, total);
	if (places.losses.lost || places.total.throttled)
		cr_skip_test("the kernel lost samples: %d lost, %d throttled, of %d",
			     (int)places.losses.lost, (int)places.total.throttled,
			     (int)places.total.n_samples);
	const double allowed = 2.0 * PERIOD * cpus() * (touches + 1) + 0.02 * total;
	cr_assert(fabs(places.a - 3.0 * touches * pages) <= allowed, "%s: %f", mode, places.a);
	cr_assert(fabs(places.b - 1.0 * touches * pages) <= allowed, "%s: %f", mode, places.b);
}

Test(counters_live, places_of_one_thread, .timeout = 60)
{
	check_places("one", 4000, 1);
}

Test(counters_live, places_of_threads, .timeout = 60)
{
	check_places("threads", 4000, 2);
}

Test(counters_live, places_of_children, .timeout = 60)
{
	check_places("children", 4000, 2);
}

/* --- with a PMU --- */

Test(counters_live, no_pmu_is_said)
{
	struct counter_limits limits;
	struct rf_error *error = counter_limits_find(&perf_source_kernel, &limits);
	if (!error) {
		cr_assert(limits.general > 0);
		return;
	}
	cr_assert(error->code == RF_EUNAVAILABLE && error->hint);
	rf_error_destroy(error);
}

static const struct event_row generic[] = {
	{EVENT_CYCLES, "perf::CYCLES", 1},
	{EVENT_INSTRUCTIONS, "perf::INSTRUCTIONS", 1},
};

Test(counters_live, pmu_counts_known_loops, .timeout = 60)
{
	struct proof_place place;
	struct proof_loops loops;
	struct proof_result results[2];
	const struct proof_event events[2] = {
		{{.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_CPU_CYCLES}, &generic[0]},
		{{.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS}, &generic[1]},
	};
	need_pmu();
	proof_place_read("", &place);
	proof_loops_init(&loops);
	assert_ok(proof_run(&perf_source_kernel, events, 2, loops.loops, loops.n, &place, results));
	proof_loops_deinit(&loops);
	cr_assert_eq(results[1].verdict, PROOF_GOOD, "%s", results[1].why);
}

/* The sum over CPUs and the one event for all of them count the same instructions. */
Test(counters_live, pmu_counts_instructions_of_children, .timeout = 60)
{
	const struct counter_limits limits = need_pmu();
	double values[2];
	for (int i = 0; i < 2; i++) {
		struct run run;
		struct counter_total total;
		const struct counter_event event = {
			.attr = {.type = PERF_TYPE_HARDWARE, .config = PERF_COUNT_HW_INSTRUCTIONS},
			.name = "instructions",
			.period = i ? 0 : 100003,
			.wish = {.fixed = 0},
		};
		start(&run, "children", 20000);
		struct counters *counters = open_for(&run, &event, 1, &limits, false);
		finish(&run);
		counters_disable(counters);
		assert_ok(counters_total(counters, 0, &total));
		cr_assert_neq(total.state, COUNTER_NOT_COUNTED);
		values[i] = total.value;
		counters_destroy(counters);
	}
	cr_assert(fabs(values[0] / values[1] - 1) <= 0.02, "%f per CPU, %f for all", values[0],
		  values[1]);
}

/* Each invariant is broken in the model of a made-up profile, and must be found. */
#include "report/check/check.h"

#include "report/check/holds.h"
#include "tests/unit/report/report_checks.h"
#include "tests/unit/report/report_sample.h"

static const char *const sentences[N_INVARIANTS] = {
#define INVARIANT(id, sentence) [INVARIANT_##id] = sentence,
#include "report/check/invariants.def"
#undef INVARIANT
};

/* What checking a model writes. */
static char *check_text(const struct profile *profile, const struct model *model, size_t *n_broken)
{
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	*n_broken = report_check_model(profile, model, stream).n_broken;
	fclose(stream);
	return text;
}

static struct profile *traced_sample(void)
{
	struct profile *p = report_traced_sample();
	sample_data(p);
	profile_set_fact(p, "traffic_conflicts", "1");
	sample_lines(p, 0x1000, TRAFFIC_MEM_CONFLICT, 1000, 10);
	return p;
}

/* ---- what is broken: in the triad `f`, or in the whole model ---- */

struct broken {
	struct model *model;
	struct model_function *f;
	struct model_level *dram;
};

#define BREAK(id, statement)                            \
	static void break_##id(const struct broken *at) \
	{                                               \
		statement;                              \
	}
BREAK(TIME_SUM, at->f->time_ns += 1000000)
BREAK(TIME_SHARE, at->f->share = 1.01)
BREAK(TIME_INTERVAL, at->f->halfwidth_s = NAN)
BREAK(ELAPSED, at->f->elapsed_s *= 2)
BREAK(TIME_UNCOUNTED, at->model->uncounted_ns += 1000)
BREAK(TIME_OF_PROCESSES, at->model->processes[0].time_ns = at->model->time_ns + 1000)
BREAK(FLOP_KINDS, at->f->tally.flop_by_kind[0][0][0] += 1000)
BREAK(FLOP_LANES, at->f->tally.flop_unmasked /= 2)
BREAK(CLASSES, at->f->tally.class_instructions[INSN_NOP] += 1000)
BREAK(LOADS, at->f->tally.loads = at->f->tally.instructions + 1000)
BREAK(BYTES_OF_KINDS, at->f->tally.nt_store_bytes = at->f->tally.store_bytes + 1000)
BREAK(WORK_OF_THREADS, at->f->threads[0].load_bytes += 1000)
BREAK(WORK_OF_PROCESSES, at->model->processes[0].flop *= 3)
BREAK(LOOP_TIME, at->f->loops[0].time_ns = at->f->time_ns + 1000)
BREAK(LOOP_WORK, at->f->loops[0].tally.flop += 1000)
BREAK(LOOP_BYTES, at->f->loop_bytes[0].events[TRAFFIC_L2_READ].bytes *= 1.1)
BREAK(DIRECTIONS, at->dram->moved[DIRECTION_BOTH].bytes *= 2)
BREAK(INTERVALS, at->dram->moved[DIRECTION_READ].halfwidth = NAN)
BREAK(READS_BY_LEVEL, at->dram[-1].moved[DIRECTION_READ].bytes *= 0.99)
BREAK(WRITES_BY_LEVEL, at->f->traffic->bytes.events[TRAFFIC_L3_WRITE_BACK].bytes *= 0.99)
BREAK(EVADABLE, at->f->traffic->bytes.events[TRAFFIC_MEM_EVADABLE].bytes = 1e12)
BREAK(CONFLICTS, at->f->traffic->bytes.events[TRAFFIC_MEM_CONFLICT].bytes = 1e12)
BREAK(MISS_RATIO, at->dram[-2].misses = 1.001)
BREAK(TRAFFIC_SUM, at->model->bytes.events[TRAFFIC_L2_READ].bytes *= 0.9)
BREAK(OBJECTS, at->f->traffic->objects[0].read *= 4)
BREAK(STRIDES, at->f->traffic->strides.used = at->f->traffic->strides.fetched + 1)
BREAK(WORKING_SET, at->f->traffic->moves_then = at->f->traffic->moves_now + 64)
BREAK(DISTANCE, at->f->place.distance *= 1.1)
BREAK(HEADROOM, at->f->place.headroom_s = -0.1)
BREAK(CEILING, at->f->place.ceiling = 1.1 * at->f->place.roof)
BREAK(ABOVE, at->f->place.above = true)

/* Of the sums of other rows. */
BREAK(VIEW_TIME, at->f->time_ns += 1000000)
BREAK(VIEW_WORK, at->f->tally.flop *= 2)
BREAK(VIEW_BYTES, at->f->traffic->bytes.events[TRAFFIC_L2_READ].bytes *= 1.1)

static void (*const breaks[N_INVARIANTS])(const struct broken *at) = {
#define INVARIANT(id, sentence) [INVARIANT_##id] = break_##id,
#include "report/check/invariants.def"
#undef INVARIANT
};

static struct broken find_broken(struct model *model)
{
	struct model_function *f = (struct model_function *)find(model, "triad");
	cr_assert_eq(f->traffic->n_levels, 4);
	cr_assert(f->n_loops > 0 && f->n_threads > 0 && f->traffic->n_objects > 0);
	cr_assert(model->n_processes > 0);
	return (struct broken){model, f, &f->traffic->levels[3]};
}

/* A process that did all that was counted, and took all the time. */
static void add_process(struct profile *p)
{
	for (size_t i = 0; i < p->n_threads; i++) {
		const uint32_t row =
			profile_process(p, p->threads[i].run, p->threads[i].pid, PROFILE_NONE);
		profile_process_command(p, row, "solver");
	}
	assert_ok(profile_match_processes(p));
}

Test(check, a_profile_that_is_right_breaks_nothing)
{
	struct profile *p = traced_sample();
	struct report_checked checked;
	char *text = NULL;
	size_t size;
	FILE *stream = open_memstream(&text, &size);
	add_process(p);
	assert_ok(report_check(p, stream, &checked));
	fclose(stream);
	cr_expect_str_eq(text, "");
	cr_expect_eq(checked.n_broken, 0);
	cr_expect_eq(checked.n_invariants, N_INVARIANTS);
	/* functions, loops and processes, and the rows of six other kinds */
	cr_expect(checked.n_rows > 7 * 5, "%zu", checked.n_rows);
	free(text);
	profile_destroy(p);
}

Test(check, each_broken_invariant_is_found)
{
	struct profile *p = traced_sample();
	add_process(p);
	for (int i = 0; i < N_INVARIANTS; i++) {
		if (i == INVARIANT_VIEW_TIME || i == INVARIANT_VIEW_WORK ||
		    i == INVARIANT_VIEW_BYTES)
			continue;
		struct model model = build_as(p, (struct model_choice){.loops = true});
		const struct broken at = find_broken(&model);
		size_t n_broken;
		breaks[i](&at);
		char *text = check_text(p, &model, &n_broken);
		cr_expect(strstr(text, sentences[i]), "%s:\n%s", sentences[i], text);
		cr_expect(n_broken > 0);
		free(text);
		model_deinit(&model);
	}
	profile_destroy(p);
}

Test(check, rows_of_another_kind_that_do_not_add_up_are_found)
{
	static const enum invariant of_views[] = {INVARIANT_VIEW_TIME, INVARIANT_VIEW_WORK,
						  INVARIANT_VIEW_BYTES};
	struct profile *p = traced_sample();
	struct model plain = build(p);
	add_process(p);
	for (size_t i = 0; i < 3; i++) {
		struct model other = build_as(p, (struct model_choice){.loops = true});
		const struct broken at = find_broken(&other);
		char *text = NULL;
		size_t size;
		FILE *stream = open_memstream(&text, &size);
		cr_expect_eq(report_check_view(p, &plain, &other, "line", stream).n_broken, 0);
		breaks[of_views[i]](&at);
		(void)report_check_view(p, &plain, &other, "line", stream);
		fclose(stream);
		cr_expect(strstr(text, sentences[of_views[i]]), "%s:\n%s", sentences[of_views[i]],
			  text);
		cr_expect(strstr(text, "line together: "), "%s", text);
		free(text);
		model_deinit(&other);
	}
	model_deinit(&plain);
	profile_destroy(p);
}

/* With prefetches a level may give more than it is asked for. */
Test(check, prefetched_lines_are_no_fault)
{
	struct profile *p = traced_sample();
	add_process(p);
	profile_set_fact(p, "traffic_prefetch", "1");
	struct model model = build_as(p, (struct model_choice){.loops = true});
	const struct broken at = find_broken(&model);
	size_t n_broken;
	break_READS_BY_LEVEL(&at);
	char *text = check_text(p, &model, &n_broken);
	cr_expect_null(strstr(text, sentences[INVARIANT_READS_BY_LEVEL]), "%s", text);
	free(text);
	model_deinit(&model);
	profile_destroy(p);
}

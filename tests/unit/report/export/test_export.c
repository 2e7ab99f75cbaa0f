/* What the exports are made of, against the model; the files themselves are in
 * tests/e2e/test_export.py.
 *
 * tests/e2e/golden/solver*.rfp are the profiles whose exports are checked in.  To rewrite them,
 * then the exports: RFPROF_REWRITE_GOLDEN=1 build/tests/unit/report/export/test_export --filter
 * 'export/profiles*' RFPROF_REWRITE_GOLDEN=1 ./dev test e2e/export e2e/diff
 */
#include "tests/unit/report/export/export_sample.h"

#include "report/diff/diff_conditions.h"
#include "report/export/protobuf.h"
#include "report/rows/code.h"
#include "report/rows/view.h"
#include "tests/unit/report/report_checks.h"

#include <stdio.h>
#include <unistd.h>

#define GOLDEN TEST_SOURCE_DIR "/../e2e/golden/"

static void expect_profile(struct profile *profile, const char *path)
{
	struct profile *loaded = NULL;
	if (getenv("RFPROF_REWRITE_GOLDEN"))
		assert_ok(profile_save(profile, path));
	assert_ok(profile_load(path, &loaded));
	cr_expect_eq(loaded->n_samples, profile->n_samples);
	cr_expect_eq(loaded->n_frames, profile->n_frames);
	cr_expect_eq(loaded->n_functions, profile->n_functions);
	cr_expect_eq(loaded->n_counts, profile->n_counts);
	cr_expect_eq(loaded->n_facts, profile->n_facts);
	profile_clean_texts(profile); /* as what is loaded */
	for (size_t i = 0; i < profile->n_functions && i < loaded->n_functions; i++)
		cr_expect_str_eq(loaded->functions[i].name, profile->functions[i].name);
	profile_destroy(loaded);
	profile_destroy(profile);
}

Test(export, profiles_are_as_checked_in)
{
	expect_profile(export_sample(), GOLDEN "solver.rfp");
	expect_profile(export_sample_after(), GOLDEN "solver_after.rfp");
}

struct sums {
	uint64_t flop, instructions, load_bytes, store_bytes, time_ns, n_samples;
};

static void expect_sums(const struct sums *sums, const struct sums *truth, const char *name)
{
	cr_expect_eq(sums->flop, truth->flop, "%s: flop", name);
	cr_expect_eq(sums->instructions, truth->instructions, "%s: instructions", name);
	cr_expect_eq(sums->load_bytes, truth->load_bytes, "%s: loaded", name);
	cr_expect_eq(sums->store_bytes, truth->store_bytes, "%s: stored", name);
	cr_expect_eq(sums->time_ns, truth->time_ns, "%s: time", name);
	cr_expect_eq(sums->n_samples, truth->n_samples, "%s: samples", name);
}

/* By instruction and by function of the model; both ways the same, function by function. */
static void compare_with_model(struct profile *p)
{
	struct model model = build(p);
	struct report_view view = {.profile = p, .model = &model};
	struct code code;
	struct code_rounding rounding = {0};
	double memory = 0;
	assert_ok(code_init(&code, &view, NULL));
	struct sums *sums = calloc(code.n_functions, sizeof(*sums)),
		    *truth = calloc(code.n_functions, sizeof(*truth));
	for (size_t i = 0; i < code.n_instructions; i++) {
		const struct code_instruction *at = &code.instructions[i];
		struct sums *of = &sums[at->row];
		of->flop += (uint64_t)at->flop;
		of->instructions += (uint64_t)at->executions;
		of->load_bytes += (uint64_t)at->load_bytes;
		of->store_bytes += (uint64_t)at->store_bytes;
		of->time_ns += at->time_ns;
		of->n_samples += at->n_samples;
		memory += (double)code_memory_bytes(&code, &rounding, at);
	}
	for (size_t i = 0; i < model.n_functions; i++) {
		const struct model_function *f = &model.functions[i];
		size_t row = f->function;
		for (size_t k = p->n_functions; row == PROFILE_NONE || row > code.n_functions; k++)
			row = strcmp(code.functions[k].name, f->name) == 0 ? k : PROFILE_NONE;
		struct sums *of = &truth[row];
		of->flop += f->tally.flop;
		of->instructions += f->tally.instructions;
		of->load_bytes += f->tally.load_bytes;
		of->store_bytes += f->tally.store_bytes;
		of->time_ns += f->time_ns;
		of->n_samples += f->n_samples;
	}
	for (size_t row = 0; row < code.n_functions; row++)
		expect_sums(&sums[row], &truth[row], code.functions[row].name);
	cr_expect_eq(memory, model.traced ? round(model.bytes.mem[DIRECTION_BOTH].bytes) : 0);
	free(sums);
	free(truth);
	code_deinit(&code);
	model_deinit(&model);
}

Test(export, sums_over_instructions_are_the_models)
{
	struct profile *p = export_sample();
	compare_with_model(p);
	struct packed_reader first = packed_reader_of(&p->traffic);
	struct profile_traffic another =
		*(const struct profile_traffic *)packed_reader_next(&first);
	memset(another.lines, 0, sizeof(another.lines));
	another.lines[TRAFFIC_MEM_READ] = 1; /* not a whole number of bytes in three classes */
	cr_assert(packed_rows_add(&p->traffic, &another, sizeof(another)));
	profile_set_fact(p, "traffic_classes", "3");
	compare_with_model(p);
	profile_destroy(p);
	p = report_sample();
	p->samples[7].frame = PROFILE_NONE;
	/* an execution that was cut in two: one less of the last three instructions, which are a
	 * block, too */
	const struct profile_block *triad = &p->blocks[0];
	struct profile_block rest = {triad->module, triad->start + 16, triad->size - 16,
				     malloc(triad->size - 16)};
	memcpy(rest.bytes, triad->bytes + 16, rest.size);
	cr_assert(rf_array_push(p->blocks, p->n_blocks, p->cap_blocks, rest));
	struct profile_count more = {(uint32_t)p->n_blocks - 1, 1, 5},
			     less = {(uint32_t)p->n_blocks - 1, 1, -7};
	cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, more));
	cr_assert(rf_array_push(p->counts, p->n_counts, p->cap_counts, less));
	compare_with_model(p);
	profile_destroy(p);
	p = profile_create();
	compare_with_model(p);
	profile_destroy(p);
}

Test(export, instructions_are_found_by_any_of_their_bytes)
{
	struct profile *p = export_sample();
	struct model model = build(p);
	struct report_view view = {.profile = p, .model = &model};
	struct code code;
	const uint32_t m = profile_module(p, "/opt/solver", "");
	assert_ok(code_init(&code, &view, NULL));
	cr_assert_not_null(code_instruction_at(&code, m, 0x1000));
	cr_expect_eq(code_instruction_at(&code, m, 0x1004)->offset, 0x1000);
	cr_expect_eq(code_instruction_at(&code, m, 0x1005)->offset, 0x1005);
	cr_expect_null(code_instruction_at(&code, m, 0xfff));
	cr_expect_null(code_instruction_at(&code, m, 0x10110), "code that was not counted");
	cr_expect_null(code_instruction_at(&code, PROFILE_NONE, 0x1000));
	code_deinit(&code);
	model_deinit(&model);
	profile_destroy(p);
}

Test(export, rounded_parts_have_the_rounded_sum)
{
	struct code_rounding rounding = {0};
	uint64_t sum = 0;
	for (uint64_t i = 0; i < 1000; i++) {
		uint64_t part = code_round(&rounding, i % 7, 4096, 3);
		cr_expect(part <= i % 7 * 4096 / 3 + 1);
		sum += part;
	}
	uint64_t exact = 0;
	for (uint64_t i = 0; i < 1000; i++)
		exact += i % 7 * 4096;
	cr_expect_eq(sum, (exact + 1) / 3);
}

/* The examples of the encoding specification. */
Test(export, protobuf_is_encoded_as_specified)
{
	struct protobuf message = {0}, inner = {0};
	const uint64_t packed[] = {3, 270, 86942};
	protobuf_number(&message, 1, 150);
	protobuf_number(&message, 9, 0);
	protobuf_string(&message, 2, "testing");
	protobuf_number(&inner, 1, 150);
	protobuf_message(&message, 3, &inner);
	protobuf_numbers(&message, 6, packed, 3);
	protobuf_number(&message, 1, UINT64_MAX);
	static const char truth[] =
		"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01\x32\x06\x03\x8e\x02\x9e\xa7\x05"
		"\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01";
	cr_assert_eq(message.n, sizeof(truth) - 1);
	cr_expect_arr_eq(message.bytes, truth, sizeof(truth) - 1);
	cr_expect_not(message.failed);
	protobuf_deinit(&message);
	protobuf_deinit(&inner);
}

/* ---- comparison ---- */

static const struct diff_function *pair(const struct diff *diff, const char *name)
{
	for (size_t i = 0; i < diff->n_functions; i++)
		if (strcmp(diff_name(&diff->functions[i]), name) == 0)
			return &diff->functions[i];
	cr_assert(false, "no %s", name);
	return NULL;
}

Test(diff, changes_are_what_was_changed)
{
	struct profile *a = export_sample(), *b = export_sample_after();
	struct diff diff;
	assert_ok(diff_init(&diff, a, b));
	static const struct {
		const char *name, *verdict;
	} rows[] = {
		{"triad", "faster"},
		{"dot", "slower"},
		{"masked_add", "gone"},
		{"fresh", "added"},
		{"fma_crunch(unsigned long)", "same within noise"},
		{"copy", "same within noise"},
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		cr_expect_str_eq(diff_verdict(&diff, pair(&diff, rows[i].name)), rows[i].verdict,
				 "%s", rows[i].name);
	struct diff_value time = diff_value(&diff, pair(&diff, "triad"), DIFF_TIME);
	expect_near(time.a, 1000 * (1e-3 - 1234e-9), "time in A");
	expect_near(time.b, 500 * (1e-3 - 1234e-9), "time in B");
	expect_near(time.halfwidth, 1.96 * (1e-3 - 1234e-9) * sqrt(1500), "half-width");
	struct diff_value flop = diff_value(&diff, pair(&diff, "dot"), DIFF_FLOP);
	cr_expect_eq(flop.b, 2 * flop.a);
	cr_expect_not(flop.same);
	cr_expect(diff_value(&diff, pair(&diff, "triad"), DIFF_FLOP).same);
	expect_near(diff_value(&diff, pair(&diff, "triad"), DIFF_BYTES).b, 12.8e9, "bytes");
	expect_near(diff_value(&diff, NULL, DIFF_WALL).b, 1.25, "wall");
	struct diff_value distance = diff_value(&diff, pair(&diff, "triad"), DIFF_DISTANCE);
	cr_expect(distance.b < distance.a);
	double sum_a = 0, sum_b = 0;
	for (size_t i = 0; i < diff.n_functions; i++) {
		sum_a += diff.functions[i].a ? (double)diff.functions[i].a->time_ns : 0;
		sum_b += diff.functions[i].b ? (double)diff.functions[i].b->time_ns : 0;
	}
	cr_expect_eq(sum_a, (double)diff.a.model.time_ns);
	cr_expect_eq(sum_b, (double)diff.b.model.time_ns);
	diff_deinit(&diff);
	profile_destroy(a);
	profile_destroy(b);
}

Test(diff, a_profile_is_the_same_as_itself)
{
	struct profile *p = export_sample();
	struct diff diff;
	assert_ok(diff_init(&diff, p, p));
	cr_expect_eq(diff.n_functions, diff.a.model.n_functions);
	for (size_t i = 0; i < diff.n_functions; i++) {
		cr_expect_eq(diff.functions[i].a - diff.a.model.functions,
			     diff.functions[i].b - diff.b.model.functions, "%s",
			     diff_name(&diff.functions[i]));
		cr_expect_str_eq(diff_verdict(&diff, &diff.functions[i]), "same within noise");
	}
	diff_deinit(&diff);
	profile_destroy(p);
}

/* Static functions of one name, in several files and in one, and one that has moved. */
Test(diff, equal_names_are_paired_by_their_file)
{
	struct profile *a = export_sample(), *b = export_sample();
	struct profile *both[] = {a, b};
	static const char *const files[2][3] = {{"x.c", "y.c", "y.c"}, {"y.c", "x.c", "z.c"}};
	uint64_t time_ns = 0;
	for (int side = 0; side < 2; side++)
		for (unsigned i = 0; i < 3; i++) {
			uint64_t start = 0x40000 + 0x1000 * i;
			uint32_t m =
				export_function(both[side], "helper", start, files[side][i], i);
			export_samples(both[side], 0,
				       profile_frame(both[side], PROFILE_NONE, m, start), i + 1,
				       &time_ns);
		}
	struct diff diff;
	size_t n = 0;
	assert_ok(diff_init(&diff, a, b));
	for (size_t i = 0; i < diff.n_functions; i++) {
		const struct diff_function *f = &diff.functions[i];
		if (strcmp(diff_name(f), "helper") != 0)
			continue;
		n++;
		cr_assert(f->a && f->b);
		const char *file_a = a->functions[f->a->function].file,
			   *file_b = b->functions[f->b->function].file;
		cr_expect(strcmp(file_a, file_b) == 0 || strcmp(file_b, "z.c") == 0, "%s and %s",
			  file_a, file_b);
	}
	cr_expect_eq(n, 3);
	diff_deinit(&diff);
	profile_destroy(a);
	profile_destroy(b);
}

Test(diff, conditions_are_read)
{
	static const struct {
		const char *text, *function;
		enum diff_metric metric;
		const char *op;
		double number;
		bool percent, change;
	} good[] = {
		{"time>5%", NULL, DIFF_TIME, ">", 5, true, false},
		{" headroom >= 10 % ", NULL, DIFF_HEADROOM, ">=", 10, true, false},
		{"wall>2.5s", NULL, DIFF_WALL, ">", 2.5, false, false},
		{"time<-0.5s", NULL, DIFF_TIME, "<", -0.5, false, true},
		{"ns::f<int>:distance<=+3", "ns::f<int>", DIFF_DISTANCE, "<=", 3, false, true},
		{"operator>=(a, b):bytes>1e9", "operator>=(a, b)", DIFF_BYTES, ">", 1e9, false,
		 false},
		{"*:flop>-1.5%", "*", DIFF_FLOP, ">", -1.5, true, true},
	};
	static const char *const bad[] = {
		"",         "time",      "time>",    "time>5x", "time>5%s", "flop>5s",
		"bogus>5",  ":time>5",   "f:wall>5", "time=5",  "time==5",  "time>nan",
		"time>inf", "time>0x10", "time>5 5", "f:>5",
	};
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct diff_condition c;
		assert_ok(diff_condition_parse(good[i].text, &c));
		cr_expect_eq(c.metric, good[i].metric, "%s", good[i].text);
		cr_expect_str_eq(c.op, good[i].op);
		cr_expect_eq(c.number, good[i].number);
		cr_expect_eq(c.percent, good[i].percent);
		cr_expect_eq(c.change, good[i].change);
		cr_expect_str_eq(c.function ? c.function : "",
				 good[i].function ? good[i].function : "");
		diff_condition_deinit(&c);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct diff_condition c;
		struct rf_error *error = diff_condition_parse(bad[i], &c);
		cr_expect_not_null(error, "%s", bad[i]);
		rf_error_destroy(error);
	}
}

Test(diff, conditions_hold_beyond_the_noise)
{
	static const struct {
		const char *text;
		int met; /* -1: cannot be told */
	} rows[] = {
		{"triad:time<-40%", 1},
		{"triad:time<-60%", 0},
		{"triad:time<-0.4s", 1},
		{"triad:time>0.4s", 1},
		{"triad:time>0.6s", 0},
		{"dot:time>40%", 1},
		{"dot:flop>=100%", 1},
		{"dot:flop>100%", 0},
		{"copy:time>0%", 0},
		{"copy:time<0%", 0},
		{"copy:time>=0%", 1},
		{"fresh:time>1000%", 1},
		{"masked_add:time<=-100%", 1},
		{"wall<-10%", 1},
		{"wall>1.3s", 0},
		{"*:time>45%", 1},
		{"*:time>100%", 1},
		{"*:distance>1e9", 0},
		{"jit_code:flop>0", -1},
		{"nobody:time>0", -1},
		{"triad:bytes>0%", 0},
		{"flop>0", 1},
		{"headroom>1000s", 0},
		{"distance>=1", 1},
	};
	struct profile *a = export_sample(), *b = export_sample_after();
	struct diff diff;
	FILE *null = fopen("/dev/null", "w");
	assert_ok(diff_init(&diff, a, b));
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct diff_condition c;
		bool met = false;
		assert_ok(diff_condition_parse(rows[i].text, &c));
		struct rf_error *error = diff_condition_test(&diff, &c, null, &met);
		cr_expect_eq(error ? -1 : met, rows[i].met, "%s: %s", rows[i].text,
			     error ? error->message : "");
		rf_error_destroy(error);
		diff_condition_deinit(&c);
	}
	fclose(null);
	diff_deinit(&diff);
	profile_destroy(a);
	profile_destroy(b);
}

/* Facts about a core: found by their form, and the same after they were JSON. */
#include "machine/data/core_json.h"
#include "tests/unit/assert_ok.h"

#include <criterion/criterion.h>

static struct insn_form form_named(const char *name)
{
	struct insn_form form;
	cr_assert(form_find(name, &form), "%s", name);
	return form;
}

static void add(struct core_facts *facts, const char *name, double latency, double use)
{
	struct form_fact fact = {.form = form_named(name),
				 .reciprocal = 0.5,
				 .looks = 3,
				 .apart = 1,
				 .beside_wide = 1.5};
	for (int i = 0; i <= FORM_OPERANDS; i++)
		fact.latency[i] = i < 2 ? latency + i : NAN;
	for (int i = 0; i < CORE_PROBES; i++)
		fact.use[i] = i % 2 ? use : NAN;
	cr_assert(core_facts_add(facts, &fact));
}

Test(core_facts, are_found_by_their_form)
{
	struct core_facts facts = {0};
	cr_expect(!core_facts_known(&facts));
	add(&facts, "vaddpd ymm, ymm, ymm", 4, 0.5);
	add(&facts, "add r64, r64", 1, 0.2);
	add(&facts, "mulsd xmm, xmm", 4, 0.5);
	add(&facts, "add r64, r64", 2, 0.2); /* measured again */
	cr_expect_eq(facts.n_forms, 3);
	const struct form_fact *found = core_facts_find(&facts, form_named("add r64, r64"));
	cr_assert_not_null(found);
	cr_expect_eq(found->latency[0], 2);
	cr_expect_eq(form_fact_latency(found), 3);
	cr_expect_null(core_facts_find(&facts, form_named("add r32, r32")));
	core_facts_deinit(&facts);
}

Test(core_facts, are_the_same_after_they_were_json)
{
	struct core_facts facts = {.looks = 2,
				   .taken = 1,
				   .code_lines = {1.25, 2},
				   .mispredicted = {17.5, 30},
				   .load = {5, 6},
				   .forward = {4, NAN},
				   .forward_still = {0, 5.5},
				   .forward_indexed = {6.25, NAN},
				   .forward_update = 3.5,
				   .load_scaled = 5.25,
				   .forward_part = 7,
				   .blocked = 19,
				   .blocked_each = 18,
				   .alias = {0.25, NAN},
				   .windows = {200, NAN, 150, 134, 64},
				   .crossing = {2, 3.5},
				   .alone = {0.25, 0, 0.5},
				   .dividers_apart = true,
				   .steps_fuse = true},
			  read = {0};
	add(&facts, "vaddpd ymm, ymm, ymm", 4, 0.5);
	add(&facts, "vaddpd zmm{k}{z}, zmm, zmm", 4, 0.5);
	json_t *json = core_facts_to_json(&facts);
	cr_assert_not_null(json);
	assert_ok(core_facts_from_json(json, &read));
	cr_expect_eq(read.n_forms, 2);
	cr_expect_eq(read.load[1], 6);
	cr_expect_eq(read.forms[0].looks, 3);
	cr_expect_eq(read.looks, 2);
	cr_expect(read.taken == 1 && read.code_lines[0] == 1.25 && read.code_lines[1] == 2);
	cr_expect(read.mispredicted[0] == 17.5 && read.mispredicted[1] == 30);
	cr_expect(isnan(read.forward[1]));
	cr_expect_eq(read.forward_still[1], 5.5);
	cr_expect(read.forward_indexed[0] == 6.25 && isnan(read.forward_indexed[1]));
	cr_expect_eq(read.forward_update, 3.5);
	cr_expect_eq(read.load_scaled, 5.25);
	cr_expect_eq(read.forward_part, 7);
	cr_expect(read.blocked == 19 && read.blocked_each == 18);
	cr_expect(read.alias[0] == 0.25 && isnan(read.alias[1]));
	cr_expect(read.windows[WINDOW_GENERAL] == 200 && isnan(read.windows[WINDOW_FLAGS]));
	cr_expect_eq(read.windows[WINDOW_STORES], 64);
	cr_expect(read.crossing[0] == 2 && read.crossing[1] == 3.5);
	for (int i = 0; i < CORE_RATES; i++)
		cr_expect_eq(read.alone[i], facts.alone[i]);
	cr_expect(read.dividers_apart && read.steps_fuse && !read.compares_fuse);
	for (size_t i = 0; i < 2; i++) {
		cr_expect_eq(form_key(read.forms[i].form), form_key(facts.forms[i].form));
		cr_expect_eq(read.forms[i].apart, 1);
		cr_expect_eq(read.forms[i].beside_wide, 1.5);
		cr_expect_eq(read.forms[i].latency[1], 5);
		cr_expect(isnan(read.forms[i].latency[2]) && isnan(read.forms[i].use[0]));
	}
	core_facts_deinit(&read);
	core_facts_deinit(&facts);
	json_decref(json);
}

Test(core_facts, are_slower_by_what_is_left)
{
	const struct core_facts facts = {.left = {0.5, 0, 1, 1.2}};
	cr_expect_eq(core_slower(&facts, CORE_RATE_SLOTS), 2);
	cr_expect_eq(core_slower(&facts, CORE_RATE_INTEGER), 1, "not known");
	cr_expect_eq(core_slower(&facts, CORE_RATE_VECTOR), 1);
	cr_expect_eq(core_slower(&facts, CORE_RATE_LOADS), 1, "more than all");
}

Test(core_facts, of_another_version_are_refused)
{
	struct core_facts read = {0};
	json_t *json = json_pack("{s:[s], s:[]}", "probes", "add r64, r64", "forms");
	struct rf_error *error = core_facts_from_json(json, &read);
	cr_assert_not_null(error);
	cr_expect_eq(error->code, RF_EFORMAT);
	rf_error_destroy(error);
	json_decref(json);
}

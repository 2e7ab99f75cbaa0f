/* What is looked at again, of forms that are known. */
#include "machine/core/core_measure.h"
#include "machine/core/form_latency.h"
#include "machine/core/form_operands.h"
#include "tests/unit/assert_ok.h"

#include <criterion/criterion.h>

#define BUDGET_NS UINT64_C(2000000000)

static struct form_fact fact_of(const char *name, double latency, unsigned looks)
{
	struct form_fact fact = {.reciprocal = 0.5, .looks = looks};
	cr_assert(form_find(name, &fact.form), "%s", name);
	for (int i = 0; i <= FORM_OPERANDS; i++)
		fact.latency[i] = latency;
	return fact;
}

/* How often the form has been looked at when it has been asked for once more. */
static unsigned looks_after(const struct form_fact *fact)
{
	struct core_facts facts = {.looks = 6};
	cr_assert(core_facts_add(&facts, fact));
	assert_ok(core_measure_more(&fact->form, 1, BUDGET_NS, &facts));
	const unsigned looks = core_facts_find(&facts, fact->form)->looks;
	core_facts_deinit(&facts);
	return looks;
}

/* Whether it is when it is asked for.  On a busy machine its throughput may not repeat either; then
 * it was not looked at. */
static bool is_looked_at(const struct form_fact *fact)
{
	for (int i = 0; i < 20; i++)
		if (looks_after(fact) > fact->looks)
			return true;
	return false;
}

Test(core_measure, a_latency_that_did_not_repeat_is_looked_at_again)
{
	const struct form_fact known = fact_of("add r64, r64", 1, 2),
			       lacking = fact_of("add r64, r64", NAN, 2),
			       given_up = fact_of("add r64, r64", NAN, 6);
	cr_expect_eq(looks_after(&known), 2);
	cr_expect_eq(looks_after(&given_up), 6);
	const struct form_fact slot = fact_of("nop", 1, 2);
	cr_expect(is_looked_at(&slot), "all loops are reckoned with it");
	cr_expect(is_looked_at(&lacking));
}

/* What is only written, a constant, and what is divided have none. */
Test(core_measure, some_operands_have_no_latency)
{
	static const struct {
		const char *name;
		double latency[FORM_OPERANDS + 1];
		bool known;
	} rows[] = {
		{"add r64, r64", {1, 1, NAN, NAN, NAN, NAN}, true},
		{"add r64, r64", {1, NAN, NAN, NAN, NAN, NAN}, false},
		{"add r64, i8", {1, NAN, NAN, NAN, NAN, NAN}, true},
		{"mov r64, r64", {NAN, 0, NAN, NAN, NAN, NAN}, true},
		{"mov r64, r64", {NAN, NAN, NAN, NAN, NAN, NAN}, false},
		{"div r64", {NAN, NAN, NAN, NAN, NAN, 10}, true},
		{"div r64", {NAN, NAN, NAN, NAN, NAN, NAN}, false},
		{"adc r64, r64", {1, 1, NAN, NAN, NAN, NAN}, false}, /* of the carry */
	};
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
		struct form_fact fact = fact_of(rows[i].name, NAN, 1);
		struct form_shape shape;
		cr_assert(form_shape_of(fact.form, &shape), "%s", rows[i].name);
		memcpy(fact.latency, rows[i].latency, sizeof(fact.latency));
		cr_expect_eq(form_latencies_known(&fact, &shape), rows[i].known, "%zu: %s", i,
			     rows[i].name);
	}
}

/* As where another thread of the same core kept it busy as long as it was measured. */
/* What is known of taken branches after one more look, behind so many. */
static double taken_after(unsigned looks)
{
	const struct form_fact known = fact_of("add r64, r64", 1, 2);
	struct core_facts facts = {.looks = looks, .taken = 1000, .mispredicted = {NAN, 2}};
	cr_assert(core_facts_add(&facts, &known));
	assert_ok(core_measure_more(&known.form, 1, BUDGET_NS, &facts));
	cr_expect_eq(facts.looks, looks < 6 ? looks + 1 : looks);
	cr_expect_eq(facts.mispredicted[1], 2);
	const double taken = facts.taken;
	core_facts_deinit(&facts);
	return taken;
}

Test(core_measure, what_is_no_forms_is_looked_at_at_several_times)
{
	for (unsigned looks = 4; looks < 8; looks++) {
		double least = 1000;
		/* on a busy machine it may not repeat */
		for (int i = 0; i < 20 && least == 1000; i++)
			least = taken_after(looks);
		cr_expect_eq(least < 1000, looks < 6, "%g", least);
	}
}

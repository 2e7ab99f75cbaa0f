/* Facts about a core that is made up: a load takes 5 cycles, an addition or a multiplication of
 * numbers 4, one of integers 3; six instructions and two taken branches a cycle. */
#pragma once

#include "machine/data/core_json.h"
#include "profile/profile.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static inline void made_up_form(struct core_facts *facts, const char *name, double latency,
				double reciprocal, enum core_probe probe)
{
	struct form_fact fact = {.reciprocal = reciprocal};
	cr_assert(form_find(name, &fact.form), "%s", name);
	for (int i = 0; i <= FORM_OPERANDS; i++)
		fact.latency[i] = latency;
	fact.use[PROBE_SLOT] = 1 / 6.0;
	fact.use[probe] = reciprocal;
	cr_assert(core_facts_add(facts, &fact));
}

static inline void made_up_core(struct profile *p)
{
	struct core_facts facts = {.taken = 0.5,
				   .load = {5, 6},
				   .forward = {4, 6},
				   .forward_still = {1, 5},
				   .dividers_apart = true,
				   .compares_fuse = true,
				   .steps_fuse = true};
	made_up_form(&facts, "nop", NAN, 1 / 6.0, PROBE_SLOT);
	made_up_form(&facts, "jz rel", NAN, 0.5, PROBE_BRANCH);
	made_up_form(&facts, "dec r64", 1, 0.2, PROBE_INTEGER);
	made_up_form(&facts, "imul r64, r64", 3, 1, PROBE_MULTIPLY);
	made_up_form(&facts, "addsd xmm, xmm", 4, 0.5, PROBE_FP_ADD);
	made_up_form(&facts, "mulsd xmm, xmm", 4, 0.5, PROBE_FP_MULTIPLY);
	made_up_form(&facts, "mov r64, m64", NAN, 1 / 3.0, PROBE_SLOT);
	made_up_form(&facts, "mov m64, r64", NAN, 0.5, PROBE_SLOT);
	json_t *json = core_facts_to_json(&facts);
	char *text = json_dumps(json, 0);
	profile_set_fact(p, "core_facts", "%s", text);
	free(text);
	json_decref(json);
	core_facts_deinit(&facts);
}

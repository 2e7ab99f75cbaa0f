/* The table of what forms of instructions take. */
#include "machine/data/core_facts.h"

#include "base/array.h"
#include "base/search.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const struct {
	const char *form, *older;
} probes[CORE_PROBES] = {
#define PROBE(name, form, older) [PROBE_##name] = {form, older},
#include "machine/data/core_probes.def"
#undef PROBE
};

const char *core_probe_form(enum core_probe probe, bool avx)
{
	return avx ? probes[probe].form : probes[probe].older;
}

const char *core_left_fact(enum core_rate rate)
{
	static const char *const names[CORE_RATES] = {
		[CORE_RATE_SLOTS] = "left_slots",   [CORE_RATE_INTEGER] = "left_integer",
		[CORE_RATE_VECTOR] = "left_vector", [CORE_RATE_LOADS] = "left_loads",
		[CORE_RATE_STORES] = "left_stores", [CORE_RATE_BRANCHES] = "left_branches",
	};
	return names[rate];
}

double core_slower(const struct core_facts *facts, enum core_rate rate)
{
	return facts->left[rate] > 0 && facts->left[rate] < 1 ? 1 / facts->left[rate] : 1;
}

void core_facts_deinit(struct core_facts *facts)
{
	free(facts->forms);
	*facts = (struct core_facts){0};
}

static size_t place_of(const struct core_facts *facts, struct insn_form form)
{
	const uint64_t key = form_key(form);
	return rf_search(facts->n_forms, i, form_key(facts->forms[i].form) < key);
}

const struct form_fact *core_facts_find(const struct core_facts *facts, struct insn_form form)
{
	const size_t at = place_of(facts, form);
	return at < facts->n_forms && form_key(facts->forms[at].form) == form_key(form)
		       ? &facts->forms[at]
		       : NULL;
}

bool core_facts_add(struct core_facts *facts, const struct form_fact *fact)
{
	const size_t at = place_of(facts, fact->form);
	if (at < facts->n_forms && form_key(facts->forms[at].form) == form_key(fact->form)) {
		facts->forms[at] = *fact;
		return true;
	}
	if (!rf_array_push(facts->forms, facts->n_forms, facts->cap_forms, *fact))
		return false;
	memmove(facts->forms + at + 1, facts->forms + at,
		(facts->n_forms - 1 - at) * sizeof(*facts->forms));
	facts->forms[at] = *fact;
	return true;
}

double form_fact_latency(const struct form_fact *fact)
{
	double most = NAN;
	for (int i = 0; i <= FORM_OPERANDS; i++)
		most = fmax(most, fact->latency[i]); /* of a number and NAN: the number */
	return most;
}

static struct insn_form form_named(const char *name)
{
	struct insn_form form = {0};
	const bool found = form_find(name, &form);
	assert(found);
	(void)found;
	return form;
}

struct insn_form core_load_form(enum access_width width)
{
	static const char *const names[ACCESS_WIDTHS] = {
		[ACCESS_GENERAL] = "mov r64, m64",
		[ACCESS_128] = "movups xmm, m128",
		[ACCESS_256] = "vmovups ymm, m256",
		[ACCESS_512] = "vmovups zmm, m512",
	};
	return form_named(names[width]);
}

struct insn_form core_store_form(enum access_width width)
{
	static const char *const names[ACCESS_WIDTHS] = {
		[ACCESS_GENERAL] = "mov m64, r64",
		[ACCESS_128] = "movups m128, xmm",
		[ACCESS_256] = "vmovups m256, ymm",
		[ACCESS_512] = "vmovups m512, zmm",
	};
	return form_named(names[width]);
}

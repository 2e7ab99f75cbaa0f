/* Facts about a core become JSON, and are read from it. */
#include "machine/data/core_json.h"

#include <limits.h>
#include <string.h>

/* ---- writing ---- */

/* To a thousandth of a cycle; null where it is not known. */
static json_t *cycles_to_json(double cycles)
{
	return isfinite(cycles) ? json_real(rint(cycles * 1000) / 1000) : json_null();
}

static json_t *row_to_json(const double *cycles, size_t n)
{
	json_t *row = json_array();
	for (size_t i = 0; i < n; i++)
		if (json_array_append_new(row, cycles_to_json(cycles[i]))) {
			json_decref(row);
			return NULL;
		}
	return row;
}

static json_t *form_to_json(const struct form_fact *fact)
{
	char name[FORM_NAME];
	form_name(fact->form, name);
	return json_pack("{s:s, s:i, s:o, s:o, s:o, s:o, s:o}", "form", name, "looks",
			 (int)fact->looks, "apart", cycles_to_json(fact->apart), "beside_wide",
			 cycles_to_json(fact->beside_wide), "reciprocal",
			 cycles_to_json(fact->reciprocal), "latency",
			 row_to_json(fact->latency, FORM_OPERANDS + 1), "use",
			 row_to_json(fact->use, CORE_PROBES));
}

static json_t *probes_to_json(void)
{
	json_t *probes = json_array();
	for (int i = 0; i < CORE_PROBES; i++)
		json_array_append_new(probes,
				      json_string(core_probe_form((enum core_probe)i, true)));
	return probes;
}

json_t *core_facts_to_json(const struct core_facts *facts)
{
	json_t *forms = json_array();
	int failed = 0;
	for (size_t i = 0; i < facts->n_forms; i++)
		failed |= json_array_append_new(forms, form_to_json(&facts->forms[i]));
	json_t *json = json_pack(
		"{s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, "
		"s:o, "
		"s:o, s:o, s:b, s:b, "
		"s:b, "
		"s:o}",
		"looks", (int)facts->looks, "probes", probes_to_json(), "taken",
		cycles_to_json(facts->taken), "code_lines", row_to_json(facts->code_lines, 2),
		"mispredicted", row_to_json(facts->mispredicted, 2), "load",
		row_to_json(facts->load, 2), "forward", row_to_json(facts->forward, 2),
		"forward_still", row_to_json(facts->forward_still, 2), "forward_indexed",
		row_to_json(facts->forward_indexed, 2), "forward_update",
		cycles_to_json(facts->forward_update), "forward_part",
		cycles_to_json(facts->forward_part), "blocked", cycles_to_json(facts->blocked),
		"blocked_each", cycles_to_json(facts->blocked_each), "alias",
		row_to_json(facts->alias, 2), "load_scaled", cycles_to_json(facts->load_scaled),
		"windows", row_to_json(facts->windows, CORE_WINDOWS), "address",
		cycles_to_json(facts->address), "crossing", row_to_json(facts->crossing, 2),
		"alone", row_to_json(facts->alone, CORE_RATES), "dividers_apart",
		facts->dividers_apart, "compares_fuse", facts->compares_fuse, "steps_fuse",
		facts->steps_fuse, "forms", forms);
	if (failed) {
		json_decref(json);
		return NULL;
	}
	return json;
}

/* ---- reading ---- */

static double cycles_of(const json_t *json)
{
	const double cycles = json_is_number(json) ? json_number_value(json) : NAN;
	return cycles >= 0 && cycles < 1e6 ? cycles : NAN;
}

static void read_row(const json_t *json, double *cycles, size_t n)
{
	for (size_t i = 0; i < n; i++)
		cycles[i] = cycles_of(json_array_get(json, i));
}

/* Files of before have none. */
static void read_alone(const json_t *json, double cycles[CORE_RATES])
{
	read_row(json, cycles, CORE_RATES);
	for (int i = 0; i < CORE_RATES; i++)
		cycles[i] = cycles[i] > 0 ? cycles[i] : 0;
}

static unsigned looks_of(const json_t *json)
{
	const json_int_t looks = json_integer_value(json_object_get(json, "looks"));
	return looks > 0 && looks < INT_MAX ? (unsigned)looks : 0;
}

static bool read_form(const json_t *json, struct form_fact *fact)
{
	const char *name = json_string_value(json_object_get(json, "form"));
	if (!name || !form_find(name, &fact->form))
		return false;
	fact->looks = looks_of(json);
	fact->reciprocal = cycles_of(json_object_get(json, "reciprocal"));
	fact->apart = cycles_of(json_object_get(json, "apart"));
	fact->beside_wide = cycles_of(json_object_get(json, "beside_wide"));
	read_row(json_object_get(json, "latency"), fact->latency, FORM_OPERANDS + 1);
	read_row(json_object_get(json, "use"), fact->use, CORE_PROBES);
	return true;
}

static bool has_our_probes(const json_t *json)
{
	json_t *ours = probes_to_json();
	const bool same = ours && json_equal(json_object_get(json, "probes"), ours);
	json_decref(ours);
	return same;
}

/* Forms that this version does not know are left out. */
struct rf_error *core_facts_from_json(const json_t *json, struct core_facts *out)
{
	const json_t *forms = json_object_get(json, "forms");
	struct core_facts facts = {0};
	if (!json_is_array(forms) || !has_our_probes(json))
		return rf_error_create(RF_EFORMAT, NULL, "they are no facts about a core");
	facts.looks = looks_of(json);
	facts.taken = cycles_of(json_object_get(json, "taken"));
	read_row(json_object_get(json, "code_lines"), facts.code_lines, 2);
	read_row(json_object_get(json, "mispredicted"), facts.mispredicted, 2);
	read_row(json_object_get(json, "load"), facts.load, 2);
	read_row(json_object_get(json, "forward"), facts.forward, 2);
	read_row(json_object_get(json, "forward_still"), facts.forward_still, 2);
	read_row(json_object_get(json, "forward_indexed"), facts.forward_indexed, 2);
	facts.forward_update = cycles_of(json_object_get(json, "forward_update"));
	facts.forward_part = cycles_of(json_object_get(json, "forward_part"));
	facts.blocked = cycles_of(json_object_get(json, "blocked"));
	facts.blocked_each = cycles_of(json_object_get(json, "blocked_each"));
	read_row(json_object_get(json, "alias"), facts.alias, 2);
	facts.load_scaled = cycles_of(json_object_get(json, "load_scaled"));
	read_row(json_object_get(json, "windows"), facts.windows, CORE_WINDOWS);
	facts.address = cycles_of(json_object_get(json, "address"));
	read_row(json_object_get(json, "crossing"), facts.crossing, 2);
	read_alone(json_object_get(json, "alone"), facts.alone);
	facts.dividers_apart = json_is_true(json_object_get(json, "dividers_apart"));
	facts.compares_fuse = json_is_true(json_object_get(json, "compares_fuse"));
	facts.steps_fuse = json_is_true(json_object_get(json, "steps_fuse"));
	for (size_t i = 0; i < json_array_size(forms); i++) {
		struct form_fact fact;
		if (read_form(json_array_get(forms, i), &fact) && !core_facts_add(&facts, &fact)) {
			core_facts_deinit(&facts);
			return rf_error_no_memory();
		}
	}
	*out = facts;
	return NULL;
}

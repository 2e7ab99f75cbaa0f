/* The forms of a program's instructions, and what they take here. */
#include "tracer/run/run_core.h"

#include "base/array.h"
#include "base/search.h"
#include "base/u64_map.h"
#include "insn/insn_cache.h"
#include "machine/data/core_json.h"
#include "machine/kernels/clock_held.h"
#include "machine/store/core_store.h"
#include "tracer/launch/launch.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MORE_NS UINT64_C(1000000000)
#define MOST_FORMS 400 /* that a profile gets, the most executed ones */
/* Forms that were executed less often than that, of all instructions, are not measured. */
#define LEAST_SHARE 0.0005

/* How often a form was executed. */
struct use {
	struct insn_form form;
	double n;
};

struct uses {
	struct use *items;
	size_t n, cap;
	struct u64_map of_form; /* form_key() → its place */
};

static void uses_deinit(struct uses *uses)
{
	free(uses->items);
	u64_map_deinit(&uses->of_form);
}

/* The most executed first. */
static int compare_uses(const void *a, const void *b)
{
	const struct use *x = a, *y = b;
	return rf_compare(y->n, x->n) ?: rf_compare(form_key(x->form), form_key(y->form));
}

static struct rf_error *add_use(struct uses *uses, struct insn_form form, double n)
{
	const uint64_t key = form_key(form);
	const uint32_t *at = u64_map_find(&uses->of_form, key);
	if (at) {
		uses->items[*at].n += n;
		return NULL;
	}
	if (!u64_map_set(&uses->of_form, key, (uint32_t)uses->n))
		return rf_error_no_memory();
	return rf_array_add(uses->items, uses->n, uses->cap, ((struct use){form, n}));
}

static struct rf_error *add_block(const struct profile_block *block, double n,
				  struct insn_cache *insns, struct uses *uses)
{
	struct rf_error *error = NULL;
	for (uint32_t at = 0; at < block->size && n > 0 && !error;) {
		const struct dataflow *flow =
			insn_cache_dataflow(insns, block->bytes + at, block->size - at);
		if (!flow)
			break;
		if (flow->parts.form.mnemonic)
			error = add_use(uses, flow->parts.form, n);
		at += flow->work.length;
	}
	return error;
}

static struct rf_error *find_uses(const struct profile *profile, struct uses *uses)
{
	double *executions = calloc(profile->n_blocks + 1, sizeof(*executions));
	struct insn_cache *insns = insn_cache_create();
	struct rf_error *error = executions && insns ? NULL : rf_error_no_memory();
	for (size_t i = 0; i < profile->n_counts && !error; i++)
		executions[profile->counts[i].block] += (double)profile->counts[i].n;
	for (size_t i = 0; i < profile->n_blocks && !error; i++)
		error = add_block(&profile->blocks[i], executions[i], insns, uses);
	if (uses->n)
		qsort(uses->items, uses->n, sizeof(*uses->items), compare_uses);
	insn_cache_destroy(insns);
	free(executions);
	return error;
}

/* The forms that are wanted, the most executed first; what a report always needs is among them.
 * *n_measured of them are to be measured where they are not known. */
static size_t wanted_forms(const struct uses *uses, struct insn_form *forms, size_t *n_measured)
{
	size_t n = 0;
	struct insn_form needed = {0};
	for (int width = ACCESS_GENERAL; width < ACCESS_WIDTHS; width++) {
		forms[n++] = core_load_form((enum access_width)width);
		forms[n++] = core_store_form((enum access_width)width);
	}
	static const char *const always[] = {"nop", "jz rel", "addpd xmm, xmm"};
	for (size_t i = 0; i < sizeof(always) / sizeof(*always); i++)
		if (form_find(always[i], &needed))
			forms[n++] = needed;
	double all = 0;
	for (size_t i = 0; i < uses->n; i++)
		all += uses->items[i].n;
	*n_measured = n;
	for (size_t i = 0; i < uses->n && n < MOST_FORMS; i++) {
		forms[n++] = uses->items[i].form;
		*n_measured += uses->items[i].n >= LEAST_SHARE * all;
	}
	return n;
}

/* Of the forms alone, with all that is no form's. */
static struct rf_error *keep(struct profile *profile, const struct core_facts *facts,
			     const struct insn_form *forms, size_t n)
{
	struct core_facts part = *facts;
	part.forms = NULL;
	part.n_forms = part.cap_forms = 0;
	bool failed = false;
	for (size_t i = 0; i < n; i++) {
		const struct form_fact *fact = core_facts_find(facts, forms[i]);
		failed |= fact && !core_facts_add(&part, fact);
	}
	json_t *json = failed || !core_facts_known(&part) ? NULL : core_facts_to_json(&part);
	char *text = json ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(6)) : NULL;
	if (text)
		profile_set_fact(profile, "core_facts", "%s", text);
	if (text && facts->mispredicted[0] > 0)
		profile_set_fact(profile, "mispredicted_cycles", "%.3f", facts->mispredicted[0]);
	if (text && facts->mispredicted[1] > 0)
		profile_set_fact(profile, "mispredicted_rarely_cycles", "%.3f",
				 facts->mispredicted[1]);
	free(text);
	json_decref(json);
	core_facts_deinit(&part);
	return failed ? rf_error_no_memory() : NULL;
}

/* With fewer looks nothing is said. */
#define FEWEST_LOOKS 5

/* What the core does alone is the best that was ever seen, which looks differ from by so much. */
#define ABOUT_SAME 1.005

/* The clock, beside the program or, where nobody looked, now; and what the core did beside the
 * program, of what it does alone.  True: the latter is news. */
static bool note_looks(struct profile *profile, const struct core_looks *looks,
		       struct core_facts *facts)
{
	bool is_better = false;
	const bool any = looks->n >= FEWEST_LOOKS;
	profile_set_fact(profile, "clock_held_ghz", "%.4f",
			 any ? looks->clock_ghz : clock_held_ghz());
	if (!any)
		return false;
	profile_set_fact(profile, "core_looks", "%" PRIu64, looks->n);
	for (int i = 0; i < CORE_RATES; i++) {
		double *alone = &facts->alone[i];
		if (!(*alone > 0) || looks->least[i] * ABOUT_SAME < *alone) {
			*alone = looks->least[i];
			is_better = true;
		}
		profile_set_fact(profile, core_left_fact((enum core_rate)i), "%.4f",
				 fmin(1, looks->rates[i] * *alone));
	}
	return is_better;
}

/* Loops of a program that ended sooner have so few samples that nothing can be said of their time.
 */
#define SHORTEST_S 0.1

struct rf_error *run_core_take(struct run *run)
{
	if (profile_number_fact(run->profile, "wall_s", 0) < SHORTEST_S)
		return NULL;
	struct insn_form forms[MOST_FORMS];
	struct uses uses = {0};
	struct core_facts facts;
	struct rf_error *error = find_uses(run->profile, &uses);
	if (error) {
		uses_deinit(&uses);
		return error;
	}
	size_t n_measured;
	const size_t n = wanted_forms(&uses, forms, &n_measured);
	core_store_read(&facts);
	const bool ended = !launch_was_interrupted(run->timed_status);
	/* of this run, and no roof: as it is now, --keep-roofs or not */
	const bool is_better = ended && note_looks(run->profile, &run->core_looks, &facts);
	if (uses.n && ended && !run->options->keep_roofs)
		error = core_store_more(forms, n_measured, MORE_NS, &facts);
	if (!error && is_better && core_facts_known(&facts))
		core_store_save(&facts);
	if (!error && uses.n)
		error = keep(run->profile, &facts, forms, n);
	core_facts_deinit(&facts);
	uses_deinit(&uses);
	return error;
}

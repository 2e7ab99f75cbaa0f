/* Names and sentences of time accounts. */
#include "report/ecm/ecm_words.h"

#include "base/text.h"

#include <math.h>
#include <stdio.h>

const char *ecm_link_name(enum ecm_part part)
{
	static const char *const names[ECM_PARTS] = {
		[ECM_L1_L2] = "l1_l2",
		[ECM_L2_L3] = "l2_l3",
		[ECM_L2_MEMORY] = "l2_memory",
		[ECM_L3_MEMORY] = "l3_memory",
	};
	return names[part];
}

static const struct {
	const char *name, *words, *label;
} parts[ACCOUNT_PARTS] = {
	[ACCOUNT_CORE] = {"core", "in the core", "core"},
	[ACCOUNT_CHAIN] = {"chain", "chain from turn to turn", "chain"},
	[ACCOUNT_L1_L2] = {"l1_l2", "between L1 and L2", "L1L2"},
	[ACCOUNT_L2_L3] = {"l2_l3", "between L2 and L3", "L2L3"},
	[ACCOUNT_MEMORY] = {"memory", "to and from memory", "memory"},
	[ACCOUNT_LATENCY] = {"latency", "waiting for irregular or far lines", "latency"},
	[ACCOUNT_WALKS] = {"page_walks", "walks through page tables", "page walks"},
	[ACCOUNT_BRANCHES] = {"branches", "mispredicted branches", "branches"},
	[ACCOUNT_SHARED] = {"shared_core", "shared with other hardware threads", "shared core"},
	[ACCOUNT_REST] = {"rest", "not explained", "rest"},
};

const char *ecm_account_name(enum ecm_account_part part)
{
	return parts[part].name;
}

const char *ecm_account_words(enum ecm_account_part part)
{
	return parts[part].words;
}

const char *ecm_account_label(enum ecm_account_part part)
{
	return parts[part].label;
}

const char *ecm_change_name(enum ecm_change change)
{
	static const char *const names[ECM_CHANGES] = {
		[CHANGE_VECTORS] = "vectorised",  [CHANGE_BLOCKED] = "blocked_to_l2",
		[CHANGE_PREDICTED] = "predicted", [CHANGE_PREFETCHED] = "prefetched",
		[CHANGE_PAGES] = "pages",
	};
	return names[change];
}

const char *ecm_put_change(char *text, const struct ecm_machine *machine, enum ecm_change change)
{
	static const char *const words[ECM_CHANGES] = {
		[CHANGE_BLOCKED] = "with all data from L2",
		[CHANGE_PREDICTED] = "without mispredicted branches",
		[CHANGE_PAGES] = "with all pages in the TLBs' reach (larger pages, or blocks)",
		[CHANGE_PREFETCHED] = "with irregular and far lines prefetched",
	};
	if (change == CHANGE_VECTORS)
		snprintf(text, ECM_CHANGE_WORDS, "in vectors of %.0f bytes", machine->vector_bytes);
	else
		snprintf(text, ECM_CHANGE_WORDS, "%s", words[change]);
	return text;
}

/* Two digits tell enough of a model, and five of them fit a line. */
static const char *put_turn(char *cell, const struct ecm_machine *machine,
			    const struct ecm_account *account, double seconds, bool known)
{
	const double cycles = known ? ecm_cycles_a_turn(machine, account, seconds) : NAN;
	if (!(cycles >= 0 && cycles < 99999))
		return text_number(cell, cycles);
	snprintf(cell, TEXT_NUMBER,
		 cycles < 0.005   ? "0"
		 : cycles < 0.995 ? "%.2f"
		 : cycles < 9.95  ? "%.1f"
				  : "%.0f",
		 cycles);
	return cell;
}

const char *ecm_put_parts(char *cell, const struct ecm_machine *machine,
			  const struct ecm_account *account)
{
	const bool core = ecm_is_predicted(account),
		   moves = core && !(account->lacks & ECM_LACKS_TRANSFERS);
	const double *s = account->parts_s;
	char number[5][TEXT_NUMBER];
	snprintf(cell, 96, "{%s ‖ %s | %s | %s | %s}",
		 put_turn(number[0], machine, account, s[ECM_OL], core),
		 put_turn(number[1], machine, account, s[ECM_NOL], core),
		 put_turn(number[2], machine, account, s[ECM_L1_L2], moves),
		 put_turn(number[3], machine, account, s[ECM_L2_L3], moves),
		 put_turn(number[4], machine, account, ecm_memory_s(account), moves));
	return cell;
}

const char *ecm_put_machine(char *text, size_t size, const struct ecm_machine *machine)
{
	const struct ecm_fit *fit = &machine->fit, *second = &machine->second;
	char runner_up[160] = "";
	if (machine->source == ECM_NO_ROOFS) {
		snprintf(text, size, "no bandwidth was measured: transfers are not predicted");
		return text;
	}
	if (second->rule)
		snprintf(runner_up, sizeof(runner_up), "; runner-up (%.1f %%): %s",
			 100 * second->error, second->rule->words);
	snprintf(text, size,
		 "overlap: %s%s; %s of %zu bandwidths that were measured, %.1f %% off%s",
		 fit->rule->words, fit->past_l3 ? ", data from memory past the L3" : "",
		 machine->source == ECM_FITTED ? "the rule that fits best"
					       : "assumed, too few for a choice",
		 machine->n_kernels, 100 * fit->error, runner_up);
	return text;
}

const char *ecm_lack_words(const struct ecm_account *account)
{
	return account->lacks & ECM_LACKS_COUNTS
		       ? "no prediction: nothing of it was counted, or it waits for others"
	       : account->lacks & ECM_LACKS_CLOCK ? "no prediction: the clock was not measured"
	       : account->lacks & ECM_LACKS_CALLS ? "no prediction: its loops call what cannot be "
						    "followed, and do it beside that"
	       : account->lacks & ECM_LACKS_TRAFFIC
		       ? "as if all data were in L1: its traffic was not traced"
	       : account->lacks & ECM_LACKS_ROOFS
		       ? "as if all data were in L1: no bandwidth was measured"
	       : account->lacks & ECM_LACKS_SIGHT
		       ? "what it moves is not known: it ran where accesses were not traced"
	       : account->lacks & ECM_LACKS_LATENCY ? "without waiting for irregular or far lines: "
						      "their latency was not measured"
	       : account->lacks & ECM_LACKS_BRANCHES
		       ? "without mispredicted branches: what they did or cost is not known"
	       : account->lacks & ECM_LACKS_SAMPLES
		       ? "no sample: it took too little time to be measured"
		       : NULL;
}

enum in_core_part ecm_longest_in_core(const struct ecm_account *account)
{
	enum in_core_part most = IN_CORE_ISSUE;
	for (int i = 0; i < IN_CORE_PARTS; i++)
		if (account->in_core_s[i] > account->in_core_s[most])
			most = (enum in_core_part)i;
	return most;
}

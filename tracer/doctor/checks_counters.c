/* Hardware counters. */
#include "tracer/doctor/checks.h"

/* In the words for what is known of this machine, which is more than the files of /proc tell where
 * they are hidden. */
struct doctor_refusal doctor_explained_pmu(const struct doctor_facts *facts)
{
	const struct refusal_request request = {.kind = REFUSED_HARDWARE,
						.what = "the event branches"};
	struct refusal_facts known = facts->refusal;
	struct doctor_refusal refusal = facts->pmu.refused;
	known.hypervisor |= facts->hypervisor[0] != '\0';
	if (refusal.there && refusal.errnum)
		doctor_refusal_take(&refusal, refusal_explain(refusal.errnum, &request, &known));
	return refusal;
}

void check_pmu(const struct doctor_facts *facts, struct doctor_line *line)
{
	const struct doctor_pmu *pmu = &facts->pmu;
	const char *table = pmu->table[0] ? pmu->table : "a processor without a table of events";
	if (pmu->refused.there) {
		struct doctor_refusal refusal = doctor_explained_pmu(facts);
		SAY(line->found, "%s: %s", table, refusal.message);
		doctor_lacks(line, DOCTOR_MISSING,
			     "a second run, which counts by translation: exact, but slower than "
			     "the program",
			     refusal.hint);
		return;
	}
	SAY(line->found, "%s: %u general counter%s, %d fixed", table, pmu->general,
	    pmu->general == 1 ? "" : "s", __builtin_popcount(pmu->fixed));
	if (!pmu->table[0])
		doctor_lacks(line, DOCTOR_PARTLY,
			     "its events are not known here: work is counted by translation",
			     "see docs/events.md on how to add a table");
}

void check_events(const struct doctor_facts *facts, struct doctor_line *line)
{
	unsigned listed = 0, usable = 0;
	char bad[640] = "";
	for (int i = 0; i < N_EVENT_QUANTITIES; i++) {
		const struct doctor_quantity *quantity = &facts->pmu.quantities[i];
		const char *name = event_quantity_name((enum event_quantity)i);
		listed += quantity->listed;
		usable += quantity->usable;
		if (quantity->usable)
			doctor_add_words(line->found, 300, ", ", name);
		else if (quantity->listed) {
			doctor_add_words(bad, sizeof(bad), "; ", name);
			doctor_add_words(bad, sizeof(bad), " (", quantity->why);
			doctor_add_words(bad, sizeof(bad), "", ")");
		}
	}
	if (!listed) {
		SAY(line->found, "none could be tried");
		doctor_lacks(line, DOCTOR_MISSING, "as for the PMU",
			     facts->pmu.refused.there ? "see PMU" : "see docs/events.md");
		return;
	}
	doctor_add_words(line->found, sizeof(line->found), "", usable ? " proved" : "none proved");
	if (usable == listed)
		return;
	doctor_add_words(line->found, sizeof(line->found), "; not used: ", bad);
	doctor_lacks(line, usable ? DOCTOR_PARTLY : DOCTOR_MISSING,
		     "what is not proved is not taken from the PMU, but counted or traced",
		     "nothing is needed; the reasons say what could be changed");
}

#define COSTS_MEMORY "traffic to memory is simulated, not measured"

void check_uncore(const struct doctor_facts *facts, struct doctor_line *line)
{
	if (facts->uncore.there) {
		SAY(line->found, "%s", facts->uncore.message);
		doctor_lacks(line, DOCTOR_MISSING, COSTS_MEMORY, facts->uncore.hint);
		return;
	}
	SAY(line->found, "%u PMU%s of memory controllers", facts->n_uncore_pmus,
	    facts->n_uncore_pmus == 1 ? "" : "s");
	if (!facts->uncore_complete)
		doctor_lacks(line, DOCTOR_PARTLY,
			     COSTS_MEMORY ": not both of reads and writes are counted there",
			     "a newer kernel may name the events");
}

void check_resctrl(const struct doctor_facts *facts, struct doctor_line *line)
{
	SAY(line->found, "%s",
	    facts->resctrl.there ? facts->resctrl.message
				 : "counts bytes of memory by group of tasks");
	if (facts->resctrl.there)
		doctor_lacks(line, DOCTOR_MISSING, "no bytes of memory by program; " COSTS_MEMORY,
			     facts->resctrl.hint);
	else if (!facts->resctrl_writable)
		doctor_lacks(line, DOCTOR_PARTLY, COSTS_MEMORY ": no group can be made",
			     "run rfprof as root, or give its user the directory mon_groups");
}

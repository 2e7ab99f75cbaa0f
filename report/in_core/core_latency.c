/* Measured latencies, and what stands for those that are not known. */
#include "report/in_core/core_latency.h"

/* From an operand of an addition to its result: what stands for a form that nobody has measured. */
static double addition_cycles(const struct core_facts *facts, bool vector)
{
	static const char *const names[] = {"vaddpd xmm, xmm, xmm", "addpd xmm, xmm"};
	for (int i = 0; i < 2 && vector; i++) {
		struct insn_form form = {0};
		form_find(names[i], &form);
		const struct form_fact *fact = core_facts_find(facts, form);
		if (fact && form_fact_latency(fact) > 0)
			return form_fact_latency(fact);
	}
	return vector ? 4 : 1;
}

uint32_t core_ticks(double cycles)
{
	return cycles > 0 && cycles < 1e5 ? (uint32_t)lrint(cycles * CORE_TICKS) : 0;
}

bool core_is_wide(const struct insn_form *form)
{
	bool wide = false;
	for (int i = 0; i < FORM_OPERANDS; i++)
		wide |= form->operands[i] == KIND_ZMM;
	return form->mnemonic && wide;
}

void core_latencies(const struct core_facts *facts, const struct dataflow *flow, bool beside_wide,
		    uint32_t latency[FORM_OPERANDS + 1])
{
	const struct form_fact *fact = core_facts_find(facts, flow->parts.form);
	const bool vector = flow->n_writes && flow->writes[0] >= REGISTER_VECTOR &&
			    flow->writes[0] < REGISTER_FLAGS;
	const double most = fact ? form_fact_latency(fact) : NAN;
	const double otherwise = !flow->parts.form.mnemonic ? 0
				 : !isnan(most)
					 ? most
					 : fmax(flow->latency, addition_cycles(facts, vector));
	const double more = fact && beside_wide && fact->beside_wide > 0 ? fact->beside_wide : 0;
	for (int i = 0; i <= FORM_OPERANDS; i++)
		latency[i] = core_ticks(
			(fact && !isnan(fact->latency[i]) ? fact->latency[i] : otherwise) + more);
}

/* What did not repeat when it was measured is the least that is
 * known of others. */
double core_load_cycles(const struct core_facts *facts, const struct dataflow *flow)
{
	const bool scaled = flow->memory.index != NO_REGISTER && flow->memory.scale > 1;
	const double load = facts->load[flow->parts.load > ACCESS_GENERAL],
		     more = fmax(0, facts->load_scaled - facts->load[0]);
	return (isnan(load) ? LOAD_LATENCY : load) + (scaled && !isnan(more) ? more : 0);
}

/* Measures the core and prints what came out, for people. */
#include "base/clock.h"
#include "machine/core/core_measure.h"

#include <stdio.h>
#include <stdlib.h>

static void print_form(const struct form_fact *fact)
{
	char name[FORM_NAME];
	form_name(fact->form, name);
	printf("%-36s %6.2f |", name, fact->reciprocal);
	for (int i = 0; i <= FORM_OPERANDS; i++)
		if (!isnan(fact->latency[i]))
			printf(" %d:%.2f", i, fact->latency[i]);
	printf(" |");
	for (int i = 0; i < CORE_PROBES; i++)
		if (fact->use[i] > 0)
			printf(" %d:%.2f", i, fact->use[i]);
	printf("\n");
}

int main(void)
{
	struct core_facts facts;
	const uint64_t start = clock_now_ns();
	struct rf_error *error = core_measure(60000000000u, &facts);
	if (error)
		return 1;
	printf("%zu forms in %.2f s\n", facts.n_forms, (double)(clock_now_ns() - start) / 1e9);
	printf("forward_part %.2f blocked %.2f each %.2f alias %.2f %.2f scaled %.2f\n",
	       facts.forward_part, facts.blocked, facts.blocked_each, facts.alias[0],
	       facts.alias[1], facts.load_scaled);
	printf("windows: general %.0f flags %.0f vector %.0f loads %.0f stores %.0f\n",
	       facts.windows[0], facts.windows[1], facts.windows[2], facts.windows[3],
	       facts.windows[4]);
	printf("taken %.2f load %.2f %.2f forward %.2f %.2f still %.2f %.2f address %.2f apart %d "
	       "fuse %d\n",
	       facts.taken, facts.load[0], facts.load[1], facts.forward[0], facts.forward[1],
	       facts.forward_still[0], facts.forward_still[1], facts.address, facts.dividers_apart,
	       facts.compares_fuse);
	for (int i = 0; i < CORE_PROBES; i++)
		printf("%d %s\n", i, core_probe_form((enum core_probe)i, true));
	for (size_t i = 0; i < facts.n_forms; i++)
		print_form(&facts.forms[i]);
	core_facts_deinit(&facts);
	return 0;
}

/* Which events of the PMU can be counted here, and are proved. */
#include "tracer/doctor/pmu_facts.h"

#include "tracer/pmu/counter_limits.h"
#include "tracer/pmu/event_encode.h"

#include <stdlib.h>

/* False: the event is not of the core, is known to be wrong, or libpfm4 cannot encode it. */
static bool encode(const struct event_row *row, struct proof_event *event)
{
	struct perf_event_attr attr;
	struct rf_error *error = NULL;
	if (row->flags & (EVENT_UNCORE | EVENT_UNRELIABLE) ||
	    (error = event_encode(row->event, &attr))) {
		rf_error_destroy(error);
		return false;
	}
	*event = (struct proof_event){.attr = attr, .row = row};
	return true;
}

static void take_quantities(const struct proof_event *events, const struct proof_result *results,
			    size_t n, struct doctor_pmu *pmu)
{
	for (size_t i = 0; i < n; i++)
		pmu->quantities[events[i].row->quantity].listed = true;
	for (int i = 0; i < N_EVENT_QUANTITIES; i++) {
		struct doctor_quantity *quantity = &pmu->quantities[i];
		const char *why = "";
		quantity->usable =
			quantity->listed &&
			proof_quantity_usable(events, results, n, (enum event_quantity)i, &why);
		snprintf(quantity->why, sizeof(quantity->why), "%s", why);
	}
}

static struct rf_error *prove(const struct perf_source *source, const struct event_table *table,
			      const struct proof_place *place, struct doctor_pmu *pmu)
{
	struct proof_event *events = calloc(table->n_rows + 1, sizeof(*events));
	struct proof_result *results = calloc(table->n_rows + 1, sizeof(*results));
	struct proof_loops loops;
	struct rf_error *error = NULL;
	size_t n = 0;
	for (size_t i = 0; events && results && i < table->n_rows; i++)
		n += encode(&table->rows[i], &events[n]);
	proof_loops_init(&loops);
	if (!events || !results)
		error = rf_error_no_memory();
	else
		error = proof_run(source, events, n, loops.loops, loops.n, place, results);
	if (!error)
		take_quantities(events, results, n, pmu);
	proof_loops_deinit(&loops);
	free(events);
	free(results);
	return error;
}

void doctor_read_pmu(const struct perf_source *source, const struct event_table *table,
		     const struct proof_place *place, struct doctor_pmu *pmu)
{
	struct counter_limits limits = {0};
	*pmu = (struct doctor_pmu){0};
	snprintf(pmu->table, sizeof(pmu->table), "%s", table ? table->name : "");
	struct rf_error *error = counter_limits_find(source, &limits);
	pmu->general = limits.general;
	pmu->fixed = limits.fixed;
	if (!error && table)
		error = prove(source, table, place, pmu);
	doctor_refusal_take(&pmu->refused, error);
}

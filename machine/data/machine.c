/* The machine's description: its end, and looking up a roof among its rows. */
#include "machine/data/machine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void machine_deinit(struct machine *machine)
{
	for (size_t i = 0; i < machine->n_notes; i++)
		free(machine->notes[i]);
	free(machine->notes);
	free(machine->cpu_model);
	free(machine->microarchitecture);
	free(machine->custom_roofs);
	free(machine->counts);
	free(machine->roofs);
	*machine = (struct machine){0};
}

static bool matches(const char *wanted, const char *value)
{
	return !wanted || !strcmp(wanted, value);
}

double machine_roof(const struct roof *roofs, size_t n_roofs, enum roof_kind kind, const char *isa,
		    const char *precision, const char *op, const char *level, double threads)
{
	/* The nearest measured thread counts on both sides and the best rows there. */
	int below = 0, above = 0;
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < n_roofs; i++) {
		const struct roof *roof = &roofs[i];
		if (roof->kind != kind || roof->by_node || !matches(isa, roof->isa) ||
		    !matches(precision, roof->precision) || !matches(op, roof->op) ||
		    !matches(level, roof->level))
			continue;
		if (roof->threads <= threads && roof->threads >= below) {
			at_below = roof->threads > below ? roof->best : fmax(at_below, roof->best);
			below = roof->threads;
		}
		if (roof->threads >= threads && (!above || roof->threads <= above)) {
			at_above = roof->threads != above ? roof->best : fmax(at_above, roof->best);
			above = roof->threads;
		}
	}
	/* Outside of the measured counts the nearest one holds. */
	if (!below || !above || below == above)
		return below ? at_below : at_above;
	return at_below + (at_above - at_below) * (threads - below) / (above - below);
}

bool machine_roof_interpolated(const struct roof *roofs, size_t n_roofs, double threads)
{
	for (size_t i = 0; i < n_roofs; i++)
		if (!roofs[i].by_node && fabs(roofs[i].threads - threads) < 0.02 * threads)
			return false;
	return n_roofs > 0;
}

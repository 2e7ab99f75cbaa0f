/* The machine's description: its end, and looking up a roof among its rows. */
#include "machine/data/machine.h"

#include <math.h>
#include <stdlib.h>

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

bool roof_is_same(const struct roof *a, const struct roof *b)
{
	return a->kind == b->kind && a->precision == b->precision && a->op == b->op &&
	       a->level == b->level && (a->kind == ROOF_BANDWIDTH || a->isa == b->isa);
}

bool roof_matches(const struct roof *roof, struct roof_key key)
{
	return roof->kind == key.kind && !roof->by_node && roof->op == key.op &&
	       roof->precision == key.precision && roof->level == key.level &&
	       (key.isa == ROOF_ISA_ANY || roof->isa == key.isa);
}

double machine_roof(const struct roof *roofs, size_t n_roofs, struct roof_key key, double threads)
{
	/* The nearest measured thread counts on both sides and the best rows there. */
	int below = 0, above = 0;
	double at_below = 0, at_above = 0;
	for (size_t i = 0; i < n_roofs; i++) {
		const struct roof *roof = &roofs[i];
		if (!roof_matches(roof, key))
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

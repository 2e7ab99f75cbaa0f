/* Copies the machine, its measured roofs and those that somebody states into a profile. */
#include "profile/profile_machine.h"

#include "base/array.h"
#include "machine/topology/theory.h"

#include <errno.h>

struct rf_error *profile_take_custom(struct profile *profile, const struct custom_roof *roofs,
				     size_t n)
{
	bool done = true;
	for (size_t i = 0; i < n; i++)
		done &= rf_array_push(profile->custom_roofs, profile->n_custom_roofs,
				      profile->cap_custom_roofs, roofs[i]);
	return done ? NULL
		    : rf_error_errno(RF_EINTERNAL, ENOMEM, NULL, "cannot keep the machine's roofs");
}

struct rf_error *profile_take_machine(struct profile *profile, const struct machine *machine)
{
	bool done = true;
	for (size_t i = 0; i < machine->n_roofs; i++)
		done &= rf_array_push(profile->roofs, profile->n_roofs, profile->cap_roofs,
				      machine->roofs[i]);
	profile_set_fact(profile, "cpu_model", "%s", machine->cpu_model);
	if (machine->microarchitecture)
		profile_set_fact(profile, "microarchitecture", "%s", machine->microarchitecture);
	profile_set_fact(profile, "usable_threads", "%d", machine->usable_threads);
	profile_set_fact(profile, "clock_ghz", "%.4f", machine->clock_ghz);
	if (theory_issue(machine->microarchitecture) > 0)
		profile_set_fact(profile, "issue_width", "%g",
				 theory_issue(machine->microarchitecture));
	if (machine->clock_fp_ghz > 0)
		profile_set_fact(profile, "clock_fp_ghz", "%.4f", machine->clock_fp_ghz);
	return done ? profile_take_custom(profile, machine->custom_roofs, machine->n_custom_roofs)
		    : rf_error_errno(RF_EINTERNAL, ENOMEM, NULL, "cannot keep the machine's roofs");
}

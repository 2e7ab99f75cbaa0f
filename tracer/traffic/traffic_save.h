/* What a traced run leaves in the profile. */
#pragma once

#include "profile/profile.h"
#include "tracer/traffic/executions.h"
#include "tracer/traffic/simulation.h"

/* What the drain itself knows about the run. */
struct traffic_account {
	uint64_t n_records, n_unknown; /* records, and those of no instruction that is known */
	double spent_s;                /* processor time of the simulation */
	bool memory_short;             /* an address space has no objects, or its lines no owner */
};

/* Nothing is traced, because of `why`. */
void traffic_save_untraced(struct profile *profile, const char *why);
/* Which caches are simulated. */
void traffic_save_geometry(struct profile *profile, const struct geometry *geometry);
/* The same of another machine's caches. */
void traffic_save_other_geometry(struct profile *profile, const struct geometry *geometry);
/* All that was counted, when the simulation has ended.  Where memory is short for it, the profile's
 * fact traffic_incomplete says so. */
void traffic_save(struct simulation *simulation, const struct traffic_account *account,
		  const struct told_threads *told, struct profile *profile);

/* What a profile has of the accounts of a simulation: rows of a sample of classes, with what their
 * spread does not show. */
#pragma once

#include "base/error.h"
#include "profile/profile.h"
#include "tracer/traffic/accounts.h"
#include "tracer/traffic/concentration.h"
#include "tracer/traffic/executions.h"

/* Adds the events in `sample`, some of the classes that were simulated at first and to the end, to
 * the profile's traffic.  Heavy classes (concentration.h) are told apart: their events in all that
 * was ever simulated are scaled by the misses in the whole run (executions, which the profile has
 * already, times the rate of misses), and told as if they were of the sample's classes, all alike.
 * What the spread of the classes does not show of a half-width is told as open (cache/traffic.h).
 * Errors: memory is short. */
struct rf_error *account_rows_save(struct accounts *accounts, uint64_t sample,
				   const struct concentration *concentration,
				   const struct executions *executions, struct profile *profile);

/* What an account's events are multiplied by, by border and direction (accounts_open_of): all of
 * them to those that were seen; 1 where all accesses were checked. */
void account_rows_factors(const struct accounts *accounts, const struct executions *executions,
			  uint32_t who, double factors[N_OPEN]);
